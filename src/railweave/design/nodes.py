"""GPU nodes: how their ports are distributed over planes, rails and leaves, and which stripes they are in."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import ceil
from typing import NamedTuple

from railweave.design.layout import Layout, NodeGroup
from railweave.design.leaf_class import LeafClass, NodePorts, has_own_class
from railweave.design.sharing import Attached, Sharer, attach, sharers_of
from railweave.diagnostics import Diagnostic, error
from railweave.fabric.devices import RAIL, HostPort
from railweave.intent.model import Intent, Nodes, Shape
from railweave.units import format_speed
from railweave.wording import counted, listed


def rail_count(intent: Intent) -> int:
    """Return the number of rails: as stated, or the NICs of a node."""
    # In a rack-aligned fabric the rail of a port is the number of its NIC.
    if intent.topology.shape is Shape.RACK_ALIGNED:
        return max(entry.nics.count for entry in intent.nodes)
    return intent.topology.rails or intent.nodes[0].nics.count


def with_fewer_rails(intent: Intent) -> Intent | None:
    """Return the intent with one rail for each leaf if it states fewer leaves than a node has NICs, else None.

    The leaves have to divide the NICs of all nodes. Only a rail-optimized fabric with automatic rails has such rails,
    and only if all nodes fit into one stripe, which the caller checks.
    """
    topology = intent.topology
    leaves = topology.leaf.count
    has_automatic_rails = topology.rails is None and topology.shape is Shape.RAIL_OPTIMIZED
    if not has_automatic_rails or topology.leaves_per_nic > 1:
        return None
    # One leaf is a fabric of one switch.
    if leaves is None or leaves == 1 or leaves >= intent.nodes[0].nics.count:
        return None
    if any(entry.nics.count % leaves for entry in intent.nodes):
        return None
    return replace(intent, topology=topology.with_values(rails=leaves))


def stripe_leaves(intent: Intent) -> int:
    """Return the leaves of a stripe in one plane."""
    leaves_per_nic = intent.topology.leaves_per_nic
    if not intent.topology.shape.has_rails:
        return leaves_per_nic
    return rail_count(intent) * leaves_per_nic


def distribute_ports(intent: Intent) -> tuple[NodePorts, ...] | None:
    """Return the ports of each entry's nodes; None if they do not divide evenly, which check_intent reports (RW103)."""
    planes = intent.topology.planes
    leaves_per_nic = intent.topology.leaves_per_nic
    rails = 1
    if intent.topology.shape is not Shape.RACK_ALIGNED:
        rails = rail_count(intent)
    node_leaves = rails * leaves_per_nic
    distributed = []
    last_class = 0
    for index, entry in enumerate(intent.nodes):
        nics = entry.nics
        ports_of_nic = len(nics.own_ports)
        per_plane = nics.count * (ports_of_nic // planes)
        divides_nic = ports_of_nic % (planes * leaves_per_nic) == 0
        # All leaves of a rail have ports of the same NICs.
        divides_nics = leaves_per_nic == 1 or nics.count % rails == 0
        if not divides_nic or not divides_nics or per_plane % node_leaves:
            return None
        leaf_class = 0
        if has_own_class(intent, index):
            last_class += 1
            leaf_class = last_class
        distributed.append(
            NodePorts(
                entry=entry,
                path=f"nodes[{index}]",
                per_plane=per_plane,
                per_leaf=per_plane // node_leaves,
                leaf=leaf_class,
            )
        )
    return tuple(distributed)


def host_ports(
    entry: Nodes, rails: int, planes: int, leaves_per_nic: int = 1, interfaces: str = RAIL
) -> tuple[HostPort, ...]:
    """Return the ports of a node, NIC by NIC, named after ``interfaces``.

    The ports of a NIC take turns over the planes. Ports of one plane go to the rails in runs, so that those of a NIC
    are on one rail if possible; they take turns over the leaves that share the NIC.
    """
    nics = entry.nics
    nic_ports_per_plane = len(nics.own_ports) // planes
    per_rail = max(1, nics.count * nic_ports_per_plane // rails)
    ports = []
    for nic, (position, port) in product(range(nics.count), enumerate(nics.own_ports)):
        name = f"{interfaces}{nic}"
        if len(nics.own_ports) > 1:
            name += f"p{port}"
        pci = _text_at(nics.pci_addresses, nic)
        if pci:
            # The ports of a NIC are the functions of its PCI device.
            pci = f"{pci[:-1]}{port}"
        position_in_plane, plane = divmod(position, planes)
        ports.append(
            HostPort(
                name=name,
                nic=nic,
                port=port,
                rail=(nic * nic_ports_per_plane + position_in_plane) // per_rail,
                plane=plane,
                speed_gbps=nics.speed_gbps,
                pci=pci,
                rdma=_text_at(nics.rdma_devices, nic * nics.ports + port),
                cage=port // nics.ports_of_a_cage,
                leaf=position_in_plane % leaves_per_nic,
            )
        )
    return tuple(ports)


class PortOnLeaf(NamedTuple):
    """A port of every node of a group on one leaf."""

    # Its index on the node.
    number: int
    # Its place among the ports of the node on the leaf.
    offset: int
    rail: int
    nic: int
    cage: int


def ports_by_leaf(group: NodeGroup, layout: Layout) -> dict[tuple[int, int, int], list[PortOnLeaf]]:
    """Return the ports of a node on each leaf, in their order there.

    The key of a leaf is (plane, rail, number of the leaf among those that share a NIC). The rail is 0 in a rack-aligned
    fabric.
    """
    ports_of: defaultdict[tuple[int, int, int], list[PortOnLeaf]] = defaultdict(list)
    for number, port in enumerate(host_ports(group.entry, layout.rails, layout.planes, layout.leaves_per_nic)):
        rail = 0
        if layout.shape.has_rails:
            rail = port.rail
        ports_on_leaf = ports_of[port.plane, rail, port.leaf]
        offset = len(ports_on_leaf)
        ports_on_leaf.append(PortOnLeaf(number, offset, port.rail, port.nic, port.cage))
    return dict(ports_of)


def _text_at(texts: tuple[str, ...], index: int) -> str:
    """Return the text at an index, empty if the list is shorter."""
    # The intent's checks report a list of the wrong length; the design continues for its own diagnostics.
    if index >= len(texts):
        return ""
    return texts[index]


def place_groups(
    intent: Intent, node_ports: Sequence[NodePorts], classes: Sequence[LeafClass]
) -> tuple[tuple[NodeGroup, ...], tuple[Diagnostic, ...]]:
    """Return the entries of nodes with their places in the stripes, and the errors of those that do not fit.

    ``classes`` are the leaf classes with their ports for nodes.
    """
    sharers = sharers_of(node_ports, classes[0])
    shared_places: dict[str, Attached] = {}
    if sharers:
        places = attach(sharers, node_ports[0].entry.stripe or intent.topology.stripe, classes[0])
        if places is None:
            return (), (_sharers_exceed_leaf(intent, node_ports, sharers, classes[0]),)
        shared_places = {sharer.entry.name: place for sharer, place in zip(sharers, places, strict=True)}
    groups: list[NodeGroup] = []
    diagnostics: list[Diagnostic] = []
    for ports in node_ports:
        leaf = classes[ports.leaf]
        # Entries that share leaves fit: attach has checked them together.
        place = shared_places.get(ports.entry.name)
        if place is None:
            place = _place_alone(intent, ports, leaf)
            if place.nodes == 0:
                diagnostics.append(_node_exceeds_leaf(intent, ports, leaf.down))
                continue
            if place.nodes * ports.per_leaf > leaf.down:
                diagnostics.append(_stripe_exceeds_leaf(intent, ports, leaf.down))
                continue
        groups.append(_group(intent, ports, place, groups))
    diagnostics.extend(_overlapping_stripes(intent, groups))
    return tuple(groups), tuple(diagnostics)


def _place_alone(intent: Intent, ports: NodePorts, leaf: LeafClass) -> Attached:
    """Return the place of an entry of nodes on leaves that it shares with no other.

    It has 0 nodes in a stripe if a leaf has too few ports for one.
    """
    nodes = ports.entry.stripe or intent.topology.stripe or leaf.down // ports.per_leaf
    return Attached(nodes=nodes, first_place=0, first_port=0, breakout=leaf.breakout_of(ports.entry.name))


def _group(intent: Intent, ports: NodePorts, place: Attached, before: Sequence[NodeGroup]) -> NodeGroup:
    """Return an entry of nodes with its place in the fabric; ``before`` are the groups of the entries before it."""
    return NodeGroup(
        entry=ports.entry,
        path=ports.path,
        ports_per_plane=ports.per_plane,
        ports_per_leaf=ports.per_leaf,
        stripe_nodes=place.nodes,
        first_stripe=_first_stripe(intent, ports.entry, before),
        stripes=ceil(ports.entry.count / place.nodes),
        leaf=ports.leaf,
        breakout=place.breakout,
        first_port=place.first_port,
        first_place=place.first_place,
    )


def _first_stripe(intent: Intent, entry: Nodes, before: Sequence[NodeGroup]) -> int:
    """Return the first stripe of an entry of nodes; an automatic one leaves the groups ``before`` it room to grow."""
    if entry.first_stripe is not None:
        return entry.first_stripe
    if not before:
        return 0
    if entry.share_leaves:
        return before[0].first_stripe
    step = stripe_step(intent, before[0])
    end_of_groups = max(group.end_stripe for group in before)
    return ceil(end_of_groups / step) * step


def stripe_step(intent: Intent, first: NodeGroup) -> int:
    """Return the step of automatic first stripes: entries of nodes begin at a multiple of it.

    It is the number of stripes in the stated reserve, or else the next power of two above twice the stripes of the
    ``first`` entry.
    """
    reserved = intent.topology.reserve.leaves
    if reserved is None:
        return 1 << (2 * first.stripes).bit_length()
    return max(1, reserved // stripe_leaves(intent))


def _node_exceeds_leaf(intent: Intent, ports: NodePorts, downlinks: int) -> Diagnostic:
    return error(
        "RW203",
        f"a node has {counted(ports.per_leaf, 'port')} on one leaf, which has {downlinks} for nodes",
        intent.where(f"{ports.path}.nics"),
        fix="use a leaf with more ports, more rails or more planes",
    )


def _stripe_exceeds_leaf(intent: Intent, ports: NodePorts, downlinks: int) -> Diagnostic:
    """Return the error of a stated stripe that needs more ports than the ``downlinks`` of a leaf."""
    nodes = ports.entry.stripe or intent.topology.stripe or 0
    path = "topology.stripe"
    if ports.entry.stripe:
        path = f"{ports.path}.stripe"
    return error(
        "RW204",
        f"a stripe of {nodes} nodes with {counted(ports.per_leaf, 'port')} each on a leaf needs"
        f" {nodes * ports.per_leaf} downlinks; a leaf has {downlinks}",
        intent.where(path),
        fix=f"use a stripe of at most {downlinks // ports.per_leaf} nodes, or leave it to auto",
    )


def _sharers_exceed_leaf(
    intent: Intent, node_ports: Sequence[NodePorts], sharers: Sequence[Sharer], leaf: LeafClass
) -> Diagnostic:
    """Return the error of entries that do not fit on one leaf together.

    Its fix names the largest stripe of the first entry with which they fit, if there is one.
    """
    names = listed([repr(sharer.entry.name) for sharer in sharers])
    path = next(ports.path for ports in node_ports if ports.entry.share_leaves)
    fix = "use a leaf with more ports, a smaller nodes[].stripe, or leaves of their own for some of these nodes"
    places = attach(sharers, None, leaf)
    if places is not None:
        fix = f"use a stripe of at most {places[0].nodes} nodes {sharers[0].entry.name!r}, or leave it to auto"
    return error(
        "RW204",
        f"nodes {names} do not fit on one leaf, which has {counted(leaf.down, 'port')} of"
        f" {format_speed(leaf.hardware.down.speed_gbps)} for nodes",
        intent.where(f"{path}.share_leaves"),
        fix=fix,
    )


def _overlapping_stripes(intent: Intent, groups: list[NodeGroup]) -> list[Diagnostic]:
    """Return an error for each group that begins in a stripe of another one without sharing its leaves."""
    owners = [group for group in groups if not group.entry.share_leaves]
    owners.sort(key=lambda group: group.first_stripe)
    pairs = list(pairwise(owners))
    for sharer in groups:
        if sharer.entry.share_leaves:
            # Sharers have the leaves of the first entry, not those of the others in later stripes.
            pairs += [(sharer, owner) for owner in owners[1:] if owner.end_stripe > sharer.first_stripe]
    diagnostics = []
    for before, after in pairs:
        if after.first_stripe < before.end_stripe:
            diagnostics.append(_begins_within(intent, before, after))
    return diagnostics


def _begins_within(intent: Intent, before: NodeGroup, after: NodeGroup) -> Diagnostic:
    """Return the error of a group that begins in a stripe of the group ``before``."""
    return error(
        "RW205",
        f"nodes {after.entry.name!r} begin in stripe {after.first_stripe}, where {before.entry.name!r} still are:"
        f" stripes {before.first_stripe} to {before.end_stripe - 1}",
        intent.where(f"{after.path}.first_stripe"),
        fix=f"first_stripe: {before.end_stripe} or higher",
    )
