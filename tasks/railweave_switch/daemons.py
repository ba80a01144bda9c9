"""Compare the configuration that SONiC's daemons apply, as their databases show it, with CONFIG_DB.

- Buffers: buffermgrd copies rows into APPL_DB, where a deleted row stays until orchagent has processed it (sonic-swss
  cfgmgr/buffermgr.cpp). In the dynamic buffer model it writes rows of its own, so buffers are not compared.
- PFC watchdog: its timings are beside the counters of the watched queues (orchagent/pfcwdorch.cpp).
- ECMP hash: STATE_DB has the fields that the ASIC supports; orchagent ignores others (orchagent/switchorch.cpp).
- Ports: STATE_DB has the speed in use, since 202311 also the FEC, and the result of link training, as the SAI reports
  them when the port comes up, else ``N/A`` (orchagent/portsorch.cpp, updateDbPortOperSpeed, updateDbPortOperFec).

For other tables no database shows what is applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from railweave_switch.host import Hash, SwitchHost

BUFFER_TABLES = ("BUFFER_PG", "BUFFER_QUEUE")
WATCHDOG = "PFC_WD"
QUEUE_NAMES = "COUNTERS_QUEUE_NAME_MAP"
QUEUE_COUNTERS = "COUNTERS:oid:0x15????????????"
"""An object id holds its type in the bits above 48: 0x15 is a queue."""
WATCHED = "PFC_WD_DETECTION_TIME"
WATCHING = ("detection_time", "restoration_time", "action")
"""Fields of a row of the PFC watchdog that are beside the counters of its queues (orchagent/pfcwdorch.cpp)."""
PORT_FIELDS = {"autoneg": "off", "fec": "none", "mtu": "9100", "speed": ""}
"""Fields of a port that portmgrd passes on, with the values in force without them (sonic-swss cfgmgr/portmgr.cpp)."""
IN_FORCE = {"speed": (), "fec": ("auto",)}
"""Fields of a port whose value in force is in STATE_DB, with the configured values that do not determine it."""
TRAINING = "link_training"
# STATE_DB has ``on`` until orchagent polls a port that trains (portsorch.cpp).
TRAINED = ("on", "trained")
VIRTUAL = "asic_type: vs"
"""Ports of the virtual switch have the speed of an interface of its host (sonic-sairedis, vslib)."""
COPIED = ("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST",
          "BUFFER_PORT_EGRESS_PROFILE_LIST")  # fmt: skip
HASH = "SWITCH_HASH|GLOBAL"
HASH_FIELDS = "ecmp_hash@"
CAPABILITY = "SWITCH_CAPABILITY|switch"
UNSET = ("", "0", "N/A")
Unapplied = tuple[str, str, str, str]
"""A row, a field (empty for the row itself), the value that daemons apply, and the configured one."""


def tells_of(key: str) -> bool:
    """Tell whether a database shows that daemons have processed the deletion of a row."""
    return key.partition("|")[0] in (*BUFFER_TABLES, WATCHDOG)


def still_there(host: SwitchHost, keys: Iterable[str]) -> list[str]:
    """Return the deleted rows that daemons still apply; raises DatabaseError, OSError."""
    deleted = list(keys)
    applied: list[str] = []
    for table in BUFFER_TABLES:
        applied += _still_in_appl_db(host, table, deleted)
    return applied + _still_watched(host, deleted)


def _still_in_appl_db(host: SwitchHost, table: str, deleted: list[str]) -> list[str]:
    """Return the deleted rows of a buffer table that orchagent has not processed yet: APPL_DB still has them."""
    keys = _keys_of(table, deleted)
    if not keys:
        return []
    rows = host.rows("APPL_DB", f"{table}_TABLE:*")
    return [key for key in keys if _appl_db_key(key) in rows]


def _still_watched(host: SwitchHost, deleted: list[str]) -> list[str]:
    """Return the deleted rows of the PFC watchdog with a port whose queues it still watches."""
    keys = _keys_of(WATCHDOG, deleted)
    if not keys:
        return []
    watched = watched_queues(host)
    return [key for key in keys if key.partition("|")[2] in watched]


def _keys_of(table: str, keys: list[str]) -> list[str]:
    return [key for key in keys if key.startswith(f"{table}|")]


def _appl_db_key(key: str) -> str:
    """Return the key of a row of CONFIG_DB in APPL_DB: ``BUFFER_PG_TABLE:Ethernet0:3`` of ``BUFFER_PG|Ethernet0|3``."""
    table, _, rest = key.partition("|")
    return f"{table}_TABLE:{rest.replace('|', ':')}"


def watched_queues(host: SwitchHost) -> dict[str, dict[str, Hash]]:
    """Return the counters of the queues that the PFC watchdog watches, by port and queue."""
    names: Mapping[str, str] = host.rows("COUNTERS_DB", QUEUE_NAMES).get(QUEUE_NAMES, {})
    if not names:
        return {}
    rows = host.rows("COUNTERS_DB", QUEUE_COUNTERS)
    ports: dict[str, dict[str, Hash]] = {}
    for name, number in names.items():
        port, _, queue = name.partition(":")
        row = rows.get(f"COUNTERS:{number}", {})
        if WATCHED in row:
            settings = {field: value for field, value in row.items() if field.startswith("PFC_WD_")}
            ports.setdefault(port, {})[queue] = settings
    return ports


def unapplied(host: SwitchHost, rows: Mapping[str, Hash]) -> list[Unapplied]:
    """Return the values of daemons that differ from CONFIG_DB; raises DatabaseError, OSError."""
    return applied_and_unseen(host, rows)[0]


def applied_and_unseen(host: SwitchHost, rows: Mapping[str, Hash]) -> tuple[list[Unapplied], list[str]]:
    """Compare the values that daemons and ports have in force with the ``rows`` of CONFIG_DB.

    Returns the values that differ, and the fields (speed, FEC) that are configured on ports that are up, but that none
    of these ports reports. Raises DatabaseError, OSError.
    """
    ports = {key: row for key, row in rows.items() if key.startswith("PORT|")}
    applied_ports = host.rows("APPL_DB", "PORT_TABLE:*")
    differences = list(_port_differences(ports, applied_ports))
    links_up = _links_up(host, ports, applied_ports)
    # APPL_DB and the state of a port may show the same difference.
    differences += [difference for difference in _link_differences(links_up) if difference not in differences]
    applied_buffers = host.rows("APPL_DB", "BUFFER_*")
    # In the dynamic buffer model buffermgrd writes rows that CONFIG_DB does not state.
    is_dynamic = rows.get("DEVICE_METADATA|localhost", {}).get("buffer_model") == "dynamic"
    if applied_buffers and not is_dynamic:
        differences += _buffer_differences(rows, applied_buffers)
    hash_fields = rows.get(HASH, {}).get(HASH_FIELDS)
    if hash_fields:
        differences += _hash_differences(hash_fields, host.rows("STATE_DB", CAPABILITY).get(CAPABILITY))
    differences += _watchdog_differences(rows, watched_queues(host))
    return differences, _unseen(links_up)


def _hash_differences(hash_fields: str, capability: Hash | None) -> Iterator[Unapplied]:
    """Yield a difference if the ASIC does not support all configured fields of the ECMP hash.

    ``capability`` is the ASIC's row of STATE_DB; without it the fields are unknown.
    """
    if capability is None:
        return
    supported = capability.get("HASH|NATIVE_HASH_FIELD_LIST", "N/A")
    if capability.get("ECMP_HASH_CAPABLE") != "true":
        yield HASH, "ecmp_hash", "the ASIC's own", hash_fields
    # Some SAIs support the hash and do not list its fields.
    elif supported != "N/A" and not set(hash_fields.split(",")) <= set(supported.split(",")):
        yield HASH, "ecmp_hash", f"fields of {supported}", hash_fields


def _port_differences(rows: Mapping[str, Hash], applied: Mapping[str, Hash]) -> Iterator[Unapplied]:
    """Yield a difference for each field of a port that has another value in APPL_DB than in CONFIG_DB."""
    for key, row in rows.items():
        applied_row = applied.get(key.replace("PORT|", "PORT_TABLE:", 1), {})
        for name, default in PORT_FIELDS.items():
            value = row.get(name)
            expected: tuple[str | None, ...] = (value,)
            if not value:
                # An unset field is in force with its default, and APPL_DB need not have it.
                expected = (value, default, *UNSET)
            if name in applied_row and applied_row[name] not in expected:
                yield key, name, applied_row[name], value or "none"


class _PortInUse(NamedTuple):
    """A port that is up: its key and row of CONFIG_DB, and its row of STATE_DB."""

    key: str
    configured: Hash
    state: Hash


def _links_up(host: SwitchHost, rows: Mapping[str, Hash], applied: Mapping[str, Hash]) -> list[_PortInUse]:
    """Return the ports that are up; none on a virtual switch."""
    # A port that is down keeps its last values in STATE_DB.
    names = {key: key.partition("|")[2] for key in rows}
    up = [key for key, name in names.items() if applied.get(f"PORT_TABLE:{name}", {}).get("oper_status") == "up"]
    if not up or _is_virtual(host):
        return []
    states = host.rows("STATE_DB", "PORT_TABLE|*")
    return [_PortInUse(key, rows[key], states.get(f"PORT_TABLE|{names[key]}", {})) for key in up]


def _is_virtual(host: SwitchHost) -> bool:
    try:
        return VIRTUAL.encode() in host.read_file(f"{host.sonic_directory}/sonic_version.yml")
    except OSError:
        return False


def _link_differences(ports: Iterable[_PortInUse]) -> Iterator[Unapplied]:
    """Yield a difference for each field of a port that is not in force as configured, and for failed link training."""
    for port in ports:
        for name, open_values in IN_FORCE.items():
            value = port.configured.get(name)
            in_force = port.state.get(name, "")
            if value and value not in open_values and in_force not in (value, *UNSET):
                yield port.key, name, in_force, value
        status = port.state.get("link_training_status", "")
        if port.configured.get(TRAINING) == "on" and status not in (*TRAINED, *UNSET):
            yield port.key, TRAINING, status, "on"


def _unseen(ports: Sequence[_PortInUse]) -> list[str]:
    """Return the fields (speed, FEC) that are configured on some of the ports, and that none of them reports."""
    configured = [name for name in IN_FORCE if any(port.configured.get(name) for port in ports)]
    return [name for name in configured if all(port.state.get(name, "") in UNSET for port in ports)]


def _buffer_differences(rows: Mapping[str, Hash], applied: Mapping[str, Hash]) -> Iterator[Unapplied]:
    """Yield a difference for each buffer row that APPL_DB lacks or has with other values.

    A row that APPL_DB still has although it was deleted is a difference too.
    """
    keys = {_appl_db_key(key): key for key in rows if key.partition("|")[0] in COPIED}
    for name, key in keys.items():
        if name in applied:
            yield from _row_differences(key, rows[key], applied[name])
        else:
            yield key, "", "none", "a row"
    groups_and_queues = tuple(f"{table}_TABLE:" for table in BUFFER_TABLES)
    for name in sorted(applied.keys() - keys.keys()):
        # SONiC writes pools and profiles of its own; a group or queue without a row was left behind.
        if name.startswith(groups_and_queues):
            table, _, rest = name.partition("_TABLE:")
            yield f"{table}|{rest.replace(':', '|')}", "", "a row", "none"


def _row_differences(key: str, row: Hash, applied: Hash) -> Iterator[Unapplied]:
    """Yield a difference for each field of a row that daemons hold with another value."""
    # ``NULL`` only marks an empty row.
    for name in sorted((row.keys() | applied.keys()) - {"NULL"}):
        value = row.get(name)
        applied_value = applied.get(name)
        # A field that is not set may be held as its default.
        is_default = value is None and applied_value in UNSET
        if applied_value != value and not is_default:
            yield key, name, applied_value or "none", value or "none"


def _watchdog_differences(rows: Mapping[str, Hash], watched: Mapping[str, Mapping[str, Hash]]) -> Iterator[Unapplied]:
    """Yield a difference for each port whose watched queues, or their settings, are not the configured ones."""
    # Some platforms have no watchdog, so that none of the queues is watched.
    if not watched:
        return
    for key, row in rows.items():
        table, _, port = key.partition("|")
        # PFC_WD|GLOBAL has no detection time, only the polling interval of all ports.
        if table != WATCHDOG or "detection_time" not in row:
            continue
        configured = rows.get(f"PORT_QOS_MAP|{port}", {}).get("pfcwd_sw_enable", "")
        queues = watched.get(port, {})
        # Without the field split() leaves one empty text.
        if queues.keys() != set(filter(None, configured.split(","))):
            yield key, "queues", ",".join(sorted(queues)) or "none", configured or "none"
        yield from _watching_differences(key, row, queues.values())


def _watching_differences(key: str, row: Hash, queues: Iterable[Hash]) -> Iterator[Unapplied]:
    """Yield a difference for each setting of a watchdog row that is not in force on all of the port's queues."""
    for name in WATCHING:
        configured = row.get(name, "")
        in_force = {_configured_form(name, queue.get(f"PFC_WD_{name.upper()}", "")) for queue in queues}
        other_values = sorted(in_force - {configured, *UNSET})
        if configured and other_values:
            yield key, name, ",".join(other_values), configured


def _configured_form(name: str, in_force: str) -> str:
    """Return a setting in force in the form of CONFIG_DB: times in milliseconds; COUNTERS_DB has microseconds."""
    if name == "action" or not in_force.isdecimal():
        return in_force
    return str(int(in_force) // 1000)
