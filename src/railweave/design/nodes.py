"""GPU nodes: how their ports spread over planes, rails and leaves, and in which stripes they stand."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
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
    """Return the rails: given, or the NICs of a node; where racks are aligned, a rail is just the number of a NIC."""
    if intent.topology.shape is Shape.RACK_ALIGNED:
        return max(entry.nics.count for entry in intent.nodes)
    return intent.topology.rails or intent.nodes[0].nics.count


def with_fewer_rails(intent: Intent) -> Intent | None:
    """Return the intent with a rail for each leaf, where a count of leaves is given that divides the NICs of a node and
    nothing is said about rails; None otherwise. It holds for one stripe."""
    topology = intent.topology
    count = intent.topology.leaf.count
    if topology.rails is not None or topology.shape is not Shape.RAIL_OPTIMIZED or topology.leaves_per_nic > 1:
        return None
    # One leaf is one switch, without a spine.
    if count is None or count == 1 or count >= intent.nodes[0].nics.count:
        return None
    if any(entry.nics.count % count for entry in intent.nodes):
        return None
    return replace(intent, topology=topology.with_values(rails=count))


def stripe_leaves(intent: Intent) -> int:
    """Return the leaves of a stripe in one plane."""
    leaves_per_nic = intent.topology.leaves_per_nic
    if not intent.topology.shape.has_rails:
        return leaves_per_nic
    return rail_count(intent) * leaves_per_nic


def distribute_ports(intent: Intent) -> tuple[NodePorts, ...] | None:
    """Return the ports of each entry's nodes; None where they do not divide evenly (check_intent reports RW103)."""
    planes = intent.topology.planes
    leaves = intent.topology.leaves_per_nic
    groups = 1
    if intent.topology.shape is not Shape.RACK_ALIGNED:
        groups = rail_count(intent)
    share = groups * leaves
    distributed = []
    for index, entry in enumerate(intent.nodes):
        own_ports = len(entry.nics.own_ports)
        per_plane = entry.nics.count * (own_ports // planes)
        if own_ports % (planes * leaves) or per_plane % share or (leaves > 1 and entry.nics.count % groups):
            return None
        leaf = 0
        if has_own_class(intent, index):
            leaf = sum(has_own_class(intent, other) for other in range(index + 1))
        distributed.append(NodePorts(entry, f"nodes[{index}]", per_plane, per_plane // share, leaf))
    return tuple(distributed)


def host_ports(
    entry: Nodes, rails: int, planes: int, leaves_per_nic: int = 1, interfaces: str = RAIL
) -> tuple[HostPort, ...]:
    """Return the ports of a node, NIC by NIC, named after ``interfaces``; port p of those that a NIC has in the
    fabric is in plane p mod planes.

    Ports of one plane go to the rails in runs, so that all ports of a NIC in a plane share a rail where they can, and
    among themselves they take turns over the leaves that share the NIC.
    """
    nics = entry.nics
    of_nic = len(nics.own_ports) // planes
    per_rail = max(1, nics.count * of_nic // rails)
    ports = []
    for nic, (place, port) in product(range(nics.count), enumerate(nics.own_ports)):
        name = f"{interfaces}{nic}"
        if len(nics.own_ports) > 1:
            name += f"p{port}"
        pci = _at(nics.pci_addresses, nic)
        if pci:
            # The ports of a NIC are the functions of its PCI device.
            pci = f"{pci[:-1]}{port}"
        ports.append(
            HostPort(
                name=name,
                nic=nic,
                port=port,
                rail=(nic * of_nic + place // planes) // per_rail,
                plane=place % planes,
                speed_gbps=nics.speed_gbps,
                pci=pci,
                rdma=_at(nics.rdma_devices, nic * nics.ports + port),
                cage=port // nics.ports_of_a_cage,
                leaf=place // planes % leaves_per_nic,
            )
        )
    return tuple(ports)


class PortOnLeaf(NamedTuple):
    """A port of every node of a group on one leaf: its number on the node, its place among the node's ports there, its
    rail, and the NIC and cage that it is on."""

    number: int
    offset: int
    rail: int
    nic: int
    cage: int


def ports_by_leaf(group: NodeGroup, layout: Layout) -> dict[tuple[int, int, int], list[PortOnLeaf]]:
    """Return a node's ports by (plane, rail, leaf of those that share a NIC) in their order on the leaf."""
    ports_of: dict[tuple[int, int, int], list[PortOnLeaf]] = {}
    for index, port in enumerate(host_ports(group.entry, layout.rails, layout.planes, layout.leaves_per_nic)):
        rail = 0
        if layout.shape.has_rails:
            rail = port.rail
        on_leaf = ports_of.setdefault((port.plane, rail, port.leaf), [])
        on_leaf.append(PortOnLeaf(index, len(on_leaf), port.rail, port.nic, port.cage))
    return ports_of


def _at(texts: tuple[str, ...], index: int) -> str:
    # The intent's checks report a list of the wrong length; the design continues for its own diagnostics.
    if index >= len(texts):
        return ""
    return texts[index]


def place_groups(
    intent: Intent, node_ports: Sequence[NodePorts], classes: Sequence[LeafClass]
) -> tuple[tuple[NodeGroup, ...], tuple[Diagnostic, ...]]:
    """Return the entries of nodes in their stripes, whose leaves are of ``classes``."""
    sharers = sharers_of(node_ports, classes[0])
    attached: dict[str, Attached] = {}
    if sharers:
        places = attach(sharers, node_ports[0].entry.stripe or intent.topology.stripe, classes[0])
        if places is None:
            return (), (_sharers_exceed_leaf(intent, node_ports, sharers, classes[0]),)
        attached = {sharer.entry.name: place for sharer, place in zip(sharers, places, strict=True)}
    groups: list[NodeGroup] = []
    diagnostics: list[Diagnostic] = []
    for ports in node_ports:
        leaf = classes[ports.leaf]
        name = ports.entry.name
        place = attached.get(name) or Attached(_stripe_nodes(intent, ports, leaf), 0, 0, leaf.breakout_of(name))
        if place.nodes == 0:
            diagnostics.append(_node_exceeds_leaf(intent, ports, leaf.down))
        elif name not in attached and place.nodes * ports.per_leaf > leaf.down:
            diagnostics.append(_stripe_exceeds_leaf(intent, ports, leaf.down))
        else:
            groups.append(_group(intent, ports, place, groups))
    diagnostics.extend(_shared_stripes(intent, groups))
    return tuple(groups), tuple(diagnostics)


def _stripe_nodes(intent: Intent, ports: NodePorts, leaf: LeafClass) -> int:
    return ports.entry.stripe or intent.topology.stripe or leaf.down // ports.per_leaf


def _group(intent: Intent, ports: NodePorts, place: Attached, before: Sequence[NodeGroup]) -> NodeGroup:
    return NodeGroup(
        entry=ports.entry,
        path=ports.path,
        ports_per_plane=ports.per_plane,
        ports_per_leaf=ports.per_leaf,
        stripe_nodes=place.nodes,
        first_stripe=_first_stripe(intent, ports.entry, before),
        stripes=-(-ports.entry.count // place.nodes),
        leaf=ports.leaf,
        breakout=place.breakout,
        first_port=place.first_port,
        first_place=place.first_place,
    )


def _first_stripe(intent: Intent, entry: Nodes, before: Sequence[NodeGroup]) -> int:
    """Return the first stripe of an entry of nodes, which leaves those ``before`` it in the file room to grow."""
    if entry.first_stripe is not None:
        return entry.first_stripe
    if not before:
        return 0
    if entry.share_leaves:
        return before[0].first_stripe
    step = stripe_step(intent, before[0])
    return -(-max(group.end_stripe for group in before) // step) * step


def stripe_step(intent: Intent, first: NodeGroup) -> int:
    """Return the stripes that an entry of nodes without ``first_stripe`` begins at a multiple of: those reserved for
    the first entry, or the next power of two above twice its stripes."""
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
    """Return the refusal of entries that do not fit on one leaf, with the stripe that leaves room for all."""
    names = listed([repr(sharer.entry.name) for sharer in sharers])
    path = next(ports.path for ports in node_ports if ports.entry.share_leaves)
    possible = attach(sharers, None, leaf)
    fix = "use a leaf with more ports, a smaller nodes[].stripe, or leaves of their own for some of these nodes"
    if possible is not None:
        fix = f"use a stripe of at most {possible[0].nodes} nodes {sharers[0].entry.name!r}, or leave it to auto"
    return error(
        "RW204",
        f"nodes {names} do not fit on one leaf, which has {counted(leaf.down, 'port')} of"
        f" {format_speed(leaf.hardware.down.speed_gbps)} for nodes",
        intent.where(f"{path}.share_leaves"),
        fix=fix,
    )


def _shared_stripes(intent: Intent, groups: list[NodeGroup]) -> list[Diagnostic]:
    sharing = [group for group in groups if group.entry.share_leaves]
    owners = [group for group in groups if not group.entry.share_leaves]
    owners.sort(key=lambda group: group.first_stripe)
    pairs = list(pairwise(owners))
    for group in sharing:
        # Sharers have leaves of the first entry: those of the others, in later stripes, are not for them.
        pairs += [(group, after) for after in owners[1:] if after.end_stripe > group.first_stripe]
    within = [(before, after) for before, after in pairs if after.first_stripe < before.end_stripe]
    return [_begins_within(intent, before, after) for before, after in within]


def _begins_within(intent: Intent, before: NodeGroup, after: NodeGroup) -> Diagnostic:
    return error(
        "RW205",
        f"nodes {after.entry.name!r} begin in stripe {after.first_stripe}, where {before.entry.name!r} still are:"
        f" stripes {before.first_stripe} to {before.end_stripe - 1}",
        intent.where(f"{after.path}.first_stripe"),
        fix=f"first_stripe: {before.end_stripe} or higher",
    )
