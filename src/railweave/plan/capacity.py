"""What a fabric still carries while some of its devices and links are out of service.

Three numbers: the uplink bandwidth of the worst leaf, the spines that join the worst pair of leaves, and the rails of
the worst GPU node. Devices that are ``unprovisioned`` carry no traffic yet and are left out of all of them.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from railweave.fabric.model import Fabric, Link


@dataclass(frozen=True, slots=True)
class Capacity:
    """What is left. ``least_uplink_percent`` is of the leaf in service that has least of its own uplinks' bandwidth;
    ``least_paths`` counts the spines that join the worst two leaves in service of one plane, None where no plane has
    two; ``rails_out`` is the most rails that any GPU node lacks altogether."""

    least_uplink_percent: float
    least_paths: int | None
    rails_out: int


def capacity(
    fabric: Fabric, out: Collection[str], *, unprovisioned: Collection[str] = (), down: Collection[Link] = ()
) -> Capacity:
    """Return what ``fabric`` carries without the devices ``out`` and the links ``down``; linear in its links."""
    service = Service(fabric, unprovisioned)
    return Capacity(
        service.least_uplink_percent(out, down),
        service.least_paths(out, down),
        rails_out(fabric, out, unprovisioned=unprovisioned),
    )


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A leaf in service: its plane, its uplink bandwidth and the spines that it is linked with, as bits."""

    plane: int
    gbps: int
    spines: int


class Service:
    """The leaves and spines that carry traffic, counted once so that many questions can be asked."""

    def __init__(self, fabric: Fabric, unprovisioned: Collection[str] = ()) -> None:
        unprovisioned = frozenset(unprovisioned)
        spines = [switch.name for switch in fabric.switches if not switch.tier.attaches_nodes]
        self._bit = {name: 1 << place for place, name in enumerate(spines)}
        self._below: dict[str, dict[str, int]] = {name: {} for name in spines}
        """Spine → leaf → bandwidth between the two, in Gb/s."""
        for link in fabric.fabric_links:
            if link.upper not in unprovisioned and link.lower not in unprovisioned:
                below = self._below[link.upper]
                below[link.lower] = below.get(link.lower, 0) + link.speed_gbps
        self._leaves = self._counted(fabric, unprovisioned)
        self._alike = Counter((leaf.plane, leaf.spines) for leaf in self._leaves.values())
        """How many leaves of a plane are linked with the same spines."""

    def _counted(self, fabric: Fabric, unprovisioned: Collection[str]) -> dict[str, _Leaf]:
        gbps: Counter[str] = Counter()
        bits: Counter[str] = Counter()
        for spine, below in self._below.items():
            for leaf, bandwidth in below.items():
                gbps[leaf] += bandwidth
                bits[leaf] |= self._bit[spine]
        return {
            switch.name: _Leaf(switch.plane, gbps[switch.name], bits[switch.name])
            for switch in fabric.tier_switches[0]
            if switch.name not in unprovisioned
        }

    def least_uplink_percent(self, out: Collection[str], down: Collection[Link] = ()) -> float:
        """Return the part of its own uplinks that the worst leaf in service has left, in percent."""
        lost: Counter[str] = Counter()
        for spine in out:
            for leaf, gbps in self._below.get(spine, {}).items():
                lost[leaf] += gbps
        for link in self._carrying(down, out):
            lost[link.lower] += link.speed_gbps
        return min(
            (100 * (1 - gone / self._leaves[leaf].gbps) for leaf, gone in lost.items() if leaf not in out),
            default=100.0,
        )

    def least_paths(self, out: Collection[str], down: Collection[Link] = ()) -> int | None:
        """Return how many spines join the worst two leaves in service of a plane; None where no plane has two."""
        alike = Counter(self._alike)
        for name in out:
            leaf = self._leaves.get(name)
            if leaf is not None:
                alike[leaf.plane, leaf.spines] -= 1
        for name, severed in self._severed(down, out).items():
            leaf = self._leaves[name]
            alike[leaf.plane, leaf.spines] -= 1
            alike[leaf.plane, leaf.spines & ~severed] += 1
        alive = ~sum(self._bit[name] for name in set(out) if name in self._bit)
        return _least_common(((*group, count) for group, count in alike.items() if count), alive)

    def _carrying(self, down: Collection[Link], out: Collection[str]) -> Iterable[Link]:
        """Yield the links of ``down`` that would carry traffic, were they not down."""
        for link in down:
            if link.upper not in out and link.lower not in out and link.lower in self._below.get(link.upper, ()):
                yield link

    def _severed(self, down: Collection[Link], out: Collection[str]) -> dict[str, int]:
        """Return the spines, as bits, that each leaf in service has no link left with."""
        lost: Counter[tuple[str, str]] = Counter()
        for link in self._carrying(down, out):
            lost[link.lower, link.upper] += link.speed_gbps
        severed: Counter[str] = Counter()
        for (leaf, spine), gbps in lost.items():
            if gbps >= self._below[spine][leaf]:
                severed[leaf] |= self._bit[spine]
        return severed


def _least_common(groups: Iterable[tuple[int, int, int]], alive: int) -> int | None:
    """Return the fewest spines that two leaves of a plane share; groups are (plane, spines as bits, leaves)."""
    planes: dict[int, list[tuple[int, int]]] = {}
    for plane, spines, count in groups:
        planes.setdefault(plane, []).append((spines & alive, count))
    least: int | None = None
    for found in planes.values():
        for place, (spines, count) in enumerate(found):
            # Leaves of one group are a pair of their own where there are two of them.
            for other, _ in found[place + (count < 2) :]:
                common = (spines & other).bit_count()
                least = common if least is None else min(least, common)
    return least


def rails_out(fabric: Fabric, out: Collection[str], *, unprovisioned: Collection[str] = ()) -> int:
    """Return the most rails of which some GPU node has no port on a leaf in service."""
    gone: Counter[tuple[str, int]] = Counter()
    for name in (*out, *unprovisioned):
        for link in fabric.downlinks_of.get(name, ()):
            if link.rail is not None:
                gone[link.lower, link.rail] += 1
    lacking: Counter[str] = Counter()
    for (host, rail), ports in gone.items():
        lacking[host] += ports >= sum(port.rail == rail for port in fabric.host_of[host].ports)
    return max(lacking.values(), default=0)
