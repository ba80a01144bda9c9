"""The route policy in a switch's FRR configuration: whether it accepts a route from a neighbor and sends it to another.

As much of FRR's policy language as a fabric uses (docs.frrouting.org: route maps, filtering, BGP). A route passes a
match that is not understood: a check for routes that must not pass may err on that side only.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from railweave.fabric.policy import Pool, parse_pool
from railweave.sonic.frr.document import FrrDocument
from railweave.sonic.frr.lines import FrrEntry

_IPV4_BITS = 32
_IPV6_BITS = 128
_NEIGHBOR = re.compile(r"neighbor (\S+) (.+)")
# Beginnings of lines about a neighbor that decide about no route.
_DESCRIPTION = ("remote-as", "description", "interface")
_MAP = re.compile(r"route-map (\S+) (permit|deny) (\d+)")
_PREFIX_LIST = re.compile(r"(?:ip|ipv6) prefix-list (\S+) (?:seq \d+ )?(permit|deny) (\S+)(?: ge (\d+))?(?: le (\d+))?")
_COMMUNITY_LIST = re.compile(r"bgp community-list (?:standard |expanded )?(\S+) (?:seq \d+ )?(permit|deny) (.+)")


class BgpRoute(NamedTuple):
    """A BGP route: its prefix, and what neighbors have marked it with."""

    prefix: Pool
    communities: frozenset[str] = frozenset()


class _NeighborLine(NamedTuple):
    """What follows ``neighbor PEER`` in a line, and the bits of an address of its address family."""

    bits: int
    words: str


class _MapRule(NamedTuple):
    """An entry of a route map: what follows ``match`` and ``set`` in its lines."""

    number: int
    permits: bool
    matches: tuple[str, ...]
    sets: tuple[str, ...]


class _PrefixRule(NamedTuple):
    """An entry of a prefix list: prefixes within one (None for any), from the shortest to the longest length."""

    permits: bool
    prefix: Pool | None
    shortest: int
    longest: int


class _CommunityRule(NamedTuple):
    """An entry of a community list: the communities that a route must have, separated by spaces."""

    permits: bool
    communities: str


class RoutePolicy:
    """The route policy of one switch; without a filter every route passes."""

    def __init__(self, document: FrrDocument) -> None:
        """Read the lines that decide about routes."""
        # By the name of a peer or peer group, and of a list or map.
        self._neighbors: dict[str, list[_NeighborLine]] = {}
        self._maps: dict[str, list[_MapRule]] = {}
        self._prefix_lists: dict[str, list[_PrefixRule]] = {}
        self._community_lists: dict[str, list[_CommunityRule]] = {}
        # The lines of each entry of a route map, by its first line.
        map_lines: dict[str, list[str]] = {}
        for entry in document.entries:
            context = entry.path[-1] if entry.path else ""
            neighbor = _NEIGHBOR.fullmatch(entry.line)
            if context.startswith("route-map "):
                map_lines.setdefault(context, []).append(entry.line)
            elif _MAP.fullmatch(entry.line):
                map_lines.setdefault(entry.line, [])
            elif neighbor is not None:
                self._neighbors.setdefault(neighbor[1], []).append(_NeighborLine(_bits_of(entry), neighbor[2]))
            else:
                self._read_list(entry.line)
        for head, lines in map_lines.items():
            self._read_map(head, lines)

    def takes(self, route: BgpRoute, peer: str) -> BgpRoute | None:
        """Return ``route`` as the switch keeps it when ``peer`` sends it, None if it is refused."""
        return self._filtered(route, peer, "in")

    def passes_on(self, route: BgpRoute, peer: str) -> BgpRoute | None:
        """Return ``route`` as the switch sends it to ``peer``, None if it does not."""
        return self._filtered(route, peer, "out")

    def kind(self, peer: str) -> tuple[str, ...]:
        """Return the lines of a peer's policy, with those of its peer group; peers with the same lines are alike."""
        return tuple(line.words for line in self._lines(peer) if not line.words.startswith(_DESCRIPTION))

    def takes_its_own_as(self, peer: str) -> bool:
        """Tell whether a route with the switch's own AS number in its path is taken from ``peer`` (allowas-in)."""
        return any(line.words.startswith("allowas-in") for line in self._lines(peer))

    def _read_list(self, line: str) -> None:
        """Keep a line if it is an entry of a prefix list or community list."""
        prefix_entry = _PREFIX_LIST.fullmatch(line)
        if prefix_entry is not None:
            self._prefix_lists.setdefault(prefix_entry[1], []).append(_prefix_rule(prefix_entry))
            return
        community_entry = _COMMUNITY_LIST.fullmatch(line)
        if community_entry is not None:
            rule = _CommunityRule(community_entry[2] == "permit", community_entry[3])
            self._community_lists.setdefault(community_entry[1], []).append(rule)

    def _read_map(self, head: str, lines: Iterable[str]) -> None:
        """Keep an entry of a route map: its first line and the lines in it."""
        match = _MAP.fullmatch(head)
        if match is None:
            return
        matches = tuple(line.removeprefix("match ") for line in lines if line.startswith("match "))
        sets = tuple(line.removeprefix("set ") for line in lines if line.startswith("set "))
        map_rule = _MapRule(int(match[3]), match[2] == "permit", matches, sets)
        self._maps.setdefault(match[1], []).append(map_rule)

    def _lines(self, peer: str) -> list[_NeighborLine]:
        """Return the lines about a peer and its peer groups."""
        own_lines = self._neighbors.get(peer, [])
        lines = list(own_lines)
        for line in own_lines:
            match = re.search(r"peer-group (\S+)$", line.words)
            if match is not None:
                lines += self._neighbors.get(match[1], [])
        return lines

    def _filtered(self, route: BgpRoute, peer: str, direction: str) -> BgpRoute | None:
        """Return a route after the filters of a peer in a direction (``in`` or ``out``), None if one drops it."""
        bits = route.prefix.bits
        lines = [line.words for line in self._lines(peer) if line.bits == bits]
        # FRR activates neighbors for IPv4 by itself, for IPv6 by `activate` alone.
        if bits == _IPV6_BITS and "activate" not in lines:
            return None
        passed: BgpRoute | None = route
        for line in lines:
            # Such as `route-map NAME in`.
            kind, _, rest = line.partition(" ")
            name, _, filter_direction = rest.partition(" ")
            if passed is not None and filter_direction == direction:
                passed = self._by_filter(kind, name, passed)
        return passed

    def _by_filter(self, kind: str, name: str, route: BgpRoute) -> BgpRoute | None:
        """Return a route as a filter passes it on, None if it is dropped.

        ``kind`` and ``name`` are the first words of a line about a neighbor; lines of other kinds do not filter.
        """
        if kind == "prefix-list" and not self._in_prefix_list(name, route):
            return None
        if kind == "route-map":
            return self._by_map(name, route)
        return route

    def _by_map(self, name: str, route: BgpRoute) -> BgpRoute | None:
        """Return a route after a route map, None if the map denies it; a map that is not defined denies all."""
        for rule in sorted(self._maps.get(name, []), key=lambda rule: rule.number):
            # A match that is not understood must not keep a route from passing: it holds for `permit` only.
            if all(self._matches(match, route, unknown=rule.permits) for match in rule.matches):
                if not rule.permits:
                    return None
                return _marked(route, rule.sets)
        return None

    def _matches(self, match: str, route: BgpRoute, *, unknown: bool) -> bool:
        """Tell whether a route is in the list that a match names; ``unknown`` is the answer for any other match."""
        family = "ip" if route.prefix.bits == _IPV4_BITS else "ipv6"
        list_tests: Mapping[str, Callable[[str, BgpRoute], bool]] = {
            f"{family} address prefix-list ": self._in_prefix_list,
            "community ": self._in_community_list,
        }
        for prefix, is_in_list in list_tests.items():
            if match.startswith(prefix):
                name = match.removeprefix(prefix).split()[0]
                return is_in_list(name, route)
        return unknown

    def _in_prefix_list(self, name: str, route: BgpRoute) -> bool:
        for rule in self._prefix_lists.get(name, []):
            has_length = rule.shortest <= route.prefix.length <= rule.longest
            if has_length and (rule.prefix is None or rule.prefix.holds(route.prefix)):
                return rule.permits
        return False

    def _in_community_list(self, name: str, route: BgpRoute) -> bool:
        for rule in self._community_lists.get(name, []):
            if set(rule.communities.split()) <= route.communities:
                return rule.permits
        return False


def _bits_of(entry: FrrEntry) -> int:
    """Return the bits of an address of the family that a line is about; outside of all families it is IPv4."""
    if any(line.startswith("address-family ipv6") for line in entry.path):
        return _IPV6_BITS
    return _IPV4_BITS


def _prefix_rule(match: re.Match[str]) -> _PrefixRule:
    """Return the entry of a prefix list from a match of ``_PREFIX_LIST``."""
    prefix = parse_prefix(match[3])
    bits = _IPV6_BITS if match[0].startswith("ipv6") else _IPV4_BITS
    shortest = 0
    if prefix is not None:
        shortest = prefix.length
    longest = shortest
    # FRR: `ge` alone reaches up to full addresses, and so does `any`.
    if match[4] or prefix is None:
        longest = bits
    if match[4]:
        shortest = int(match[4])
    if match[5]:
        longest = int(match[5])
    return _PrefixRule(match[2] == "permit", prefix, shortest, longest)


def _marked(route: BgpRoute, sets: Iterable[str]) -> BgpRoute:
    """Return a route with the communities that a route map sets."""
    for line in sets:
        kind, _, rest = line.partition(" ")
        if kind == "community":
            arguments = rest.split()
            communities = frozenset(arguments) - {"additive", "none"}
            # FRR replaces the communities of a route unless the line says `additive`.
            if "additive" in arguments:
                communities |= route.communities
            route = route._replace(communities=communities)
    return route


def parse_prefix(text: str) -> Pool | None:
    """Return a prefix of either family; None for ``any`` and for text that is not a prefix."""
    try:
        return parse_pool(text)
    except ValueError:
        return None
