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
    """An address family of a rail."""

    # The rail's address.
    text: str
    # All addresses of its interface, with their lengths.
    addresses: tuple[str, ...]
    # The tables and priorities of the rules for these.
    tables: tuple[int, ...]
    priorities: tuple[int, ...]
    # Prefixes of the names of its facts and of its commands.
    facts: str
    command: str


@RULE.on_node
def rails(node: NodeRead) -> Breaches:
    """Compare the addresses and tables of each rail."""
    for rail in node.rails:
        for family in _families(node, rail):
            yield from _breaches(node, rail, family)


@RULE.on_node
def states(node: NodeRead) -> Breaches:
    """Look for rails that are turned off."""
    for rail in node.rails:
        if node.nic(rail.name).get("state", "up") != "up":
            message = f"{node.host.name}:{rail.name} is turned off, and {rail.switch} expects it up"
            fix = f"ip link set dev {rail.name} up"
            yield Breach("", message, fix, devices=(node.host.name, rail.switch))


@RULE.on_node
def routes(node: NodeRead) -> Breaches:
    """Compare the routes of each rail."""
    intended = node.intended
    for rail in node.rails:
        nic = node.nic(rail.name)
        of_ipv4, of_ipv6 = intended_routes(intended, rail)
        for expected, actual, command in (
            (of_ipv4, nic.get("routes"), "ip route"),
            (of_ipv6, nic.get("ipv6_routes"), "ip -6 route"),
        ):
            if actual is not None:
                yield from _wrong_routes(node, rail, expected, _by_place(actual), command)
                yield from _further_routes(node, rail, expected, actual, command)


_Place = tuple[str, str, str]
"""Destination, table and metric of a route."""


def _by_place(routes: Iterable[Mapping[str, Any]]) -> dict[_Place, Mapping[str, Any]]:
    return {_place(route): route for route in routes}


def _place(route: Mapping[str, Any]) -> _Place:
    # iproute2 leaves out a metric of 0.
    return str(route.get("to")), str(route.get("table")), str(route.get("metric", 0))


def _wrong_routes(
    node: NodeRead,
    rail: Rail,
    expected: Iterable[Mapping[str, Any]],
    actual: Mapping[_Place, Mapping[str, Any]],
    command: str,
) -> Breaches:
    for route in expected:
        place = _place(route)
        difference = _difference(rail, route, actual.get(place))
        if not difference:
            continue
        _, table, metric = place
        message = f"the route of {node.host.name}:{rail.name} to {route['to']} in table {table} {difference}"
        words = f"{command} replace {route['to']} via {route['via']} dev {rail.name}"
        words += "".join(f" {key} {route[key]}" for key in ("src", "mtu") if key in route)
        words += f" table {table}"
        if metric != "0":
            words += f" metric {metric}"
        yield Breach("", message, words, devices=(node.host.name, rail.switch))


def _difference(rail: Rail, expected: Mapping[str, Any], actual: Mapping[str, Any] | None) -> str:
    """Return in words how a route differs, empty if it does not."""
    if actual is None:
        return f"does not exist; {rail.switch} is {expected['via']}"
    via = str(actual.get("via", ""))
    if via != expected["via"]:
        return f"leads to {via}; {rail.switch} is {expected['via']}"
    if "src" in expected and actual.get("src") != expected["src"]:
        return f"sends from {actual.get('src', 'the first address')}, not {expected['src']}"
    if actual.get("mtu") != expected.get("mtu"):
        carries = f"packets of {actual['mtu']} bytes" if "mtu" in actual else "what the interface carries"
        return f"lets {carries} through, not {expected.get('mtu', 'what the interface carries')}"
    return ""


def _further_routes(
    node: NodeRead,
    rail: Rail,
    expected: Iterable[Mapping[str, Any]],
    actual: Iterable[Mapping[str, Any]],
    command: str,
) -> Breaches:
    """Yield unexpected routes in the tables of rails: packets to their destinations leave another way."""
    tables_of_rails = {str(any_rail.table) for any_rail in node.rails}
    places = {_place(route) for route in expected}
    for route in actual:
        destination, table, metric = _place(route)
        if table in tables_of_rails and (destination, table, metric) not in places:
            message = (
                f"table {table} of {node.host.name} has a route to {destination} over {rail.name} via"
                f" {route.get('via', '')}, which no rail has there"
            )
            words = f"{command} del {destination} dev {rail.name} table {table}"
            if metric != "0":
                words += f" metric {metric}"
            yield Breach("", message, words, devices=(node.host.name, rail.switch))


def _families(node: NodeRead, rail: Rail) -> Iterator[_Family]:
    if rail.ipv4 is not None:
        addresses = tuple(f"{ipv4_text(address)}/{length}" for address, length in rail.ipv4_addresses)
        tables = [rail.table]
        priorities = [rail.rule_priority]
        if rail.nic is not None:
            tables += rail.nic.tables
            priorities += sorted(port.rule_priority for port in _ports_of_nic(node, rail.nic.address))
        yield _Family(ipv4_text(rail.ipv4.address), addresses, tuple(tables), tuple(priorities), "", "ip")
    if rail.ipv6 is not None:
        address = ipv6_text(rail.ipv6.address)
        own = (f"{address}/{IPV6_LINK_LENGTH}",)
        yield _Family(address, own, (rail.table,), (rail.rule_priority,), "ipv6_", "ip -6")


def _ports_of_nic(node: NodeRead, address: int) -> Iterator[NicAddress]:
    """Yield the shares that ports have in a NIC's own address."""
    yield from (rail.nic for rail in node.rails if rail.nic is not None and rail.nic.address == address)


def _breaches(node: NodeRead, rail: Rail, family: _Family) -> Breaches:
    nic = node.nic(rail.name)
    end = f"{node.host.name}:{rail.name}"
    devices = (node.host.name, rail.switch)
    addresses = nic.get(f"{family.facts}addresses")
    # The kernel lists addresses in the order in which they were added.
    if addresses is not None and sorted(addresses) != sorted(family.addresses):
        yield _wrong_addresses(end, rail, family, addresses, devices)
    tables = nic.get(f"{family.facts}tables")
    if tables is not None and tables != list(family.tables):
        yield _wrong_tables(end, rail, family, tables, devices)
        return
    # Rules with the right tables in the wrong order; with wrong tables their priorities mean nothing.
    priorities = nic.get(f"{family.facts}rule_priorities")
    if priorities is not None and priorities != list(family.priorities):
        held = ", ".join(map(str, priorities)) or "none"
        message = (
            f"the rules for addresses of {end} to {rail.switch} have priority {held}, not"
            f" {', '.join(map(str, family.priorities))}: other rules may come first"
        )
        yield Breach("", message, f"set the rules of {end}: `{command_line('hosts', 'apply')}`", devices=devices)


def _wrong_addresses(
    end: str, rail: Rail, family: _Family, addresses: Sequence[str], devices: tuple[str, str]
) -> Breach:
    expected = ", ".join(family.addresses)
    message = f"{end} has {', '.join(addresses) or 'no address'} and {rail.switch} expects {expected}"
    what = "addresses"
    if len(family.addresses) == 1:
        what = "address"
    return Breach("", message, f"give {end} the {what} {expected} and no other", devices=devices)


def _wrong_tables(end: str, rail: Rail, family: _Family, tables: list[int], devices: tuple[str, str]) -> Breach:
    name = "IPv6 " if family.facts else ""
    actual = ", ".join(map(str, tables)) or "none"
    if rail.nic is None:
        expected = f"that of its rail to {rail.switch} is {rail.table}: packets leave on another rail"
        fix = f"{family.command} rule add priority {rail.rule_priority} from {family.text} table {rail.table}"
    else:
        expected = f"in this order they are {', '.join(map(str, family.tables))}: packets leave on another port"
        fix = f"add the rules of {end} as rendered (rails.json)"
    message = f"what leaves with the {name}address of {end} is routed by table {actual}, {expected}"
    return Breach("", message, fix, devices=devices)
