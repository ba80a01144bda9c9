"""A rail is up and has its own address, a rule for it that names the rail's own table, and there a route to its leaf;
else packets of one rail leave on another, or on none."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.fabric.model import IPV6_LINK_LENGTH
from railweave.hosts.render import intended_routes
from railweave.hosts.values import Rail
from railweave.units import ipv4_text, ipv6_text

RULE = rule(
    "N-2",
    "every rail of a node is up and has its own address, routing table and routes",
    __doc__,
    "no `ip rule` for the address of rail1",
)


class _Family(NamedTuple):
    """An address of a rail, the addresses of its interface with their lengths, the tables of the rules for these, and
    what begins the names of its facts and its command."""

    text: str
    addresses: tuple[str, ...]
    tables: tuple[int, ...]
    facts: str
    command: str


@RULE.on_node
def rails(node: NodeRead) -> Breaches:
    """Compare the addresses and tables of each rail."""
    for rail in node.rails:
        for family in _families(rail):
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
    """Compare where the routes of each rail lead."""
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


def _by_place(routes: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], str]:
    """Return the next hops of routes by destination, table and metric."""
    return {
        (str(route.get("to")), str(route.get("table")), str(route.get("metric", 0))): str(route.get("via", ""))
        for route in routes
    }


def _wrong_routes(
    node: NodeRead,
    rail: Rail,
    expected: Iterable[Mapping[str, Any]],
    actual: Mapping[tuple[str, str, str], str],
    command: str,
) -> Breaches:
    end, devices = f"{node.host.name}:{rail.name}", (node.host.name, rail.switch)
    for route in expected:
        place = (route["to"], str(route["table"]), str(route.get("metric", 0)))
        via = actual.get(place)
        if via == route["via"]:
            continue
        leads = f"leads to {via}" if via is not None else "does not exist"
        message = f"the route of {end} to {route['to']} in table {place[1]} {leads}; {rail.switch} is {route['via']}"
        words = f"{command} replace {route['to']} via {route['via']} dev {rail.name} table {place[1]}"
        if place[2] != "0":
            words += f" metric {place[2]}"
        yield Breach("", message, words, devices=devices)


def _families(rail: Rail) -> tuple[_Family, ...]:
    ipv4, ipv6 = rail.ipv4, rail.ipv6
    own = tuple(f"{ipv4_text(address)}/{length}" for address, length in rail.ipv4_addresses)
    tables = (rail.table, *(rail.nic.tables if rail.nic else ()))
    address = ipv6_text(ipv6.address) if ipv6 else ""
    return (
        *([_Family(ipv4_text(ipv4.address), own, tables, "", "ip")] if ipv4 else []),
        *([_Family(address, (f"{address}/{IPV6_LINK_LENGTH}",), (rail.table,), "ipv6_", "ip -6")] if ipv6 else []),
    )


def _breaches(node: NodeRead, rail: Rail, family: _Family) -> Breaches:
    nic, end, devices = node.nic(rail.name), f"{node.host.name}:{rail.name}", (node.host.name, rail.switch)
    expected = ", ".join(family.addresses)
    addresses, tables = nic.get(f"{family.facts}addresses"), nic.get(f"{family.facts}tables")
    if addresses is not None and sorted(addresses) != sorted(family.addresses):
        message = f"{end} has {', '.join(addresses) or 'no address'} and {rail.switch} expects {expected}"
        what = "address" if len(family.addresses) == 1 else "addresses"
        yield Breach("", message, f"give {end} the {what} {expected} and no other", devices=devices)
    if tables is not None and tables != list(family.tables):
        of = "IPv6 " if family.facts else ""
        by = ", ".join(map(str, tables)) or "none"
        its = f"that of its rail to {rail.switch} is {rail.table}: packets leave on another rail"
        fix = f"{family.command} rule add priority {rail.rule_priority} from {family.text} table {rail.table}"
        if rail.nic is not None:
            its = f"in this order they are {', '.join(map(str, family.tables))}: packets leave on another port"
            fix = f"add the rules of {end} as rendered (rails.json)"
        message = f"what leaves with the {of}address of {end} is routed by table {by}, {its}"
        yield Breach("", message, fix, devices=devices)
