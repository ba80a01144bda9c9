"""Where the queue of RDMA on a switch port marks, and where PFC pauses its senders or, without PFC, the queue drops."""

from typing import NamedTuple

from railweave.acceptance.limits.paths import FabricPaths
from railweave.fabric.devices import Switch
from railweave.fabric.policy import ClassRole, Marking, Policies, TrafficClass
from railweave.qos.buffering import plan_own_buffers
from railweave.qos.marking import choose_marking, ecn_thresholds
from railweave.qos.mmu.pause import PauseLimits


class QueueThresholds(NamedTuple):
    """The marking of the class that is tested: the first of RDMA that marks, else the first that marks."""

    marking: Marking
    # When its groups pause; None if the buffer is unknown, or if the class is lossy.
    pause: PauseLimits | None
    # The depth at which its queue drops while no other is full; None if the buffer is unknown, or if it is lossless.
    drop_bytes: int | None = None


def queue_thresholds(paths: FabricPaths, device: str, speed_gbps: int) -> QueueThresholds:
    """Return the thresholds of the tested class on ports of ``speed_gbps`` of a switch.

    If no class marks, they follow from the speed alone. They are computed once for a switch, and once for all switches
    with the same front panel, tier and cable lengths, whose buffers are equal.
    """
    port_key = device, speed_gbps
    if port_key not in paths.computed:
        switch = paths.fabric.switch_of[device]
        lengths_m = paths.fabric.lengths_m_of(device)
        buffer_key = "queue", id(switch.panel), switch.tier.level, lengths_m, speed_gbps
        if buffer_key not in paths.computed:
            paths.computed[buffer_key] = _thresholds(paths.fabric.policies, switch, lengths_m, speed_gbps)
        paths.computed[port_key] = paths.computed[buffer_key]
    thresholds: QueueThresholds = paths.computed[port_key]
    return thresholds


def _thresholds(policies: Policies, switch: Switch, lengths_m: tuple[int, ...], speed_gbps: int) -> QueueThresholds:
    """Return the thresholds of the tested class. Without a plan of the buffer only its marking is known."""
    plan = plan_own_buffers(switch.panel, switch.tier, policies, lengths_m)
    tested = _tested_class(policies)
    if tested is None:
        return QueueThresholds(ecn_thresholds(speed_gbps), None)
    marking = choose_marking(tested, speed_gbps, policies.marking, plan).thresholds
    if plan is None:
        return QueueThresholds(marking, None)
    if tested.lossless:
        return QueueThresholds(marking, plan.limits)
    drop_bytes = None
    if plan.drops is not None:
        drop_bytes = plan.drops.alone_bytes
    return QueueThresholds(marking, None, drop_bytes)


def _tested_class(policies: Policies) -> TrafficClass | None:
    """Return the first class of RDMA that marks, else the first that marks, else None."""
    marked = [traffic_class for traffic_class in policies.classes if traffic_class.marks]
    for traffic_class in marked:
        if traffic_class.role is ClassRole.RDMA:
            return traffic_class
    return next(iter(marked), None)
