"""Structured cabling: fibers between racks as trunks of several connectors, with patch cords at both ends.

A link takes one connector of a trunk between the panels of its racks, and a cord from each panel to its device. Cord,
trunk and cord are three segments of type B (TIA-568.3), an odd number as transceivers need it. Links of one wavelength
pair share a connector through cassettes. Fibers that fan out, and those within a rack, are cables of their own.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import ceil
from typing import NamedTuple

from railweave.cabling.assemblies import Assembly, Shape
from railweave.fabric.racks import Racks, Trunks

PAIRS_OF_A_CONNECTOR = 6
"""Duplex fibers that a cassette spreads from one MPO-12."""


class TrunkPart(NamedTuple):
    """A part of structured cabling: ``quantity`` pieces of ``length_m`` meters, None of a cassette, for the kind of
    links ``where``."""

    part: str
    description: str
    length_m: int | None
    quantity: int
    where: str


class TrunkRun(NamedTuple):
    """The trunks from one rack to another: how many, and the length of each in meters."""

    rack: str
    far_rack: str
    trunks: int
    length_m: int


class Trunked(NamedTuple):
    """A bill with trunks: ``single`` cables stay as they are, ``parts`` are bought instead of the others, ``runs`` lie
    in the trays."""

    single: list[Assembly]
    parts: list[TrunkPart]
    runs: list[TrunkRun]


class _Way(NamedTuple):
    rack: str
    far_rack: str
    fiber: str
    plug: str
    where: str

    @property
    def is_duplex(self) -> bool:
        """Tell whether a link is one pair of fibers, which shares a connector of the trunk with others."""
        return not self.plug.startswith("MPO")


def trunked(racks: Racks | None, bought: Iterable[Assembly]) -> Trunked:
    """Return what is bought where fibers between racks run in trunks, all cables as they are where none do."""
    if racks is None or racks.trunks is None:
        return Trunked(list(bought), [], [])
    single: list[Assembly] = []
    ways: dict[_Way, list[Assembly]] = defaultdict(list)
    for one in bought:
        ends = _racks_of(racks, one)
        if ends is None:
            single.append(one)
        else:
            ways[_Way(*ends, one.medium.fiber, one.plugs[0], one.links[0].link.kind)].append(one)
    parts: list[TrunkPart] = []
    runs = []
    for way, some in ways.items():
        connectors = ceil(len(some) / PAIRS_OF_A_CONNECTOR) if way.is_duplex else len(some)
        length_m = max(one.length_m for one in some)
        run = TrunkRun(way.rack, way.far_rack, ceil(connectors / racks.trunks.connectors), length_m)
        runs.append(run)
        parts += _parts(racks.trunks, way, run, connectors, len(some))
    return Trunked(single, _summed(parts), runs)


def _racks_of(racks: Racks, one: Assembly) -> tuple[str, str] | None:
    """Return the racks of a fiber from one rack to another that does not fan out, None of any other cable."""
    if not one.medium.fiber or one.shape is not Shape.STRAIGHT or len(set(one.plugs)) > 1:
        return None
    link = one.links[0].link
    lower, upper = racks.places[link.lower].rack, racks.places[link.upper].rack
    return None if lower == upper else (lower, upper)


def _parts(trunks: Trunks, way: _Way, run: TrunkRun, connectors: int, links: int) -> Iterator[TrunkPart]:
    connector = "MPO-12" if way.is_duplex else way.plug
    title = f"{way.fiber} trunk {trunks.connectors} × {connector}"
    yield TrunkPart(title, "type B (TIA-568.3), panel to panel", run.length_m, run.trunks, way.where)
    kind = "duplex, A to B" if way.is_duplex else "type B (TIA-568.3)"
    yield TrunkPart(f"{way.fiber} patch cord {way.plug} to {way.plug}", kind, trunks.cord_m, 2 * links, way.where)
    if way.is_duplex:
        spread = f"{PAIRS_OF_A_CONNECTOR} × {way.plug}"
        yield TrunkPart(f"cassette {connector} to {spread}", "one at each end", None, 2 * connectors, way.where)


def _summed(parts: Iterable[TrunkPart]) -> list[TrunkPart]:
    sums: dict[TrunkPart, int] = defaultdict(int)
    for one in parts:
        sums[one._replace(quantity=0)] += one.quantity
    return [one._replace(quantity=quantity) for one, quantity in sums.items()]
