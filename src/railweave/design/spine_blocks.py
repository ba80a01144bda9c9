"""Spine blocks: the cages that every spine keeps for the leaves of a class with other uplinks than the first class.

The ports for all other leaves begin at the front of the panel. The blocks are at its end, that of the lowest stripes
last, so leaves of a later generation get a block in front of the others and no cable moves. In a block a leaf has the
ports of its index among the leaves of its class, and ``reserve`` says for how many leaves there is room: growth up to
it moves no cable either.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
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
    """Return the ports of a spine with a block for each class that states a reserve of its leaves, or None and all
    errors."""
    first, *others = leaves.classes
    faults: list[Diagnostic] = []
    for leaf in others:
        faults += _missing_reserve(intent, leaf, first)
    # Blocks are placed in the order of the stripes.
    with_reserve = sorted((leaf for leaf in others if leaf.reserve is not None), key=leaves.first_stripe)
    if not with_reserve and not faults:
        return SpineBlocks(leaves.classes, pods.ports), ()
    # What prevents one block prevents all: it is reported once.
    faults += _blocks_not_possible(intent, leaves, pods, with_reserve[:1])
    if faults:
        return None, tuple(faults)
    return _with_blocks(intent, leaves, pods, with_reserve, hardware[1])


def _with_blocks(
    intent: Intent, leaves: Leaves, pods: Pods, with_reserve: Sequence[LeafClass], spine: TierHardware
) -> tuple[SpineBlocks | None, Faults]:
    """Return the ports of a spine with the blocks of classes, or None and why blocks are too small or too large.

    ``with_reserve`` are the classes that get a block, in the order of their stripes.
    """
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
    """Return the block of a class for whole stripes of its reserve. It has no place on the panel yet."""
    per_stripe = leaves.per_stripe
    stripes = ceil((leaf.reserve or 0) / per_stripe)
    # A spine of a rail-only fabric joins the leaves of one rail.
    room = stripes * per_stripe // pods.rails
    base = leaves.first_stripe(leaf) * per_stripe // pods.rails
    cages = ceil(room * leaf.pair / leaf.far.per_cage)
    return SpineBlock(cages=cages, breakout=leaf.far, first=0, base=base, leaves=room)


def _placed(classes: Sequence[LeafClass], blocks: Mapping[str, SpineBlock], spine: TierHardware) -> SpineBlocks:
    """Return the classes with their blocks at the end of the panel.

    ``blocks`` are in the order of their stripes; the last one is in front.
    """
    common_cages = spine.cages - sum(block.cages for block in blocks.values())
    down = common_cages * spine.down.per_cage
    groups = [(common_cages, spine.down)]
    placed = {}
    next_port = down
    for name, block in reversed(tuple(blocks.items())):
        placed[name] = block._replace(first=next_port)
        groups.append((block.cages, block.breakout))
        next_port += block.ports
    ports = TierPorts(
        total=next_port, down=down, block=next_port, room=0, groups=tuple(groups), blocks=next_port - down
    )
    return SpineBlocks(tuple(leaf._replace(block=placed.get(leaf.name)) for leaf in classes), ports)


def _missing_reserve(intent: Intent, leaf: LeafClass, first: LeafClass) -> Iterator[Diagnostic]:
    """Yield an error if the uplinks of a class differ from those of the first and it states no reserve."""
    speed_gbps = leaf.hardware.up.speed_gbps
    first_speed_gbps = first.hardware.up.speed_gbps
    has_uplinks_of_first = leaf.pair == first.pair and speed_gbps == first_speed_gbps
    if leaf.reserve is not None or has_uplinks_of_first:
        return
    yield error(
        "RW214",
        f"a leaf of {leaf.name!r} has {_links_text(leaf.pair, speed_gbps)} to a spine and one of topology.leaf"
        f" {_links_text(first.pair, first_speed_gbps)}: spines keep ports apart for it, and nothing says for how many"
        " leaves",
        intent.where(leaf.path),
        fix=f"state {leaf.path}.reserve: the leaves of {leaf.name!r} in one plane that spines are to have ports for",
    )


def _links_text(pair: int, speed_gbps: int) -> str:
    return f"{counted(pair, 'link')} of {format_speed(speed_gbps)}"


def _blocks_not_possible(
    intent: Intent, leaves: Leaves, pods: Pods, classes: Sequence[LeafClass]
) -> Iterator[Diagnostic]:
    """Yield why spines cannot keep blocks: there are pods, or the links of a leaf to a spine are automatic."""
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
    """Yield an error if a class has more leaves today than its reserve."""
    reserve = leaf.reserve or 0
    last_stripe = max(stripe for stripe in leaves.stripes if leaves.leaf_class(stripe) is leaf)
    needed = (last_stripe + 1 - leaves.first_stripe(leaf)) * leaves.per_stripe
    if needed > reserve:
        yield error(
            "G-1",
            f"the reserve of {reserve} leaves of {leaf.name!r} is smaller than the fabric of today, which needs"
            f" {needed}",
            intent.where(f"{leaf.path}.reserve"),
            fix=f"reserve at least {needed}; in an existing fabric, cables move as the block of ports grows",
        )


def _too_many_cages(
    intent: Intent, spine: TierHardware, classes: Sequence[LeafClass], blocks: Mapping[str, SpineBlock]
) -> Diagnostic:
    """Return the error of blocks that leave no cage of a spine for the other leaves."""
    taken = 0
    blocks_text = []
    for leaf in classes:
        block = blocks[leaf.name]
        taken += block.cages
        blocks_text.append(
            f"{counted(block.cages, 'cage')} for {block.leaves} of {leaf.name!r} with"
            f" {_links_text(leaf.pair, leaf.far.speed_gbps)} each"
        )
    return error(
        "T-3",
        f"spines keep {taken} of their {counted(spine.cages, 'cage')} apart for the leaves of some nodes"
        f" ({', '.join(blocks_text)}), which leaves none for the others",
        intent.where(f"{classes[-1].path}.reserve"),
        fix="reserve fewer of these leaves, use fewer links_per_pair, or spines with more cages",
    )
