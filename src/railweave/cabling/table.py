"""The cable table: one row for each cable, with SONiC's names of the ports and their labels on the front panel.

The ``a`` end is the one nearer to the GPUs (GPU node, leaf or spine), the ``b`` end the other, one tier above.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from railweave.csv_text import csv_text
from railweave.fabric.devices import HostPort
from railweave.fabric.links import LINK_KINDS, Link
from railweave.fabric.model import Fabric
from railweave.fabric.panel import SwitchPort
from railweave.wording import natural_key


class CableRow(NamedTuple):
    """A row of ``cables.csv``; the field names are its columns."""

    # A GPU node, leaf or spine.
    a_device: str
    # Its port, as its operating system names it.
    a_port: str
    # The label on the front panel of a switch, empty for a GPU node.
    a_alias: str
    # A switch of the tier above.
    b_device: str
    # Its port, as SONiC names it.
    b_port: str
    # The label on the front panel.
    b_alias: str
    speed_gbps: int
    # The tiers that it joins, one of LINK_KINDS.
    kind: str
    # Counted from 0.
    plane: int
    # Counted from 0; None between switches.
    rail: int | None
    # The length of the cable to buy.
    length_m: int
    # The catalog's id of the medium.
    media: str


def cable_rows(fabric: Fabric) -> Iterator[CableRow]:
    """Yield the cables in the order of the a end: device by natural order of names, then port."""
    labels = _by_port(fabric, _name_and_alias)
    for link in _links_in_order(fabric):
        a_port, a_alias = labels[link.lower][link.lower_port]
        b_port, b_alias = labels[link.upper][link.upper_port]
        yield CableRow(link.lower, a_port, a_alias, link.upper, b_port, b_alias, *_columns_without_ends(link))


def cables_csv(fabric: Fabric) -> bytes:
    """Return ``cables.csv``: a header, then one line for each cable; UTF-8, lines end with a line feed."""
    return "".join([f"{_as_csv(CableRow._fields)}\n", *_csv_lines(fabric)]).encode()


def _csv_lines(fabric: Fabric) -> Iterator[str]:
    """Yield the lines of ``cables.csv`` behind its header."""
    # A large fabric has a quarter of a million cables: the csv writer runs once for each name, port of a panel and
    # combination of the other columns, and a line only joins these.
    names = {name: _as_csv((name,)) for name in fabric.ports_of}
    labels = _by_port(fabric, lambda port: _as_csv(_name_and_alias(port)))
    endings: dict[_ColumnsWithoutEnds, str] = {}
    for link in _links_in_order(fabric):
        columns = _columns_without_ends(link)
        if columns not in endings:
            endings[columns] = _as_csv(columns)
        a_label = labels[link.lower][link.lower_port]
        b_label = labels[link.upper][link.upper_port]
        yield f"{names[link.lower]},{a_label},{names[link.upper]},{b_label},{endings[columns]}\n"


_ColumnsWithoutEnds = tuple[int, str, int, int | None, int, str]


def _columns_without_ends(link: Link) -> _ColumnsWithoutEnds:
    """Return the columns of a row behind its ends, in their order."""
    return link.speed_gbps, LINK_KINDS[link.level], link.plane, link.rail, link.length_m, link.media


def _as_csv(cells: Iterable[object]) -> str:
    return csv_text([cells]).rstrip("\n")


def _links_in_order(fabric: Fabric) -> Iterator[Link]:
    """Yield all links by the natural order of their lower device, then by its port."""
    for device in sorted(fabric.uplinks_of, key=natural_key):
        yield from fabric.uplinks_of[device]


def _name_and_alias(port: SwitchPort | HostPort) -> tuple[str, str]:
    if isinstance(port, SwitchPort):
        return port.name, port.alias
    return port.name, ""


Value = TypeVar("Value")


def _by_port(fabric: Fabric, value_of: Callable[[SwitchPort | HostPort], Value]) -> dict[str, list[Value]]:
    """Return the value of every port by device and index; devices that share their ports share a list."""
    values: dict[int, list[Value]] = {}
    for ports in fabric.ports_of.values():
        # By identity: switches with one panel hold the same tuple of ports.
        if id(ports) not in values:
            values[id(ports)] = [value_of(port) for port in ports]
    return {name: values[id(ports)] for name, ports in fabric.ports_of.items()}
