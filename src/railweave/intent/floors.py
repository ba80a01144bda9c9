"""The floors of the intent: how much of the fabric has to survive failures."""

from typing import Annotated

from railweave.fabric.policy import FailureFloor, FailureFloors
from railweave.intent.keys import Keys, section, unset
from railweave.intent.kinds import Whole

Percent = Annotated[int | None, Whole(least=0, most=100)]


class FloorKeys(Keys):
    """What is left at least, in percent of the intact fabric, as `railweave failures` counts it."""

    ports_percent: Percent = unset("bandwidth of all node ports that have a link in service", "ports")
    rail_percent: Percent = unset("bandwidth of the node ports of the worst rail", "rail")
    uplinks_percent: Percent = unset("uplinks of the worst switch in service", "uplinks")
    two_leaves_percent: Percent = unset(
        "bandwidth between the worst two leaves in service, as equal-cost routing spreads it", "two_leaves"
    )
    two_nodes_percent: Percent = unset(
        "bandwidth between the worst two GPU nodes with a link in service, rail by rail", "two_nodes"
    )
    nodes_out: Annotated[int | None, Whole(least=0, most=1_000_000)] = unset(
        "GPU nodes without a link in service, at most"
    )


class FailureKeys(Keys):
    """What has to be left whatever fails; `railweave check` refuses a design that leaves less (T-13)."""

    single: FloorKeys = section(FloorKeys, "when any one link, switch, pod or plane fails")
    pair: FloorKeys = section(FloorKeys, "when any two of them fail together")

    def floors(self) -> FailureFloors:
        """Return the floors."""
        return FailureFloors(FailureFloor(**dict(self.single)), FailureFloor(**dict(self.pair)))
