"""Several leaves share a NIC (dual-ToR) so that it keeps a path when one of them fails: each announces the address of
the NIC while its own link to it is up, and one whose link is down learns from the spines where the address still is.
Without spines nothing joins these leaves. Addresses of NICs are IPv4's."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule(
    "RW128",
    "leaves that share a NIC are joined by spines, and announce its address",
    __doc__,
    "{nodes: [{nics: {ports: 2}}], topology: {leaves_per_nic: 2, shape: rail-only, tiers: 1}}",
)


@RULE.on_intent
def check_tiers(intent: Intent) -> Breaches:
    """Yield a breach if leaves share NICs and no spine joins them."""
    topology = intent.topology
    if topology.leaves_per_nic > 1 and topology.tiers == 1:
        message = f"tiers: 1 has no spines, and nothing joins the {topology.leaves_per_nic} leaves of a NIC"
        yield Breach("topology.tiers", message, "use tiers: 2 or auto, or leaves_per_nic: 1")


@RULE.on_intent
def check_families(intent: Intent) -> Breaches:
    """Yield a breach if leaves share NICs and nodes have IPv6, in which NICs have no address of their own."""
    if intent.topology.leaves_per_nic > 1 and intent.policies.addressing.hosts_ipv6 is not None:
        message = "NICs that several leaves share have an address of IPv4 alone, and hosts_ipv6 asks for both families"
        yield Breach(
            "addressing.hosts_ipv6", message, "take addressing.hosts_ipv6 out, or use planes in place of leaves_per_nic"
        )
