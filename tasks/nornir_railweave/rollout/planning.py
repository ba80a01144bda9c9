"""Planning against devices: read them all, compare, and make one plan."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from nornir.core import Nornir
from nornir.core.task import AggregatedResult

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.device.quiet import QUIET_PACKETS_PER_S
from nornir_railweave.device.reading import Comparer, IntendedConfig
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import only
from nornir_railweave.tasks.check_in_use import check_in_use
from nornir_railweave.tasks.links_up_towards import links_up_towards
from nornir_railweave.tasks.read_running import read_running
from nornir_railweave.tasks.revert_expired_commit import revert_expired_commit
from railweave.fabric.model import Fabric
from railweave.plan.build import Reading, build_plan
from railweave.plan.consent import leaving_ports
from railweave.plan.model import Plan
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy

_POLL_S = 1.0


def plan(
    nr: Nornir,
    fabric: Fabric,
    intended: IntendedConfig,
    *,
    target: str,
    intent_sha256: str,
    remove_conflicting: bool = False,
    pending_wait_s: float = 0,
    rollout_policy: RolloutPolicy = DEFAULT_POLICY,
    quiet_packets_per_s: float = QUIET_PACKETS_PER_S,
    events: Events = silent,
    clock: Clock = SYSTEM_CLOCK,
) -> Plan:
    """Return what a deployment of ``fabric`` would change on the devices that ``nr`` reaches.

    A device that cannot be read is in the plan as unreachable. With ``pending_wait_s`` devices on which an interrupted
    deployment left a commit that waits for its confirmation are read again until their own timers took it back, for at
    most that many seconds; where a switch lost its timer, the commit is taken back once its deadline has passed.
    The waves keep to ``rollout_policy``. A port towards a switch that leaves is out of use below
    ``quiet_packets_per_s``.
    """
    announce = Announcer([events])
    compare = Comparer(fabric, intended, remove_conflicting)
    announce(
        Event(Step.READING, text=f"reading {len(fabric.switches)} devices", details={"devices": len(fabric.switches)})
    )
    readings = _read(nr, [switch.name for switch in fabric.switches], compare, announce)
    deadline = clock.monotonic() + pending_wait_s
    while (waiting := _pending(readings)) and clock.monotonic() < deadline:
        announce(Event(Step.WAITING, text=f"for the timers of an interrupted deployment on {', '.join(waiting)}"))
        clock.sleep(_POLL_S)
        only(nr, waiting).run(revert_expired_commit, on_failed=True, announce=announce)
        readings |= _read(nr, waiting, compare, announce)
    readings |= _dark(nr, fabric, readings)
    readings |= _in_use(nr, fabric, readings, quiet_packets_per_s, clock)
    return build_plan(fabric, readings, target=target, intent_sha256=intent_sha256, policy=rollout_policy)


def _dark(nr: Nornir, fabric: Fabric, readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Return the readings of devices that could not be read and forward nothing either, as far as their neighbors see.

    The management network tells nothing of the fabric: a switch that does not answer may forward all the same.
    """
    silent = [name for name, reading in readings.items() if reading.difference is None]
    seen = links_up_towards(nr, fabric, silent) if silent else {}
    return {name: replace(readings[name], out_of_service=True) for name in silent if not seen[name]}


def _in_use(
    nr: Nornir, fabric: Fabric, readings: Mapping[str, Reading], packets_per_s: float, clock: Clock
) -> dict[str, Reading]:
    """Return the readings of devices of which ports close for good, with those that are in use."""
    closing = {name: leaving_ports(fabric, reading.difference) for name, reading in readings.items()}
    ports_of = {name: ports for name, ports in closing.items() if ports}
    if not ports_of:
        return {}
    results = only(nr, tuple(ports_of)).run(
        check_in_use,
        on_failed=True,
        ports_of=ports_of,
        hosts=frozenset(fabric.host_of),
        packets_per_s=packets_per_s,
        clock=clock,
    )
    found: dict[str, Reading] = {}
    for name in ports_of:
        result = results[name][0]
        if result.exception is not None:
            raise result.exception
        found[name] = replace(readings[name], live_ports=result.result)
    return found


def _pending(readings: dict[str, Reading]) -> list[str]:
    return [name for name, reading in readings.items() if reading.pending]


def _read(nr: Nornir, names: Collection[str], compare: Comparer, announce: Events) -> dict[str, Reading]:
    results = only(nr, names).run(read_running, on_failed=True, compare=compare, announce=announce)
    return {name: _reading(results, name) for name in names}


def _reading(results: AggregatedResult, name: str) -> Reading:
    """Return one device's reading; a mistake of the program travels to the top."""
    result = results[name][0]
    if result.exception is not None:
        raise result.exception
    reading = result.result
    return reading if isinstance(reading, Reading) else Reading(error="not attempted")
