"""A change in phases on a target: the progress of its switches, and the cables that are missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nornir_railweave.tasks.phase_progress import find_phase_progress
from railweave.api.design.revisions import PhasedChange, phased_change
from railweave.api.journal.folder import refuse_while_rolling_out
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, connect, pending_wait_s
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.plan.expectation import WHOLE_FABRIC, VerificationScope, expect, lower_ends
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.phases.planning import Phase
from railweave.plan.phases.progress import PhaseProgress, Waiting, check_phase, check_reached
from railweave.sonic.render.configure import Configurator

_SESSION_CHECKS = frozenset({CheckKind.BGP, CheckKind.TIMERS, CheckKind.BFD, CheckKind.IPV6})
"""The checks that may still fail for a while after a link came up."""


@dataclass(frozen=True, slots=True)
class LivePhases:
    """The phases of ``change`` on ``target``."""

    project: Project
    change: PhasedChange
    target: str

    def live(self, number: int, scope: VerificationScope = WHOLE_FABRIC) -> LiveFabric:
        """Return the fabric of a phase, of the base if ``number`` is 0."""
        if number:
            fabric = self.change.phase(number).fabric
        else:
            fabric = self.change.before
        return connect(self.project, replace(self.change.designed, fabric=fabric), self.target, scope)

    def live_to_deploy(self, number: int) -> LiveFabric:
        """Return the fabric of a phase; links whose cables are moved after its deployment are not verified."""
        pending = lower_ends(self.change.phase(number).pending)
        fabric = self.live(number, VerificationScope(pending=pending))
        return replace(fabric, base=self.change.base, phase=number)

    def done(self, requested: int | None = None, *, settle: bool = False) -> int:
        """Read every switch and return the last phase that all of them have and have confirmed, 0 for the base.

        With ``settle``, as before a change, it waits until timers have reverted the commits of an interrupted
        deployment. Raises RefusedError if phase ``requested``, by default the next one, can neither begin nor be
        repeated.
        """
        if settle:
            refuse_while_rolling_out(self.change.designed.fabric.name, self.target, self.project.operator)
        progress = self._progress(settle=settle)
        diagnostics = check_phase(progress, self.change.base, requested, self.change.phases)
        if diagnostics:
            raise RefusedError((*self._earlier_default(progress), *diagnostics))
        return progress.done

    def _earlier_default(self, progress: PhaseProgress) -> tuple[Diagnostic, ...]:
        """Return diagnostics if switches that run neither the base nor a phase have the cables of an earlier default.

        Empty if every switch runs one of them, or if a switch could not be read: no plan can be made then.
        """
        if progress.unreadable or not progress.unknown:
            return ()
        live = connect(self.project, self.change.running, self.target)
        instead = f"deploy it, which moves none, and begin the change at that revision instead of {self.change.base}"
        with live.progress():
            return live.earlier_default(live.plan(), instead)

    def require_reached(self, number: int) -> None:
        """Read every switch; raise RefusedError where one has not done phase ``number``, or not confirmed it yet."""
        diagnostics = check_reached(self._progress(settle=False), number, self.change.base)
        if diagnostics:
            raise RefusedError(diagnostics)

    def _progress(self, *, settle: bool) -> PhaseProgress:
        """Read every switch of the base and of the phases, and return which of them it has.

        With ``settle`` it waits until unconfirmed commits are reverted.
        """
        fabrics = (self.change.before, *(phase.fabric for phase in self.change.phases))
        inventory = replace(self.change.designed, fabric=_with_every_switch(fabrics))
        live = connect(self.project, inventory, self.target)
        wait_s = 0.0
        if settle:
            wait_s = pending_wait_s(live.target)
        # The base was rendered with the templates of its revision, every phase with those of the new one.
        base = Configurator(self.change.before, self.change.running.templates, live.secrets)
        templates = self.change.designed.templates
        stages = [base, *(Configurator(phase.fabric, templates, live.secrets) for phase in self.change.phases)]
        with live.progress():
            return find_phase_progress(live.nornir, stages, pending_wait_s=wait_s, events=live.shown)

    def missing_cables(self, number: int) -> Waiting | None:
        """Return the cables of the first phase up to ``number`` that are not in place or whose links are down.

        Reads the switches at the cables that the phases move or add. None if all of these cables are in place.
        """
        cabling_phases = [phase for phase in self.change.phases[:number] if phase.pending]
        if not cabling_phases:
            return None
        links = [link for phase in cabling_phases for link in phase.pending]
        fabric = self.live(number, VerificationScope(only=lower_ends(links)))
        with fabric.progress():
            failed = fabric.verify().failed
            # Only sessions fail, so that the links are up and the cables right: sessions take longer to come up.
            if failed and {check.kind for check in failed} <= _SESSION_CHECKS:
                failed = fabric.verify(wait_s=fabric.target.rollout.verify_timeout_s).failed
        return _first_missing(cabling_phases, _ports_of_failures(fabric, failed))


def live_phases(project: Project, target: str, base: str) -> LivePhases:
    """Return the phases from ``base`` to the project's intent on ``target``.

    Raises as `phases` does, and UsageError without ``base``.
    """
    if not base:
        raise UsageError("--phase needs --from BASE, the running intent: a git revision or a file")
    return LivePhases(project, phased_change(project, base), target)


def selected_phase(project: Project, target: str, base: str, number: int | None, *, done: bool = False) -> LiveFabric:
    """Return the fabric of phase ``number`` of the change from ``base``, by default of the next phase.

    With ``done`` the default is the last phase that all switches have, and another one must be done as well. Raises as
    `live_phases`, and RefusedError if the switches have not done what comes before.
    """
    phases = live_phases(project, target, base)
    if done:
        if number is None:
            number = phases.done()
        else:
            phases.require_reached(number)
        return phases.live(number)
    if number is None:
        # After the last phase it is the last one again.
        number = min(phases.done() + 1, len(phases.change.phases))
    return phases.live_to_deploy(number)


def _with_every_switch(fabrics: Sequence[Fabric]) -> Fabric:
    """Return the last fabric with the switches of all of them: an inventory, not a design."""
    switches = {switch.name: switch for fabric in fabrics for switch in fabric.switches}
    return replace(fabrics[-1], switches=tuple(switches.values()))


def _ports_of_failures(live: LiveFabric, failed: Sequence[VerifyCheck]) -> set[tuple[str, str]]:
    """Return the ports of failed checks as device and port; a failed session counts for the port of its link."""
    fabric = live.designed.fabric
    ports = {(check.device, check.subject) for check in failed}
    for name in {check.device for check in failed}:
        sessions = expect(fabric, fabric.switch_of[name]).sessions
        # The subject of a check of a session is its peer, not a port.
        ports |= {(name, session.port) for session in sessions if (name, session.peer) in ports}
    return ports


def _first_missing(phases: Sequence[Phase], ports: set[tuple[str, str]]) -> Waiting | None:
    """Return the first phase with a cable at one of the ``ports``, and those cables; None if there is none."""
    for phase in phases:
        cables = []
        for cable in phase.cables:
            cable_ports = {(end.device, end.port) for end in cable.ends_after}
            if cable_ports & ports:
                cables.append(cable)
        if cables:
            return Waiting(phase, tuple(cables))
    return None
