"""Deploy a change in phases: one after the other up to the next step that people take."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path

from nornir_railweave.tasks import draining
from nornir_railweave.tasks.holding import MANUAL_S, Holding
from nornir_railweave.tasks.links_up_towards import links_up_towards
from railweave.api import hosts
from railweave.api.deployment.rollout import PLAN_ALONE, DeployOptions, agreed_for, deploy
from railweave.api.hosts import node_log
from railweave.api.journal.audit import audited_action
from railweave.api.journal.folder import holding_capacity
from railweave.api.maintenance.drain import forbidding
from railweave.api.maintenance.lifecycle import switch_uses
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric
from railweave.api.targets.phases import LivePhases, live_phases
from railweave.diagnostics import error
from railweave.errors import RefusedError, UsageError
from railweave.hosts.outcome import HostsRun, HostState
from railweave.plan.lifecycle import Leaving, Proof, proofs
from railweave.plan.manual_drain import choose
from railweave.plan.phase_progress import (
    NodeProgress,
    OutOfUse,
    PhasedResult,
    PhaseStep,
    Waiting,
    check_statement,
    check_unused,
)
from railweave.plan.phases import Phase, node_phases
from railweave.plan.shared_values import NodeValues
from railweave.wording import command_line, first_few
from railweave_hosts.hooks import HookRunner

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


def deploy_node_phase(
    project: Project, target: str, *, base: str, phase: int, limit: str = "", nodes_done: bool = False
) -> HostsRun | None:
    """Change the nodes that ``limit`` names as a phase of the change from ``base`` says; None if the operator declined.

    ``nodes_done`` states that no job still sends the old values, for a phase that drops them. Raises RefusedError if
    a switch or a node has not done the phase before.
    """
    live = live_phases(project, target, base)
    found = live.change.phase(phase)
    if not found.is_of_nodes:
        raise UsageError(f"phase {phase} changes no node: `{command_line('deploy', '--from', base, '--phase', phase)}`")
    live.done(phase, settle=True)
    check_nodes(live, found, managed=True, nodes_done=nodes_done)
    require = partial(require_next, live, found, managed=True)
    return hosts.apply(project, target, limit=limit, values=found.node_values, require=require)


def node_progress(live: LivePhases, window: Sequence[Phase]) -> NodeProgress:
    """Read the nodes and return which of ``window``, phases in which nodes change one after the other, they have.

    Raises RefusedError if a node cannot be read.
    """
    before = window[0].number - 1
    states = [(phase.number, phase.node_values) for phase in reversed(window)]
    states += [(before, window[0].was)] if window[0].was else []
    return _progress(live, window[0], states)


def _progress(live: LivePhases, first: Phase, states: Iterable[tuple[int, NodeValues]]) -> NodeProgress:
    """Read the nodes of a phase and return the first of ``states``, numbers and values, that each of them has."""
    latest: dict[str, int | None] = {host.name: None for host in first.nodes.hosts}
    for number, values in states:
        left = {name for name, found in latest.items() if found is None}
        if not left:
            break
        nodes = hosts.live_nodes(live.project, live.target, values=values)
        run = replace(nodes, hosts=tuple(host for host in nodes.hosts if host.name in left)).plan()
        _refuse_unread(run)
        latest |= dict.fromkeys(run.named(HostState.UNCHANGED), number)
    return NodeProgress(latest)


def require_next(live: LivePhases, phase: Phase, *, managed: bool) -> None:
    """Raise RefusedError if ``phase`` can neither begin nor be repeated any more: another run may have gone on since
    this one asked how far switches and nodes are."""
    live.done(phase.number, settle=True)
    if not (managed and phase.is_of_nodes):
        return
    later = [one for one in _window(live, phase) if one.number > phase.number]
    ahead = _progress(live, phase, [(one.number, one.node_values) for one in reversed(later)])
    if diagnostics := ahead.check(phase, live.change.base):
        raise RefusedError(diagnostics)


def check_nodes(live: LivePhases, phase: Phase, *, managed: bool, nodes_done: bool) -> None:
    """Raise RefusedError if ``phase`` drops what nodes may still send, or needs a node that has not come so far."""
    change = live.change
    if phase.drops and not nodes_done:
        raise RefusedError([check_statement(phase, change.phases, change.base, managed=managed)])
    window = _window(live, phase)
    if managed and window and (diagnostics := node_progress(live, window).check(phase, change.base)):
        raise RefusedError(diagnostics)


def _window(live: LivePhases, phase: Phase) -> tuple[Phase, ...]:
    """Return the phases in which nodes change that ``phase`` is one of, or follows."""
    phases = live.change.phases
    last = phase.number - 1
    while last < len(phases) and phases[last].is_of_nodes:
        last += 1
    return node_phases(phases, last)


def _refuse_unread(run: HostsRun) -> None:
    unread = tuple(host for host in run.hosts if host.state in {HostState.FAILED, HostState.UNREACHABLE})
    if unread:
        more = f", and {len(unread) - 1} more" if len(unread) > 1 else ""
        text = f"the progress of the change is unknown: {unread[0].name}: {unread[0].error}{more}"
        names = tuple(host.name for host in unread)
        raise RefusedError([error("RW518", text, devices=names, fix="restore access to it, then try again")])


def take_out(phases: LivePhases, phase: Phase) -> PhaseStep | Waiting:
    """Drain what leaves, nodes by the target's hook and switches by graceful shutdown, and prove that it is unused.

    Raises RefusedError where the remaining paths do not suffice.
    """
    live = phases.live(phase.number)
    found = _proofs(live, phase)
    drained = True
    if not all(one.ok for one in found):
        if not phases.project.operator.approves_removal(phase.leaving):
            return PhaseStep(phase, None)
        command = f"deploy --from {phases.change.base} --phase {phase.number}"
        designed = live.designed
        with audited_action(command, designed.fabric.name, phases.target, designed.intent.sha256) as record:
            failed = _drain(live, phase, command)
            record({name: {"outcome": "failed", "error": why} for name, why in failed.items()})
        found = (*(Proof(name, "drain", "done", why) for name, why in failed.items()), *_proofs(live, phase))
        drained = all(one.ok for one in found)
    return PhaseStep(phase, OutOfUse(found)) if drained else Waiting(phase, following=phase, proofs=found)


def is_unused(phases: LivePhases, phase: Phase) -> bool:
    """Tell whether nothing uses what ``phase`` takes out of use."""
    return all(one.ok for one in _proofs(phases.live(phase.number), phase))


def require_unused(phases: LivePhases, phase: Phase) -> None:
    """Raise RefusedError where something uses what ``phase`` takes out of use."""
    if refused := check_unused(phase, _proofs(phases.live(phase.number), phase), phases.change.base):
        raise RefusedError(refused)


def _proofs(live: LiveFabric, phase: Phase) -> tuple[Proof, ...]:
    fabric = live.designed.fabric
    with live.progress():
        if phase.leaving[0] in fabric.host_of:
            up = links_up_towards(live.nornir, fabric, phase.leaving)
            return tuple(
                Proof(name, "links", "down", f"up at {first_few(ends)}" if ends else "down")
                for name, ends in up.items()
            )
        gone = Leaving(tuple(fabric.switch_of[name] for name in phase.leaving), (), ())
        return proofs(fabric, gone, switch_uses(live, gone, live.target.rollout.drain_timeout_s))


def _drain(live: LiveFabric, phase: Phase, command: str) -> dict[str, str]:
    """Drain what leaves; return why that failed, by device. A switch that does not answer is left to its neighbors."""
    fabric, access, rollout = live.designed.fabric, live.target.hosts, live.target.rollout
    if phase.leaving[0] in fabric.host_of:
        if access is None:
            return {}
        hosts = [fabric.host_of[name] for name in phase.leaving]
        log = node_log(fabric.name, live.target.name)
        hooks = HookRunner(access.hooks, fabric.name, access.batches.forks, log)
        with log.held(command):
            return {name: why for name, why in hooks.drain(hosts).items() if why}
    with holding_capacity(fabric.name, live.target.name, command), live.progress():
        read = draining.read(live.nornir, phase.leaving)
        targets = choose(fabric, [name for name, one in read.items() if not one.error])
        holding = Holding(live.nornir, fabric, command, MANUAL_S + rollout.drain_timeout_s)
        forbidden = forbidding(live, targets, several=True, hold=holding.name)
        if refused := forbidden():
            raise RefusedError(refused)
        done = draining.drain(
            live.nornir,
            targets,
            wait_s=rollout.drain_timeout_s,
            packets_per_s=rollout.quiet_packets_per_s,
            forbidden=forbidden,
            holding=holding,
        )
        return {one.device: one.error for one in done if one.error}
