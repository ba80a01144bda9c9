"""Spines with ports of several speeds: blocks of cages that every spine keeps apart for the leaves of some entries.

The ports for all leaves begin at the front of the panel, as where there is one speed. The blocks lie at its end, that
of the lowest stripes outermost, so that leaves of a later generation get theirs before it and move no cable. In a block
a leaf has the ports of its place among the leaves of its entry, and ``reserve`` says for how many there is room: growth
up to it moves nothing either.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.layout import NodeGroup, OwnLeaf, SpineBlock, owner
from railweave.design.leaves import Faults, Leaves, pair_of
from railweave.design.pods import Pods
from railweave.design.split import TierPorts
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent
from railweave.units import format_speed
from railweave.wording import counted


class Apart(NamedTuple):
    """The groups of nodes with the ports that spines keep apart for their leaves, and the ports of a spine."""

    groups: tuple[NodeGroup, ...]
    ports: TierPorts


class _Own(NamedTuple):
    """A group of nodes with leaves of its own; ``pair`` are their links to a spine, where these are given, and
    ``reserve`` is what the intent states of them, None without."""

    group: NodeGroup
    leaf: OwnLeaf
    pair: int
    reserve: int | None

    @property
    def name(self) -> str:
        """Return the name of the entry of nodes as messages quote it."""
        return repr(self.group.entry.name)

    @property
    def path(self) -> str:
        """Return the intent path of the reserve."""
        return f"{self.group.path}.leaf.reserve"


def keep_ports_apart(
    intent: Intent, leaves: Leaves, pods: Pods, hardware: Sequence[TierHardware]
) -> tuple[Apart | None, Faults]:
    """Return the groups and the ports of a spine with a block for each entry that states a reserve of its leaves, or
    every reason why there is none."""
    own = sorted(_own_leaves(intent, leaves.groups), key=lambda one: one.group.first_stripe)
    apart = [one for one in own if one.reserve is not None]
    faults = [fault for one in own for fault in _unclear(intent, one, hardware[0])]
    if not apart and not faults:
        return Apart(leaves.groups, pods.ports), ()
    faults += _without_place(intent, leaves, pods, apart[:1])
    if faults:
        return None, tuple(faults)
    sizes = {one.group.entry.name: _block(one, leaves, pods) for one in apart}
    faults = [fault for one in apart for fault in _beyond_reserve(intent, one, leaves)]
    if sum(block.cages for block in sizes.values()) >= hardware[1].cages:
        faults.append(_too_many_cages(intent, hardware[1], sizes, apart[-1]))
    return (None, tuple(faults)) if faults else (_placed(leaves.groups, sizes, hardware[1]), ())


def _own_leaves(intent: Intent, groups: Sequence[NodeGroup]) -> Iterator[_Own]:
    for group in groups:
        if group.leaf and group.entry.leaf:
            yield _Own(group, group.leaf, pair_of(intent, group.entry), group.entry.leaf.reserve)


def _block(own: _Own, leaves: Leaves, pods: Pods) -> SpineBlock:
    """Return the block of a group, which has no place on the panel yet: for whole stripes."""
    each, far = leaves.per_stripe, own.leaf.hardware.far
    room = -(-(own.reserve or 0) // each) * each // pods.rails
    cages = -(-room * own.pair // far.per_cage)
    return SpineBlock(cages, far, 0, own.pair, own.group.first_stripe * each // pods.rails, room)


def _placed(groups: Sequence[NodeGroup], sizes: Mapping[str, SpineBlock], spine: TierHardware) -> Apart:
    """Return the blocks at the end of the panel: ``sizes`` are in the order of their stripes, the last one in front."""
    common = spine.cages - sum(block.cages for block in sizes.values())
    first = down = common * spine.down.per_cage
    placed = {}
    for name in reversed(tuple(sizes)):
        placed[name] = sizes[name]._replace(first=first)
        first += placed[name].ports
    runs = ((common, spine.down), *((block.cages, block.breakout) for block in placed.values()))
    ports = TierPorts(total=first, down=down, block=first, room=0, groups=runs, apart=first - down)
    found = (
        one._replace(leaf=one.leaf._replace(block=placed.get(one.entry.name))) if one.leaf else one for one in groups
    )
    return Apart(tuple(found), ports)


def _unclear(intent: Intent, own: _Own, low: TierHardware) -> Iterator[Diagnostic]:
    """Yield a group whose uplinks differ from those of all leaves and that states no reserve."""
    speed_gbps, common = own.leaf.hardware.up.speed_gbps, intent.topology.links_per_pair or 1
    if own.reserve is not None or (own.pair, speed_gbps) == (common, low.up.speed_gbps):
        return
    yield error(
        "RW214",
        f"a leaf of {own.name} has {_links(own.pair, speed_gbps)} to a spine and one of topology.leaf"
        f" {_links(common, low.up.speed_gbps)}: spines keep ports apart for it, and nothing says for how many leaves",
        intent.where(f"{own.group.path}.leaf"),
        fix=f"state {own.path}: the leaves of {own.name} in one plane that spines are to have ports for",
    )


def _links(pair: int, speed_gbps: int) -> str:
    return f"{counted(pair, 'link')} of {format_speed(speed_gbps)}"


def _without_place(intent: Intent, leaves: Leaves, pods: Pods, apart: Sequence[_Own]) -> Iterator[Diagnostic]:
    """Yield why spines can keep no ports apart: how many links meet them is not fixed, or there are pods."""
    for own in apart:
        where, message = intent.where(own.path), f"spines keep ports apart for the leaves of {own.name}"
        if pods.size:
            yield error(
                "RW214",
                f"{message}, and spines that have, or reserve, uplinks to super-spines have downlinks of one speed",
                where,
                fix="use tiers: 2 without reserve.pods, or uplinks like those of topology.leaf for these nodes",
            )
        if leaves.uplinks is not None:
            yield error(
                "RW214",
                f"{message}; with links_per_pair: auto the ports that a leaf has there depend on the number of spines",
                where,
                fix="state topology.links_per_pair",
            )


def _beyond_reserve(intent: Intent, own: _Own, leaves: Leaves) -> Iterator[Diagnostic]:
    group, reserve = own.group, own.reserve or 0
    last = max(stripe for stripe in leaves.stripes if owner(leaves.groups, stripe) is group)
    today = (last + 1 - group.first_stripe) * leaves.per_stripe
    if today > reserve:
        yield error(
            "G-1",
            f"the reserve of {reserve} leaves of {own.name} is smaller than the fabric of today, which needs {today}",
            intent.where(own.path),
            fix=f"reserve at least {today}; in an existing fabric, cables move as the block of ports grows",
        )


def _too_many_cages(intent: Intent, spine: TierHardware, blocks: Mapping[str, SpineBlock], last: _Own) -> Diagnostic:
    taken = sum(block.cages for block in blocks.values())
    each = ", ".join(
        f"{counted(block.cages, 'cage')} for {block.leaves} of {name!r} with"
        f" {_links(block.pair, block.breakout.speed_gbps)} each"
        for name, block in blocks.items()
    )
    return error(
        "T-3",
        f"spines keep {taken} of their {counted(spine.cages, 'cage')} apart for the leaves of some nodes ({each}),"
        " which leaves none for the others",
        intent.where(last.path),
        fix="reserve fewer of these leaves, use fewer links_per_pair, or spines with more cages",
    )
