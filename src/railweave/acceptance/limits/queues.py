"""Where the lossless queue of a switch port marks, and where PFC pauses its senders."""

from typing import NamedTuple

from railweave.acceptance.limits.paths import FabricPaths
from railweave.fabric.policy import Marking
from railweave.qos.buffering import plan_buffers
from railweave.qos.marking import choose_marking, ecn_thresholds
from railweave.qos.mmu.pause import PauseLimits


class QueueThresholds(NamedTuple):
    """The marking of the first lossless class on a port, and when its groups pause; None if the buffer is unknown."""

    marking: Marking
    pause: PauseLimits | None


def queue_thresholds(paths: FabricPaths, device: str, speed_gbps: int) -> QueueThresholds:
    """Return the thresholds on ports of ``speed_gbps`` of a switch; those of the rule without a lossless class."""
    fabric = paths.fabric
    switch = fabric.switch_of[device]
    key = "queue", id(switch.panel), switch.tier.level, fabric.lengths_m_of(device), speed_gbps
    if key not in paths.computed:
        marking = ecn_thresholds(speed_gbps)
        plan = plan_buffers(switch.panel, switch.tier, fabric.policies, fabric.lengths_m_of(device))
        for traffic_class in fabric.policies.classes:
            if traffic_class.lossless:
                marking = choose_marking(traffic_class, speed_gbps, fabric.policies.marking, plan).thresholds
                break
        paths.computed[key] = QueueThresholds(marking, plan.limits if plan else None)
    thresholds: QueueThresholds = paths.computed[key]
    return thresholds
