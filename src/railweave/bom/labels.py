"""Labels of cables: one for every plug, with its own end and the far ones, as TIA-606 asks of a cable's label.

A cable is named by the first port of its end nearer to the GPUs, so that a name never changes as the fabric grows.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from railweave.bom.bill import cable_title
from railweave.cabling.assemblies import Assembly, assemblies, plugs_of
from railweave.cabling.ends import Cable, cables_of
from railweave.catalog.load import Catalog
from railweave.fabric.model import Fabric, SwitchPort
from railweave.wording import natural_key


class LabelEnd(NamedTuple):
    """Ports of one device into which a plug leads: as the system names them, and as they are printed on the front.

    ``rack`` is empty and ``unit`` None where the intent has no racks."""

    device: str
    ports: tuple[str, ...]
    aliases: tuple[str, ...]
    rack: str
    unit: int | None


class Label(NamedTuple):
    """The label of one plug: ``near`` is what it is plugged into, ``far`` what the others of its cable are."""

    cable: str
    near: LabelEnd
    far: tuple[LabelEnd, ...]
    part: str
    length_m: int


def cable_labels(fabric: Fabric, catalog: Catalog) -> tuple[Label, ...]:
    """Return the labels of all plugs in the order in which people meet them: by rack, unit from the floor, and port."""
    found = [placed for one in assemblies(cables_of(fabric, catalog)) for placed in _labels(fabric, one)]
    racks = {} if fabric.racks is None else {name: place for place, name in enumerate(fabric.racks.racks)}
    order = {name: natural_key(name) for name in fabric.ports_of}
    found.sort(
        key=lambda one: (racks.get(one[1].near.rack, 0), one[1].near.unit or 0, order[one[1].near.device], one[0])
    )
    return tuple(label for _, label in found)


def _labels(fabric: Fabric, one: Assembly) -> Iterator[tuple[int, Label]]:
    """Yield the labels of a cable, each with the place of its plug's first port on the device."""
    first = one.links[0].link
    name = f"{first.lower} {fabric.ports_of[first.lower][first.lower_port].name}"
    title = cable_title(one)
    for is_lower, plugs in zip((True, False), plugs_of(one), strict=True):
        for plug in plugs:
            (near,) = _ends(fabric, plug, is_lower=is_lower)
            port = min(cable.link.lower_port if is_lower else cable.link.upper_port for cable in plug)
            yield port, Label(name, near, _ends(fabric, plug, is_lower=not is_lower), title, one.length_m)


def _ends(fabric: Fabric, cables: Iterable[Cable], *, is_lower: bool) -> tuple[LabelEnd, ...]:
    """Return the ports of one side of some links, device by device."""
    ports: dict[str, list[int]] = {}
    for cable in cables:
        link = cable.link
        device, port = (link.lower, link.lower_port) if is_lower else (link.upper, link.upper_port)
        ports.setdefault(device, []).append(port)
    return tuple(_end(fabric, device, numbers) for device, numbers in ports.items())


def _end(fabric: Fabric, device: str, numbers: Sequence[int]) -> LabelEnd:
    ports = [fabric.ports_of[device][number] for number in sorted(numbers)]
    place = None if fabric.racks is None else fabric.racks.places[device]
    aliases = tuple(port.alias for port in ports if isinstance(port, SwitchPort))
    names = tuple(port.name for port in ports)
    return LabelEnd(device, names, aliases, place.rack if place else "", place.unit if place else None)
