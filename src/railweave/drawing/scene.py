"""What a picture of a fabric shows: blocks of devices in bands, tier by tier, and the cables between them.

A block is one device, or several that the symmetry of the fabric makes alike. Nothing here knows coordinates.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from railweave.fabric.model import Fabric, Link
from railweave.wording import counted


class Unit(NamedTuple):
    """A part of a block: a device, or a stripe or pod of a large fabric. ``opens`` is the picture or device that shows
    more of it."""

    name: str
    opens: str
    devices: tuple[str, ...]


class Block(NamedTuple):
    """Devices that are drawn as one.

    ``level`` is that of their tier, None for nodes; ``band`` counts from the top; ``column`` is that of their stripe or
    pod, None where they belong to all. ``units`` are its parts, one unit where it is a single device. ``rails`` and
    ``planes`` are those that it is of alone, none where it carries all.
    """

    key: str
    title: str
    subtitle: str
    level: int | None
    band: int
    column: int | None
    units: tuple[Unit, ...]
    opens: str
    rails: frozenset[int] = frozenset()
    planes: frozenset[int] = frozenset()

    @property
    def devices(self) -> tuple[str, ...]:
        """Return the names of its devices."""
        return tuple(name for unit in self.units for name in unit.devices)


class Bundle(NamedTuple):
    """The cables between two blocks, by their keys: how many, of which speeds in Gb/s, rails and planes; ``rails`` is
    empty between switches that carry every rail, the speeds of cables that the fabric no longer has are not known."""

    upper: str
    lower: str
    cables: int
    speeds_gbps: tuple[int, ...]
    rails: frozenset[int]
    planes: frozenset[int]

    @property
    def title(self) -> str:
        """Return what it is, for people: ``8 × 400G``."""
        if not self.speeds_gbps:
            return counted(self.cables, "cable")
        speeds = ", ".join(f"{speed}G" for speed in self.speeds_gbps)
        return f"{self.cables:,} × {speeds}" if self.cables > 1 else speeds


class Scene(NamedTuple):
    """One picture before it is laid out. ``key`` names it among the pictures of a fabric (``fabric``, ``pod-1``,
    ``stripe-3``, ``switch-NAME``), ``about`` says in a sentence what it shows. ``bands`` are the titles from the top,
    ``columns`` those of the stripes or pods beside each other."""

    key: str
    title: str
    about: str
    bands: tuple[str, ...]
    columns: tuple[str, ...]
    blocks: tuple[Block, ...]
    bundles: tuple[Bundle, ...]


def bundles(fabric: Fabric, blocks: Iterable[Block]) -> tuple[Bundle, ...]:
    """Return the cables between blocks, in the order of the lower ends; cables to what is not drawn are left out."""
    shown = list(blocks)
    block_of = {name: block.key for block in shown for name in block.devices}
    cables: Counter[tuple[str, str]] = Counter()
    met: defaultdict[tuple[str, str], tuple[set[int], set[int], set[int]]] = defaultdict(lambda: (set(), set(), set()))
    for name, lower in block_of.items():
        for link in fabric.uplinks_of[name]:
            if (upper := block_of.get(link.upper)) is None:
                continue
            cables[upper, lower] += 1
            speeds, rails, planes = met[upper, lower]
            speeds.add(link.speed_gbps)
            planes.add(link.plane)
            if (rail := rail_of(fabric, link)) is not None:
                rails.add(rail)
    return tuple(
        Bundle(
            *ends, count, tuple(sorted(met[ends][0], reverse=True)), frozenset(met[ends][1]), frozenset(met[ends][2])
        )
        for ends, count in cables.items()
    )


def rail_of(fabric: Fabric, link: Link) -> int | None:
    """Return the rail of a cable: that of the NIC at its end, or of the switch; None where it carries every rail."""
    if link.rail is not None:
        return link.rail
    lower = fabric.switch_of.get(link.lower)
    return None if lower is None else lower.rail


def short(fabric: Fabric, name: str) -> str:
    """Return the name of a device without the fabric's before it."""
    return name.removeprefix(f"{fabric.name}-")
