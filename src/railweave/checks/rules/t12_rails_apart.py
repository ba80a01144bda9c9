"""A rail-only network saves the spines that join rails. What a GPU sends to one of another rail first takes the links
between the GPUs of its own node, to the one on the right rail (NCCL's PXN); a node without such links, or software
without that step, has no path."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric
from railweave.wording import counted

RULE = rule("T-12", "the network has a path between rails", __doc__, "topology: {shape: rail-only}")


@RULE.on_fabric
def check_paths_between_rails(fabric: Fabric) -> Breaches:
    """Yield an info if the network has no path between rails: it says where traffic between rails goes."""
    if fabric.rail_only and fabric.rails > 1:
        message = (
            f"no path joins the {counted(fabric.rails, 'rail')} in the network: traffic between rails takes the GPU"
            " links of a node (NCCL_PXN_DISABLE=0)"
        )
        fix = "use nodes whose GPUs are linked with each other, or shape: rail-optimized, whose spines join the rails"
        yield Breach("topology.shape", message, fix, Severity.INFO)
