"""What SONiC's daemons have taken of CONFIG_DB, as their databases tell.

buffermgrd copies buffer rows into APPL_DB, where a deleted one stays until orchagent took it; the PFC watchdog's
timings are with the counters of the queues that it watches (sonic-swss cfgmgr/buffermgr.cpp, orchagent/pfcwdorch.cpp).
STATE_DB tells which fields of the ECMP hash the ASIC takes: orchagent ignores others (orchagent/switchorch.cpp). It
also tells the speed that a port runs at, from 202311 on its FEC, and how link training went, as the SAI says it when
the port comes up; ``N/A`` where it does not (orchagent/portsorch.cpp, updateDbPortOperSpeed, updateDbPortOperFec). Of
other tables no database tells. In the dynamic buffer model buffermgrd keeps rows of its own, so nothing is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from railweave_switch.host import Hash, SwitchHost

BUFFER_TABLES = ("BUFFER_PG", "BUFFER_QUEUE")
WATCHDOG = "PFC_WD"
QUEUE_NAMES = "COUNTERS_QUEUE_NAME_MAP"
QUEUE_COUNTERS = "COUNTERS:oid:0x15????????????"
"""An object id holds its type in the bits above 48: 0x15 is a queue."""
WATCHED = "PFC_WD_DETECTION_TIME"
PORT_FIELDS = {"autoneg": "off", "fec": "none", "mtu": "9100", "speed": ""}
"""Fields of a port that portmgrd hands on, with what holds without them (sonic-swss cfgmgr/portmgr.cpp)."""
IN_FORCE = {"speed": (), "fec": ("auto",)}
"""Fields of a port whose value in force STATE_DB tells, with configured ones that leave it open."""
TRAINING, TRAINED = "link_training", ("on", "trained")
"""``on`` is what STATE_DB says until the first look at a port that trains (portsorch.cpp)."""
VIRTUAL = "asic_type: vs"
"""Ports of the virtual switch have the speed of an interface of its host (sonic-sairedis, vslib)."""
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


def still_there(host: SwitchHost, keys: Iterable[str]) -> list[str]:
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


def watched_queues(host: SwitchHost) -> dict[str, dict[str, Hash]]:
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


def unapplied(host: SwitchHost, rows: Mapping[str, Hash]) -> list[Unapplied]:
    """Return what daemons apply that differs from these rows of CONFIG_DB; raises DatabaseError, OSError."""
    return applied_and_unseen(host, rows)[0]


def applied_and_unseen(host: SwitchHost, rows: Mapping[str, Hash]) -> tuple[list[Unapplied], list[str]]:
    """Return what daemons and ports apply that differs from these rows of CONFIG_DB, and the fields of ports of which
    no port that is up tells what is in force; raises DatabaseError, OSError."""
    applied = host.rows("APPL_DB", "BUFFER_*")
    ports = {key: row for key, row in rows.items() if key.startswith("PORT|")}
    taken = host.rows("APPL_DB", "PORT_TABLE:*")
    found = list(_of_ports(ports, taken))
    links = _links_up(host, ports, taken)
    found += [one for one in _of_links(links) if one not in found]
    if applied and rows.get("DEVICE_METADATA|localhost", {}).get("buffer_model") != "dynamic":
        found += _of_buffers(rows, applied)
    if hashed := rows.get(HASH, {}).get(HASH_FIELDS):
        found += _of_hash(hashed, host.rows("STATE_DB", CAPABILITY).get(CAPABILITY))
    return [*found, *_of_watchdog(rows, watched_queues(host))], _unseen(links)


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


Links = Mapping[str, "tuple[Hash, Hash]"]
"""Ports that are up by their keys in CONFIG_DB: what is configured, and what STATE_DB tells."""


def _links_up(host: SwitchHost, rows: Mapping[str, Hash], taken: Mapping[str, Hash]) -> Links:
    """Return the ports that are up; a port that is down keeps in STATE_DB what it had."""
    names = {key: key.partition("|")[2] for key in rows}
    up = [key for key, name in names.items() if taken.get(f"PORT_TABLE:{name}", {}).get("oper_status") == "up"]
    if not up or _is_virtual(host):
        return {}
    state = host.rows("STATE_DB", "PORT_TABLE|*")
    return {key: (rows[key], state.get(f"PORT_TABLE|{names[key]}", {})) for key in up}


def _is_virtual(host: SwitchHost) -> bool:
    try:
        return VIRTUAL.encode() in host.read_file(f"{host.sonic_directory}/sonic_version.yml")
    except OSError:
        return False


def _of_links(links: Links) -> Iterator[Unapplied]:
    for key, (row, told) in links.items():
        for name, open_values in IN_FORCE.items():
            value, force = row.get(name), told.get(name, "")
            if value and value not in open_values and force not in (value, *UNSET):
                yield key, name, force, value
        status = told.get("link_training_status", "")
        if row.get(TRAINING) == "on" and status not in (*TRAINED, *UNSET):
            yield key, TRAINING, status, "on"


def _unseen(links: Links) -> list[str]:
    """Return the fields that are configured of ports that are up, and that none of these tells."""
    configured = [name for name in IN_FORCE if any(row.get(name) for row, _ in links.values())]
    return [name for name in configured if all(told.get(name, "") in UNSET for _, told in links.values())]


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
