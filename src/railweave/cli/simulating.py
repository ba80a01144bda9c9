"""The simulator's specification of a designed fabric: factory-fresh switches, GPU nodes, and the cables of the plan."""

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.catalog.load import Catalog
    from railweave.catalog.model import SwitchModel
    from railweave.fabric.model import Fabric, Host, Link, Switch
    from sonic_sim.spec import SimDevice, SimHost, SimSpec


def simulator_spec(fabric: "Fabric", catalog: "Catalog") -> "SimSpec":
    """Return what the simulator must be made of so that ``fabric`` can be deployed on it.

    Cables join the ports of the intent's breakout: a cage that still runs at its factory speed has no link yet.
    """
    from sonic_sim.spec import SimCable, SimSpec

    return SimSpec(
        fabric=fabric.name,
        devices=tuple(_device(switch, fabric, catalog) for switch in fabric.switches),
        hosts=tuple(_host(host, fabric) for host in fabric.hosts),
        cables=tuple(SimCable(a=_lower_end(link, fabric), b=_upper_end(link, fabric)) for link in fabric.links),
    )


def _device(switch: "Switch", fabric: "Fabric", catalog: "Catalog") -> "SimDevice":
    from sonic_sim.factory import factory_config

    from sonic_sim.spec import SimDevice

    model = catalog.find_switch(switch.panel.model)
    if model is None:
        raise ValueError(f"{switch.name}: model {switch.panel.model!r} left the catalogue")
    mac = _mac(fabric.name, switch.name)
    factory = factory_config(model.hwskus[0].name, model.platform, mac, _factory_ports(model))
    serial = _digest(fabric.name, switch.name)[:12].upper()
    return SimDevice(name=switch.name, factory=factory, serial=serial, mac=mac, asic=model.asic.vendor.lower())


def _factory_ports(model: "SwitchModel") -> dict[str, dict[str, str]]:
    """Return the PORT rows of the base HWSKU, service ports included, as the factory leaves them."""
    from railweave.catalog.panel import PortGroup, build_panel
    from railweave.catalog.refusal import Refusal

    panel = build_panel(model, (PortGroup(len(model.cages), model.hwskus[0].speed_gbps),))
    if isinstance(panel, Refusal):
        raise TypeError(f"{model.id}: its own HWSKU cannot be built: {panel}")
    rows = {
        port.name: _port_row(port.lanes, port.speed_gbps, port.alias, port.panel, {"fec": port.fec})
        for port in panel.ports
    }
    for port in model.service_ports:
        lanes = ",".join(str(lane) for lane in port.lanes)
        rows[port.name] = _port_row(lanes, port.speed_gbps, port.alias, port.index, {})
    return rows


def _port_row(lanes: str, speed_gbps: int, alias: str, index: int, more: dict[str, str]) -> dict[str, str]:
    row = {"lanes": lanes, "speed": str(speed_gbps * 1000), "alias": alias, "index": str(index)}
    return row | {"mtu": "9100", "admin_status": "up"} | more


def _host(host: "Host", fabric: "Fabric") -> "SimHost":
    from sonic_sim.spec import SimHost

    return SimHost(name=host.name, mac=_mac(fabric.name, host.name), mtu=fabric.policies.mtu.hosts_bytes)


def _lower_end(link: "Link", fabric: "Fabric") -> str:
    host = fabric.host_of.get(link.lower)
    ports = host.ports if host is not None else fabric.switch_of[link.lower].panel.ports
    return f"{link.lower}:{ports[link.lower_port].name}"


def _upper_end(link: "Link", fabric: "Fabric") -> str:
    return f"{link.upper}:{fabric.switch_of[link.upper].panel.ports[link.upper_port].name}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()


def _mac(*parts: str) -> str:
    """Return a locally administered address that is always the same for the same device."""
    digits = _digest(*parts)[:10]
    return ":".join(("02", *(digits[at : at + 2] for at in range(0, 10, 2))))
