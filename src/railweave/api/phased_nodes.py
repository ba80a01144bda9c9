"""The GPU nodes in a change in phases: how far they are, and one phase on all or some of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from railweave.api import hosts
from railweave.api.phasing import LivePhases, live_phases
from railweave.api.project import Project
from railweave.diagnostics import error
from railweave.errors import RefusedError, UsageError
from railweave.hosts.outcome import HostsRun, HostState
from railweave.plan.phase_progress import NodeProgress, check_statement
from railweave.plan.phases import Phase, node_phases
from railweave.plan.shared_values import NodeValues
from railweave.wording import command_line


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
