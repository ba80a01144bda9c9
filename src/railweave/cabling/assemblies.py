"""Cables as they are bought: which plugs one assembly joins.

A plug is a cage, for cables whose ends are fixed, else a connector of a module. Links that share a plug at one end and
fan out at the other are a breakout cable; links that share plugs at both ends in different ways need a shuffle, which
exists for fibers alone.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from railweave.cabling.ends import Cable, CableEnd
from railweave.catalog.model import Medium
from railweave.units import format_speed


class Shape(StrEnum):
    """How the plugs of an assembly are joined."""

    STRAIGHT = "straight"
    BREAKOUT = "breakout"
    SHUFFLE = "shuffle"


class Assembly(NamedTuple):
    """A cable of ``links`` links; ``plugs`` are its ends in words, the shared end of a breakout first."""

    medium: Medium
    shape: Shape
    plugs: tuple[str, ...]
    length_m: int
    links: tuple[Cable, ...]


LANES_OF_A_CONNECTOR = 4
"""MPO-12 carries four lanes each way (fabric-facts section 3.3); four wavelengths share a duplex fiber (FR4, LR4)."""


def assemblies(cables: Iterable[Cable]) -> list[Assembly]:
    """Return the cables to buy for links: each link is in exactly one of them."""
    links = list(cables)
    plugs: dict[Hashable, tuple[str, ...]] = {}
    found = []
    for group in sharing_plugs(links):
        if len(group) > 1:
            found.append(_assembly(tuple(links[number] for number in group)))
            continue
        # Most cables of a fabric are of one link, and join plugs of a few kinds.
        cable = links[group[0]]
        kind = cable.medium.id, _kind(cable.lower), _kind(cable.upper)
        if kind not in plugs:
            plugs[kind] = _assembly((cable,)).plugs
        found.append(Assembly(cable.medium, Shape.STRAIGHT, plugs[kind], cable.link.length_m, (cable,)))
    return found


def _kind(end: CableEnd) -> Hashable:
    """Return what the words for the plug of one link follow from."""
    return end.form_factors, end.pmd, end.ports


def sharing_plugs(cables: Iterable[Cable]) -> list[list[int]]:
    """Return the numbers of links, those of each assembly together."""
    return joined([[(_plug(one.medium, end), one.medium.id) for end in (one.lower, one.upper)] for one in cables])


def joined(plugs: Sequence[Iterable[Hashable]]) -> list[list[int]]:
    """Return the numbers of links, those together that share a plug with each other or with one between them.

    ``plugs`` are those of each link, by its number."""
    of_plug: dict[Hashable, list[int]] = {}
    for number, held in enumerate(plugs):
        for plug in held:
            of_plug.setdefault(plug, []).append(number)
    parent = list(range(len(plugs)))
    for together in of_plug.values():
        for other in together[1:]:
            parent[_root(parent, other)] = _root(parent, together[0])
    groups: dict[int, list[int]] = {}
    for number in range(len(plugs)):
        groups.setdefault(_root(parent, number), []).append(number)
    return list(groups.values())


def plugs_of(one: Assembly) -> tuple[list[list[Cable]], list[list[Cable]]]:
    """Return the plugs of the lower and of the upper end of an assembly, each as the links that it ends."""
    sides = []
    for ends in ([cable.lower for cable in one.links], [cable.upper for cable in one.links]):
        plugs: dict[Hashable, list[Cable]] = {}
        for cable, end in zip(one.links, ends, strict=True):
            plugs.setdefault(_plug(one.medium, end), []).append(cable)
        sides.append(list(plugs.values()))
    return sides[0], sides[1]


def _root(parent: list[int], number: int) -> int:
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = parent[number]
    return number


def _plug(medium: Medium, end: CableEnd) -> Hashable:
    """Return what an end is plugged into: its cage, or the connector of the module there."""
    if not medium.fiber:
        return end.cage
    lanes = lanes_of(end)
    if medium.duplex or lanes >= LANES_OF_A_CONNECTOR:
        return end.cage, end.place
    return end.cage, end.place * lanes // LANES_OF_A_CONNECTOR


def lanes_of(end: CableEnd) -> int:
    """Return the lanes of a port on the wire, each way."""
    return end.pmd.speed_gbps // end.pmd.wire_lane_gbps


def _assembly(links: tuple[Cable, ...]) -> Assembly:
    medium = links[0].medium
    length_m = max([one.link.length_m for one in links])
    lower = _ends_by_plug(medium, [one.lower for one in links])
    upper = _ends_by_plug(medium, [one.upper for one in links])
    plugs = _title(medium, lower), _title(medium, upper)
    if len(lower) > 1 and len(upper) > 1:
        return Assembly(medium, Shape.SHUFFLE, plugs, length_m, links)
    shape = Shape.STRAIGHT if len(lower) == len(upper) else Shape.BREAKOUT
    # The end that is shared stands first.
    return Assembly(medium, shape, plugs if len(lower) == 1 else plugs[::-1], length_m, links)


def _ends_by_plug(medium: Medium, ends: list[CableEnd]) -> list[list[CableEnd]]:
    """Return the ends of links on one side, those of each plug together."""
    if len(ends) == 1:
        return [ends]
    plugs: dict[Hashable, list[CableEnd]] = {}
    for end in ends:
        plugs.setdefault(_plug(medium, end), []).append(end)
    return list(plugs.values())


def _title(medium: Medium, plugs: list[list[CableEnd]]) -> str:
    """Return the plugs of one side in words, with how many there are of each."""
    if len(plugs) == 1:
        return plug_title(medium, plugs[0])
    titles = Counter(plug_title(medium, together) for together in plugs)
    return ", ".join(f"{count}x {title}" if count > 1 else title for title, count in sorted(titles.items()))


def plug_title(medium: Medium, ends: list[CableEnd]) -> str:
    """Return one plug of a cable in words: ``OSFP 2x400G``, ``MPO-12`` or ``LC duplex``."""
    if not medium.fiber:
        speed = format_speed(ends[0].pmd.speed_gbps)
        return f"{form_factor(medium, ends[0])} {f'{len(ends)}x' if len(ends) > 1 else ''}{speed}"
    lanes = lanes_of(ends[0])
    if medium.duplex:
        pairs = max(1, lanes // LANES_OF_A_CONNECTOR)
        return f"{pairs}x LC duplex" if pairs > 1 else "LC duplex"
    if lanes == 1 and ends[0].ports == 1:
        return "LC duplex"
    return "MPO-16" if lanes > LANES_OF_A_CONNECTOR else "MPO-12"


def form_factor(medium: Medium, end: CableEnd) -> str:
    """Return the form factors of a cage for which the medium has plugs; NICs are sold with several."""
    return " or ".join(one for one in end.form_factors if one in medium.form_factors)
