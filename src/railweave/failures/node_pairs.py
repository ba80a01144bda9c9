"""The worst pair of GPU nodes after a failure; of nodes that are alike one is asked.

Two nodes talk rail by rail, as collectives do: from a port to the one of the same rail and plane, or where several
leaves share a NIC, from all of its ports in the plane to all of the other NIC. Nodes on the same
leaves whose ports are all in service are alike, and so are those on leaves that a failure touches alike, in pods that
are alike: some of each represent them.
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
"""What a port has in common with that of another node which it talks to: plane, rail and its number among these."""


class _PortCable(NamedTuple):
    """A port of a node, with the switch and the speed of its cable."""

    key: PortKey
    switch: str
    speed_gbps: int
    # The first of the ports that stand in for each other.
    end: PortKey


class _Attached(NamedTuple):
    """Nodes on the same leaves: the leaf and the speed in Gb/s of each port, and the nodes. ``ends`` are the ports that
    stand in for each other, by the first of them: those of a NIC that several leaves share, else each port alone.
    ``number`` tells the places apart."""

    switches: Mapping[PortKey, str]
    gbps: Mapping[PortKey, int]
    nodes: tuple[str, ...]
    ends: Mapping[PortKey, tuple[PortKey, ...]]
    number: int

    def end_gbps(self, ports: Sequence[PortKey]) -> int:
        """Return the bandwidth of some ports."""
        if len(ports) == 1:
            # Most ends are one port, and an analysis asks this a million times.
            return self.gbps[ports[0]]
        return sum(self.gbps[key] for key in ports)


class _SharedEnd(NamedTuple):
    """The ports by which two nodes talk to each other: those of each node, and what both can carry in Gb/s."""

    own: tuple[PortKey, ...]
    far: tuple[PortKey, ...]
    gbps: int


class _SampleNode(NamedTuple):
    """A node that represents those like it: where it is attached, its ports out of service, and if there is another."""

    at: _Attached
    lost: frozenset[PortKey]
    has_twin: bool

    def in_service(self, ports: tuple[PortKey, ...]) -> tuple[PortKey, ...]:
        """Return those of its ports that it has not lost."""
        if not self.lost:
            return ports
        return tuple(key for key in ports if key not in self.lost)


class NodePairs:
    """The pairs of GPU nodes of a fabric."""

    def __init__(self, fabric: Fabric, pairs: LeafPairs) -> None:
        self._pairs = pairs
        self._pod_of = {leaf.name: leaf.pod for leaf in pairs.lowest}
        self._key_of: dict[Link, PortKey] = {}
        nodes_at: dict[tuple[_PortCable, ...], list[str]] = {}
        for host in fabric.hosts:
            numbers: Counter[tuple[int, int | None]] = Counter()
            ports = []
            first_of_nic: dict[int, PortKey] = {}
            for link in fabric.uplinks_of[host.name]:
                key = (link.plane, link.rail, numbers[link.plane, link.rail])
                numbers[link.plane, link.rail] += 1
                self._key_of[link] = key
                nic = fabric.nic_address(link)
                end = key if nic is None else first_of_nic.setdefault(nic, key)
                ports.append(_PortCable(key, link.upper, link.speed_gbps, end))
            nodes_at.setdefault(tuple(ports), []).append(host.name)
        self._attached = [_attached(ports, nodes, number) for number, (ports, nodes) in enumerate(nodes_at.items())]
        self._shared: dict[tuple[int, int], Sequence[_SharedEnd]] = {}
        """The ends that two places share, by their numbers."""
        self._are_single: dict[tuple[int, int], bool] = {}
        """Whether each of these ends is one port."""
        self._place_of = {name: place for place, at in enumerate(self._attached) for name in at.nodes}

    def worst(self, left: PairsLeft, lost: Collection[Link]) -> float | None:
        """Return what the worst two nodes have left of their bandwidth to each other, in percent, where the links of
        nodes ``lost`` carry nothing: as equal-cost routing spreads it while all nodes of their leaves send. None where
        no two nodes with a link in service have a path by design."""
        lost_of: dict[str, set[PortKey]] = {}
        for link in lost:
            lost_of.setdefault(link.lower, set()).add(self._key_of[link])
        affected: dict[int, list[frozenset[PortKey]]] = {}
        for name, ports in lost_of.items():
            affected.setdefault(self._place_of[name], []).append(frozenset(ports))
        nodes = list(self._representatives(left, affected))
        pairs = (pair for pair in product(nodes, nodes) if pair[0] != pair[1] or pair[0].has_twin)
        values = (self._left(left, node, other) for node, other in pairs)
        return min((value for value in values if value is not None), default=None)

    def _representatives(
        self, left: PairsLeft, affected: Mapping[int, Sequence[frozenset[PortKey]]]
    ) -> Iterator[_SampleNode]:
        """Yield the nodes to ask: of nodes that are alike those of two places in one pod, and of one in another."""
        near = {leaf for pod in left.near_pods(left.in_service) for leaf in left.names(pod)}
        seen: dict[tuple[object, ...], list[int | None]] = {}
        # Many nodes share a leaf, and its kind takes a walk over all colors.
        kind_of = cache(left.kind_of)
        for place, at in enumerate(self._attached):
            leaf = next(iter(at.switches.values()))
            pod = self._pod_of[leaf]
            alike: list[object] = [None]
            if leaf in near:
                alike = [pod]
            alike += [(key, at.gbps[key], kind_of(name)) for key, name in at.switches.items()]
            for ports, count in self._states(at, affected.get(place, ())).items():
                pods = seen.setdefault((*alike, ports), [])
                if len(pods) < 2 or (len(set(pods)) < 2 and pod not in pods):
                    pods.append(pod)
                    yield _SampleNode(at, ports, count > 1)

    def _states(self, at: _Attached, affected: Sequence[frozenset[PortKey]]) -> Mapping[frozenset[PortKey], int]:
        """Return the ports that nodes on the same leaves have lost, and of how many; none of a node that is cut off."""
        states = Counter(ports for ports in affected if len(ports) < len(at.switches))
        if len(affected) < len(at.nodes):
            states[frozenset()] = len(at.nodes) - len(affected)
        return states

    def _left(self, left: PairsLeft, node: _SampleNode, other: _SampleNode) -> float | None:
        """Return what two nodes have left of their bandwidth to each other, in percent; None without a path."""
        shared = self._shared_ends(node.at, other.at)
        if not shared:
            return None
        if not node.lost and not other.lost and self._are_single[node.at.number, other.at.number]:
            # Most nodes have lost no port, and an analysis asks for millions of their ends.
            own, far = node.at.switches, other.at.switches
            between = left.between
            carried = sum(end.gbps * between(own[end.own[0]], far[end.far[0]]).spread_percent for end in shared)
        else:
            carried = sum(self._carried(left, node, other, end) for end in shared)
        return carried / sum(end.gbps for end in shared)

    def _shared_ends(self, at: _Attached, other: _Attached) -> Sequence[_SharedEnd]:
        """Return the ends by which nodes of two places talk to each other while nothing has failed."""
        places = (at.number, other.number)
        if places not in self._shared:
            self._shared[places] = [
                _SharedEnd(own, other.ends[end], min(at.end_gbps(own), other.end_gbps(other.ends[end])))
                for end, own in at.ends.items()
                if end in other.ends and self._joined(at, own, other, other.ends[end])
            ]
            self._are_single[places] = all(len(end.own) == len(end.far) == 1 for end in self._shared[places])
        return self._shared[places]

    def _joined(self, at: _Attached, own: Iterable[PortKey], other: _Attached, far: Iterable[PortKey]) -> bool:
        """Tell whether a port of one end has a path to one of the other by design."""
        pairs = product((at.switches[key] for key in own), (other.switches[key] for key in far))
        return any(leaf == far_leaf or self._pairs.usual_gbps(leaf, far_leaf) for leaf, far_leaf in pairs)

    def _carried(self, left: PairsLeft, node: _SampleNode, other: _SampleNode, end: _SharedEnd) -> float:
        """Return what the ports of two ends that are in service carry, in Gb/s × percent."""
        own = node.in_service(end.own)
        far = other.in_service(end.far)
        if not own or not far:
            return 0
        if len(own) == len(far) == 1:
            percent = left.between(node.at.switches[own[0]], other.at.switches[far[0]]).spread_percent
            return min(node.at.gbps[own[0]], other.at.gbps[far[0]]) * percent
        own_gbps = node.at.end_gbps(own)
        leaves = [other.at.switches[key] for key in far]
        whole = 0.0
        for key in own:
            leaf = node.at.switches[key]
            # A leaf that has a link to the far end uses it; any other spreads over all leaves that announce it.
            to = [leaf] if leaf in leaves else leaves
            percent = sum(left.between(leaf, name).spread_percent for name in to) / len(to)
            whole += node.at.gbps[key] * percent
        return min(own_gbps, other.at.end_gbps(far)) * whole / own_gbps


def _attached(ports: Iterable[_PortCable], nodes: Iterable[str], number: int) -> _Attached:
    switches: dict[PortKey, str] = {}
    gbps: dict[PortKey, int] = {}
    ends: dict[PortKey, tuple[PortKey, ...]] = {}
    for port in ports:
        switches[port.key] = port.switch
        gbps[port.key] = port.speed_gbps
        ends[port.end] = (*ends.get(port.end, ()), port.key)
    return _Attached(switches, gbps, tuple(nodes), ends, number)
