"""What the node ports of a leaf let pass, and so which tenants its nodes reach: the model that proves tenants apart.

A packet of a node passes the filter of its port, then follows a route: to the nodes of every leaf of the same network
(their blocks are announced, ``routing.instance``), to the loopbacks of its switches, and to the leaf's own ends of its
links to switches. A destination is reached if any packet to it may pass. Where a rule compares more than addresses and
ports, such as the DSCP, it is taken to match what it forwards and to miss what it drops, so that no path is overlooked.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Ipv6Pool, Pool, parse_pool
from railweave.fabric.tenants import IPV4_BITS, IPV6_BITS, Interval, Tenancy, link_prefixes
from railweave.sonic.ownership import TENANT_FILTERS
from railweave.sonic.rows import ConfigDb, Fields, number

NO_TENANT = ""
"""The owner of nodes that are in no tenant."""
SWITCHES = "addresses of switches"
"""The owner of what belongs to no node."""

_BOTH = (IPV4_BITS, IPV6_BITS)
_EVERYTHING: Mapping[int, Pool] = {IPV4_BITS: Pool(0, 0), IPV6_BITS: Ipv6Pool(0, 0)}
_BITS_OF_TYPE = {"IPV4ANY": (IPV4_BITS,), "IPV6ANY": (IPV6_BITS,)}
_SOURCES = ("SRC_IP", "SRC_IPV6")
_DESTINATIONS = ("DST_IP", "DST_IPV6")
_COMPARED = frozenset({*_SOURCES, *_DESTINATIONS, "IN_PORTS", "IP_TYPE", "PACKET_ACTION", "PRIORITY"})
"""The fields of a rule that this model knows; any other narrows what the rule matches."""


class FilterRule(NamedTuple):
    """A rule in one family: whether it forwards or drops, from which prefix to which.

    ``is_plain`` tells that it compares nothing but addresses and ports.
    """

    key: str
    forwards: bool
    source: Pool
    destination: Pool
    is_plain: bool
    # The ports that it is for; empty for all.
    ports: frozenset[str]


PortFilter = tuple[FilterRule, ...]
"""The rules that a port's packets of one family meet, in their order."""


class Leak(NamedTuple):
    """A path between tenants that must not exist: ``port`` lets nodes of ``tenant`` reach addresses of ``owner``."""

    device: str
    port: str
    # Empty for nodes of no tenant.
    tenant: str
    owner: str
    # Empty if nothing filters the port.
    rule: str
    # The nodes can send with source addresses of ``owner`` instead.
    spoofs: bool = False

    @property
    def path(self) -> str:
        """Return the two ends in words: ``nodes of a reach nodes of b``."""
        verb = "reach"
        if self.spoofs:
            verb = "send as"
        return f"{_nodes_of(self.tenant)} {verb} {_nodes_of(self.owner)}"

    @property
    def cause(self) -> str:
        """Return what lets the packets pass."""
        if not self.rule:
            return f"no rule drops it at {self.port}"
        return f"rule {self.rule} at {self.port}"


def _nodes_of(owner: str) -> str:
    """Return in words what belongs to an owner of addresses."""
    if owner == SWITCHES:
        return owner
    if owner == NO_TENANT:
        return "nodes of no tenant"
    return f"nodes of {owner}"


class LeafFilters:
    """The tenants' filters of one leaf, from its tables as they are rendered or were read."""

    def __init__(self, tables: ConfigDb) -> None:
        """Read the tables and rules that are the tenants'."""
        self._bound = _bound(tables)
        self._rules = _rules(tables)

    def at(self, port: str, bits: int) -> tuple[PortFilter, ...]:
        """Return the filters of a port in the family with addresses of so many bits.

        Empty if nothing filters the port. It has several while one replaces another.
        """
        filters = []
        for table in self._bound.get(port, ()):
            rules = self._rules.get((table, bits), ())
            filters.append(tuple(rule for rule in rules if not rule.ports or port in rule.ports))
        return tuple(filters)

    def passes(self, port: str, source: Pool, destination: Pool) -> bool:
        """Tell whether an ordinary packet between two addresses passes at a port: one without a special DSCP."""
        return all(_passes(rules, source, destination) for rules in self.at(port, source.bits))


def _bound(tables: ConfigDb) -> dict[str, list[str]]:
    """Return the tenants' filters of each port."""
    bound: dict[str, list[str]] = {}
    for name, table in tables.get("ACL_TABLE", {}).items():
        if name in TENANT_FILTERS and str(table.get("stage", "ingress")).lower() == "ingress":
            for port in _listed(table.get("ports")):
                bound.setdefault(port, []).append(name)
    return bound


def _rules(tables: ConfigDb) -> dict[tuple[str, int], list[FilterRule]]:
    """Return the rules of these filters by filter and family, the highest priority first."""
    rows = {key: row for key, row in tables.get("ACL_RULE", {}).items() if key.partition("|")[0] in TENANT_FILTERS}
    rules: dict[tuple[str, int], list[FilterRule]] = {}
    for key in sorted(rows, key=lambda key: number(rows[key].get("PRIORITY")) or 0, reverse=True):
        table, _, _ = key.partition("|")
        for bits, rule in _by_family(key, rows[key]):
            rules.setdefault((table, bits), []).append(rule)
    return rules


def _passes(rules: PortFilter, source: Pool, destination: Pool) -> bool:
    """Tell whether the first rule that certainly matches a packet forwards it; if none does, it is forwarded too."""
    for rule in rules:
        if rule.is_plain and rule.source.holds(source) and rule.destination.holds(destination):
            return rule.forwards
    return True


def _listed(value: object) -> tuple[str, ...]:
    """Return the members of a field that is a list, or a text with commas; none for any other value."""
    if isinstance(value, str):
        return tuple(filter(None, value.split(",")))
    if isinstance(value, Iterable):
        return tuple(map(str, value))
    return ()


def _by_family(key: str, row: Fields) -> Iterator[tuple[int, FilterRule]]:
    """Yield a rule in each family that it matches, with the bits of an address."""
    forwards = str(row.get("PACKET_ACTION")).upper() != "DROP"
    is_plain = _COMPARED.issuperset(row)
    ports = frozenset(_listed(row.get("IN_PORTS")))
    families = _BITS_OF_TYPE.get(str(row.get("IP_TYPE")).upper(), _BOTH)
    for bits in families:
        source = _prefix(row, _SOURCES, bits)
        destination = _prefix(row, _DESTINATIONS, bits)
        if source is not None and destination is not None:
            rule = FilterRule(
                key=key, forwards=forwards, source=source, destination=destination, is_plain=is_plain, ports=ports
            )
            yield bits, rule


def _prefix(row: Fields, names: tuple[str, str], bits: int) -> Pool | None:
    """Return the prefix that a rule compares in one family: all addresses if it compares none.

    None if the prefix is of the other family.
    """
    text = row.get(names[0], row.get(names[1]))
    if not isinstance(text, str):
        return _EVERYTHING[bits]
    try:
        pool = parse_pool(text)
    except ValueError:
        # A prefix that cannot be read may match any address.
        return _EVERYTHING[bits]
    if pool.bits != bits:
        return None
    return pool


class _RoutedRange(NamedTuple):
    """Addresses with a route, from ``first`` up to but not including ``end``, and their owner."""

    first: int
    end: int
    owner: str


class _OpenRange(NamedTuple):
    """Destinations that a rule lets packets from ``source`` pass to; the rule is empty if nothing filters the port."""

    rule: str
    source: Pool
    destinations: Interval


class Isolation:
    """Who reaches whom in a fabric with tenants."""

    def __init__(self, fabric: Fabric, tenancy: Tenancy) -> None:
        """Take the fabric and its tenants."""
        self.fabric = fabric
        self._tenancy = tenancy
        self._routed = cache(self._routed_in)

    def ports(self, leaf: Switch) -> tuple[str, ...]:
        """Return the node ports of a leaf."""
        links = self.fabric.downlinks_of[leaf.name]
        return tuple(leaf.panel.ports[link.upper_port].name for link in links if link.is_access)

    def leaks(self, leaf: Switch, tables: ConfigDb) -> tuple[Leak, ...]:
        """Return the paths from the node ports of a leaf with these tables that must not exist."""
        filters = LeafFilters(tables)
        leaks: list[Leak] = []
        for link in self.fabric.downlinks_of[leaf.name]:
            if not link.is_access:
                continue
            port = leaf.panel.ports[link.upper_port].name
            tenant = self._tenancy.tenant_of.get(link.lower, NO_TENANT)
            for bits in _BOTH:
                for open_range in _open_ranges(filters.at(port, bits), bits):
                    leak = Leak(leaf.name, port, tenant, owner="", rule=open_range.rule)
                    owners = self._owners_reached(leaf, open_range.destinations, bits)
                    leaks += self._leaks_of_rule(leak, open_range.source, owners)
        return tuple(dict.fromkeys(leaks))

    def _leaks_of_rule(self, leak: Leak, source: Pool, owners: frozenset[str]) -> Iterator[Leak]:
        """Yield a copy of ``leak`` for each of ``owners`` that its tenant must not reach, then those of spoofing.

        ``owners`` are those whose addresses the rule of the leak lets packets from ``source`` pass to.
        """
        allowed = self._tenancy.reach.get(leak.tenant, ())
        # Nodes before switches: people look first for the nodes that are reached.
        for owner in sorted(owners, key=lambda name: (name == SWITCHES, name)):
            if owner not in allowed:
                yield leak._replace(owner=owner)
        if owners and leak.rule:
            yield from self._spoofed(leak, source)

    def _spoofed(self, leak: Leak, source: Pool) -> Iterator[Leak]:
        """Yield a copy of ``leak`` for each other tenant whose source addresses the rule lets the nodes use.

        A rule with a source of the nodes' own tenant lets them use no others.
        """
        prefixes = self._tenancy.prefixes
        has_own_source = any(pool.holds(source) for pool in prefixes.get(leak.tenant, ()))
        if has_own_source:
            return
        for tenant, pools in prefixes.items():
            if tenant != leak.tenant and any(pool.meets(source) for pool in pools):
                yield leak._replace(owner=tenant, spoofs=True)

    def _owners_reached(self, leaf: Switch, destinations: Interval, bits: int) -> frozenset[str]:
        """Return the owners of those ``destinations`` that a leaf has routes to."""
        first, end = destinations
        firsts, routed = self._routed(self.fabric.network_of(leaf), bits)
        owners = set()
        # Ranges do not overlap, so only the last one that begins before ``first`` may reach into the destinations.
        index = max(bisect_right(firsts, first) - 1, 0)
        for routed_range in routed[index:]:
            if routed_range.first >= end:
                break
            if routed_range.end > first:
                owners.add(routed_range.owner)
        if bits == IPV4_BITS and any(first <= address < end for address in self._own_ends(leaf)):
            owners.add(SWITCHES)
        return frozenset(owners)

    def _own_ends(self, leaf: Switch) -> Iterator[int]:
        """Yield a leaf's own addresses on its links to switches."""
        for link in self.fabric.uplinks_of[leaf.name]:
            if self.fabric.is_numbered(link):
                yield link.network + 1

    def _routed_in(self, network: tuple[int, int | None], bits: int) -> tuple[list[int], list[_RoutedRange]]:
        """Return the address ranges that leaves of a network have routes to, in ascending order.

        The first part of the result has the first address of each range, for binary search.
        """
        ranges: list[_RoutedRange] = []
        for switch in self.fabric.switches:
            if self.fabric.network_of(switch) == network:
                ranges += self._ranges_of_switch(switch, bits)
        joined = list(_joined(sorted(ranges)))
        return [routed_range.first for routed_range in joined], joined

    def _ranges_of_switch(self, switch: Switch, bits: int) -> Iterator[_RoutedRange]:
        """Yield the addresses of a switch and of its nodes."""
        if bits == IPV4_BITS:
            yield _RoutedRange(switch.loopback, switch.loopback + 1, SWITCHES)
        for link in self.fabric.downlinks_of[switch.name]:
            if link.is_access:
                owner = self._tenancy.tenant_of.get(link.lower, NO_TENANT)
                for pool in link_prefixes(self.fabric, link):
                    if pool.bits == bits:
                        yield _RoutedRange(pool.first, pool.first + pool.size, owner)


_latest: Isolation | None = None
"""The model of the last fabric, kept for its cache: callers ask for one switch of a fabric after the other."""


def isolation_of(fabric: Fabric) -> Isolation | None:
    """Return who reaches whom in a fabric; None if it has no tenants. The model of the last fabric is kept."""
    global _latest  # noqa: PLW0603  a cache of one
    if not fabric.policies.tenants:
        return None
    if _latest is None or _latest.fabric is not fabric:
        tenancy = Tenancy(fabric)
        if not tenancy:
            return None
        _latest = Isolation(fabric, tenancy)
    return _latest


def _joined(ranges: Iterable[_RoutedRange]) -> Iterator[_RoutedRange]:
    """Yield ranges, which are in ascending order, with those of one owner that touch or overlap joined."""
    last: _RoutedRange | None = None
    for routed_range in ranges:
        if last is None:
            last = routed_range
        elif routed_range.owner == last.owner and routed_range.first <= last.end:
            last = last._replace(end=max(last.end, routed_range.end))
        else:
            yield last
            last = routed_range
    if last is not None:
        yield last


def _open_ranges(filters: Iterable[PortFilter], bits: int) -> Iterator[_OpenRange]:
    """Yield the destinations that a port lets packets pass to, by the rules of its filters.

    What no rule matches passes too. Without a filter everything does.
    """
    everything = _EVERYTHING[bits]
    # SONiC forwards packets that no rule matches.
    no_rule_matches = FilterRule(
        key="", forwards=True, source=everything, destination=everything, is_plain=True, ports=frozenset()
    )
    is_filtered = False
    for rules in filters:
        is_filtered = True
        dropped: list[Pool] = []
        for rule in (*rules, no_rule_matches):
            if rule.forwards:
                for destinations in _without(_interval(rule.destination), dropped):
                    yield _OpenRange(rule.key, rule.source, destinations)
            elif rule.is_plain and rule.source == everything:
                # Only such a rule certainly drops all packets to its destination.
                dropped.append(rule.destination)
    if not is_filtered:
        yield _OpenRange("", everything, _interval(everything))


def _without(interval: Interval, prefixes: Iterable[Pool]) -> Iterator[Interval]:
    """Yield the parts of an interval that none of the prefixes covers."""
    first, end = interval
    for prefix_first, prefix_end in sorted(map(_interval, prefixes)):
        if prefix_end <= first or prefix_first >= end:
            continue
        if prefix_first > first:
            yield first, prefix_first
        first = max(first, prefix_end)
    if first < end:
        yield first, end


def _interval(pool: Pool) -> Interval:
    return pool.first, pool.first + pool.size
