"""What a fabric still carries while some of its devices and links are out of service.

Three numbers: the uplink bandwidth of the worst switch, the paths between the worst pair of leaves, and the rails of
the worst GPU node. Devices that are ``unprovisioned`` carry no traffic yet and are left out of all of them. A leaf is a
switch that attaches GPU nodes; the paths between two are the switches of the nearest tier above in which they meet.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric

Pod = tuple[int, int | None]
"""A plane and the number of a pod in it, None in two tiers."""


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
    """Return what ``fabric`` carries without the devices ``out`` and the links ``down``; linear in its links."""
    service = Service(fabric, unprovisioned)
    return Capacity(
        service.least_uplinks(out, down)[0],
        service.least_paths(out, down),
        rails_out(fabric, out, unprovisioned=unprovisioned),
    )


@dataclass(frozen=True, slots=True)
class _Lower:
    """A switch in service below the top tier."""

    # Its plane, and its rail if rails are apart.
    network: tuple[int, int | None]
    # Uplink bandwidth in Gb/s.
    gbps: int
    # The switches above it, one bit each: sets of thousands of switches are compared by one integer operation.
    uppers: int


def _bandwidth_below(fabric: Fabric, uppers: Iterable[str], unprovisioned: frozenset[str]) -> dict[str, dict[str, int]]:
    below: dict[str, dict[str, int]] = {name: {} for name in uppers}
    for link in fabric.fabric_links:
        if link.upper not in unprovisioned and link.lower not in unprovisioned:
            lowers = below[link.upper]
            lowers[link.lower] = lowers.get(link.lower, 0) + link.speed_gbps
    return below


class UplinksLeft(NamedTuple):
    """The uplinks that are left after a failure."""

    # Of every switch in service that loses some, the part of its own that it has left.
    percents: dict[str, float]
    # The switches out of service, with the spines that count as such.
    out: set[str]


class Service:
    """The switches that carry traffic, counted once so that many questions can be asked."""

    def __init__(self, fabric: Fabric, unprovisioned: Collection[str] = ()) -> None:
        uppers = [switch.name for switches in fabric.tier_switches[1:] for switch in switches]
        self._bit = {name: 1 << place for place, name in enumerate(uppers)}
        self._below = _bandwidth_below(fabric, uppers, frozenset(unprovisioned))
        """Upper switch → lower switch → bandwidth between the two, in Gb/s."""
        self._lower = self._counted(fabric, unprovisioned)
        leaves = [lower for name, lower in self._lower.items() if name not in self._bit]
        self._alike = Counter((leaf.network, leaf.uppers) for leaf in leaves)
        """How many leaves of a network are linked with the same switches."""
        self._above = {bit: self._lower[name].uppers for name, bit in self._bit.items() if name in self._lower}
        """The switches above each switch between the lowest and the top tier, both as bits."""
        self._pod_of: dict[str, Pod] = {}
        """The pods of the leaves."""
        self._spines_of: dict[Pod, set[str]] = {}
        """The switches of each pod between the lowest and the top tier."""
        self._place_in_pods(fabric)
        self._leaves_of = Counter(self._pod_of.values())

    def _place_in_pods(self, fabric: Fabric) -> None:
        for switch in chain.from_iterable(fabric.tier_switches[:-1]):
            if switch.name not in self._lower:
                continue
            pod = (switch.plane, switch.pod)
            if switch.name in self._bit:
                self._spines_of.setdefault(pod, set()).add(switch.name)
            else:
                self._pod_of[switch.name] = pod

    def _counted(self, fabric: Fabric, unprovisioned: Collection[str]) -> dict[str, _Lower]:
        """Return the switches in service below the top tier."""
        gbps: Counter[str] = Counter()
        bits: Counter[str] = Counter()
        for upper, below in self._below.items():
            for lower, bandwidth in below.items():
                gbps[lower] += bandwidth
                bits[lower] |= self._bit[upper]
        lowers = (switch for switches in fabric.tier_switches[:-1] for switch in switches)
        return {
            switch.name: _Lower(fabric.network_of(switch), gbps[switch.name], bits[switch.name])
            for switch in lowers
            if switch.name not in unprovisioned
        }

    def least_uplinks(self, out: Collection[str], down: Collection[Link] = ()) -> tuple[float, str]:
        """Return the part of its own uplinks that the worst switch in service has left, in percent, and its name."""
        left = self.uplinks_left(out, down).percents
        if not left:
            return 100.0, ""
        # Of two that have equally little left a leaf is named: it is nearer to the GPUs that lose bandwidth.
        worst = min(left, key=lambda name: (left[name], name in self._bit))
        return left[worst], worst

    def uplinks_left(self, out: Collection[str], down: Collection[Link] = ()) -> UplinksLeft:
        """Return what is left of the uplinks of the switches in service that lose some.

        A spine without ways up counts as out of service, because no traffic between pods crosses it. While its pod
        alone has leaves in service there is no such traffic, and the uplinks of its spines do not count.
        """
        alone = self._alone(out)
        cut_off = set(out)
        while True:
            lost = self._lost(cut_off, down)
            for name in alone & lost.keys():
                del lost[name]
            cut = {name for name in lost if self._is_cut_off(name, lost[name])} - cut_off
            if not cut:
                break
            cut_off |= cut
        percents = {
            name: 100 * (1 - gbps / self._lower[name].gbps) for name, gbps in lost.items() if name not in cut_off
        }
        return UplinksLeft(percents, cut_off)

    def _alone(self, out: Collection[str]) -> set[str]:
        """Return the spines of pods beside which no other pod of the plane has leaves in service."""
        if not self._spines_of:
            return set()
        leaves = self._leaves_of - Counter(self._pod_of[name] for name in set(out) if name in self._pod_of)
        alone: set[str] = set()
        pods_of_plane = Counter(plane for plane, _ in leaves)
        for pod, spines in self._spines_of.items():
            others = pods_of_plane[pod[0]] - (pod in leaves)
            if not others:
                alone |= spines
        return alone

    def _is_cut_off(self, name: str, lost_gbps: int) -> bool:
        """Tell whether a switch between two tiers loses all its uplinks."""
        return name in self._bit and lost_gbps == self._lower[name].gbps

    def _lost(self, out: Collection[str], down: Collection[Link]) -> Counter[str]:
        """Return the uplink bandwidth in Gb/s that switches lose."""
        lost: Counter[str] = Counter()
        for upper in out:
            for lower, gbps in self._below.get(upper, {}).items():
                lost[lower] += gbps
        for link in self._carrying(down, out):
            lost[link.lower] += link.speed_gbps
        return lost

    def least_paths(self, out: Collection[str], down: Collection[Link] = ()) -> int | None:
        """Return the paths between the worst two leaves in service of a network; None where none has two."""
        alike = Counter(self._alike)
        above = self._above
        for name in set(out) & self._lower.keys() - self._bit.keys():
            leaf = self._lower[name]
            alike[leaf.network, leaf.uppers] -= 1
        for name, severed in self._severed(down, out).items():
            lower = self._lower[name]
            left = lower.uppers & ~severed
            if name in self._bit:
                above = {**above, self._bit[name]: left}
            else:
                alike[lower.network, lower.uppers] -= 1
                alike[lower.network, left] += 1
        alive = ~sum(self._bit[name] for name in set(out) if name in self._bit)
        return _least_paths(((*group, count) for group, count in alike.items() if count), alive, above)

    def _carrying(self, down: Collection[Link], out: Collection[str]) -> Iterable[Link]:
        """Yield the links of ``down`` that would carry traffic, were they not down."""
        for link in down:
            if link.upper not in out and link.lower not in out and link.lower in self._below.get(link.upper, ()):
                yield link

    def _severed(self, down: Collection[Link], out: Collection[str]) -> dict[str, int]:
        """Return the switches above, as bits, that each switch in service has no link left with."""
        lost: Counter[tuple[str, str]] = Counter()
        for link in self._carrying(down, out):
            lost[link.lower, link.upper] += link.speed_gbps
        severed: Counter[str] = Counter()
        for (lower, upper), gbps in lost.items():
            if gbps >= self._below[upper][lower]:
                severed[lower] |= self._bit[upper]
        return severed


def _least_paths(
    groups: Iterable[tuple[tuple[int, int | None], int, int]], alive: int, above: Mapping[int, int]
) -> int | None:
    """Return the fewest paths between two leaves of a network; groups are (network, switches above as bits, leaves)."""
    networks: dict[tuple[int, int | None], list[tuple[int, int]]] = {}
    for network, uppers, count in groups:
        networks.setdefault(network, []).append((uppers, count))
    least: int | None = None
    for alike in networks.values():
        for place, (uppers, count) in enumerate(alike):
            # Two leaves of one group are a pair as well; a group of one leaf has no such pair.
            first = place if count > 1 else place + 1
            for other, _ in alike[first:]:
                paths = _paths(uppers, other, alive, above)
                if least is None or paths < least:
                    least = paths
    return least


def _paths(uppers: int, other: int, alive: int, above: Mapping[int, int]) -> int:
    """Return how many switches join two leaves: those of the nearest tier in which they are linked with the same ones.

    ``uppers`` and ``other`` are the switches above the two leaves, as bits.
    """
    while not uppers & other and uppers and other:
        uppers = _linked(uppers & alive, above)
        other = _linked(other & alive, above)
    return (uppers & other & alive).bit_count()


def _linked(switches: int, above: Mapping[int, int]) -> int:
    """Return the switches above any of ``switches``, both as bits."""
    linked = 0
    while switches:
        # x & -x is the lowest bit that is set.
        lowest = switches & -switches
        linked |= above.get(lowest, 0)
        switches ^= lowest
    return linked


def rails_out(
    fabric: Fabric, out: Collection[str], *, unprovisioned: Collection[str] = (), down: Collection[Link] = ()
) -> int:
    """Return the most rails of which some GPU node has no link left with a leaf in service."""
    return rails_without(fabric, lost_ports(fabric, (*out, *unprovisioned), down))


def rails_without(fabric: Fabric, lost: Iterable[Link]) -> int:
    """Return the most rails of which some GPU node has no link left without the links ``lost``."""
    lacking: Counter[str] = Counter()
    # All nodes of an entry have the same ports.
    ports_of_rail: dict[int, Counter[int | None]] = {}
    for (name, rail), lost_of_rail in Counter((link.lower, link.rail) for link in lost).items():
        ports = fabric.host_of[name].ports
        if id(ports) not in ports_of_rail:
            ports_of_rail[id(ports)] = Counter(port.rail for port in ports)
        lacking[name] += lost_of_rail >= ports_of_rail[id(ports)][rail]
    return max(lacking.values(), default=0)


def lost_ports(fabric: Fabric, out: Collection[str], down: Collection[Link] = ()) -> Collection[Link]:
    """Return the links of GPU nodes that carry nothing without the switches ``out`` and the links ``down``."""
    lost = dict.fromkeys(link for link in down if link.is_access)
    for name in out:
        links = fabric.downlinks_of.get(name, ())
        # A switch has nodes below it or switches, never both.
        if links and links[0].is_access:
            lost |= dict.fromkeys(links)
    return lost
