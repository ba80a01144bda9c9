"""The wire of a link as the port of its switch runs it: speed, code and lanes."""

from collections.abc import Iterator
from typing import NamedTuple

from sonic_sim.device import Device, Fabric
from sonic_sim.flows.codewords import PAM4_LANE_GBPS, RS544, Code, code_of
from sonic_sim.flows.link_faults import cages
from sonic_sim.flows.rows import rows_of
from sonic_sim.network import End

# Optics of PAM4 lanes put 100 Gb/s on each fiber or wavelength, whatever the lanes between ASIC and module carry.
_OPTICAL_LANE_GBPS = 100
_MOST_LANES = 8


class Wire(NamedTuple):
    """What carries the bits of one direction of a link."""

    gbps: float = 0.0
    # None without FEC.
    code: Code | None = RS544
    lanes: int = 1


def wire_at(net: Fabric, end: End) -> Wire:
    """Return the wire of the link at ``end``, by the port of the switch at one of its ends.

    Without such a port its speed is 0 Gb/s.
    """
    for link_end in (end, net.cables.get(end)):
        if link_end is None:
            continue
        device = net.devices.get(link_end.node)
        if device is not None and link_end.port in net.ports(device):
            return _wires(net, device)[link_end.port]
    return Wire()


def _wires(net: Fabric, device: Device) -> dict[str, Wire]:
    """Return the wires of the ports of a switch, made again when their rows change."""
    version = (device.db.version, device.faults.version)
    return net.kept(device, "wires", version, lambda: dict(_make_wires(net, device)))


def _make_wires(net: Fabric, device: Device) -> Iterator[tuple[str, Wire]]:
    """Yield each port of a switch with its wire."""
    modules = device.spec.modules
    ports = net.ports(device)
    ports_in_cage = cages(device, ports)
    for port in ports:
        rows = rows_of(device)[port]
        code = code_of(rows.fec, rows.gbps / rows.lanes)
        lanes = _usual_lanes(rows.gbps, rows.lanes)
        if port in modules:
            # The ports of a cage share the lanes of its module.
            lanes = max(1, modules[port].lanes // len(ports_in_cage[port]))
        yield port, Wire(rows.gbps, code, lanes)


def _usual_lanes(gbps: float, lanes: int) -> int:
    """Return the lanes of the optics of a port whose module is not known, by its ``lanes`` to the ASIC."""
    if gbps / lanes < PAM4_LANE_GBPS:
        return lanes
    return max(1, min(_MOST_LANES, round(gbps / _OPTICAL_LANE_GBPS)))
