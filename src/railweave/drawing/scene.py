"""The content of a picture: blocks of devices in bands, tier by tier, and the cables between them.

A block is one device, or several with the same role in the fabric. Coordinates are left to ``layout``.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from railweave.fabric.model import Fabric, Link
from railweave.wording import counted


class Unit(NamedTuple):
    """A part of a block: a device, or a stripe or pod of a large fabric.

    ``opens`` is the key of the picture or device that shows more of it.
    """

    name: str
    opens: str
    devices: tuple[str, ...]


class DeviceBlock(NamedTuple):
    """Devices that are drawn as one.

    ``key``: the name of its first device.
    ``title``: the name, or the number of devices.
    ``subtitle``: the model, the rail or the place.
    ``level``: of its tier, None for nodes.
    ``band``: the row that it is in, counted from the top.
    ``column``: of its stripe or pod, None if it belongs to all.
    ``units``: its parts; a single device is one unit.
    ``opens``: the key of the picture or device that shows more of it, empty for none.
    ``rails``: the only rail that its devices serve, empty if they serve several.
    ``planes``: the planes of its switches.
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
    """The cables between two blocks, which are given by their keys.

    ``rails`` is empty between switches that carry every rail, ``speeds_gbps`` for cables that the fabric no longer has.
    """

    upper: str
    lower: str
    cables: int
    speeds_gbps: tuple[int, ...]
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
    """One picture before it is laid out.

    ``key`` names it among the pictures of a fabric (``fabric``, ``pod-1``, ``stripe-3``, ``device-NAME``), ``about``
    describes its content in a sentence. ``bands`` are the titles from the top, ``columns`` those of the stripes or pods
    beside each other.
    """

    key: str
    title: str
    about: str
    bands: tuple[str, ...]
    columns: tuple[str, ...]
    blocks: tuple[DeviceBlock, ...]
    bundles: tuple[Bundle, ...]


def bundles(fabric: Fabric, blocks: Iterable[DeviceBlock]) -> tuple[Bundle, ...]:
    """Return the cables between blocks, in the order of the lower ends; cables to devices not drawn are left out."""
    block_of: dict[str, str] = {}
    for block in blocks:
        block_of.update(dict.fromkeys(block.devices, block.key))
    links: defaultdict[tuple[str, str], list[Link]] = defaultdict(list)
    for name, lower in block_of.items():
        for link in fabric.uplinks_of[name]:
            upper = block_of.get(link.upper)
            if upper is not None:
                links[upper, lower].append(link)
    return tuple(_bundle(fabric, upper, lower, between) for (upper, lower), between in links.items())


def _bundle(fabric: Fabric, upper: str, lower: str, links: Sequence[Link]) -> Bundle:
    speeds = {link.speed_gbps for link in links}
    rails = {rail_of(fabric, link) for link in links}
    planes = frozenset(link.plane for link in links)
    return Bundle(
        upper,
        lower,
        len(links),
        tuple(sorted(speeds, reverse=True)),
        frozenset(rail for rail in rails if rail is not None),
        planes,
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
