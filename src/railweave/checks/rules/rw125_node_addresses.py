"""A node without addresses on its rails reaches no other one."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule("RW125", "the nodes have addresses of IPv4, IPv6 or both", __doc__, "addressing: {hosts: none}")


@RULE.on_intent
def check_node_pools(intent: Intent) -> Breaches:
    """Yield a breach if there is no pool for the addresses of nodes."""
    if not intent.policies.addressing.host_pools:
        fix = "state addressing.hosts_ipv6, or a pool of IPv4"
        yield Breach("addressing.hosts", "the nodes have no addresses: hosts is none, and there is no hosts_ipv6", fix)
