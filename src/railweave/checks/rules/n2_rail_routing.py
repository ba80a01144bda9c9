"""A rail has its own address, and a rule that sends what leaves with it to the rail's own table; else packets of one
rail leave on another."""

from typing import NamedTuple

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.fabric.model import IPV6_LINK_LENGTH
from railweave.hosts.values import LINK_PREFIX_LENGTH, Rail
from railweave.units import ipv4_text, ipv6_text

RULE = rule(
    "N-2",
    "every rail of a node has its own address and its own routing table",
    __doc__,
    "no `ip rule` for the address of rail1",
)


class _Family(NamedTuple):
    """An address of a rail, how long its prefix is, and what begins the names of its facts and its command."""

    text: str
    length: int
    facts: str
    command: str


@RULE.on_node
def rails(node: NodeRead) -> Breaches:
    """Compare the addresses and tables of each rail."""
    for rail in node.rails:
        for family in _families(rail):
            yield from _breaches(node, rail, family)


def _families(rail: Rail) -> tuple[_Family, ...]:
    ipv4 = _Family(ipv4_text(rail.address), LINK_PREFIX_LENGTH, "", "ip")
    if rail.ipv6 is None:
        return (ipv4,)
    return ipv4, _Family(ipv6_text(rail.ipv6.address), IPV6_LINK_LENGTH, "ipv6_", "ip -6")


def _breaches(node: NodeRead, rail: Rail, family: _Family) -> Breaches:
    nic, end, devices = node.nic(rail.name), f"{node.host.name}:{rail.name}", (node.host.name, rail.switch)
    address = f"{family.text}/{family.length}"
    addresses, tables = nic.get(f"{family.facts}addresses"), nic.get(f"{family.facts}tables")
    if addresses is not None and addresses != [address]:
        message = f"{end} has {', '.join(addresses) or 'no address'} and {rail.switch} expects {address}"
        yield Breach("", message, f"give {end} the address {address} and no other", devices=devices)
    if tables is not None and tables != [rail.table]:
        of = "IPv6 " if family.facts else ""
        message = (
            f"what leaves with the {of}address of {end} is routed by table {', '.join(map(str, tables)) or 'none'},"
            f" that of its rail to {rail.switch} is {rail.table}: packets leave on another rail"
        )
        fix = f"{family.command} rule add priority {rail.rule_priority} from {family.text} table {rail.table}"
        yield Breach("", message, fix, devices=devices)
