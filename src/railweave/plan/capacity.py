"""What a fabric still carries while some of its devices and links are out of service.

Three numbers: the uplink bandwidth of the worst switch, the paths between the worst pair of leaves, and the rails of
the worst GPU node. Devices that are ``unprovisioned`` carry no traffic yet and are left out of all of them. A leaf is a
switch that attaches GPU nodes; the paths between two are the switches of the nearest tier above in which they meet.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from railweave.fabric.model import Fabric, Link


@dataclass(frozen=True, slots=True)
class Capacity:
    """What is left. ``least_uplink_percent`` is of the switch in service that has least of its own uplinks' bandwidth,
    where one that leads nowhere any more counts as lost to the switches below; ``least_paths`` is of the worst two
    leaves in service of one plane, and rail where these are apart, None where none has two; ``rails_out`` is the most
    rails that any GPU node lacks altogether."""

    least_uplink_percent: float
    least_paths: int | None
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
    """A switch in service below the top tier: its plane and, where rails are apart, its rail; its uplink
    bandwidth and the switches above that it is linked with, as bits."""

    network: tuple[int, int | None]
    gbps: int
    uppers: int


class Service:
    """The switches that carry traffic, counted once so that many questions can be asked."""

    def __init__(self, fabric: Fabric, unprovisioned: Collection[str] = ()) -> None:
        unprovisioned = frozenset(unprovisioned)
        uppers = [switch.name for switches in fabric.tier_switches[1:] for switch in switches]
        self._bit = {name: 1 << place for place, name in enumerate(uppers)}
        self._below: dict[str, dict[str, int]] = {name: {} for name in uppers}
        """Upper switch → lower switch → bandwidth between the two, in Gb/s."""
        for link in fabric.fabric_links:
            if link.upper not in unprovisioned and link.lower not in unprovisioned:
                below = self._below[link.upper]
                below[link.lower] = below.get(link.lower, 0) + link.speed_gbps
        self._lower = self._counted(fabric, unprovisioned)
        self._alike = Counter((own.network, own.uppers) for name, own in self._lower.items() if name not in self._bit)
        """How many leaves of a network are linked with the same switches."""
        self._above = {bit: self._lower[name].uppers for name, bit in self._bit.items() if name in self._lower}
        """What switches between the lowest and the top tier are linked with."""

    def _counted(self, fabric: Fabric, unprovisioned: Collection[str]) -> dict[str, _Lower]:
        gbps: Counter[str] = Counter()
        bits: Counter[str] = Counter()
        for upper, below in self._below.items():
            for lower, bandwidth in below.items():
                gbps[lower] += bandwidth
                bits[lower] |= self._bit[upper]
        return {
            switch.name: _Lower(fabric.network_of(switch), gbps[switch.name], bits[switch.name])
            for switches in fabric.tier_switches[:-1]
            for switch in switches
            if switch.name not in unprovisioned
        }

    def least_uplinks(self, out: Collection[str], down: Collection[Link] = ()) -> tuple[float, str]:
        """Return the part of its own uplinks that the worst switch in service has left, in percent, and its name."""
        left = ((percent, name) for name, percent in self.uplinks_left(out, down).items())
        return min(left, key=lambda one: (one[0], one[1] in self._bit), default=(100.0, ""))

    def uplinks_left(self, out: Collection[str], down: Collection[Link] = ()) -> dict[str, float]:
        """Return the part of its own uplinks that every switch in service which loses some has left, in percent.

        A switch between two tiers that has no uplink left announces nothing from above: it counts as lost below.
        """
        lost, cut_off = self._lost(out, down), set(out)
        while cut := {
            name
            for name, gone in lost.items()
            if name in self._bit and name not in cut_off and gone == self._lower[name].gbps
        }:
            cut_off |= cut
            lost = self._lost(cut_off, down)
        return {name: 100 * (1 - gone / self._lower[name].gbps) for name, gone in lost.items() if name not in cut_off}

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
        alike, above = Counter(self._alike), self._above
        for name in set(out) & self._lower.keys() - self._bit.keys():
            own = self._lower[name]
            alike[own.network, own.uppers] -= 1
        for name, severed in self._severed(down, out).items():
            own = self._lower[name]
            if name in self._bit:
                above = {**above, self._bit[name]: own.uppers & ~severed}
            else:
                alike[own.network, own.uppers] -= 1
                alike[own.network, own.uppers & ~severed] += 1
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
    for found in networks.values():
        for place, (uppers, count) in enumerate(found):
            # Leaves of one group are a pair of their own where there are two of them.
            for other, _ in found[place + (count < 2) :]:
                paths = _paths(uppers, other, alive, above)
                least = paths if least is None else min(least, paths)
    return least


def _paths(one: int, other: int, alive: int, above: Mapping[int, int]) -> int:
    """Return how many switches join two: those of the nearest tier in which they are linked with the same ones."""
    while not one & other and one and other:
        one, other = _linked(one & alive, above), _linked(other & alive, above)
    return (one & other & alive).bit_count()


def _linked(switches: int, above: Mapping[int, int]) -> int:
    found = 0
    while switches:
        lowest = switches & -switches
        found |= above.get(lowest, 0)
        switches ^= lowest
    return found


def rails_out(
    fabric: Fabric, out: Collection[str], *, unprovisioned: Collection[str] = (), down: Collection[Link] = ()
) -> int:
    """Return the most rails of which some GPU node has no link left with a leaf in service."""
    lost = lost_ports(fabric, (*out, *unprovisioned), down)
    lacking: Counter[str] = Counter()
    for (host, rail), ports in Counter((link.lower, link.rail) for link in lost).items():
        lacking[host] += ports >= sum(port.rail == rail for port in fabric.host_of[host].ports)
    return max(lacking.values(), default=0)


def lost_ports(fabric: Fabric, out: Collection[str], down: Collection[Link] = ()) -> Collection[Link]:
    """Return the links of GPU nodes that carry nothing without the switches ``out`` and the links ``down``."""
    lost = dict.fromkeys(link for link in down if link.is_access)
    for name in out:
        lost |= dict.fromkeys(link for link in fabric.downlinks_of.get(name, ()) if link.is_access)
    return lost
