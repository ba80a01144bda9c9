"""The module, or the end of a cable, that each port of a switch is planned to have."""

from collections.abc import Mapping
from typing import NamedTuple

from railweave.cabling.ends import CabledLink, PluggedEnd, cables_of
from railweave.catalog.load import Catalog
from railweave.fabric.model import Fabric

_COPPER = ("dac", "acc")


class PlannedModule(NamedTuple):
    """What belongs into the cage of a port."""

    # The form factors for which the medium has plugs; several where the cage takes several.
    form_factors: tuple[str, ...]
    # Of one port: ``400G-DR4``.
    pmd: str
    # Of the whole cage, on the wire, in each direction.
    lanes: int
    # The length of the cable in meters.
    length_m: int
    # The cable has fixed ends.
    fixed: bool
    copper: bool
    # Names the piece: the cage of a transceiver, the lower end of a cable with fixed ends.
    piece: str


Modules = Mapping[tuple[str, int], PlannedModule]
"""By switch and index of its port."""


def planned_modules(fabric: Fabric, catalog: Catalog) -> dict[tuple[str, int], PlannedModule]:
    """Return the module of every cabled port of the switches, by switch and index of the port."""
    modules = {}
    for cable in cables_of(fabric, catalog):
        link = cable.link
        if link.lower in fabric.switch_of:
            modules[link.lower, link.lower_port] = _module(cable, cable.lower)
        modules[link.upper, link.upper_port] = _module(cable, cable.upper)
    return modules


def _module(cable: CabledLink, end: PluggedEnd) -> PlannedModule:
    """Return the module, or the end of a cable, at one end of a link."""
    medium = cable.medium
    factors = tuple(factor for factor in end.form_factors if factor in medium.form_factors)
    # A cable with fixed ends is one piece, named after its lower end.
    cage = end.cage
    if not medium.fiber:
        cage = cable.lower.cage
    return PlannedModule(
        form_factors=factors,
        pmd=end.pmd.name,
        lanes=end.ports * (end.pmd.speed_gbps // end.pmd.wire_lane_gbps),
        length_m=cable.link.length_m,
        fixed=not medium.fiber,
        copper=medium.id in _COPPER,
        piece=f"{cage.device} {cage.name}",
    )
