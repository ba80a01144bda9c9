"""A rehearsal: a plan carried out on simulated switches that run what the target's switches run."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from railweave.diagnostics import Diagnostic
from railweave.errors import UsageError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.plan.model import DevicePlan, Plan
from railweave.plan.outcome import DeployResult
from railweave.wording import compact, counted, listed

CANNOT_SHOW = (
    "what the ASIC does with the configuration",
    "optics, cables and signal quality",
    "how long real reloads and link training take",
    "traffic itself",
    "bugs of a vendor's image",
)
"""What no simulated switch tells about a deployment."""

_FAULT = re.compile(r"(?P<device>[^:=@]+)(:(?P<port>[^=@]+))?=(?P<kind>[a-z-]+)(@(?P<wave>[0-9]{1,6}))?")


class InjectedFault(NamedTuple):
    """A fault of a simulated switch."""

    device: str
    # As `sonic_sim.faults` names it.
    kind: str
    # Empty for a fault of the whole switch.
    port: str = ""
    # The wave at whose beginning it is injected, counted from 1.
    wave: int = 1
    # Why it had no effect; empty if it had one.
    missed: str = ""

    def __str__(self) -> str:
        """Return it as ``--fault`` takes it."""
        place = f"{self.device}:{self.port}" if self.port else self.device
        return f"{place}={self.kind}@{self.wave}"


def parse_fault(text: str, fabric: Fabric, kinds: Mapping[str, bool]) -> InjectedFault:
    """Return the fault that ``text`` states as ``DEVICE[:PORT]=KIND[@WAVE]``; its wave is 0 if the text has none.

    ``kinds`` tells for each kind of fault whether it can be of a single port. Raises UsageError if the text has another
    form, or names what the fabric or a rehearsal does not have.
    """
    match = _FAULT.fullmatch(text)
    if match is None:
        raise UsageError(f"--fault {text}: write DEVICE=KIND, DEVICE:PORT=KIND or either with @WAVE")
    parts = match.groupdict("")
    fault = InjectedFault(parts["device"], parts["kind"], parts["port"], int(parts["wave"] or 0))
    switch = fabric.switch_of.get(fault.device)
    if switch is None:
        raise UsageError(f"--fault {text}: no switch {fault.device!r}; the fabric has {compact(fabric.switch_of)}")
    if fault.kind not in kinds:
        raise UsageError(f"--fault {text}: no fault {fault.kind!r} in a rehearsal; there are {listed(kinds)}")
    if fault.port:
        reason = _port_refusal(fault, switch, fabric, kinds)
        if reason:
            raise UsageError(f"--fault {text}: {reason}")
    if parts["wave"] and not fault.wave:
        raise UsageError(f"--fault {text}: waves are counted from 1")
    return fault


def _port_refusal(fault: InjectedFault, switch: Switch, fabric: Fabric, kinds: Mapping[str, bool]) -> str:
    """Return why the fault cannot be injected at its port; empty if it can."""
    if not kinds[fault.kind]:
        return f"{fault.kind} is a fault of the whole switch; write {fault.device}={fault.kind}"
    if all(port.name != fault.port for port in switch.panel.ports):
        return f"{fault.device} has no port {fault.port}"
    if fault.port not in _cabled(switch, fabric):
        return f"{fault.device} has no cable at {fault.port}"
    return ""


def _cabled(switch: Switch, fabric: Fabric) -> Iterator[str]:
    """Yield the ports of a switch that have a cable."""
    for link in fabric.links_of[switch.name]:
        yield switch.panel.ports[link.port_of(switch.name)].name


class CapacityLeft(NamedTuple):
    """The capacity of a fabric at its worst moments."""

    # Of the switch in service with the least uplink bandwidth.
    uplink_percent: float
    # Between the worst two leaves; None if no two share a network.
    paths: int | None
    # Rails that the worst GPU node lacks.
    rails_out: int

    def worst(self, other: "CapacityLeft") -> "CapacityLeft":
        """Return the capacity that has the worse of each number."""
        paths = [count for count in (self.paths, other.paths) if count is not None]
        return CapacityLeft(
            min(self.uplink_percent, other.uplink_percent),
            min(paths, default=None),
            max(self.rails_out, other.rails_out),
        )


@dataclass(frozen=True, slots=True)
class RehearsedWave:
    """One wave of a rehearsal."""

    devices: tuple[str, ...]
    # Wall-clock time on this machine.
    elapsed_s: float
    # Time by the simulated switches' own clocks until all are done, with the target's number of parallel workers.
    switch_s: float
    left: CapacityLeft
    # Rules of the rollout policy that were broken meanwhile.
    violations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The result of a plan on simulated switches."""

    fabric: str
    target: str
    # Of the plan's document, to which the rehearsal is bound.
    plan_digest: str
    # UTC time of its end, in ISO form.
    at: str
    # Where the state of the switches is from.
    source: str
    switches: int
    elapsed_s: float
    changes: int
    faults: tuple[InjectedFault, ...] = ()
    # Why the deployment would be refused; ``result`` is then None.
    refused: tuple[Diagnostic, ...] = ()
    result: DeployResult | None = None
    # The capacity when the rehearsal began.
    before: CapacityLeft | None = None
    waves: tuple[RehearsedWave, ...] = ()
    # What the simulated switches lack of the real ones.
    notes: tuple[str, ...] = ()

    @property
    def violations(self) -> tuple[str, ...]:
        """Return the rules of the rollout policy that were broken, each with its wave."""
        numbered = enumerate(self.waves, start=1)
        return tuple(f"wave {number}: {violation}" for number, wave in numbered for violation in wave.violations)

    @property
    def ok(self) -> bool:
        """Tell whether the deployment went through, was verified, and broke no rule."""
        return self.result is not None and self.result.ok and not self.violations

    @property
    def line(self) -> str:
        """Return the rehearsal in one line, as for a pull request."""
        text = f"rehearsed on {counted(self.switches, 'simulated switch')} in {self.elapsed_s:.0f} s"
        if self.faults:
            text += f" with {counted(len(self.faults), 'fault')}"
        missed = sum(1 for fault in self.faults if fault.missed)
        if missed:
            text += f" ({missed} without effect)"
        return f"{text}: {self._ending}"

    @property
    def _ending(self) -> str:
        """Return how the rehearsed deployment ended, in a phrase."""
        result = self.result
        if result is None:
            codes = ", ".join(dict.fromkeys(diagnostic.code for diagnostic in self.refused))
            return f"the deployment would be refused ({codes})"
        gates = "no gate violated"
        if self.violations:
            gates = f"{counted(len(self.violations), 'gate')} violated"
        progress = result.progress
        waves = counted(len(progress.waves), "wave")
        if result.stopped_by:
            return f"stopped after {progress.waves_done} of {waves}, {gates}"
        ending = f"{waves}, {gates}" if progress.waves else f"no changes, {gates}"
        if progress.failed:
            ending += f", {counted(len(progress.failed), 'device')} failed"
        if result.verification is not None and result.verification.failed:
            ending += f", {counted(len(result.verification.failed), 'check')} failed"
        return ending


def unlike(plan: Plan, twin: Plan) -> Iterator[str]:
    """Yield the devices for which ``twin``, the plan made on simulated switches, differs from ``plan``."""
    for name, device in plan.devices.items():
        twin_device = twin.devices[name]
        # A switch that does not answer has no state to compare.
        if device.error and twin_device.error and not device.reading.running_sha256:
            continue
        has_same_state = _state_of(device) == _state_of(twin_device)
        if not has_same_state or plan.deltas.get(name) != twin.deltas.get(name):
            yield name


def _state_of(device: DevicePlan) -> tuple[object, ...]:
    """Return what a switch and its simulated twin must have in common."""
    reading = device.reading
    return reading.running_sha256, device.state, device.difference.conflicts, reading.generation


def default_waves(faults: Iterable[InjectedFault], waves: Sequence[Collection[str]]) -> tuple[InjectedFault, ...]:
    """Return ``faults`` with a wave for each that has none (0): that of its device, or the first if it is in none."""
    wave_of = {name: number for number, wave in enumerate(waves, start=1) for name in wave}
    return tuple(fault._replace(wave=fault.wave or wave_of.get(fault.device, 1)) for fault in faults)
