"""The cable table: one row a cable, with the ports as people on site and as SONiC name them.

The ``a`` end is the one nearer to the GPUs (GPU node, leaf or spine), the ``b`` end the other, one tier above.
"""

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from railweave.fabric.model import LINK_KINDS, Fabric, SwitchPort
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
    return map(CableRow._make, _cells(fabric))


def cables_csv(fabric: Fabric) -> bytes:
    """Return ``cables.csv``: a header, then one line a cable; UTF-8, lines end with a line feed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CableRow._fields)
    writer.writerows(_cells(fabric))
    return text.getvalue().encode()


def _cells(fabric: Fabric) -> Iterator[tuple[object, ...]]:
    """Yield the cells of every row; a large fabric has a quarter of a million."""
    labels = {
        name: [(one.name, one.alias if isinstance(one, SwitchPort) else "") for one in ports]
        for name, ports in fabric.ports_of.items()
    }
    for a_device in sorted(fabric.uplinks_of, key=natural_key):
        for link in fabric.uplinks_of[a_device]:
            level, plane, rail, _, a_port, b_device, b_port, _, speed_gbps, length_m, media = link
            a, b = labels[a_device][a_port], labels[b_device][b_port]
            yield (a_device, *a, b_device, *b, speed_gbps, LINK_KINDS[level], plane, rail, length_m, media)
