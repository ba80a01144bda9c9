"""No switch in transit (V-1), and so no ring of paused buffers (D-1).

A leaf is in transit where it passes on to one spine what it has learned from another, or where a static route of a
spine sends it what is not its own.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from railweave.checks.registry import rule
from railweave.checks.route_policy import BgpRoute, RoutePolicy, parse_prefix
from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.devices import Switch, Tier
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Pool
from railweave.plan.shared_nics import sharing
from railweave.qos.deadlock import find_deadlock
from railweave.routing.instance import group_name, nic_routes, own_ipv6_prefixes, own_prefixes
from railweave.sonic.frr.document import FrrDocument
from railweave.sonic.rows import ConfigDb
from railweave.sonic.static_routes import static_routes
from railweave.units import ipv4_text

rule(
    "V-1",
    "no leaf re-advertises to a spine what it learned from another (no transit)",
    "Routes go up, then down, never up again: a leaf that carries traffic from spine to spine is slower than a spine,"
    " and two of them close a ring.",
    "an FRR file of the project without the route map that keeps learned routes from going up",
)
rule(
    "D-1",
    "no cyclic buffer dependency (PFC deadlock)",
    "Where buffers wait for each other in a cycle, each pauses the one before it, and none of them drains again.",
    "a static route on a leaf that sends what belongs to another leaf back up to a spine",
)


class RouteSources(NamedTuple):
    """Where the routes of switches come from: FRR's lines and the tables, by the name of a switch."""

    documents: Callable[[str], FrrDocument | None]
    tables: Callable[[str], ConfigDb]
    # The switches to report on.
    reported: Collection[str]


class _Valley(NamedTuple):
    """Switch ``lower`` sends up to ``target`` what came from ``source``: down and up again, a valley path."""

    lower: str
    source: str
    target: str
    # What it sends and why.
    sent: str
    fix: str
    # The upper switch accepts it, so that packets follow.
    is_carried: bool


def transit_diagnostics(fabric: Fabric, sources: RouteSources, place: Callable[[str], Where]) -> Iterator[Diagnostic]:
    """Yield V-1 for every switch in transit, and D-1 if buffers can wait for each other in a cycle."""
    valleys = list(_Routes(fabric, sources).valleys())
    # One of a switch is enough to find the cause.
    first_valleys: dict[str, _Valley] = {}
    for valley in valleys:
        first_valleys.setdefault(valley.lower, valley)
    has_lossless = any(traffic_class.lossless for traffic_class in fabric.policies.classes)
    for valley in first_valleys.values():
        message = f"{valley.lower} is in transit from {valley.source} to {valley.target}: {valley.sent}"
        if not valley.is_carried:
            message += f"; only the AS path keeps {valley.target} from taking it"
        elif has_lossless:
            message += ": lossless traffic would wait downwards and upwards at once"
        devices = (valley.lower, valley.source, valley.target)
        yield error("V-1", message, place(valley.lower), fix=valley.fix, devices=devices)
    yield from _deadlock(fabric, valleys, place)


def _first_other(names: Iterable[str], excluded: str) -> str | None:
    """Return the first name that is not ``excluded``, None if there is none."""
    return next((name for name in names if name != excluded), None)


def _transits(valleys: Iterable[_Valley]) -> dict[str, frozenset[str]]:
    """Return the upper switches to which each switch in transit carries what comes from another upper one."""
    targets_of: dict[str, set[str]] = {}
    for valley in valleys:
        if valley.is_carried:
            targets_of.setdefault(valley.lower, set()).add(valley.target)
    return {lower: frozenset(targets) for lower, targets in targets_of.items()}


def _deadlock(fabric: Fabric, valleys: list[_Valley], place: Callable[[str], Where]) -> Iterator[Diagnostic]:
    """Yield D-1 if buffers can wait for each other in a cycle."""
    lossless = [traffic_class.name for traffic_class in fabric.policies.classes if traffic_class.lossless]
    # Without PFC no buffer waits for another.
    if not lossless:
        return
    transits = _transits(valleys)
    ring = find_deadlock(fabric, transits)
    if ring:
        in_transit = [name for name in ring if name in transits]
        yield error(
            "D-1",
            f"PFC of {' and '.join(lossless)} can deadlock: the buffers of"
            f" {' → '.join((*ring, ring[0]))} wait for each other in a cycle",
            place(in_transit[0]),
            fix=f"let {', '.join(in_transit)} send up only what is their own",
            devices=ring,
        )


class _Announcement(NamedTuple):
    """A route that a switch may learn from above, and upper switches with the same policy towards them."""

    prefix: Pool
    # The switch whose prefix it is.
    origin: str
    receivers: list[str]


class _Routes:
    """Looks for paths down from one upper switch and up to another."""

    def __init__(self, fabric: Fabric, sources: RouteSources) -> None:
        self._fabric = fabric
        self._sources = sources
        self._policies: dict[str, RoutePolicy | None] = {}
        self._tiers: dict[tuple[Tier, tuple[int, int | None]], list[Switch]] = {}
        for switch in fabric.switches:
            self._tiers.setdefault((switch.tier, fabric.network_of(switch)), []).append(switch)

    def valleys(self) -> Iterator[_Valley]:
        """Yield every valley on a switch to report on, or by a static route of it."""
        for name in self._sources.reported:
            switch = self._fabric.switch_of[name]
            above = self._fabric.above(name)
            if above:
                yield from self._bgp_valleys(switch, above)
            yield from self._static_valleys(switch, above)

    def _policy(self, name: str) -> RoutePolicy | None:
        """Return the route policy of a switch, None if its FRR lines are not known."""
        if name not in self._policies:
            document = self._sources.documents(name)
            self._policies[name] = None if document is None else RoutePolicy(document)
        return self._policies[name]

    def _bgp_valleys(self, lower: Switch, above: Sequence[str]) -> Iterator[_Valley]:
        """Yield the valleys by BGP: announcements of one upper switch that are passed on to another."""
        policy = self._policy(lower.name)
        if policy is None:
            return
        # Upper switches with the same policy are checked once.
        groups: dict[tuple[str, ...], list[str]] = {}
        for name in above:
            groups.setdefault(policy.kind(self._peer(lower.name, name)), []).append(name)
        for origin, prefix in self._prefixes_from_above(lower):
            for receivers in groups.values():
                announcement = _Announcement(prefix, origin.name, receivers)
                yield from self._valleys_by_announcement(policy, lower, above, announcement)

    def _prefixes_from_above(self, lower: Switch) -> Iterator[tuple[Switch, Pool]]:
        """Yield (origin, prefix) for prefixes that a switch may learn from above; the origin announces the prefix."""
        for origin in self._outermost_others(lower):
            yield from ((origin, prefix) for prefix in self._own_prefixes(origin))
        for name in sharing(self._fabric, lower):
            origin = self._fabric.switch_of[name]
            nics = nic_routes(self._fabric, origin)
            if nics is not None and nics.addresses:
                # The switch announces the addresses of shared NICs itself; the policy is the same for all, so one is
                # enough.
                yield origin, nics.addresses[0]

    def _valleys_by_announcement(
        self, policy: RoutePolicy, lower: Switch, above: Sequence[str], announcement: _Announcement
    ) -> Iterator[_Valley]:
        """Yield the valleys by which ``lower`` passes a route on to upper switches with the same policy."""
        receiver = announcement.receivers[0]
        sender = _first_other(above, receiver)
        if sender is None:
            return
        kept_route = policy.takes(BgpRoute(announcement.prefix), self._peer(lower.name, sender))
        if kept_route is None:
            return
        sent_route = policy.passes_on(kept_route, self._peer(lower.name, receiver))
        if sent_route is None:
            return
        family = 4 if announcement.prefix.bits == 32 else 6
        for target in announcement.receivers:
            # The route comes from another switch than it goes to.
            source = sender if sender != target else receiver
            text = f"it passes on {announcement.prefix} of {announcement.origin}, learned from {source}"
            route_map = f"TO-{group_name(self._fabric.switch_of[target].tier)}-V{family}"
            fix = f"let {lower.name} announce its own prefixes only (route map {route_map})"
            yield _Valley(
                lower=lower.name,
                source=source,
                target=target,
                sent=text,
                fix=fix,
                is_carried=self._is_taken(sent_route, lower, source, target),
            )

    def _is_taken(self, sent: BgpRoute, lower: Switch, source: str, target: str) -> bool:
        """Tell whether the upper switch ``target`` accepts a route from ``lower``, which has it from ``source``."""
        # Spines of a plane share an AS number, and a router refuses a path with its own (RFC 4271 section 9.1.2).
        is_looped = self._fabric.switch_of[target].asn == self._fabric.switch_of[source].asn
        policy = self._policy(target)
        if policy is None:
            return not is_looped
        peer = self._peer(target, lower.name)
        if is_looped and not policy.takes_its_own_as(peer):
            return False
        return policy.takes(sent, peer) is not None

    def _outermost_others(self, lower: Switch) -> list[Switch]:
        """Return the first and the last other switch of the tier in the plane; all announce alike."""
        switches = self._tiers[lower.tier, self._fabric.network_of(lower)]
        # Two from each end: one of them may be the switch itself.
        outermost = dict.fromkeys((*switches[:2], *switches[-2:]))
        others = [switch for switch in outermost if switch.name != lower.name]
        if len(others) < 2:
            return others
        return [others[0], others[-1]]

    def _peer(self, name: str, neighbor: str) -> str:
        """Return the name of a neighbor in a switch's FRR lines: an address, or a port if links are unnumbered."""
        link = next(link for link in self._fabric.links_of[name] if neighbor in (link.lower, link.upper))
        if self._fabric.policies.addressing.unnumbered:
            return self._fabric.switch_of[name].panel.ports[link.port_of(name)].name
        return ipv4_text(link.address_of(neighbor))

    def _static_valleys(self, switch: Switch, above: Sequence[str]) -> Iterator[_Valley]:
        """Yield the valleys by static routes of a switch: on it, or on a lower switch to which one leads."""
        for prefix, hop in self._static_routes(switch):
            text = f"a static route of {switch.name} sends {prefix} to {hop}"
            fix = f"take the static route for {prefix} out of {switch.name}"
            if hop not in above and self._goes_up_again(prefix, hop):
                target = _first_other(self._fabric.above(hop), switch.name)
                if target is not None:
                    yield _Valley(
                        lower=hop,
                        source=switch.name,
                        target=target,
                        sent=f"{text}, which reaches it by the spines",
                        fix=fix,
                        is_carried=True,
                    )
            elif hop in above and self._is_own_prefix(prefix, switch):
                source = _first_other(above, hop)
                if source is not None:
                    yield _Valley(
                        lower=switch.name,
                        source=source,
                        target=hop,
                        sent=f"{text}, though it announces them itself",
                        fix=fix,
                        is_carried=True,
                    )

    def _goes_up_again(self, prefix: Pool, lower: str) -> bool:
        """Tell whether a lower switch sends packets to a prefix up again.

        It does if the prefix is within the fabric's pools and not its own.
        """
        addressing = self._fabric.policies.addressing
        pools = (addressing.loopbacks, *addressing.host_pools.values())
        is_of_fabric = any(prefix.meets(pool) for pool in pools)
        return is_of_fabric and not self._is_own_prefix(prefix, self._fabric.switch_of[lower])

    def _is_own_prefix(self, prefix: Pool, switch: Switch) -> bool:
        return any(own.holds(prefix) for own in self._own_prefixes(switch))

    def _own_prefixes(self, switch: Switch) -> tuple[Pool, ...]:
        return (*own_prefixes(self._fabric, switch), *own_ipv6_prefixes(self._fabric, switch))

    def _static_routes(self, switch: Switch) -> Iterator[tuple[Pool, str]]:
        """Yield (prefix, next switch) of each static route that leads to a neighboring switch."""
        hops = self._hops(switch)
        for text, hop in static_routes(self._sources.tables(switch.name), self._sources.documents(switch.name)):
            prefix = parse_prefix(text)
            if prefix is not None and hop in hops:
                yield prefix, hops[hop]

    def _hops(self, switch: Switch) -> Mapping[str, str]:
        """Return the neighboring switches by what a route may name as its next hop: their addresses, and ports of this
        switch."""
        hops = {}
        for link in self._fabric.fabric_links_of(switch.name):
            neighbor = link.far(switch.name)
            hops[switch.panel.ports[link.port_of(switch.name)].name] = neighbor
            if self._fabric.is_numbered(link):
                hops[ipv4_text(link.address_of(neighbor))] = neighbor
        return hops
