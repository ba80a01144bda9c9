"""A spine carries traffic from one leaf to another. Where its links lead to fewer than two leaves with nodes, no packet
ever takes it: the leaves, or the spines, were counted wrong."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric
from railweave.wording import compact

RULE = rule(
    "T-10",
    "every spine joins two leaves that have nodes",
    __doc__,
    "{nodes: [{count: 8}], topology: {rails: 1, leaf: {count: 1}}}",
)


@RULE.on_fabric
def check_spines(fabric: Fabric) -> Breaches:
    """Yield a warning if there are spines below which fewer than two leaves have nodes."""
    leaves_with_nodes = {link.upper for host in fabric.hosts for link in fabric.uplinks_of[host.name]}
    idle_names = []
    for switch in fabric.switches:
        # A spine with uplinks joins its leaves with those of other pods.
        if switch.tier.level == 1 and not fabric.uplinks_of[switch.name]:
            leaves = {link.lower for link in fabric.downlinks_of[switch.name]}
            if len(leaves & leaves_with_nodes) < 2:
                idle_names.append(switch.name)
    if idle_names:
        message = (
            f"no traffic takes {compact(idle_names)}: a spine joins leaves, and fewer than two leaves with nodes are"
            " below it"
        )
        fix = "leave the counts of leaves and spines to `auto`, or add the nodes of the other leaves"
        yield Breach("topology.spine", message, fix, Severity.WARNING, tuple(idle_names))
