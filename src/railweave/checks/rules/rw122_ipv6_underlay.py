"""IPv6 routes follow sessions over link-local addresses. Over a session with IPv4 addresses FRR takes the IPv6 next hop
from the port once, when the session opens (bgpd/bgp_zebra.c). Where the kernel still probes for duplicates of the
port's IPv6 addresses then, as after a link flap, FRR announces one mapped from IPv4, which no kernel forwards to, until
the session opens again (run on FRR 8.4; pull requests 15614, 16439, 16615 and 20360). A /127 on the link that the
kernel keeps while the link is down survives a flap, but is probed as well when it is new."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule(
    "RW122",
    "IPv6 for the nodes comes with an unnumbered underlay",
    __doc__,
    "addressing: {underlay: numbered, hosts_ipv6: fd00:10::/44}",
)


@RULE.on_intent
def check_sessions(intent: Intent) -> Breaches:
    """Yield a breach if nodes have IPv6 and sessions have IPv4 addresses."""
    addressing = intent.policies.addressing
    if addressing.hosts_ipv6 is not None and not addressing.unnumbered:
        message = f"hosts_ipv6 {addressing.hosts_ipv6} needs sessions over link-local addresses; underlay is numbered"
        fix = "set addressing.underlay to unnumbered, or take hosts_ipv6 out"
        yield Breach("addressing.hosts_ipv6", message, fix)
