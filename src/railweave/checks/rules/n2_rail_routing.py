"""A rail is up and has its own address, a rule for it that names the rail's own table, and there a route to its leaf;
else packets of one rail leave on another, or on none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.fabric.model import IPV6_LINK_LENGTH
from railweave.hosts.render import intended_routes
from railweave.hosts.values import NicAddress, Rail
from railweave.units import ipv4_text, ipv6_text
from railweave.wording import command_line

RULE = rule(
    "N-2",
    "every rail of a node is up and has its own address, routing table and routes",
    __doc__,
    "no `ip rule` for the address of rail1",
)


class _Family(NamedTuple):
    """An address family of a rail, as it is intended."""

    # The rail's address.
    text: str
    # All addresses of its interface, with their lengths.
    addresses: tuple[str, ...]
    # The tables and priorities of the rules for these.
    tables: tuple[int, ...]
    priorities: tuple[int, ...]
    # What its facts begin with: `ipv6_` or nothing.
    facts_prefix: str
    # `ip` or `ip -6`.
    command: str


@RULE.on_node
def check_addresses_and_rules(node: NodeRead) -> Breaches:
    """Yield a breach for each rail with other addresses, routing tables or rule priorities than intended."""
    for rail in node.rails:
        for family in _families(node, rail):
            yield from _family_breaches(node, rail, family)


@RULE.on_node
def check_states(node: NodeRead) -> Breaches:
    """Yield a breach for each rail that is turned off."""
    for rail in node.rails:
        if node.nic(rail.name).get("state", "up") != "up":
            message = f"{node.host.name}:{rail.name} is turned off, and {rail.switch} expects it up"
            fix = f"ip link set dev {rail.name} up"
            yield Breach("", message, fix, devices=(node.host.name, rail.switch))


@RULE.on_node
def check_routes(node: NodeRead) -> Breaches:
    """Yield a breach for each route of a rail that is missing, wrong or not expected."""
    intended = node.intended
    for rail in node.rails:
        nic = node.nic(rail.name)
        of_ipv4, of_ipv6 = intended_routes(intended, rail)
        for expected, actual, command in (
            (of_ipv4, nic.get("routes"), "ip route"),
            (of_ipv6, nic.get("ipv6_routes"), "ip -6 route"),
        ):
            if actual is not None:
                yield from _wrong_routes(node, rail, expected, actual, command)
                yield from _unexpected_routes(node, rail, expected, actual, command)


class _RouteKey(NamedTuple):
    """What the kernel tells the routes of an interface apart by."""

    destination: str
    table: str
    metric: str

    @classmethod
    def of(cls, route: Mapping[str, Any]) -> "_RouteKey":
        # iproute2 leaves out a metric of 0.
        return cls(str(route.get("to")), str(route.get("table")), str(route.get("metric", 0)))

    @property
    def arguments(self) -> str:
        """Return table and metric as arguments of `ip route`."""
        if self.metric == "0":
            return f"table {self.table}"
        return f"table {self.table} metric {self.metric}"


def _wrong_routes(
    node: NodeRead,
    rail: Rail,
    expected: Iterable[Mapping[str, Any]],
    actual: Iterable[Mapping[str, Any]],
    command: str,
) -> Breaches:
    """Yield a breach for each expected route that does not exist or is another; the fix replaces it."""
    actual_routes = {_RouteKey.of(route): route for route in actual}
    for route in expected:
        key = _RouteKey.of(route)
        difference = _difference(rail, route, actual_routes.get(key))
        if not difference:
            continue
        message = f"the route of {node.host.name}:{rail.name} to {route['to']} in table {key.table} {difference}"
        fix = f"{command} replace {route['to']} via {route['via']} dev {rail.name}"
        fix += "".join(f" {attribute} {route[attribute]}" for attribute in ("src", "mtu") if attribute in route)
        yield Breach("", message, f"{fix} {key.arguments}", devices=(node.host.name, rail.switch))


def _difference(rail: Rail, expected: Mapping[str, Any], actual: Mapping[str, Any] | None) -> str:
    """Return how a route differs from the expected one, as a clause; empty if it does not."""
    if actual is None:
        return f"does not exist; {rail.switch} is {expected['via']}"
    via = str(actual.get("via", ""))
    if via != expected["via"]:
        return f"leads to {via}; {rail.switch} is {expected['via']}"
    if "src" in expected and actual.get("src") != expected["src"]:
        return f"sends from {actual.get('src', 'the first address')}, not {expected['src']}"
    if actual.get("mtu") != expected.get("mtu"):
        carried = "what the interface carries"
        if "mtu" in actual:
            carried = f"packets of {actual['mtu']} bytes"
        return f"lets {carried} through, not {expected.get('mtu', 'what the interface carries')}"
    return ""


def _unexpected_routes(
    node: NodeRead,
    rail: Rail,
    expected: Iterable[Mapping[str, Any]],
    actual: Iterable[Mapping[str, Any]],
    command: str,
) -> Breaches:
    """Yield a breach for each route in the tables of rails that is not expected.

    Packets to its destination leave another way.
    """
    tables_of_rails = {str(any_rail.table) for any_rail in node.rails}
    expected_keys = {_RouteKey.of(route) for route in expected}
    for route in actual:
        key = _RouteKey.of(route)
        if key.table in tables_of_rails and key not in expected_keys:
            message = (
                f"table {key.table} of {node.host.name} has a route to {key.destination} over {rail.name} via"
                f" {route.get('via', '')}, which no rail has there"
            )
            fix = f"{command} del {key.destination} dev {rail.name} {key.arguments}"
            yield Breach("", message, fix, devices=(node.host.name, rail.switch))


def _families(node: NodeRead, rail: Rail) -> Iterator[_Family]:
    """Yield the address families that a rail has."""
    if rail.ipv4 is not None:
        addresses = tuple(f"{ipv4_text(address)}/{length}" for address, length in rail.ipv4_addresses)
        tables = [rail.table]
        priorities = [rail.rule_priority]
        if rail.nic is not None:
            tables += rail.nic.tables
            priorities += sorted(port.rule_priority for port in _ports_of_nic(node, rail.nic.address))
        yield _Family(
            text=ipv4_text(rail.ipv4.address),
            addresses=addresses,
            tables=tuple(tables),
            priorities=tuple(priorities),
            facts_prefix="",
            command="ip",
        )
    if rail.ipv6 is not None:
        address = ipv6_text(rail.ipv6.address)
        addresses = (f"{address}/{IPV6_LINK_LENGTH}",)
        yield _Family(
            text=address,
            addresses=addresses,
            tables=(rail.table,),
            priorities=(rail.rule_priority,),
            facts_prefix="ipv6_",
            command="ip -6",
        )


def _ports_of_nic(node: NodeRead, address: int) -> Iterator[NicAddress]:
    """Yield the settings of all ports of a node that share the NIC's own ``address``."""
    yield from (rail.nic for rail in node.rails if rail.nic is not None and rail.nic.address == address)


def _family_breaches(node: NodeRead, rail: Rail, family: _Family) -> Breaches:
    """Yield a breach for wrong addresses of a rail, and one for wrong rules for them.

    Facts that were not read are not compared.
    """
    nic = node.nic(rail.name)
    end = f"{node.host.name}:{rail.name}"
    devices = (node.host.name, rail.switch)
    addresses = nic.get(f"{family.facts_prefix}addresses")
    # The kernel lists addresses in the order in which they were added.
    if addresses is not None and sorted(addresses) != sorted(family.addresses):
        yield _wrong_addresses(end, rail, family, addresses, devices)
    tables = nic.get(f"{family.facts_prefix}tables")
    if tables is not None and tables != list(family.tables):
        yield _wrong_tables(end, rail, family, tables, devices)
        # Priorities of rules that lead to wrong tables mean nothing.
        return
    priorities = nic.get(f"{family.facts_prefix}rule_priorities")
    if priorities is not None and priorities != list(family.priorities):
        actual = ", ".join(map(str, priorities)) or "none"
        message = (
            f"the rules for addresses of {end} to {rail.switch} have priority {actual}, not"
            f" {', '.join(map(str, family.priorities))}: other rules may come first"
        )
        yield Breach("", message, f"set the rules of {end}: `{command_line('hosts', 'apply')}`", devices=devices)


def _wrong_addresses(
    end: str, rail: Rail, family: _Family, addresses: Sequence[str], devices: tuple[str, str]
) -> Breach:
    """Return the breach of a rail's interface with other ``addresses`` than intended."""
    expected = ", ".join(family.addresses)
    message = f"{end} has {', '.join(addresses) or 'no address'} and {rail.switch} expects {expected}"
    noun = "addresses"
    if len(family.addresses) == 1:
        noun = "address"
    return Breach("", message, f"give {end} the {noun} {expected} and no other", devices=devices)


def _wrong_tables(end: str, rail: Rail, family: _Family, tables: list[int], devices: tuple[str, str]) -> Breach:
    """Return the breach of rules that send packets from a rail's address to other ``tables`` than intended."""
    name = "IPv6 " if family.facts_prefix else ""
    actual = ", ".join(map(str, tables)) or "none"
    if rail.nic is None:
        expected = f"that of its rail to {rail.switch} is {rail.table}: packets leave on another rail"
        fix = f"{family.command} rule add priority {rail.rule_priority} from {family.text} table {rail.table}"
    else:
        expected = f"in this order they are {', '.join(map(str, family.tables))}: packets leave on another port"
        fix = f"add the rules of {end} as rendered (rails.json)"
    message = f"what leaves with the {name}address of {end} is routed by table {actual}, {expected}"
    return Breach("", message, fix, devices=devices)
