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
    """One sequence of a route-map with its lines.

    ``call`` is a route-map that decides too, empty for none. ``goes_on`` tells that the next clause is tried as well.
    """

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


Results = dict[Route, Route | None]
"""The routes that filters were asked about, each as they leave it, None where they stop it."""

_MOST_RESULTS = 1_000_000
# By the text of the filters: most switches of a fabric have the same ones and are offered the same routes.
_results: dict[str, Results] = {}


def _results_of(filters: str) -> Results:
    """Return the results so far of filters with this text; if there are too many of all filters, they are dropped."""
    if sum(map(len, _results.values())) > _MOST_RESULTS:
        _results.clear()
    return _results.setdefault(filters, {})


class PathListEntry(NamedTuple):
    """An entry of an AS-path list: permits or denies routes in whose path the pattern is found."""

    permit: bool
    pattern: re.Pattern[str]


class CommunityListEntry(NamedTuple):
    """An entry of a community list: permits or denies routes that have all these communities."""

    permit: bool
    communities: frozenset[str]


class Policies:
    """The named filters of one switch."""

    def __init__(self, root: Context) -> None:
        """Read them from the running configuration."""
        # By route-map and prefix list.
        self._results: dict[tuple[str, str], Results] = {}
        self.prefix_lists: dict[str, list[Entry]] = {}
        self.path_lists: dict[str, list[PathListEntry]] = {}
        self.community_lists: dict[str, list[CommunityListEntry]] = {}
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
        """Add the entry of a list that a line of the configuration states; other lines are ignored."""
        if words[1:2] == ["prefix-list"] and "seq" in words:
            self.prefix_lists.setdefault(words[2], []).append(_entry(words))
        elif words[:2] == ["bgp", "as-path"]:
            self.path_lists.setdefault(words[3], []).append(_path_list_entry(words))
        elif words[:2] == ["bgp", "community-list"]:
            self.community_lists.setdefault(words[3], []).append(_community_list_entry(words))

    def in_prefix_list(self, name: str, prefix: str) -> bool:
        """Tell whether a prefix list permits a prefix; a list that does not exist permits none."""
        target = network(prefix)
        for entry in self.prefix_lists.get(name, ()):
            if entry.network.version != target.version:
                continue
            has_length = entry.shortest <= target.prefixlen <= entry.longest
            if has_length and target.subnet_of(entry.network):  # type: ignore[arg-type]
                return entry.permit
        return False

    def through(self, route_map: str, prefix_list: str, route: Route) -> Route | None:
        """Return a route as a neighbor's filters leave it; None if they stop it. The result is kept."""
        results = self.results(route_map, prefix_list)
        if route not in results:
            results[route] = self._filtered(route_map, prefix_list, route)
        return results[route]

    def results(self, route_map: str, prefix_list: str) -> Results:
        """Return the results of a neighbor's filters so far; ``through`` adds to them."""
        results = self._results.get((route_map, prefix_list))
        if results is None:
            results = _results_of(self._definition(route_map, prefix_list))
            self._results[route_map, prefix_list] = results
        return results

    def _definition(self, route_map: str, prefix_list: str) -> str:
        """Return a text that is equal for filters with equal results: all maps and lists with their contents."""
        parts = [repr((prefix_list, self.prefix_lists.get(prefix_list)))]
        maps_to_add = [route_map]
        maps_added = set[str]()
        while maps_to_add:
            name = maps_to_add.pop()
            if name in maps_added:
                continue
            maps_added.add(name)
            clauses = self.maps.get(name)
            parts.append(repr((name, clauses)))
            for clause in clauses or ():
                if clause.call:
                    maps_to_add.append(clause.call)
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
        """Return a route after a neighbor's filters; None if one stops it. An empty name is no filter."""
        # A neighbor's prefix list that does not exist permits everything, a route-map that does not exist nothing.
        if prefix_list in self.prefix_lists and not self.in_prefix_list(prefix_list, route.prefix):
            return None
        if not route_map:
            return route
        return self.through_map(route_map, route)

    def through_map(self, name: str, route: Route) -> Route | None:
        """Return a route after a route-map; None if it stops the route. One that does not exist stops everything."""
        passed: Route | None = None
        for clause in self.maps.get(name, ()):
            if not all(self._matches(words, route) for words in clause.matches):
                continue
            if not clause.permit:
                return None
            called = self._called(clause.call, _with_sets(clause, route))
            if called is None:
                return None
            route = called
            passed = called
            if not clause.goes_on:
                break
        return passed

    def _called(self, name: str, route: Route) -> Route | None:
        """Return a route after a called route-map; None if it stops the route. One that does not exist passes it."""
        if name not in self.maps:
            return route
        return self.through_map(name, route)

    def _matches(self, words: list[str], route: Route) -> bool:
        """Tell whether a line ``match …`` of a route-map holds for a route."""
        _, keyword, *values = words
        if keyword in ("ip", "ipv6") and values[:2] == ["address", "prefix-list"]:
            return self.in_prefix_list(values[2], route.prefix)
        if keyword == "as-path":
            return self._in_path_list(values[0], route)
        if keyword == "community":
            return self._in_community_list(values[0], route)
        if keyword == "local-preference":
            return route.local_preference == int(values[0])
        if keyword == "tag":
            # Nothing here sets a tag.
            return values[0] == "0"
        # Interface, peer and metric are not simulated: a clause that asks for them holds.
        return True

    def _in_path_list(self, name: str, route: Route) -> bool:
        """Tell whether the first entry that fits a route's path permits it."""
        text = " ".join(map(str, route.path))
        for entry in self.path_lists.get(name, ()):
            if entry.pattern.search(text):
                return entry.permit
        return False

    def _in_community_list(self, name: str, route: Route) -> bool:
        """Tell whether the first entry of which a route has all communities permits it."""
        for entry in self.community_lists.get(name, ()):
            if entry.communities <= route.communities:
                return entry.permit
        return False


def _spelled(community: str) -> str:
    """Return a community as FRR prints it."""
    if community in ("65535:0", "gshut"):
        return GRACEFUL_SHUTDOWN
    return community


def _entry(words: list[str]) -> Entry:
    """Return the entry of a line ``ip prefix-list NAME seq NUMBER permit|deny PREFIX|any [ge LENGTH] [le LENGTH]``."""
    number, action, prefix, *options = words[words.index("seq") + 1 :]
    limits = dict(zip(options[::2], options[1::2], strict=False))
    # ``any`` is every prefix of any length.
    is_any = prefix == "any"
    target = network("0.0.0.0/0" if is_any else prefix)
    shortest = target.prefixlen
    longest = target.max_prefixlen if is_any else target.prefixlen
    if "ge" in limits:
        shortest = int(limits["ge"])
        longest = target.max_prefixlen
    if "le" in limits:
        longest = int(limits["le"])
    return Entry(int(number), action == "permit", target, shortest, longest)


def _path_list_entry(words: list[str]) -> PathListEntry:
    """Return the entry of a line ``bgp as-path access-list NAME [seq NUMBER] permit|deny PATTERN``."""
    action, *pattern = words[6:] if words[4] == "seq" else words[4:]
    # In FRR's expressions ``_`` stands for any end of an AS number (lib/filter.c, bgpd/bgp_regex.c).
    expression = " ".join(pattern).replace("_", r"(?:^|$|[ ,{}()])")
    return PathListEntry(action == "permit", re.compile(expression))


def _community_list_entry(words: list[str]) -> CommunityListEntry:
    """Return the entry of a line ``bgp community-list KIND NAME [seq NUMBER] permit|deny COMMUNITIES``."""
    index = next(index for index, word in enumerate(words) if word in ("permit", "deny"))
    return CommunityListEntry(words[index] == "permit", frozenset(words[index + 1 :]))


def _with_sets(clause: Clause, route: Route) -> Route:
    """Return a route as the ``set`` lines of a clause change it."""
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
    """Return the communities of a route after a ``set community`` with these ``words``."""
    communities = frozenset(map(_spelled, words)) - {"additive"}
    if communities == {"none"}:
        return frozenset()
    if "additive" in words:
        return communities | route.communities
    return communities


def _clause(context: Context) -> Clause:
    """Return the entry of a route-map with the header ``route-map NAME permit|deny SEQUENCE``."""
    _, _, action, sequence = context.header.split()
    lines = [line.split() for line in context.lines.values()]
    matches = tuple(words for words in lines if words[0] == "match")
    sets = tuple(words for words in lines if words[0] == "set")
    call = next((words[1] for words in lines if words[0] == "call"), "")
    return Clause(
        sequence=int(sequence),
        permit=action == "permit",
        matches=matches,
        sets=sets,
        call=call,
        goes_on=["on-match", "next"] in lines,
    )
