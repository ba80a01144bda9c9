"""Structured cabling: fibers between racks in trunks of several connectors, with patch cords at both ends.

A link takes one connector of a trunk between the panels of its racks, and a cord from each panel to its device. Cord,
trunk and cord are three segments of type B (TIA-568.3): only an odd number crosses transmit to receive. Duplex links
share a connector through cassettes. Breakout fibers, and fibers within a rack, stay cables of their own.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import ceil
from typing import NamedTuple

from railweave.cabling.assemblies import Assembly, AssemblyShape
from railweave.fabric.racks import RackLayout, Trunks

PAIRS_OF_A_CONNECTOR = 6
"""Pairs of fibers in one MPO-12, which a cassette spreads to as many duplex connectors."""


class TrunkPart(NamedTuple):
    """A part of structured cabling."""

    part: str
    description: str
    # None for a cassette.
    length_m: int | None
    quantity: int
    # The kind of links that it is for, one of LINK_KINDS.
    where: str


class TrunkRun(NamedTuple):
    """The trunks from one rack to another: their number, and the length of each in meters."""

    rack: str
    far_rack: str
    trunks: int
    length_m: int


class Trunked(NamedTuple):
    """Cables, split into those that stay and those that trunks replace."""

    single: list[Assembly]
    # What is bought instead of the other cables.
    parts: list[TrunkPart]
    # The trunks as they lie in the trays.
    runs: list[TrunkRun]


class _Route(NamedTuple):
    """Links that may share trunks: they join the same racks with the same fiber and plug."""

    rack: str
    far_rack: str
    fiber: str
    plug: str
    where: str

    @property
    def is_duplex(self) -> bool:
        """Whether a link is one pair of fibers, several of which share a connector of the trunk."""
        return not self.plug.startswith("MPO")


def trunked(racks: RackLayout | None, bought: Iterable[Assembly]) -> Trunked:
    """Return the cables that stay single, and the parts and trunks that replace the others.

    All cables stay single if the intent has no racks or no trunks.
    """
    if racks is None or racks.trunks is None:
        return Trunked(list(bought), [], [])
    single: list[Assembly] = []
    routes: dict[_Route, list[Assembly]] = defaultdict(list)
    for assembly in bought:
        route = _route(racks, assembly)
        if route is None:
            single.append(assembly)
        else:
            routes[route].append(assembly)
    parts: list[TrunkPart] = []
    runs = []
    for route, fibers in routes.items():
        # Parallel fibers fill a connector each, pairs share it by way of a cassette.
        connectors = len(fibers)
        if route.is_duplex:
            connectors = ceil(len(fibers) / PAIRS_OF_A_CONNECTOR)
        length_m = max(fiber.length_m for fiber in fibers)
        run = TrunkRun(route.rack, route.far_rack, ceil(connectors / racks.trunks.connectors), length_m)
        runs.append(run)
        parts += _parts(racks.trunks, route, run, connectors, len(fibers))
    return Trunked(single, _summed(parts), runs)


def _route(racks: RackLayout, assembly: Assembly) -> _Route | None:
    """Return the route of a straight fiber between two racks, None for any other cable."""
    is_straight = assembly.shape is AssemblyShape.STRAIGHT
    has_same_plugs = len(set(assembly.plugs)) == 1
    if not assembly.medium.fiber or not is_straight or not has_same_plugs:
        return None
    link = assembly.links[0].link
    rack = racks.places[link.lower].rack
    far_rack = racks.places[link.upper].rack
    if rack == far_rack:
        return None
    return _Route(rack, far_rack, assembly.medium.fiber, assembly.plugs[0], link.kind)


def _parts(trunks: Trunks, route: _Route, run: TrunkRun, connectors: int, links: int) -> Iterator[TrunkPart]:
    """Yield the trunks, patch cords and cassettes for the links of a route, which take ``connectors`` of the trunks."""
    where = route.where
    trunk_plug = route.plug
    polarity = "type B (TIA-568.3)"
    if route.is_duplex:
        trunk_plug = "MPO-12"
        polarity = "duplex, A to B"
    trunk = f"{route.fiber} trunk {trunks.connectors} × {trunk_plug}"
    yield TrunkPart(trunk, "type B (TIA-568.3), panel to panel", run.length_m, quantity=run.trunks, where=where)
    # A cord at each end of every link.
    cord = f"{route.fiber} patch cord {route.plug} to {route.plug}"
    yield TrunkPart(cord, polarity, trunks.cord_m, quantity=2 * links, where=where)
    # Duplex links share a connector of the trunk by a cassette at each end of it.
    if route.is_duplex:
        cassette = f"cassette MPO-12 to {PAIRS_OF_A_CONNECTOR} × {route.plug}"
        yield TrunkPart(cassette, "one at each end", length_m=None, quantity=2 * connectors, where=where)


def _summed(parts: Iterable[TrunkPart]) -> list[TrunkPart]:
    """Return one entry for each different part, with the quantities added up."""
    quantities: dict[TrunkPart, int] = defaultdict(int)
    for part in parts:
        quantities[part._replace(quantity=0)] += part.quantity
    return [part._replace(quantity=quantity) for part, quantity in quantities.items()]
