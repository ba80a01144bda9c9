"""What an operator may drain: which peers of which switches, and that all traffic keeps another path.

Neighbors still use a drained switch or link if they have no other path. Such a drain moves no traffic, and the work
that follows would interrupt it. These rules refuse the drain before anything is done.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from railweave.diagnostics import Diagnostic, error
from railweave.errors import RefusedError, UsageError
from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.names import known_switches
from railweave.plan.away import away_of
from railweave.plan.capacity import Capacity, capacity
from railweave.plan.expectation import ExpectedSession, expect
from railweave.wording import command_line, first_few

WHOLE = ("*",)


@dataclass(frozen=True, slots=True)
class DrainTarget:
    """What to drain of a switch."""

    device: str
    # BGP peers as FRR names them, ``("*",)`` for all.
    peers: tuple[str, ...]
    # The ports and the links of these peers.
    ports: tuple[str, ...]
    links: tuple[Link, ...]

    @property
    def whole(self) -> bool:
        """Tell whether the switch is drained as a whole."""
        return self.peers == WHOLE


@dataclass(frozen=True, slots=True)
class DrainResult:
    """The result of draining, or undraining, one switch."""

    device: str
    # The drained peers, ``("*",)`` for the whole switch.
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    changed: bool = False
    # Its traffic was measured at the end of the wait.
    waited: bool = False
    # The traffic that still flowed then, in words.
    flows: str = ""
    error: str = ""
    # Why it carries no traffic although nothing of it is drained, such as TSA.
    withheld: str = ""
    # Its driver cannot drain.
    unable: bool = False
    # Peers that another session, ``held_by``, is about to drain.
    held: tuple[str, ...] = ()
    held_by: str = ""
    # The switch itself ends the hold, or reverts the commit that withholds it, after so many seconds.
    ends_in_s: float | None = None

    @property
    def away(self) -> tuple[str, ...]:
        """Return the peers over which it carries no traffic, or soon will carry none, ``("*",)`` for all."""
        if self.withheld or WHOLE in (self.after, self.held):
            return WHOLE
        return tuple(dict.fromkeys((*self.after, *self.held)))

    @property
    def ok(self) -> bool:
        """Tell whether the switch is as requested, and quiet if its traffic was measured."""
        return not self.error and not self.flows


def choose(fabric: Fabric, devices: Sequence[str], link_names: Collection[str] = ()) -> tuple[DrainTarget, ...]:
    """Return what to drain: ``devices`` as a whole, or the links of a single device that ``link_names`` name.

    A link name is the BGP peer, the own port or the switch at the far end. Raises UsageError for unknown names, and
    RefusedError for a switch that is the only path of GPU nodes.
    """
    names = known_switches(fabric, devices)
    if link_names and len(names) != 1:
        raise UsageError("--links names links of one switch; drain several switches one by one")
    targets = tuple(_drain_target(fabric, fabric.switch_of[name], link_names) for name in names)
    needed = [diagnostic for target in targets for diagnostic in _needed_by_nodes(fabric, target)]
    if needed:
        raise RefusedError(needed)
    return targets


def _drain_target(fabric: Fabric, switch: Switch, link_names: Collection[str]) -> DrainTarget:
    """Return what to drain of a switch: the links that ``link_names`` name, or all if there are no link names."""
    sessions: Sequence[ExpectedSession] = expect(fabric, switch).sessions
    peers: tuple[str, ...] = WHOLE
    if link_names:
        sessions = _sessions_named(switch, sessions, link_names)
        peers = tuple(session.peer for session in sessions)
    link_of_port = {
        switch.panel.ports[link.port_of(switch.name)].name: link for link in fabric.fabric_links_of(switch.name)
    }
    ports = tuple(session.port for session in sessions)
    links = tuple(link_of_port[port] for port in ports if port in link_of_port)
    return DrainTarget(switch.name, peers, ports, links)


def _sessions_named(
    switch: Switch, sessions: Iterable[ExpectedSession], link_names: Collection[str]
) -> list[ExpectedSession]:
    """Return the sessions over the links that ``link_names`` name by peer, own port or far switch.

    Raises UsageError for unknown names.
    """
    named_sessions: list[ExpectedSession] = []
    known_names: set[str] = set()
    for session in sessions:
        names = {session.peer, session.port, session.device}
        if not names.isdisjoint(link_names):
            named_sessions.append(session)
            known_names |= names
    unknown = [name for name in link_names if name not in known_names]
    if unknown:
        raise UsageError(
            f"{switch.name} has no fabric link {', '.join(unknown)}; name a BGP peer, a port of it, or the switch at "
            f"the far end"
        )
    return named_sessions


def _needed_by_nodes(fabric: Fabric, target: DrainTarget) -> Iterator[Diagnostic]:
    """Yield an error if the drain would leave a switch with GPU nodes no undrained uplink."""
    nodes = fabric.nodes_on(target.device)
    keeps_links = len(target.links) < len(fabric.fabric_links_of(target.device))
    if not nodes or keeps_links:
        return
    served = f"of {len(nodes)} GPU nodes"
    effect = "cuts them off"
    if fabric.nic_blocks:
        served = f"to one port of each NIC of {len(nodes)} GPU nodes"
        effect = "ends the queue pairs of these ports"
    rail = fabric.switch_of[target.device].rail
    if rail is not None:
        served += f" on rail {rail}"
    far = next(iter(fabric.above(target.device)), "SWITCH")
    yield error(
        "RW520",
        f"{target.device} cannot be drained: it is the only path {served} ({first_few(nodes)}); work on it {effect}",
        fix=f"drain single uplinks: `{command_line('drain', target.device, '--links', far)}`; for work on the switch "
        "itself take these nodes out of the scheduler first",
        devices=(target.device,),
    )


def undrained(target_peers: tuple[str, ...], drained: Collection[str]) -> tuple[str, ...]:
    """Return the peers of ``target_peers`` that are not among the ``drained`` ones."""
    if tuple(drained) == WHOLE:
        return ()
    return tuple(peer for peer in target_peers if peer not in drained)


@dataclass(frozen=True, slots=True)
class DrainLimits:
    """What a drain must leave of ``fabric``: another path for all traffic, and all other switches of a plane."""

    fabric: Fabric
    # Consent to more than one switch of a plane.
    several: bool = False


def check_around(
    limits: DrainLimits, targets: Sequence[DrainTarget], around: Mapping[str, DrainResult]
) -> tuple[Diagnostic, ...]:
    """Return the errors if ``targets`` must not be drained while the switches ``around`` them are as they are."""
    unreachable = [name for name, state in around.items() if state.error]
    # Peers that somebody is about to drain count as drained already; the diagnostic names who that is.
    soon = {}
    for name, state in around.items():
        is_drained = bool(state.withheld or state.after)
        if state.held and not is_drained:
            soon[name] = state.held_by
    drained = drained_peers_of(around)
    return check_drain(limits.fabric, targets, drained, unreachable, several=limits.several, soon=soon)


def drained_peers_of(states: Mapping[str, DrainResult]) -> dict[str, tuple[str, ...]]:
    """Return the peers that are drained on each switch that could be read."""
    return {name: state.away for name, state in states.items() if not state.error}


def check_drain(
    fabric: Fabric, targets: Sequence[DrainTarget], drained: Mapping[str, tuple[str, ...]], silent: Collection[str],
    *, several: bool = False, soon: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Diagnostic, ...]:  # fmt: skip
    """Return the errors if ``targets`` must not be drained.

    ``drained`` are the peers that are drained already, by switch; ``silent`` switches do not answer. ``several`` is the
    consent to more than one switch of a plane; another path for all traffic is still required. ``soon`` are switches of
    ``drained`` that another session is only about to drain, with the name of that session.
    """
    names = {target.device for target in targets}
    drained_names = {name for name, peers in drained.items() if peers}
    # Only a spine takes paths from others while it does not answer, a leaf does not.
    silent_spines = {name for name in silent if not fabric.switch_of[name].tier.attaches_nodes}
    others_out = (drained_names | silent_spines) - names
    diagnostics: list[Diagnostic] = []
    if not several:
        diagnostics += _several_of_plane(fabric, names, others_out, silent, soon)
    if _capacity_left(fabric, targets, drained, silent).least_paths == 0:
        diagnostics.append(
            error(
                "RW522",
                f"draining {first_few(sorted(names))} would leave some leaves without another path to each other"
                f"{_why_out(others_out, silent, soon)}",
                fix=f"drain fewer at once, or undrain others first (`{command_line('undrain', 'DEVICE')}`)",
                devices=tuple(sorted(names)),
            )
        )
    return tuple(diagnostics)


def _capacity_left(
    fabric: Fabric,
    targets: Sequence[DrainTarget],
    drained: Mapping[str, tuple[str, ...]],
    silent: Collection[str] = (),
) -> Capacity:
    """Return the capacity while the targets, the ``drained`` peers and the ``silent`` switches carry no traffic."""
    already_away = away_of(fabric, drained)
    out = {*already_away.out, *silent}
    down = [*already_away.down]
    for target in targets:
        if target.whole:
            out.add(target.device)
        else:
            down += target.links
    return capacity(fabric, out, down=down)


def _several_of_plane(
    fabric: Fabric,
    names: Collection[str],
    others_out: Collection[str],
    silent: Collection[str],
    soon: Mapping[str, str],
) -> Iterator[Diagnostic]:
    """Yield an error for each plane in which more than one switch would be out of service."""
    for plane in sorted({fabric.switch_of[name].plane for name in names}):
        drained_now = sorted(name for name in names if fabric.switch_of[name].plane == plane)
        others = {name for name in others_out if fabric.switch_of[name].plane == plane}
        count = len(drained_now) + len(others)
        if count > 1:
            yield error(
                "RW521",
                f"draining {first_few(drained_now)} would take {count} switches of plane {plane} out of "
                f"service; the limit is 1{_why_out(others, silent, soon)}",
                fix="drain them one by one, or allow more at once with `--several`",
                devices=tuple(drained_now),
            )


def _why_out(others: Collection[str], silent: Collection[str], soon: Mapping[str, str]) -> str:
    """Return in parentheses why other switches count as out of service; empty if there are none."""
    reasons = []
    drained_already = sorted(set(others) - set(silent) - set(soon))
    if drained_already:
        reasons.append(f"drained already: {first_few(drained_already)}")
    drained_soon = sorted(set(others) & set(soon))
    if drained_soon:
        # One name is enough: all drains of that session end together.
        reasons.append(f"{drained_soon[0]}: {soon[drained_soon[0]]}")
    unanswered = sorted(set(others) & set(silent))
    if unanswered:
        reasons.append(f"without an answer: {first_few(unanswered)}")
    if not reasons:
        return ""
    return f" ({'; '.join(reasons)})"


def neighborhood(fabric: Fabric, targets: Sequence[DrainTarget]) -> tuple[str, ...]:
    """Return the switches whose drains count together with ``targets``: all switches of their planes."""
    planes = {fabric.switch_of[target.device].plane for target in targets}
    return tuple(switch.name for switch in fabric.switches if switch.plane in planes)


def uplinks_left_percent(
    fabric: Fabric, targets: Sequence[DrainTarget], drained: Mapping[str, tuple[str, ...]]
) -> float:
    """Return the percentage of its uplinks that the worst switch keeps while ``targets`` and ``drained`` are away."""
    return _capacity_left(fabric, targets, drained).least_uplink_percent
