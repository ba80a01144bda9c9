"""The content of a picture: blocks of devices in bands, tier by tier, and the cables between them.

A block is one device, or several with the same role in the fabric. Coordinates are left to ``layout``.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.wording import counted


class Unit(NamedTuple):
    """A part of a block: a device, or a stripe or pod of a large fabric.

    ``opens`` is the key of the picture or device that shows more of it.
    """

    name: str
    opens: str
    devices: tuple[str, ...]

    @property
    def part(self) -> str:
        """Return ``stripe`` or ``pod`` for the devices of one, empty for a device."""
        kind = self.opens.partition("-")[0]
        return kind if kind in ("stripe", "pod") else ""


class DeviceBlock(NamedTuple):
    """Devices that are drawn as one."""

    # The name of its first device, which is in no other block.
    key: str
    # The name of a single device, otherwise a count.
    title: str
    # The model, the rail or the place.
    subtitle: str
    # The level of its tier, from 0 for leaves; None for nodes.
    level: int | None
    # The row of the picture, from 0 at the top.
    band: int
    # The column of its stripe or pod, None if it belongs to all.
    column: int | None
    # A single device is one unit.
    units: tuple[Unit, ...]
    # The key of the picture or device that shows more of it, empty for none.
    opens: str
    # The one rail that all its devices serve; empty if they serve several.
    rails: frozenset[int] = frozenset()
    # The planes of its switches; empty for nodes, which serve all.
    planes: frozenset[int] = frozenset()

    @property
    def devices(self) -> tuple[str, ...]:
        """Return the names of its devices."""
        return tuple(name for unit in self.units for name in unit.devices)


class Bundle(NamedTuple):
    """The cables between two blocks."""

    # The keys of the blocks.
    upper: str
    lower: str
    # The number of cables.
    cables: int
    # The fastest first; empty for cables that the fabric no longer has.
    speeds_gbps: tuple[int, ...]
    # Empty between switches that carry every rail.
    rails: frozenset[int]
    planes: frozenset[int]

    @property
    def title(self) -> str:
        """Describe the cables: ``8 × 400G``."""
        if not self.speeds_gbps:
            return counted(self.cables, "cable")
        speeds = ", ".join(f"{speed}G" for speed in self.speeds_gbps)
        if self.cables > 1:
            return f"{self.cables:,} × {speeds}"
        return speeds


class Scene(NamedTuple):
    """One picture before it is laid out."""

    # The name among the pictures of a fabric: ``fabric``, ``pod-1``, ``stripe-3``, ``device-NAME``.
    key: str
    title: str
    # A sentence about its content, which screen readers read.
    about: str
    # The titles of the bands from the top.
    bands: tuple[str, ...]
    # The titles of the columns: stripes or pods.
    columns: tuple[str, ...]
    blocks: tuple[DeviceBlock, ...]
    bundles: tuple[Bundle, ...]


def bundles(fabric: Fabric, blocks: Iterable[DeviceBlock]) -> tuple[Bundle, ...]:
    """Return the cables between blocks, in the order of the lower ends; cables to devices not drawn are left out."""
    key_of = {name: block.key for block in blocks for name in block.devices}
    links_between: defaultdict[tuple[str, str], list[Link]] = defaultdict(list)
    # Every cable is an uplink of one device, so each is counted once.
    for name, lower_key in key_of.items():
        for link in fabric.uplinks_of[name]:
            upper_key = key_of.get(link.upper)
            if upper_key is not None:
                links_between[upper_key, lower_key].append(link)
    return tuple(_bundle(fabric, upper, lower, links) for (upper, lower), links in links_between.items())


def _bundle(fabric: Fabric, upper: str, lower: str, links: Sequence[Link]) -> Bundle:
    """Return the cables between two blocks as one bundle."""
    speeds = {link.speed_gbps for link in links}
    rails = {rail_of(fabric, link) for link in links}
    return Bundle(
        upper=upper,
        lower=lower,
        cables=len(links),
        speeds_gbps=tuple(sorted(speeds, reverse=True)),
        rails=frozenset(rail for rail in rails if rail is not None),
        planes=frozenset(link.plane for link in links),
    )


def rail_of(fabric: Fabric, link: Link) -> int | None:
    """Return the rail of a cable: that of the NIC or the switch at its lower end, None if it carries every rail."""
    if link.rail is not None:
        return link.rail
    lower = fabric.switch_of.get(link.lower)
    return None if lower is None else lower.rail


def short(fabric: Fabric, name: str) -> str:
    """Return the name of a device without the fabric's name in front."""
    return name.removeprefix(f"{fabric.name}-")
