"""The FRR lines that drain a switch or some of its links: operational state, not configuration.

A whole switch is drained by ``bgp graceful-shutdown`` (RFC 8326), a link by route-maps of ours that stand in the place
of its peer group's and call them. FRR 8.4 has no ``neighbor … graceful-shutdown``; there, and later, a member's own
route-map goes before its group's, and ``no`` brings the group's back (run on 8.4.4).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from railweave.sonic.frr.lines import FrrEntry

WHOLE_LINE = "bgp graceful-shutdown"
MAP_PREFIX = "DRAINED-"
OWN_PREFIX = "DRAINED-OWN-"
"""Begins the name where the neighbor had a route-map of its own, which comes back with the undrain."""
_MAP = re.compile(rf"(no )?route-map {MAP_PREFIX}\S+")
_BINDING = re.compile(rf"(no )?neighbor (?P<peer>\S+) route-map (?P<map>{MAP_PREFIX}\S+) (?P<direction>in|out)$")


def map_name(own: str, inherited: str, direction: str) -> str:
    """Return the name of our route-map that takes the place of a neighbor's ``own`` one or of its group's.

    ``own`` and ``inherited`` are empty if the neighbor or its group has none; then the name is that of the direction.
    SONiC's TSA changes every route-map with V4 or V6 in its name, also the group's, which ours calls. In our name these
    letters are lowered, so that TSA and TSB change the group's, drain and undrain ours, in any order.
    """
    if own:
        return f"{OWN_PREFIX}{own}"
    hidden_from_tsa = inherited.replace("V4", "v4").replace("V6", "v6")
    return MAP_PREFIX + (hidden_from_tsa or direction.upper())


@dataclass(frozen=True, slots=True)
class DrainBinding:
    """A neighbor to which a drain binds one of our route-maps; ``direction`` is ``in`` or ``out``."""

    context: str
    peer: str
    route_map: str
    direction: str

    @property
    def own(self) -> str:
        """Return the neighbor's own route-map that the drain replaced; empty if it had its group's or none."""
        if not self.route_map.startswith(OWN_PREFIX):
            return ""
        return self.route_map.removeprefix(OWN_PREFIX)


def binding(entry: FrrEntry) -> DrainBinding | None:
    """Return the neighbor that a line drains, or None."""
    if not entry.context:
        return None
    match = _BINDING.match(entry.line)
    if match is None:
        return None
    return DrainBinding(entry.context, match["peer"], match["map"], match["direction"])


class ReplacedMap(NamedTuple):
    """Where a drain binds a route-map of ours: to a neighbor in an address family, ``in`` or ``out``."""

    context: str
    peer: str
    direction: str


def replaced_maps(drain: Iterable[FrrEntry]) -> set[ReplacedMap]:
    """Return the neighbors, families and directions in which these lines of a drain bind route-maps of ours."""
    bindings = map(binding, drain)
    return {ReplacedMap(bound.context, bound.peer, bound.direction) for bound in bindings if bound is not None}


def is_drain_line(context: str, line: str) -> bool:
    """Tell whether a line (or its ``no``) drains, or is in a route-map that does."""
    # Substrings spare nearly all lines the patterns.
    if MAP_PREFIX not in line and MAP_PREFIX not in context and not line.endswith(WHOLE_LINE):
        return False
    if _MAP.match(context):
        return True
    if not context:
        return _MAP.match(line) is not None or line.removeprefix("no ") == WHOLE_LINE
    if not context.startswith("router bgp "):
        return False
    return line.removeprefix("no ") == WHOLE_LINE or _BINDING.match(line) is not None


def separate(entries: Iterable[FrrEntry]) -> tuple[list[FrrEntry], list[FrrEntry]]:
    """Return the lines without those that drain, and the lines that drain.

    Where the drain replaced a neighbor's own route-map, the first part has that binding again.
    """
    configuration: list[FrrEntry] = []
    drain: list[FrrEntry] = []
    for entry in entries:
        if not is_drain_line(entry.context, entry.line):
            configuration.append(entry)
            continue
        drain.append(entry)
        bound = binding(entry)
        if bound is not None and bound.own:
            own_binding = f"neighbor {bound.peer} route-map {bound.own} {bound.direction}"
            configuration.append(FrrEntry(entry.context, own_binding))
    return configuration, drain
