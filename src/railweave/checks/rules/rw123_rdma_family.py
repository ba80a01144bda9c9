"""NCCL looks for RoCE GIDs of one family of addresses; where a NIC has none of it, it takes one that is not routed."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.policy import AddressFamily
from railweave.intent.model import Intent

RULE = rule("RW123", "RDMA uses addresses that the nodes have", __doc__, "hosts: {rdma_family: ipv6}")


@RULE.on_intent
def held(intent: Intent) -> Breaches:
    """Look for RDMA over IPv6 where nodes have none."""
    policies = intent.policies
    if policies.hosts.rdma_family is AddressFamily.IPV6 and policies.addressing.hosts_ipv6 is None:
        message = "RDMA is to use IPv6, and the nodes have IPv4 addresses alone"
        yield Breach("hosts.rdma_family", message, "state addressing.hosts_ipv6, or use rdma_family: ipv4")
