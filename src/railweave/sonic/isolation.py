"""What the node ports of a leaf let pass, and so which tenants its nodes reach: the model that proves tenants apart.

A packet of a node passes the filter of its port, then follows a route: to the nodes of every leaf of the same network
(their blocks are announced, ``routing.instance``), to the loopbacks of its switches, and to the leaf's own ends of its
links to switches. A destination is reached if any packet to it may pass. Where a rule compares more than addresses and
ports, such as the DSCP, it is taken to match what it forwards and to miss what it drops, so that no path is overlooked.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
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
    """A rule in one family: from and to which prefix it forwards or drops, and whether it compares nothing else."""

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
    """A path that must not be: ``port`` lets nodes of ``tenant`` reach what ``owner`` has, or with ``spoofs`` send in
    its name; an empty tenant is none. ``rule`` is empty if nothing filters the port."""

    device: str
    port: str
    tenant: str
    owner: str
    rule: str
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
        """Return the filters of a port in one family; several while one replaces another, none without one."""
        return tuple(
            tuple(rule for rule in self._rules.get((table, bits), ()) if not rule.ports or port in rule.ports)
            for table in self._bound.get(port, ())
        )

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
    rows = [(key, row) for key, row in tables.get("ACL_RULE", {}).items() if key.partition("|")[0] in TENANT_FILTERS]
    rows.sort(key=lambda keyed: number(keyed[1].get("PRIORITY")) or 0, reverse=True)
    rules: dict[tuple[str, int], list[FilterRule]] = {}
    for key, row in rows:
        for bits, rule in _by_family(key, row):
            rules.setdefault((key.partition("|")[0], bits), []).append(rule)
    return rules


def _passes(rules: PortFilter, source: Pool, destination: Pool) -> bool:
    for rule in rules:
        if rule.is_plain and rule.source.holds(source) and rule.destination.holds(destination):
            return rule.forwards
    return True


def _listed(value: object) -> tuple[str, ...]:
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
            yield bits, FilterRule(key, forwards, source, destination, is_plain, ports)


def _prefix(row: Fields, names: tuple[str, str], bits: int) -> Pool | None:
    """Return the prefix that a rule compares in one family, everything without one; None if it is of the other."""
    text = row.get(names[0], row.get(names[1]))
    if not isinstance(text, str):
        return _EVERYTHING[bits]
    try:
        pool = parse_pool(text)
    except ValueError:
        # Whatever it matches, it may match.
        return _EVERYTHING[bits]
    if pool.bits != bits:
        return None
    return pool


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
        """Return the paths that must not be from the node ports of a leaf with these tables."""
        filters = LeafFilters(tables)
        leaks: list[Leak] = []
        for link in self.fabric.downlinks_of[leaf.name]:
            if link.is_access:
                port = leaf.panel.ports[link.upper_port].name
                tenant = self._tenancy.tenant_of.get(link.lower, NO_TENANT)
                for bits in _BOTH:
                    for key, source, interval in _open(filters.at(port, bits), bits):
                        leaks += self._of_rule(
                            Leak(leaf.name, port, tenant, "", key), source, self._met(leaf, interval, bits)
                        )
        return tuple(dict.fromkeys(leaks))

    def _of_rule(self, leak: Leak, source: Pool, owners: frozenset[str]) -> Iterator[Leak]:
        """Yield the leaks of what lets packets from ``source`` pass to these owners."""
        reach = self._tenancy.reach.get(leak.tenant, ())
        # What people look for first: which nodes are reached.
        for owner in sorted(owners, key=lambda name: (name == SWITCHES, name)):
            if owner not in reach:
                yield leak._replace(owner=owner)
        if owners and leak.rule:
            yield from self._spoofed(leak, source)

    def _spoofed(self, leak: Leak, source: Pool) -> Iterator[Leak]:
        """Yield the tenants in whose name a rule lets nodes send."""
        prefixes = self._tenancy.prefixes
        if any(pool.holds(source) for pool in prefixes.get(leak.tenant, ())):
            return
        for other, pools in prefixes.items():
            if other != leak.tenant and any(pool.meets(source) for pool in pools):
                yield leak._replace(owner=other, spoofs=True)

    def _met(self, leaf: Switch, interval: Interval, bits: int) -> frozenset[str]:
        """Return the owners of the addresses in an interval that a leaf has routes to."""
        first, end = interval
        starts, routed = self._routed(self.fabric.network_of(leaf), bits)
        owners = set()
        index = max(bisect_right(starts, first) - 1, 0)
        for start, behind, owner in routed[index:]:
            if start >= end:
                break
            if behind > first:
                owners.add(owner)
        if bits == IPV4_BITS and any(first <= address < end for address in self._own_ends(leaf)):
            owners.add(SWITCHES)
        return frozenset(owners)

    def _own_ends(self, leaf: Switch) -> Iterator[int]:
        """Yield a leaf's own addresses on its links to switches."""
        for link in self.fabric.uplinks_of[leaf.name]:
            if self.fabric.is_numbered(link):
                yield link.network + 1

    def _routed_in(self, network: tuple[int, int | None], bits: int) -> tuple[list[int], list[tuple[int, int, str]]]:
        """Return the addresses that leaves of a network have routes to, ascending: first, behind the last, owner."""
        routed = list(
            chain.from_iterable(
                self._of_switch(switch, bits)
                for switch in self.fabric.switches
                if self.fabric.network_of(switch) == network
            )
        )
        joined = list(_joined(sorted(routed)))
        return [first for first, _, _ in joined], joined

    def _of_switch(self, switch: Switch, bits: int) -> Iterator[tuple[int, int, str]]:
        """Yield the addresses of a switch and of its nodes."""
        if bits == IPV4_BITS:
            yield switch.loopback, switch.loopback + 1, SWITCHES
        for link in self.fabric.downlinks_of[switch.name]:
            if link.is_access:
                owner = self._tenancy.tenant_of.get(link.lower, NO_TENANT)
                for pool in link_prefixes(self.fabric, link):
                    if pool.bits == bits:
                        yield pool.first, pool.first + pool.size, owner


_latest: Isolation | None = None
"""That of the last fabric, kept for its cache: callers go through the switches of one fabric."""


def isolation_of(fabric: Fabric) -> Isolation | None:
    """Return who reaches whom in a fabric, None if it has no tenants."""
    global _latest  # noqa: PLW0603  a cache of one
    if not fabric.policies.tenants:
        return None
    if _latest is None or _latest.fabric is not fabric:
        tenancy = Tenancy(fabric)
        if not tenancy:
            return None
        _latest = Isolation(fabric, tenancy)
    return _latest


def _joined(routed: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Yield intervals with those of one owner that touch joined."""
    last: tuple[int, int, str] | None = None
    for first, end, owner in routed:
        if last is not None and last[2] == owner and first <= last[1]:
            last = (last[0], max(end, last[1]), owner)
            continue
        if last is not None:
            yield last
        last = (first, end, owner)
    if last is not None:
        yield last


def _open(filters: Iterable[PortFilter], bits: int) -> Iterator[tuple[str, Pool, Interval]]:
    """Yield the destinations that a port lets packets pass to: the rule, their source, and the addresses."""
    everything = _EVERYTHING[bits]
    is_filtered = False
    for rules in filters:
        is_filtered = True
        closed: list[Pool] = []
        for rule in (*rules, FilterRule("", True, everything, everything, True, frozenset())):
            if rule.forwards:
                for interval in _without(_interval(rule.destination), closed):
                    yield rule.key, rule.source, interval
            elif rule.is_plain and rule.source == everything:
                closed.append(rule.destination)
    if not is_filtered:
        yield "", everything, _interval(everything)


def _without(interval: Interval, closed: Iterable[Pool]) -> Iterator[Interval]:
    """Yield what is left of an interval without some prefixes."""
    first, end = interval
    for start, behind in sorted(map(_interval, closed)):
        if behind <= first or start >= end:
            continue
        if start > first:
            yield first, start
        first = max(first, behind)
    if first < end:
        yield first, end


def _interval(pool: Pool) -> Interval:
    return pool.first, pool.first + pool.size
