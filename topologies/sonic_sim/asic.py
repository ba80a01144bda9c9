"""The objects of ASIC_DB that orchagent makes of ports, QoS maps, schedulers, profiles, pools, queues and groups.

What an object has is what `orchagent.Orchagent` holds of its row, in SAI's words (sonic-swss orchagent/portsorch.cpp,
qosorch.cpp, bufferorch.cpp; the attributes of SAI). Left out are values that nobody configures, and the profiles that
buffermgrd computes in the dynamic model. A scheduler is a queue's own, where some ASICs have it at a scheduler group.
"""

import json
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from sonic_sim import switchhash
from sonic_sim.configdb import Hash
from sonic_sim.orchagent import Orchagent

_COLORS = ("green", "yellow", "red")
# Header, VLAN tag and checksum of Ethernet, which the ASIC counts and the interface does not (portsorch.cpp).
_FRAME_OVERHEAD_BYTES = 22

Shown = Callable[[str], str]
"""How an attribute shows the value of a field."""


class _Attribute(NamedTuple):
    """A field of a row, the attribute of the object that has its value, and how it shows that."""

    field: str
    name: str
    shown: Shown


class _ObjectType(NamedTuple):
    """A type of objects by its name in SAI, its number in object ids, and its attributes."""

    name: str
    number: str
    attributes: tuple[_Attribute, ...]


class _Binding(NamedTuple):
    """A table and field that bind an object of ``object_table`` to a queue or group, and the attribute for it."""

    table: str
    field: str
    object_table: str
    attribute: str


class _BoundType(NamedTuple):
    """Queues or groups: their number in object ids, and what may be bound to them."""

    number: str
    bindings: tuple[_Binding, ...]


class _PortMap(NamedTuple):
    """The table of a QoS map that a port names, and the attribute of the port for it."""

    table: str
    attribute: str


def _enumerated(enumeration: str) -> Shown:
    """Return how an attribute shows a value as a member of one of SAI's enumerations."""
    return lambda text: f"SAI_{enumeration}_{text.upper()}"


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
    """Return the object id of a name; ``number`` is that of its type."""
    return f"oid:{number}{zlib.crc32(name.encode()):012x}"


_POOL_NUMBER = "0x18"


def _pool(name: str) -> str:
    return _oid(_POOL_NUMBER, f"BUFFER_POOL|{name}")


_PORT_ATTRIBUTES = (
    _Attribute("speed", "SPEED", str),
    _Attribute("mtu", "MTU", _mtu),
    _Attribute("admin_status", "ADMIN_STATE", _is_on),
    _Attribute("autoneg", "AUTO_NEG_MODE", _is_on),
    _Attribute("fec", "FEC_MODE", _enumerated("PORT_FEC_MODE")),
    _Attribute("pfc_asym", "PRIORITY_FLOW_CONTROL_MODE", _flow_control_mode),
)
_OBJECTS: Mapping[str, _ObjectType] = {
    "SCHEDULER": _ObjectType("SCHEDULER", "0x16", (
        _Attribute("type", "SCHEDULING_TYPE", _enumerated("SCHEDULING_TYPE")),
        _Attribute("weight", "SCHEDULING_WEIGHT", str),
        _Attribute("meter_type", "METER_TYPE", _enumerated("METER_TYPE")),
        _Attribute("cir", "MIN_BANDWIDTH_RATE", str),
        _Attribute("cbs", "MIN_BANDWIDTH_BURST_RATE", str),
        _Attribute("pir", "MAX_BANDWIDTH_RATE", str),
        _Attribute("pbs", "MAX_BANDWIDTH_BURST_RATE", str),
    )),
    "WRED_PROFILE": _ObjectType("WRED", "0x13", (
        _Attribute("ecn", "ECN_MARK_MODE", lambda text: f"SAI_ECN_MARK_MODE_{text.removeprefix('ecn_').upper()}"),
        *(_Attribute(f"wred_{color}_enable", f"{color.upper()}_ENABLE", str) for color in _COLORS),
        *(_Attribute(f"{color}_{name}", f"{color}_{name}".upper(), str) for color in _COLORS
          for name in ("min_threshold", "max_threshold", "drop_probability")),
    )),
    "BUFFER_POOL": _ObjectType("BUFFER_POOL", _POOL_NUMBER, (
        _Attribute("type", "TYPE", _enumerated("BUFFER_POOL_TYPE")),
        _Attribute("mode", "THRESHOLD_MODE", _enumerated("BUFFER_POOL_THRESHOLD_MODE")),
        _Attribute("size", "SIZE", str),
        _Attribute("xoff", "XOFF_SIZE", str),
    )),
    "BUFFER_PROFILE": _ObjectType("BUFFER_PROFILE", "0x19", (
        _Attribute("pool", "POOL_ID", _pool),
        _Attribute("size", "RESERVED_BUFFER_SIZE", str),
        _Attribute("xon", "XON_TH", str),
        _Attribute("xon_offset", "XON_OFFSET_TH", str),
        _Attribute("xoff", "XOFF_TH", str),
        _Attribute("dynamic_th", "SHARED_DYNAMIC_TH", str),
        _Attribute("static_th", "SHARED_STATIC_TH", str),
    )),
}  # fmt: skip
"""The type of the objects that orchagent makes of the rows of a table."""
_MAPS: Mapping[str, str] = {
    "DSCP_TO_TC_MAP": "DSCP_TO_TC",
    "TC_TO_QUEUE_MAP": "TC_TO_QUEUE",
    "TC_TO_PRIORITY_GROUP_MAP": "TC_TO_PRIORITY_GROUP",
    "MAP_PFC_PRIORITY_TO_QUEUE": "PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": "PFC_PRIORITY_TO_PRIORITY_GROUP",
}
_MAP_NUMBER = "0x14"
_PORT_MAPS: Mapping[str, _PortMap] = {
    "dscp_to_tc_map": _PortMap("DSCP_TO_TC_MAP", "QOS_DSCP_TO_TC_MAP"),
    "tc_to_queue_map": _PortMap("TC_TO_QUEUE_MAP", "QOS_TC_TO_QUEUE_MAP"),
    "tc_to_pg_map": _PortMap("TC_TO_PRIORITY_GROUP_MAP", "QOS_TC_TO_PRIORITY_GROUP_MAP"),
    "pfc_to_queue_map": _PortMap("MAP_PFC_PRIORITY_TO_QUEUE", "QOS_PFC_PRIORITY_TO_QUEUE_MAP"),
    "pfc_to_pg_map": _PortMap("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "QOS_PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
}
"""The QoS maps of a port by the field of PORT_QOS_MAP that names them."""
_BOUND: Mapping[str, _BoundType] = {
    "QUEUE": _BoundType("0x15", (
        _Binding("BUFFER_QUEUE", "profile", "BUFFER_PROFILE", "BUFFER_PROFILE_ID"),
        _Binding("QUEUE", "wred_profile", "WRED_PROFILE", "WRED_PROFILE_ID"),
        _Binding("QUEUE", "scheduler", "SCHEDULER", "SCHEDULER_PROFILE_ID"),
    )),
    "INGRESS_PRIORITY_GROUP": _BoundType("0x1a", (
        _Binding("BUFFER_PG", "profile", "BUFFER_PROFILE", "BUFFER_PROFILE"),
    )),
}  # fmt: skip
"""The objects of a port to which others are bound, by SAI's type."""
# One queue and one priority group for each traffic class.
_EACH_PORT_HAS = range(8)
_OBJECT_START = "ASIC_STATE:SAI_OBJECT_TYPE_"


def asic_rows(
    orchagent: Orchagent, asic: str, ports: Mapping[str, str], asked: Callable[[str], bool]
) -> dict[str, Hash]:
    """Return the objects in ASIC_DB by key; ``ports`` are the object ids of ports by name.

    A type of objects is left out if ``asked`` returns False for the start of its keys.
    """
    kinds = {kind for kind in _KINDS if asked(f"{_OBJECT_START}{kind}:")}
    rows = dict(_shared_rows(orchagent, kinds))
    if "PORT" in kinds:
        for port, port_id in ports.items():
            rows[f"{_OBJECT_START}PORT:{port_id}"] = dict(_port_attributes(orchagent, port))
    for kind in kinds & _BOUND.keys():
        rows.update(_bound_rows(orchagent, kind, ports))
    if "HASH" in kinds:
        rows |= switchhash.asic_rows(asic, orchagent.object_of(switchhash.ROW))
    return rows


_KINDS = ("PORT", "HASH", "QOS_MAP", *_BOUND, *(object_type.name for object_type in _OBJECTS.values()))


def _key(kind: str, number: str, name: str) -> str:
    return f"{_OBJECT_START}{kind}:{_oid(number, name)}"


def _shared_rows(orchagent: Orchagent, kinds: Container[str]) -> Iterator[tuple[str, Hash]]:
    """Yield the objects that ports share: QoS maps, schedulers, profiles and pools."""
    # An object whose row is removed waits until nothing names it any more.
    for key in dict.fromkeys((*orchagent.seen, *orchagent.waiting)):
        table, _, _ = key.partition("|")
        if table in _MAPS and "QOS_MAP" in kinds:
            yield _key("QOS_MAP", _MAP_NUMBER, key), _map_object(_MAPS[table], orchagent.object_of(key))
        object_type = _OBJECTS.get(table)
        if object_type is not None and object_type.name in kinds:
            attributes = _attributes(object_type.name, orchagent.object_of(key), object_type.attributes)
            yield _key(object_type.name, object_type.number, key), dict(attributes)


def _attributes(kind: str, row: Hash, attributes: Iterable[_Attribute]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of an object's attributes, of those whose fields its row has."""
    for attribute in attributes:
        if attribute.field in row:
            yield f"SAI_{kind}_ATTR_{attribute.name}", attribute.shown(row[attribute.field])


def _map_object(kind: str, row: Hash) -> Hash:
    """Return the object of a QoS map."""
    entries = sorted((int(name), int(value)) for name, value in row.items() if name.isdecimal() and value.isdecimal())
    listed = {"count": len(entries), "list": [{"key": name, "value": value} for name, value in entries]}
    return {
        "SAI_QOS_MAP_ATTR_TYPE": f"SAI_QOS_MAP_TYPE_{kind}",
        "SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST": json.dumps(listed),
    }


def _bound_rows(orchagent: Orchagent, kind: str, ports: Mapping[str, str]) -> Iterator[tuple[str, Hash]]:
    """Yield the queues or groups of all ports with what is bound to each."""
    names_bound = orchagent.bindings()
    bound_type = _BOUND[kind]
    for port, port_id in ports.items():
        for index in _EACH_PORT_HAS:
            row = {f"SAI_{kind}_ATTR_INDEX": str(index), f"SAI_{kind}_ATTR_PORT": port_id}
            for binding in bound_type.bindings:
                name = names_bound.get(f"{binding.table}|{port}", {}).get(f"{index} {binding.field}", "")
                if name:
                    number = _OBJECTS[binding.object_table].number
                    row[f"SAI_{kind}_ATTR_{binding.attribute}"] = _oid(number, f"{binding.object_table}|{name}")
            yield _key(kind, bound_type.number, f"{port}|{index}"), row


def _port_attributes(orchagent: Orchagent, port: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a port's attributes."""
    yield from _attributes("PORT", orchagent.object_of(f"PORT|{port}"), _PORT_ATTRIBUTES)
    qos = dict(orchagent.seen.get(f"PORT_QOS_MAP|{port}", ()))
    if "pfc_enable" in qos:
        # A bit for each lossless priority.
        priorities = [int(number) for number in qos["pfc_enable"].split(",") if number.isdecimal()]
        yield "SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL", str(sum(1 << priority for priority in priorities))
    for field, port_map in _PORT_MAPS.items():
        if field in qos:
            yield f"SAI_PORT_ATTR_{port_map.attribute}", _oid(_MAP_NUMBER, f"{port_map.table}|{qos[field]}")
