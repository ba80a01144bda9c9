"""A rail has its own address, and a rule that sends what leaves with it to the rail's own table; else packets of one
rail leave on another."""

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.hosts.values import LINK_PREFIX_LENGTH
from railweave.units import ipv4_text

RULE = rule(
    "N-2",
    "every rail of a node has its own address and its own routing table",
    __doc__,
    "no `ip rule` for the address of rail1",
)


@RULE.on_node
def rails(node: NodeRead) -> Breaches:
    """Compare the addresses and tables of each rail."""
    for rail in node.rails:
        nic, end, devices = node.nic(rail.name), f"{node.host.name}:{rail.name}", (node.host.name, rail.switch)
        address = f"{ipv4_text(rail.address)}/{LINK_PREFIX_LENGTH}"
        addresses, tables = nic.get("addresses"), nic.get("tables")
        if addresses is not None and addresses != [address]:
            message = f"{end} has {', '.join(addresses) or 'no address'} and {rail.switch} expects {address}"
            yield Breach("", message, f"give {end} the address {address} and no other", devices=devices)
        if tables is not None and tables != [rail.table]:
            message = (
                f"what leaves with the address of {end} is routed by table {', '.join(map(str, tables)) or 'none'},"
                " that"
                f" of its rail to {rail.switch} is {rail.table}: packets leave on another rail"
            )
            fix = f"ip rule add priority {rail.rule_priority} from {ipv4_text(rail.address)} table {rail.table}"
            yield Breach("", message, fix, devices=devices)
