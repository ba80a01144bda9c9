"""Where the lossless queue of a switch port marks, and where PFC pauses its senders."""

from typing import NamedTuple

from railweave.acceptance.limits.paths import FabricPaths
from railweave.fabric.devices import Switch
from railweave.fabric.policy import Marking, Policies
from railweave.qos.buffering import plan_buffers
from railweave.qos.marking import choose_marking, ecn_thresholds
from railweave.qos.mmu.pause import PauseLimits


class QueueThresholds(NamedTuple):
    """The marking of the first lossless class on a port, and when its groups pause; None if the buffer is unknown."""

    marking: Marking
    pause: PauseLimits | None


def queue_thresholds(paths: FabricPaths, device: str, speed_gbps: int) -> QueueThresholds:
    """Return the thresholds on ports of ``speed_gbps`` of a switch; those of the rule without a lossless class."""
    thresholds: QueueThresholds | None = paths.computed.get((device, speed_gbps))
    if thresholds is None:
        switch = paths.fabric.switch_of[device]
        lengths_m = paths.fabric.lengths_m_of(device)
        # Switches of one panel, tier and lengths of cables have one buffer.
        alike = "queue", id(switch.panel), switch.tier.level, lengths_m, speed_gbps
        if alike not in paths.computed:
            paths.computed[alike] = _thresholds(paths.fabric.policies, switch, lengths_m, speed_gbps)
        thresholds = paths.computed[device, speed_gbps] = paths.computed[alike]
    return thresholds


def _thresholds(policies: Policies, switch: Switch, lengths_m: tuple[int, ...], speed_gbps: int) -> QueueThresholds:
    marking = ecn_thresholds(speed_gbps)
    plan = plan_buffers(switch.panel, switch.tier, policies, lengths_m)
    for traffic_class in policies.classes:
        if traffic_class.lossless:
            marking = choose_marking(traffic_class, speed_gbps, policies.marking, plan).thresholds
            break
    return QueueThresholds(marking, plan.limits if plan else None)
