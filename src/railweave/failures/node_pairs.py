"""The worst pair of GPU nodes after a failure.

Two nodes talk rail by rail, as collectives do: from a port to the port of the same rail and plane, or where several
leaves share a NIC, from all of its ports in the plane to all of the other NIC. Nodes on the same leaves whose ports are
all in service are alike, and so are nodes on leaves that a failure touches alike, in pods that are alike. A few nodes
of each kind stand for all of it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.pairs import LeafPairs, PairsLeft

PortKey = tuple[int, int | None, int]
"""The plane and the rail of a port, and its number among the node's ports there. Ports with equal keys talk to each
other."""


class _PortCable(NamedTuple):
    """A port of a node, with the switch and the speed of its cable."""

    key: PortKey
    switch: str
    speed_gbps: int
    # The first of the ports that stand in for each other: itself, or the first of its NIC.
    end: PortKey


class _Attached(NamedTuple):
    """Nodes that are attached to the same leaves."""

    # The leaf of each port.
    leaf_of: Mapping[PortKey, str]
    # The speed of each port.
    gbps: Mapping[PortKey, int]
    nodes: tuple[str, ...]
    # The ports that stand in for each other, by the first of them: all of a NIC that several leaves share, or one port.
    ends: Mapping[PortKey, tuple[PortKey, ...]]
    # Its place in the list of all such groups of nodes.
    number: int

    def end_gbps(self, ports: Sequence[PortKey]) -> int:
        """Return the bandwidth of some ports."""
        if len(ports) == 1:
            # Most ends are one port, and an analysis asks for millions of them.
            return self.gbps[ports[0]]
        return sum(self.gbps[key] for key in ports)


class _SharedEnd(NamedTuple):
    """The ports by which two nodes talk to each other: those of each node, and what both can carry in Gb/s."""

    own: tuple[PortKey, ...]
    far: tuple[PortKey, ...]
    gbps: int


class _SampleNode(NamedTuple):
    """A node that stands for all nodes like it."""

    at: _Attached
    # Its ports out of service.
    lost: frozenset[PortKey]
    # Whether another node on the same leaves has lost the same ports.
    has_twin: bool

    def in_service(self, ports: tuple[PortKey, ...]) -> tuple[PortKey, ...]:
        """Return the ports among ``ports`` that it has not lost."""
        if not self.lost:
            return ports
        return tuple(key for key in ports if key not in self.lost)


class NodePairs:
    """The pairs of GPU nodes of a fabric."""

    def __init__(self, fabric: Fabric, pairs: LeafPairs) -> None:
        self._pairs = pairs
        self._pod_of = {leaf.name: leaf.pod for leaf in pairs.lowest}
        self._key_of: dict[Link, PortKey] = {}
        nodes_by_ports: dict[tuple[_PortCable, ...], list[str]] = {}
        for host in fabric.hosts:
            ports = self._ports(fabric, fabric.uplinks_of[host.name])
            nodes_by_ports.setdefault(ports, []).append(host.name)
        self._attached = [
            _attached(ports, nodes, number) for number, (ports, nodes) in enumerate(nodes_by_ports.items())
        ]
        self._number_of = {name: at.number for at in self._attached for name in at.nodes}
        """The group of each node, by its number."""
        self._shared_ends_of: dict[tuple[int, int], Sequence[_SharedEnd]] = {}
        """The ends by which the nodes of two groups talk to each other, by the numbers of the groups."""
        self._are_single: dict[tuple[int, int], bool] = {}
        """Whether each of these ends is one port."""

    def _ports(self, fabric: Fabric, uplinks: Iterable[Link]) -> tuple[_PortCable, ...]:
        """Return the ports of a node, and record the key of each of its links."""
        counts: Counter[tuple[int, int | None]] = Counter()
        first_by_address: dict[int, PortKey] = {}
        ports = []
        for link in uplinks:
            number = counts[link.plane, link.rail]
            counts[link.plane, link.rail] += 1
            key = (link.plane, link.rail, number)
            self._key_of[link] = key
            end = key
            # The ports of a NIC that has one address for all of them stand in for each other.
            address = fabric.nic_address(link)
            if address is not None:
                end = first_by_address.setdefault(address, key)
            ports.append(_PortCable(key, link.upper, link.speed_gbps, end))
        return tuple(ports)

    def worst(self, left: PairsLeft, lost: Collection[Link]) -> float | None:
        """Return what the worst two nodes have left of their bandwidth to each other, in percent.

        The links of nodes in ``lost`` carry nothing. The bandwidth is what equal-cost routing carries while all nodes
        of their leaves send. None where no two nodes with a link in service have a path by design.
        """
        lost_ports_of: dict[str, set[PortKey]] = {}
        for link in lost:
            lost_ports_of.setdefault(link.lower, set()).add(self._key_of[link])
        # By the number of the group: the ports that each affected node of it has lost.
        affected: dict[int, list[frozenset[PortKey]]] = {}
        for name, ports in lost_ports_of.items():
            affected.setdefault(self._number_of[name], []).append(frozenset(ports))
        nodes = list(self._samples(left, affected))
        percents = []
        for node, far_node in product(nodes, nodes):
            # Two different nodes may be alike and have one sample.
            if node != far_node or node.has_twin:
                percent = self._left_percent(left, node, far_node)
                if percent is not None:
                    percents.append(percent)
        return min(percents, default=None)

    def _samples(self, left: PairsLeft, affected: Mapping[int, Sequence[frozenset[PortKey]]]) -> Iterator[_SampleNode]:
        """Yield nodes that stand for all nodes.

        Nodes are of one kind if they have equal ports on leaves of one kind and have lost the same ports. Two of each
        kind in one pod, from different groups, and one in another pod stand for all pairs of two kinds. ``affected``
        has the ports that nodes have lost, by the number of their group.
        """
        near_leaves = {leaf for pod in left.near_pods(left.in_service) for leaf in left.names(pod)}
        pods_of_kind: dict[tuple[object, ...], list[int | None]] = {}
        # Many nodes share a leaf, and its kind takes a walk over all colors.
        kind_of = cache(left.kind_of)
        for at in self._attached:
            leaf = next(iter(at.leaf_of.values()))
            pod = self._pod_of[leaf]
            # Only a pod that the failure tells apart from others makes its nodes a kind of their own.
            distinct_pod = None
            if leaf in near_leaves:
                distinct_pod = pod
            ports = tuple((key, at.gbps[key], kind_of(name)) for key, name in at.leaf_of.items())
            for lost_ports, count in _counts_by_lost_ports(at, affected.get(at.number, ())).items():
                sampled_pods = pods_of_kind.setdefault((distinct_pod, ports, lost_ports), [])
                is_pod_sampled = pod in sampled_pods
                needs_second_pod = not is_pod_sampled and len(set(sampled_pods)) < 2
                needs_second_of_pod = is_pod_sampled and len(set(sampled_pods)) == len(sampled_pods)
                if needs_second_pod or needs_second_of_pod:
                    sampled_pods.append(pod)
                    yield _SampleNode(at, lost_ports, count > 1)

    def _left_percent(self, left: PairsLeft, node: _SampleNode, far_node: _SampleNode) -> float | None:
        """Return what two nodes have left of their bandwidth to each other, in percent; None without a path."""
        shared_ends = self._shared_ends(node.at, far_node.at)
        if not shared_ends:
            return None
        carried = 0.0
        if not node.lost and not far_node.lost and self._are_single[node.at.number, far_node.at.number]:
            # The same as below for the most frequent case: an analysis asks for millions of ends of one port.
            leaf_of = node.at.leaf_of
            far_leaf_of = far_node.at.leaf_of
            for end in shared_ends:
                carried += end.gbps * left.between(leaf_of[end.own[0]], far_leaf_of[end.far[0]]).spread_percent
        else:
            for end in shared_ends:
                carried += self._carried(left, node, far_node, end)
        return carried / sum(end.gbps for end in shared_ends)

    def _shared_ends(self, at: _Attached, far_at: _Attached) -> Sequence[_SharedEnd]:
        """Return the ends by which nodes of two groups talk to each other while nothing has failed."""
        numbers = (at.number, far_at.number)
        if numbers not in self._shared_ends_of:
            shared_ends = []
            for end, own in at.ends.items():
                far = far_at.ends.get(end)
                if far is not None and self._have_path(at, own, far_at, far):
                    shared_ends.append(_SharedEnd(own, far, min(at.end_gbps(own), far_at.end_gbps(far))))
            self._shared_ends_of[numbers] = shared_ends
            self._are_single[numbers] = all(len(end.own) == len(end.far) == 1 for end in shared_ends)
        return self._shared_ends_of[numbers]

    def _have_path(self, at: _Attached, own: Iterable[PortKey], far_at: _Attached, far: Iterable[PortKey]) -> bool:
        """Tell whether a port of one end has a path to a port of the other by design."""
        pairs = product((at.leaf_of[key] for key in own), (far_at.leaf_of[key] for key in far))
        return any(leaf == far_leaf or self._pairs.intact_gbps(leaf, far_leaf) for leaf, far_leaf in pairs)

    def _carried(self, left: PairsLeft, node: _SampleNode, far_node: _SampleNode, end: _SharedEnd) -> float:
        """Return what the ports of two ends that are in service carry, in Gb/s × percent."""
        own = node.in_service(end.own)
        far = far_node.in_service(end.far)
        if not own or not far:
            return 0
        if len(own) == len(far) == 1:
            percent = left.between(node.at.leaf_of[own[0]], far_node.at.leaf_of[far[0]]).spread_percent
            return min(node.at.gbps[own[0]], far_node.at.gbps[far[0]]) * percent
        own_gbps = node.at.end_gbps(own)
        far_leaves = [far_node.at.leaf_of[key] for key in far]
        carried = 0.0
        for key in own:
            leaf = node.at.leaf_of[key]
            # A leaf with a link to the far end uses it. Any other spreads over all leaves that announce the far end.
            next_leaves = far_leaves
            if leaf in far_leaves:
                next_leaves = [leaf]
            percent = sum(left.between(leaf, name).spread_percent for name in next_leaves) / len(next_leaves)
            carried += node.at.gbps[key] * percent
        return min(own_gbps, far_node.at.end_gbps(far)) * carried / own_gbps


def _attached(ports: Iterable[_PortCable], nodes: Iterable[str], number: int) -> _Attached:
    leaf_of: dict[PortKey, str] = {}
    gbps: dict[PortKey, int] = {}
    ends: dict[PortKey, tuple[PortKey, ...]] = {}
    for port in ports:
        leaf_of[port.key] = port.switch
        gbps[port.key] = port.speed_gbps
        ends[port.end] = (*ends.get(port.end, ()), port.key)
    return _Attached(leaf_of, gbps, tuple(nodes), ends, number)


def _counts_by_lost_ports(at: _Attached, affected: Sequence[frozenset[PortKey]]) -> Mapping[frozenset[PortKey], int]:
    """Return how many nodes of a group have lost which ports; nodes that have lost all of them are left out."""
    counts = Counter(ports for ports in affected if len(ports) < len(at.leaf_of))
    if len(affected) < len(at.nodes):
        counts[frozenset()] = len(at.nodes) - len(affected)
    return counts
