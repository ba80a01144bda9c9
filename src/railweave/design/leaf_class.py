"""Leaf classes: the kinds of leaf of a fabric, each with its switch model, speeds, port split and uplinks.

``topology.leaf`` is the first class. An entry of nodes with a ``leaf`` of its own adds a class for its stripes. All
leaves of a stripe are of one class, and every entry of nodes attaches to leaves of one class.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.design.hardware import TierHardware, breakout_of, hardware_of, model_of
from railweave.design.split import NO_PORTS, Breakout, TierPorts, split_step
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent, NodeLeaf, Nodes


class SpineBlock(NamedTuple):
    """Cages that every spine keeps for the leaves of a class.

    A leaf's ports follow from its index within the class, so neither leaves of other classes nor growth move them.
    """

    cages: int
    breakout: Breakout
    # The first of their logical ports.
    first: int
    # The index of the first leaf of the class among the leaves that a spine joins.
    base: int
    # How many leaves they have ports for.
    leaves: int

    @property
    def ports(self) -> int:
        """Return the logical ports of its cages."""
        return self.cages * self.breakout.per_cage


class LeafClass(NamedTuple):
    """A kind of leaf."""

    # The entry of nodes that gives it, empty for the first class.
    name: str
    # Its intent path.
    path: str
    hardware: TierHardware
    # The breakout of the spines' cages that its uplinks meet.
    far: Breakout
    # Links to each spine; until spines are counted those of the intent, 1 if automatic.
    pair: int
    # Leaves of one plane that spines keep ports for, as the intent states it; without, they meet the ports for all.
    reserve: int | None = None
    # Ports for nodes, and uplinks that are connected.
    down: int = 0
    uplinks: int = 0
    # Where its ports lie on the panel.
    ports: TierPorts = NO_PORTS
    # The ports of a spine that are kept for it.
    block: SpineBlock | None = None
    # The breakout of the ports of each entry of nodes that shares its leaves with the one that gives it.
    shared: tuple[tuple[str, Breakout], ...] = ()

    def breakout_of(self, entry: str) -> Breakout:
        """Return the breakout of its ports to the nodes of an entry that attaches to it."""
        return dict(self.shared).get(entry, self.hardware.down)

    @property
    def down_gbps(self) -> int:
        """Return the bandwidth of its ports for nodes."""
        return self.down * self.hardware.down.speed_gbps

    @property
    def up_gbps(self) -> int:
        """Return the bandwidth of its connected uplinks."""
        return self.uplinks * self.hardware.up.speed_gbps

    def least_uplinks(self, down_gbps: int, ratio: Fraction) -> int:
        """Return the fewest automatic uplinks for ``down_gbps`` of downlinks at an oversubscription of at most
        ``ratio``."""
        # At least two: a leaf reaches two spines.
        needed = max(2, ceil(down_gbps / (ratio * self.hardware.up.speed_gbps)))
        step = split_step(self.hardware.cages * self.hardware.up.per_cage)
        return ceil(needed / step) * step

    @property
    def pair_gbps(self) -> int:
        """Return its bandwidth to one spine."""
        return self.pair * self.hardware.up.speed_gbps

    def has_uplinks_of(self, other: "LeafClass") -> bool:
        """Tell whether its leaves use the same ports of spines as leaves of another class."""
        return self.block == other.block and self.uplinks == other.uplinks

    @property
    def ratio(self) -> Fraction:
        """Return its oversubscription, 0 without uplinks."""
        if not self.uplinks:
            return Fraction(0)
        return Fraction(self.down_gbps, self.up_gbps)


class NodePorts(NamedTuple):
    """The ports of one node of an entry."""

    entry: Nodes
    # The intent path of the entry.
    path: str
    # In one plane.
    per_plane: int
    # On one leaf.
    per_leaf: int
    # The index of the leaf class.
    leaf: int


def has_own_class(intent: Intent, index: int) -> bool:
    """Tell whether an entry of nodes has leaves of a class of its own.

    It does if it states a ``leaf``. So does a later entry that shares no leaves, if the leaves of the first entry have
    cages for sharers of another speed.
    """
    first = intent.nodes[0]
    entry = intent.nodes[index]
    if entry.leaf is not None:
        return True
    if index == 0 or entry.share_leaves:
        return False
    return any(sharer.share_leaves and sharer.nics.speed_gbps != first.nics.speed_gbps for sharer in intent.nodes)


def choose_leaf_classes(
    intent: Intent, hardware: Sequence[TierHardware], catalog: Catalog
) -> tuple[tuple[LeafClass, ...] | None, tuple[Diagnostic, ...]]:
    """Return the leaf classes, that of topology.leaf first, or None and all errors.

    ``hardware`` is that of all tiers. The classes are also None, with no error, if the catalog does not have a model,
    which check_intent reports.
    """
    pair = intent.topology.links_per_pair or 1
    shared, shared_diagnostics = _shared_breakouts(intent, catalog)
    diagnostics = list(shared_diagnostics)
    first = LeafClass(
        name="", path="topology.leaf", hardware=hardware[0], far=hardware[1].down, pair=pair, shared=shared
    )
    classes = [first]
    for index, entry in enumerate(intent.nodes):
        if not has_own_class(intent, index):
            continue
        if index == 0:
            diagnostics.append(_first_entry_has_leaf(intent))
            continue
        leaf = _leaf_class(intent, entry, f"nodes[{index}].leaf", hardware[0], catalog)
        if leaf is None:
            return None, tuple(diagnostics)
        if isinstance(leaf, LeafClass):
            classes.append(leaf)
        else:
            diagnostics += leaf
    if diagnostics:
        return None, tuple(diagnostics)
    return tuple(classes), ()


def _leaf_class(
    intent: Intent, entry: Nodes, path: str, first: TierHardware, catalog: Catalog
) -> LeafClass | tuple[Diagnostic, ...] | None:
    """Return the leaf class of an entry of nodes, or its errors; None if the catalog does not have a model.

    ``path`` is the intent path of the class, and ``first`` is the hardware of the first class.
    """
    keys = entry.leaf or NodeLeaf()
    topology = intent.topology
    spine = model_of(topology.spine, catalog)
    model = model_of(topology.leaf, catalog)
    if keys.model:
        model = catalog.find_switch(keys.model)
    if model is None or spine is None:
        return None
    down_gbps = keys.downlink_gbps or entry.nics.speed_gbps
    down, down_errors = breakout_of(intent, model, down_gbps, _down_path(keys, path))
    up_path = f"{path}.model"
    if keys.uplink_gbps:
        up_path = f"{path}.uplink_speed"
    up_gbps = keys.uplink_gbps or first.up.speed_gbps
    up, up_errors = breakout_of(intent, model, up_gbps, up_path)
    far, far_errors = breakout_of(intent, spine, up_gbps, up_path, "spines meet these uplinks: ")
    if not down or not up or not far:
        return *down_errors, *up_errors, *far_errors
    pair = keys.links_per_pair or topology.links_per_pair or 1
    return LeafClass(
        name=entry.name,
        path=path,
        hardware=hardware_of(first.name, model, down, up),
        far=far,
        pair=pair,
        reserve=keys.reserve,
    )


def _down_path(keys: NodeLeaf, path: str) -> str:
    """Return the intent path of the key that decides on the speed of ports for nodes: one below ``path``, or itself."""
    if keys.downlink_gbps:
        return f"{path}.downlink_speed"
    if keys.model:
        return f"{path}.model"
    return path


def _shared_breakouts(
    intent: Intent, catalog: Catalog
) -> tuple[tuple[tuple[str, Breakout], ...], Sequence[Diagnostic]]:
    """Return (name, breakout of its ports) of each entry that shares the leaves of the first, and the errors of entries
    that cannot share them."""
    model = model_of(intent.topology.leaf, catalog)
    breakouts: list[tuple[str, Breakout]] = []
    diagnostics: list[Diagnostic] = []
    for index, entry in enumerate(intent.nodes):
        if not entry.share_leaves or model is None:
            continue
        path = f"nodes[{index}]"
        if index == 0 or entry.leaf is not None:
            diagnostics.append(_nothing_to_share(intent, index))
            continue
        breakout, missing = breakout_of(intent, model, entry.nics.speed_gbps, f"{path}.nics.speed")
        diagnostics += missing
        if breakout is not None:
            breakouts.append((entry.name, breakout))
    return tuple(breakouts), diagnostics


def _nothing_to_share(intent: Intent, index: int) -> Diagnostic:
    where = intent.where(f"nodes[{index}].share_leaves")
    if index == 0:
        message = "the first entry of nodes has the leaves that others share"
        return error("RW213", message, where, fix="leave share_leaves out, or list the other entry first")
    message = f"nodes {intent.nodes[index].name!r} share the leaves of the first entry, and `leaf` gives them others"
    return error("RW213", message, where, fix="leave out share_leaves or leaf")


def _first_entry_has_leaf(intent: Intent) -> Diagnostic:
    return error(
        "RW213",
        "the leaves of the first entry of nodes are those of topology.leaf",
        intent.where("nodes[0].leaf"),
        fix="write its model and downlink_speed under topology.leaf",
    )
