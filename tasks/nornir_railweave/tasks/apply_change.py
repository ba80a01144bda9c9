"""Apply the change of one device, verify it, and leave it under its switch's timer.

Whatever fails, the device is rolled back at once and read, and the outcome says which configuration it has. Nothing is
concluded from the text of a command or from an exception. Its whole wave is confirmed or rolled back later.
"""

from dataclasses import dataclass, replace

from napalm.base.exceptions import ConnectionClosedException, LockError, SessionLockedException
from nornir.core.task import Result, Task

from napalm_sonic.program import new_id
from nornir_railweave.checked_driver import lacking
from nornir_railweave.device.auto_drain import drain_until_quiet, in_the_way, needs_drain, undrain
from nornir_railweave.device.device import Attempt, Device, UnwrittenError, WaveOrder
from nornir_railweave.device.gates import take_baseline, wait_for_gate
from nornir_railweave.device.jobs import JobReading, config_state
from nornir_railweave.device.observing import observe_over, seen_of
from nornir_railweave.device.restore import apply_delta, roll_back
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, said_of, session
from nornir_railweave.events import Step
from nornir_railweave.tasks.change_result import ChangeResult
from railweave.plan.health import Baseline, Health
from railweave.plan.outcome import CheckKind, ConfigState, DeviceOutcome, Outcome
from railweave.sonic.delta.access import access_tables
from railweave.switch_driver import AppliedChange, Capability, ConfigReading, ObserveRequest
from railweave.wording import first_few

_OUTLIVING = frozenset({CheckKind.LINK, CheckKind.LLDP, CheckKind.BGP})
_NOT_BEGUN = (LockError, SessionLockedException, UnwrittenError)


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """A device after this step: new, verified and held by its timer where ``outcome`` is None, else ended so.

    Both are None after a dry run.
    """

    attempt: Attempt | None = None
    outcome: DeviceOutcome | None = None


class _UntouchedError(Exception):
    """Nothing was changed: the device is not as the work expects it, its lock is held, or the journal is unwritten."""


class _EndedError(Exception):
    """The device ended before its change, by what had been done to it until then."""

    def __init__(self, outcome: DeviceOutcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


def apply_change(task: Task, order: WaveOrder) -> Result:
    """Return an ``ApplyResult``; the result is failed unless the device is held in its new configuration.

    In a dry run the device is read and nothing is changed: the ``ApplyResult`` is empty, and ``diff`` and ``changed``
    say what would be.
    """
    with session(task) as opened:
        device = Device(opened, order.jobs[task.host.name], order)
        application = _Application(device)
        if task.is_dry_run():
            return application.rehearse(task)
        applied = application.run()
    if applied.outcome is not None:
        device.say(Step.OUTCOME, applied.outcome.error, outcome=applied.outcome.outcome.value)
    attempt = applied.attempt
    if attempt is None:
        return Result(host=task.host, result=applied, failed=True)
    return ChangeResult(task.host, attempt.before.delta, applied, changed=True)


class _Application:
    """The steps of one device, in the order in which they stand here."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def run(self) -> ApplyResult:
        """Carry the change through to a verified device under its timer, or back."""
        device = self._device
        try:
            attempt = self._begin()
            attempt = replace(attempt, drained=self._drain(attempt))
            fault_text, attempt = self._commit(attempt)
        except _UntouchedError as reason:
            device.say(Step.MOVED, str(reason))
            return ApplyResult(outcome=DeviceOutcome(Outcome.OLD, str(reason)))
        except _EndedError as ended:
            return ApplyResult(outcome=ended.outcome)
        except DEVICE_ERRORS as fault:
            device.say(Step.UNREACHABLE, error_text(fault))
            return ApplyResult(outcome=DeviceOutcome(Outcome.UNREACHABLE, error_text(fault)))
        return self._settle(attempt, fault_text)

    def rehearse(self, task: Task) -> Result:
        """Return what a dry run tells: the difference, or why the device would not be changed."""
        device = self._device
        try:
            attempt = self._begin()
        except _UntouchedError as reason:
            outcome = DeviceOutcome(Outcome.OLD, str(reason))
        except DEVICE_ERRORS as fault:
            outcome = DeviceOutcome(Outcome.UNREACHABLE, error_text(fault))
        else:
            delta = attempt.before.delta
            return ChangeResult(task.host, delta, ApplyResult(), changed=bool(delta))
        device.say(Step.OUTCOME, outcome.error, outcome=outcome.outcome.value)
        return Result(host=task.host, result=ApplyResult(outcome=outcome), failed=True)

    def _begin(self) -> Attempt:
        """Read the device before anything is done; a session that breaks off says nothing of it, so one more try."""
        try:
            return self._look()
        except ConnectionClosedException as fault:
            self._device.say(Step.LOST, error_text(fault))
            self._device.session.close()
            return self._look()

    def _look(self) -> Attempt:
        """Return what runs and holds; raises _UntouchedError where that is not what the work was made for."""
        device = self._device
        driver = device.driver
        if not driver.can(Capability.APPLY_WITH_TIMER):
            raise _UntouchedError(f"{lacking(driver.name, [Capability.APPLY_WITH_TIMER])}; nothing was done")
        reading, seen = device.read_and_look()
        last = device.last_commit(just_read=True)
        if last.pending:
            raise _UntouchedError("another commit waits for its confirmation; nothing was done")
        if moved := device.job.moved(reading):
            raise _UntouchedError(moved)
        baseline = Baseline()
        if not reading.disconnects:
            baseline = take_baseline(device, seen or observe_over(device.driver, device.interval_s))
        return Attempt(reading, baseline, last.commit_id, device.order.policy.message)

    def _drain(self, attempt: Attempt) -> bool:
        """Take the traffic away where the work needs that; tell whether it was done.

        Raises _UntouchedError where another transaction holds the lock or the journal cannot be written, _EndedError
        where traffic would not go.
        """
        device = self._device
        if not needs_drain(device, attempt.before):
            return False
        if blocker := in_the_way(attempt.before):
            raise _UntouchedError(blocker)
        try:
            flowing = drain_until_quiet(device)
        except _NOT_BEGUN as fault:
            raise _UntouchedError(f"{error_text(fault)}; nothing was done") from fault
        except DEVICE_ERRORS as fault:
            # Lines that drain may stand on the switch by now.
            device.say(Step.LOST, error_text(fault))
            flowing = f"could not be drained: {error_text(fault)}"
        if flowing:
            raise _EndedError(self._roll_back_drain(attempt, flowing))
        return True

    def _roll_back_drain(self, attempt: Attempt, why: str) -> DeviceOutcome:
        """Roll back a device on which nothing but the drain was done."""
        return roll_back(self._device, replace(attempt, drained=True), why)

    def _commit(self, attempt: Attempt) -> tuple[str, Attempt]:
        """Commit with the switch's timer; return what went wrong, empty where nothing did.

        Raises _UntouchedError where somebody else holds the switch's lock or the journal cannot be written.
        """
        device = self._device
        ends_at_s = device.order.policy.clock.monotonic() + device.revert_in_s
        attempt = replace(attempt, sent_id=new_id(), ends_at_s=ends_at_s)
        try:
            device.begin(Step.APPLYING, f"{len(attempt.before.delta)} changes", held=_held_json(attempt.baseline.held))
            applied = self._apply(attempt)
            attempt = replace(attempt, commit_id=applied.commit_id, after=applied.reading, complaint=applied.complaint)
        except _NOT_BEGUN as fault:
            if attempt.drained:
                raise _EndedError(self._roll_back_drain(attempt, error_text(fault))) from fault
            raise _UntouchedError(f"{error_text(fault)}; nothing was done") from fault
        except DEVICE_ERRORS as fault:
            # Only reading the device tells in which state that leaves it.
            device.say(Step.LOST, error_text(fault), **said_of(fault))
            return error_text(fault), attempt
        device.say(Step.APPLIED, attempt.complaint, commit_id=attempt.commit_id)
        return "", attempt

    def _apply(self, attempt: Attempt) -> AppliedChange:
        """Apply what is left to do, as it was planned; the commit has no id where that is nothing."""
        device = self._device
        counters = not attempt.drained and bool(attempt.baseline.losses)
        return apply_delta(
            device,
            attempt.before.delta,
            device.order.policy.message,
            device.revert_in_s,
            ObserveRequest(counters=counters, over_s=device.interval_s),
            device.job.generation,
            restores=device.job.restores,
            commit_id=attempt.sent_id,
        )

    def _settle(self, attempt: Attempt, fault_text: str) -> ApplyResult:
        """Read what the commit left and verify it; what is not as intended is rolled back."""
        device = self._device
        try:
            reading = self._read_again(attempt, reconnect=bool(fault_text))
        except DEVICE_ERRORS as fault:
            return ApplyResult(outcome=device.lost(fault_text or error_text(fault)))
        if config_state(reading, device.job) is not ConfigState.AFTER:
            left = first_few(reading.remaining, separator="; ") or "its digest is another"
            why = fault_text or f"the device does not hold what was committed: {left}"
            return ApplyResult(outcome=roll_back(device, attempt, why))
        if untimed := self._without_timer(attempt):
            return ApplyResult(outcome=roll_back(device, attempt, untimed))
        attempt = replace(attempt, after_sha256=reading.sha256)
        try:
            wrong, after = self._verify(attempt)
        except DEVICE_ERRORS as fault:
            wrong = f"could not be verified: {error_text(fault)}"
            after = None
        if wrong:
            # The switch's own words come first: what is missing after a reload that failed follows from that.
            return ApplyResult(outcome=roll_back(device, attempt, "; ".join(filter(None, (attempt.complaint, wrong)))))
        return ApplyResult(replace(attempt, after=after))

    def _without_timer(self, attempt: Attempt) -> str:
        """Return that the commit does not wait for its confirmation, as its driver promised; empty where it does."""
        try:
            last = self._device.last_commit(just_read=True)
        except DEVICE_ERRORS:
            # The verification that follows asks the device again.
            return ""
        if last.pending or not attempt.made(last):
            return ""
        driver = self._device.driver
        return f"the driver {driver.name} says that it can {Capability.APPLY_WITH_TIMER}, and no timer runs"

    def _read_again(self, attempt: Attempt, *, reconnect: bool) -> JobReading:
        """Read what the commit left, over a new session where the old one is in doubt or breaks off."""
        if not reconnect:
            try:
                return self._device.read("running" if attempt.after is None else "last")
            except DEVICE_ERRORS as fault:
                self._device.say(Step.LOST, error_text(fault))
        self._device.reconnect()
        return self._device.read()

    def _verify(self, attempt: Attempt) -> tuple[str, ConfigReading | None]:
        """Return what is wrong with the device in its new configuration, its traffic on it again at the end; and what
        was read of that configuration, as it is without a drain."""
        device = self._device
        after = attempt.after
        device.say(Step.VERIFYING)
        shown = None if after is None or after.view is None else seen_of(after.view)
        wrong = wait_for_gate(device, attempt.baseline, whole=not attempt.drained, first=shown)
        if attempt.drained and not wrong:
            wrong = wait_for_gate(device, attempt.baseline, first=undrain(device))
            after = None if after is None else _undrained(after, device.driver.last_reading)
        if not wrong and access_tables(attempt.before.delta):
            wrong = _login_refused(device)
        if not wrong:
            device.say(Step.VERIFIED)
        return wrong, after


def _login_refused(device: Device) -> str:
    """Return why nobody can log in anew, empty where somebody can, or the driver opens no second session."""
    driver = device.driver
    if not driver.can(Capability.SECOND_LOGIN):
        return ""
    try:
        driver.log_in_again()
    except DEVICE_ERRORS as fault:
        return f"a second login failed: {error_text(fault)}"
    return ""


def _undrained(after: ConfigReading, last: ConfigReading | None) -> ConfigReading | None:
    """Return the ``last`` reading, of the end of a drain, unless more differs from ``after`` the change than that."""
    if last is None or last.tables_digest != after.tables_digest:
        return None
    before = after.running.frr_document
    now = last.running.frr_document
    if before is None or now is None:
        return None
    # The lines that drain are no entries of the document.
    if before.entries == now.entries:
        return last
    return None


def _held_json(held: Health) -> list[list[str]]:
    """Return the checks that held, for the journal: a later rollback needs the kinds that outlive a configuration."""
    return sorted([kind.value, subject] for kind, subject in held if kind in _OUTLIVING)
