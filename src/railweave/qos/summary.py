"""The buffers of a fabric's switches in numbers: headroom, pools, pause thresholds and ECN marking."""

from collections import Counter, defaultdict
from typing import NamedTuple

from railweave.fabric.buffers import GroupHeadroom, QueueMarking, SwitchBuffers
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.qos.buffering import BufferPlan, plan_own_buffers
from railweave.qos.marking import choose_marking
from railweave.qos.mmu.headroom import Headroom
from railweave.qos.mmu.pause import mark_percent


class _CabledPorts(NamedTuple):
    """The number of a switch's ports in use of one speed with cables of one length."""

    speed_gbps: int
    length_m: int
    port_count: int


class _PortsInUse(NamedTuple):
    """What decides on the buffers of a switch: switches that agree in it have the same ones."""

    # Switches of one model and breakout share one panel. Its identity stands for all its ports.
    panel_id: int
    level: int
    # By speed, then by length.
    ports: tuple[_CabledPorts, ...]


def switch_buffers(fabric: Fabric) -> tuple[SwitchBuffers, ...]:
    """Return the buffers of all switches; switches with the same ports in use share one value.

    Switches without buffers of their own are left out: no class is lossless or lossy RDMA, or the HWSKU ships no
    buffer configuration.
    """
    switches_of: defaultdict[_PortsInUse, list[Switch]] = defaultdict(list)
    for switch in fabric.switches:
        switches_of[_ports_in_use(fabric, switch)].append(switch)
    buffers = []
    for in_use, switches in switches_of.items():
        first = switches[0]
        plan = plan_own_buffers(first.panel, first.tier, fabric.policies, fabric.lengths_m_of(first.name))
        if plan is not None:
            names = tuple(switch.name for switch in switches)
            buffers.append(_buffers(fabric, plan, names, in_use.ports))
    return tuple(buffers)


def _ports_in_use(fabric: Fabric, switch: Switch) -> _PortsInUse:
    """Return what decides on the buffers of a switch."""
    counts = Counter((link.speed_gbps, link.length_m) for link in fabric.links_of[switch.name])
    cabled = [_CabledPorts(speed_gbps, length_m, ports) for (speed_gbps, length_m), ports in counts.items()]
    return _PortsInUse(id(switch.panel), switch.tier.level, tuple(sorted(cabled)))


def _buffers(
    fabric: Fabric, plan: BufferPlan, devices: tuple[str, ...], ports_in_use: tuple[_CabledPorts, ...]
) -> SwitchBuffers:
    """Return the buffers of ``devices``, each of which has ``ports_in_use``."""
    counts = {(ports.speed_gbps, ports.length_m): ports.port_count for ports in ports_in_use}
    speeds_gbps = sorted({ports.speed_gbps for ports in ports_in_use})
    return SwitchBuffers(
        devices=devices,
        hwsku=plan.buffers.hwsku,
        model=plan.model,
        headroom=_group_headroom(plan, ports_in_use),
        in_use=plan.divided(counts),
        all_ports=plan.full,
        pause_bytes=_pause_bytes(plan),
        marking=_marking(fabric, plan, speeds_gbps),
    )


def _group_headroom(plan: BufferPlan, ports_in_use: tuple[_CabledPorts, ...]) -> tuple[GroupHeadroom, ...]:
    """Return the headroom by speed and length of cable; empty without a lossless class, where no group is paused."""
    if not plan.groups:
        return ()
    groups = []
    for speed_gbps, length_m, port_count in ports_in_use:
        headroom = plan.headroom[speed_gbps, length_m]
        if isinstance(headroom, Headroom):
            groups.append(
                GroupHeadroom(
                    speed_gbps=speed_gbps,
                    length_m=length_m,
                    ports=port_count,
                    size_bytes=headroom.size_bytes,
                    xon_bytes=headroom.xon_bytes,
                    xoff_bytes=headroom.xoff_bytes,
                )
            )
    return tuple(groups)


def _pause_bytes(plan: BufferPlan) -> dict[str, int]:
    """Return the queue depths at which PFC pauses, by traffic pattern; empty without a lossless class."""
    if not plan.groups:
        return {}
    return dict(plan.limits.patterns)


def _marking(fabric: Fabric, plan: BufferPlan, speeds_gbps: list[int]) -> tuple[QueueMarking, ...]:
    """Return the ECN marking of every class that marks packets, on ports of each speed."""
    markings = []
    for traffic_class in fabric.policies.classes:
        if not traffic_class.marks:
            continue
        # PFC never pauses a lossy class.
        pause_bytes: dict[str, int] = {}
        if traffic_class.lossless:
            pause_bytes = _pause_bytes(plan)
        for speed_gbps in speeds_gbps:
            thresholds = choose_marking(traffic_class, speed_gbps, fabric.policies.marking, plan).thresholds
            at_pause = {name: round(mark_percent(thresholds, depth), 3) for name, depth in pause_bytes.items()}
            queue_marking = QueueMarking(
                traffic_class=traffic_class.name,
                speed_gbps=speed_gbps,
                minimum_bytes=thresholds.minimum_bytes,
                maximum_bytes=thresholds.maximum_bytes,
                probability_percent=thresholds.probability_percent or 0,
                at_pause=at_pause,
            )
            markings.append(queue_marking)
    return tuple(markings)
