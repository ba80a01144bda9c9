"""What SONiC's daemons have taken of CONFIG_DB, as their databases tell.

buffermgrd copies buffer rows into APPL_DB, where a deleted one stays until orchagent took it; the PFC watchdog's
timings are with the counters of the queues that it watches (sonic-swss cfgmgr/buffermgr.cpp, orchagent/pfcwdorch.cpp).
Of other tables no database tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from railweave_switch.host import Hash, Host

BUFFER_TABLES = ("BUFFER_PG", "BUFFER_QUEUE")
WATCHDOG = "PFC_WD"
QUEUE_NAMES = "COUNTERS_QUEUE_NAME_MAP"
QUEUE_COUNTERS = "COUNTERS:oid:0x15????????????"
"""An object id holds its type in the bits above 48: 0x15 is a queue."""
WATCHED = "PFC_WD_DETECTION_TIME"


def tells_of(key: str) -> bool:
    """Tell whether a database shows that daemons took the deletion of a row."""
    return key.partition("|")[0] in (*BUFFER_TABLES, WATCHDOG)


def still_there(host: Host, keys: Iterable[str]) -> list[str]:
    """Return those of deleted rows that daemons still have; raises DatabaseError, OSError."""
    keys = list(keys)
    found = []
    for table in BUFFER_TABLES:
        if any(key.startswith(f"{table}|") for key in keys):
            rows = host.rows("APPL_DB", f"{table}_TABLE:*")
            found += [key for key in keys if key.replace(f"{table}|", f"{table}_TABLE|", 1).replace("|", ":") in rows]
    if any(key.startswith(f"{WATCHDOG}|") for key in keys):
        watched = watched_queues(host)
        found += [key for key in keys if key.startswith(f"{WATCHDOG}|") and key.partition("|")[2] in watched]
    return found


def watched_queues(host: Host) -> dict[str, dict[str, Hash]]:
    """Return the counters of the queues that the PFC watchdog watches, by port and queue."""
    names: Mapping[str, str] = host.rows("COUNTERS_DB", QUEUE_NAMES).get(QUEUE_NAMES, {})
    rows = host.rows("COUNTERS_DB", QUEUE_COUNTERS) if names else {}
    ports: dict[str, dict[str, Hash]] = {}
    for name, number in names.items():
        port, _, queue = name.partition(":")
        row = rows.get(f"COUNTERS:{number}", {})
        if WATCHED in row:
            ports.setdefault(port, {})[queue] = {one: row[one] for one in row if one.startswith("PFC_WD_")}
    return ports
