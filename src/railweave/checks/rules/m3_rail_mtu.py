"""All rails send packets of one size; a smaller one is smaller for whoever talks to it."""

from railweave.checks.registry import Breaches, NodeRead, rule
from railweave.checks.rules.m4_roce_mtu import smaller_mtus

RULE = rule(
    "M-3", "all rails of all nodes have one MTU", __doc__, "rail0 of one node with an MTU of 8900, all others 9000"
)


@RULE.on_node
def check_read_mtus(node: NodeRead) -> Breaches:
    """Yield a breach for each port with a smaller MTU than intended, with which RoCE keeps its packet size."""
    yield from (breach for breach, falls in smaller_mtus(node) if not falls)
