"""The simulator's specification of a designed fabric: factory-fresh switches, GPU nodes, and the cables of the plan."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.errors import RailweaveError, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

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
        raise ValueError(f"{switch.name}: model {switch.panel.model!r} left the catalog")
    mac = _mac(fabric.name, switch.name)
    factory = factory_config(_factory_ports(model), hwsku=model.hwskus[0].name, platform=model.platform, mac=mac)
    serial = _digest(fabric.name, switch.name)[:12].upper()
    return SimDevice(name=switch.name, factory=factory, serial=serial, mac=mac, asic=model.asic.vendor.lower())


def _factory_ports(model: "SwitchModel") -> dict[str, dict[str, str]]:
    """Return the PORT rows of the base HWSKU, service ports included, as the factory leaves them."""
    from railweave.catalog.model import Refusal
    from railweave.catalog.panel import PortGroup, build_panel

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


@contextmanager
def simulator_words() -> Iterator[None]:
    """Turn what the simulator refuses into an error for a person."""
    from sonic_sim.control import SimulatorError

    try:
        yield
    except SimulatorError as refused:
        raise RailweaveError(str(refused)) from refused


def ssh_command(state: Path, device: str, command: tuple[str, ...]) -> list[str]:
    """Return the OpenSSH call that logs in to ``device``; raises UsageError where there is no such switch."""
    from sonic_sim import control

    with simulator_words():
        endpoints = control.endpoints(state)
    endpoint = endpoints.devices.get(device)
    if endpoint is None:
        raise UsageError(f"no switch {device!r} is simulated here; there are {', '.join(endpoints.devices)}")
    options = {"UserKnownHostsFile": endpoints.known_hosts, "IdentitiesOnly": "yes", "LogLevel": "ERROR"}
    return [
        "ssh",
        *(word for name, value in options.items() for word in ("-o", f"{name}={value}")),
        *("-i", endpoints.key_file, "-p", str(endpoint.port), f"{endpoints.username}@{endpoint.address}"),
        *command,
    ]


def status_view(status: Mapping[str, Any]) -> "RenderableType":
    """Return the simulated switches with their addresses and faults as a table."""
    from rich.table import Table

    if not status.get("running", True):
        return "no simulated fabric runs here; `railweave sim up` starts one"
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("switch", "address", "faults"):
        table.add_column(column)
    for name, device in status["devices"].items():
        faults = ", ".join(fault["kind"] for fault in device.get("faults", ())) or "-"
        table.add_row(name, f"{device['address']}:{device['port']}", faults)
    return table
