"""The floors of the intent: how much of the fabric has to survive failures."""

from typing import Annotated

from railweave.fabric.policy import FailureFloor, FailureFloors
from railweave.intent.keys import Keys, section, unset
from railweave.intent.kinds import Whole

Percent = Annotated[int | None, Whole(least=0, most=100)]


class FloorKeys(Keys):
    """What is left at least, in percent of the intact fabric, as `railweave failures` counts it."""

    ports: Percent = unset("bandwidth of all node ports that have a link in service")
    rail: Percent = unset("bandwidth of the node ports of the worst rail")
    uplinks: Percent = unset("uplinks of the worst switch in service")
    two_leaves: Percent = unset("bandwidth between the worst two leaves in service, as equal-cost routing spreads it")
    two_nodes: Percent = unset("bandwidth between the worst two GPU nodes with a link in service, rail by rail")
    nodes_out: Annotated[int | None, Whole(least=0, most=1_000_000)] = unset(
        "GPU nodes without a link in service, at most"
    )

    def floor(self) -> FailureFloor:
        """Return the floor."""
        return FailureFloor(self.ports, self.rail, self.uplinks, self.two_leaves, self.two_nodes, self.nodes_out)


class FailureKeys(Keys):
    """What has to be left whatever fails; `railweave check` refuses a design that leaves less (T-13)."""

    single: FloorKeys = section(FloorKeys, "when any one link, switch, pod or plane fails")
    pair: FloorKeys = section(FloorKeys, "when any two of them fail together")

    def floors(self) -> FailureFloors:
        """Return the floors."""
        return FailureFloors(self.single.floor(), self.pair.floor())
