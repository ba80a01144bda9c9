"""The databases beside CONFIG_DB, computed when they are read, as orchagent, lldp and the counters would write them."""

import re
import zlib
from collections.abc import Iterator

from sonic_sim import switchhash
from sonic_sim.asic import asic_rows
from sonic_sim.configdb import Hash
from sonic_sim.device import Device, Fabric
from sonic_sim.flows.counters import (
    add_port_fields,
    counted_until_now,
    name_maps,
    queue_and_group_rows,
    queue_keys,
)
from sonic_sim.flows.model import FlowModel, model_of
from sonic_sim.lldp import lldp_rows
from sonic_sim.neighbors import learned
from sonic_sim.network import End, Port
from sonic_sim.optics import transceiver_rows
from sonic_sim.orchagent import watchdog_rows
from sonic_sim.traffic import USED_PACKET_BYTES, Counted, counted

APPL = 0
ASIC = 1
COUNTERS = 2
LOGLEVEL = 3
CONFIG = 4
FLEX_COUNTER = 5
STATE = 6
NUMBERS = {
    "APPL_DB": APPL, "ASIC_DB": ASIC, "COUNTERS_DB": COUNTERS, "LOGLEVEL_DB": LOGLEVEL, "CONFIG_DB": CONFIG,
    "FLEX_COUNTER_DB": FLEX_COUNTER, "STATE_DB": STATE,
}  # fmt: skip

_FIRST_OID = 0x2
_COUNTERS = ("IN_OCTETS", "IN_UCAST_PKTS", "IN_NON_UCAST_PKTS", "IN_MULTICAST_PKTS", "IN_BROADCAST_PKTS", "IN_DISCARDS",
             "IN_ERRORS", "OUT_OCTETS", "OUT_UCAST_PKTS", "OUT_NON_UCAST_PKTS", "OUT_MULTICAST_PKTS",
             "OUT_BROADCAST_PKTS", "OUT_DISCARDS", "OUT_ERRORS")  # fmt: skip


def rows_of_database(device: Device, number: int, pattern: str = "*") -> dict[str, Hash]:
    """Return the rows of a database other than CONFIG_DB.

    Rows that ``pattern`` cannot match may be missing, because they are not computed.
    """
    rows: dict[str, Hash] = {}
    if device.daemons:
        rows = _derived_rows(device, number, pattern)
    rows.update(device.other.get(number, {}))
    return rows


def _derived_rows(device: Device, number: int, pattern: str) -> dict[str, Hash]:
    """Return the rows of a database that SONiC's daemons would write; empty for a database without any."""
    net = device.network
    if number == APPL:
        return _appl_rows(device, net, pattern)
    if number == ASIC:
        ports = _port_ids(net, device)
        return asic_rows(device.orchagent, device.spec.asic, ports, lambda start: _may_match(pattern, start))
    if number == COUNTERS:
        return dict(_counter_rows(device, net, pattern))
    if number == STATE:
        return dict(_state_rows(device, net, pattern))
    return {}


def _appl_rows(device: Device, net: Fabric, pattern: str) -> dict[str, Hash]:
    """Return the rows of APPL_DB that a pattern may match."""
    rows: dict[str, Hash] = {}
    if _may_match(pattern, "PORT_TABLE:"):
        rows.update(_port_rows(device, net))
    if _may_match(pattern, "LLDP_"):
        rows.update(lldp_rows(device, net))
    if _may_match(pattern, "BUFFER_"):
        rows.update(_buffer_rows(device))
    if _may_match(pattern, "INTF_TABLE:"):
        for address in net.addresses(device):
            prefix = f"{address.address}/{address.length}"
            rows[f"INTF_TABLE:{address.interface}:{prefix}"] = {"scope": "global", "family": "IPv4"}
    return rows


def _may_match(pattern: str, start: str) -> bool:
    """Tell whether a pattern of Redis may match keys with this start."""
    fixed = _literal_start(pattern)
    return fixed.startswith(start) or start.startswith(fixed)


def _literal_start(pattern: str) -> str:
    """Return the part of a pattern before its first wildcard."""
    return re.split(r"[*?[]", pattern, maxsplit=1)[0]


def _port_rows(device: Device, net: Fabric) -> Iterator[tuple[str, Hash]]:
    """Yield PORT_TABLE of APPL_DB."""
    release = device.image().version.partition(".")[2]
    flaps = model_of(net, device.clock).flaps
    for port in net.ports(device).values():
        row = dict(device.orchagent.object_of(f"PORT|{port.name}"))
        row["mtu"] = str(port.mtu)
        row["oper_status"] = "up" if net.link_up(device, port.name) else "down"
        row["parent_port"] = port.name
        row["admin_status"] = "up" if port.admin_up else "down"
        if release >= _TELLS_FEC:
            row |= flaps.row(device, port.name)
        yield f"PORT_TABLE:{port.name}", row
    # portsyncd says by these that all ports are configured, and made: other daemons wait for them.
    yield "PORT_TABLE:PortConfigDone", {"count": str(len(net.ports(device)))}
    yield "PORT_TABLE:PortInitDone", {"lanes": "0"}


def _buffer_rows(device: Device) -> Iterator[tuple[str, Hash]]:
    """Yield the rows that buffermgrd copies."""
    for key in device.db.rows:
        table, _, rest = key.partition("|")
        if table not in _BUFFER_TABLES:
            continue
        row = device.db.get(key)
        if table == "BUFFER_PG":
            row = {"profile": _headroom_profile(device, rest)}
        elif table in ("BUFFER_POOL", "BUFFER_PROFILE"):
            # A removed field stays, because the row in APPL_DB is set and not replaced.
            row = device.orchagent.object_of(key)
        yield f"{table}_TABLE:{rest.replace('|', ':')}", row


_BUFFER_TABLES = ("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST",
                  "BUFFER_PORT_EGRESS_PROFILE_LIST")  # fmt: skip


def _headroom_profile(device: Device, group: str) -> str:
    """Return the profile of a group; in the dynamic model buffermgrd names it by speed and cable length."""
    profile = device.db.get(f"BUFFER_PG|{group}").get("profile", "")
    if profile != "NULL":
        return profile
    port = group.partition("|")[0]
    length = device.db.get("CABLE_LENGTH|AZURE").get(port, "0m")
    return f"pg_lossless_{device.db.get(f'PORT|{port}').get('speed', '')}_{length}_profile"


def oid(index: int) -> str:
    """Return the object id of the port with this index in the table: ``oid:0x1`` and twelve digits."""
    return f"oid:0x1{index + _FIRST_OID:012x}"


def _port_ids(net: Fabric, device: Device) -> dict[str, str]:
    return {port: oid(index) for index, port in enumerate(net.ports(device))}


def _counter_rows(device: Device, net: Fabric, pattern: str) -> Iterator[tuple[str, Hash]]:
    """Yield the rows of COUNTERS_DB that a pattern may match."""
    port_ids = _port_ids(net, device)
    yield "COUNTERS_PORT_NAME_MAP", dict(port_ids)
    yield "COUNTERS_LAG_NAME_MAP", {}
    if _may_match(pattern, "COUNTERS_QUEUE_") or _may_match(pattern, "COUNTERS_PG_"):
        yield from name_maps(port_ids)
    # Counting follows the traffic of the whole fabric, which is spared where nobody asks for it.
    if not _counts(pattern):
        return
    model = counted_until_now(device)
    rows = dict(queue_and_group_rows(device, model, port_ids, _literal_start(pattern)))
    if _may_match(pattern, _QUEUE_START):
        _add_watchdog_fields(device, model, port_ids, rows)
    yield from rows.items()
    if _may_match(pattern, "RATES:"):
        yield from _rate_rows(device, model, port_ids)
    if _may_match(pattern, "COUNTERS:oid:0x1000"):
        yield from _port_counter_rows(device, net, model, port_ids)


# How the keys of queues begin.
_QUEUE_START = "COUNTERS:oid:0x15"


def _add_watchdog_fields(device: Device, model: FlowModel, port_ids: Hash, rows: dict[str, Hash]) -> None:
    """Add the settings of the PFC watchdog, and the storms that it has seen, to the rows of the queues it watches."""
    ids_of_queues = {(port, number): queue_id for queue_id, port, number in queue_keys(port_ids)}
    for port, queue, settings in watchdog_rows(device.orchagent):
        if not queue.isdigit():
            continue
        number = int(queue)
        queue_id = ids_of_queues.get((port, number))
        if queue_id is not None:
            row = rows.setdefault(f"COUNTERS:{queue_id}", {})
            row |= settings
            row |= model.storms.fields(End(device.name, port), number)


def _port_counter_rows(device: Device, net: Fabric, model: FlowModel, port_ids: Hash) -> Iterator[tuple[str, Hash]]:
    """Yield the rows of the counters of ports, with what flows count at them."""
    carried = counted(device, net)
    for port in net.ports(device).values():
        row = counters(device, net, port, carried[port.name])
        add_port_fields(device, model, port.name, row)
        yield f"COUNTERS:{port_ids[port.name]}", row


def _rate_rows(device: Device, model: FlowModel, names: Hash) -> Iterator[tuple[str, Hash]]:
    for port, port_id in names.items():
        rates = model.ports.rates(device, port)
        if rates:
            yield f"RATES:{port_id}", rates


def _counts(pattern: str) -> bool:
    """Tell whether a pattern of Redis may match rows that grow with time."""
    return _may_match(pattern, "COUNTERS:oid") or _may_match(pattern, "RATES:") or "WATERMARKS" in pattern


_KEEPALIVE_BYTES = 85
_LLDP_INTERVAL_S = 30
_LLDP_BYTES_PER_S = 8


def counters(device: Device, net: Fabric, port: Port, carried: Counted) -> Hash:
    """Return the counters of a port: keepalives since boot while the link is up, and the packets it carried."""
    values = dict.fromkeys(_COUNTERS, 0)
    packets_carried = int(carried.packets)
    for direction in ("IN", "OUT"):
        values[f"{direction}_UCAST_PKTS"] = packets_carried
        values[f"{direction}_OCTETS"] = packets_carried * USED_PACKET_BYTES
    values["IN_ERRORS"] = int(carried.errors)
    values["OUT_DISCARDS"] = int(carried.errors)
    if net.link_up(device, port.name):
        seconds = int(device.clock.now() - device.times.booted) + 1
        # One a second, and an offset that differs from port to port.
        keepalives = seconds + zlib.crc32(f"{device.name}{port.name}".encode()) % 1000
        lldp_frames = seconds // _LLDP_INTERVAL_S + 1
        for direction in ("IN", "OUT"):
            values[f"{direction}_UCAST_PKTS"] += keepalives
            values[f"{direction}_MULTICAST_PKTS"] = lldp_frames
            values[f"{direction}_NON_UCAST_PKTS"] = lldp_frames
            values[f"{direction}_OCTETS"] += keepalives * _KEEPALIVE_BYTES + seconds * _LLDP_BYTES_PER_S
    return {f"SAI_PORT_STAT_IF_{name}": str(value) for name, value in values.items()}


# orchagent reports flaps and the FEC in force from this release on (portsorch.cpp, updateDbPortOperFec).
_TELLS_FEC = "202311"


def _state_rows(device: Device, net: Fabric, pattern: str) -> Iterator[tuple[str, Hash]]:
    """Yield the rows of STATE_DB that a pattern may match."""
    if _may_match(pattern, switchhash.CAPABILITY):
        yield switchhash.CAPABILITY, switchhash.capability(device.spec.asic)
    if _may_match(pattern, "FDB_TABLE|"):
        yield from learned(device, net)
    if _may_match(pattern, "TRANSCEIVER_"):
        yield from transceiver_rows(device, net)
    if _may_match(pattern, "PORT_TABLE|"):
        for port in net.ports(device).values():
            yield f"PORT_TABLE|{port.name}", _port_state(device, net, port)


def _port_state(device: Device, net: Fabric, port: Port) -> Hash:
    """Return the row of a port in STATE_DB, with the speed and FEC in force."""
    speed_mbps = port.speed_mbps
    fec = port.fec
    fault = device.faults.in_force(port.name)
    if fault is not None:
        # A fault of one of them leaves the other as configured.
        speed_mbps = fault.speed or speed_mbps
        fec = fault.fec or fec
    row = {
        "state": "ok",
        "netdev_oper_status": "up" if net.link_up(device, port.name) else "down",
        "host_tx_ready": "true",
        "admin_status": "up" if port.admin_up else "down",
        "mtu": str(port.mtu),
        "supported_speeds": "10000,25000,40000,50000,100000,200000,400000,800000",
        "supported_fecs": "N/A,none,rs,fc,auto",
        "speed": str(speed_mbps),
    }
    if device.image().version.partition(".")[2] >= _TELLS_FEC:
        row["fec"] = fec
    return row
