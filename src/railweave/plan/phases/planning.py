"""A change that would hurt in one step, as a sequence of whole fabrics, each carried out by the ordinary deployment.

Some changes hurt in one step. Nodes and switches that leave are out of use before ports close (``removal``). Spines
that are added where all uplinks are in use take cables from the others: these are moved a few at a time, and a third
tier that comes with them joins its pods as soon as ports of spines are free (``restriping``). Fabric links with another
speed are down until both ends have it: one spine goes after the other (``speed_change``). A marking or an MTU that
nodes and switches share must fit on every path: first all accept both, then the nodes send the new, then all drop the
old (``shared_values``).
Everything else is one phase: the head itself.

In a phase that moves cables the configuration goes first, then people move the cables. ``Phase.pending`` names the
links that are in their hands meanwhile, of which a deployment must expect nothing yet (``railweave.plan.expectation``).
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from railweave.design.renumbering import MovedCable, change_of_addresses, moved_cables
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.hosts.values import roce_mtu_bytes
from railweave.plan.phases.class_change import moved_markings
from railweave.plan.phases.removal import removal_steps
from railweave.plan.phases.restriping import Move, joined, restriping_steps, rewired, with_switches, with_tier_above
from railweave.plan.phases.shared_values import NodeValues, SharedChange, of_switches, shared_change, words
from railweave.plan.phases.speed_change import speed_steps
from railweave.wording import command_line, counted, first_few, listed


class PhaseKind(StrEnum):
    """What a phase does."""

    # Takes leaving switches or nodes out of use.
    DRAIN = "drain"
    # Provisions new switches.
    PROVISION = "provision"
    # Configures switches.
    SWITCHES = "switches"
    # Configures GPU nodes.
    HOSTS = "hosts"
    # Configures switches, then people move cables.
    CABLES = "cables"
    # Carries out the rest of the change.
    CLEANUP = "cleanup"


@dataclass(frozen=True, slots=True)
class CableEnd:
    """An end of a cable, as SONiC and as the rack name it."""

    device: str
    port: str
    alias: str
    # The number at the front of the switch.
    panel: int
    # The part of a broken-out cage, counted from 1; 0 for a whole one.
    subport: int

    def __str__(self) -> str:
        """Return ``device:port``."""
        return f"{self.device}:{self.port}"


@dataclass(frozen=True, slots=True)
class CableMove:
    """A cable of which one end goes to another port, or both ends do; or one that is exchanged where it is."""

    # The end that keeps its port; if both move, the one nearer to the GPUs.
    stays: CableEnd
    before: CableEnd
    # None if the cable is taken out; ``before`` if another medium takes its place.
    after: CableEnd | None
    speed_gbps: int
    length_m: int
    media: str
    # Where ``stays`` goes if both ends move.
    stays_after: CableEnd | None = None
    # The medium that ``media`` replaces; None if it stays.
    media_before: str | None = None

    @property
    def is_exchanged(self) -> bool:
        """Tell whether both ends stay, and another medium joins them."""
        return self.after == self.before and self.stays_after is None

    @property
    def ends_after(self) -> tuple[CableEnd, ...]:
        """Return its ends afterwards; none of a cable that is taken out."""
        if self.after is None:
            return ()
        return (self.stays_after or self.stays, self.after)


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of a change, carried out as a deployment of its own."""

    # Counted from 1.
    number: int
    title: str
    kind: PhaseKind
    # The purpose of the phase, in a sentence.
    why: str
    # The whole intermediate fabric that the switches are configured for.
    fabric: Fabric
    # The fabric that the files of the GPU nodes are made from, except for what they send.
    nodes: Fabric
    # The fabric that decides what the nodes send; None if it is ``nodes``.
    sends: Fabric | None = None
    # Cables that people move after the configuration.
    cables: tuple[CableMove, ...] = ()
    # The links of ``fabric`` over these cables, which are down until then.
    pending: tuple[Link, ...] = ()
    # What the nodes were made from before the first phase that changes them.
    was: NodeValues | None = None
    # Names of the shared values that change.
    values: tuple[str, ...] = ()
    # From now on the old values are lost, which jobs that were started earlier may still send.
    drops: bool = False
    # From now on the switches drop larger packets.
    lowers_mtu: bool = False
    # GPU nodes or switches that a ``DRAIN`` phase takes out of use and the next one removes from their neighbors.
    leaving: tuple[str, ...] = ()
    # RoCE packet sizes of nodes before and after the phase, in bytes, if it changes them.
    roce_mtu_bytes: tuple[int, int] | None = None

    @property
    def node_values(self) -> NodeValues:
        """Return what the GPU nodes are made from in this phase."""
        return NodeValues(self.nodes, self.sends or self.nodes)

    @property
    def is_of_nodes(self) -> bool:
        """Tell whether the GPU nodes change in this phase, and no switch."""
        return self.kind is PhaseKind.HOSTS

    @property
    def is_drain(self) -> bool:
        """Tell whether the phase takes what leaves out of use, and changes no configuration."""
        return self.kind is PhaseKind.DRAIN


def phases(base: Fabric, head: Fabric) -> tuple[Phase, ...]:
    """Return the phases that lead from ``base``, which runs, to ``head``; the last one's fabric is ``head``.

    One phase if one step suffices, and if links get other addresses, which disrupts traffic in any order. Raises
    RefusedError, with the fix, for a change that no order of steps makes safe, such as moved cables of GPU nodes.
    """
    address_change = change_of_addresses(base, head)
    unsafe_moves = moved_cables(base, head)
    if not address_change:
        # Without other addresses only the cables of GPU nodes have no safe order.
        unsafe_moves = tuple(cable for cable in unsafe_moves if cable.before.lower in base.host_of)
    if unsafe_moves:
        raise _refused_moves(unsafe_moves, address_change)
    if address_change:
        return (_whole(head),)
    # In the order of how many members depend on a change: ports that close, speeds, cables, then shared values.
    removals = list(_removals(base, head))
    after_removals = _last_fabric(removals, base)
    speeds = list(_speeds(after_removals, head))
    cables = list(_cables(_last_fabric(speeds, after_removals), head))
    steps = [*removals, *speeds, *cables]
    shared = list(_shared(base, _last_fabric(steps, base), head))
    if steps and not shared:
        steps = _with_rest(steps, after_removals, head)
    return _numbered(base, [*steps, *shared] or [_whole(head)])


def _last_fabric(steps: Sequence[Phase], before: Fabric) -> Fabric:
    """Return the fabric that the switches are configured for after ``steps``; ``before`` if there are no steps."""
    if not steps:
        return before
    return steps[-1].fabric


def _with_rest(steps: Sequence[Phase], after_removals: Fabric, head: Fabric) -> list[Phase]:
    """Return ``steps`` with the rest of the change: a last phase, or nothing if ``steps`` end with ``head``."""
    last = steps[-1]
    if last.leaving and of_switches(after_removals) == of_switches(head):
        # Nothing else changes on switches, so the last removal already leads to the head.
        return [*steps[:-1], replace(last, fabric=head)]
    why = "what had to wait for the cables" if last.cables else "what no link waits for"
    return [
        *steps,
        Phase(number=0, title="the rest of the change", kind=PhaseKind.CLEANUP, why=why, fabric=head, nodes=head),
    ]


def _refused_moves(moved: Sequence[MovedCable], addresses: str) -> RefusedError:
    shown = first_few(map(str, moved), 1, "; ")
    count = counted(len(moved), "cable")
    if addresses:
        message = f"the change {addresses} and moves {count}: {shown}"
        fix = "make two changes of it"
    else:
        message = f"{count} of GPU nodes move: {shown}"
        fix = "take these nodes out in one change and put them in again in another"
    return RefusedError(
        [
            error(
                "RW519",
                f"{message}; no order of steps keeps their links",
                devices=tuple(dict.fromkeys(cable.before.lower for cable in moved)),
                fix=f"{fix}; or move them in a maintenance window with `{command_line('deploy', '--single-step')}`",
            )
        ]
    )


def phases_alike(steps: Sequence[Phase], number: int) -> int:
    """Return how many phases up to ``number`` leave the switches as they are."""
    first = number
    while first and (steps[first - 1].is_of_nodes or steps[first - 1].is_drain):
        first -= 1
    return number - first


def node_phases(steps: Sequence[Phase], number: int) -> tuple[Phase, ...]:
    """Return the phases of nodes that end with phase ``number``: the switches are alike in all of them."""
    first = number
    while first and steps[first - 1].is_of_nodes:
        first -= 1
    return tuple(steps[first:number])


def _numbered(base: Fabric, steps: Sequence[Phase]) -> tuple[Phase, ...]:
    """Return the phases with their numbers, and which of them lower the MTU."""
    numbered = []
    mtu_before = base.policies.mtu.fabric_bytes
    for number, phase in enumerate(steps, start=1):
        mtu = phase.fabric.policies.mtu.fabric_bytes
        numbered.append(replace(phase, number=number, lowers_mtu=mtu < mtu_before))
        mtu_before = mtu
    return tuple(numbered)


def _whole(head: Fabric) -> Phase:
    return Phase(
        number=1, title="the whole change", kind=PhaseKind.SWITCHES, why="one step suffices", fabric=head, nodes=head
    )


def _removals(base: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield two phases for all that leaves together: out of use, then out of its neighbors' configuration."""
    before = base
    for step in removal_steps(base, head):
        are_nodes = all(name in base.host_of for name in step.leaving)
        if are_nodes:
            why = "jobs are moved away and the nodes shut down before a port closes"
            title = f"close the ports of {step.what}"
        else:
            why = "traffic takes other paths before a link goes down"
            title = f"remove {step.what} from the other switches"
        yield Phase(
            number=0,
            title=f"take {step.what} out of use",
            kind=PhaseKind.DRAIN,
            why=why,
            fabric=before,
            nodes=base,
            leaving=step.leaving,
        )
        why = "nothing uses these ports any more"
        yield Phase(
            number=0,
            title=title,
            kind=PhaseKind.SWITCHES,
            why=why,
            fabric=step.fabric,
            nodes=base,
            leaving=step.leaving,
        )
        before = step.fabric


def _speeds(base: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield a phase for each spine whose links get another speed; none where ports come or go with it."""
    for step in speed_steps(base, head):
        title = f"{step.speed_gbps}G on the links of {step.switch}"
        tier = base.switch_of[step.switch].tier
        lower = base.tiers[tier.level - 1].name
        why = f"both ends of its links change together; a {lower} keeps the links to all other {tier.plural}"
        yield Phase(number=0, title=title, kind=PhaseKind.SWITCHES, why=why, fabric=step.fabric, nodes=base)


def _cables(base: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield the phases that move cables to their new ends; nothing if no cable moves."""
    steps = restriping_steps(base, head)
    if not steps:
        return
    added = _added_above_leaves(base, head)
    has_new_tier = len(head.tiers) > len(base.tiers)
    fabric = with_switches(base, added)
    if has_new_tier:
        fabric = with_tier_above(fabric, head)
    if added:
        yield _provisioning(added, fabric, base)
    why = _why_of_moves(base, tuple(chain.from_iterable(steps)))
    for number, step in enumerate(steps, start=1):
        # A leaf that moves to another pod loses its old spines, and then reaches the other pods only over the new tier.
        if has_new_tier:
            before = fabric
            fabric = joined(fabric, head)
            if fabric is not before:
                yield _join(fabric, base)
        fabric = rewired(fabric, step)
        title = f"{_step_title(step)}, step {number} of {len(steps)}"
        yield _cable_phase(fabric, step, title, why, base)


def _why_of_moves(base: Fabric, moves: Sequence[Move]) -> str:
    pairs = {_pair_words(base, move.before) for move in moves}
    why = (
        f"configure both ends, then move the cables: no {listed(sorted(pairs))} pair loses more than one link at a time"
    )
    if any(move.is_exchange for move in moves):
        why += "; the ports of a cable that is exchanged count as one"
    return why


def _step_title(step: Sequence[Move]) -> str:
    exchanged = sum(move.is_exchange for move in step)
    moved = len(step) - exchanged
    if not exchanged:
        return f"move {counted(moved, 'cable')}"
    if not moved:
        return f"exchange {counted(exchanged, 'cable')}"
    return f"move {counted(moved, 'cable')} and exchange {exchanged}"


def _added_above_leaves(base: Fabric, head: Fabric) -> tuple[Switch, ...]:
    new = (switch for switch in head.switches if switch.name not in base.switch_of)
    return tuple(switch for switch in new if not switch.tier.attaches_nodes)


def _provisioning(added: Sequence[Switch], fabric: Fabric, base: Fabric) -> Phase:
    counts = Counter(switch.tier for switch in added)
    title = f"provision {listed([tier.counted(count) for tier, count in counts.items()])}"
    why = "new switches come up without a link, so that nothing depends on them yet"
    return Phase(number=0, title=title, kind=PhaseKind.PROVISION, why=why, fabric=fabric, nodes=base)


def _cable_phase(fabric: Fabric, step: Sequence[Move], title: str, why: str, base: Fabric) -> Phase:
    cables = tuple(_cable(fabric, move) for move in step)
    pending = tuple(move.after for move in step if move.after is not None)
    return Phase(
        number=0, title=title, kind=PhaseKind.CABLES, why=why, fabric=fabric, nodes=base, cables=cables, pending=pending
    )


def _join(fabric: Fabric, base: Fabric) -> Phase:
    top = fabric.tiers[-1]
    spines = {link.lower for link in fabric.fabric_links if link.level == top.level}
    title = f"join {fabric.tiers[-2].counted(len(spines))} to {top.plural}"
    return Phase(
        number=0,
        title=title,
        kind=PhaseKind.SWITCHES,
        why="pods reach each other before the next cables move",
        fabric=fabric,
        nodes=base,
    )


def _pair_words(fabric: Fabric, link: Link) -> str:
    return f"{fabric.switch_of[link.lower].tier.name}-{fabric.switch_of[link.upper].tier.name}"


def _shared(base: Fabric, before: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield the phases for values that nodes and switches share; nothing if they can change in one step.

    ``before`` is the fabric that the switches are configured for when these phases begin.
    """
    change = shared_change(base, head)
    if change is None:
        return
    values = tuple(value.name for value in change.values)
    if of_switches(change.switches) != of_switches(before):
        title, why = _words_of_accepting(base, head, values)
        yield Phase(
            number=0, title=title, kind=PhaseKind.SWITCHES, why=why, fabric=change.switches, nodes=base, values=values
        )
    yield from _node_phases(change, values)
    if change.switches is not head:
        title = "switches drop the old marking" if "marking" in values else "switches lower their MTU"
        why = _nobody_sends(words(change.values, "old"))
        yield Phase(
            number=0, title=title, kind=PhaseKind.CLEANUP, why=why, fabric=head, nodes=head, values=values, drops=True
        )


def _node_phases(change: SharedChange, values: tuple[str, ...]) -> Iterator[Phase]:
    """Yield the phases in which nodes accept both values, send the new one, and drop the old one.

    Phases that change nothing on nodes are left out.
    """
    both = words(change.values, "both")
    old = words(change.values, "old")
    new = words(change.values, "new")
    before = change.before
    for nodes, action, why in (
        (change.accepting, f"accept {both}", "every node receives the new before one sends it"),
        (change.sending, f"send {new}", f"every switch and every node accepts {both} by now"),
        (change.after, f"drop {old}", _nobody_sends(old)),
    ):
        if nodes.shared != before.shared:
            yield Phase(
                number=0,
                title=f"GPU nodes {action}",
                kind=PhaseKind.HOSTS,
                why=why,
                fabric=change.switches,
                nodes=nodes.accepts,
                sends=nodes.sends,
                was=change.before,
                values=values,
                drops=nodes is change.after,
                roce_mtu_bytes=_changed_roce_mtu_bytes(before, nodes),
            )
        before = nodes


def _nobody_sends(old: str) -> str:
    return f"no node sends {old} any more"


def _changed_roce_mtu_bytes(before: NodeValues, after: NodeValues) -> tuple[int, int] | None:
    """Return the RoCE packet sizes before and after; None if they are equal."""
    size_before = roce_mtu_bytes(before.accepts.policies.mtu.hosts_bytes)
    size_after = roce_mtu_bytes(after.accepts.policies.mtu.hosts_bytes)
    if size_before == size_after:
        return None
    return size_before, size_after


def _words_of_accepting(base: Fabric, head: Fabric, values: Collection[str]) -> tuple[str, str]:
    """Return title and reason of the phase in which switches accept what nodes of ``base`` and of ``head`` send."""
    if "marking" in values:
        moved = moved_markings(base.policies.classes, head.policies.classes)
        changes = "; ".join(map(str, moved)) or "RDMA or its notifications get another code point"
        return "switches accept both markings", f"{changes}: until all nodes have changed, the switches serve both"
    if head.policies.mtu.hosts_bytes > base.policies.mtu.fabric_bytes:
        return "switches raise their MTU", "every hop carries the larger packets before a node sends them"
    return "the change of the switches without a smaller MTU", "GPU nodes still send larger packets"


def _cable(fabric: Fabric, move: Move) -> CableMove:
    """Return a move for the person who moves the cable."""
    link = move.after or move.before
    lower, upper = _ends(fabric, move.before)
    cable = CableMove(
        stays=lower, before=upper, after=None, speed_gbps=link.speed_gbps, length_m=link.length_m, media=link.media
    )
    if move.after is None:
        return cable
    lower_after, upper_after = _ends(fabric, move.after)
    if lower_after == lower:
        cable = replace(cable, after=upper_after)
    elif upper_after == upper:
        cable = replace(cable, stays=upper, before=lower, after=lower_after)
    else:
        cable = replace(cable, after=upper_after, stays_after=lower_after)
    if move.after.media != move.before.media:
        cable = replace(cable, media_before=move.before.media)
    return cable


def _ends(fabric: Fabric, link: Link) -> tuple[CableEnd, CableEnd]:
    lower = _end(fabric, link.lower, link.lower_port)
    upper = _end(fabric, link.upper, link.upper_port)
    return lower, upper


def _end(fabric: Fabric, device: str, index: int) -> CableEnd:
    port = fabric.switch_of[device].panel.ports[index]
    return CableEnd(device, port.name, port.alias, port.panel, port.subport)
