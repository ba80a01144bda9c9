"""What monitoring reads beside the state of a switch: counters, watermarks of the last interval, error rates, modules.

It is read every few seconds, so an answer has only what is served, and names the fields of a table once (``columns``).
Watermarks are those of PERIODIC_WATERMARKS: each poll clears those of COUNTERS, and PERSISTENT_WATERMARKS keep the
largest for ever (sonic-swss orchagent/watermarkorch.cpp).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Container, Mapping
from typing import Any

from railweave_switch.all_counters import OBJECTS, boot_of, integers, name_maps
from railweave_switch.host import DatabaseError, Hash, SwitchHost
from railweave_switch.link_state import link_state

WATERMARKS = "PERIODIC_WATERMARKS:oid:0x*"
RATES = "RATES:oid:0x*"
_ERROR_RATE = "FEC_PRE_BER"
# Error rates follow from these where the switch computes none (before 202411).
_CODEWORDS = re.compile(r"SAI_PORT_STAT_IF_IN_FEC_(CODEWORD_ERRORS_S\d+|CORRECTED_BITS|SYMBOL_ERRORS)")
_SERVED = re.compile(
    r"SAI_PORT_STAT_(IF_(IN|OUT)_OCTETS|IF_IN_(ERRORS|DISCARDS|FEC_NOT_CORRECTABLE_FRAMES))"
    r"|SAI_PORT_STAT_PFC_\d_([RT]X_PKTS|RX_PAUSE_DURATION_US)"
    r"|SAI_QUEUE_STAT_((DROPPED_|WRED_ECN_MARKED_)?PACKETS|SHARED_WATERMARK_BYTES)"
    r"|PFC_WD_QUEUE_STATS_DEADLOCK_(DETECTED|RESTORED)"
    r"|SAI_INGRESS_PRIORITY_GROUP_STAT_(DROPPED_PACKETS|XOFF_ROOM_WATERMARK_BYTES)"
    # Of modules.
    r"|temperature|rx\d+power|(rxpower|temp)(low|high)warning"
)


def telemetry(host: SwitchHost, queues: Collection[str] = ()) -> dict[str, Any]:
    """Return ``counters``, ``link_state``, ``watermarks`` by table, and ``error_rates`` by port as texts.

    If ``queues`` has numbers, only the queues and priority groups with these numbers are included. On a switch that
    polls no counters ``error`` says so instead. Raises DatabaseError if a database cannot be read.
    """
    answer: dict[str, Any] = {"link_state": _modules(host)}
    try:
        maps = name_maps(host)
    except DatabaseError as error:
        return {**answer, "error": str(error)}
    counters: dict[str, Any] = {"at": host.wall_s(), "boot": boot_of(host, maps["ports"])}
    counter_rows = host.rows("COUNTERS_DB", OBJECTS)
    watermark_rows = host.rows("COUNTERS_DB", WATERMARKS)
    error_rates = _error_rates(host, maps["ports"])
    counters["ports"] = columns(_served_counters(maps["ports"], "COUNTERS", counter_rows, error_rates))
    watermarks = {}
    for table in ("queues", "groups"):
        object_ids = _ids_of_queues(maps[table], queues)
        counters[table] = columns(_served_counters(object_ids, "COUNTERS", counter_rows))
        watermarks[table] = columns(_served_counters(object_ids, "PERIODIC_WATERMARKS", watermark_rows))
    return {**answer, "counters": counters, "watermarks": watermarks, "error_rates": error_rates}


def _error_rates(host: SwitchHost, ports: Hash) -> dict[str, str]:
    """Return the error rates by port, for the ports for which the switch computes one; ``ports`` are object ids."""
    rows = host.rows("COUNTERS_DB", RATES)
    rates: dict[str, str] = {}
    for port, object_id in ports.items():
        rate = rows.get(f"RATES:{object_id}", {}).get(_ERROR_RATE)
        if rate is not None:
            rates[port] = rate
    return rates


def _ids_of_queues(object_ids: Hash, queues: Collection[str]) -> Hash:
    """Return the object ids of the queues or groups whose number is in ``queues``; all if that is empty."""
    if not queues:
        return object_ids
    return {name: object_id for name, object_id in object_ids.items() if name.rpartition(":")[2] in queues}


def columns(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return rows in a short form that names each field once.

    ``fields`` are the names; ``rows`` has for each row the values in that order, None where a row lacks a field.
    """
    fields = list(dict.fromkeys(field for row in rows.values() for field in row))
    values = {name: [row.get(field) for field in fields] for name, row in rows.items()}
    return {"fields": fields, "rows": values}


def _served_counters(
    object_ids: Mapping[str, str], table: str, rows: Mapping[str, Hash], error_rates: Container[str] = ()
) -> dict[str, dict[str, int]]:
    """Return the served counters of objects by name, from the ``rows`` of a ``table`` of COUNTERS_DB.

    Objects that ``error_rates`` does not name have the counters of FEC codewords too.
    """
    counters = {}
    for name, object_id in object_ids.items():
        row = rows.get(f"{table}:{object_id}", {})
        texts = _served(row)
        if name not in error_rates:
            texts.update({field: text for field, text in row.items() if _CODEWORDS.fullmatch(field)})
        values = dict(integers(texts))
        if values:
            counters[name.replace(":", "|")] = values
    return counters


def _modules(host: SwitchHost) -> dict[str, Any]:
    """Return the flaps of the ports, and the readings and thresholds of their modules, each as ``columns``."""
    ports = link_state(host)["ports"]
    modules = {"ports": columns({name: {"flap_count": port.get("flap_count")} for name, port in ports.items()})}
    for table in ("readings", "thresholds"):
        modules[table] = columns({name: _served(port[table]) for name, port in ports.items()})
    return modules


def _served(row: Mapping[str, str]) -> dict[str, str]:
    return {field: text for field, text in row.items() if _is_served(field)}


@functools.cache
def _is_served(field: str) -> bool:
    return _SERVED.fullmatch(field) is not None
