"""The simulated fabric of an intent: start, stop, inspect, move cables, power nodes, inject faults.

A simulator is made of factory-fresh switches, GPU nodes and the cables of the intent.
"""

import dataclasses
import hashlib
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from railweave.api.project import STATE, Project
from railweave.api.simulator.machines import nics_of
from railweave.cabling.modules import Modules, PlannedModule, planned_modules
from railweave.catalog.load import Catalog
from railweave.catalog.model import SwitchModel
from railweave.catalog.panel import PortGroup, boot_speed_gbps, build_panel
from railweave.diagnostics import Blocker
from railweave.errors import RailweaveError, UsageError
from railweave.fabric.devices import Host, Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent
from railweave.plan.phases.planning import CableEnd, Phase
from sonic_sim import control
from sonic_sim.control import Endpoints, SimOptions
from sonic_sim.errors import SimulatorError
from sonic_sim.factory import factory_config
from sonic_sim.spec import SimCable, SimDevice, SimHost, SimModule, SimSpec

__all__ = [
    "cable",
    "clear_fault",
    "down",
    "fault",
    "missing_extra",
    "move_cables",
    "power",
    "replace",
    "ssh_command",
    "status",
    "up",
]

_FOLDER = STATE / "sim"
_NODE_USER = "root"


@dataclass(frozen=True, slots=True)
class RunningSim:
    """A running simulated fabric: how to reach its switches, and the folder of its state."""

    fabric: str
    endpoints: Endpoints
    state: Path


@dataclass(frozen=True, slots=True)
class RewiredPhase:
    """The cables of a phase, in place in the simulator."""

    phase: Phase
    # Cables that were moved or taken out; the others were in place already.
    moved: int
    # New cables of the intent, plugged as their ports are free now.
    added: int


_EXTRA = ("asyncssh", "click", "jsonpatch", "tabulate")
"""Packages of the extra ``sim`` that the simulator imports."""


def missing_extra() -> str:
    """Return which packages the simulator lacks, with the fix; empty if all are installed."""
    # Looked up, not imported: the process of the simulator imports them.
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if not missing:
        return ""
    needed = f"the simulator needs the extra railweave[sim] (missing: {', '.join(missing)})"
    return f"{needed}: pip install 'railweave[sim]'"


@contextmanager
def simulator_errors() -> Iterator[None]:
    """Raise RailweaveError if the simulator is not installed, and for what it refuses within the block."""
    missing = missing_extra()
    if missing:
        raise RailweaveError(missing)
    try:
        yield
    except SimulatorError as refused:
        raise RailweaveError(str(refused)) from refused


@simulator_errors()
def up(project: Project, *, real_time: bool = False) -> RunningSim:
    """Start the simulated fabric, or add what the intent has grown by; running switches and nodes are not reset.

    If the intent manages its nodes, they run as machines; where this computer cannot run them,
    ``endpoints.without_nodes`` of the result says why. With ``real_time`` the waits of SONiC take as long as on a
    switch. Raises RefusedError if the intent has errors, RailweaveError if the simulator cannot be changed to match it.
    """
    from railweave.api.design.intent import load_configurable

    designed = load_configurable(project.intent)
    fabric = designed.fabric
    options = SimOptions(time_scale=1.0) if real_time else SimOptions()
    folder = _FOLDER / fabric.name
    spec = simulator_spec(fabric, designed.catalog)
    if fabric.policies.hosts.manage:
        spec = dataclasses.replace(spec, hosts=tuple(_machine(host, fabric) for host in fabric.hosts))
    return RunningSim(fabric.name, control.up(folder, spec, options), folder)


@simulator_errors()
def down(project: Project | None = None) -> dict[str, bool]:
    """Stop the simulated fabric of ``project``, by default all of the working directory, and remove its state.

    Returns for each fabric whether it was running.
    """
    folders = [state(project)] if project else sorted(_FOLDER.glob("*"))
    return {folder.name: control.down(folder) for folder in folders}


@simulator_errors()
def status(project: Project) -> dict[str, Any]:
    """Return the simulated switches with their addresses and faults, as ``sim status --json`` prints them."""
    return control.status(state(project))


@simulator_errors()
def cable(project: Project, a: str, b: str) -> None:
    """Plug a cable between two ends ``DEVICE:PORT``; a cable that was in one of them is unplugged."""
    control.cable(state(project), a, b)


@simulator_errors()
def move_cables(project: Project, base: str, number: int, *, target: str = "sim") -> RewiredPhase:
    """Move the cables of a phase of the change from ``base``, as people do once the phase is deployed.

    New cables of the intent whose ports become free are plugged too. Raises UsageError for a phase without cables,
    RefusedError if a switch of ``target`` has not done the phase.
    """
    from railweave.api.targets.phases import live_phases

    folder = state(project)
    # Without a simulator the switches of the target cannot be read either: this says how to start it.
    control.endpoints(folder)
    phases = live_phases(project, target, base)
    phase = phases.change.phase(number)
    if not phase.cables:
        raise UsageError(f"phase {number} moves no cables{_phases_with_cables(phases.change.phases)}")
    phases.require_reached(number)
    removed_cables = []
    moved_cables = []
    for phase_cable in phase.cables:
        if phase_cable.after is None:
            removed_cables.append(_sim_cable(phase_cable.stays, phase_cable.before))
        else:
            moved_cables.append(_sim_cable(*phase_cable.ends_after))
    designed = phases.change.designed
    spec = simulator_spec(designed.fabric, designed.catalog)
    moved, added = control.rewire(folder, removed_cables, moved_cables, spec.cables)
    return RewiredPhase(phase, moved, added)


def _phases_with_cables(phases: Sequence[Phase]) -> str:
    """Return the end of a sentence that names the phases with cables; empty if none has any."""
    numbers = [str(phase.number) for phase in phases if phase.cables]
    if not numbers:
        return ""
    if len(numbers) == 1:
        return f"; phase {numbers[0]} does"
    return f"; those of {', '.join(numbers)} do"


def _sim_cable(a: CableEnd, b: CableEnd) -> SimCable:
    return SimCable(str(a), str(b))


@simulator_errors()
def power(project: Project, nodes: Sequence[str], *, powered: bool) -> None:
    """Power GPU nodes on or off; the links of one that is off are down."""
    control.power(state(project), nodes, powered=powered)


@simulator_errors()
def replace(project: Project, device: str) -> dict[str, str]:
    """Replace a switch by a factory-fresh one on the same cables; return its ``serial`` and ``mac``."""
    return control.replace(state(project), device)


@simulator_errors()
def fault(project: Project, device: str, kind: str, **details: Any) -> None:
    """Inject a fault in a switch or a node, with ``details`` as in `sonic_sim.faults`; ``clear`` clears all faults."""
    if kind == "clear":
        control.clear_fault(state(project), device)
    else:
        control.fault(state(project), device, kind, **details)


@simulator_errors()
def clear_fault(project: Project, device: str, kind: str = "") -> int:
    """Clear the faults of a switch or a node, all or those of a kind; return how many."""
    return control.clear_fault(state(project), device, kind or None)


@simulator_errors()
def ssh_command(project: Project, device: str, command: Sequence[str] = ()) -> list[str]:
    """Return the OpenSSH command that logs in to a simulated switch or node and runs ``command`` there, if any.

    Raises UsageError for an unknown device, or if ``command`` begins with an option.
    """
    endpoints = control.endpoints(state(project))
    username = endpoints.username
    endpoint = endpoints.devices.get(device)
    if endpoint is None and device in endpoints.nodes:
        endpoint = endpoints.nodes[device]
        username = _NODE_USER
    if endpoint is None:
        raise UsageError(f"no simulated switch {device!r}; known are {', '.join(endpoints.devices)}")
    if command and command[0].startswith("-"):
        without_option = " ".join(command[1:]) or "show lldp table"
        example = shlex.join((device, without_option))
        raise UsageError(f"{command[0]!r} is not a command of a switch: write it without options, as in `{example}`")
    return [
        "ssh",
        # The user's own known_hosts would contradict: each simulator has other keys on the same ports of loopback.
        *("-o", f"UserKnownHostsFile={endpoints.known_hosts}"),
        # An agent with many keys would use up the attempts of a login before the right key is tried.
        *("-o", "IdentitiesOnly=yes"),
        *("-o", "LogLevel=ERROR"),
        *("-i", endpoints.key_file),
        *("-p", str(endpoint.port)),
        f"{username}@{endpoint.address}",
        *command,
    ]


def state(project: Project) -> Path:
    """Return the folder with the state of the project's simulated fabric."""
    return _FOLDER / load_intent(project.intent).fabric


def simulator_spec(fabric: Fabric, catalog: Catalog) -> SimSpec:
    """Return what the simulator must be made of so that ``fabric`` can be deployed on it.

    Cables join the ports of the intent's breakout: a cage that still runs at its factory speed has no link yet.
    """
    modules = planned_modules(fabric, catalog)
    return SimSpec(
        fabric=fabric.name,
        devices=tuple(_device(switch, fabric, catalog, modules) for switch in fabric.switches),
        hosts=tuple(_host(host, fabric) for host in fabric.hosts),
        cables=tuple(SimCable(a=_lower_end(link, fabric), b=_upper_end(link, fabric)) for link in fabric.links),
    )


def _device(switch: Switch, fabric: Fabric, catalog: Catalog, modules: Modules) -> SimDevice:
    """Return a factory-fresh switch with the ``modules`` that are planned for its ports."""
    model = catalog.find_switch(switch.panel.model)
    if model is None:
        raise ValueError(f"{switch.name}: model {switch.panel.model!r} left the catalog")
    mac = _mac(fabric.name, switch.name)
    factory = factory_config(_factory_ports(model), hwsku=model.hwskus[0].name, platform=model.platform, mac=mac)
    serial = _digest(fabric.name, switch.name)[:12].upper()
    plugged = {}
    for port in switch.panel.ports:
        module = modules.get((switch.name, port.index))
        if module is not None:
            plugged[port.name] = _sim_module(fabric.name, module)
    asic = model.asic.vendor.lower()
    return SimDevice(name=switch.name, factory=factory, serial=serial, mac=mac, asic=asic, modules=plugged)


def _sim_module(fabric: str, module: PlannedModule) -> SimModule:
    return SimModule(
        form_factor=module.form_factors[0],
        name=module.pmd,
        serial=f"S{_digest(fabric, module.piece)[:11].upper()}",
        lanes=module.lanes,
        length_m=module.length_m,
        fixed=module.fixed,
        copper=module.copper,
    )


def _factory_ports(model: SwitchModel) -> dict[str, dict[str, str]]:
    """Return the PORT rows of the base HWSKU, service ports included, as the factory leaves them."""
    panel = build_panel(model, (PortGroup(len(model.cages), boot_speed_gbps(model)),))
    if isinstance(panel, Blocker):
        raise TypeError(f"{model.id}: its own HWSKU cannot be built: {panel}")
    rows = {}
    for port in panel.ports:
        rows[port.name] = _port_row(port.lanes, port.speed_gbps, port.alias, port.panel) | {"fec": port.fec}
    for service_port in model.service_ports:
        lanes = ",".join(str(lane) for lane in service_port.lanes)
        rows[service_port.name] = _port_row(lanes, service_port.speed_gbps, service_port.alias, service_port.port_index)
    return rows


def _port_row(lanes: str, speed_gbps: int, alias: str, index: int) -> dict[str, str]:
    # SONiC states speeds in Mbit/s.
    row = {"lanes": lanes, "speed": str(speed_gbps * 1000), "alias": alias, "index": str(index)}
    return row | {"mtu": "9100", "admin_status": "up"}


def _host(host: Host, fabric: Fabric) -> SimHost:
    return SimHost(name=host.name, mac=_mac(fabric.name, host.name), mtu=fabric.policies.mtu.hosts_bytes)


def _machine(host: Host, fabric: Fabric) -> SimHost:
    """Return a node that is a machine, with its NICs."""
    simulated = _host(host, fabric)
    nics = nics_of(fabric, host, simulated.mac)
    return dataclasses.replace(simulated, nics=nics, frontend=fabric.policies.hosts.frontend or "")


def _lower_end(link: Link, fabric: Fabric) -> str:
    """Return the lower end of a link, at a node or a switch, as ``DEVICE:PORT``."""
    host = fabric.host_of.get(link.lower)
    if host is not None:
        port_name = host.ports[link.lower_port].name
    else:
        port_name = fabric.switch_of[link.lower].panel.ports[link.lower_port].name
    return f"{link.lower}:{port_name}"


def _upper_end(link: Link, fabric: Fabric) -> str:
    return f"{link.upper}:{fabric.switch_of[link.upper].panel.ports[link.upper_port].name}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()


def _mac(*parts: str) -> str:
    """Return a locally administered address that is always the same for the same device."""
    # The bit 02 marks an address that no vendor assigned (IEEE 802).
    octets = b"\x02" + bytes.fromhex(_digest(*parts))[:5]
    return octets.hex(":")
