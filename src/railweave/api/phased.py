"""Deploy a change in phases: one after the other up to the next step that people take."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path

from railweave.api import hosts
from railweave.api.deploying import PLAN_ALONE, DeployOptions, deploy
from railweave.api.phased_nodes import check_nodes, node_progress, require_next
from railweave.api.phased_removal import is_unused, require_unused, take_out
from railweave.api.phasing import LivePhases, agreed_for, live_phases
from railweave.api.project import Project
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.plan.phase_progress import PhasedResult, PhaseStep, Waiting
from railweave.plan.phases import Phase, node_phases
from railweave.wording import command_line, first_few

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
    live = live_phases(project, target, base)
    change = live.change
    managed = any(one.is_of_nodes for one in change.phases) and hosts.managed(project, target)
    run = _Run(live, options, managed)
    if phase is None and reviewed is not None:
        phase = min(run.live.done(settle=True) + 1, len(change.phases))
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
    """The steps of a deployment; each is taken when it is asked for. ``managed`` tells whether it changes the nodes."""

    live: LivePhases
    options: DeployOptions
    managed: bool

    def all(self) -> Iterator[PhaseStep | Waiting]:
        """Take every step up to a manual one, beginning where the switches and nodes are."""
        phases = self.live.change.phases
        if len(phases) == 1:
            yield from self._deploy(phases[0])
            return
        done = self.live.done(settle=True)
        if done and (missing := self.live.missing_cables(done)):
            yield missing
            return
        done = self._done_by_nodes(done)
        if done == len(phases) and (self.managed or not phases[-1].is_of_nodes):
            yield from self._deploy(phases[-1])
            return
        # A statement about the nodes is about what they have done by now, not by the end of this deployment.
        stated = self.options.nodes_done and all(phase.drops for phase in phases[done:])
        for phase in phases[done:]:
            if phase.drops and not stated:
                yield Waiting(phase, following=phase)
                return
            yield from self._deploy(phase)

    def one(self, number: int, reviewed: Path | None) -> Iterator[PhaseStep | Waiting]:
        """Take the step of one phase; raises RefusedError if an earlier one is not complete."""
        phase = self.live.change.phase(number)
        if number > 1:
            self.live.done(number, settle=True)
            if missing := self.live.missing_cables(number - 1):
                raise _missing_cables(missing, number, self.live.change.base)
            before = self.live.change.phase(number - 1)
            if before.is_drain and not self.options.remove_live:
                require_unused(self.live, before)
        check_nodes(self.live, phase, managed=self.managed, nodes_done=self.options.nodes_done)
        yield from self._deploy(phase, reviewed)

    def _done_by_nodes(self, done: int) -> int:
        """Return the last phase that switches and nodes have; switches look alike while the nodes change, and while
        something is taken out of use."""
        last = self.live.change.phases[done - 1] if done else None
        if last and last.is_drain:
            return done if self.options.remove_live or is_unused(self.live, last) else done - 1
        window = node_phases(self.live.change.phases, done)
        if window and self.managed:
            return node_progress(self.live, window).done(window)
        return done if self.options.nodes_done else done - len(window)

    def _deploy(self, phase: Phase, reviewed: Path | None = None) -> Iterator[PhaseStep | Waiting]:
        project, target, change = self.live.project, self.live.target, self.live.change
        project.operator.tell(f"phase {phase.number} of {len(change.phases)}: {phase.title}")
        if phase.is_drain:
            if not self.options.remove_live:
                yield take_out(self.live, phase)
            return
        require = partial(require_next, self.live, phase, managed=self.managed) if len(change.phases) > 1 else bool
        if phase.is_of_nodes:
            if self.managed:
                yield PhaseStep(phase, hosts.live_nodes(project, target, values=phase.node_values).apply(require))
                return
            rest = change.phases[phase.number - 1 :]
            nodes = tuple(takewhile(lambda one: one.is_of_nodes, rest))
            yield Waiting(phase, nodes=nodes, following=next(iter(rest[len(nodes) :]), None))
            return
        fabric = self.live.live_to_deploy(phase.number)
        agreed = agreed_for(self.options, phase)
        yield PhaseStep(phase, deploy(project, target, agreed, reviewed=reviewed, live=fabric, require=require))
        if phase.cables:
            yield Waiting(phase, phase.cables)


def _missing_cables(missing: Waiting, number: int, base: str) -> RefusedError:
    shown = first_few((f"{' to '.join(map(str, cable.ends_after))}" for cable in missing.cables), _MOST_NAMED, "; ")
    before = missing.phase.number
    found = error(
        "RW518",
        f"phase {number} cannot begin: cables of phase {before} are missing or their links are down: {shown}",
        devices=tuple(dict.fromkeys(cable.stays.device for cable in missing.cables)),
        fix=f"move them; `{command_line('verify', '--from', base, '--phase', before)}` checks them",
    )
    return RefusedError([found])
