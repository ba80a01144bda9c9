"""From what was read of every device to a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from railweave.fabric.model import Fabric
from railweave.plan.draining import disturbs, drains_of_waves, parted_links
from railweave.plan.model import Conflict, DevicePlan, DeviceRefusal, DeviceState, Plan
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave.plan.waves import arrange
from railweave.sonic.diff import DeviceDiff


@dataclass(frozen=True, slots=True)
class Reading:
    """One device as it was read: its difference and the digest of what it runs, or why it could not be read.

    ``pending`` tells that a commit waits for its confirmation on it.
    """

    difference: DeviceDiff | None = None
    running_sha256: str = ""
    pending: bool = False
    error: str = ""


def build_plan(
    fabric: Fabric,
    readings: Mapping[str, Reading],
    *,
    target: str,
    intent_sha256: str,
    gone: tuple[str, ...] = (),
    policy: RolloutPolicy = DEFAULT_POLICY,
) -> Plan:
    """Return the plan that brings every device read to the intent; ``readings`` has every switch of ``fabric``.

    Its waves keep to ``policy``; what of it no order can keep stands in the plan.
    """
    found = {switch.name: readings[switch.name].difference for switch in fabric.switches}
    changes = {name: one.changes for name, one in found.items() if one is not None and one.changes}
    idle = {name for name, one in found.items() if one is not None and one.unprovisioned}
    careful = {
        name for name, own in changes.items() if name not in idle and disturbs(fabric, fabric.switch_of[name], own)
    }
    parted = parted_links(fabric, changes, idle)
    order = arrange(fabric, changes, careful, policy, idle=idle, parted=parted)
    drains = drains_of_waves(fabric, changes, order.waves, idle, parted)
    devices = {
        switch.name: _device(
            readings[switch.name],
            switch.role.value,
            disturbed=switch.name in careful,
            drain=drains.get(switch.name, ()),
        )
        for switch in fabric.switches
    }
    return Plan(
        fabric=fabric.name,
        target=target,
        intent_sha256=intent_sha256,
        devices=devices,
        changes=tuple(change for own in changes.values() for change in own),
        waves=order.waves,
        gone=gone,
        policy=policy,
        unmet=order.unmet,
    )


def in_waves(fabric: Fabric, plan: Plan, waves: tuple[tuple[str, ...], ...]) -> Plan:
    """Return ``plan`` with another order: what is drained of a device depends on who went before it."""
    changes = plan.changes_by_device()
    drains = drains_of_waves(fabric, changes, waves, plan.idle, parted_links(fabric, changes, plan.idle))
    devices = {name: replace(device, drain=drains.get(name, ())) for name, device in plan.devices.items()}
    return replace(plan, devices=devices, waves=waves)


def _device(reading: Reading, role: str, *, disturbed: bool, drain: tuple[str, ...]) -> DevicePlan:
    found = reading.difference
    if found is None:
        return DevicePlan(DeviceState.UNREACHABLE, role, error=reading.error)
    state = DeviceState.CHANGED if found.changes else DeviceState.UNCHANGED
    return DevicePlan(
        # A device that was read and refused is no unchanged one: it must not pass for being as intended.
        state=DeviceState.UNREACHABLE if found.refusals else state,
        role=role,
        running_sha256=reading.running_sha256,
        not_ours=found.not_ours,
        conflicts=tuple(Conflict(one.table, one.key, one.port, one.reason) for one in found.conflicts),
        refusals=tuple(DeviceRefusal(one.message, one.fix) for one in found.refusals),
        unprovisioned=found.unprovisioned,
        pending=reading.pending,
        given_up=found.given_up,
        drained=found.drained,
        disturbed=disturbed,
        drain=drain,
        error="; ".join(one.message for one in found.refusals),
    )
