"""The rules of the edge guard match the protocol field of IPv4 (IP_PROTOCOL); of IPv6 that is another one, NEXT_HEADER
(sonic-swss orchagent/aclorch.cpp). Notifications over IPv6 would be dropped with all else that has their DSCP."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule(
    "RW124",
    "the edge guard lets the notifications of every family pass",
    __doc__,
    "{edge_guard: true, addressing: {underlay: unnumbered, hosts_ipv6: fd00:10::/44}}",
)


@RULE.on_intent
def passing(intent: Intent) -> Breaches:
    """Look for an edge guard where nodes have IPv6."""
    policies = intent.policies
    if policies.edge_guard and policies.addressing.hosts_ipv6 is not None:
        message = "edge_guard would drop the notifications of IPv6: its rules match the protocol of IPv4 packets"
        yield Breach("edge_guard", message, "take edge_guard out, or addressing.hosts_ipv6")
