"""Every line card of a chassis runs a SONiC of its own beside those of its supervisors; what railweave renders is the
configuration of a switch with one. The design of a fabric with chassis is sized, counted, compared, drawn and tried
for failures all the same."""

from collections.abc import Iterator

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric

RULE = rule(
    "RW126",
    "a chassis of line cards can be sized but not configured",
    __doc__,
    "topology: {spine: {model: arista-7808r3a-36d2}}",
)


@RULE.on_fabric
def check_chassis(fabric: Fabric) -> Breaches:
    """Yield an info for each tier with switches of line cards."""
    yield from of_fabric(fabric, Severity.INFO)


def of_fabric(fabric: Fabric, severity: Severity) -> Iterator[Breach]:
    """Yield a breach for each tier with chassis: an info when a fabric is designed, an error when it is configured."""
    for tier, switches in zip(fabric.tiers, fabric.tier_switches, strict=True):
        names = tuple(switch.name for switch in switches if switch.panel.card_cages)
        if names:
            path = f"topology.{tier.name.replace('-', '_')}.model"
            message = "a chassis of line cards, each with a SONiC of its own: the fabric can be sized, not configured"
            yield Breach(path, message, "choose a model without line cards to configure it", severity, names)
