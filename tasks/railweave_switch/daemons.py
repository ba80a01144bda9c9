"""What SONiC's daemons have taken of CONFIG_DB, as their databases tell.

buffermgrd copies buffer rows into APPL_DB, where a deleted one stays until orchagent took it; the PFC watchdog's
timings are with the counters of the queues that it watches (sonic-swss cfgmgr/buffermgr.cpp, orchagent/pfcwdorch.cpp).
STATE_DB tells which fields of the ECMP hash the ASIC takes: orchagent ignores others (orchagent/switchorch.cpp). Of
other tables no database tells. In the dynamic buffer model buffermgrd keeps rows of its own, so nothing is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from railweave_switch.host import Hash, Host

BUFFER_TABLES = ("BUFFER_PG", "BUFFER_QUEUE")
WATCHDOG = "PFC_WD"
QUEUE_NAMES = "COUNTERS_QUEUE_NAME_MAP"
QUEUE_COUNTERS = "COUNTERS:oid:0x15????????????"
"""An object id holds its type in the bits above 48: 0x15 is a queue."""
WATCHED = "PFC_WD_DETECTION_TIME"
PORT_FIELDS = {"autoneg": "off", "fec": "none", "mtu": "9100", "speed": ""}
"""Fields of a port that portmgrd hands on, with what holds without them (sonic-swss cfgmgr/portmgr.cpp)."""
COPIED = ("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST",
          "BUFFER_PORT_EGRESS_PROFILE_LIST")  # fmt: skip
HASH = "SWITCH_HASH|GLOBAL"
HASH_FIELDS = "ecmp_hash@"
CAPABILITY = "SWITCH_CAPABILITY|switch"
UNSET = ("", "0", "N/A")
Unapplied = tuple[str, str, str, str]
"""A row, a field (empty for the row itself), what daemons have, and what is configured."""


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


def unapplied(host: Host, rows: Mapping[str, Hash]) -> list[Unapplied]:
    """Return what daemons apply that differs from these rows of CONFIG_DB; raises DatabaseError, OSError."""
    applied = host.rows("APPL_DB", "BUFFER_*")
    ports = {key: row for key, row in rows.items() if key.startswith("PORT|")}
    found = list(_of_ports(ports, host.rows("APPL_DB", "PORT_TABLE:*")))
    if applied and rows.get("DEVICE_METADATA|localhost", {}).get("buffer_model") != "dynamic":
        found += _of_buffers(rows, applied)
    if hashed := rows.get(HASH, {}).get(HASH_FIELDS):
        found += _of_hash(hashed, host.rows("STATE_DB", CAPABILITY).get(CAPABILITY))
    return [*found, *_of_watchdog(rows, watched_queues(host))]


def _of_hash(hashed: str, capability: Hash | None) -> Iterator[Unapplied]:
    """Yield the fields of the ECMP hash where the ASIC takes none or not all; a list of ``N/A`` names none."""
    if capability is None:
        return
    takes = capability.get("HASH|NATIVE_HASH_FIELD_LIST", "N/A")
    if capability.get("ECMP_HASH_CAPABLE") != "true":
        yield HASH, "ecmp_hash", "the ASIC's own", hashed
    elif takes != "N/A" and not set(hashed.split(",")) <= set(takes.split(",")):
        yield HASH, "ecmp_hash", f"fields of {takes}", hashed


def _of_ports(rows: Mapping[str, Hash], applied: Mapping[str, Hash]) -> Iterator[Unapplied]:
    for key, row in rows.items():
        taken = applied.get(key.replace("PORT|", "PORT_TABLE:", 1), {})
        for name, without in PORT_FIELDS.items():
            value = row.get(name)
            if name in taken and taken[name] not in (value, *(() if value else (without, *UNSET))):
                yield key, name, taken[name], value or "none"


def _of_buffers(rows: Mapping[str, Hash], applied: Mapping[str, Hash]) -> Iterator[Unapplied]:
    names = {}
    for key, row in rows.items():
        table, _, rest = key.partition("|")
        if table in COPIED:
            name = f"{table}_TABLE:{rest.replace('|', ':')}"
            names[name] = key
            taken = applied.get(name)
            if taken is None:
                yield key, "", "none", "a row"
                continue
            for one in sorted(row.keys() | taken.keys()):
                value, held = row.get(one), taken.get(one)
                if held != value and not (value is None and held in UNSET) and one != "NULL":
                    yield key, one, held or "none", value or "none"
    for name in sorted(applied.keys() - names.keys()):
        if name.startswith(tuple(f"{table}_TABLE:" for table in BUFFER_TABLES)):
            table, _, rest = name.partition("_TABLE:")
            yield f"{table}|{rest.replace(':', '|')}", "", "a row", "none"


def _of_watchdog(rows: Mapping[str, Hash], watched: Mapping[str, Mapping[str, Hash]]) -> Iterator[Unapplied]:
    """Yield the ports with other queues under the watchdog; where it watches none at all the platform may have none."""
    for key, row in rows.items():
        table, _, port = key.partition("|")
        if table == WATCHDOG and "detection_time" in row and watched:
            queues = rows.get(f"PORT_QOS_MAP|{port}", {}).get("pfcwd_sw_enable", "")
            configured = {queue for queue in queues.split(",") if queue}
            if watched.get(port, {}).keys() != configured:
                yield key, "queues", ",".join(sorted(watched.get(port, {}))) or "none", queues or "none"
