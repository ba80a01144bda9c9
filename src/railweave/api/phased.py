"""Deploy a change in phases: one after the other up to the next step that people take."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from railweave.api import hosts
from railweave.api.deploying import PLAN_ALONE, DeployOptions, deploy
from railweave.api.phasing import LivePhases, live_phases
from railweave.api.project import Project
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.hosts.outcome import HostState
from railweave.plan.phase_progress import PhasedResult, PhaseStep, Waiting
from railweave.plan.phases import Phase
from railweave.wording import compact, first_few

_MOST_NAMED = 4


def deploy_phases(
    project: Project,
    target: str,
    options: DeployOptions = PLAN_ALONE,
    *,
    base: str,
    phase: int | None = None,
    reviewed: Path | None = None,
) -> PhasedResult:
    """Deploy ``phase`` of the change from ``base``, by default every one from the next up to a manual step.

    ``base`` is the running intent, a git revision or a file; ``reviewed`` is the file of a plan of the next phase. The
    operator receives each step as it ends. A phase that waits for cables or nodes ends the deployment without a failure
    (``waiting``). Raises RefusedError if a phase must not begin; nothing of it was done.
    """
    run = _Run(live_phases(project, target, base), options)
    change = run.live.change
    if phase is None and reviewed is not None:
        phase = min(run.live.done() + 1, len(change.phases))
    steps: list[PhaseStep] = []
    waiting = None
    for found in run.all() if phase is None else run.one(phase, reviewed):
        if isinstance(found, Waiting):
            waiting = found
            break
        steps.append(found)
        project.operator.finished(found)
        if not found.ok:
            break
    return PhasedResult(base, change.phases, tuple(steps), waiting)


@dataclass(frozen=True, slots=True)
class _Run:
    """The steps of a deployment; each is taken when it is asked for."""

    live: LivePhases
    options: DeployOptions

    def all(self) -> Iterator[PhaseStep | Waiting]:
        """Take every step up to a manual one, beginning where the switches are."""
        phases = self.live.change.phases
        if len(phases) == 1:
            yield from self._deploy(phases[0])
            return
        done = self.live.done()
        if done and (missing := self.live.missing_cables(done)):
            yield missing
            return
        # The switches look alike before and after the nodes change, so the nodes are read again.
        again = bool(done) and phases[done - 1].is_of_nodes
        if done == len(phases) and not again:
            yield from self._deploy(phases[-1])
            return
        for phase in phases[done - again :]:
            yield from self._deploy(phase)

    def one(self, number: int, reviewed: Path | None) -> Iterator[PhaseStep | Waiting]:
        """Take the step of one phase; raises RefusedError if an earlier one is not complete."""
        phase = self.live.change.phase(number)
        if number > 1:
            self.live.done(number)
            if missing := self.live.missing_cables(number - 1):
                raise _missing_cables(missing, number, self.live.change.base)
            self._refuse_old_nodes(number)
        yield from self._deploy(phase, reviewed)

    def _deploy(self, phase: Phase, reviewed: Path | None = None) -> Iterator[PhaseStep | Waiting]:
        project, target, change = self.live.project, self.live.target, self.live.change
        project.operator.tell(f"phase {phase.number} of {len(change.phases)}: {phase.title}")
        if phase.is_of_nodes:
            if not hosts.managed(project, target):
                yield Waiting(phase, following=next(iter(change.phases[phase.number :]), None))
            else:
                yield PhaseStep(phase, hosts.live_nodes(project, target).apply())
            return
        fabric = self.live.live_to_deploy(phase.number)
        yield PhaseStep(phase, deploy(project, target, self._agreed(phase), reviewed=reviewed, live=fabric))
        if phase.cables:
            yield Waiting(phase, phase.cables)

    def _agreed(self, phase: Phase) -> DeployOptions:
        """Return the options with those that asking for phases implies.

        These are the phase's own cables, and a marking or a packet size that no node sends any more.
        """
        after_nodes = phase.number > 1 and self.live.change.phase(phase.number - 1).is_of_nodes
        implied = bool(phase.cables) or phase.lowers_mtu or after_nodes
        return replace(self.options, single_step=True) if implied else self.options

    def _refuse_old_nodes(self, number: int) -> None:
        """Raise RefusedError if managed nodes have not changed yet and phase ``number`` relies on it."""
        project, target = self.live.project, self.live.target
        before = self.live.change.phase(number - 1)
        if not before.is_of_nodes or not hosts.managed(project, target):
            return
        run = hosts.live_nodes(project, target).plan()
        old = run.named(HostState.CHANGED)
        if run.ok and not old:
            return
        found = f"{compact(old, _MOST_NAMED)} would still change" if old else "not all nodes could be read"
        fix = f"`railweave deploy --from {self.live.change.base} --phase {before.number}` changes the nodes"
        raise RefusedError([error("RW518", f"phase {number} cannot begin: {found}", devices=old, fix=fix)])


def _missing_cables(missing: Waiting, number: int, base: str) -> RefusedError:
    shown = first_few((f"{cable.stays} to {cable.after}" for cable in missing.cables), _MOST_NAMED, "; ")
    before = missing.phase.number
    found = error(
        "RW518",
        f"phase {number} cannot begin: cables of phase {before} are missing or their links are down: {shown}",
        devices=tuple(dict.fromkeys(cable.stays.device for cable in missing.cables)),
        fix=f"move them; `railweave verify --from {base} --phase {before}` checks them",
    )
    return RefusedError([found])
