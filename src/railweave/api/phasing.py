"""A change in phases on one target: which phases there are, how far the switches are, which cables are missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.api.project import Designed, Project, project_templates
from railweave.api.reaching import ReachedFabric, reached, reached_fabric
from railweave.diagnostics import has_errors
from railweave.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from railweave.fabric.model import Fabric
    from railweave.plan.outcome import VerifyCheck
    from railweave.plan.pending import Expecting
    from railweave.plan.phases import CableMove, Phase
    from railweave.plan.standing import Standing


@dataclass(frozen=True, slots=True)
class Missing:
    """Cables of a phase that are not where they belong, or whose links do not work."""

    phase: "Phase"
    cables: "tuple[CableMove, ...]"


@dataclass(frozen=True, slots=True)
class Phasing:
    """The phases from the intent that runs, which the command calls ``base``, to that of ``designed``."""

    project: Project
    base: str
    before: "Fabric"
    designed: Designed
    phases: "tuple[Phase, ...]"

    def phase(self, number: int) -> "Phase":
        """Return a phase; raises UsageError where there is none."""
        if not 1 <= number <= len(self.phases):
            count = f"phases 1 to {len(self.phases)}" if len(self.phases) > 1 else "phase 1 alone"
            raise UsageError(f"there is no phase {number}: from {self.base} there are {count}")
        return self.phases[number - 1]

    def reached(self, target: str, number: int, expecting: "Expecting | None" = None) -> ReachedFabric:
        """Return the fabric of a phase, of the base where ``number`` is 0, as it is reached on ``target``."""
        fabric = self.phase(number).fabric if number else self.before
        return reached(self.project, replace(self.designed, fabric=fabric), target, expecting)

    def reached_for_deployment(self, target: str, number: int) -> ReachedFabric:
        """Return the fabric of a phase; nothing is expected of the links whose cables follow its configuration."""
        from railweave.plan.pending import expecting_without

        fabric = self.reached(target, number, expecting_without(self.phase(number).pending))
        return replace(fabric, base=self.base, phase=number)

    def standing(self, target: str) -> "Standing":
        """Read every switch and return how far they have come."""
        from nornir_railweave.tasks.standing import find_standing
        from railweave.sonic.render.configure import Configurator

        templates = project_templates()
        fabrics = (self.before, *(phase.fabric for phase in self.phases))
        everyone = reached(self.project, replace(self.designed, fabric=_with_every_switch(fabrics)), target)
        with everyone.progress():
            stages = [Configurator(fabric, templates) for fabric in fabrics]
            return find_standing(everyone.nornir, stages, events=everyone.shown)

    def missing(self, target: str, number: int) -> Missing | None:
        """Return the first phase up to ``number`` whose cables are not all in place and at work."""
        from railweave.plan.outcome import CheckKind
        from railweave.plan.pending import expecting_only

        moving = [phase for phase in self.phases[:number] if phase.pending]
        if not moving:
            return None
        links = [link for phase in moving for link in phase.pending]
        fabric = self.reached(target, number, expecting_only(links))
        with fabric.progress():
            failed = _failed(fabric, 0)
            if failed and all(check.kind is CheckKind.BGP for check in failed):
                # The cables are there; sessions need their time.
                failed = _failed(fabric, fabric.target.rollout.verify_timeout_s)
        return _first_missing(moving, _ports(fabric, failed))


def find_phases(project: Project, base: str, head: str = "") -> Phasing:
    """Return the phases of a change; the operator receives the notes.

    Raises RefusedError where one of the intents does not stand, or where there is no way between them.
    """
    from railweave.api.comparing import designed_at
    from railweave.checks.phases import check_phases
    from railweave.plan.phases import phases

    before, designed = designed_at(base, project.intent), designed_at(head, project.intent)
    found = phases(before.fabric, designed.fabric)
    told = check_phases(before.fabric, found, designed.intent.where)
    if has_errors(told):
        raise RefusedError(told)
    project.operator.warn(told)
    return Phasing(project, base, before.fabric, designed, found)


def reached_for(project: Project, target: str, base: str, number: int | None, *, done: bool = False) -> ReachedFabric:
    """Return the fabric that a command means: the intent's without ``base``, else that of a phase.

    Without a number that is the phase that comes next, or with ``done`` the last one that all switches have.
    """
    from railweave.plan.standing import standing_faults

    if not base:
        refuse_number_alone(number)
        return reached_fabric(project, target)
    phasing = find_phases(project, base)
    if number is None:
        standing = phasing.standing(target)
        if faults := standing_faults(standing, base, None):
            raise RefusedError(faults)
        number = standing.done if done else min(standing.done + 1, len(phasing.phases))
    return phasing.reached(target, number) if done else phasing.reached_for_deployment(target, number)


def refuse_number_alone(number: int | None) -> None:
    """Raise UsageError where a phase is named and not what it leads away from."""
    if number is not None:
        raise UsageError("--phase needs --from BASE, the intent that runs: a git revision or a file")


def _with_every_switch(fabrics: Sequence["Fabric"]) -> "Fabric":
    """Return the last fabric with the switches of all of them: an inventory, not a design."""
    switches = {switch.name: switch for fabric in fabrics for switch in fabric.switches}
    return replace(fabrics[-1], switches=tuple(switches.values()))


def _failed(fabric: ReachedFabric, wait_s: float) -> "list[VerifyCheck]":
    return [check for check in fabric.verify(wait_s=wait_s).checks if not check.ok]


def _ports(fabric: ReachedFabric, failed: "Sequence[VerifyCheck]") -> set[tuple[str, str]]:
    """Return the ports that failed checks are about; a session is about the port of its link."""
    from railweave.plan.expectation import expect

    found = {(check.device, check.subject) for check in failed}
    for name in {check.device for check in failed}:
        switch = fabric.designed.fabric.switch_of[name]
        sessions = expect(fabric.designed.fabric, switch).sessions
        found |= {(name, one.port) for one in sessions if (name, one.peer) in found}
    return found


def _first_missing(moving: "Sequence[Phase]", ports: set[tuple[str, str]]) -> Missing | None:
    for phase in moving:
        cables = tuple(
            cable
            for cable in phase.cables
            if cable.after and {(end.device, end.port) for end in (cable.stays, cable.after)} & ports
        )
        if cables:
            return Missing(phase, cables)
    return None
