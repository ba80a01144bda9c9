"""The state of ASIC, ports, daemons and counters, which a self-test compares before and after a change.

ASIC objects are compared by digests of their attributes without the ids of other objects, which change whenever an
object is created again. orchagent writes ASIC_DB through sairedis (sonic-sairedis, ``ASIC_STATE``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from railweave_switch.daemons import WATCHDOG, watched_queues
from railweave_switch.host import DatabaseError, Hash, SwitchHost

OBJECT_TYPES = ("PORT", "QUEUE", "INGRESS_PRIORITY_GROUP", "BUFFER_POOL", "BUFFER_PROFILE", "WRED", "SCHEDULER",
                "QOS_MAP", "HASH", "ROUTER_INTERFACE", "ACL_TABLE", "ACL_ENTRY")  # fmt: skip
PROCESSES = ("orchagent", "syncd", "buffermgrd", "portmgrd", "intfmgrd", "zebra", "bgpd")
NAME_MAPS = {"ports": "COUNTERS_PORT_NAME_MAP", "queues": "COUNTERS_QUEUE_NAME_MAP", "groups": "COUNTERS_PG_NAME_MAP"}

_WATCHDOG_FIELDS = ("PFC_WD_ACTION", "PFC_WD_DETECTION_TIME", "PFC_WD_RESTORATION_TIME")
_OBJECT_ID = re.compile(r"oid:0x[0-9a-f]+")
_DIGEST_LENGTH = 12


def probe(host: SwitchHost) -> dict[str, Any]:
    """Return the values to compare, and their time in seconds since the boot; None if a database cannot be read."""
    return {
        "at_s": host.now_s(),
        "asic": _objects(host),
        "ports": _ports(host),
        "processes": dict(host.processes(PROCESSES)),
        "counters": _counters(host),
    }


def _read(host: SwitchHost, database: str, pattern: str) -> dict[str, Hash] | None:
    try:
        return host.rows(database, pattern)
    except (DatabaseError, OSError):
        return None


def _objects(host: SwitchHost) -> dict[str, list[str]] | None:
    """Return the digests of the ASIC's objects by type, and those of the queues that the watchdog watches, sorted.

    None if ASIC_DB cannot be read.
    """
    objects = {}
    for name in OBJECT_TYPES:
        rows = _read(host, "ASIC_DB", f"ASIC_STATE:SAI_OBJECT_TYPE_{name}:*")
        if rows is None:
            return None
        objects[name] = sorted(_digest(row) for row in rows.values())
    return {**objects, WATCHDOG: sorted(_watched(host))}


def _watched(host: SwitchHost) -> Iterator[str]:
    """Yield the digests of the watchdog's settings for each queue that it watches; none if they cannot be read."""
    try:
        ports = watched_queues(host)
    except (DatabaseError, OSError):
        return
    for port, queues in ports.items():
        for queue, row in queues.items():
            settings = {name: row[name] for name in _WATCHDOG_FIELDS if name in row}
            yield _digest({"queue": f"{port}:{queue}", **settings})


def _digest(attributes: Mapping[str, str]) -> str:
    """Return the digest of an object's attributes, in which other objects have no ids."""
    text = "\n".join(f"{name}={_OBJECT_ID.sub('oid', value)}" for name, value in sorted(attributes.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]


def _ports(host: SwitchHost) -> dict[str, dict[str, str]] | None:
    """Return the state of each port and how often it has changed (``flap_count``, 202411 and later).

    None if APPL_DB cannot be read.
    """
    rows = _read(host, "APPL_DB", "PORT_TABLE:Ethernet*")
    if rows is None:
        return None
    return {
        key.partition(":")[2]: {"oper": row.get("oper_status", ""), "flaps": row.get("flap_count", "")}
        for key, row in rows.items()
    }


def _counters(host: SwitchHost) -> dict[str, Any]:
    """Return the number of ports, queues and groups that have counters, and the names of the counters.

    All objects of a kind have the same counters, so the names are those of the first one.
    """
    counters: dict[str, Any] = {}
    for table, key in NAME_MAPS.items():
        object_ids = (_read(host, "COUNTERS_DB", key) or {}).get(key, {})
        names: list[str] = []
        first_id = next(iter(object_ids.values()), "")
        if first_id:
            object_key = f"COUNTERS:{first_id}"
            names = sorted((_read(host, "COUNTERS_DB", object_key) or {}).get(object_key, {}))
        counters[table] = {"count": len(object_ids), "names": names}
    return counters
