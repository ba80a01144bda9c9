"""The path of a flow is the remainder of its hash by the count of paths. With an odd count some paths get more hash
values than others, and a fabric in maintenance has no halves that carry equal loads."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric

RULE = rule(
    "L-4",
    "a leaf has an even count of equal paths",
    __doc__,
    "{nodes: [{count: 8}], topology: {stripe: 8, links_per_pair: 5, spine: {count: 3}}}",
)


@RULE.on_fabric
def check_uplink_counts(fabric: Fabric) -> Breaches:
    """Yield an info for each kind of switches with an odd count of uplinks."""
    for tier in fabric.uplink_kinds:
        if tier.ports_up > 1 and tier.ports_up % 2:
            key = tier.path or f"topology.{fabric.tiers[tier.level + 1].name.replace('-', '_')}.count"
            message = f"{tier.titled} spread flows over {tier.ports_up} uplinks, an odd count: the load stays uneven"
            fix = "use an even count of spines or of links_per_pair, best a power of two"
            yield Breach(key, message, fix, Severity.INFO)
