"""The headroom that the lossless groups of a switch need by its tables, against the buffer that it has."""

from collections import Counter
from typing import NamedTuple

from railweave.fabric.devices import Switch
from railweave.fabric.policy import BufferModel, SonicPolicy
from railweave.qos.buffering import BufferPlan, lane_count
from railweave.qos.mmu.headroom import Headroom, NoHeadroom, PortMedium, headroom
from railweave.qos.mmu.pools import EGRESS_LOSSLESS, INGRESS_LOSSLESS, PortUse, divide
from railweave.sonic.port_settings import PortSettings, switch_port
from railweave.sonic.resolved import BufferUse, ResolvedTables


class Overrun(NamedTuple):
    """Lossless groups whose headroom does not fit."""

    # Their number.
    groups: int
    needed_bytes: int
    budget_bytes: int
    # What the budget is of, in words.
    of: str


def overrun(switch: Switch, sonic: SonicPolicy, plan: BufferPlan, read: ResolvedTables) -> Overrun | None:
    """Return the lossless groups of a switch whose headroom does not fit.

    None if all fit, or if the tables do not tell. Headroom that ports share in a pool is judged in ``buffer_faults``.
    """
    if not _has_own_headroom(plan, read):
        return None
    uses = _port_uses(switch, sonic, plan, read)
    groups = sum(use.ports * (use.groups or 0) for use in uses)
    divided = divide(plan.buffers, read.model, tuple(read.pools.values()), plan.queues, uses)
    if read.model is BufferModel.TRADITIONAL and divided.chip_bytes is not None:
        result = Overrun(groups, divided.stated_bytes, divided.chip_bytes, "the chip, with those of its pools")
    else:
        result = Overrun(groups, divided.headroom_bytes, divided.budget_bytes, "its buffer")
    if not groups or result.needed_bytes <= result.budget_bytes:
        return None
    return result


def _has_own_headroom(plan: BufferPlan, read: ResolvedTables) -> bool:
    """Tell whether each group has its headroom to itself, on a buffer of known size."""
    ingress = read.pools.get(INGRESS_LOSSLESS)
    egress = read.pools.get(EGRESS_LOSSLESS)
    if ingress is None or egress is None or ingress.xoff_bytes:
        return False
    if read.model is BufferModel.TRADITIONAL:
        return ingress.size_bytes is not None
    return plan.buffers.chip is not None


def _port_uses(switch: Switch, sonic: SonicPolicy, plan: BufferPlan, read: ResolvedTables) -> list[PortUse]:
    """Return the use of the buffer by ports with lossless groups, one value for all ports with equal use."""
    counts: Counter[PortUse] = Counter()
    for port in switch.panel.ports:
        settings = switch_port(switch.name, read, port.name, lane_count(port))
        if not settings.group_buffers:
            continue
        headrooms = []
        for use in settings.group_buffers.values():
            group_headroom = _group_headroom(use, settings, plan, sonic)
            if isinstance(group_headroom, Headroom):
                headrooms.append(group_headroom)
        # A use has one headroom for all groups of a port: the largest counts.
        largest = max(headrooms, default=NoHeadroom("", ""), key=lambda group_headroom: group_headroom.size_bytes)
        use_of_port = PortUse(1, settings.lanes or lane_count(port), largest, len(headrooms))
        counts[use_of_port] += 1
    return [use_of_port._replace(ports=count) for use_of_port, count in counts.items()]


def _group_headroom(
    use: BufferUse | None, port: PortSettings, plan: BufferPlan, sonic: SonicPolicy
) -> Headroom | NoHeadroom | None:
    """Return the headroom of a group by its profile, or as the switch computes it for the cable; None without one."""
    if use is None:
        return None
    if use.is_computed:
        return _computed_headroom(port, plan, sonic)
    if not use.xoff_bytes:
        return None
    return Headroom(
        size_bytes=use.size_bytes or 0,
        xon_bytes=use.xon_bytes or 0,
        xoff_bytes=use.xoff_bytes,
        xon_offset_bytes=use.xon_offset_bytes,
        dynamic_th=use.dynamic_th or 0,
        row_m=None,
        formula="",
    )


def _computed_headroom(port: PortSettings, plan: BufferPlan, sonic: SonicPolicy) -> Headroom | NoHeadroom | None:
    """Return the headroom that a switch computes for a port; None if it lacks a setting that this needs."""
    if port.speed_gbps is None or port.cable_m is None or port.mtu_bytes is None or port.lanes is None:
        return None
    medium = PortMedium(port.speed_gbps, port.cable_m, port.mtu_bytes, port.lanes)
    return headroom(plan.buffers, sonic._replace(buffer_model=BufferModel.DYNAMIC), medium)
