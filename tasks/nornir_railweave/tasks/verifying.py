"""Verification of a fabric: read every device and compare it with what the fabric needs."""

from collections.abc import Callable, Collection, Container
from functools import cache
from itertools import chain

from nornir.core import Nornir
from nornir.core.task import Result, Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.device.observing import observe
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import run_on
from railweave.fabric.model import Fabric
from railweave.fabric.releases import OtherRelease, other_release, release_warnings
from railweave.plan.expectation import Expectation, Expecting, expect
from railweave.plan.outcome import VerifyCheck, VerifyResult
from railweave.plan.verification import (
    EVERYONE,
    Observation,
    check_device,
    misplugged_cables,
    missing_bfdd,
    unreachable,
    with_port_names,
    withheld_routes,
)


def verify(
    nr: Nornir,
    fabric: Fabric,
    devices: Collection[str] | None = None,
    *,
    settled: Container[str] = EVERYONE,
    timeout_s: float = 0,
    interval_s: float = 1,
    events: Events = silent,
    expecting: Expecting = expect,
) -> VerifyResult:
    """Return every check of ``devices`` (None: of the whole fabric), read again for ``timeout_s`` until all hold.

    Of a link whose far end is not ``settled`` nothing is expected that depends on that end. ``expecting`` tells what
    must be seen on a switch.
    """
    names = [switch.name for switch in fabric.switches if devices is None or switch.name in devices]
    announce = Announcer([events])
    announce(Event(Step.VERIFYING, text=f"verifying {len(names)} devices", details={"devices": len(names)}))

    @cache
    def expectation(name: str) -> Expectation:
        return expecting(fabric, fabric.switch_of[name])

    releases: dict[str, OtherRelease | None] = {}
    told: dict[str, tuple[str, str]] = {}

    def judge(name: str, seen: Observation) -> tuple[VerifyCheck, ...]:
        releases[name] = other_release(seen.release, fabric.policies.sonic.release)
        expected = expectation(name)
        told[name] = (withheld_routes(fabric, expected, seen), missing_bfdd(expected, seen))
        return check_device(expected, seen, settled)

    found = run_on(nr, names, verify_device, judge=judge, timeout_s=timeout_s, interval_s=interval_s, announce=announce)
    checks = with_port_names(fabric, chain.from_iterable(found.values()))
    differing = {name: releases.get(name) for name in names}
    warnings = (*release_warnings(differing), *(one for name in names for one in told.get(name, ()) if one))
    return VerifyResult(checks, tuple(str(cable) for cable in misplugged_cables(fabric, checks)), warnings)


_ATTEMPTS = 2


def verify_device(
    task: Task,
    *,
    judge: Callable[[str, Observation], tuple[VerifyCheck, ...]],
    timeout_s: float,
    interval_s: float,
    announce: Events,
    clock: Clock = SYSTEM_CLOCK,
) -> Result:
    """Return the checks that ``judge`` makes of what one device shows; looks again until all hold or time is up.

    A device that does not answer twice in a row is not waited for.
    """
    deadline = clock.monotonic() + timeout_s
    silent_reads = 0
    with session(task) as opened:
        while True:
            try:
                checks = judge(task.host.name, observe(opened.driver))
                silent_reads = 0
            except DEVICE_ERRORS as fault:
                opened.close()
                checks = (unreachable(task.host.name, error_text(fault)),)
                silent_reads += 1
            over = silent_reads >= _ATTEMPTS or clock.monotonic() + interval_s > deadline
            wrong = sum(not check.ok for check in checks)
            if over or not wrong:
                step = Step.UNREACHABLE if silent_reads else Step.VERIFIED
                announce(Event(step, task.host.name, f"{wrong} of {len(checks)} checks fail" if wrong else ""))
                return Result(host=task.host, result=checks)
            clock.sleep(interval_s)
