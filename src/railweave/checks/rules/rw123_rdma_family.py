"""NCCL looks for RoCE GIDs of one family of addresses; where a NIC has none of it, it takes one that is not routed."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.policy import AddressFamily
from railweave.intent.model import Intent

RULE = rule("RW123", "RDMA uses addresses that the nodes have", __doc__, "hosts: {rdma_family: ipv6}")


@RULE.on_intent
def check_rdma_family(intent: Intent) -> Breaches:
    """Yield a breach if RDMA uses a family of which nodes have no addresses."""
    pools = intent.policies.addressing
    family = intent.policies.hosts.rdma_family
    if family is AddressFamily.IPV6 and pools.hosts_ipv6 is None and pools.hosts is not None:
        message = "RDMA is to use IPv6, and the nodes have IPv4 addresses alone"
        yield Breach("hosts.rdma_family", message, "state addressing.hosts_ipv6, or use rdma_family: ipv4")
    if family is AddressFamily.IPV4 and pools.hosts is None:
        message = "RDMA uses IPv4, but addressing.hosts is none"
        yield Breach("hosts.rdma_family", message, "state a pool of IPv4 as addressing.hosts, or take rdma_family out")
