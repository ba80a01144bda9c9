"""Verification of a fabric: read every device and compare it with what the fabric needs."""

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from nornir.core import Nornir
from nornir.core.task import Result, Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.observing import observe
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.target.connect import run_on
from railweave.fabric.model import Fabric
from railweave.fabric.releases import other_release, release_warnings
from railweave.plan.expectation import WHOLE_FABRIC, Expectation, VerificationScope, expect
from railweave.plan.leaks import filter_checks
from railweave.plan.misplugged import misplugged_cables, with_port_names
from railweave.plan.observation import Observation
from railweave.plan.outcome import VerifyCheck, VerifyResult
from railweave.plan.repairs import repairs_of
from railweave.plan.routes import WAIT_S, SessionRoutes, missing_routes, session_routes
from railweave.plan.shared_nics import half_linked
from railweave.plan.verification import EVERYONE, check_device, missing_bfdd, unreachable, unseen_warnings, unsettled
from railweave.sonic.isolation import Isolation, isolation_of


def verify(
    nr: Nornir,
    fabric: Fabric,
    devices: Collection[str] | None = None,
    *,
    settled: Container[str] = EVERYONE,
    timeout_s: float = 0,
    interval_s: float = 1,
    events: Events = silent,
    scope: VerificationScope = WHOLE_FABRIC,
    clock: Clock = SYSTEM_CLOCK,
) -> VerifyResult:
    """Return the checks of ``devices``, or of the whole fabric for None, with repairs and warnings.

    A device is read again until all of its checks pass, for at most ``timeout_s`` seconds. If the far end of a link is
    not ``settled``, nothing is expected that depends on that end. ``scope`` is what must be seen of the fabric.
    """
    names = [switch.name for switch in fabric.switches if devices is None or switch.name in devices]
    announce = Announcer([events])
    announce(Event(Step.VERIFYING, text=f"verifying {len(names)} devices", details={"devices": len(names)}))

    judgments: dict[str, Judgment] = run_on(
        nr,
        names,
        verify_device,
        judge=FabricJudge(fabric, settled, scope),
        timeout_s=timeout_s,
        interval_s=interval_s,
        clock=clock,
        announce=announce,
    )
    checks = with_port_names(fabric, chain.from_iterable(judgment.checks for judgment in judgments.values()))
    misplugged = (str(cable) for cable in misplugged_cables(fabric, checks))
    repairs = (*misplugged, *repairs_of(checks))
    warnings = (*_warnings(fabric, judgments), *half_linked(fabric, checks))
    return VerifyResult(checks, repairs, warnings)


def _warnings(fabric: Fabric, judgments: Mapping[str, "Judgment"]) -> tuple[str, ...]:
    """Return the warnings about devices: their releases, missing routes, BFD, and settings that are not shown."""
    intended = fabric.policies.sonic.release
    differing = {name: other_release(judgment.release, intended) for name, judgment in judgments.items()}
    lacking = chain.from_iterable(judgment.lacking for judgment in judgments.values())
    unseen = unseen_warnings({name: judgment.unseen for name, judgment in judgments.items()})
    device_warnings = [judgment.warning for judgment in judgments.values() if judgment.warning]
    return (*release_warnings(differing), *missing_routes(lacking), *device_warnings, *unseen)


_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Judgment:
    """What one reading of a device says."""

    checks: tuple[VerifyCheck, ...]
    # The sessions without all of their routes: waited for a while, then a warning.
    lacking: tuple[SessionRoutes, ...] = ()
    warning: str = ""
    # The SONiC release that the device runs; empty where it is not known.
    release: str = ""
    # The fields of ports whose values in force the device does not show.
    unseen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class FabricJudge:
    """Judges what devices of a fabric show.

    If the far end of a link is not ``settled``, nothing is expected that depends on that end. ``scope`` is what must be
    seen of the fabric.
    """

    fabric: Fabric = field(repr=False)
    settled: Container[str] = EVERYONE
    scope: VerificationScope = WHOLE_FABRIC
    isolation: Isolation | None = field(default=None, repr=False)
    _expectations: dict[str, Expectation] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Compute who may reach whom, if the fabric has tenants."""
        object.__setattr__(self, "isolation", isolation_of(self.fabric))

    def reads_filters(self, name: str) -> bool:
        """Tell whether the checks of a device need its running tables: it keeps tenants apart."""
        return self.isolation is not None and bool(self.fabric.nodes_on(name))

    def __call__(self, name: str, seen: Observation) -> Judgment:
        """Return the judgment of what was ``seen`` of device ``name``."""
        expected = self._expectations.get(name)
        if expected is None:
            # Kept, as a verification that waits judges a device every few seconds.
            expected = expect(self.fabric, self.fabric.switch_of[name], self.scope)
            self._expectations[name] = expected
        routes = session_routes(expected, seen, self.settled)
        lacking = tuple(session for session in routes if not session.ok)
        checks = (*unsettled(expected, seen), *check_device(expected, seen, self.settled))
        if self.isolation is not None and seen.tables is not None:
            checks += (*filter_checks(self.isolation, self.fabric.switch_of[name], seen.tables),)
        return Judgment(checks, lacking, missing_bfdd(expected, seen), seen.release, seen.unseen)


def verify_device(
    task: Task,
    *,
    judge: Callable[[str, Observation], Judgment],
    timeout_s: float,
    interval_s: float,
    announce: Events,
    clock: Clock = SYSTEM_CLOCK,
) -> Result:
    """Return the ``Judgment`` of one device, and announce it.

    The device is read every ``interval_s`` seconds until all checks pass or ``timeout_s`` seconds are over. If only
    routes are missing, it is read for at most WAIT_S seconds. A device that fails to answer twice in a row is not
    waited for.
    """
    name = task.host.name
    deadline_s = clock.monotonic() + timeout_s
    routes_deadline_s = clock.monotonic() + min(timeout_s, WAIT_S)
    silent_reads = 0
    with session(task) as opened:
        while True:
            try:
                judgment = judge(name, _seen(opened.driver, name, judge))
                silent_reads = 0
            except DEVICE_ERRORS as fault:
                opened.close()
                judgment = Judgment((unreachable(name, error_text(fault)),))
                silent_reads += 1
            failures = sum(not check.ok for check in judgment.checks)
            has_passed = not failures and not judgment.lacking
            next_read_s = clock.monotonic() + interval_s
            current_deadline_s = deadline_s if failures else routes_deadline_s
            is_late = next_read_s > current_deadline_s
            if has_passed or is_late or silent_reads >= _ATTEMPTS:
                announce(_verified_event(name, failures, len(judgment.checks), silent=bool(silent_reads)))
                return Result(host=task.host, result=judgment)
            clock.sleep(interval_s)


def _seen(driver: CheckedDriver, name: str, judge: Callable[[str, Observation], Judgment]) -> Observation:
    """Return what a device shows, with its running tables if ``judge`` checks the device's filters."""
    seen = observe(driver)
    if isinstance(judge, FabricJudge) and judge.reads_filters(name):
        return replace(seen, tables=driver.read().running.config_db)
    return seen


def _verified_event(device: str, failures: int, checks: int, *, silent: bool) -> Event:
    """Return the event of a device that was verified, with a text if some of its checks fail."""
    text = ""
    if failures:
        text = f"{failures} of {checks} checks fail"
    if silent:
        return Event(Step.UNREACHABLE, device, text)
    return Event(Step.VERIFIED, device, text)
