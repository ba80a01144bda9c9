"""Deploy a change in phases, one after the other up to the next manual step.

A phase changes switches, changes GPU nodes, or takes out of use what leaves the fabric: that is drained, and its ports
are closed only once the devices show that nothing uses it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from nornir_railweave.target.model import Source
from nornir_railweave.target.target_file import load_target
from nornir_railweave.tasks import draining
from nornir_railweave.tasks.holding import MANUAL_S, Holding
from nornir_railweave.tasks.links_up_towards import links_up_towards
from railweave.api import hosts
from railweave.api.deployment.rollout import agree, agreed_for, carry_out, read_review
from railweave.api.hosts import node_log
from railweave.api.journal.audit import audited_action
from railweave.api.journal.folder import holding_capacity
from railweave.api.maintenance.lifecycle import switch_uses
from railweave.api.project import Project, find_target
from railweave.api.targets.fabric import LiveFabric
from railweave.api.targets.phases import LivePhases, live_phases
from railweave.diagnostics import error
from railweave.errors import RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.hosts.outcome import HostsRun, HostState
from railweave.plan.consent import PLAN_ALONE, DeployOptions
from railweave.plan.lifecycle import Leaving, Proof, proofs
from railweave.plan.manual_drain import DrainLimits, choose
from railweave.plan.phases.planning import Phase, node_phases
from railweave.plan.phases.progress import (
    NodeProgress,
    OutOfUse,
    PhasedResult,
    PhaseStep,
    Waiting,
    check_statement,
    check_unused,
)
from railweave.plan.phases.shared_values import NodeValues
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
    """Deploy ``phase`` of the change from ``base``, by default each phase from the next one up to a manual step.

    ``base`` is the running intent: a git revision or a file. ``reviewed`` is the file of a plan of the next phase. The
    operator is shown each step as it ends. If a phase has to wait for cables or nodes, the deployment ends there
    without a failure, and ``waiting`` of the result says for what. Raises RefusedError if a phase must not begin;
    nothing of that phase was done then.
    """
    live = live_phases(project, target, base)
    phases = live.change.phases
    manages_nodes = any(phase.is_of_nodes for phase in phases) and hosts.managed(project, target)
    run = _PhasedRun(live, options, manages_nodes)
    # The file of a plan is of one phase: `plan --from` plans the next one.
    if phase is None and reviewed is not None:
        phase = min(live.done(settle=True) + 1, len(phases))
    if phase is None:
        outcomes = run.take_all()
    else:
        outcomes = run.take_one(phase, reviewed)
    simulated = load_target(find_target(target)).source is Source.SIM
    steps: list[PhaseStep] = []
    for outcome in outcomes:
        if isinstance(outcome, Waiting):
            return PhasedResult(base, phases, tuple(steps), waiting=outcome, simulated=simulated)
        steps.append(outcome)
        project.operator.finished(outcome)
        if not outcome.ok:
            break
    return PhasedResult(base, phases, tuple(steps), waiting=None, simulated=simulated)


@dataclass(frozen=True, slots=True)
class _PhasedRun:
    """A deployment in phases. Its iterators take a step each time a value is requested.

    ``manages_nodes``: the deployment changes the GPU nodes too.
    """

    live: LivePhases
    options: DeployOptions
    manages_nodes: bool

    def take_all(self) -> Iterator[PhaseStep | Waiting]:
        """Take every step from the first phase that is not complete up to a manual one, and yield each as it ends.

        If all phases are complete, the last one is deployed again, unless it changes nodes that others manage.
        """
        phases = self.live.change.phases
        # A change of one phase is an ordinary deployment, whatever the switches have by now.
        if len(phases) == 1:
            yield from self._deploy(phases[0])
            return
        switches_done = self.live.done(settle=True)
        if switches_done:
            # The configuration of a phase does not show whether its cables were moved.
            missing = self.live.missing_cables(switches_done)
            if missing is not None:
                yield missing
                return
        completed = self._last_completed(switches_done)
        if completed < len(phases):
            yield from self._deploy_all(phases[completed:])
        elif self.manages_nodes or not phases[-1].is_of_nodes:
            # Deployed again: a deployment of the last phase repairs what has drifted since.
            yield from self._deploy(phases[-1])

    def _deploy_all(self, phases: Sequence[Phase]) -> Iterator[PhaseStep | Waiting]:
        """Take the steps of the remaining ``phases`` up to one that drops values that nodes may still send.

        Yields each step as it ends, and a Waiting in place of the phase that must not begin yet.
        """
        # `nodes_done` states what the nodes have done by now. If other phases come first, it cannot be about a phase
        # that drops values after them.
        may_drop = self.options.nodes_done and all(phase.drops for phase in phases)
        for phase in phases:
            if phase.drops and not may_drop:
                yield Waiting(phase, following=phase)
                return
            yield from self._deploy(phase)

    def take_one(self, number: int, reviewed: Path | None) -> Iterator[PhaseStep | Waiting]:
        """Take the step of one phase and yield it. Raises RefusedError if an earlier phase is not complete."""
        phase = self.live.change.phase(number)
        if number > 1:
            # Refused unless the switches have done the phase before.
            self.live.done(number, settle=True)
            missing = self.live.missing_cables(number - 1)
            if missing is not None:
                raise _missing_cables_error(missing, number, self.live.change.base)
            previous = self.live.change.phase(number - 1)
            # Ports are closed only once nothing uses what leaves, unless the user removes it regardless.
            if previous.is_drain and not self.options.remove_live:
                require_unused(self.live, previous)
        check_nodes(self.live, phase, managed=self.manages_nodes, nodes_done=self.options.nodes_done)
        yield from self._deploy(phase, reviewed)

    def _last_completed(self, switches_done: int) -> int:
        """Return the number of the last phase that both switches and nodes have completed, 0 if there is none.

        ``switches_done`` is the last phase by the switches' configuration. A phase that changes nodes, or takes
        something out of use, leaves no trace there.
        """
        if switches_done == 0:
            return 0
        last_phase = self.live.change.phases[switches_done - 1]
        if last_phase.is_drain:
            # It is complete when nothing uses any more what it drains, unless the user removes that regardless.
            if self.options.remove_live or is_unused(self.live, last_phase):
                return switches_done
            return switches_done - 1
        phases_of_nodes = node_phases(self.live.change.phases, switches_done)
        if phases_of_nodes and self.manages_nodes:
            return node_progress(self.live, phases_of_nodes).done(phases_of_nodes)
        if self.options.nodes_done:
            return switches_done
        # Nobody has stated that the nodes have completed any of these phases.
        return switches_done - len(phases_of_nodes)

    def _deploy(self, phase: Phase, reviewed: Path | None = None) -> Iterator[PhaseStep | Waiting]:
        """Take the step of a phase that may begin and yield it, then what people have to do before the next phase."""
        project = self.live.project
        phases = self.live.change.phases
        project.operator.tell(f"phase {phase.number} of {len(phases)}: {phase.title}")
        if phase.is_drain:
            # What the user removes even if it is in use is not drained.
            if not self.options.remove_live:
                yield drain_leaving(self.live, phase)
        elif phase.is_of_nodes and not self.manages_nodes:
            yield self._waiting_for_nodes(phase)
        elif phase.is_of_nodes:
            nodes = hosts.live_nodes(project, self.live.target, values=phase.node_values)
            with nodes.held():
                self._require_next(phase)
                step = PhaseStep(phase, nodes.apply())
            yield step
        else:
            yield self._deploy_switches(phase, reviewed)
            if phase.cables:
                yield Waiting(phase, phase.cables)

    def _waiting_for_nodes(self, phase: Phase) -> Waiting:
        """Return what others have to change on nodes: ``phase`` and the phases of nodes that directly follow it."""
        remaining = self.live.change.phases[phase.number - 1 :]
        node_changes = tuple(takewhile(lambda remaining_phase: remaining_phase.is_of_nodes, remaining))
        following = next(iter(remaining[len(node_changes) :]), None)
        return Waiting(phase, nodes=node_changes, following=following)

    def _deploy_switches(self, phase: Phase, reviewed: Path | None) -> PhaseStep:
        """Plan a phase, ask the operator and deploy it; the step has no result if they declined."""
        project = self.live.project
        options = agreed_for(self.options, phase)
        fabric = self.live.live_to_deploy(phase.number)
        review = read_review(reviewed, fabric.target)
        with fabric.connected():
            agreed = agree(project, fabric, options, review)
            if agreed is None:
                return PhaseStep(phase, None)
            # After the plan: another run may have deployed a later phase while the operator was asked.
            self._require_next(phase)
            return PhaseStep(phase, carry_out(project, fabric, agreed, options))

    def _require_next(self, phase: Phase) -> None:
        """Raise RefusedError if ``phase`` is not next any more; there is no other one in a change of one phase."""
        if len(self.live.change.phases) > 1:
            require_next(self.live, phase, managed=self.manages_nodes)


def _missing_cables_error(missing: Waiting, number: int, base: str) -> RefusedError:
    """Return the error for a phase that cannot begin because cables of an earlier one are missing."""
    cables = [" to ".join(str(end) for end in cable.ends_after) for cable in missing.cables]
    shown = first_few(cables, _MOST_NAMED, "; ")
    cabling_phase = missing.phase.number
    diagnostic = error(
        "RW518",
        f"phase {number} cannot begin: cables of phase {cabling_phase} are missing or their links are down: {shown}",
        devices=tuple(dict.fromkeys(cable.stays.device for cable in missing.cables)),
        fix=f"move them; `{command_line('verify', '--from', base, '--phase', cabling_phase)}` checks them",
    )
    return RefusedError([diagnostic])


def deploy_node_phase(
    project: Project, target: str, *, base: str, phase: int, limit: str = "", nodes_done: bool = False
) -> HostsRun | None:
    """Change nodes as a phase of the change from ``base`` says, and return the run; None if the operator declined.

    ``limit`` names the nodes, by default all of the phase. ``nodes_done`` states that no job still sends the old
    values, which a phase that drops them needs. Raises UsageError if the phase changes no node, RefusedError if a
    switch or a node has not done the phase before.
    """
    live = live_phases(project, target, base)
    node_phase = live.change.phase(phase)
    if not node_phase.is_of_nodes:
        raise UsageError(f"phase {phase} changes no node: `{command_line('deploy', '--from', base, '--phase', phase)}`")
    # Refused unless the switches have done the phase before.
    live.done(phase, settle=True)
    check_nodes(live, node_phase, managed=True, nodes_done=nodes_done)
    nodes = hosts.agreed_nodes(project, target, limit=limit, values=node_phase.node_values)
    if nodes is None:
        return None
    with nodes.held():
        require_next(live, node_phase, managed=True)
        return nodes.apply()


def node_progress(live: LivePhases, window: Sequence[Phase]) -> NodeProgress:
    """Read the nodes and return which phase each of them has done last.

    ``window`` are consecutive phases that change nodes. Raises RefusedError if a node cannot be read.
    """
    first = window[0]
    # The latest phase comes first: a node that two phases configure alike counts as having the later one.
    states = [_NodeState(phase.number, phase.node_values) for phase in reversed(window)]
    if first.was:
        states.append(_NodeState(first.number - 1, first.was))
    return _match_nodes(live, first, states)


class _NodeState(NamedTuple):
    """What nodes accept and send once a phase is done."""

    number: int
    values: NodeValues


def _match_nodes(live: LivePhases, phase: Phase, states: Iterable[_NodeState]) -> NodeProgress:
    """Read the nodes of a phase and return the first of ``states`` that each of them has, None if it has none of them.

    Raises RefusedError if a node cannot be read.
    """
    phase_of_node: dict[str, int | None] = {host.name: None for host in phase.nodes.hosts}
    for state in states:
        unmatched = {name for name, number in phase_of_node.items() if number is None}
        if not unmatched:
            break
        nodes = hosts.live_nodes(live.project, live.target, values=state.values)
        unmatched_hosts = tuple(host for host in nodes.hosts if host.name in unmatched)
        run = replace(nodes, hosts=unmatched_hosts).plan()
        _refuse_unread(run)
        # A node that has these values already would not be changed.
        phase_of_node |= dict.fromkeys(run.named(HostState.UNCHANGED), state.number)
    return NodeProgress(phase_of_node)


def require_next(live: LivePhases, phase: Phase, *, managed: bool) -> None:
    """Raise RefusedError if ``phase`` can neither begin nor be repeated any more.

    Another run may have deployed a later phase since this one read the progress of switches and nodes.
    """
    live.done(phase.number, settle=True)
    if not (managed and phase.is_of_nodes):
        return
    later_phases = [node_phase for node_phase in _window(live, phase) if node_phase.number > phase.number]
    later_states = [_NodeState(later.number, later.node_values) for later in reversed(later_phases)]
    diagnostics = _match_nodes(live, phase, later_states).check(phase, live.change.base)
    if diagnostics:
        raise RefusedError(diagnostics)


def check_nodes(live: LivePhases, phase: Phase, *, managed: bool, nodes_done: bool) -> None:
    """Raise RefusedError if ``phase`` drops what nodes may still send, or if a node has not done the phase before.

    ``nodes_done`` states that no job still sends the old values. Nodes are read only if they are ``managed``.
    """
    change = live.change
    if phase.drops and not nodes_done:
        raise RefusedError([check_statement(phase, change.phases, change.base, managed=managed)])
    window = _window(live, phase)
    if not managed or not window:
        return
    diagnostics = node_progress(live, window).check(phase, change.base)
    if diagnostics:
        raise RefusedError(diagnostics)


def _window(live: LivePhases, phase: Phase) -> tuple[Phase, ...]:
    """Return the consecutive phases of nodes that ``phase`` belongs to or directly follows; empty if there are none."""
    phases = live.change.phases
    last = phase.number - 1
    while last < len(phases) and phases[last].is_of_nodes:
        last += 1
    return node_phases(phases, last)


def _refuse_unread(run: HostsRun) -> None:
    """Raise RefusedError if a node could not be read."""
    unread = tuple(host for host in run.hosts if host.state in {HostState.FAILED, HostState.UNREACHABLE})
    if not unread:
        return
    message = f"the progress of the change is unknown: {unread[0].name}: {unread[0].error}"
    if len(unread) > 1:
        message += f", and {len(unread) - 1} more"
    names = tuple(host.name for host in unread)
    raise RefusedError([error("RW518", message, devices=names, fix="restore access to it, then try again")])


def drain_leaving(phases: LivePhases, phase: Phase) -> PhaseStep | Waiting:
    """Drain what leaves, nodes by the target's hook and switches by graceful shutdown, and prove that it is unused.

    Returns a Waiting with the evidence if something still uses it, and a step without a result if the operator
    declined. Raises RefusedError if the remaining paths do not suffice.
    """
    live = phases.live(phase.number)
    evidence = _proofs(live, phase)
    # Nothing uses it, for example because people have moved the jobs away: nothing to drain, and nothing to ask.
    if all(proof.ok for proof in evidence):
        return PhaseStep(phase, OutOfUse(evidence))
    if not phases.project.operator.approves_removal(phase.leaving):
        return PhaseStep(phase, None)
    command = f"deploy --from {phases.change.base} --phase {phase.number}"
    designed = live.designed
    with audited_action(command, designed.fabric.name, phases.target, designed.intent.sha256) as record:
        failed = _drain(live, phase, command)
        record({name: {"outcome": "failed", "error": why} for name, why in failed.items()})
    failures = tuple(Proof(name, what="drain", expected="done", actual=why) for name, why in failed.items())
    evidence = (*failures, *_proofs(live, phase))
    if all(proof.ok for proof in evidence):
        return PhaseStep(phase, OutOfUse(evidence))
    return Waiting(phase, following=phase, proofs=evidence)


def is_unused(phases: LivePhases, phase: Phase) -> bool:
    """Tell whether nothing uses what ``phase`` takes out of use."""
    return all(proof.ok for proof in _proofs(phases.live(phase.number), phase))


def require_unused(phases: LivePhases, phase: Phase) -> None:
    """Raise RefusedError where something uses what ``phase`` takes out of use."""
    evidence = _proofs(phases.live(phase.number), phase)
    diagnostics = check_unused(phase, evidence, phases.change.base)
    if diagnostics:
        raise RefusedError(diagnostics)


def _removes_nodes(phase: Phase, fabric: Fabric) -> bool:
    """Tell whether GPU nodes leave in a phase; a phase takes out either nodes or switches."""
    return phase.leaving[0] in fabric.host_of


def _proofs(live: LiveFabric, phase: Phase) -> tuple[Proof, ...]:
    """Read the devices that leave, and return the proof that each of them is unused, or what still uses it."""
    fabric = live.designed.fabric
    with live.progress():
        if _removes_nodes(phase, fabric):
            ends_up = links_up_towards(live.nornir, fabric, phase.leaving)
            return tuple(_link_proof(name, ends) for name, ends in ends_up.items())
        switches = tuple(fabric.switch_of[name] for name in phase.leaving)
        leaving = Leaving(switches, hosts=(), moved=())
        return proofs(fabric, leaving, switch_uses(live, leaving, live.target.rollout.drain_timeout_s))


def _link_proof(node: str, ends: Sequence[str]) -> Proof:
    """Return whether the links of a node are down; ``ends`` are the switch ports at which they are up."""
    actual = "down"
    if ends:
        actual = f"up at {first_few(ends)}"
    return Proof(node, what="links", expected="down", actual=actual)


def _drain(live: LiveFabric, phase: Phase, command: str) -> dict[str, str]:
    """Drain what leaves; return why that failed, by device.

    A switch that does not answer is not drained. Raises RefusedError if the remaining paths do not suffice.
    """
    fabric = live.designed.fabric
    if _removes_nodes(phase, fabric):
        return _drain_nodes(live, phase, command)
    rollout = live.target.rollout
    with holding_capacity(fabric.name, live.target.name, command), live.progress():
        states = draining.read(live.nornir, phase.leaving)
        targets = choose(fabric, [name for name, state in states.items() if not state.error])
        holding = Holding(live.nornir, fabric, message=command, seconds=MANUAL_S + rollout.drain_timeout_s)
        # All switches that leave are drained at once, also several of a plane.
        limits = DrainLimits(fabric, several=True)
        diagnostics = draining.refusal(live.nornir, limits, targets, holding.name)
        if diagnostics:
            raise RefusedError(diagnostics)
        results = draining.drain(
            live.nornir,
            targets,
            wait_s=rollout.drain_timeout_s,
            packets_per_s=rollout.quiet_packets_per_s,
            limits=limits,
            holding=holding,
        )
        return {result.device: result.error for result in results if result.error}


def _drain_nodes(live: LiveFabric, phase: Phase, command: str) -> dict[str, str]:
    """Call the target's drain hook for the nodes that leave; return why it failed, by node."""
    fabric = live.designed.fabric
    access = live.target.hosts
    if access is None:
        return {}
    nodes = [fabric.host_of[name] for name in phase.leaving]
    log = node_log(fabric.name, live.target.name)
    hooks = HookRunner(access.hooks, fabric.name, access.batches.forks, log)
    with log.held(command):
        return {name: why for name, why in hooks.drain(nodes).items() if why}
