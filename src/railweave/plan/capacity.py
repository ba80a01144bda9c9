"""What a fabric still carries while some of its devices and links are out of service.

Three numbers: the uplink bandwidth of the worst switch, the paths between the worst pair of leaves, and the rails of
the worst GPU node. Devices that are ``unprovisioned`` carry no traffic yet and are left out of all of them. A leaf is a
switch that attaches GPU nodes; the paths between two are the switches of the nearest tier above in which they meet.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric

Network = tuple[int, int | None]
"""A separate network as ``Fabric.network_of`` returns it: a plane, and the rail if no switch joins rails."""


class _PodOfPlane(NamedTuple):
    """A pod of one plane; ``number`` is None in two tiers."""

    plane: int
    number: int | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity that is left in a fabric."""

    # Of the switch in service with the least of its own uplink bandwidth; an uplink that leads nowhere counts as lost.
    least_uplink_percent: float
    # Between the worst two leaves in service of one plane, and rail if rails are apart; None if there are no two.
    least_paths: int | None
    # Rails with which the worst GPU node has no link left.
    rails_out: int


def capacity(
    fabric: Fabric, out: Collection[str], *, unprovisioned: Collection[str] = (), down: Collection[Link] = ()
) -> Capacity:
    """Return what ``fabric`` carries without the devices ``out`` and the links ``down``.

    The time is linear in the links of the fabric.
    """
    service = Service(fabric, unprovisioned)
    least_uplink_percent, _ = service.least_uplinks(out, down)
    return Capacity(
        least_uplink_percent,
        service.least_paths(out, down),
        rails_out(fabric, out, unprovisioned=unprovisioned),
    )


@dataclass(frozen=True, slots=True)
class _LowerSwitch:
    """A switch in service below the top tier."""

    network: Network
    # Uplink bandwidth in Gb/s.
    gbps: int
    # The switches above it, one bit each: sets of thousands of switches are compared by one integer operation.
    uppers: int


class _LeafGroup(NamedTuple):
    """The leaves of a network that are linked with the same switches."""

    network: Network
    # The switches above them, one bit each.
    uppers: int


def _bandwidth_below(fabric: Fabric, uppers: Iterable[str], unprovisioned: frozenset[str]) -> dict[str, dict[str, int]]:
    """Return the bandwidth in Gb/s from each of ``uppers`` to each switch that is linked below it."""
    below: dict[str, dict[str, int]] = {name: {} for name in uppers}
    for link in fabric.fabric_links:
        if link.upper not in unprovisioned and link.lower not in unprovisioned:
            gbps_of_lower = below[link.upper]
            gbps_of_lower[link.lower] = gbps_of_lower.get(link.lower, 0) + link.speed_gbps
    return below


class UplinksLeft(NamedTuple):
    """The uplinks that are left after a failure."""

    # Switch in service that loses uplinks → the part of its own uplink bandwidth that is left.
    percents: dict[str, float]
    # The switches out of service, including spines that have lost all uplinks.
    out: set[str]


class Service:
    """The switches that carry traffic, counted once so that many questions can be asked."""

    def __init__(self, fabric: Fabric, unprovisioned: Collection[str] = ()) -> None:
        uppers = [switch.name for switches in fabric.tier_switches[1:] for switch in switches]
        self._bit = {name: 1 << index for index, name in enumerate(uppers)}
        self._below = _bandwidth_below(fabric, uppers, frozenset(unprovisioned))
        """Upper switch → lower switch → bandwidth between the two, in Gb/s."""
        self._lower = self._lower_switches(fabric, unprovisioned)
        leaves = [lower for name, lower in self._lower.items() if name not in self._bit]
        self._leaf_counts = Counter(_LeafGroup(leaf.network, leaf.uppers) for leaf in leaves)
        """The number of leaves in each group."""
        self._above = {bit: self._lower[name].uppers for name, bit in self._bit.items() if name in self._lower}
        """The switches above each switch between the lowest and the top tier, both as bits."""
        self._pod_of: dict[str, _PodOfPlane] = {}
        """The pods of the leaves."""
        self._spines_of: dict[_PodOfPlane, set[str]] = {}
        """The switches of each pod between the lowest and the top tier."""
        self._place_in_pods(fabric)
        self._leaves_per_pod = Counter(self._pod_of.values())

    def _place_in_pods(self, fabric: Fabric) -> None:
        """Set the pods of the leaves and of the spines below the top tier."""
        for switch in chain.from_iterable(fabric.tier_switches[:-1]):
            if switch.name not in self._lower:
                continue
            pod = _PodOfPlane(switch.plane, switch.pod)
            is_leaf = switch.name not in self._bit
            if is_leaf:
                self._pod_of[switch.name] = pod
            else:
                self._spines_of.setdefault(pod, set()).add(switch.name)

    def _lower_switches(self, fabric: Fabric, unprovisioned: Collection[str]) -> dict[str, _LowerSwitch]:
        """Return the switches in service below the top tier, by name."""
        uplink_gbps: defaultdict[str, int] = defaultdict(int)
        uppers: defaultdict[str, int] = defaultdict(int)
        for upper, gbps_of_lower in self._below.items():
            for lower, gbps in gbps_of_lower.items():
                uplink_gbps[lower] += gbps
                uppers[lower] |= self._bit[upper]
        lower_switches = {}
        for switch in chain.from_iterable(fabric.tier_switches[:-1]):
            name = switch.name
            if name not in unprovisioned:
                lower_switches[name] = _LowerSwitch(fabric.network_of(switch), uplink_gbps[name], uppers[name])
        return lower_switches

    def least_uplinks(self, out: Collection[str], down: Collection[Link] = ()) -> tuple[float, str]:
        """Return the percentage of its own uplinks that the worst switch in service has left, and its name.

        The name is empty if no switch in service loses uplinks.
        """
        percents = self.uplinks_left(out, down).percents
        if not percents:
            return 100.0, ""
        # Name a leaf rather than a spine with the same percentage: it is nearer to the GPUs that lose bandwidth.
        worst = min(percents, key=lambda name: (percents[name], name in self._bit))
        return percents[worst], worst

    def uplinks_left(self, out: Collection[str], down: Collection[Link] = ()) -> UplinksLeft:
        """Return what is left of the uplinks of the switches in service that lose some.

        A spine that loses all its uplinks counts as out of service, because it carries no traffic between pods. If
        only one pod has leaves in service there is no such traffic, and the uplinks of its spines do not count.
        """
        spines_of_single_pods = self._spines_of_single_pods(out)
        out_of_service = set(out)
        while True:
            lost_gbps = self._lost_gbps(out_of_service, down)
            for name in spines_of_single_pods & lost_gbps.keys():
                del lost_gbps[name]
            cut_off = {name for name, gbps in lost_gbps.items() if self._is_spine_cut_off(name, gbps)}
            newly_cut_off = cut_off - out_of_service
            if not newly_cut_off:
                break
            # The switches below these spines lose uplinks in turn.
            out_of_service |= newly_cut_off
        percents = {}
        for name, gbps in lost_gbps.items():
            if name not in out_of_service:
                percents[name] = 100 * (1 - gbps / self._lower[name].gbps)
        return UplinksLeft(percents, out_of_service)

    def _spines_of_single_pods(self, out: Collection[str]) -> set[str]:
        """Return the spines of each pod whose plane has no other pod with leaves in service."""
        if not self._spines_of:
            return set()
        leaves_out = Counter(self._pod_of[name] for name in set(out) if name in self._pod_of)
        # Subtracting Counters drops pods without leaves in service.
        pods_in_service = (self._leaves_per_pod - leaves_out).keys()
        pods_per_plane = Counter(pod.plane for pod in pods_in_service)
        single: set[str] = set()
        for pod, spines in self._spines_of.items():
            other_pods = pods_per_plane[pod.plane]
            if pod in pods_in_service:
                other_pods -= 1
            if not other_pods:
                single |= spines
        return single

    def _is_spine_cut_off(self, name: str, lost_gbps: int) -> bool:
        """Tell whether a switch is between two tiers and loses all its uplinks."""
        return name in self._bit and lost_gbps == self._lower[name].gbps

    def _lost_gbps(self, out: Collection[str], down: Collection[Link]) -> Counter[str]:
        """Return the uplink bandwidth in Gb/s that each switch loses."""
        lost: Counter[str] = Counter()
        for upper in out:
            for lower, gbps in self._below.get(upper, {}).items():
                lost[lower] += gbps
        for link in self._links_down_in_service(down, out):
            lost[link.lower] += link.speed_gbps
        return lost

    def least_paths(self, out: Collection[str], down: Collection[Link] = ()) -> int | None:
        """Return the paths between the worst two leaves in service of one network; None if no network has two."""
        leaf_counts = Counter(self._leaf_counts)
        above = self._above
        leaves = self._lower.keys() - self._bit.keys()
        # Leaves that are out of service are no longer in any group.
        for name in leaves.intersection(out):
            leaf = self._lower[name]
            leaf_counts[_LeafGroup(leaf.network, leaf.uppers)] -= 1
        for name, severed in self._severed(down, out).items():
            lower = self._lower[name]
            uppers_left = lower.uppers & ~severed
            is_spine = name in self._bit
            if is_spine:
                above = {**above, self._bit[name]: uppers_left}
            else:
                # A leaf that loses all links to a switch changes to the group of leaves without that switch.
                leaf_counts[_LeafGroup(lower.network, lower.uppers)] -= 1
                leaf_counts[_LeafGroup(lower.network, uppers_left)] += 1
        in_service = ~sum(self._bit[name] for name in set(out) if name in self._bit)
        return _least_paths(leaf_counts, in_service, above)

    def _links_down_in_service(self, down: Collection[Link], out: Collection[str]) -> Iterable[Link]:
        """Yield each link of ``down`` once whose two switches are in service."""
        # A link that is drained may be named again by what is done next.
        for link in dict.fromkeys(down):
            is_end_out = link.upper in out or link.lower in out
            if not is_end_out and link.lower in self._below.get(link.upper, ()):
                yield link

    def _severed(self, down: Collection[Link], out: Collection[str]) -> dict[str, int]:
        """Return the upper switches, as bits, that each lower switch in service has no link left with."""
        lost_gbps: Counter[tuple[str, str]] = Counter()
        for link in self._links_down_in_service(down, out):
            lost_gbps[link.lower, link.upper] += link.speed_gbps
        severed: defaultdict[str, int] = defaultdict(int)
        for (lower, upper), gbps in lost_gbps.items():
            if gbps >= self._below[upper][lower]:
                severed[lower] |= self._bit[upper]
        return severed


def _least_paths(leaf_counts: Mapping[_LeafGroup, int], in_service: int, above: Mapping[int, int]) -> int | None:
    """Return the fewest paths between two leaves of one network; None if no network has two leaves.

    ``in_service`` are the upper switches in service, as bits.
    """
    groups_of_network: defaultdict[Network, list[_LeafGroup]] = defaultdict(list)
    for group, count in leaf_counts.items():
        if count:
            groups_of_network[group.network].append(group)
    least: int | None = None
    for groups in groups_of_network.values():
        for index, group in enumerate(groups):
            # Two leaves of the same group are a pair as well.
            first_partner = index if leaf_counts[group] > 1 else index + 1
            for partner in groups[first_partner:]:
                paths = _paths(group.uppers, partner.uppers, in_service, above)
                if least is None or paths < least:
                    least = paths
    return least


def _paths(first_uppers: int, second_uppers: int, in_service: int, above: Mapping[int, int]) -> int:
    """Return how many switches in service join two leaves, in the nearest tier where they have switches in common.

    ``first_uppers`` and ``second_uppers`` are the switches above the two leaves, as bits.
    """
    # Go up tier by tier until the two have a switch in common, or no switches above.
    while first_uppers and second_uppers and not first_uppers & second_uppers:
        first_uppers = _switches_above(first_uppers & in_service, above)
        second_uppers = _switches_above(second_uppers & in_service, above)
    return (first_uppers & second_uppers & in_service).bit_count()


def _switches_above(switches: int, above: Mapping[int, int]) -> int:
    """Return the switches above any of ``switches``, both as bits."""
    uppers = 0
    while switches:
        # x & -x is the lowest bit that is set.
        lowest = switches & -switches
        uppers |= above.get(lowest, 0)
        switches ^= lowest
    return uppers


def rails_out(
    fabric: Fabric, out: Collection[str], *, unprovisioned: Collection[str] = (), down: Collection[Link] = ()
) -> int:
    """Return the number of rails on which the worst GPU node has no link left to a leaf in service."""
    return rails_without(fabric, lost_ports(fabric, (*out, *unprovisioned), down))


def rails_without(fabric: Fabric, lost: Iterable[Link]) -> int:
    """Return the number of rails on which the worst GPU node has no link left when the links ``lost`` are down."""
    rails_lost: Counter[str] = Counter()
    # The nodes of an entry share their ports, so the ports are counted once, by identity.
    ports_per_rail: dict[int, Counter[int | None]] = {}
    lost_links = Counter((link.lower, link.rail) for link in lost)
    for (node, rail), lost_count in lost_links.items():
        ports = fabric.host_of[node].ports
        if id(ports) not in ports_per_rail:
            ports_per_rail[id(ports)] = Counter(port.rail for port in ports)
        if lost_count >= ports_per_rail[id(ports)][rail]:
            rails_lost[node] += 1
    return max(rails_lost.values(), default=0)


def lost_ports(fabric: Fabric, out: Collection[str], down: Collection[Link] = ()) -> Collection[Link]:
    """Return the links of GPU nodes that carry nothing without the switches ``out`` and the links ``down``."""
    # A dictionary keeps the order, and counts a link once that is down at a switch that is out.
    lost = dict.fromkeys(link for link in down if link.is_access)
    for name in out:
        downlinks = fabric.downlinks_of.get(name, ())
        # A switch has either nodes or switches below it, so the first link decides.
        if downlinks and downlinks[0].is_access:
            lost |= dict.fromkeys(downlinks)
    return lost
