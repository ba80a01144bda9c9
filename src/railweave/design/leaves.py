"""The leaves: the split of their ports, and the stripes that have some. They are counted from the nodes."""

from collections.abc import Sequence
from itertools import count as numbers
from itertools import islice
from math import gcd
from typing import NamedTuple

from railweave.design.hardware import TierHardware
from railweave.design.layout import NodeGroup, TierLayout, owner
from railweave.design.leaf_class import LeafClass, NodePorts
from railweave.design.nodes import place_groups, rail_count, stripe_leaves, with_fewer_rails
from railweave.design.ratios import asked_ratio, ratio_text
from railweave.design.sharing import parts_of_first, ports_needed, sharers_of, with_speeds
from railweave.design.split import Split, TierPorts, automatic_split, downlink_room, place_ports, whole_cages
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent
from railweave.units import format_speed
from railweave.wording import counted

Faults = tuple[Diagnostic, ...]


class Leaves(NamedTuple):
    """The leaves of a plane."""

    classes: tuple[LeafClass, ...]
    # The uplinks of the first class by its automatic split, all of them connected; None if `links_per_pair` is stated.
    uplinks: int | None
    groups: tuple[NodeGroup, ...]
    # The indexes of the stripes that have leaves, ascending.
    stripes: tuple[int, ...]
    rails: int
    # Leaves of a stripe.
    per_stripe: int
    # The automatic split of the first class by all its ports, whatever the stripe.
    panel: Split

    @property
    def places(self) -> tuple[int, ...]:
        """Return the indexes of the leaves within a plane."""
        return tuple(stripe * self.per_stripe + leaf for stripe in self.stripes for leaf in range(self.per_stripe))

    @property
    def indexes(self) -> int:
        """Return the highest index + 1 of the leaves of classes without spine ports of their own; 0 if there are
        none."""
        for stripe in reversed(self.stripes):
            if self.leaf_class(stripe).reserve is None:
                return (stripe + 1) * self.per_stripe
        return 0

    def reserve(self, stated: int | None) -> int | None:
        """Return the number of leaf indexes to reserve if the intent states one, else None.

        It is not less than today's: entries of nodes with an automatic first stripe begin behind the stated reserve.
        """
        if stated is None or all(group.entry.first_stripe is not None for group in self.groups[1:]):
            return stated
        return max(stated, (self.stripes[-1] + 1) * self.per_stripe)

    @property
    def shared_uplinks(self) -> int:
        """Return what the number of spines has to divide if all uplinks are connected."""
        return gcd(*(leaf.uplinks for leaf in self.classes))

    def leaf_class(self, stripe: int) -> LeafClass:
        """Return the class of the leaves of a stripe."""
        return self.classes[owner(self.groups, stripe).leaf]

    def first_stripe(self, leaf: LeafClass) -> int:
        """Return the first stripe of the entry of nodes that has a class of its own."""
        return next(group.first_stripe for group in self.groups if group.entry.name == leaf.name)


def count_leaves(
    intent: Intent, node_ports: Sequence[NodePorts], classes: Sequence[LeafClass]
) -> tuple[Leaves | None, Faults]:
    """Return the leaves that the nodes need, or None and the errors."""
    panel = _automatic_split(intent, classes[0].hardware)
    with_ports = _with_ports(intent, node_ports, classes, panel)
    if with_ports[0].down == 0:
        return None, (_no_split(intent, classes[0].hardware),)
    groups, diagnostics = place_groups(intent, node_ports, with_ports)
    if diagnostics:
        return None, diagnostics
    per_stripe = stripe_leaves(intent)
    stripes, diagnostics = _place_leaves(intent, groups, per_stripe)
    if diagnostics:
        return None, diagnostics
    uplinks = None
    if intent.topology.links_per_pair is None:
        uplinks = with_ports[0].uplinks
    return Leaves(
        classes=with_ports,
        uplinks=uplinks,
        groups=groups,
        stripes=stripes,
        rails=rail_count(intent),
        per_stripe=per_stripe,
        panel=panel,
    ), ()


def _automatic_split(intent: Intent, hardware: TierHardware) -> Split:
    """Return the split of a leaf at the ratio that is asked for, one without any ports if there is none."""
    return automatic_split(hardware.cages, hardware.down, hardware.up, asked_ratio(intent)) or Split(0, 0)


def _ports_per_leaf(node_ports: Sequence[NodePorts], classes: Sequence[LeafClass]) -> list[int]:
    """Return the most ports that a node has on one leaf of each class."""
    per_leaf = [0] * len(classes)
    for ports in node_ports:
        per_leaf[ports.leaf] = max(per_leaf[ports.leaf], ports.per_leaf)
    return per_leaf


def _with_ports(
    intent: Intent, node_ports: Sequence[NodePorts], classes: Sequence[LeafClass], panel: Split
) -> tuple[LeafClass, ...]:
    """Return the classes with their ports for nodes and their automatic uplinks.

    ``panel`` is the automatic split of the first class by all its ports.
    """
    topology = intent.topology
    first = classes[0]._replace(down=panel.down, uplinks=panel.up)
    # With stated links of a pair the uplinks follow from the number of spines.
    if topology.links_per_pair is not None and topology.stripe is not None:
        return _with_ports_of_stripe(node_ports, classes, topology.stripe)
    per_leaf = _ports_per_leaf(node_ports, classes)
    if not intent.stripe_caps_split:
        return first, *_split_like(intent, first, classes[1:], per_leaf[1:], panel)
    needed = _with_ports_of_stripe(node_ports, classes, topology.stripe or 0)
    # The uplinks serve the class whose stripe has most bandwidth, but no more than all ports of the first have.
    most_gbps = min(max(leaf.down_gbps for leaf in needed), first.down_gbps)
    uplinks = min(panel.up, first.least_uplinks(most_gbps, asked_ratio(intent)))
    first = first._replace(down=most_gbps // first.hardware.down.speed_gbps, uplinks=uplinks)
    split = [first, *_split_like(intent, first, classes[1:], per_leaf[1:], panel)]
    capped = zip(split, needed, strict=True)
    return tuple(leaf._replace(down=min(leaf.down, stripe_leaf.down)) for leaf, stripe_leaf in capped)


def _with_ports_of_stripe(
    node_ports: Sequence[NodePorts], classes: Sequence[LeafClass], stripe: int
) -> tuple[LeafClass, ...]:
    """Return the classes with the ports that the nodes of a stripe need.

    ``stripe`` is the number of nodes in a stripe for entries that state none of their own.
    """
    downlinks = [0] * len(classes)
    for ports in node_ports:
        if not ports.entry.share_leaves:
            needed = (ports.entry.stripe or stripe) * ports.per_leaf
            downlinks[ports.leaf] = max(downlinks[ports.leaf], needed)
    sharers = sharers_of(node_ports, classes[0])
    if sharers:
        needed = ports_needed(sharers, sharers[0].entry.stripe or stripe, classes[0])
        downlinks[0] = max(downlinks[0], needed)
    return tuple(leaf._replace(down=down) for leaf, down in zip(classes, downlinks, strict=True))


def _split_like(
    intent: Intent, first: LeafClass, others: Sequence[LeafClass], per_leaf: Sequence[int], panel: Split
) -> list[LeafClass]:
    """Return the other classes with their ports, split like ``first`` where they can be.

    ``per_leaf`` are the ports of a node on one leaf of each class. A leaf has as many addresses as ``panel`` has ports.
    """
    addresses = panel.down + panel.up
    return [
        _split_beside(intent, leaf, node_ports, first, addresses)
        for leaf, node_ports in zip(others, per_leaf, strict=True)
    ]


def _split_beside(intent: Intent, leaf: LeafClass, node_ports: int, first: LeafClass, addresses: int) -> LeafClass:
    """Return a class after the first with its ports for nodes and its uplinks.

    It has the uplinks of the first class, and ports for nodes with at most the same bandwidth, up to ``addresses``.
    Leaves with spine ports of their own are split by themselves. So are leaves whose remaining ports are too few for
    the ``node_ports`` of one node, if they then need fewer uplinks.
    """
    hardware = leaf.hardware
    own_split = _automatic_split(intent, hardware)
    own_down = min(own_split.down, addresses)
    if leaf.reserve is not None:
        return leaf._replace(down=own_down)
    room = downlink_room(hardware.cages, hardware.down, hardware.up, first.uplinks)
    down = min(first.down_gbps // hardware.down.speed_gbps, room, addresses)
    if down < node_ports and own_split.up < first.uplinks:
        return leaf._replace(down=own_down, uplinks=own_split.up)
    return leaf._replace(down=down, uplinks=first.uplinks)


def place_classes(intent: Intent, leaves: Leaves, lowest: TierLayout) -> tuple[tuple[LeafClass, ...], Faults]:
    """Return the leaf classes with their uplinks and port places, and an error for each class that does not fit.

    ``lowest`` has the leaves of the first class.
    """
    first, *others = leaves.classes
    ports_of_first = with_speeds(lowest.ports, parts_of_first(leaves.groups))
    classes = [first._replace(ports=ports_of_first, uplinks=lowest.uplinks, pair=lowest.links_per_pair)]
    faults: list[Diagnostic] = []
    for leaf in others:
        placed = _placed_beside(intent, leaf, leaves, lowest)
        if isinstance(placed, Diagnostic):
            faults.append(placed)
        else:
            classes.append(placed)
    return tuple(classes), tuple(faults)


def _placed_beside(intent: Intent, leaf: LeafClass, leaves: Leaves, lowest: TierLayout) -> LeafClass | Diagnostic:
    """Return a class after the first with its uplinks and the places of its ports, or why they do not fit."""
    hardware = leaf.hardware
    pair = _links_per_pair_beside(leaf, lowest)
    spines = lowest.uplinks // lowest.links_per_pair
    uplinks = spines * pair
    # With stated links of a pair, those of each pair begin with a cage, else those of the whole leaf.
    neighboring_uplinks = uplinks
    if lowest.fixed_pair:
        neighboring_uplinks = pair
    uplink_multiple = whole_cages(intent.topology.wiring, hardware.up, neighboring_uplinks)
    reserved_uplinks = None
    if lowest.fixed_pair and intent.topology.reserve.spines is not None:
        reserved_spines = lowest.ports.room // lowest.links_per_pair
        reserved_uplinks = reserved_spines * pair
    ports = place_ports(hardware.cages, hardware.down, hardware.up, leaf.down, reserved_uplinks, uplink_multiple)
    if ports is None or ports.room < uplinks:
        return _leaf_full(intent, leaf, reserved_uplinks or uplinks)
    if leaf.block and uplinks > lowest.ports.total:
        return _uplinks_exceed_addresses(intent, leaf, uplinks, lowest)
    if leaf.down > lowest.ports.total:
        return _downlinks_exceed_addresses(intent, leaves, leaf, lowest)
    return leaf._replace(ports=ports, uplinks=uplinks, pair=pair)


def _links_per_pair_beside(leaf: LeafClass, lowest: TierLayout) -> int:
    """Return the links to each spine of a leaf of a class after the first."""
    if not lowest.fixed_pair:
        return leaf.uplinks // (lowest.uplinks // lowest.links_per_pair)
    if leaf.block:
        return leaf.pair
    return lowest.links_per_pair


def _leaf_full(intent: Intent, leaf: LeafClass, uplinks: int) -> Diagnostic:
    """Return the error of a class whose downlinks and ``uplinks`` do not fit into the cages of its leaf."""
    hardware = leaf.hardware
    return error(
        "RW207",
        f"{counted(leaf.down, 'downlink')} of {format_speed(hardware.down.speed_gbps)} and"
        f" {counted(uplinks, 'uplink')} of {format_speed(hardware.up.speed_gbps)} do not fit into the"
        f" {counted(hardware.cages, 'cage')} of a leaf of {leaf.name!r}",
        intent.where(leaf.path),
        fix="use a leaf with more ports for these nodes, fewer spines or links_per_pair, or a smaller stripe",
    )


def _downlinks_exceed_addresses(intent: Intent, leaves: Leaves, leaf: LeafClass, lowest: TierLayout) -> Diagnostic:
    """Return the error of a class with more downlinks than a leaf has addresses for."""
    per_leaf = next(group.ports_per_leaf for group in leaves.groups if group.entry.name == leaf.name)
    return error(
        "RW213",
        f"a leaf of {leaf.name!r} has {counted(leaf.down, 'downlink')}; a leaf has addresses for nodes on"
        f" {lowest.ports.total}, the ports of topology.leaf",
        intent.where(leaf.path),
        fix=f"use a stripe of at most {lowest.ports.total // per_leaf} nodes, or a topology.leaf with at least"
        f" {counted(leaf.down, 'port')}",
    )


def _uplinks_exceed_addresses(intent: Intent, leaf: LeafClass, uplinks: int, lowest: TierLayout) -> Diagnostic:
    """Return the error of a class with more uplinks than a leaf has addresses for."""
    return error(
        "RW213",
        f"a leaf of {leaf.name!r} has {counted(uplinks, 'uplink')}; a leaf has addresses for {lowest.ports.total},"
        " the ports of topology.leaf",
        intent.where(leaf.path),
        fix="use fewer links_per_pair of a higher speed, fewer spines, or a topology.leaf with at least"
        f" {counted(uplinks, 'port')}",
    )


def place_leaf_ports(intent: Intent, leaves: Leaves, spines: int | None) -> TierPorts | Diagnostic:
    """Return where a leaf of the first class has its ports, or the error that they do not fit.

    ``spines`` is the number of spines that the reserve states, None if it states none. If the intent states
    ``links_per_pair`` too, the leaf keeps ports for the uplinks to all of these spines.
    """
    first = leaves.classes[0]
    links_per_pair = intent.topology.links_per_pair
    hardware = first.hardware
    reserved_uplinks = None
    if spines is not None and links_per_pair is not None:
        reserved_uplinks = links_per_pair * spines
    uplink_multiple = whole_cages(intent.topology.wiring, hardware.up, leaves.uplinks or first.pair)
    ports = place_ports(hardware.cages, hardware.down, hardware.up, first.down, reserved_uplinks, uplink_multiple)
    if ports is None:
        return _no_room(intent, hardware, first.down, reserved_uplinks)
    return ports


def _no_split(intent: Intent, hardware: TierHardware) -> Diagnostic:
    """Return the error of a leaf whose cages have no split at the ratio that is asked for."""
    return error(
        "RW203",
        f"{counted(hardware.cages, 'cage')} of a leaf cannot be split into downlinks and uplinks at"
        f" {ratio_text(asked_ratio(intent))}",
        intent.where("topology.leaf"),
        fix="use a leaf with more ports or another oversubscription",
    )


def _no_room(intent: Intent, hardware: TierHardware, down: int, reserved_uplinks: int | None) -> Diagnostic:
    """Return the error of ``down`` downlinks that do not fit on a leaf.

    ``reserved_uplinks`` are kept beside them; None if the reserve states no spines.
    """
    ports = hardware.cages * hardware.up.per_cage
    if reserved_uplinks is None:
        return error(
            "RW204",
            f"a stripe needs {counted(down, 'downlink')} of {format_speed(hardware.down.speed_gbps)} on a leaf,"
            f" which has {counted(hardware.cages * hardware.down.per_cage, 'port')} in all",
            intent.where("topology.stripe"),
            fix="use a smaller stripe or a leaf with more ports",
        )
    return error(
        "RW207",
        f"{counted(down, 'downlink')} and {counted(reserved_uplinks, 'reserved uplink')} do not fit on a leaf with"
        f" {counted(ports, 'port')} of {format_speed(hardware.up.speed_gbps)}",
        intent.where("topology.reserve.spines"),
        fix="reserve fewer spines, use fewer links_per_pair or a smaller stripe",
    )


def _place_leaves(
    intent: Intent, groups: tuple[NodeGroup, ...], per_stripe: int
) -> tuple[tuple[int, ...], tuple[Diagnostic, ...]]:
    """Return the indexes of the stripes that have leaves, ascending; none, and an error, if the stated number of leaves
    is wrong.

    If more leaves are stated than the nodes need, the lowest free indexes get stripes without nodes.
    """
    used: set[int] = set()
    for group in groups:
        used.update(range(group.first_stripe, group.end_stripe))
    count = intent.topology.leaf.count
    if count is None:
        return tuple(sorted(used)), ()
    if count % per_stripe:
        possible_stripes = max(len(used), count // per_stripe + 1)
        return (), (_not_whole_stripes(intent, count, possible_stripes * per_stripe, per_stripe),)
    if count < len(used) * per_stripe:
        return (), (_too_few(intent, groups, count, len(used), per_stripe),)
    free_stripes = (stripe for stripe in numbers() if stripe not in used)
    extra = islice(free_stripes, count // per_stripe - len(used))
    return tuple(sorted((*used, *extra))), ()


def _not_whole_stripes(intent: Intent, count: int, possible: int, per_stripe: int) -> Diagnostic:
    """Return the error of a stated number of leaves that is not a multiple of the leaves of a stripe.

    ``possible`` is a number that is.
    """
    per_nic = intent.topology.leaves_per_nic
    if not intent.topology.shape.has_rails:
        rule = f"racks: every rack has {per_nic} leaves"
    elif per_nic > 1:
        rule = f"{per_stripe // per_nic} rails: every stripe has {per_nic} leaves a rail"
    else:
        rule = f"{per_stripe} rails: every stripe has one leaf a rail"
    fix = f"use a multiple of {per_stripe}, such as {possible}"
    if with_fewer_rails(intent) is not None:
        # Automatic rails follow from the number of leaves only if all nodes fit into one stripe.
        fix += f", or state rails: {count}"
    if count == 1:
        fix += "; one switch for all nodes has no spine: leave topology.spine out"
    return error(
        "RW206",
        f"{counted(count, 'leaf')} cannot be shared out over {rule}",
        intent.where("topology.leaf.count"),
        fix=fix,
    )


def _too_few(intent: Intent, groups: tuple[NodeGroup, ...], count: int, stripes: int, per_stripe: int) -> Diagnostic:
    """Return the error of a stated number of leaves that is too small for the nodes.

    The nodes need ``stripes`` stripes of ``per_stripe`` leaves.
    """
    nodes = sum(group.entry.count for group in groups)
    needed = stripes * per_stripe
    if len(groups) > 1:
        return error(
            "T-1",
            f"{nodes} nodes in {stripes} stripes need {needed} leaves; {counted(count, 'leaf')} cannot hold them",
            intent.where("topology.leaf.count"),
            fix=f"use {needed} leaves, or leave the count to auto",
        )
    (group,) = groups
    room = count // per_stripe * group.stripe_nodes
    return error(
        "T-1",
        f"{nodes} nodes need {needed} leaves: {counted(count, 'leaf')} have ports for {room}"
        f" nodes, {group.stripe_nodes} in a stripe of {counted(per_stripe, 'leaf')}",
        intent.where("topology.leaf.count"),
        fix=f"use {needed} leaves, or at most {room} nodes",
    )
