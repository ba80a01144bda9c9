"""The objects of ASIC_DB that orchagent makes of ports, QoS maps, schedulers, profiles, pools, queues and groups.

What an object has is what `orchagent.Orchagent` holds of its row, in SAI's words (sonic-swss orchagent/portsorch.cpp,
qosorch.cpp, bufferorch.cpp; the attributes of SAI). Left out are values that nobody configures, and the profiles that
buffermgrd computes in the dynamic model. A scheduler is a queue's own, where some ASICs have it at a scheduler group.
"""

import json
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from sonic_sim import switchhash
from sonic_sim.configdb import Hash
from sonic_sim.orchagent import Orchagent

_COLORS = ("green", "yellow", "red")
# Header, VLAN tag and checksum of Ethernet, which the ASIC counts and the interface does not (portsorch.cpp).
_FRAME_OVERHEAD_BYTES = 22

Shown = Callable[[str], str]
"""How an attribute shows the value of a field."""


def _word(words: str) -> Shown:
    return lambda text: f"SAI_{words}_{text.upper()}"


def _mtu(text: str) -> str:
    if not text.isdecimal():
        return ""
    return str(int(text) + _FRAME_OVERHEAD_BYTES)


def _is_on(text: str) -> str:
    return str(text in ("on", "up")).lower()


def _flow_control_mode(text: str) -> str:
    # Asymmetric PFC is receiving and sending apart.
    mode = "SEPARATE" if text == "on" else "COMBINED"
    return f"SAI_PORT_PRIORITY_FLOW_CONTROL_MODE_{mode}"


def _oid(number: str, name: str) -> str:
    return f"oid:{number}{zlib.crc32(name.encode()):012x}"


_POOL_NUMBER = "0x18"


def _pool(name: str) -> str:
    return _oid(_POOL_NUMBER, f"BUFFER_POOL|{name}")


_PORT_ATTRIBUTES: tuple[tuple[str, str, Shown], ...] = (
    ("speed", "SPEED", str),
    ("mtu", "MTU", _mtu),
    ("admin_status", "ADMIN_STATE", _is_on),
    ("autoneg", "AUTO_NEG_MODE", _is_on),
    ("fec", "FEC_MODE", _word("PORT_FEC_MODE")),
    ("pfc_asym", "PRIORITY_FLOW_CONTROL_MODE", _flow_control_mode),
)
"""Fields of a port, their attributes, and how these show a value."""
_OBJECTS: Mapping[str, tuple[str, str, tuple[tuple[str, str, Shown], ...]]] = {
    "SCHEDULER": ("SCHEDULER", "0x16", (
        ("type", "SCHEDULING_TYPE", _word("SCHEDULING_TYPE")),
        ("weight", "SCHEDULING_WEIGHT", str),
        ("meter_type", "METER_TYPE", _word("METER_TYPE")),
        ("cir", "MIN_BANDWIDTH_RATE", str),
        ("cbs", "MIN_BANDWIDTH_BURST_RATE", str),
        ("pir", "MAX_BANDWIDTH_RATE", str),
        ("pbs", "MAX_BANDWIDTH_BURST_RATE", str),
    )),
    "WRED_PROFILE": ("WRED", "0x13", (
        ("ecn", "ECN_MARK_MODE", lambda text: f"SAI_ECN_MARK_MODE_{text.removeprefix('ecn_').upper()}"),
        *((f"wred_{color}_enable", f"{color.upper()}_ENABLE", str) for color in _COLORS),
        *((f"{color}_{name}", f"{color}_{name}".upper(), str) for color in _COLORS
          for name in ("min_threshold", "max_threshold", "drop_probability")),
    )),
    "BUFFER_POOL": ("BUFFER_POOL", _POOL_NUMBER, (
        ("type", "TYPE", _word("BUFFER_POOL_TYPE")),
        ("mode", "THRESHOLD_MODE", _word("BUFFER_POOL_THRESHOLD_MODE")),
        ("size", "SIZE", str),
        ("xoff", "XOFF_SIZE", str),
    )),
    "BUFFER_PROFILE": ("BUFFER_PROFILE", "0x19", (
        ("pool", "POOL_ID", _pool),
        ("size", "RESERVED_BUFFER_SIZE", str),
        ("xon", "XON_TH", str),
        ("xon_offset", "XON_OFFSET_TH", str),
        ("xoff", "XOFF_TH", str),
        ("dynamic_th", "SHARED_DYNAMIC_TH", str),
        ("static_th", "SHARED_STATIC_TH", str),
    )),
}  # fmt: skip
"""By table: SAI's type of its objects, the number of that type in object ids, and fields as those of a port."""
_MAPS: Mapping[str, str] = {
    "DSCP_TO_TC_MAP": "DSCP_TO_TC",
    "TC_TO_QUEUE_MAP": "TC_TO_QUEUE",
    "TC_TO_PRIORITY_GROUP_MAP": "TC_TO_PRIORITY_GROUP",
    "MAP_PFC_PRIORITY_TO_QUEUE": "PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": "PFC_PRIORITY_TO_PRIORITY_GROUP",
}
_MAP_NUMBER = "0x14"
_PORT_MAPS: Mapping[str, tuple[str, str]] = {
    "dscp_to_tc_map": ("DSCP_TO_TC_MAP", "QOS_DSCP_TO_TC_MAP"),
    "tc_to_queue_map": ("TC_TO_QUEUE_MAP", "QOS_TC_TO_QUEUE_MAP"),
    "tc_to_pg_map": ("TC_TO_PRIORITY_GROUP_MAP", "QOS_TC_TO_PRIORITY_GROUP_MAP"),
    "pfc_to_queue_map": ("MAP_PFC_PRIORITY_TO_QUEUE", "QOS_PFC_PRIORITY_TO_QUEUE_MAP"),
    "pfc_to_pg_map": ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "QOS_PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
}
_BOUND: Mapping[str, tuple[str, tuple[tuple[str, str, str, str], ...]]] = {
    "QUEUE": ("0x15", (("BUFFER_QUEUE", "profile", "BUFFER_PROFILE", "BUFFER_PROFILE_ID"),
                       ("QUEUE", "wred_profile", "WRED_PROFILE", "WRED_PROFILE_ID"),
                       ("QUEUE", "scheduler", "SCHEDULER", "SCHEDULER_PROFILE_ID"))),
    "INGRESS_PRIORITY_GROUP": ("0x1a", (("BUFFER_PG", "profile", "BUFFER_PROFILE", "BUFFER_PROFILE"),)),
}  # fmt: skip
"""By SAI's type: its number; tables and fields that bind an object, the object's own table, and the attribute."""
# One queue and one priority group for each traffic class.
_EACH_PORT_HAS = range(8)
_OBJECT_START = "ASIC_STATE:SAI_OBJECT_TYPE_"


def asic_rows(
    orchagent: Orchagent, asic: str, ports: Mapping[str, str], asked: Callable[[str], bool]
) -> dict[str, Hash]:
    """Return the objects of the types whose keys are ``asked`` for by their start; ``ports``: object ids by name."""
    kinds = {kind for kind in _KINDS if asked(f"{_OBJECT_START}{kind}:")}
    rows = dict(_shared_rows(orchagent, kinds))
    if "PORT" in kinds:
        for port, port_id in ports.items():
            rows[f"{_OBJECT_START}PORT:{port_id}"] = dict(_port(orchagent, port))
    for kind in kinds & _BOUND.keys():
        rows.update(_bound_rows(orchagent, kind, ports))
    if "HASH" in kinds:
        rows |= switchhash.asic_rows(asic, orchagent.object_of(switchhash.ROW))
    return rows


_KINDS = ("PORT", "HASH", "QOS_MAP", *_BOUND, *(kind for kind, _, _ in _OBJECTS.values()))


def _key(kind: str, number: str, name: str) -> str:
    return f"{_OBJECT_START}{kind}:{_oid(number, name)}"


def _shared_rows(orchagent: Orchagent, kinds: Container[str]) -> Iterator[tuple[str, Hash]]:
    """Yield the objects that are no port's own."""
    for key in {**orchagent.seen, **dict.fromkeys(orchagent.waiting)}:
        table, _, _ = key.partition("|")
        if table in _MAPS and "QOS_MAP" in kinds:
            yield _key("QOS_MAP", _MAP_NUMBER, key), _map(_MAPS[table], orchagent.object_of(key))
        if table in _OBJECTS and _OBJECTS[table][0] in kinds:
            kind, number, fields = _OBJECTS[table]
            yield _key(kind, number, key), dict(_attributes(kind, orchagent.object_of(key), fields))


def _attributes(kind: str, row: Hash, fields: Iterable[tuple[str, str, Shown]]) -> Iterator[tuple[str, str]]:
    for name, attribute, shown in fields:
        if name in row:
            yield f"SAI_{kind}_ATTR_{attribute}", shown(row[name])


def _map(kind: str, row: Hash) -> Hash:
    entries = sorted((int(name), int(value)) for name, value in row.items() if name.isdecimal() and value.isdecimal())
    listed = {"count": len(entries), "list": [{"key": name, "value": value} for name, value in entries]}
    return {
        "SAI_QOS_MAP_ATTR_TYPE": f"SAI_QOS_MAP_TYPE_{kind}",
        "SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST": json.dumps(listed),
    }


def _bound_rows(orchagent: Orchagent, kind: str, ports: Mapping[str, str]) -> Iterator[tuple[str, Hash]]:
    """Yield the queues or groups of all ports with what is bound to each."""
    bindings = orchagent.bindings()
    number, sources = _BOUND[kind]
    for port, port_id in ports.items():
        for index in _EACH_PORT_HAS:
            row = {f"SAI_{kind}_ATTR_INDEX": str(index), f"SAI_{kind}_ATTR_PORT": port_id}
            for table, field, named_in, attribute in sources:
                bound = bindings.get(f"{table}|{port}", {}).get(f"{index} {field}", "")
                if bound:
                    row[f"SAI_{kind}_ATTR_{attribute}"] = _oid(_OBJECTS[named_in][1], f"{named_in}|{bound}")
            yield _key(kind, number, f"{port}|{index}"), row


def _port(orchagent: Orchagent, port: str) -> Iterator[tuple[str, str]]:
    yield from _attributes("PORT", orchagent.object_of(f"PORT|{port}"), _PORT_ATTRIBUTES)
    qos = dict(orchagent.seen.get(f"PORT_QOS_MAP|{port}", ()))
    if "pfc_enable" in qos:
        lossless = [int(number) for number in qos["pfc_enable"].split(",") if number.isdecimal()]
        yield "SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL", str(sum(1 << number for number in lossless))
    for name, (table, attribute) in _PORT_MAPS.items():
        if name in qos:
            yield f"SAI_PORT_ATTR_{attribute}", _oid(_MAP_NUMBER, f"{table}|{qos[name]}")
