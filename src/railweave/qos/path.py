"""The path of a traffic class from one NIC to another: the switches on it, with groups, queues and thresholds."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from railweave.fabric.buffers import GroupHeadroom, QueueMarking, SwitchBuffers
from railweave.fabric.devices import Host, HostPort, Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.policy import TrafficClass
from railweave.qos.mapping import map_chain
from railweave.qos.scheduling import QueueShare, queue_shares


class NicPath(NamedTuple):
    """A path between two NICs: its cables and its switches, in the order in which a packet passes them.

    There is one switch fewer: switch ``i`` joins cable ``i`` and cable ``i + 1``.
    """

    links: tuple[Link, ...]
    switches: tuple[Switch, ...]


class Hop(NamedTuple):
    """A switch on the path of one class."""

    switch: Switch
    # Priority group at ingress.
    group: int
    # Headroom of that group; None for lossy classes, and if the switch's buffer is unknown.
    headroom: GroupHeadroom | None
    # Queue at egress.
    queue: QueueShare
    # ECN thresholds of that queue; None for classes that do not mark, and if the switch's buffer is unknown.
    marking: QueueMarking | None
    # Depth of that queue at which PFC pauses its senders, with every port congested; None like `headroom`.
    pause_bytes: int | None


def longest_path(fabric: Fabric) -> NicPath | None:
    """Return a path between two NICs over as many tiers as possible; None if no two NICs share a network."""
    first = next((link for link in fabric.links if link.is_access), None)
    if first is None:
        return None
    start = fabric.switch_of[first.upper]
    for end in _end_leaves(fabric, start, first.lower):
        path = _path_to(fabric, first, start, end)
        if path is not None:
            return path
    return _path_within(fabric, first, start)


def hops(
    fabric: Fabric, traffic_class: TrafficClass, path: NicPath, buffers: Iterable[SwitchBuffers]
) -> tuple[Hop, ...]:
    """Return the switches on the path of a class, in the order in which its packets pass them.

    ``buffers`` are those of the fabric's switches (`qos.summary`).
    """
    buffers_of = {name: switch_buffers for switch_buffers in buffers for name in switch_buffers.devices}
    classes = fabric.policies.classes
    queue = next(share for share in queue_shares(classes) if share.name == traffic_class.name)
    group = map_chain(classes).tc_to_group[traffic_class.priority]
    path_hops = []
    for switch, ingress, egress in zip(path.switches, path.links[:-1], path.links[1:], strict=True):
        hop = Hop(switch, group, headroom=None, queue=queue, marking=None, pause_bytes=None)
        if traffic_class.marks and switch.name in buffers_of:
            hop = hop._replace(marking=_queue_marking(buffers_of[switch.name], traffic_class, egress))
            # The headroom and pauses of a switch are those of its lossless groups.
            if traffic_class.lossless:
                hop = _with_pauses(hop, buffers_of[switch.name], ingress)
        path_hops.append(hop)
    return tuple(path_hops)


def _with_pauses(hop: Hop, buffers: SwitchBuffers, ingress: Link) -> Hop:
    """Return the hop of a lossless class with its headroom and the depth at which PFC pauses."""
    headroom = next((headroom for headroom in buffers.headroom if _is_for(headroom, ingress)), None)
    pause_bytes = min(buffers.pause_bytes.values(), default=None)
    return hop._replace(headroom=headroom, pause_bytes=pause_bytes)


def _queue_marking(buffers: SwitchBuffers, traffic_class: TrafficClass, egress: Link) -> QueueMarking | None:
    """Return the ECN thresholds of a class on the port of a link; None if the switch has none for its speed."""
    for marking in buffers.marking:
        if marking.traffic_class == traffic_class.name and marking.speed_gbps == egress.speed_gbps:
            return marking
    return None


def _is_for(headroom: GroupHeadroom, link: Link) -> bool:
    """Tell whether a headroom is that of ports with the speed and the length of a link."""
    return headroom.speed_gbps == link.speed_gbps and headroom.length_m == link.length_m


def ends(fabric: Fabric, path: NicPath) -> tuple[tuple[Host, HostPort], tuple[Host, HostPort]]:
    """Return the node and the port of its NIC at each of the two ends of a path."""
    return _nic_of(fabric, path.links[0]), _nic_of(fabric, path.links[-1])


def _nic_of(fabric: Fabric, link: Link) -> tuple[Host, HostPort]:
    host = fabric.host_of[link.lower]
    return host, host.ports[link.lower_port]


def _end_leaves(fabric: Fabric, start: Switch, node: str) -> Iterator[Switch]:
    """Yield the other leaves in the network of ``start`` that have nodes other than ``node``.

    Leaves of other pods come first, then those of other stripes: the paths to them are the longest.
    """
    network = fabric.network_of(start)
    candidates: list[Switch] = []
    for leaf in fabric.tier_switches[0]:
        if leaf.name == start.name or fabric.network_of(leaf) != network:
            continue
        if any(name != node for name in fabric.nodes_on(leaf.name)):
            candidates.append(leaf)
    yield from sorted(candidates, key=lambda leaf: (leaf.pod == start.pod, leaf.stripe == start.stripe, leaf.number))


def _path_to(fabric: Fabric, first: Link, start: Switch, end: Switch) -> NicPath | None:
    """Return a path from the node of the link ``first``, which ends at the leaf ``start``, to a node of ``end``.

    None if the leaves are not connected.
    """
    last = next(link for link in fabric.downlinks_of[end.name] if link.is_access and link.lower != first.lower)
    for up in fabric.uplinks_of[start.name]:
        spine = up.upper
        down = _downlink(fabric, spine, end.name)
        if down is not None:
            return NicPath((first, up, down, last), (start, fabric.switch_of[spine], end))
        for higher in fabric.uplinks_of[spine]:
            links = _links_down(fabric, higher.upper, end)
            if links is not None:
                middle = tuple(fabric.switch_of[name] for name in (spine, higher.upper, links[0].lower))
                return NicPath((first, up, higher, *links, last), (start, *middle, end))
    return None


def _links_down(fabric: Fabric, super_spine: str, leaf: Switch) -> tuple[Link, Link] | None:
    """Return the links from a super-spine over a spine to a leaf; None if they are not connected."""
    for spine in fabric.above(leaf.name):
        to_spine = _downlink(fabric, super_spine, spine)
        to_leaf = _downlink(fabric, spine, leaf.name)
        if to_spine is not None and to_leaf is not None:
            return to_spine, to_leaf
    return None


def _downlink(fabric: Fabric, upper: str, lower: str) -> Link | None:
    """Return the first cable from a switch down to a neighbor."""
    return next((link for link in fabric.downlinks_of[upper] if link.lower == lower), None)


def _path_within(fabric: Fabric, first: Link, leaf: Switch) -> NicPath | None:
    """Return the path between the node of ``first`` and another node of the same leaf; None if there is no other."""
    for link in fabric.downlinks_of[leaf.name]:
        if link.is_access and link.lower != first.lower:
            return NicPath((first, link), (leaf,))
    return None
