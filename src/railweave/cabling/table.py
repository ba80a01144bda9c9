"""The cable table: one row a cable, with the ports as people on site and as SONiC name them.

The ``a`` end is the one nearer to the GPUs (GPU node or leaf), the ``b`` end the other (leaf or spine).
"""

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from railweave.fabric.model import Fabric, Link, SwitchPort
from railweave.wording import natural_key


class CableRow(NamedTuple):
    """A row of ``cables.csv``; the field names are its columns.

    An alias is the label on a switch's front panel, empty for a GPU node; ``rail`` is None between leaf and spine.
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
    names = sorted({link.lower for link in fabric.links}, key=natural_key)
    rank = {name: place for place, name in enumerate(names)}
    for link in sorted(fabric.links, key=lambda one: (rank[one.lower], one.lower_port)):
        yield _row(fabric, link)


def cables_csv(fabric: Fabric) -> bytes:
    """Return ``cables.csv``: a header, then one line a cable; UTF-8, lines end with a line feed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CableRow._fields)
    writer.writerows(cable_rows(fabric))
    return text.getvalue().encode()


def _row(fabric: Fabric, link: Link) -> CableRow:
    a, b = fabric.ports_of[link.lower][link.lower_port], fabric.ports_of[link.upper][link.upper_port]
    return CableRow(
        link.lower,
        a.name,
        a.alias if isinstance(a, SwitchPort) else "",
        link.upper,
        b.name,
        b.alias if isinstance(b, SwitchPort) else "",
        link.speed_gbps,
        link.kind,
        link.plane,
        link.rail,
        link.length_m,
        link.media,
    )
