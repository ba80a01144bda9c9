"""The names of cables: of the first port at the end nearer to the GPUs, as their labels have them."""

from collections.abc import Hashable

from railweave.cabling.assemblies import plug_place
from railweave.cabling.ends import DevicePort, PluggedEnd, shared_ports
from railweave.cabling.media import LinkingPmds, linking_pmds
from railweave.catalog.load import Catalog
from railweave.catalog.media import Pmd
from railweave.fabric.model import Fabric


def cable_names(fabric: Fabric, catalog: Catalog) -> list[str]:
    """Return the name of the cable of each link, in the order of the fabric's links; links of one cable share it."""
    ports = shared_ports(fabric, catalog)
    media = {medium.id: medium for medium in catalog.media()}
    # By identity: a fabric has a quarter of a million links between a handful of ends, which are slow to hash.
    linking_of: dict[tuple[str, int, int], LinkingPmds] = {}
    places: dict[tuple[int, int], int] = {}
    numbers: dict[Hashable, int] = {}

    def place(port: DevicePort, pmd: Pmd, medium: str) -> int:
        """Return the number of the cage or connector of a port, the same for alike devices."""
        key = (id(port), id(pmd))
        number = places.get(key)
        if number is None:
            end = PluggedEnd(port.cage, port.place, port.ports, port.end.form_factors, pmd)
            number = places[key] = numbers.setdefault((plug_place(media[medium], end), medium), len(numbers))
        return number

    groups = _Groups()
    for number, link in enumerate(fabric.links):
        lower = ports[link.lower][link.lower_port]
        upper = ports[link.upper][link.upper_port]
        if lower.ports == upper.ports == 1:
            # Cages with one port each: the cable has no other link.
            continue
        ends = (link.media, id(lower.end), id(upper.end))
        pmds = linking_of.get(ends)
        if pmds is None:
            pmds = linking_pmds(media[link.media], lower.end, upper.end)
            assert pmds is not None, "the design chose a medium that links both ends"  # noqa: S101
            linking_of[ends] = pmds
        lower_plug = (link.lower, place(lower, pmds.a, link.media))
        groups.add(number, lower_plug, (link.upper, place(upper, pmds.b, link.media)))
    names = []
    ports_of = fabric.ports_of
    for number, link in enumerate(fabric.links):
        first = groups.first(number)
        if first == number:
            names.append(f"{link.lower} {ports_of[link.lower][link.lower_port].name}")
        else:
            names.append(names[first])
    return names


class _Groups:
    """Links by the cable that carries them: those that share a plug, directly or through links between them."""

    def __init__(self) -> None:
        # Of the links that were joined to an earlier one.
        self._parent: dict[int, int] = {}
        self._link_of: dict[tuple[str, int], int] = {}

    def add(self, number: int, lower: tuple[str, int], upper: tuple[str, int]) -> None:
        """Add the link ``number`` between two plugs."""
        for plug in (lower, upper):
            other = self._link_of.setdefault(plug, number)
            if other != number:
                first = self.first(other)
                second = self.first(number)
                if first != second:
                    self._parent[max(first, second)] = min(first, second)

    def first(self, number: int) -> int:
        """Return the first link of the cable of a link."""
        parent = self._parent
        while number in parent:
            above = parent[number]
            parent[number] = parent.get(above, above)
            number = above
        return number
