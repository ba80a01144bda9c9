"""The cable table: one row a cable, with the ports as people on site and as SONiC name them.

The ``a`` end is the one nearer to the GPUs (GPU node, leaf or spine), the ``b`` end the other, one tier above.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from railweave.csv_text import csv_text
from railweave.fabric.model import LINK_KINDS, Fabric, HostPort, Link, SwitchPort
from railweave.wording import natural_key


class CableRow(NamedTuple):
    """A row of ``cables.csv``; the field names are its columns.

    An alias is the label on a switch's front panel, empty for a GPU node; ``rail`` is None between switches.
    """

    a_device: str
    a_port: str
    a_alias: str
    b_device: str
    b_port: str
    b_alias: str
    speed_gbps: int
    kind: str
    plane: int
    rail: int | None
    length_m: int
    media: str


def cable_rows(fabric: Fabric) -> Iterator[CableRow]:
    """Yield the cables in the order of the a end: device by natural order of names, then port."""
    labels = _of_ports(fabric, _label)
    for link in _links(fabric):
        level, plane, rail, a_device, a_port, b_device, b_port, _, speed_gbps, length_m, media = link
        a, b = labels[a_device][a_port], labels[b_device][b_port]
        yield CableRow(a_device, *a, b_device, *b, speed_gbps, LINK_KINDS[level], plane, rail, length_m, media)


def cables_csv(fabric: Fabric) -> bytes:
    """Return ``cables.csv``: a header, then one line a cable; UTF-8, lines end with a line feed."""
    return "".join([f"{_as_csv(CableRow._fields)}\n", *_lines(fabric)]).encode()


def _lines(fabric: Fabric) -> Iterator[str]:
    """Yield the lines; a large fabric has a quarter of a million, and what is not a link's own is written once."""
    names = {name: _as_csv((name,)) for name in fabric.ports_of}
    labels = _of_ports(fabric, lambda port: _as_csv(_label(port)))
    shared: dict[tuple[object, ...], str] = {}
    for link in _links(fabric):
        level, plane, rail, a_device, a_port, b_device, b_port, _, speed_gbps, length_m, media = link
        about = (speed_gbps, level, plane, rail, length_m, media)
        if about not in shared:
            shared[about] = _as_csv((speed_gbps, LINK_KINDS[level], plane, rail, length_m, media))
        a, b = labels[a_device][a_port], labels[b_device][b_port]
        yield f"{names[a_device]},{a},{names[b_device]},{b},{shared[about]}\n"


def _as_csv(cells: Iterable[object]) -> str:
    return csv_text([cells]).rstrip("\n")


def _links(fabric: Fabric) -> Iterator[Link]:
    for device in sorted(fabric.uplinks_of, key=natural_key):
        yield from fabric.uplinks_of[device]


def _label(port: SwitchPort | HostPort) -> tuple[str, str]:
    return port.name, port.alias if isinstance(port, SwitchPort) else ""


Said = TypeVar("Said")


def _of_ports(fabric: Fabric, say: Callable[[SwitchPort | HostPort], Said]) -> dict[str, list[Said]]:
    """Return what ``say`` says of every port of every device, once for all devices that share their ports."""
    said: dict[int, list[Said]] = {}
    for ports in fabric.ports_of.values():
        if id(ports) not in said:
            said[id(ports)] = [say(one) for one in ports]
    return {name: said[id(ports)] for name, ports in fabric.ports_of.items()}
