"""The way of a traffic class from one NIC to another: every switch between them, with groups, queues and thresholds."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from railweave.fabric.buffers import GroupHeadroom, QueueMarking, SwitchBuffers
from railweave.fabric.model import Fabric, Host, HostPort, Link, Switch
from railweave.fabric.policy import TrafficClass
from railweave.qos.mapping import map_chain
from railweave.qos.scheduling import QueueShare, queue_shares


class Route(NamedTuple):
    """The cables of the longest way through a fabric, in the order in which a packet meets them, and its switches: one
    fewer, switch ``i`` stands between cable ``i`` and cable ``i + 1``."""

    links: tuple[Link, ...]
    switches: tuple[Switch, ...]


class Hop(NamedTuple):
    """A switch on the way, for one class. ``group`` is the priority group that it arrives in, with its ``headroom``
    where the class is lossless and the buffer known; ``queue`` is the one that it leaves by, with its ``marking``.
    ``pause_bytes`` is the depth of that queue at which PFC pauses what feeds it where every port is congested, None
    where it is not known."""

    switch: Switch
    group: int
    headroom: GroupHeadroom | None
    queue: QueueShare
    marking: QueueMarking | None
    pause_bytes: int | None


def longest_route(fabric: Fabric) -> Route | None:
    """Return the way of packets between two NICs that crosses most tiers, None where no two share a network."""
    for link in fabric.links:
        if link.is_access:
            start = fabric.switch_of[link.upper]
            for far in _far_leaves(fabric, start, link.lower):
                if (route := _route(fabric, link, start, far)) is not None:
                    return route
            return _within(fabric, link, start)
    return None


def hops(fabric: Fabric, one: TrafficClass, route: Route, buffers: Iterable[SwitchBuffers]) -> tuple[Hop, ...]:
    """Return what a class meets on a way; ``buffers`` are those of the fabric's switches (`qos.summary`)."""
    of_switch = {name: each for each in buffers for name in each.devices}
    queue = next(each for each in queue_shares(fabric.policies.classes) if each.name == one.name)
    group = map_chain(fabric.policies.classes).tc_to_group[one.priority]
    return tuple(
        _hop(of_switch.get(switch.name), one, switch, route.links[place], route.links[place + 1], group, queue)
        for place, switch in enumerate(route.switches)
    )


def ends(fabric: Fabric, route: Route) -> tuple[tuple[Host, HostPort], tuple[Host, HostPort]]:
    """Return the nodes at both ends with the ports of their NICs."""
    first, last = ((fabric.host_of[link.lower], link.lower_port) for link in (route.links[0], route.links[-1]))
    return (first[0], first[0].ports[first[1]]), (last[0], last[0].ports[last[1]])


def _hop(
    buffers: SwitchBuffers | None,
    one: TrafficClass,
    switch: Switch,
    arrives: Link,
    departs: Link,
    group: int,
    queue: QueueShare,
) -> Hop:
    if buffers is None or not one.lossless:
        return Hop(switch, group, None, queue, None, None)
    speed, length = arrives.speed_gbps, arrives.length_m
    room = next((each for each in buffers.headroom if (each.speed_gbps, each.length_m) == (speed, length)), None)
    own = [each for each in buffers.marking if each.traffic_class == one.name]
    marking = next((each for each in own if each.speed_gbps == departs.speed_gbps), None)
    return Hop(switch, group, room, queue, marking, min(buffers.pause_bytes.values(), default=None))


def _far_leaves(fabric: Fabric, start: Switch, node: str) -> Iterator[Switch]:
    """Yield the switches with nodes other than ``node`` in the network of ``start``, those of another pod first, then
    of another stripe."""
    others = [
        one
        for one in fabric.tier_switches[0]
        if one.name != start.name
        and fabric.network_of(one) == fabric.network_of(start)
        and any(name != node for name in fabric.nodes_on(one.name))
    ]
    yield from sorted(others, key=lambda one: (one.pod == start.pod, one.stripe == start.stripe, one.number))


def _route(fabric: Fabric, first: Link, start: Switch, far: Switch) -> Route | None:
    """Return the way from the node of ``first`` to one of ``far``: up by the first cables, down where it leads."""
    last = next(link for link in fabric.downlinks_of[far.name] if link.is_access and link.lower != first.lower)
    for up in fabric.uplinks_of[start.name]:
        turn = up.upper
        if (down := _cable(fabric, turn, far.name)) is not None:
            return Route((first, up, down, last), (start, fabric.switch_of[turn], far))
        for higher in fabric.uplinks_of[turn]:
            for lower in fabric.above(far.name):
                across = _cable(fabric, higher.upper, lower)
                below = _cable(fabric, lower, far.name)
                if across is not None and below is not None:
                    middle = (turn, higher.upper, lower)
                    names = (start, *(fabric.switch_of[name] for name in middle), far)
                    return Route((first, up, higher, across, below, last), names)
    return None


def _cable(fabric: Fabric, upper: str, lower: str) -> Link | None:
    return next((link for link in fabric.downlinks_of[upper] if link.lower == lower), None)


def _within(fabric: Fabric, first: Link, start: Switch) -> Route | None:
    """Return the way between two nodes of one switch."""
    others = (link for link in fabric.downlinks_of[start.name] if link.is_access and link.lower != first.lower)
    last = next(others, None)
    return None if last is None else Route((first, last), (start,))
