"""Models of poor links: which bit error rate each has on each lane, and what it does to the light of its modules.

A fault is of the end that has the cause. A dirty fiber and a hot cage show where bits arrive; a dying laser at the
other end of its cable; a bad copper cable at both ends.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import log10
from typing import NamedTuple

from sonic_sim.configdb import natural_key
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import Fault, FaultKind
from sonic_sim.network import End

# A laser beyond its end sends noise.
_WORST_BER = 0.1
# The bit error rate of a laser without wear (constants.healthy_ber).
_NEW_BER = 2e-9
# A module and the one below it share a stacked cage (QSFP-DD and OSFP hardware specifications).
_STACK = 2
# The neighbor of a hot module is a little cooler.
_NEIGHBOR_COOLER_C = 3.0


def fault_at(net: Fabric, kind: FaultKind, end: End, nic: int) -> Fault | None:
    """Return the fault of a kind at an end of a cable: of the port of a switch, or of the NIC ``nic`` of a node."""
    if end.node in net.hosts:
        node_faults = net.host_faults.get(end.node)
        if node_faults is None:
            return None
        return node_faults.of_nic(kind, nic)
    device = net.devices.get(end.node)
    if device is None:
        return None
    return device.faults.of_port(kind, end.port)


def far_fault(net: Fabric, kind: FaultKind, end: End) -> Fault | None:
    """Return the fault of a kind at the other end of a cable."""
    far = net.cables.get(end)
    if far is None:
        return None
    digits = re.search(r"\d+", far.port)
    nic = int(digits[0]) if digits else 0
    return fault_at(net, kind, far, nic)


def of_cable(net: Fabric, kind: FaultKind, end: End, nic: int = 0) -> Fault | None:
    """Return the fault of a kind that was armed at either end of the cable at ``end``; None if there is none."""
    return fault_at(net, kind, end, nic) or far_fault(net, kind, end)


def added_rates(net: Fabric, end: End, nic: int, lanes: int, at: float) -> list[float]:
    """Return the bit error rate that faults add to each lane that ends at ``end``, at the Unix time ``at``."""
    rates = [0.0] * lanes
    for fault in (fault_at(net, FaultKind.BER, end, nic), fault_at(net, FaultKind.DIRTY_FIBER, end, nic)):
        if fault is not None:
            rates[fault.lane % lanes] += fault.ber
    laser = far_fault(net, FaultKind.DYING_LASER, end)
    if laser is not None:
        rates[laser.lane % lanes] += laser_ber(laser, at)
    on_all_lanes = 0.0
    copper = of_cable(net, FaultKind.BAD_COPPER, end, nic)
    if copper is not None:
        on_all_lanes += copper.ber
    heat = hot_cage(net, end)
    if heat is not None:
        on_all_lanes += heat.ber
    return [rate + on_all_lanes for rate in rates]


def laser_ber(fault: Fault, at: float) -> float:
    """Return the bit error rate of a dying laser at the Unix time ``at``: ten times as high after each ``decade_s``."""
    decades = max(0.0, at - fault.since) / fault.decade_s
    return float(min(_WORST_BER, fault.ber * 10 ** min(decades, 20.0)))


def wear(fault: Fault, at: float) -> float:
    """Return the decades between the error rate of a dying laser and that of a new one."""
    return max(0.0, log10(laser_ber(fault, at) / _NEW_BER))


class TimePart(NamedTuple):
    """A part of a time, by its middle (Unix seconds)."""

    middle: float
    seconds: float


def time_parts(net: Fabric, end: End, at: float, seconds: float) -> Iterator[TimePart]:
    """Yield parts of the last ``seconds`` until ``at`` in which error rates hardly change, the last one first."""
    parts = 1
    laser = far_fault(net, FaultKind.DYING_LASER, end)
    if laser is not None:
        # In a twentieth of a decade the rate grows by 12 %.
        parts = min(200, int(seconds / laser.decade_s * 20) + 1)
    for part in range(parts):
        yield TimePart(at - seconds * (part + 0.5) / parts, seconds / parts)


class CageHeat(NamedTuple):
    """The heat of a cage: ``celsius`` at the module of a port."""

    celsius: float
    ber: float


def hot_cage(net: Fabric, end: End) -> CageHeat | None:
    """Return the heat of the cage of a switch's port, by its own fault or that of the module beside it; else None."""
    device = net.devices.get(end.node)
    if device is None:
        return None
    for fault in device.faults.armed:
        if fault.kind is not FaultKind.HOT_CAGE:
            continue
        if fault.port in ("", end.port):
            return CageHeat(fault.celsius, fault.ber)
        stack = _stack(device, end.port)
        if stack is None or _stack(device, fault.port) != stack:
            continue
        # Ports of one cage share its module.
        if cage_of(device, fault.port) == cage_of(device, end.port):
            return CageHeat(fault.celsius, fault.ber)
        return CageHeat(fault.celsius - _NEIGHBOR_COOLER_C, fault.ber)
    return None


def cage_of(device: Device, port: str) -> str:
    """Return the number of the cage of a port on the panel; empty if its row does not state it."""
    return device.db.get(f"PORT|{port}").get("index", "")


def cages(device: Device, ports: Iterable[str]) -> dict[str, list[str]]:
    """Return for each of ``ports`` the ports that share its cage, itself included, in natural order."""
    ports_of_cage: defaultdict[str, list[str]] = defaultdict(list)
    for port in sorted(ports, key=natural_key):
        # A port whose row does not state its cage has one of its own.
        cage = cage_of(device, port) or port
        ports_of_cage[cage].append(port)
    return {port: together for together in ports_of_cage.values() for port in together}


def _stack(device: Device, port: str) -> int | None:
    """Return the number of the stacked cage of a port; None if its row does not state its cage."""
    cage = cage_of(device, port)
    if not cage.isdecimal():
        return None
    # The number of the first cage is 0 on some panels and 1 on others.
    indexes = [row.get("index", "") for row in device.db.table("PORT").values()]
    first_cage = min(int(index) for index in indexes if index.isdecimal())
    return (int(cage) - first_cage) // _STACK
