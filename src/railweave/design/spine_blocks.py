"""Spine blocks: the cages that every spine keeps for the leaves of a class whose uplinks are others than the first's.

The ports for all other leaves begin at the front of the panel. The blocks lie at its end, that of the lowest stripes
outermost, so that leaves of a later generation get theirs before it and move no cable. In a block a leaf has the ports
of its place among the leaves of its class, and ``reserve`` says for how many there is room: growth up to it moves
nothing either.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.leaf_class import LeafClass, SpineBlock
from railweave.design.leaves import Faults, Leaves
from railweave.design.pods import Pods
from railweave.design.split import TierPorts
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent
from railweave.units import format_speed
from railweave.wording import counted


class SpineBlocks(NamedTuple):
    """The leaf classes with the blocks of a spine that are kept for them, and the ports of a spine."""

    classes: tuple[LeafClass, ...]
    ports: TierPorts


def keep_blocks(
    intent: Intent, leaves: Leaves, pods: Pods, hardware: Sequence[TierHardware]
) -> tuple[SpineBlocks | None, Faults]:
    """Return the ports of a spine with a block for each class that states a reserve of its leaves, or every reason why
    there is none."""
    first, *others = leaves.classes
    unclear: list[Diagnostic] = []
    for leaf in others:
        unclear += _unclear(intent, leaf, first)
    # Blocks in the order of their stripes: the last one is the first from the front of the panel.
    with_reserve = sorted((leaf for leaf in others if leaf.reserve is not None), key=leaves.first_stripe)
    if not with_reserve and not unclear:
        return SpineBlocks(leaves.classes, pods.ports), ()
    unclear += _without_place(intent, leaves, pods, with_reserve[:1])
    if unclear:
        return None, tuple(unclear)
    return _with_blocks(intent, leaves, pods, with_reserve, hardware[1])


def _with_blocks(
    intent: Intent, leaves: Leaves, pods: Pods, with_reserve: Sequence[LeafClass], spine: TierHardware
) -> tuple[SpineBlocks | None, Faults]:
    """Return the ports of a spine with the blocks of classes, or why these are too small or too large."""
    faults: list[Diagnostic] = []
    blocks = {}
    for leaf in with_reserve:
        blocks[leaf.name] = _block(leaf, leaves, pods)
        faults += _beyond_reserve(intent, leaf, leaves)
    if sum(block.cages for block in blocks.values()) >= spine.cages:
        faults.append(_too_many_cages(intent, spine, with_reserve, blocks))
    if faults:
        return None, tuple(faults)
    return _placed(leaves.classes, blocks, spine), ()


def _block(leaf: LeafClass, leaves: Leaves, pods: Pods) -> SpineBlock:
    """Return the block of a class, which has no place on the panel yet: for whole stripes."""
    each = leaves.per_stripe
    room = -(-(leaf.reserve or 0) // each) * each // pods.rails
    cages = -(-room * leaf.pair // leaf.far.per_cage)
    return SpineBlock(cages, leaf.far, 0, leaves.first_stripe(leaf) * each // pods.rails, room)


def _placed(classes: Sequence[LeafClass], blocks: Mapping[str, SpineBlock], spine: TierHardware) -> SpineBlocks:
    """Return the blocks at the end of the panel; ``blocks`` are in the order of their stripes, the last in front."""
    sharing = spine.cages - sum(block.cages for block in blocks.values())
    down = sharing * spine.down.per_cage
    first = down
    placed = {}
    for name in reversed(tuple(blocks)):
        placed[name] = blocks[name]._replace(first=first)
        first += placed[name].ports
    runs = ((sharing, spine.down), *((block.cages, block.breakout) for block in placed.values()))
    ports = TierPorts(total=first, down=down, block=first, room=0, groups=runs, blocks=first - down)
    return SpineBlocks(tuple(leaf._replace(block=placed.get(leaf.name)) for leaf in classes), ports)


def _unclear(intent: Intent, leaf: LeafClass, first: LeafClass) -> Iterator[Diagnostic]:
    """Yield a class whose uplinks differ from those of the first and that states no reserve."""
    uplink = leaf.hardware.up.speed_gbps
    uplink_of_first = first.hardware.up.speed_gbps
    if leaf.reserve is not None or (leaf.pair, uplink) == (first.pair, uplink_of_first):
        return
    yield error(
        "RW214",
        f"a leaf of {leaf.name!r} has {_links(leaf.pair, uplink)} to a spine and one of topology.leaf"
        f" {_links(first.pair, uplink_of_first)}: spines keep ports apart for it, and nothing says for how many leaves",
        intent.where(leaf.path),
        fix=f"state {leaf.path}.reserve: the leaves of {leaf.name!r} in one plane that spines are to have ports for",
    )


def _links(pair: int, speed_gbps: int) -> str:
    return f"{counted(pair, 'link')} of {format_speed(speed_gbps)}"


def _without_place(intent: Intent, leaves: Leaves, pods: Pods, classes: Sequence[LeafClass]) -> Iterator[Diagnostic]:
    """Yield why spines can keep no blocks: how many links meet them is not fixed, or there are pods."""
    for leaf in classes:
        where = intent.where(f"{leaf.path}.reserve")
        message = f"spines keep ports apart for the leaves of {leaf.name!r}"
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


def _beyond_reserve(intent: Intent, leaf: LeafClass, leaves: Leaves) -> Iterator[Diagnostic]:
    reserve = leaf.reserve or 0
    last = max(stripe for stripe in leaves.stripes if leaves.leaf_class(stripe) is leaf)
    today = (last + 1 - leaves.first_stripe(leaf)) * leaves.per_stripe
    if today > reserve:
        yield error(
            "G-1",
            f"the reserve of {reserve} leaves of {leaf.name!r} is smaller than the fabric of today, which needs"
            f" {today}",
            intent.where(f"{leaf.path}.reserve"),
            fix=f"reserve at least {today}; in an existing fabric, cables move as the block of ports grows",
        )


def _too_many_cages(
    intent: Intent, spine: TierHardware, classes: Sequence[LeafClass], blocks: Mapping[str, SpineBlock]
) -> Diagnostic:
    taken = sum(block.cages for block in blocks.values())
    each = ", ".join(
        f"{counted(blocks[leaf.name].cages, 'cage')} for {blocks[leaf.name].leaves} of {leaf.name!r} with"
        f" {_links(leaf.pair, leaf.far.speed_gbps)} each"
        for leaf in classes
    )
    return error(
        "T-3",
        f"spines keep {taken} of their {counted(spine.cages, 'cage')} apart for the leaves of some nodes ({each}),"
        " which leaves none for the others",
        intent.where(f"{classes[-1].path}.reserve"),
        fix="reserve fewer of these leaves, use fewer links_per_pair, or spines with more cages",
    )
