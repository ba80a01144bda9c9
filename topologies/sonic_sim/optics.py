"""What modules report: the rows that xcvrd writes to STATE_DB (sonic-platform-daemons, xcvrd, 202505).

Every port of a cage has TRANSCEIVER_INFO, only the first one the readings and thresholds. Copper cables report neither.
Values of a module differ a little from those of others, and are the same at every reading unless a fault changes them.
"""

import zlib
from collections.abc import Iterator
from time import gmtime, strftime

from sonic_sim.configdb import Hash
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.flows.link_faults import cages, far_fault, fault_at, hot_cage, wear
from sonic_sim.network import End
from sonic_sim.spec import SimModule

_NOT_AVAILABLE = "N/A"
# Identifiers of SFF-8024.
_TYPES = {
    "QSFP-DD": "QSFP-DD Double Density 8X Pluggable Transceiver",
    "OSFP": "OSFP 8X Pluggable Transceiver",
    "QSFP28": "QSFP28 or later",
}
_CMIS_QSFP = "QSFP+ or later with CMIS"
_WIDE_LANES = 8
_QSFP_LANES = 4
# As a 400GBASE-DR4 has them: dBm, mA, °C, V.
_THRESHOLDS = {
    "rxpower": (6.4, 4.4, -7.4, -9.4),
    "txpower": (7.0, 4.0, -2.9, -5.9),
    "txbias": (105.0, 95.0, 30.0, 20.0),
    "temp": (75.0, 70.0, 0.0, -5.0),
    "vcc": (3.63, 3.465, 3.135, 2.97),
}
_LIMITS = ("highalarm", "highwarning", "lowwarning", "lowalarm")
# What a decade of a laser's error rate costs in light, and adds to its bias.
_WEAR_DB = 0.9
_WEAR_BIAS = 0.16
_DARK = "-inf"


def transceiver_rows(device: Device, net: Fabric) -> Iterator[tuple[str, Hash]]:
    """Yield the rows of the modules of a switch, with their keys."""
    ports = [port for port in net.ports(device) if port in device.spec.modules]
    for port, ports_of_cage in cages(device, ports).items():
        module = device.spec.modules[port]
        yield f"TRANSCEIVER_INFO|{port}", _info(module)
        if port == ports_of_cage[0]:
            yield f"TRANSCEIVER_DOM_SENSOR|{port}", _readings(device, net, module, ports_of_cage)
            yield f"TRANSCEIVER_DOM_THRESHOLD|{port}", _thresholds(module)


def _info(module: SimModule) -> Hash:
    """Return the row that describes a module."""
    connector = "MPO 1x12"
    if module.fixed:
        connector = "No separable connector"
    media = "sm_media_interface"
    if module.copper:
        media = "passive_copper_media_interface"
    elif module.fixed:
        media = "active_cable_media_interface"
    length_m = module.length_m if module.fixed else 0
    return {
        "type": _TYPES.get(module.form_factor.removesuffix("800"), _CMIS_QSFP),
        "manufacturer": "SIMULATED",
        "model": module.name,
        "serial": module.serial,
        "vendor_rev": "A1",
        "vendor_date": "2026-01-01",
        "vendor_oui": "00-00-00",
        "connector": connector,
        "cable_type": "Length Cable Assembly(m)",
        "cable_length": f"{float(length_m)}",
        "specification_compliance": media,
        "is_replaceable": "True",
    }


def _readings(device: Device, net: Fabric, module: SimModule, ports: list[str]) -> Hash:
    """Return the temperature, voltage and lanes that the module in the cage of ``ports`` reports."""
    end = End(device.name, ports[0])
    heat = hot_cage(net, end)
    celsius = _about(end, "temperature", 45.0, 4.0)
    if heat is not None:
        celsius = heat.celsius
    row = {
        "temperature": f"{celsius:.3f}",
        "voltage": f"{_about(end, 'voltage', 3.3, 0.03):.3f}",
        "laser_temperature": _NOT_AVAILABLE,
        "last_update_time": strftime("%a %b %d %H:%M:%S %Y", gmtime(device.clock.now())),
    }
    # A cage has fields for all its lanes, also for those that the module does not use.
    cage_lanes = _WIDE_LANES if module.form_factor.startswith(("QSFP-DD", "OSFP")) else _QSFP_LANES
    for number in range(1, max(cage_lanes, module.lanes) + 1):
        row |= dict.fromkeys((f"rx{number}power", f"tx{number}power", f"tx{number}bias"), _NOT_AVAILABLE)
    if module.copper:
        return {**row, "temperature": _NOT_AVAILABLE, "voltage": _NOT_AVAILABLE}
    lanes_of_port = max(1, module.lanes // len(ports))
    for index, port in enumerate(ports):
        for lane in range(lanes_of_port):
            number = index * lanes_of_port + lane + 1
            row |= _lane(device, net, End(device.name, port), lane, lanes_of_port, number)
    return row


def _lane(device: Device, net: Fabric, end: End, lane: int, lanes: int, number: int) -> Hash:
    """Return the readings of one lane of a port; ``number`` is that of the lane in the module."""
    here = net.ports(device)[end.port]
    sent, bias = _laser(net, end, lane, lanes, device.clock.now())
    far = net.cables.get(end)
    received = _DARK
    if far is not None and _sends(net, far):
        power, _ = _laser(net, far, lane, lanes, device.clock.now())
        received = f"{power - _loss_db(net, end, lane, lanes):.3f}"
    if not here.admin_up:
        return {f"rx{number}power": received, f"tx{number}power": _DARK, f"tx{number}bias": "0.0"}
    return {f"rx{number}power": received, f"tx{number}power": f"{sent:.3f}", f"tx{number}bias": f"{bias:.3f}"}


def _sends(net: Fabric, end: End) -> bool:
    """Tell whether the laser at an end is on."""
    if end.node in net.hosts:
        return net.hosts[end.node].powered
    device = net.devices.get(end.node)
    port = None if device is None else net.ports(device).get(end.port)
    return port is not None and port.admin_up


def _laser(net: Fabric, end: End, lane: int, lanes: int, at: float) -> tuple[float, float]:
    """Return the power (dBm) and the bias (mA) of the laser of a lane at an end, at the Unix time ``at``."""
    power = _about(end, f"tx{lane}", 1.0, 0.5)
    bias = _about(end, f"bias{lane}", 62.0, 2.0)
    partner = net.cables.get(end)
    # Seen from its partner, the fault is at the far end: for a node that finds its NIC.
    fault = far_fault(net, FaultKind.DYING_LASER, partner) if partner is not None else None
    if fault is None or fault.lane % lanes != lane:
        return power, bias
    worn = wear(fault, at)
    return power - _WEAR_DB * worn, bias * (1 + _WEAR_BIAS * worn)


def _loss_db(net: Fabric, end: End, lane: int, lanes: int) -> float:
    """Return the light, in dB, that a lane loses on its way to an end."""
    loss = _about(end, f"loss{lane}", 1.5, 0.5)
    dirt = fault_at(net, FaultKind.DIRTY_FIBER, end, 0)
    if dirt is not None and dirt.lane % lanes == lane:
        loss += dirt.db
    return loss


def _about(end: End, what: str, mean: float, spread: float) -> float:
    """Return a value within ``spread`` of ``mean`` that differs from end to end, and is always the same for one."""
    share = zlib.crc32(f"{end.node}:{end.port} {what}".encode()) / 2**32
    return mean + spread * (2 * share - 1)


def _thresholds(module: SimModule) -> Hash:
    row = {}
    for name, values in _THRESHOLDS.items():
        for limit, value in zip(_LIMITS, values, strict=True):
            row[name + limit] = _NOT_AVAILABLE if module.copper else f"{value}"
    return row
