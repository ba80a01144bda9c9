"""By default Linux answers ARP for the address of one rail on every rail, and drops answers that come in on another one
(arp_ignore, arp_announce, rp_filter)."""

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.hosts.values import kernel_settings

RULE = rule(
    "N-3",
    "a multi-rail node answers ARP only for each rail's own address, and accepts replies on any rail",
    __doc__,
    "net.ipv4.conf.all.arp_ignore = 0",
)


@RULE.on_node
def compare_sysctls(node: NodeRead) -> Breaches:
    """Yield a breach for each sysctl with another value than intended."""
    actual = node.document.get("sysctl", {})
    leaves = tuple(dict.fromkeys(rail.switch for rail in node.rails))
    for key, intended in kernel_settings(node.rails).items():
        if key in actual and str(actual[key]) != intended:
            message = (
                f"{key} of {node.host.name} is {actual[key] or 'not there'}, not {intended}: {', '.join(leaves)} may"
                " learn the address of one rail on another, or answers are dropped"
            )
            yield Breach("", message, f"sysctl -w {key}={intended}", devices=(node.host.name, *leaves))
