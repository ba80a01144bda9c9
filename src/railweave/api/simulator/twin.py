"""A twin: simulated switches on loopback, with the configuration and cables that were read from a target's switches."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_address
from math import ceil
from pathlib import Path
from typing import Any

from nornir_railweave.target.connect import build
from nornir_railweave.target.model import Address, Login, Source, Target, Timeouts
from nornir_railweave.target.rollout import Rollout
from nornir_railweave.tasks.recording import RecordedSwitch
from railweave.api.design.intent import Designed
from railweave.api.project import Project
from railweave.api.simulator.sim import simulator_errors, simulator_spec
from railweave.api.targets.fabric import LiveFabric, on_nornir
from railweave.errors import RailweaveError
from railweave.fabric.model import Fabric
from railweave.plan.expectation import WHOLE_FABRIC, VerificationScope
from railweave.plan.observation import LldpNeighbor
from railweave.sonic.document import RunningConfig, json_tables
from sonic_sim import control
from sonic_sim.clock import NEARLY_NOTHING
from sonic_sim.control import Endpoints, SimOptions
from sonic_sim.faults import AT_A_COMMAND, AT_ONCE, OF_A_PORT, OF_TRAFFIC, FaultKind
from sonic_sim.network import End, Port, compatible, end_of, port_of
from sonic_sim.spec import SimCable, SimSpec, SimState

Recorded = Mapping[str, RecordedSwitch]
"""What was read from the switches of a target, by name."""

FAULTS = {str(kind): kind in OF_A_PORT for kind in FaultKind if kind not in OF_TRAFFIC | {FaultKind.ERRORS}}
"""The kinds of faults that can be injected, and whether of one port. Errors count in the soak, which is left out."""

_PATIENCE_S = 10.0
_PATIENCE_OF_A_SWITCH_S = 0.1
"""What is down on simulated switches after so long stays down. Their own waits take a thousandth of the real time, and
one process serves all of them, so that the time depends on the size of the fabric and not on the target's settings."""
_COMMAND_S = Timeouts().command_s
_TIMER_PATIENCES = 3
"""The revert timer of a twin covers a wave and its verification, and a lost switch is waited for until it expires."""
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Twin:
    """A running twin: its fabric as a deployment sees it, the target ``of`` which it is the twin, the simulator's
    folder, and the specification of the simulator."""

    live: LiveFabric
    of: Target
    folder: Path
    spec: SimSpec

    @property
    def journals(self) -> Path:
        """Return where rollouts on the twin leave their journals."""
        return self.folder / "journal"

    def watch(self) -> list[tuple[str, str]]:
        """Begin a record of the twin; return the cables that carry BGP."""
        with simulator_errors():
            return control.watch(self.folder)

    def watched(self) -> list[dict[str, Any]]:
        """Return the moments of the record (`sonic_sim.watching`)."""
        with simulator_errors():
            return control.watched(self.folder)

    def fault(self, device: str, kind: str, **details: Any) -> None:
        """Inject a fault; raises RailweaveError for an unknown kind or port."""
        if kind == FaultKind.SLOW:
            # One second of the switch's own clock, which runs a thousand times faster.
            details = {"seconds": NEARLY_NOTHING, **details}
        if kind in AT_ONCE:
            # The next connection finds the switch booting, as it would with one that takes minutes to boot.
            details = {"unanswered": 1, **details}
        with simulator_errors():
            control.fault(self.folder, device, kind, **details)

    def unstruck(self, device: str) -> frozenset[str]:
        """Return the kinds of faults that wait for a command on a switch and have had no effect yet."""
        with simulator_errors():
            faults = control.status(self.folder)["devices"][device]["faults"]
        return frozenset(fault["kind"] for fault in faults if fault["kind"] in AT_A_COMMAND and not fault["struck"])


@contextmanager
def twin(
    project: Project,
    designed: Designed,
    target: Target,
    recorded: Mapping[str, RecordedSwitch],
    scope: VerificationScope = WHOLE_FABRIC,
) -> Iterator[Twin]:
    """Start a twin of ``designed`` on ``target``: recorded switches hold what was read, others are factory-fresh.

    The twin has its own folder, keys and credentials. It ends with the context, and also if this process is killed.
    Raises RailweaveError if it cannot be started.
    """
    folder = Path(tempfile.mkdtemp(prefix="railweave-twin-"))
    # The simulator reads from this pipe, and ends when its other end is closed: the kernel does so for a killed
    # process too.
    read_end, write_end = os.pipe()
    try:
        with simulator_errors():
            spec = cabled_as_seen(simulator_spec(designed.fabric, designed.catalog), designed.fabric, recorded)
            states = {name: sim_state(switch) for name, switch in recorded.items() if not switch.error}
            endpoints = control.up(folder, replace(spec, states=states), SimOptions(owner=read_end))
        yield Twin(_live_twin(project, designed, target, endpoints, scope), target, folder, spec)
    finally:
        os.close(read_end)
        try:
            control.down(folder)
        finally:
            os.close(write_end)
            shutil.rmtree(folder, ignore_errors=True)


def sim_state(recorded: RecordedSwitch) -> SimState:
    """Return the state of a simulated switch that runs and boots what the recorded one does.

    Raises ValueError if the switch was not read.
    """
    running = recorded.running
    if running is None:
        raise ValueError("a switch that was not read has no state")
    startup = recorded.startup or running
    return SimState(
        running=_tables(running),
        frr=running.frr,
        startup=_tables(startup),
        startup_frr=startup.frr,
        version_file="".join(f"{name}: '{value}'\n" for name, value in recorded.image.items()),
        digest_key=running.digest_key,
        generation=recorded.generation,
    )


def _tables(config: RunningConfig) -> dict[str, Any]:
    return json_tables(config.config_db)


def _live_twin(
    project: Project, designed: Designed, of: Target, endpoints: Endpoints, scope: VerificationScope
) -> LiveFabric:
    """Return the fabric on the twin, under the name of the target, so that its plan equals the target's.

    Raises RailweaveError if a switch of the twin is not on loopback.
    """
    target = twin_target(of, endpoints)
    refuse_other_machines(designed.fabric, target)
    shown = project.operator.progress()
    nornir = build(designed.fabric, target, processors=[shown])
    return on_nornir(designed, target, nornir, shown, scope)


def twin_target(target: Target, endpoints: Endpoints) -> Target:
    """Return the target that reaches a twin: with its own addresses, login and host keys, and short waits.

    The name, the rollout, the skipped checks and the secrets are those of ``target``.
    """
    patience_s = _PATIENCE_S + _PATIENCE_OF_A_SWITCH_S * len(endpoints.devices)
    return Target(
        name=target.name,
        source=Source.ADDRESSES,
        login=Login(
            username=endpoints.username,
            key_file=Path(endpoints.key_file),
            agent=False,
            strict=True,
            known_hosts=Path(endpoints.known_hosts),
        ),
        devices={name: Address(endpoint.address, endpoint.port) for name, endpoint in endpoints.devices.items()},
        # Seconds: a simulated reload is over in a thousandth of the time of a real one.
        options={"reload_poll": _POLL_S, "reload_timeout": patience_s},
        timeouts=Timeouts(connect_s=patience_s, command_s=max(_COMMAND_S, patience_s), reconnect_s=patience_s),
        rollout=twin_rollout(target.rollout, patience_s),
        skip_checks=target.skip_checks,
        secrets=target.secrets,
    )


def twin_rollout(rollout: Rollout, patience_s: float) -> Rollout:
    """Return a rollout with the waits of a twin: no soak, which only shows something on real switches."""
    return replace(
        rollout,
        soak_s=0,
        revert_in_s=ceil(_TIMER_PATIENCES * patience_s),
        verify_timeout_s=patience_s,
        verify_interval_s=min(_POLL_S, rollout.verify_interval_s),
        drain_timeout_s=patience_s,
    )


def refuse_other_machines(fabric: Fabric, target: Target) -> None:
    """Raise RailweaveError unless every switch of the twin is on loopback: no other device is ever changed."""
    for switch in fabric.switches:
        address = target.devices.get(switch.name)
        if address is None or not ip_address(address.host).is_loopback:
            raise RailweaveError(f"{switch.name}: its twin is not on loopback, so nothing was rehearsed")


def cabled_as_seen(spec: SimSpec, fabric: Fabric, recorded: Recorded) -> SimSpec:
    """Return ``spec`` with the cables that LLDP shows between switches, and without those that contradict them."""
    # Both ends of a cable may report it.
    seen_cables = sorted({tuple(sorted(ends)) for ends in _lldp_cables(fabric, recorded)})
    occupied_ports = {port for ends in seen_cables for port in ends}
    cables = [cable for cable in spec.cables if occupied_ports.isdisjoint((cable.a, cable.b))]
    cables += [SimCable(a, b) for a, b in seen_cables]
    return replace(spec, cables=tuple(cables))


def _lldp_cables(fabric: Fabric, recorded: Recorded) -> Iterator[tuple[str, str]]:
    """Yield the two ends ``DEVICE:PORT`` of each cable that a switch sees by LLDP."""
    ports = {name: _port_names(switch) for name, switch in recorded.items()}
    for name, switch in recorded.items():
        if switch.seen is None:
            continue
        for port, neighbors in switch.seen.lldp.items():
            if port not in ports[name]:
                continue
            far_ends = _far_ends(neighbors, fabric, ports)
            # Several neighbors at one port: a hub or a stale entry, which does not show where the cable ends.
            if len(far_ends) == 1:
                yield f"{name}:{port}", far_ends.pop()


def _far_ends(neighbors: Iterable[LldpNeighbor], fabric: Fabric, ports: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Return ``DEVICE:PORT`` of each neighbor that is a recorded switch of the fabric.

    ``ports`` has for each recorded switch the name of each port by all its names (`_port_names`).
    """
    far_ends = set()
    for neighbor in neighbors:
        port = ports.get(neighbor.system, {}).get(neighbor.port)
        if port and neighbor.system in fabric.switch_of:
            far_ends.add(f"{neighbor.system}:{port}")
    return far_ends


def _port_names(switch: RecordedSwitch) -> dict[str, str]:
    """Return the name of each port of a switch by its name and by its alias, which SONiC's LLDP sends."""
    if switch.running is None:
        return {}
    rows = switch.running.port_rows
    names_by_alias = {str(row.get("alias", name)): name for name, row in rows.items()}
    # Names replace aliases: if an alias is the name of another port, the name counts.
    return names_by_alias | {name: name for name in rows}


def dark_ports(spec: SimSpec, recorded: Recorded, unprovisioned: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return one end, as switch and port, of each link that is down on the target although it is configured up.

    Links of unprovisioned switches are left out, because these switches may run at another speed until they are
    provisioned.
    """
    dark = []
    for cable in spec.cables:
        ends = [end_of(cable.a), end_of(cable.b)]
        if any(end.node in unprovisioned for end in ends):
            continue
        # A node has no recording, nor has a switch that did not answer.
        recorded_ends = [end for end in ends if end.node in recorded]
        dark_end = _dark_end(recorded_ends, recorded)
        if dark_end is not None:
            dark.append(dark_end)
    return tuple(dark)


def _dark_end(ends: Sequence[End], recorded: Recorded) -> tuple[str, str] | None:
    """Return the first recorded end of a cable that is down although its link is configured up, else None."""
    if not _is_configured_up([_port(recorded[end.node], end.port) for end in ends]):
        return None
    for end in ends:
        if _is_down(recorded[end.node], end.port):
            return end.node, end.port
    return None


def _is_configured_up(ports: Sequence[Port | None]) -> bool:
    """Tell whether a link is up by the configuration of its recorded ends, of which there are two at most.

    An end is None where the configuration of its switch does not have the port.
    """
    enabled = [port for port in ports if port is not None and port.admin_up]
    if len(enabled) < len(ports):
        return False
    if len(enabled) < 2:
        return True
    return compatible(enabled[0], enabled[1])


def _port(switch: RecordedSwitch, name: str) -> Port | None:
    if switch.running is None:
        return None
    row = switch.running.port_rows.get(name)
    if row is None:
        return None
    return port_of(name, {key: str(value) for key, value in row.items()})


def _is_down(switch: RecordedSwitch, port: str) -> bool:
    # Without a reading the link counts as up, as the configuration has it.
    if switch.seen is None:
        return False
    state = switch.seen.ports.get(port)
    return state is not None and not state.up
