"""Route-maps, prefix lists, AS-path and community lists of FRR, evaluated for one route."""

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sonic_sim.frr.grammar import ROUTE_MAP
from sonic_sim.frr.tree import Context

PREFERENCE = 100
# RFC 8326's community, 65535:0, as FRR prints it.
GRACEFUL_SHUTDOWN = "graceful-shutdown"


class Route(NamedTuple):
    """A route as policies see it; ``prefix`` as text, ``path`` nearest AS first.

    Large fabrics compare and look up tens of millions of them, which a tuple does several times as fast as a dataclass.
    """

    prefix: str
    path: tuple[int, ...] = ()
    communities: frozenset[str] = frozenset()
    local_preference: int = PREFERENCE


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a prefix list: permits or denies prefixes in ``network`` with lengths in a range."""

    sequence: int
    permit: bool
    network: ipaddress.IPv4Network | ipaddress.IPv6Network
    shortest: int
    longest: int


@dataclass(frozen=True, slots=True)
class Clause:
    """One sequence of a route-map with its lines; ``call``: a map that decides too, ``goes_on``: on-match next."""

    sequence: int
    permit: bool
    matches: tuple[list[str], ...]
    sets: tuple[list[str], ...]
    call: str = ""
    goes_on: bool = False


@lru_cache(maxsize=65536)
def network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return a parsed prefix."""
    return ipaddress.ip_network(text, strict=False)


# Routes as filters left them; None where they were stopped.
Judged = dict[Route, Route | None]

_MOST_JUDGED = 1_000_000
# Judgments by the text of the filters: most switches of a fabric have the same ones and are offered the same routes.
_judged: dict[str, Judged] = {}


def _judged_by(filters: str) -> Judged:
    """Return the results of these filters so far."""
    if sum(map(len, _judged.values())) > _MOST_JUDGED:
        _judged.clear()
    return _judged.setdefault(filters, {})


class Policies:
    """The named filters of one switch."""

    def __init__(self, root: Context) -> None:
        """Read them from the running configuration."""
        self._judged: dict[tuple[str, str], Judged] = {}
        self.prefix_lists: dict[str, list[Entry]] = {}
        self.path_lists: dict[str, list[tuple[bool, re.Pattern[str]]]] = {}
        self.community_lists: dict[str, list[tuple[bool, frozenset[str]]]] = {}
        self.maps: dict[str, list[Clause]] = {}
        for line in root.lines.values():
            self._list_line(line.split())
        for context in root.children.values():
            if context.node == ROUTE_MAP:
                name = context.header.split()[1]
                self.maps.setdefault(name, []).append(_clause(context))
        for entries in self.prefix_lists.values():
            entries.sort(key=lambda entry: entry.sequence)
        for clauses in self.maps.values():
            clauses.sort(key=lambda clause: clause.sequence)

    def _list_line(self, words: list[str]) -> None:
        if words[1:2] == ["prefix-list"] and "seq" in words:
            self.prefix_lists.setdefault(words[2], []).append(_entry(words))
        elif words[:2] == ["bgp", "as-path"]:
            action = 6 if words[4] == "seq" else 4
            # In FRR's expressions ``_`` stands for any end of an AS number (lib/filter.c, bgpd/bgp_regex.c).
            pattern = re.compile(" ".join(words[action + 1 :]).replace("_", r"(?:^|$|[ ,{}()])"))
            self.path_lists.setdefault(words[3], []).append((words[action] == "permit", pattern))
        elif words[:2] == ["bgp", "community-list"]:
            place = next(place for place, word in enumerate(words) if word in ("permit", "deny"))
            entry = (words[place] == "permit", frozenset(words[place + 1 :]))
            self.community_lists.setdefault(words[3], []).append(entry)

    def in_prefix_list(self, name: str, prefix: str) -> bool:
        """Tell whether a prefix list permits a prefix; a list that does not exist permits nothing in a route-map."""
        target = network(prefix)
        for entry in self.prefix_lists.get(name, ()):
            same = entry.network.version == target.version
            if same and entry.shortest <= target.prefixlen <= entry.longest and target.subnet_of(entry.network):  # type: ignore[arg-type]
                return entry.permit
        return False

    def through(self, route_map: str, prefix_list: str, route: Route) -> Route | None:
        """Return the route as a neighbor's filters leave it, or None where they stop it."""
        judged = self.judged(route_map, prefix_list)
        if route not in judged:
            judged[route] = self._filtered(route_map, prefix_list, route)
        return judged[route]

    def judged(self, route_map: str, prefix_list: str) -> Judged:
        """Return the results of a neighbor's filters so far, by route; ``through`` adds to them."""
        judged = self._judged.get((route_map, prefix_list))
        if judged is None:
            judged = self._judged[route_map, prefix_list] = _judged_by(self._said(route_map, prefix_list))
        return judged

    def _said(self, route_map: str, prefix_list: str) -> str:
        """Return all that decides about a route: the lists and maps themselves, whatever their names say."""
        parts = [repr((prefix_list, self.prefix_lists.get(prefix_list)))]
        left = [route_map]
        seen = set[str]()
        while left:
            name = left.pop()
            if name in seen:
                continue
            seen.add(name)
            clauses = self.maps.get(name)
            parts.append(repr((name, clauses)))
            for clause in clauses or ():
                if clause.call:
                    left.append(clause.call)
                for words in clause.matches:
                    parts += self._lists_named(words)
        return "\n".join(parts)

    def _lists_named(self, words: list[str]) -> Iterator[str]:
        """Yield the lists that the words of a match name."""
        for word in words:
            for lists in (self.prefix_lists, self.path_lists, self.community_lists):
                if word in lists:
                    yield repr((word, lists[word]))

    def _filtered(self, route_map: str, prefix_list: str, route: Route) -> Route | None:
        # A neighbor's prefix list that does not exist permits everything, a route-map that does not exist nothing.
        if prefix_list and prefix_list in self.prefix_lists and not self.in_prefix_list(prefix_list, route.prefix):
            return None
        return self.through_map(route_map, route) if route_map else route

    def through_map(self, name: str, route: Route) -> Route | None:
        """Return the route after a route-map, or None; a route-map that does not exist stops everything."""
        passed: Route | None = None
        for clause in self.maps.get(name, ()):
            if not all(self._matches(words, route) for words in clause.matches):
                continue
            if not clause.permit:
                return None
            called = self._called(clause.call, _set(clause, route))
            if called is None:
                return None
            route = passed = called
            if not clause.goes_on:
                break
        return passed

    def _called(self, name: str, route: Route) -> Route | None:
        """Return the route after a called route-map; one that does not exist changes nothing."""
        if name not in self.maps:
            return route
        return self.through_map(name, route)

    def _matches(self, words: list[str], route: Route) -> bool:
        if words[1:4] in (["ip", "address", "prefix-list"], ["ipv6", "address", "prefix-list"]):
            return self.in_prefix_list(words[4], route.prefix)
        if words[1] == "as-path":
            return self._in_path_list(words[2], route)
        if words[1] == "community":
            return self._in_community_list(words[2], route)
        if words[1] == "local-preference":
            return route.local_preference == int(words[2])
        if words[1] == "tag":
            return words[2] == "0"  # nothing here sets a tag
        # Interface, peer and metric are not simulated: a clause that asks for them holds.
        return True

    def _in_path_list(self, name: str, route: Route) -> bool:
        """Tell whether the first entry that fits a route's path permits it."""
        text = " ".join(map(str, route.path))
        for permit, pattern in self.path_lists.get(name, ()):
            if pattern.search(text):
                return permit
        return False

    def _in_community_list(self, name: str, route: Route) -> bool:
        """Tell whether the first entry of which a route has all communities permits it."""
        for permit, members in self.community_lists.get(name, ()):
            if members <= route.communities:
                return permit
        return False


def _spelled(community: str) -> str:
    if community in ("65535:0", "gshut"):
        return GRACEFUL_SHUTDOWN
    return community


def _entry(words: list[str]) -> Entry:
    place = words.index("seq")
    text = words[place + 3]
    # ``any`` is every prefix of any length.
    target = network("0.0.0.0/0" if text == "any" else text)
    options = dict(zip(words[place + 4 :: 2], words[place + 5 :: 2], strict=False))
    shortest = target.prefixlen
    longest = target.max_prefixlen if text == "any" else target.prefixlen
    if "ge" in options:
        shortest = int(options["ge"])
        longest = target.max_prefixlen
    if "le" in options:
        longest = int(options["le"])
    return Entry(int(words[place + 1]), words[place + 2] == "permit", target, shortest, longest)


def _set(clause: Clause, route: Route) -> Route:
    for words in clause.sets:
        if words[:2] == ["set", "community"]:
            route = route._replace(communities=_communities(words[2:], route))
        elif words[:3] == ["set", "as-path", "prepend"]:
            numbers = tuple(int(word) for word in words[3:] if word.isdigit())
            route = route._replace(path=(*numbers, *route.path))
        elif words[:2] == ["set", "local-preference"] and words[2].isdigit():
            route = route._replace(local_preference=int(words[2]))
    return route


def _communities(words: Sequence[str], route: Route) -> frozenset[str]:
    """Return the communities of a route after ``set community``."""
    communities = frozenset(map(_spelled, words)) - {"additive"}
    if communities == {"none"}:
        return frozenset()
    if "additive" in words:
        return communities | route.communities
    return communities


def _clause(context: Context) -> Clause:
    """Return an entry of a route-map."""
    _, _, action, sequence = context.header.split()
    lines = [line.split() for line in context.lines.values()]
    matches = tuple(words for words in lines if words[0] == "match")
    sets = tuple(words for words in lines if words[0] == "set")
    call = next((words[1] for words in lines if words[0] == "call"), "")
    return Clause(int(sequence), action == "permit", matches, sets, call, ["on-match", "next"] in lines)
