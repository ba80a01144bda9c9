"""The buffers of a fabric's switches in numbers: headroom, pools, pause thresholds and ECN marking."""

from collections import Counter

from railweave.fabric.buffers import GroupHeadroom, QueueMarking, SwitchBuffers
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.qos.buffering import BufferPlan, plan_own_buffers
from railweave.qos.marking import choose_marking
from railweave.qos.mmu.headroom import Headroom
from railweave.qos.mmu.pause import mark_percent

Cables = dict[tuple[int, int], int]
"""Ports in use by (speed in Gb/s, cable in meters)."""


def switch_buffers(fabric: Fabric) -> tuple[SwitchBuffers, ...]:
    """Return the buffers of all switches, one value for switches with equal ports in use; none if no class is lossless
    or lossy RDMA, or the buffers are unknown."""
    kinds: dict[tuple[int, int, tuple[tuple[tuple[int, int], int], ...]], list[Switch]] = {}
    for switch in fabric.switches:
        ports = Counter((link.speed_gbps, link.length_m) for link in fabric.links_of[switch.name])
        kinds.setdefault((id(switch.panel), switch.tier.level, tuple(sorted(ports.items()))), []).append(switch)
    result = []
    for (_, _, cables), switches in kinds.items():
        first = switches[0]
        plan = plan_own_buffers(first.panel, first.tier, fabric.policies, fabric.lengths_m_of(first.name))
        if plan is not None:
            names = tuple(switch.name for switch in switches)
            result.append(_of_kind(fabric, plan, names, dict(cables)))
    return tuple(result)


def _of_kind(fabric: Fabric, plan: BufferPlan, devices: tuple[str, ...], cables: Cables) -> SwitchBuffers:
    """Return the buffers of ``devices``, all with ``cables``."""
    headroom = []
    for (speed, length), ports in cables.items():
        room = plan.headroom[speed, length]
        if isinstance(room, Headroom):
            headroom.append(GroupHeadroom(speed, length, ports, room.size_bytes, room.xon_bytes, room.xoff_bytes))
    if not plan.groups:
        # No group is paused, so that none has headroom.
        headroom = []
    return SwitchBuffers(
        devices=devices,
        hwsku=plan.buffers.hwsku,
        model=plan.model,
        headroom=tuple(headroom),
        in_use=plan.divided(cables),
        all_ports=plan.full,
        pause_bytes=_pause_bytes(plan),
        marking=_marking(fabric, plan, sorted({speed for speed, _ in cables})),
    )


def _pause_bytes(plan: BufferPlan) -> dict[str, int]:
    """Return the depths at which PFC pauses, by traffic pattern; none without a lossless class."""
    if not plan.groups:
        return {}
    return dict(plan.limits.patterns)


def _marking(fabric: Fabric, plan: BufferPlan, speeds_gbps: list[int]) -> tuple[QueueMarking, ...]:
    """Return the ECN marking of every class that marks on ports of every speed; lossy ones never pause."""
    result = []
    for traffic_class in fabric.policies.classes:
        if not traffic_class.marks:
            continue
        depths: dict[str, int] = {}
        if traffic_class.lossless:
            depths = _pause_bytes(plan)
        for speed in speeds_gbps:
            marking = choose_marking(traffic_class, speed, fabric.policies.marking, plan).thresholds
            queue_marking = QueueMarking(
                traffic_class.name,
                speed,
                marking.minimum_bytes,
                marking.maximum_bytes,
                marking.probability_percent or 0,
                {name: round(mark_percent(marking, depth), 3) for name, depth in depths.items()},
            )
            result.append(queue_marking)
    return tuple(result)
