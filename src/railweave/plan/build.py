"""From what was read of every device to a plan."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from railweave.fabric.model import Fabric, Link, Switch
from railweave.fabric.releases import other_release
from railweave.plan.away import Away, away_of, withheld
from railweave.plan.drain_planner import WHOLE, drains_of_waves, is_disruptive, two_sided_links
from railweave.plan.model import NO_GENERATION, Conflict, DevicePlan, DeviceState, Generation, LivePort, Plan, Unapplied
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave.plan.waves import Order, Wave, WaveGate, lay_out, split_by_limits
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.diff import DeviceDiff
from railweave.sonic.delta.subject import SubjectKind


@dataclass(frozen=True, slots=True)
class Reading:
    """One device as it was read: its difference and the digest of what it runs, or why it could not be read.

    With both an ``error`` and a difference it was not read, and is planned as factory-fresh (``unreached``).

    ``pending`` tells that a commit waits for its confirmation on it, ``out_of_service`` that it could not be read and
    forwards nothing either, as far as its neighbors see. ``live_ports`` are those of ``plan.closing`` that are in use.
    ``release`` is the SONiC release that it runs, empty where it was not told. ``answered`` tells that a device that
    could not be read was reached. ``broken`` names daemons that an earlier change ended and that do not run.
    ``applied_unknown`` and ``unseen`` are as in a ``DevicePlan``.
    """

    difference: DeviceDiff | None = None
    running_sha256: str = ""
    pending: bool = False
    error: str = ""
    out_of_service: bool = False
    live_ports: tuple[LivePort, ...] = ()
    unapplied: tuple[Unapplied, ...] = ()
    generation: Generation = NO_GENERATION
    release: str = ""
    answered: bool = False
    broken: str = ""
    applied_unknown: bool = False
    unseen: tuple[str, ...] = ()


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
    deltas = {name: one.delta for name, one in found.items() if one is not None and one.delta}
    unprovisioned = {name for name, one in found.items() if one is not None and one.unprovisioned}
    disruptive = {
        name
        for name, delta in deltas.items()
        if name not in unprovisioned and is_disruptive(fabric, fabric.switch_of[name], delta)
    }
    two_sided = two_sided_links(fabric, deltas, unprovisioned)
    release = fabric.policies.sonic.release
    devices = {
        switch.name: _device(readings[switch.name], switch, release, disruptive=switch.name in disruptive)
        for switch in fabric.switches
    }
    plan = Plan(
        fabric=fabric.name,
        target=target,
        intent_sha256=intent_sha256,
        devices=devices,
        deltas=deltas,
        waves=(),
        gone=gone,
        policy=policy,
    )
    order = lay_out(fabric, deltas, wave_gate(fabric, plan), wave_size=policy.wave_size, two_sided=two_sided)
    return _ordered(fabric, plan, order, two_sided)


def wave_gate(fabric: Fabric, plan: Plan) -> WaveGate:
    """Return the judge of the waves of ``plan``: the same one for the planner and for the rollout."""
    away = _away(fabric, plan)
    return WaveGate(
        fabric,
        plan.policy,
        disruptive=plan.disruptive,
        unprovisioned=plan.unprovisioned,
        out_of_service=plan.out_of_service | away.out,
        down=away.down,
    )


def in_waves(fabric: Fabric, plan: Plan, waves: Iterable[Wave]) -> Plan:
    """Return ``plan`` in the order of ``waves``, which were made for another change; they are split where they must be.

    What is drained of a device depends on who went before it, so that is found anew.
    """
    two_sided = two_sided_links(fabric, plan.deltas, plan.unprovisioned)
    return _ordered(fabric, plan, split_by_limits(waves, wave_gate(fabric, plan)), two_sided)


def _away(fabric: Fabric, plan: Plan) -> Away:
    """Return what carried no traffic when the switches were read: by a drain, by SONiC's maintenance mode, or because
    daemons do not run."""
    return away_of(fabric, {name: _led_away(device) for name, device in plan.devices.items()})


def _led_away(device: DevicePlan) -> tuple[str, ...]:
    """Return the BGP peers of a device that get no traffic from it, ``WHOLE`` for all."""
    if device.broken or withheld(device.maintenance):
        return WHOLE
    return device.drained


def _ordered(fabric: Fabric, plan: Plan, order: Order, two_sided: Collection[Link]) -> Plan:
    away = _away(fabric, plan)
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


def _device(reading: Reading, switch: Switch, release: str, *, disruptive: bool) -> DevicePlan:
    found, role = reading.difference, switch.tier.name
    if found is None:
        return DevicePlan(
            DeviceState.UNREACHABLE,
            role,
            error=reading.error,
            out_of_service=reading.out_of_service,
            answered=reading.answered,
        )
    return DevicePlan(
        state=_state(reading, found),
        role=role,
        running_sha256=reading.running_sha256,
        unmanaged=found.unmanaged,
        conflicts=tuple(Conflict(one.table, one.key, one.port, one.reason) for one in found.conflicts),
        blockers=found.blockers,
        unprovisioned=found.unprovisioned,
        pending=reading.pending,
        out_of_service=reading.out_of_service,
        lossless_removed=found.lossless_removed,
        drained=found.drained,
        maintenance=found.maintenance,
        disruptive=disruptive,
        live_ports=reading.live_ports,
        unapplied=reading.unapplied,
        applied_unknown=reading.applied_unknown,
        unseen=reading.unseen,
        generation=reading.generation,
        other_release=other_release(reading.release, release),
        error=reading.error or "; ".join(one.message for one in found.blockers),
        labels=_labels(switch, found.delta),
        broken=reading.broken,
        kept=found.kept,
    )


def _state(reading: Reading, found: DeviceDiff) -> DeviceState:
    """Return the state of a device that was read: only one that stays as intended is unchanged."""
    if found.blockers or reading.error:
        return DeviceState.UNREACHABLE
    if found.delta:
        return DeviceState.CHANGED
    return DeviceState.WAITING if reading.pending else DeviceState.UNCHANGED


def _labels(switch: Switch, delta: Delta) -> dict[str, str] | None:
    """Return the labels of the ports whose cables ``delta`` changes: a plan has no other place for one that stays."""
    cabled = {change.key for change in delta.about(SubjectKind.LINK)}
    return {port.name: port.alias for port in switch.panel.ports if port.name in cabled} or None
