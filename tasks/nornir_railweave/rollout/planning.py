"""Planning against devices: read them all, compare, and make one plan."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from napalm.base.exceptions import ConnectionClosedException
from nornir.core import Nornir
from nornir.core.task import Result, Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.counting import count_over
from nornir_railweave.device.drained_traffic import QUIET_PACKETS_PER_S, packet_rates
from nornir_railweave.device.models_check import refused_reload, refused_rows
from nornir_railweave.device.reading import (
    Comparer,
    IntendedConfig,
    awaits_confirmation,
    generation_in,
    release_in,
)
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, has_answered, session, unread_event
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import run_on
from nornir_railweave.tasks.links_up_towards import links_up_towards
from railweave.diagnostics import Blocker
from railweave.fabric.model import Fabric
from railweave.plan.build import build_plan
from railweave.plan.consent import leaving_ports
from railweave.plan.lineage import generation_of
from railweave.plan.model import NOT_READ, Plan, Reading
from railweave.plan.models_check import WRITTEN, to_be_asked
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy
from railweave.plan.unapplied import Unapplied
from railweave.plan.unreached import assumed_fresh
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.closing import ClosingPort
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.delta.diff import ConfigComparison
from railweave.sonic.delta.rejected import unasked
from railweave.switch_driver import Capability
from railweave.wording import command_line

# Between two readings of the counters; SONiC renews its counters once a second.
_COUNTERS_S = 1.0


def plan(
    nr: Nornir,
    fabric: Fabric,
    intended: IntendedConfig,
    *,
    target: str,
    intent_sha256: str,
    remove_conflicting: bool = False,
    unresolved: bool = False,
    skip_unreachable: bool = False,
    pending_wait_s: float = 0,
    only: Collection[str] = (),
    rollout_policy: RolloutPolicy = DEFAULT_POLICY,
    quiet_packets_per_s: float = QUIET_PACKETS_PER_S,
    events: Events = silent,
    clock: Clock = SYSTEM_CLOCK,
) -> Plan:
    """Return what a deployment of ``fabric`` would change on the devices that ``nr`` reaches.

    ``only`` are the names of the devices to read, all if it is empty. With ``remove_conflicting`` the plan also removes
    rows that conflict with the intent. ``unresolved`` says that secrets were not resolved, so they are not compared.
    With ``skip_unreachable`` a device that cannot be read, and that no neighbor sees, is planned as factory-fresh. The
    plan waits at most ``pending_wait_s`` for devices with a pending commit. A port that leaves the fabric counts as
    unused if it carries less than ``quiet_packets_per_s``.
    """
    announce = Announcer([events])
    compare = Comparer(
        fabric, intended, remove_conflicting=remove_conflicting, unresolved=unresolved, sharing=Sharing()
    )
    names = [switch.name for switch in fabric.switches if not only or switch.name in only]
    announce(Event(Step.READING, text=f"reading {len(names)} devices", details={"devices": len(names)}))
    readings = _read_without_pending(nr, names, compare, announce, clock, pending_wait_s)
    readings |= _refused_by_models(nr, fabric, readings, intended)
    readings |= _out_of_service(nr, fabric, readings)
    if skip_unreachable:
        # After `_out_of_service`, because only a switch that no neighbor sees can be factory-fresh.
        readings |= assumed_fresh(fabric, readings, intended)
    readings |= _with_live_ports(nr, fabric, readings, quiet_packets_per_s)
    readings = {switch.name: readings.get(switch.name, NOT_READ) for switch in fabric.switches}
    return build_plan(fabric, readings, target=target, intent_sha256=intent_sha256, policy=rollout_policy)


def _read_without_pending(
    nr: Nornir, names: Collection[str], compare: Comparer, announce: Events, clock: Clock, wait_s: float
) -> dict[str, Reading]:
    """Read these devices, and those with a pending commit again until it has ended, for at most ``wait_s`` seconds."""
    readings = _read(nr, names, compare, announce)
    deadline_s = clock.monotonic() + wait_s
    awaiting = _awaiting_confirmation(readings)
    while awaiting and clock.monotonic() < deadline_s:
        _wait_for_timers(nr, awaiting, announce, clock)
        readings |= _read(nr, awaiting, compare, announce)
        awaiting = _awaiting_confirmation(readings)
    return readings


def _wait_for_timers(nr: Nornir, devices: Collection[str], announce: Events, clock: Clock) -> None:
    # Imported late: this module takes a tenth of the start of a plan, and few plans wait.
    from nornir_railweave.tasks.timers import wait_for_timers

    wait_for_timers(nr, devices, announce, clock)


def _awaiting_confirmation(readings: Mapping[str, Reading]) -> list[str]:
    """Return the devices with a commit that waits for its confirmation."""
    return [name for name, reading in readings.items() if reading.pending]


def _refused_by_models(
    nr: Nornir, fabric: Fabric, readings: Mapping[str, Reading], intended: IntendedConfig
) -> dict[str, Reading]:
    """Return the readings of devices whose YANG models refuse their changes, with blockers instead of the changes.

    Of several devices with the same kind of changes only one is asked.
    """
    deltas = to_be_asked(fabric, readings)
    if not deltas:
        return {}
    refused: dict[str, Reading] = {}
    for name, blockers in run_on(nr, deltas, ask_models, deltas=deltas, intended=intended).items():
        difference = readings[name].difference
        if blockers and difference is not None:
            refused[name] = replace(readings[name], difference=replace(difference, delta=Delta(), blockers=blockers))
    return refused


def ask_models(task: Task, deltas: Mapping[str, Delta], intended: IntendedConfig) -> Result:
    """Return a blocker for each reason why the YANG models of one device refuse its delta, or cannot be asked."""
    name = task.host.name
    with session(task) as opened:
        try:
            blockers = tuple(refused_rows(opened.driver, deltas[name], intended(name)))
        except DEVICE_ERRORS as fault:
            blockers = (Blocker(unasked(error_text(fault)), "plan again once it answers", WRITTEN),)
    return Result(host=task.host, result=blockers)


def _out_of_service(nr: Nornir, fabric: Fabric, readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Return the readings of devices that could not be read and to which no neighbor sees a link up.

    They are marked as out of service. Other devices that could not be read may carry traffic: only their management
    network is known to fail.
    """
    unread = [name for name, reading in readings.items() if reading.difference is None]
    if not unread:
        return {}
    links_up = links_up_towards(nr, fabric, unread)
    return {name: replace(readings[name], out_of_service=True) for name in unread if not links_up[name]}


def _with_live_ports(
    nr: Nornir, fabric: Fabric, readings: Mapping[str, Reading], packets_per_s: float
) -> dict[str, Reading]:
    """Return the readings of devices with ports that leave the fabric; each has those of these ports that are in use.

    A port to a switch is in use while it carries ``packets_per_s`` or more.
    """
    closing = {name: leaving_ports(fabric, reading.difference) for name, reading in readings.items()}
    ports_of = {name: ports for name, ports in closing.items() if ports}
    if not ports_of:
        return {}
    live_of = run_on(
        nr,
        ports_of,
        find_live_ports,
        ports_of=ports_of,
        hosts=frozenset(fabric.host_of),
        packets_per_s=packets_per_s,
    )
    return {name: replace(readings[name], live_ports=live) for name, live in live_of.items()}


def _read(nr: Nornir, names: Collection[str], compare: Comparer, announce: Events) -> dict[str, Reading]:
    """Read these devices and compare them; a device that cannot be read has a reading with an error."""
    reached = [name for name in names if name in nr.inventory.hosts]
    results = run_on(nr, reached, read_running, compare=compare, announce=announce)
    readings = dict.fromkeys(names, Reading(error="the target has no address for it"))
    for name, reading in results.items():
        readings[name] = reading or Reading(error="not attempted")
    return readings


def read_running(task: Task, compare: Comparer, announce: Events) -> Result:
    """Return the ``Reading`` of one device, and announce it; its error says why the device could not be read."""
    name = task.host.name
    with session(task) as opened:
        try:
            try:
                comparison, reading = _read_device(opened.driver, compare, name)
            except ConnectionClosedException:
                # A session may have timed out since the last task, so it is tried once more.
                comparison, reading = _read_device(opened.reconnect(0), compare, name)
        except DEVICE_ERRORS as fault:
            announce(unread_event(name, fault))
            return Result(host=task.host, result=Reading(error=error_text(fault), answered=has_answered(fault)))
    # Without FRR's lines, nothing is known of the changes; the first blocker says why they are missing.
    if comparison.running.frr is None:
        why = comparison.difference.blockers[0].message
        announce(Event(Step.UNREACHABLE, name, why, {"answered": True}))
        return Result(host=task.host, result=Reading(error=why, answered=True))
    announce(Event(Step.READ, name, f"{len(comparison.difference.delta)} changes"))
    return Result(host=task.host, result=reading)


def _read_device(driver: CheckedDriver, compare: Comparer, name: str) -> tuple[ConfigComparison, Reading]:
    """Return how a device differs from its intended configuration, and the reading of it for the planner."""
    comparison = compare(driver, name)
    pending = awaits_confirmation(driver)
    blockers = _blockers_of_device(driver, compare, comparison, name)
    if blockers:
        comparison = _blocked(comparison, blockers)
    last = driver.last_reading
    unapplied = None if last is None else last.unapplied
    reading = Reading(
        comparison.difference,
        comparison.sha256,
        pending,
        unapplied=tuple(Unapplied(*row) for row in unapplied or ()),
        applied_unknown=driver.can(Capability.APPLIED_STATE) and unapplied is None,
        unseen=() if last is None else last.unseen,
        generation=generation_of(generation_in(last)),
        release=release_in(last),
        broken="" if last is None else last.status.broken,
    )
    return comparison, reading


def _blockers_of_device(
    driver: CheckedDriver, compare: Comparer, comparison: ConfigComparison, name: str
) -> tuple[Blocker, ...]:
    """Return what on the device itself prevents changes: a damaged transaction state, or a reload that would abort."""
    last = driver.last_reading
    if last is not None and last.status.damage:
        message = f"its transaction state is damaged: {last.status.damage}"
        return (Blocker(message, command_line("recover", name)),)
    delta = comparison.difference.delta
    return tuple(refused_reload(driver, delta, comparison.running, compare.intended(name)))


def _blocked(comparison: ConfigComparison, blockers: tuple[Blocker, ...]) -> ConfigComparison:
    """Return a comparison with further blockers and without changes: changes that are blocked are not planned."""
    difference = comparison.difference
    blocked = replace(difference, delta=Delta(), blockers=difference.blockers + blockers)
    return replace(comparison, difference=blocked)


def find_live_ports(
    task: Task,
    *,
    ports_of: Mapping[str, Sequence[ClosingPort]],
    hosts: frozenset[str],
    packets_per_s: float,
) -> Result:
    """Return which of its ports in ``ports_of`` are in use on one device; all of them if it does not answer.

    A port to a GPU node is in use while it is up, as the node may send at any moment. A port to a switch is in use
    while it carries ``packets_per_s`` or more: a switch that leaves is drained first. ``hosts`` are the nodes that
    stay.
    """
    closing = ports_of[task.host.name]
    with session(task) as opened:
        try:
            live = _live_ports(opened.driver, closing, hosts, packets_per_s)
        except DEVICE_ERRORS:
            live = list(closing)
    return Result(host=task.host, result=tuple(live))


def _live_ports(
    driver: CheckedDriver, closing: Sequence[ClosingPort], hosts: frozenset[str], packets_per_s: float
) -> list[ClosingPort]:
    """Return the ports of ``closing`` that are up, except those to switches that carry less than ``packets_per_s``."""
    interfaces = driver.interfaces()
    up = [port for port in closing if interfaces.get(port.port, {}).get("is_up")]
    to_switches = [port.port for port in up if _leads_to_switch(port, hosts)]
    if not to_switches:
        return up
    rates = packet_rates(count_over(driver, _COUNTERS_S), to_switches)
    # Ports to nodes, and ports without counters, have no rate and count as in use.
    return [port for port in up if rates.get(port.port, packets_per_s) >= packets_per_s]


def _leads_to_switch(port: ClosingPort, hosts: frozenset[str]) -> bool:
    """Tell whether the far end of a port is a switch; ``hosts`` are the nodes that stay in the fabric."""
    is_to_node = port.is_server or port.far_end in hosts
    return bool(port.far_end) and not is_to_node
