"""Cable assemblies to buy, and which links each one carries.

A cable with fixed ends plugs into a cage, a fiber into a connector of the module there. Links that share one plug and
fan out at the other end are a breakout cable. Links that share plugs at both ends in different ways need a shuffle,
which exists only for fibers.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from railweave.cabling.ends import CabledLink, PluggedEnd
from railweave.catalog.media import Medium
from railweave.units import format_speed


class AssemblyShape(StrEnum):
    """How the plugs of an assembly are joined."""

    STRAIGHT = "straight"
    BREAKOUT = "breakout"
    SHUFFLE = "shuffle"


class Assembly(NamedTuple):
    """A cable that carries ``links``; ``plugs`` describes its two ends, the shared end of a breakout first."""

    medium: Medium
    shape: AssemblyShape
    plugs: tuple[str, ...]
    length_m: int
    links: tuple[CabledLink, ...]


LANES_OF_A_CONNECTOR = 4
"""MPO-12 carries four lanes each way; four wavelengths share a duplex fiber (FR4, LR4)."""


def assemblies(cables: Iterable[CabledLink]) -> list[Assembly]:
    """Return the cables to buy for links: each link is in exactly one of them."""
    links = list(cables)
    plugs_by_kind: dict[Hashable, tuple[str, ...]] = {}
    bought = []
    for group in sharing_plugs(links):
        if len(group) > 1:
            bought.append(_assembly(tuple(links[number] for number in group)))
            continue
        # Most cables carry one link between a few kinds of plugs: describing each kind once saves most of the time.
        cable = links[group[0]]
        kind = (cable.medium.id, _plug_kind(cable.lower), _plug_kind(cable.upper))
        if kind not in plugs_by_kind:
            plugs_by_kind[kind] = _assembly((cable,)).plugs
        plugs = plugs_by_kind[kind]
        bought.append(Assembly(cable.medium, AssemblyShape.STRAIGHT, plugs, cable.link.length_m, (cable,)))
    return bought


def _plug_kind(end: PluggedEnd) -> Hashable:
    """Return what the description of the plug at a link's end depends on."""
    return end.form_factors, end.pmd, end.ports


def sharing_plugs(cables: Iterable[CabledLink]) -> list[list[int]]:
    """Return the numbers of links in ``cables``, a list for each assembly that carries them."""
    plugs = []
    for cable in cables:
        medium = cable.medium
        plugs.append([(plug_place(medium, cable.lower), medium.id), (plug_place(medium, cable.upper), medium.id)])
    return joined(plugs)


def joined(plugs: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """Return the numbers of links in groups: links of a group share plugs, directly or through links between them.

    ``plugs`` has the plugs of each link, by its number.
    """
    links_by_plug: dict[Hashable, list[int]] = {}
    for number, link_plugs in enumerate(plugs):
        for plug in link_plugs:
            links_by_plug.setdefault(plug, []).append(number)
    # Union-find: a fabric has a quarter of a million links, so groups are merged without comparing pairs of links.
    parent = list(range(len(plugs)))
    for numbers in links_by_plug.values():
        for other in numbers[1:]:
            parent[_root(parent, other)] = _root(parent, numbers[0])
    groups: dict[int, list[int]] = {}
    for number in range(len(plugs)):
        groups.setdefault(_root(parent, number), []).append(number)
    return list(groups.values())


def plugs_of(assembly: Assembly) -> tuple[list[list[CabledLink]], list[list[CabledLink]]]:
    """Return the plugs of the lower and of the upper end of an assembly, each as the links that end in it."""
    lower: dict[Hashable, list[CabledLink]] = {}
    upper: dict[Hashable, list[CabledLink]] = {}
    for cable in assembly.links:
        lower.setdefault(plug_place(assembly.medium, cable.lower), []).append(cable)
        upper.setdefault(plug_place(assembly.medium, cable.upper), []).append(cable)
    return list(lower.values()), list(upper.values())


def _root(parent: list[int], number: int) -> int:
    """Return the representative link of the group of ``number``, and shorten the path to it."""
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = parent[number]
    return number


def plug_place(medium: Medium, end: PluggedEnd) -> Hashable:
    """Return the cage an end is plugged into, or the connector of the module there."""
    if not medium.fiber:
        return end.cage
    lanes = lanes_of(end)
    if medium.duplex or lanes >= LANES_OF_A_CONNECTOR:
        return end.cage, end.place
    # Parallel fibers: ports of fewer lanes than a connector carries share it, in the order of their lanes.
    return end.cage, end.place * lanes // LANES_OF_A_CONNECTOR


def lanes_of(end: PluggedEnd) -> int:
    """Return the number of lanes of a port on the wire, in each direction."""
    return end.pmd.speed_gbps // end.pmd.wire_lane_gbps


def _assembly(links: tuple[CabledLink, ...]) -> Assembly:
    """Return the assembly that carries links which share plugs; it is as long as the longest of them."""
    medium = links[0].medium
    length_m = max(cable.link.length_m for cable in links)
    lower = _ends_by_plug(medium, [cable.lower for cable in links])
    upper = _ends_by_plug(medium, [cable.upper for cable in links])
    lower_title = _side_title(medium, lower)
    upper_title = _side_title(medium, upper)
    if len(lower) > 1 and len(upper) > 1:
        return Assembly(medium, AssemblyShape.SHUFFLE, (lower_title, upper_title), length_m, links)
    if len(lower) > 1:
        # A part is named from the shared plug to the plugs it fans out to, whichever side that is.
        return Assembly(medium, AssemblyShape.BREAKOUT, (upper_title, lower_title), length_m, links)
    shape = AssemblyShape.BREAKOUT if len(upper) > 1 else AssemblyShape.STRAIGHT
    return Assembly(medium, shape, (lower_title, upper_title), length_m, links)


def _ends_by_plug(medium: Medium, ends: list[PluggedEnd]) -> list[list[PluggedEnd]]:
    """Return the ends of links on one side, a list for each plug."""
    if len(ends) == 1:
        return [ends]
    plugs: dict[Hashable, list[PluggedEnd]] = {}
    for end in ends:
        plugs.setdefault(plug_place(medium, end), []).append(end)
    return list(plugs.values())


def _side_title(medium: Medium, plugs: list[list[PluggedEnd]]) -> str:
    """Describe the plugs of one side, with the number of each kind: ``2x OSFP 400G``."""
    if len(plugs) == 1:
        return plug_title(medium, plugs[0])
    counts = Counter(plug_title(medium, ends) for ends in plugs)
    titles = []
    for title, count in sorted(counts.items()):
        titles.append(title if count == 1 else f"{count}x {title}")
    return ", ".join(titles)


def plug_title(medium: Medium, ends: list[PluggedEnd]) -> str:
    """Describe one plug of a cable: ``OSFP 2x400G``, ``MPO-12`` or ``LC duplex``."""
    first = ends[0]
    if not medium.fiber:
        speed = format_speed(first.pmd.speed_gbps)
        if len(ends) > 1:
            speed = f"{len(ends)}x{speed}"
        return f"{form_factor(medium, first)} {speed}"
    lanes = lanes_of(first)
    if medium.duplex:
        # Four wavelengths share a pair of fibers; eight lanes (2xFR4) come with two.
        pairs = max(1, lanes // LANES_OF_A_CONNECTOR)
        return f"{pairs}x LC duplex" if pairs > 1 else "LC duplex"
    if lanes == 1 and first.ports == 1:
        return "LC duplex"
    return "MPO-16" if lanes > LANES_OF_A_CONNECTOR else "MPO-12"


UNKNOWN_FORM_FACTOR = "any form factor"
"""What a plug is called whose cage is not known."""


def form_factor(medium: Medium, end: PluggedEnd) -> str:
    """Return the form factors of a cage for which the medium has plugs; NICs are sold with several."""
    factors = [factor for factor in end.form_factors if factor in medium.form_factors]
    # Only the end of a device without a model may have every one.
    if set(factors) == set(medium.form_factors):
        return UNKNOWN_FORM_FACTOR
    return " or ".join(factors)
