"""What monitoring reads beside the state of a switch: counters, watermarks of the last interval, error rates, modules.

Watermarks are those of PERIODIC_WATERMARKS: each poll clears those of COUNTERS, and PERSISTENT_WATERMARKS keep the
largest for ever (sonic-swss orchagent/watermarkorch.cpp).
"""

from __future__ import annotations

from typing import Any

from railweave_switch.all_counters import NAME_MAPS, all_counters, integers
from railweave_switch.host import DatabaseError, SwitchHost
from railweave_switch.link_state import link_state

WATERMARKS = "PERIODIC_WATERMARKS:oid:0x*"
RATES = "RATES:oid:0x*"
_ERROR_RATE = "FEC_PRE_BER"


def telemetry(host: SwitchHost) -> dict[str, Any]:
    """Return ``counters``, ``link_state``, ``watermarks`` by table and name, and ``error_rates`` by port as texts.

    ``error`` says why there are no counters, on a switch that polls none. Raises DatabaseError if nothing is read.
    """
    answer: dict[str, Any] = {"link_state": link_state(host)}
    try:
        answer["counters"] = all_counters(host)
    except DatabaseError as error:
        return {**answer, "error": str(error)}
    maps = {table: host.rows("COUNTERS_DB", key).get(key, {}) for table, key in NAME_MAPS.items()}
    marks = host.rows("COUNTERS_DB", WATERMARKS)
    answer["watermarks"] = {
        table: {
            name.replace(":", "|"): dict(integers(marks[f"PERIODIC_WATERMARKS:{number}"]))
            for name, number in maps[table].items()
            if f"PERIODIC_WATERMARKS:{number}" in marks
        }
        for table in ("queues", "groups")
    }
    rates = host.rows("COUNTERS_DB", RATES)
    error_rates = {}
    for port, number in maps["ports"].items():
        text = rates.get(f"RATES:{number}", {}).get(_ERROR_RATE)
        if text is not None:
            error_rates[port] = text
    return {**answer, "error_rates": error_rates}
