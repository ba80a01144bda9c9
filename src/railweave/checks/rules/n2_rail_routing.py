"""A rail has its own address, and a rule that sends what leaves with it to the rail's own table; else packets of one
rail leave on another."""

from typing import NamedTuple

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.fabric.model import IPV6_LINK_LENGTH
from railweave.hosts.values import Rail
from railweave.units import ipv4_text, ipv6_text

RULE = rule(
    "N-2",
    "every rail of a node has its own address and its own routing table",
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
