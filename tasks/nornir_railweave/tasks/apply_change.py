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
    """How one device left this step; both fields are None after a dry run.

    With an ``attempt`` it runs its new configuration, verified, under its switch's timer. With an ``outcome`` its part
    of the rollout has ended.
    """

    attempt: Attempt | None = None
    outcome: DeviceOutcome | None = None


class _UntouchedError(Exception):
    """Nothing was changed: the device is not as its job expects it, its lock is held, or the journal is unwritten."""


class _EndedError(Exception):
    """The device was drained and rolled back, and its change was not applied; ``outcome`` says what it runs."""

    def __init__(self, outcome: DeviceOutcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


def apply_change(task: Task, order: WaveOrder) -> Result:
    """Apply and verify the change of one device; return an ``ApplyResult``.

    The result is failed unless the device runs its new configuration under its switch's timer. In a dry run the device
    is only read: the ``ApplyResult`` is empty, and ``diff`` and ``changed`` describe the change that would be made.
    """
    with session(task) as opened:
        device = Device(opened, order.jobs[task.host.name], order)
        application = _Application(device)
        if task.is_dry_run():
            return application.rehearse(task)
        applied = application.run()
    if applied.outcome is not None:
        device.say_outcome(applied.outcome)
    attempt = applied.attempt
    if attempt is None:
        return Result(host=task.host, result=applied, failed=True)
    return ChangeResult(task.host, attempt.before.delta, applied, changed=True)


class _Application:
    """The steps of one device, in the order of the methods."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def run(self) -> ApplyResult:
        """Apply and verify the change, or roll it back."""
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
        """Return the result of a dry run: the difference, or the outcome that keeps the device from being changed."""
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
        device.say_outcome(outcome)
        return Result(host=task.host, result=ApplyResult(outcome=outcome), failed=True)

    def _begin(self) -> Attempt:
        """Return the attempt before its change, as ``_read_before`` does; try once more if the session breaks off."""
        try:
            return self._read_before()
        except ConnectionClosedException as fault:
            self._device.say(Step.LOST, error_text(fault))
            self._device.session.close()
            return self._read_before()

    def _read_before(self) -> Attempt:
        """Read the device; return an attempt with what it runs and which checks pass.

        Raises _UntouchedError if the device must not be changed: its driver has no revert timer, a commit waits for its
        confirmation, or the device changed since its job was made.
        """
        device = self._device
        driver = device.driver
        if not driver.can(Capability.APPLY_WITH_TIMER):
            raise _UntouchedError(f"{lacking(driver.name, [Capability.APPLY_WITH_TIMER])}; nothing was done")
        reading, seen = device.read_and_look()
        last = device.last_commit(just_read=True)
        if last.pending:
            raise _UntouchedError("another commit waits for its confirmation; nothing was done")
        reason = device.job.moved(reading)
        if reason:
            raise _UntouchedError(reason)
        baseline = Baseline()
        if not reading.disconnects:
            if seen is None:
                seen = observe_over(device.driver, device.interval_s)
            baseline = take_baseline(device, seen)
        return Attempt(reading, baseline, last.commit_id, device.order.policy.message)

    def _drain(self, attempt: Attempt) -> bool:
        """Drain the device if its job needs that; return whether it was drained.

        Raises _UntouchedError if an operator has drained a part of it, another transaction holds the lock, or the
        journal cannot be written. Raises _EndedError, with the drain rolled back, if draining fails or traffic still
        flows when the time is up.
        """
        device = self._device
        if not needs_drain(device, attempt.before):
            return False
        blocker = in_the_way(attempt.before)
        if blocker:
            raise _UntouchedError(blocker)
        try:
            failure = drain_until_quiet(device)
        except _NOT_BEGUN as fault:
            raise _UntouchedError(f"{error_text(fault)}; nothing was done") from fault
        except DEVICE_ERRORS as fault:
            # The switch may be drained already, so it is rolled back.
            device.say(Step.LOST, error_text(fault))
            failure = f"could not be drained: {error_text(fault)}"
        if failure:
            raise _EndedError(self._roll_back_drain(attempt, failure))
        return True

    def _roll_back_drain(self, attempt: Attempt, why: str) -> DeviceOutcome:
        """Roll back a device on which nothing but the drain was done; return its outcome."""
        return roll_back(self._device, replace(attempt, drained=True), why)

    def _commit(self, attempt: Attempt) -> tuple[str, Attempt]:
        """Commit under the switch's timer; return an error text, empty for none, and the attempt with its commit.

        If somebody else holds the switch's lock, or the journal cannot be written, nothing is committed. A drained
        device is rolled back then and _EndedError is raised, otherwise _UntouchedError.
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
            # The commit may have been made all the same: the device is read next.
            device.say(Step.LOST, error_text(fault), **said_of(fault))
            return error_text(fault), attempt
        device.say(Step.APPLIED, attempt.complaint, commit_id=attempt.commit_id)
        return "", attempt

    def _apply(self, attempt: Attempt) -> AppliedChange:
        """Apply the device's changes; return the commit, without an id if there are no changes."""
        device = self._device
        # The losses of a drained device are judged after it was undrained, by new counters.
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
        """Read the device after the commit and verify it; roll it back unless it is as intended.

        ``fault_text`` is the error of the commit, empty for none: the device may hold the commit all the same.
        """
        device = self._device
        try:
            reading = self._read_again(attempt, reconnect=bool(fault_text))
        except DEVICE_ERRORS as fault:
            return ApplyResult(outcome=device.lost(fault_text or error_text(fault)))
        if config_state(reading, device.job) is not ConfigState.AFTER:
            remaining = first_few(reading.remaining, separator="; ") or "its digest is another"
            why = fault_text or f"the device does not hold what was committed: {remaining}"
            return ApplyResult(outcome=roll_back(device, attempt, why))
        why = self._missing_timer(attempt)
        if why:
            return ApplyResult(outcome=roll_back(device, attempt, why))
        attempt = replace(attempt, after_sha256=reading.sha256)
        try:
            failure, after = self._verify(attempt)
        except DEVICE_ERRORS as fault:
            failure = f"could not be verified: {error_text(fault)}"
            after = None
        if not failure:
            return ApplyResult(replace(attempt, after=after))
        return ApplyResult(outcome=roll_back(device, attempt, _with_complaint(attempt, failure)))

    def _missing_timer(self, attempt: Attempt) -> str:
        """Return an error text if no timer of the switch runs for the commit; empty if one does, or that is unknown."""
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
        """Read the device after the commit; over a new session with ``reconnect``, or if the old one breaks off."""
        if not reconnect:
            try:
                return self._device.read("running" if attempt.after is None else "last")
            except DEVICE_ERRORS as fault:
                self._device.say(Step.LOST, error_text(fault))
        self._device.reconnect()
        return self._device.read()

    def _verify(self, attempt: Attempt) -> tuple[str, ConfigReading | None]:
        """Verify the new configuration, undrain, and verify the device with its traffic.

        Return what failed, empty for nothing, and the reading of the configuration without its drain, if there is one.
        """
        device = self._device
        after = attempt.after
        device.say(Step.VERIFYING)
        first_reading = None
        if after is not None and after.view is not None:
            first_reading = seen_of(after.view)
        failure = wait_for_gate(device, attempt.baseline, whole=not attempt.drained, first=first_reading)
        if attempt.drained and not failure:
            failure = wait_for_gate(device, attempt.baseline, first=undrain(device))
            if after is not None:
                after = _undrained(after, device.driver.last_reading)
        if not failure and access_tables(attempt.before.delta):
            failure = _login_refused(device)
        if not failure:
            device.say(Step.VERIFIED)
        return failure, after


def _with_complaint(attempt: Attempt, failure: str) -> str:
    """Return the text of a failed verification, after what the switch reported of its reload: the likely cause."""
    if attempt.complaint:
        return f"{attempt.complaint}; {failure}"
    return failure


def _login_refused(device: Device) -> str:
    """Return why a second login fails; empty if it succeeds, or if the driver cannot try one."""
    driver = device.driver
    if not driver.can(Capability.SECOND_LOGIN):
        return ""
    try:
        driver.log_in_again()
    except DEVICE_ERRORS as fault:
        return f"a second login failed: {error_text(fault)}"
    return ""


def _undrained(after: ConfigReading, last: ConfigReading | None) -> ConfigReading | None:
    """Return ``last``, the reading after undraining, if only the drain distinguishes it from ``after``; else None."""
    if last is None or last.tables_digest != after.tables_digest:
        return None
    drained_frr = after.running.frr_document
    undrained_frr = last.running.frr_document
    if drained_frr is None or undrained_frr is None:
        return None
    # The FRR lines of a drain are not among the entries.
    if drained_frr.entries == undrained_frr.entries:
        return last
    return None


def _held_json(held: Health) -> list[list[str]]:
    """Return ``[kind, subject]`` of the checks that passed and that a later rollback judges by, for the journal."""
    return sorted([kind.value, subject] for kind, subject in held if kind in _OUTLIVING)
