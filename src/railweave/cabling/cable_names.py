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
    plugs = _Plugs(catalog)
    # The cable of each plug, as the first link that was found there.
    cable_at: dict[tuple[str, int], int] = {}
    cables = _Joined()
    for number, link in enumerate(fabric.links):
        lower = ports[link.lower][link.lower_port]
        upper = ports[link.upper][link.upper_port]
        if lower.ports == upper.ports == 1:
            # Cages with one port each: the cable has no other link.
            continue
        lower_plug, upper_plug = plugs.of(lower, upper, link.media)
        below = cable_at.setdefault((link.lower, lower_plug), number)
        above = cable_at.setdefault((link.upper, upper_plug), number)
        if below != number:
            cables.join(number, below)
        if above not in (number, below):
            cables.join(number, above)
    names: list[str] = []
    ports_of = fabric.ports_of
    for number, link in enumerate(fabric.links):
        first = cables.first(number)
        if first == number:
            names.append(f"{link.lower} {ports_of[link.lower][link.lower_port].name}")
        else:
            names.append(names[first])
    return names


class _Plugs:
    """The cages or connectors of ports by number, the same for alike devices."""

    def __init__(self, catalog: Catalog) -> None:
        self._media = {medium.id: medium for medium in catalog.media()}
        # By identity: a fabric has a quarter of a million links between alike ports, which are slow to hash.
        self._plugs: dict[tuple[int, int, str], tuple[int, int]] = {}
        self._pmds: dict[tuple[int, int, str], LinkingPmds] = {}
        self._number_of: dict[tuple[int, int, str], int] = {}
        self._numbers: dict[Hashable, int] = {}

    def of(self, lower: DevicePort, upper: DevicePort, medium: str) -> tuple[int, int]:
        """Return the plugs of a link at its lower and its upper device."""
        key = (id(lower), id(upper), medium)
        plugs = self._plugs.get(key)
        if plugs is None:
            pmds = self._linking_pmds(lower, upper, medium)
            plugs = self._number(lower, pmds.a, medium), self._number(upper, pmds.b, medium)
            self._plugs[key] = plugs
        return plugs

    def _linking_pmds(self, lower: DevicePort, upper: DevicePort, medium: str) -> LinkingPmds:
        ends = (id(lower.end), id(upper.end), medium)
        if ends not in self._pmds:
            pmds = linking_pmds(self._media[medium], lower.end, upper.end)
            assert pmds is not None, "the design chose a medium that links both ends"  # noqa: S101
            self._pmds[ends] = pmds
        return self._pmds[ends]

    def _number(self, port: DevicePort, pmd: Pmd, medium: str) -> int:
        """Return the number of the cage or connector of a port; ports that share it have the same."""
        key = (id(port), id(pmd), medium)
        if key not in self._number_of:
            end = PluggedEnd(port.cage, port.place, port.ports, port.end.form_factors, pmd)
            place = (plug_place(self._media[medium], end), medium)
            self._number_of[key] = self._numbers.setdefault(place, len(self._numbers))
        return self._number_of[key]


class _Joined:
    """Links that share a cable, directly or through links between them: each leads to an earlier one."""

    def __init__(self) -> None:
        self._earlier: dict[int, int] = {}

    def join(self, number: int, other: int) -> None:
        """Note that two links share a cable."""
        first = self.first(number)
        second = self.first(other)
        if first != second:
            self._earlier[max(first, second)] = min(first, second)

    def first(self, number: int) -> int:
        """Return the first link of the cable of a link, and shorten the path to it."""
        earlier = self._earlier
        while number in earlier:
            before = earlier[number]
            earlier[number] = earlier.get(before, before)
            number = before
        return number
