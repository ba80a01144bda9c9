"""From what was read of every device to a plan."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.releases import other_release
from railweave.plan.away import Away, away_of, withheld
from railweave.plan.drain_planner import WHOLE, drains_of_waves, is_disruptive, two_sided_links
from railweave.plan.model import NOT_READ, DevicePlan, DeviceState, Plan, Reading
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave.plan.stripes import find_moved_stripes
from railweave.plan.tenant_moves import are_tenant_rules, tenant_blockers
from railweave.plan.waves import Order, Wave, WaveGate, lay_out, split_by_limits
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.diff import NO_DIFFERENCE, DeviceDiff
from railweave.sonic.delta.subject import SubjectKind


def build_plan(
    fabric: Fabric,
    readings: Mapping[str, Reading],
    *,
    target: str,
    intent_sha256: str,
    gone: tuple[str, ...] = (),
    policy: RolloutPolicy = DEFAULT_POLICY,
) -> Plan:
    """Return the plan that brings every device that was read to the intent.

    ``readings`` has an entry for every switch of ``fabric``; ``gone`` are switches that the intent no longer has. The
    waves keep to ``policy``. Parts of the policy that no order can keep are listed in the plan's violations.
    """
    if target:
        readings = _with_tenant_blockers(fabric, readings)
    devices = {switch.name: _device_plan(fabric, switch, readings[switch.name]) for switch in fabric.switches}
    plan = Plan(
        fabric=fabric.name,
        target=target,
        intent_sha256=intent_sha256,
        devices=devices,
        # The order depends on the plan itself, so the waves are laid out below.
        waves=(),
        gone=gone,
        policy=policy,
    )
    plan = replace(plan, moved_stripes=find_moved_stripes(fabric, plan))
    return in_own_order(fabric, plan)


def _with_tenant_blockers(fabric: Fabric, readings: Mapping[str, Reading]) -> Mapping[str, Reading]:
    """Return the readings with the blockers of tenant changes added. A switch with such a blocker gets no changes."""
    differences: dict[str, DeviceDiff] = {}
    for name, reading in readings.items():
        if reading.difference is not None:
            differences[name] = reading.difference
        elif reading is NOT_READ:
            # Switches that were left out of the reading are assumed to have the intended rules.
            differences[name] = NO_DIFFERENCE
    blocked = {}
    for name, blockers in tenant_blockers(fabric, differences).items():
        difference = replace(differences[name], delta=Delta(), blockers=(*differences[name].blockers, *blockers))
        blocked[name] = replace(readings[name], difference=difference)
    return {**readings, **blocked}


def in_own_order(fabric: Fabric, plan: Plan) -> Plan:
    """Return ``plan`` with waves that are laid out for its own changes, and with the drains of these waves."""
    two_sided = two_sided_links(fabric, plan.deltas, plan.unprovisioned)
    order = lay_out(
        fabric,
        plan.deltas,
        wave_gate(fabric, plan),
        wave_size=plan.policy.wave_size,
        two_sided=two_sided,
        # Between two waves the ports of one node would be in two tenants.
        at_once=are_tenant_rules(plan.deltas),
    )
    return _with_order(fabric, plan, order, two_sided)


def wave_gate(fabric: Fabric, plan: Plan) -> WaveGate:
    """Return what decides which waves of ``plan`` are allowed, for the planner and for the rollout."""
    away = _away_when_read(fabric, plan)
    return WaveGate(
        fabric,
        plan.policy,
        disruptive=plan.disruptive,
        unprovisioned=plan.unprovisioned,
        out_of_service=plan.out_of_service | away.out,
        down=away.down,
    )


def in_waves(fabric: Fabric, plan: Plan, waves: Iterable[Wave]) -> Plan:
    """Return ``plan`` in the order of ``waves``, which were laid out for another change.

    A wave that would break a limit of the policy is split. The drains are computed again: which paths are left for a
    device depends on the devices before it.
    """
    two_sided = two_sided_links(fabric, plan.deltas, plan.unprovisioned)
    return _with_order(fabric, plan, split_by_limits(waves, wave_gate(fabric, plan)), two_sided)


def _away_when_read(fabric: Fabric, plan: Plan) -> Away:
    """Return what carried no traffic when the switches were read."""
    return away_of(fabric, {name: _peers_without_traffic(device) for name, device in plan.devices.items()})


def _peers_without_traffic(device: DevicePlan) -> tuple[str, ...]:
    """Return the BGP peers of a device that send no traffic over it, ``WHOLE`` for all."""
    difference = device.difference
    if device.reading.broken or withheld(difference.maintenance):
        return WHOLE
    return difference.drained


def _with_order(fabric: Fabric, plan: Plan, order: Order, two_sided: Collection[Link]) -> Plan:
    """Return ``plan`` with the waves and violations of ``order``, and with what each device drains before its change.

    ``two_sided`` are the links that need a change at both ends.
    """
    away = _away_when_read(fabric, plan)
    drains = drains_of_waves(
        fabric,
        plan.deltas,
        order.waves,
        plan.unprovisioned,
        two_sided,
        out_of_service=away.out,
        links_down=away.down,
    )
    devices = {name: replace(device, drain=drains.get(name, ())) for name, device in plan.devices.items()}
    return replace(plan, devices=devices, waves=order.waves, violations=order.violations)


def _device_plan(fabric: Fabric, switch: Switch, reading: Reading) -> DevicePlan:
    """Return the plan's entry for one switch."""
    difference = reading.difference
    if difference is None:
        return DevicePlan(DeviceState.UNREACHABLE, switch.tier.name, reading)
    return DevicePlan(
        state=_state(reading, difference),
        role=switch.tier.name,
        reading=reading,
        disruptive=_is_disruptive(fabric, switch, difference),
        other_release=other_release(reading.release, fabric.policies.sonic.release),
        labels=_labels(switch, difference.delta),
    )


def _is_disruptive(fabric: Fabric, switch: Switch, difference: DeviceDiff) -> bool:
    """Tell whether the change takes a switch in service out of it for a while."""
    # A switch that is provisioned for the first time carries no traffic that a reload could interrupt.
    return not difference.unprovisioned and is_disruptive(fabric, switch, difference.delta)


def _state(reading: Reading, difference: DeviceDiff) -> DeviceState:
    """Return the state of a device that was read; a pending commit may revert, so it is not ``UNCHANGED``."""
    if difference.blockers or reading.error:
        return DeviceState.UNREACHABLE
    if difference.delta:
        return DeviceState.CHANGED
    if reading.pending:
        return DeviceState.WAITING
    return DeviceState.UNCHANGED


def _labels(switch: Switch, delta: Delta) -> dict[str, str] | None:
    """Return the labels of the ports whose cables ``delta`` changes; None if it changes none."""
    # A label that stays is in no change of the plan, and a technician needs it to find the port.
    cabled = {change.key for change in delta.about(SubjectKind.LINK)}
    labels = {port.name: port.alias for port in switch.panel.ports if port.name in cabled}
    return labels or None
