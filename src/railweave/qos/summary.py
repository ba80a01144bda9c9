"""The buffers of a fabric's switches in numbers: headroom, pools, pause thresholds and ECN marking."""

from collections import Counter

from railweave.fabric.buffers import GroupHeadroom, QueueMarking, SwitchBuffers
from railweave.fabric.model import Fabric, Switch
from railweave.qos.buffering import BufferPlan, plan_buffers
from railweave.qos.marking import choose_marking
from railweave.qos.mmu.headroom import Headroom
from railweave.qos.mmu.pause import mark_percent

Cables = dict[tuple[int, int], int]
"""Ports in use by (speed in Gb/s, cable in meters)."""


def switch_buffers(fabric: Fabric) -> tuple[SwitchBuffers, ...]:
    """Return the buffers of all switches, those with equal ports in use together; none where no class is lossless or
    no buffers are known."""
    alike: dict[tuple[int, int, tuple[tuple[tuple[int, int], int], ...]], list[Switch]] = {}
    for switch in fabric.switches:
        ports = Counter((link.speed_gbps, link.length_m) for link in fabric.links_of[switch.name])
        alike.setdefault((id(switch.panel), switch.tier.level, tuple(sorted(ports.items()))), []).append(switch)
    found = []
    for (_, _, cables), switches in alike.items():
        first = switches[0]
        plan = plan_buffers(first.panel, first.tier, fabric.policies, fabric.lengths_m_of(first.name))
        if plan is not None:
            names = tuple(switch.name for switch in switches)
            found.append(_of_kind(fabric, plan, names, dict(cables)))
    return tuple(found)


def _of_kind(fabric: Fabric, plan: BufferPlan, devices: tuple[str, ...], cables: Cables) -> SwitchBuffers:
    rooms = ((speed, length, ports, plan.headroom[speed, length]) for (speed, length), ports in cables.items())
    return SwitchBuffers(
        devices=devices,
        hwsku=plan.buffers.hwsku,
        model=plan.model,
        headroom=tuple(
            GroupHeadroom(speed, length, ports, room.size_bytes, room.xon_bytes, room.xoff_bytes)
            for speed, length, ports, room in rooms
            if isinstance(room, Headroom)
        ),
        in_use=plan.divided(cables),
        all_ports=plan.full,
        pause_bytes=dict(plan.limits.patterns),
        marking=_marking(fabric, plan, sorted({speed for speed, _ in cables})),
    )


def _marking(fabric: Fabric, plan: BufferPlan, speeds_gbps: list[int]) -> tuple[QueueMarking, ...]:
    found = []
    for one in (one for one in fabric.policies.classes if one.lossless):
        for speed in speeds_gbps:
            marking = choose_marking(one, speed, fabric.policies.marking, plan).thresholds
            at_pause = {name: round(mark_percent(marking, depth), 3) for name, depth in plan.limits.patterns}
            low, high, percent = marking.minimum_bytes, marking.maximum_bytes, marking.probability_percent or 0
            found.append(QueueMarking(one.name, speed, low, high, percent, at_pause))
    return tuple(found)
