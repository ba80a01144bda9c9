"""A rehearsal: a plan carried out on simulated switches that run what the target's switches run."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from railweave.diagnostics import Diagnostic
from railweave.errors import UsageError
from railweave.fabric.model import Fabric
from railweave.plan.model import Plan
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
    """A fault of a simulated switch: its kind as `sonic_sim.faults` names it, a port where it is of one, and the wave,
    counted from 1, at whose beginning it is injected. ``missed`` says why it had no effect, empty where it had one."""

    device: str
    kind: str
    port: str = ""
    wave: int = 1
    missed: str = ""

    def __str__(self) -> str:
        """Return it as ``--fault`` takes it."""
        return f"{self.device}{':' if self.port else ''}{self.port}={self.kind}@{self.wave}"


def parse_fault(text: str, fabric: Fabric, kinds: Mapping[str, bool]) -> InjectedFault:
    """Return the fault ``DEVICE[:PORT]=KIND[@WAVE]``; its wave is 0 where none is named. Raises UsageError.

    ``kinds`` are those that there are, and whether each can be of one port.
    """
    found = _FAULT.fullmatch(text)
    if found is None:
        raise UsageError(f"--fault {text}: write DEVICE=KIND, DEVICE:PORT=KIND or either with @WAVE")
    device, port, kind, wave = found["device"], found["port"] or "", found["kind"], int(found["wave"] or 0)
    switch = fabric.switch_of.get(device)
    if switch is None:
        raise UsageError(f"--fault {text}: no switch {device!r}; the fabric has {compact(fabric.switch_of)}")
    if kind not in kinds:
        raise UsageError(f"--fault {text}: no fault {kind!r} in a rehearsal; there are {listed(kinds)}")
    if port and not kinds[kind]:
        raise UsageError(f"--fault {text}: {kind} is a fault of the whole switch; write {device}={kind}")
    if port and port not in {one.name for one in switch.panel.ports}:
        raise UsageError(f"--fault {text}: {device} has no port {port}")
    if port and port not in _cabled(device, fabric):
        raise UsageError(f"--fault {text}: {device} has no cable at {port}")
    if found["wave"] and not wave:
        raise UsageError(f"--fault {text}: waves are counted from 1")
    return InjectedFault(device, kind, port, wave)


def _cabled(device: str, fabric: Fabric) -> Iterator[str]:
    """Yield the ports of a switch that have a cable."""
    ports = fabric.switch_of[device].panel.ports
    for link in fabric.links_of[device]:
        yield ports[link.lower_port if link.lower == device else link.upper_port].name


class Left(NamedTuple):
    """What the fabric has left at its worst moments: percent of the uplinks of the worst switch in service, paths
    between the worst two leaves (None where no two share a network), rails that the worst GPU node lacks."""

    uplink_percent: float
    paths: int | None
    rails_out: int

    def worst(self, other: "Left") -> "Left":
        """Return the worse of each number."""
        paths = [one for one in (self.paths, other.paths) if one is not None]
        return Left(
            min(self.uplink_percent, other.uplink_percent),
            min(paths, default=None),
            max(self.rails_out, other.rails_out),
        )


@dataclass(frozen=True, slots=True)
class RehearsedWave:
    """One wave: its devices, the seconds that it took here, and those that the slowest of its switches was busy by its
    own clock, with as many switches in parallel as the target allows. ``violations`` are rules of the rollout policy
    that were broken meanwhile."""

    devices: tuple[str, ...]
    elapsed_s: float
    switch_s: float
    left: Left
    violations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a deployment of a plan met on simulated switches.

    ``plan_digest`` is of the plan's document, to which the rehearsal is bound; ``source`` says where the state of the
    switches is from. ``at`` is the UTC time of its end in ISO form, ``elapsed_s`` counts all of it. ``refused`` says
    why the deployment would be refused; ``result`` is then None. ``before`` is what the fabric had left when it began,
    ``notes`` are what the simulated switches do not have of the real ones.
    """

    fabric: str
    target: str
    plan_digest: str
    at: str
    source: str
    switches: int
    elapsed_s: float
    changes: int
    faults: tuple[InjectedFault, ...] = ()
    refused: tuple[Diagnostic, ...] = ()
    result: DeployResult | None = None
    before: Left | None = None
    waves: tuple[RehearsedWave, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def violations(self) -> tuple[str, ...]:
        """Return the rules of the rollout policy that were broken, each with its wave."""
        return tuple(
            f"wave {number}: {one}" for number, wave in enumerate(self.waves, start=1) for one in wave.violations
        )

    @property
    def ok(self) -> bool:
        """Tell whether the deployment went through, was verified, and broke no rule."""
        return self.result is not None and self.result.ok and not self.violations

    @property
    def line(self) -> str:
        """Return the rehearsal in one line, as for a pull request."""
        where = f"rehearsed on {counted(self.switches, 'simulated switch')} in {self.elapsed_s:.0f} s"
        with_faults = f" with {counted(len(self.faults), 'fault')}" if self.faults else ""
        if missed := sum(1 for one in self.faults if one.missed):
            with_faults += f" ({missed} without effect)"
        return f"{where}{with_faults}: {self._ending}"

    @property
    def _ending(self) -> str:
        result = self.result
        if result is None:
            codes = ", ".join(dict.fromkeys(one.code for one in self.refused))
            return f"the deployment would be refused ({codes})"
        gates = counted(len(self.violations), "gate") + " violated" if self.violations else "no gate violated"
        done, count = result.progress.waves_done, len(result.progress.waves)
        if result.stopped_by:
            return f"stopped after {done} of {counted(count, 'wave')}, {gates}"
        failed = len(result.verification.failed) if result.verification else 0
        checks = f", {counted(failed, 'check')} failed" if failed else ""
        lost = f", {counted(len(result.progress.failed), 'device')} failed" if result.progress.failed else ""
        return f"{counted(count, 'wave') if count else 'no changes'}, {gates}{lost}{checks}"


def unlike(plan: Plan, twin: Plan) -> Iterator[str]:
    """Yield the devices of which the plan made on simulated switches is another one than ``plan``.

    A switch that does not answer has no state to compare.
    """
    for name, device in plan.devices.items():
        other = twin.devices[name]
        if device.error and other.error and not device.running_sha256:
            continue
        same = (device.running_sha256, device.state, device.conflicts, device.generation) == (
            other.running_sha256,
            other.state,
            other.conflicts,
            other.generation,
        )
        if not same or plan.deltas.get(name) != twin.deltas.get(name):
            yield name


def default_waves(faults: Iterable[InjectedFault], waves: Sequence[Collection[str]]) -> tuple[InjectedFault, ...]:
    """Return ``faults`` of which those without a wave (0) have that of their device, the first where it has none."""
    of_device = {name: number for number, wave in enumerate(waves, start=1) for name in wave}
    return tuple(one if one.wave else one._replace(wave=of_device.get(one.device, 1)) for one in faults)
