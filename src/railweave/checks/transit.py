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
    judged: Collection[str]


class _Valley(NamedTuple):
    """Switch ``low`` sends up to ``far`` what came from ``near``: down and up again, a valley path."""

    low: str
    near: str
    far: str
    # What it sends and why.
    sent: str
    fix: str
    # The upper switch accepts it, so that packets follow.
    is_carried: bool


def transit_diagnostics(fabric: Fabric, sources: RouteSources, place: Callable[[str], Where]) -> Iterator[Diagnostic]:
    """Yield V-1 for every switch in transit, and D-1 where buffers may wait for each other in a cycle."""
    valleys = list(_Routes(fabric, sources).valleys())
    # One of a switch is enough to find the cause.
    first_valleys: dict[str, _Valley] = {}
    for valley in valleys:
        first_valleys.setdefault(valley.low, valley)
    has_lossless = any(traffic_class.lossless for traffic_class in fabric.policies.classes)
    for valley in first_valleys.values():
        message = f"{valley.low} is in transit from {valley.near} to {valley.far}: {valley.sent}"
        if not valley.is_carried:
            message += f"; only the AS path keeps {valley.far} from taking it"
        elif has_lossless:
            message += ": lossless traffic would wait downwards and upwards at once"
        devices = (valley.low, valley.near, valley.far)
        yield error("V-1", message, place(valley.low), fix=valley.fix, devices=devices)
    yield from _deadlock(fabric, valleys, place)


def _first_other(names: Iterable[str], excluded: str) -> str | None:
    return next((name for name in names if name != excluded), None)


def _transits(valleys: Iterable[_Valley]) -> dict[str, frozenset[str]]:
    """Return by switch the upper switches to which it carries what comes from another upper one."""
    upper_of: dict[str, set[str]] = {}
    for valley in valleys:
        if valley.is_carried:
            upper_of.setdefault(valley.low, set()).add(valley.far)
    return {low: frozenset(upper) for low, upper in upper_of.items()}


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
        """Yield every valley on or by a judged switch."""
        for name in self._sources.judged:
            switch = self._fabric.switch_of[name]
            above = self._fabric.above(name)
            if above:
                yield from self._announced(switch, above)
            yield from self._static_valleys(switch, above)

    def _policy(self, name: str) -> RoutePolicy | None:
        if name not in self._policies:
            document = self._sources.documents(name)
            self._policies[name] = None if document is None else RoutePolicy(document)
        return self._policies[name]

    def _announced(self, low: Switch, above: Sequence[str]) -> Iterator[_Valley]:
        """Yield the valleys by BGP: announcements of one upper switch that are passed on to another."""
        policy = self._policy(low.name)
        if policy is None:
            return
        # Upper switches with the same policy are checked once.
        groups: dict[tuple[str, ...], list[str]] = {}
        for name in above:
            groups.setdefault(policy.kind(self._peer(low.name, name)), []).append(name)
        for origin, prefix in self._heard(low):
            for receivers in groups.values():
                yield from self._passed_on(policy, low, above, _Announcement(prefix, origin.name, receivers))

    def _heard(self, low: Switch) -> Iterator[tuple[Switch, Pool]]:
        """Yield prefixes that a switch may learn from above, with the switches that announce them."""
        for origin in self._others(low):
            yield from ((origin, prefix) for prefix in self._own(origin))
        for name in sharing(self._fabric, low):
            origin = self._fabric.switch_of[name]
            nics = nic_routes(self._fabric, origin)
            if nics is not None and nics.addresses:
                # The switch announces the addresses of shared NICs itself; the policy is the same for all, so one is
                # enough.
                yield origin, nics.addresses[0]

    def _passed_on(
        self, policy: RoutePolicy, low: Switch, above: Sequence[str], announcement: _Announcement
    ) -> Iterator[_Valley]:
        """Yield the valleys by which ``low`` passes a route on to upper switches with the same policy."""
        receiver = announcement.receivers[0]
        source = _first_other(above, receiver)
        if source is None:
            return
        kept_route = policy.takes(BgpRoute(announcement.prefix), self._peer(low.name, source))
        if kept_route is None:
            return
        sent_route = policy.passes_on(kept_route, self._peer(low.name, receiver))
        if sent_route is None:
            return
        family = 4 if announcement.prefix.bits == 32 else 6
        for far in announcement.receivers:
            # The route comes from another switch than it goes to.
            near = source if source != far else receiver
            text = f"it passes on {announcement.prefix} of {announcement.origin}, learned from {near}"
            route_map = f"TO-{group_name(self._fabric.switch_of[far].tier)}-V{family}"
            fix = f"let {low.name} announce its own prefixes only (route map {route_map})"
            yield _Valley(
                low=low.name,
                near=near,
                far=far,
                sent=text,
                fix=fix,
                is_carried=self._is_taken(sent_route, low, near, far),
            )

    def _is_taken(self, sent: BgpRoute, low: Switch, source: str, far: str) -> bool:
        """Tell whether the upper switch accepts the route."""
        # Spines of a plane share an AS number, and a router refuses a path with its own (RFC 4271 section 9.1.2).
        is_looped = self._fabric.switch_of[far].asn == self._fabric.switch_of[source].asn
        policy = self._policy(far)
        if policy is None:
            return not is_looped
        peer = self._peer(far, low.name)
        if is_looped and not policy.takes_its_own_as(peer):
            return False
        return policy.takes(sent, peer) is not None

    def _others(self, low: Switch) -> list[Switch]:
        """Return the first and the last other switch of the tier in the plane; all announce alike."""
        switches = self._tiers[low.tier, self._fabric.network_of(low)]
        # Two from each end: one of them may be the switch itself.
        outermost = dict.fromkeys((*switches[:2], *switches[-2:]))
        others = [switch for switch in outermost if switch.name != low.name]
        if len(others) < 2:
            return others
        return [others[0], others[-1]]

    def _peer(self, name: str, neighbor: str) -> str:
        """Return what a switch's FRR lines call a neighbor: a port without addresses on links, else an address."""
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
                far = _first_other(self._fabric.above(hop), switch.name)
                if far is not None:
                    yield _Valley(
                        low=hop,
                        near=switch.name,
                        far=far,
                        sent=f"{text}, which reaches it by the spines",
                        fix=fix,
                        is_carried=True,
                    )
            elif hop in above and self._is_own(prefix, switch):
                source = _first_other(above, hop)
                if source is not None:
                    yield _Valley(
                        low=switch.name,
                        near=source,
                        far=hop,
                        sent=f"{text}, though it announces them itself",
                        fix=fix,
                        is_carried=True,
                    )

    def _goes_up_again(self, prefix: Pool, low: str) -> bool:
        """Tell whether a lower switch sends a prefix up: it is the fabric's, and not its own."""
        addressing = self._fabric.policies.addressing
        pools = (addressing.loopbacks, *addressing.host_pools.values())
        is_of_fabric = any(prefix.meets(pool) for pool in pools)
        return is_of_fabric and not self._is_own(prefix, self._fabric.switch_of[low])

    def _is_own(self, prefix: Pool, switch: Switch) -> bool:
        return any(own.holds(prefix) for own in self._own(switch))

    def _own(self, switch: Switch) -> tuple[Pool, ...]:
        return (*own_prefixes(self._fabric, switch), *own_ipv6_prefixes(self._fabric, switch))

    def _static_routes(self, switch: Switch) -> Iterator[tuple[Pool, str]]:
        """Yield prefix and next switch of each static route that leads to a neighboring switch."""
        hops = self._hops(switch)
        for text, hop in static_routes(self._sources.tables(switch.name), self._sources.documents(switch.name)):
            prefix = parse_prefix(text)
            if prefix is not None and hop in hops:
                yield prefix, hops[hop]

    def _hops(self, switch: Switch) -> Mapping[str, str]:
        """Return the neighboring switches by their addresses and by this switch's ports."""
        hops = {}
        for link in self._fabric.fabric_links_of(switch.name):
            far = link.far(switch.name)
            hops[switch.panel.ports[link.port_of(switch.name)].name] = far
            if self._fabric.is_numbered(link):
                hops[ipv4_text(link.address_of(far))] = far
        return hops
