"""What the lossless groups of a switch take as its tables set them, and what there is for them."""

from collections import Counter
from typing import NamedTuple

from railweave.fabric.model import Switch
from railweave.fabric.policy import BufferModel, SonicPolicy
from railweave.qos.buffering import BufferPlan, lane_count
from railweave.qos.mmu.headroom import Headroom, NoHeadroom, PortMedium, headroom
from railweave.qos.mmu.pools import EGRESS_LOSSLESS, INGRESS_LOSSLESS, PortUse, divide
from railweave.sonic.port_settings import PortSettings, switch_port
from railweave.sonic.resolved import BufferUse, ResolvedTables


class Overrun(NamedTuple):
    """Lossless groups whose headroom does not fit: how many, the bytes that they need, what there is, and of what."""

    groups: int
    needed_bytes: int
    budget_bytes: int
    of: str


def overrun(switch: Switch, sonic: SonicPolicy, plan: BufferPlan, read: ResolvedTables) -> Overrun | None:
    """Return what does not fit on a switch that has no headroom pool; None where all fits or is not known. Headroom
    that ports share is judged in ``buffer_faults``."""
    ingress, egress = (read.pools.get(name) for name in (INGRESS_LOSSLESS, EGRESS_LOSSLESS))
    traditional = read.model is BufferModel.TRADITIONAL
    if ingress is None or egress is None or ingress.xoff_bytes or (traditional and ingress.size_bytes is None):
        return None
    if not traditional and plan.buffers.chip is None:
        return None
    uses: Counter[PortUse] = Counter()
    for port in switch.panel.ports:
        settings = switch_port(switch.name, read, port.name, lane_count(port))
        if settings.group_buffers:
            found = (_room(one, settings, plan, sonic) for one in settings.group_buffers.values())
            rooms = [one for one in found if isinstance(one, Headroom)]
            largest = max(rooms, default=NoHeadroom("", ""), key=lambda one: one.size_bytes)
            uses[PortUse(1, settings.lanes or lane_count(port), largest, len(rooms))] += 1
    each = [one._replace(ports=count) for one, count in uses.items()]
    groups = sum(one.ports * (one.groups or 0) for one in each)
    divided = divide(plan.buffers, read.model, tuple(read.pools.values()), plan.queues, each)
    if traditional and divided.chip_bytes is not None:
        needed, budget, of = divided.stated_bytes, divided.chip_bytes, "the chip, with those of its pools"
    else:
        needed, budget, of = divided.headroom_bytes, divided.budget_bytes, "its buffer"
    return Overrun(groups, needed, budget, of) if groups and needed > budget else None


def _room(
    use: BufferUse | None, port: PortSettings, plan: BufferPlan, sonic: SonicPolicy
) -> Headroom | NoHeadroom | None:
    """Return the headroom of a group: of its profile, or as the switch computes it for its cable."""
    if use is None or not (use.is_computed or use.xoff_bytes):
        return None
    if not use.is_computed:
        size, xon, xoff = use.size_bytes or 0, use.xon_bytes or 0, use.xoff_bytes or 0
        return Headroom(size, xon, xoff, use.xon_offset_bytes, use.dynamic_th or 0, None, "")
    if None in (port.speed_gbps, port.cable_m, port.mtu_bytes, port.lanes):
        return None
    medium = PortMedium(port.speed_gbps or 0, port.cable_m or 0, port.mtu_bytes or 0, port.lanes or 0)
    return headroom(plan.buffers, sonic._replace(buffer_model=BufferModel.DYNAMIC), medium)
