"""Routes of a whole fabric, computed from the rendered FRR files alone: what BGP would settle on, and the paths that
packets take. It knows addresses or interfaces, AS numbers and policies as text, and nothing of tiers or of the design.
Each family of addresses has routes of its own."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import NamedTuple

from engine_tools import configure_all

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.expectation import session_peer


@dataclass(frozen=True)
class Clause:
    permit: bool
    matches: tuple[str, ...]
    sets: tuple[str, ...]


class Rule(NamedTuple):
    """A line of a prefix list: the networks within ``base`` that are ``least`` to ``most`` bits long."""

    base: IPv4Network | IPv6Network
    least: int
    most: int

    def takes(self, network: IPv4Network | IPv6Network) -> bool:
        return self.least <= network.prefixlen <= self.most and network.subnet_of(self.base)  # type: ignore[arg-type]


network_of = cache(ip_network)
"""The same prefixes come again and again, in every switch."""


class Policy:
    """What FRR would let through, read from the text as FRR reads it."""

    def __init__(self, text: str) -> None:
        self.prefix_lists: dict[str, list[Rule]] = {}
        self.communities = dict(re.findall(r"^bgp community-list standard (\S+) seq \d+ permit (\S+)$", text, re.M))
        pattern = r"^(?:ip|ipv6) prefix-list (\S+) seq \d+ permit (\S+)(?: ge (\d+))?(?: le (\d+))?$"
        for match in re.finditer(pattern, text, re.M):
            base = network_of(match[2])
            least = int(match[3] or base.prefixlen)
            most = int(match[4] or base.max_prefixlen) if match[3] else base.prefixlen
            self.prefix_lists.setdefault(match[1], []).append(Rule(base, least, most))
        self.clauses: dict[str, list[Clause]] = {}
        for name, action, body in re.findall(r"^route-map (\S+) (permit|deny) \d+\n((?: .*\n)*)exit$", text, re.M):
            lines = [line.strip() for line in body.splitlines()]
            matches = tuple(line for line in lines if line.startswith("match"))
            sets = tuple(line for line in lines if line.startswith("set"))
            self.clauses.setdefault(name, []).append(Clause(action == "permit", matches, sets))

    def passes(self, route_map: str, prefix: str, communities: frozenset[str] = frozenset()) -> frozenset[str] | None:
        """Return the route's communities behind the route-map, or None when it is denied."""
        for clause in self.clauses[route_map]:
            if all(self._matches(match, prefix, communities) for match in clause.matches):
                added = {line.split()[2] for line in clause.sets if line.startswith("set community")}
                return communities | added if clause.permit else None
        return None

    def _matches(self, match: str, prefix: str, communities: frozenset[str]) -> bool:
        name = match.rsplit(maxsplit=1)[-1]
        if match.startswith("match community"):
            return self.communities[name] in communities
        network = network_of(prefix)
        assert match.split()[1] == ("ip" if network.version == 4 else "ipv6"), (match, prefix)
        return any(rule.takes(network) for rule in self.prefix_lists[name])


class Route(NamedTuple):
    """A route as a switch holds it: the neighbor it came from as FRR names it, empty for its own."""

    as_path: tuple[int, ...]
    communities: frozenset[str]
    source: str


@dataclass
class Speaker:
    """One switch as its FRR file says, for one family of addresses; ports of its that are ``dead`` have no link."""

    name: str
    text: str
    family: int = 4
    dead: Collection[str] = ()
    asn: int = 0
    networks: tuple[str, ...] = ()
    group_of: dict[str, str] = field(default_factory=dict)
    limit_of: dict[str, int] = field(default_factory=dict)
    maps: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = re.search(r"^router bgp (\d+)$", self.text, re.M)
        assert found is not None
        self.asn = int(found[1])
        block = rf"^ address-family ipv{self.family} unicast$(.*?)^ exit-address-family$"
        within = re.search(block, self.text, re.M | re.S)
        lines = within[1] if within else ""
        self.networks = tuple(one for one in re.findall(r"^  network (\S+)$", lines, re.M) if self._has_a_way(one))
        members = re.findall(r"^ neighbor (\S+)(?: interface)? peer-group (\S+)$", self.text, re.M)
        active = set(re.findall(r"^  neighbor (\S+) activate$", lines, re.M))
        self.group_of = {peer: group for peer, group in members if group in active}
        limits = re.findall(r"^  neighbor (\S+) maximum-prefix (\d+)", lines, re.M)
        self.limit_of = {group: int(limit) for group, limit in limits}
        for group, name, way in re.findall(r"^  neighbor (\S+) route-map (\S+) (in|out)$", lines, re.M):
            self.maps[group, way] = name
        remote = re.findall(r"^ neighbor (\S+) remote-as (\d+)$", self.text, re.M)
        self.remote = {peer: int(asn) for peer, asn in remote}
        policy = Policy(self.text)
        self.passes = cache(policy.passes)

    def _has_a_way(self, prefix: str) -> bool:
        """Tell whether a prefix is announced: one with static routes only while the interface of one of them is up."""
        ports = re.findall(rf"^ip route {re.escape(prefix)} [\d.]+ (\S+)$", self.text, re.M)
        return not ports or not set(ports) <= set(self.dead)


End = tuple[str, str]
"""A device, and one of its neighbors as it names it: by address, or by its own interface."""


class Network:
    """All speakers and the ends of their sessions; sessions of links that are ``down`` are not there."""

    def __init__(
        self,
        texts: Mapping[str, str],
        ends: Mapping[End, End],
        down: Collection[End] = (),
        family: int = 4,
        dead: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """``ends`` has the other end of the session of a device with a neighbor, ``dead`` the ports of switches to
        nodes that have no link."""
        ports = dead or {}
        self.speakers = {name: Speaker(name, text, family, ports.get(name, ())) for name, text in texts.items()}
        self.ends = ends
        self.down = frozenset(down)
        self.ribs: dict[str, dict[str, list[Route]]] = {
            name: {prefix: [Route((), frozenset(), "")] for prefix in one.networks}
            for name, one in self.speakers.items()
        }
        while self._exchange():
            pass

    def _exchange(self) -> bool:
        """Let every switch tell its neighbors its best routes once, and return whether any table changed."""
        before, self.ribs = self.ribs, {}
        for name, own in self.speakers.items():
            table: dict[str, list[Route]] = {prefix: [Route((), frozenset(), "")] for prefix in own.networks}
            for peer in own.group_of:
                received = self._received(own, peer, before)
                assert len(received) <= own.limit_of[own.group_of[peer]], (name, peer, len(received))
                for prefix, route in received.items():
                    table.setdefault(prefix, []).append(route)
            self.ribs[name] = {prefix: _best(routes) for prefix, routes in table.items()}
        return self.ribs != before

    def _received(self, own: Speaker, peer: str, ribs: dict[str, dict[str, list[Route]]]) -> dict[str, Route]:
        far_name, address = self.ends[own.name, peer]
        far = self.speakers[far_name]
        if {(own.name, peer), (far_name, address)} & self.down or address not in far.group_of:
            return {}
        assert (own.remote[peer], far.remote[address]) == (far.asn, own.asn)
        out, into = far.maps[far.group_of[address], "out"], own.maps[own.group_of[peer], "in"]
        found = {}
        for prefix, routes in ribs[far_name].items():
            route = routes[0]
            sent = None if route.source == address else far.passes(out, prefix, route.communities)
            path = (far.asn, *route.as_path)
            taken = None if sent is None or own.asn in path else own.passes(into, prefix, sent)
            if taken is not None:
                found[prefix] = Route(path, taken, peer)
        return found

    def counts(self, name: str, peer: str) -> tuple[int, int]:
        """Return how many prefixes a switch accepts from a peer, and announces to it."""
        own = self.speakers[name]
        out = own.maps[own.group_of[peer], "out"]
        accepted = self._received(own, peer, self.ribs)
        best = {prefix: routes[0] for prefix, routes in self.ribs[name].items()}
        announced = [
            prefix
            for prefix, route in best.items()
            if route.source != peer and own.passes(out, prefix, route.communities) is not None
        ]
        return len(accepted), len(announced)

    def next_hops(self, name: str, prefix: str) -> list[str]:
        """Return the devices that a switch sends to, once for each link; none for its own prefix or without a route."""
        routes = self.ribs[name].get(prefix, [])
        return [self.ends[name, one.source][0] for one in routes if one.source]

    def paths(self, name: str, prefix: str) -> list[tuple[str, ...]]:
        """Return all paths of packets from a switch to a prefix, as devices; parallel links count once each."""
        if prefix in self.speakers[name].networks:
            return [(name,)]
        return [(name, *rest) for far in self.next_hops(name, prefix) for rest in self.paths(far, prefix)]


def _best(routes: list[Route]) -> list[Route]:
    """Return the routes of equal, shortest AS paths: multipath-relax takes all, the first is what is passed on."""
    least = min(len(one.as_path) for one in routes)
    return sorted((one for one in routes if len(one.as_path) == least), key=lambda one: (one.as_path, one.source))


def routes(fabric: Fabric, down: tuple[Link, ...] = (), family: int = 4) -> Network:
    """Return the routes of a fabric's rendered files without the links that are ``down``."""
    texts = {config.device: config.frr for config in configure_all(fabric)}
    ends: dict[End, End] = {}
    for link in fabric.fabric_links:
        low, high = _end(fabric, link, link.lower, link.upper), _end(fabric, link, link.upper, link.lower)
        ends |= {low: high, high: low}
    sessions = {_end(fabric, link, link.lower, link.upper) for link in down if not link.is_access}
    dead: dict[str, list[str]] = {}
    for link in down:
        if link.is_access:
            dead.setdefault(link.upper, []).append(fabric.ports_of[link.upper][link.upper_port].name)
    return Network(texts, ends, sessions, family, dead)


def _end(fabric: Fabric, link: Link, own: str, far: str) -> End:
    return own, session_peer(fabric, link, far, fabric.ports_of[own][link.port_of(own)].name)
