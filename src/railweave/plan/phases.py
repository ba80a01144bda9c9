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

from railweave.design.renumbering import MovedCable, moved_cables, renumbered
from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric, Link
from railweave.hosts.values import roce_mtu_bytes
from railweave.plan.class_change import moved_markings
from railweave.plan.removal import removal_steps
from railweave.plan.restriping import Move, joined, restriping_steps, rewired, with_switches, with_tier_above
from railweave.plan.shared_values import NodeValues, of_switches, shared_change, words
from railweave.plan.speed_change import speed_steps
from railweave.wording import command_line, counted, first_few, listed


class PhaseKind(StrEnum):
    """What a phase does: take what leaves out of use, new switches, configuration alone, GPU nodes, cables after
    configuration, or the rest."""

    DRAIN = "drain"
    PROVISION = "provision"
    SWITCHES = "switches"
    HOSTS = "hosts"
    CABLES = "cables"
    CLEANUP = "cleanup"


@dataclass(frozen=True, slots=True)
class CableEnd:
    """An end of a cable as SONiC and as the rack call it: ``panel`` is the number at the front, ``subport`` the part of
    a broken-out cage from 1, 0 for a whole one."""

    device: str
    port: str
    alias: str
    panel: int
    subport: int

    def __str__(self) -> str:
        """Return ``device:port``."""
        return f"{self.device}:{self.port}"


@dataclass(frozen=True, slots=True)
class CableMove:
    """A cable whose ``stays`` end keeps its port while the other goes from ``before`` to ``after``; None for ``after``
    where it is taken out. Where both ends move ``stays`` is the one nearer to the GPUs, and goes to ``stays_after``."""

    stays: CableEnd
    before: CableEnd
    after: CableEnd | None
    speed_gbps: int
    length_m: int
    media: str
    stays_after: CableEnd | None = None

    @property
    def ends_after(self) -> tuple[CableEnd, ...]:
        """Return its ends afterwards; none of a cable that is taken out."""
        return () if self.after is None else (self.stays_after or self.stays, self.after)


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of a change, ``number`` from 1.

    ``roce_mtu_bytes`` are the RoCE packet sizes of nodes before and after the phase, where it changes them.

    ``fabric`` is the whole intermediate fabric that the switches are to be, ``nodes`` the one that the files of the GPU
    nodes are made from, except for what they send, which is of ``sends``; ``was`` is what they were before the first
    such phase. ``why`` says in a sentence what the phase is for. ``pending`` are the links of ``fabric`` whose
    cables are moved by hand after the configuration. ``values`` names the shared values that change; ``drops`` tells
    that from now on the old ones are lost, which jobs that were started earlier may still send. ``lowers_mtu`` tells
    that the switches drop larger packets from now on. ``leaving`` are the GPU nodes or switches that one phase takes
    out of use (``DRAIN``, no configuration changes), and that the next one takes out of their neighbors' configuration.
    """

    number: int
    title: str
    kind: PhaseKind
    why: str
    fabric: Fabric
    nodes: Fabric
    sends: Fabric | None = None
    cables: tuple[CableMove, ...] = ()
    pending: tuple[Link, ...] = ()
    was: NodeValues | None = None
    values: tuple[str, ...] = ()
    drops: bool = False
    lowers_mtu: bool = False
    leaving: tuple[str, ...] = ()
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

    One phase where one step suffices, and where devices would be renumbered: that has no gentle way. Raises
    RefusedError for a change that disrupts traffic in any order, with the fix; so is one that moves cables of GPU
    nodes, or renumbers devices and moves cables.
    """
    is_renumbering = bool(renumbered(base, head))
    moved = [one for one in moved_cables(base, head) if is_renumbering or one.before.lower in base.host_of]
    if moved:
        raise _refused_moves(moved, is_renumbering=is_renumbering)
    if is_renumbering:
        return (_whole(head),)
    removals = tuple(_removals(base, head))
    kept = removals[-1].fabric if removals else base
    speeds = tuple(_speeds(kept, head))
    start = speeds[-1].fabric if speeds else kept
    found = [*removals, *speeds, *_cables(start, head)]
    shared = tuple(_shared(base, found[-1].fabric if found else base, head))
    if found and found[-1].leaving and not shared and of_switches(kept) == of_switches(head):
        found[-1] = replace(found[-1], fabric=head)
    elif found and not shared:
        why = "what had to wait for the cables" if found[-1].cables else "what no link waits for"
        found.append(Phase(0, "the rest of the change", PhaseKind.CLEANUP, why, head, head))
    return _numbered(base, [*found, *shared] or [_whole(head)])


def _refused_moves(moved: Sequence[MovedCable], *, is_renumbering: bool) -> RefusedError:
    shown, count = first_few(map(str, moved), 1, "; "), counted(len(moved), "cable")
    if is_renumbering:
        message = f"the change renumbers devices and moves {count}: {shown}"
        fix = "make two changes of it"
    else:
        message = f"{count} of GPU nodes move: {shown}"
        fix = "take these nodes out in one change and put them in again in another"
    return RefusedError(
        [
            error(
                "RW519",
                f"{message}; no order of steps keeps their links",
                devices=tuple(dict.fromkeys(one.before.lower for one in moved)),
                fix=f"{fix}; or move them in a maintenance window with `{command_line('deploy', '--single-step')}`",
            )
        ]
    )


def phases_alike(found: Sequence[Phase], number: int) -> int:
    """Return how many phases up to ``number`` leave the switches as they are."""
    return next(
        (count for count, one in enumerate(reversed(found[:number])) if not (one.is_of_nodes or one.is_drain)), number
    )


def node_phases(found: Sequence[Phase], number: int) -> tuple[Phase, ...]:
    """Return the phases of nodes that end with phase ``number``: the switches are alike in all of them."""
    first = number
    while first and found[first - 1].is_of_nodes:
        first -= 1
    return tuple(found[first:number])


def _numbered(base: Fabric, found: Sequence[Phase]) -> tuple[Phase, ...]:
    """Return the phases with their numbers, and which of them lower the MTU."""
    sizes = [fabric.policies.mtu.fabric_bytes for fabric in (base, *(phase.fabric for phase in found))]
    return tuple(
        replace(phase, number=number, lowers_mtu=sizes[number] < sizes[number - 1])
        for number, phase in enumerate(found, start=1)
    )


def _whole(head: Fabric) -> Phase:
    return Phase(1, "the whole change", PhaseKind.SWITCHES, "one step suffices", head, head)


def _removals(base: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield two phases for all that leaves together: out of use, then out of its neighbors' configuration."""
    before = base
    for step in removal_steps(base, head):
        of_nodes = step.leaving[0] in base.host_of
        why = (
            "jobs are moved away and the nodes shut down before a port closes"
            if of_nodes
            else "traffic takes other paths before a link goes down"
        )
        yield Phase(0, f"take {step.what} out of use", PhaseKind.DRAIN, why, before, base, leaving=step.leaving)
        title = f"close the ports of {step.what}" if of_nodes else f"remove {step.what} from the other switches"
        why = "nothing uses these ports any more"
        yield Phase(0, title, PhaseKind.SWITCHES, why, step.fabric, base, leaving=step.leaving)
        before = step.fabric


def _speeds(base: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield a phase for each spine whose links get another speed; none where ports come or go with it."""
    for step in speed_steps(base, head):
        title = f"{step.speed_gbps}G on the links of {step.switch}"
        tier = base.switch_of[step.switch].tier
        lower = base.tiers[tier.level - 1].name
        why = f"both ends of its links change together; a {lower} keeps the links to all other {tier.plural}"
        yield Phase(0, title, PhaseKind.SWITCHES, why, step.fabric, base)


def _cables(base: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield the phases that lead all cables that move to where they belong; none where none moves."""
    steps = restriping_steps(base, head)
    if not steps:
        return
    added = tuple(one for one in head.switches if not one.tier.attaches_nodes and one.name not in base.switch_of)
    fabric = with_switches(base, added)
    third = len(head.tiers) > len(base.tiers)
    fabric = with_tier_above(fabric, head) if third else fabric
    if added:
        counts = Counter(one.tier for one in added)
        title = f"provision {listed([tier.counted(count) for tier, count in counts.items()])}"
        why = "new switches come up without a link, so that nothing depends on them yet"
        yield Phase(0, title, PhaseKind.PROVISION, why, fabric, base)
    pairs = listed(sorted({_pair_words(base, move.before) for step in steps for move in step}))
    why = f"configure both ends, then move the cables: no {pairs} pair loses more than one link at a time"
    # A leaf that moves to another pod loses its way to the others with its last old spine, unless pods are joined.
    for number, step in enumerate(steps, start=1):
        if third and fabric is not (fabric := joined(fabric, head)):
            yield _join(fabric, base)
        fabric = rewired(fabric, step)
        title = f"move {counted(len(step), 'cable')}, step {number} of {len(steps)}"
        cables = tuple(_cable(fabric, move) for move in step)
        pending = tuple(move.after for move in step if move.after is not None)
        yield Phase(0, title, PhaseKind.CABLES, why, fabric, base, cables=cables, pending=pending)


def _join(fabric: Fabric, base: Fabric) -> Phase:
    top = fabric.tiers[-1]
    spines = {link.lower for link in fabric.fabric_links if link.level == top.level}
    title = f"join {fabric.tiers[-2].counted(len(spines))} to {top.plural}"
    return Phase(0, title, PhaseKind.SWITCHES, "pods reach each other before the next cables move", fabric, base)


def _pair_words(fabric: Fabric, link: Link) -> str:
    return f"{fabric.switch_of[link.lower].tier.name}-{fabric.switch_of[link.upper].tier.name}"


def _shared(base: Fabric, before: Fabric, head: Fabric) -> Iterator[Phase]:
    """Yield the phases of values that nodes and switches share; none where one step does.

    ``before`` is what the switches are by then.
    """
    change = shared_change(base, head)
    if change is None:
        return
    values = tuple(one.name for one in change.values)
    if of_switches(change.switches) != of_switches(before):
        title, why = _words_of_accepting(base, head, values)
        yield Phase(0, title, PhaseKind.SWITCHES, why, change.switches, base, values=values)
    last = change.before
    both, old, new = (words(change.values, how) for how in ("both", "old", "new"))
    for nodes, does, why, drops in (
        (change.accepting, f"accept {both}", "every node receives the new before one sends it", False),
        (change.sending, f"send {new}", f"every switch and every node accepts {both} by now", False),
        (change.after, f"drop {old}", f"no node sends {old} any more", True),
    ):
        if nodes.shared != last.shared:
            was, now = (roce_mtu_bytes(one.accepts.policies.mtu.hosts_bytes) for one in (last, nodes))
            yield Phase(
                0,
                f"GPU nodes {does}",
                PhaseKind.HOSTS,
                why,
                change.switches,
                *nodes,
                was=change.before,
                values=values,
                drops=drops,
                roce_mtu_bytes=(was, now) if was != now else None,
            )
        last = nodes
    if change.switches is not head:
        title = "switches drop the old marking" if "marking" in values else "switches lower their MTU"
        yield Phase(0, title, PhaseKind.CLEANUP, f"no node sends {old} any more", head, head, values=values, drops=True)


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
    link = move.after or move.before
    lower, upper = _ends(fabric, move.before)
    lower_after, upper_after = (lower, None) if move.after is None else _ends(fabric, move.after)
    stays, before, after, stays_after = lower, upper, upper_after, None
    if lower_after != lower:
        if upper_after == upper:
            stays, before, after = upper, lower, lower_after
        else:
            stays_after = lower_after
    return CableMove(stays, before, after, link.speed_gbps, link.length_m, link.media, stays_after)


def _ends(fabric: Fabric, link: Link) -> tuple[CableEnd, CableEnd]:
    return _end(fabric, link.lower, link.lower_port), _end(fabric, link.upper, link.upper_port)


def _end(fabric: Fabric, device: str, index: int) -> CableEnd:
    port = fabric.switch_of[device].panel.ports[index]
    return CableEnd(device, port.name, port.alias, port.panel, port.subport)
