"""Labels of cables: one for every plug, with its own end and the far ones, as TIA-606 requires.

A cable is named by the first port of its end nearer to the GPUs, so that the name stays as the fabric grows.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from railweave.bom.bill import cable_title
from railweave.cabling.assemblies import Assembly, assemblies, plugs_of
from railweave.cabling.ends import CabledLink, cables_of
from railweave.catalog.load import Catalog
from railweave.fabric.model import Fabric
from railweave.fabric.panel import SwitchPort
from railweave.wording import natural_key


class LabelEnd(NamedTuple):
    """The ports of one device that a plug serves, with their place."""

    device: str
    # The names of the operating system.
    ports: tuple[str, ...]
    # The labels on the front panel; none for a GPU node.
    aliases: tuple[str, ...]
    # Empty if the intent has no racks.
    rack: str
    # The lowest rack unit of the device, None without racks.
    unit: int | None


class CableLabel(NamedTuple):
    """The label of one plug: ``near`` is the device it is plugged into, ``far`` those at the other end of the cable."""

    cable: str
    near: LabelEnd
    far: tuple[LabelEnd, ...]
    part: str
    length_m: int


def cable_labels(fabric: Fabric, catalog: Catalog) -> tuple[CableLabel, ...]:
    """Return the labels of all plugs in the order of a walk along the racks: by rack, rack unit, device and port."""
    rack_order: dict[str, int] = {}
    if fabric.racks is not None:
        rack_order = {name: position for position, name in enumerate(fabric.racks.racks)}
    device_order = {name: natural_key(name) for name in fabric.ports_of}

    def walk_order(plug: _LabeledPlug) -> tuple[int, int, tuple[str | int, ...], int]:
        near = plug.label.near
        return rack_order.get(near.rack, 0), near.unit or 0, device_order[near.device], plug.first_port

    plugs: list[_LabeledPlug] = []
    for assembly in assemblies(cables_of(fabric, catalog)):
        plugs += _labeled_plugs(fabric, assembly)
    return tuple(plug.label for plug in sorted(plugs, key=walk_order))


class _LabeledPlug(NamedTuple):
    """A plug with its label."""

    # The lowest index of its ports on the device.
    first_port: int
    label: CableLabel


def _labeled_plugs(fabric: Fabric, assembly: Assembly) -> Iterator[_LabeledPlug]:
    """Yield the plugs of a cable, those at its lower end first."""
    first_link = assembly.links[0].link
    cable_name = f"{first_link.lower} {fabric.ports_of[first_link.lower][first_link.lower_port].name}"
    title = cable_title(assembly)
    lower_plugs, upper_plugs = plugs_of(assembly)
    for plug in lower_plugs:
        # The links of a plug end at one device on its own side; only the far side of a breakout has several.
        (near_end,) = _lower_ends(fabric, plug)
        label = CableLabel(cable_name, near_end, _upper_ends(fabric, plug), title, assembly.length_m)
        yield _LabeledPlug(min(wired.link.lower_port for wired in plug), label)
    for plug in upper_plugs:
        (near_end,) = _upper_ends(fabric, plug)
        label = CableLabel(cable_name, near_end, _lower_ends(fabric, plug), title, assembly.length_m)
        yield _LabeledPlug(min(wired.link.upper_port for wired in plug), label)


def _lower_ends(fabric: Fabric, cables: Iterable[CabledLink]) -> tuple[LabelEnd, ...]:
    return _ends(fabric, ((cable.link.lower, cable.link.lower_port) for cable in cables))


def _upper_ends(fabric: Fabric, cables: Iterable[CabledLink]) -> tuple[LabelEnd, ...]:
    return _ends(fabric, ((cable.link.upper, cable.link.upper_port) for cable in cables))


def _ends(fabric: Fabric, device_ports: Iterable[tuple[str, int]]) -> tuple[LabelEnd, ...]:
    """Return an end for each device; ``device_ports`` are pairs of a device and the index of one of its ports."""
    ports: dict[str, list[int]] = {}
    for device, port in device_ports:
        ports.setdefault(device, []).append(port)
    return tuple(_end(fabric, device, indexes) for device, indexes in ports.items())


def _end(fabric: Fabric, device: str, port_indexes: Sequence[int]) -> LabelEnd:
    """Return the end of a label at a device, with its ports in the order of the device."""
    ports = [fabric.ports_of[device][index] for index in sorted(port_indexes)]
    names = tuple(port.name for port in ports)
    aliases = tuple(port.alias for port in ports if isinstance(port, SwitchPort))
    if fabric.racks is None:
        return LabelEnd(device, names, aliases, rack="", unit=None)
    place = fabric.racks.places[device]
    return LabelEnd(device, names, aliases, place.rack, place.unit)
