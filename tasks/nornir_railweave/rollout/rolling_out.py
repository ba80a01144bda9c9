"""A running rollout: each wave is applied as a whole, then confirmed as a whole or rolled back as a whole.

    may the wave start? → apply every change, under its switch's timer → enough devices verified? → confirm all → soak
                                                                      → too many failed? → roll all back, and stop

A device that fails is rolled back at once. While fewer than ``max_failures`` did, the rollout goes on without it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nornir.core import Nornir
from nornir.core.task import AggregatedResult, Result

from nornir_railweave.device.device import Attempt, WaveOrder
from nornir_railweave.device.jobs import DeviceJob
from nornir_railweave.device.session import error_text
from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.control import ABORT, PAUSE, InterruptibleControl, Interrupts
from nornir_railweave.rollout.rollout_context import RolloutContext
from nornir_railweave.rollout.soaking import Soak
from nornir_railweave.rollout.wave_admission import WaveAdmission
from nornir_railweave.target.connect import only
from nornir_railweave.target.runner import bounded
from nornir_railweave.tasks.apply_change import ApplyResult, apply_change
from nornir_railweave.tasks.confirm_commit import assess_device, confirm_commit, rollback_device
from nornir_railweave.tasks.holding import Holding
from railweave.plan.health import prefixes_behind
from railweave.plan.model import DevicePlan, DeviceState, Plan
from railweave.plan.outcome import DeviceOutcome, Outcome

_POLL_S = 0.5
_LEAST_MARGIN_S = 3.0
_MOST_MARGIN_S = 30.0
_INTERRUPTED = "interrupted; the current devices were finished"


@dataclass(frozen=True, slots=True)
class RolledOut:
    """The end of a rollout."""

    # Of every device that was worked on.
    outcomes: Mapping[str, DeviceOutcome]
    # The reason of a stop in one sentence; empty where it went through.
    stopped_by: str = ""
    interrupted: bool = False
    waves_done: int = 0
    # Devices that were new and were rolled back with their wave, for a fault of another device.
    undone: tuple[str, ...] = ()
    # Devices with a fault of their own.
    failed: tuple[str, ...] = ()

    @property
    def drained(self) -> tuple[str, ...]:
        """Return the devices that the rollout drained and could not undrain."""
        return tuple(name for name, outcome in self.outcomes.items() if outcome.drained)


def roll_out(
    nr: Nornir, jobs: Mapping[str, DeviceJob], waves: Sequence[Sequence[str]], context: RolloutContext
) -> RolledOut:
    """Carry out the ``jobs`` of the devices in ``waves``, and return how each of them ended.

    A device that fails is rolled back alone while fewer than ``max_failures`` have failed. The one that reaches that
    number stops the rollout, and its whole wave is rolled back.
    """
    with Interrupts() as interrupts:
        return _RollingOut(nr, jobs, waves, context, interrupts).run()


def outcomes_of(plan: Plan, ended: Mapping[str, DeviceOutcome]) -> dict[str, DeviceOutcome]:
    """Return the outcome of every device of a plan.

    A device that is not in ``ended`` was not worked on: its outcome follows from its state in the plan.
    """
    return {name: ended.get(name) or _untouched_outcome(device) for name, device in plan.devices.items()}


def _untouched_outcome(device: DevicePlan) -> DeviceOutcome:
    if device.state is DeviceState.UNREACHABLE:
        return DeviceOutcome(Outcome.UNREACHABLE, device.error)
    if device.state is DeviceState.UNCHANGED:
        return DeviceOutcome(Outcome.NEW)
    return DeviceOutcome(Outcome.NOT_ATTEMPTED)


class _StoppedError(Exception):
    """The rollout does not go on; the text says why."""


class _RollingOut:
    """One rollout: which device ended how, and how much of it may still fail."""

    def __init__(
        self,
        nr: Nornir,
        jobs: Mapping[str, DeviceJob],
        waves: Sequence[Sequence[str]],
        context: RolloutContext,
        interrupts: Interrupts,
    ) -> None:
        self._nr = nr
        self._jobs = jobs
        self._waves = waves
        self._context = context
        self._rollout = context.policy.rollout
        self._outcomes: dict[str, DeviceOutcome] = {}
        self._failed: list[str] = []
        self._undone: list[str] = []
        self._interrupts = interrupts
        self._control = InterruptibleControl(context.control, interrupts)
        self._waves_done = 0
        # If this runner is lost, its holds end with the revert timers of the switches, for which a later rollout waits.
        hold_s = float(self._rollout.revert_in_s)
        self._holding = Holding(
            nr=nr,
            fabric=context.gate.fabric,
            message=context.policy.message,
            seconds=hold_s,
            has_ended=context.has_ended,
            unread=context.unread,
        )
        self._admission = WaveAdmission(nr, jobs, context, self._holding, self._control)

    def run(self) -> RolledOut:
        """Return how the rollout ended; in a dry run of Nornir it ends before its first wave."""
        if self._nr.data.dry_run:
            return RolledOut({}, "dry run: no device was changed")
        stopped_by = ""
        try:
            for number, wave in enumerate(self._waves, start=1):
                self._wait_for_permission()
                title = f"wave {number} of {len(self._waves)}"
                hold = self._admission.hold(number, wave, self._failed)
                if hold.refusal:
                    raise _StoppedError(f"{title} was not started: {hold.refusal}")
                self._say(Step.WAVE, title, wave=number, of=len(self._waves), devices=[*wave])
                self._run_wave(wave, hold.name)
                self._waves_done = number
                # After the last wave an interrupt has nothing left to stop.
                if self._interrupts.asked and number < len(self._waves):
                    raise _StoppedError(_INTERRUPTED)
        except _StoppedError as reason:
            stopped_by = str(reason)
        self._holding.release()
        return RolledOut(
            outcomes=self._outcomes,
            stopped_by=stopped_by,
            interrupted=self._interrupts.asked,
            waves_done=self._waves_done,
            undone=tuple(self._undone),
            failed=tuple(self._failed),
        )

    # Before a wave

    def _wait_for_permission(self) -> None:
        """Return once the operator lets the rollout go on, at once if it is not paused.

        Raises _StoppedError if the operator aborts or interrupts it, or the journal cannot be written.
        """
        was_paused = False
        request = self._context.control.asked()
        while request == PAUSE:
            if not was_paused:
                self._say(Step.PAUSED, f"paused after wave {self._waves_done} of {len(self._waves)}")
            was_paused = True
            self._context.policy.clock.sleep(_POLL_S)
            if self._interrupts.asked:
                raise _StoppedError("interrupted while it was paused")
            request = self._context.control.asked()
        blocker = self._context.blocker()
        if blocker:
            raise _StoppedError(blocker)
        if request == ABORT:
            raise _StoppedError(f"aborted after wave {self._waves_done} of {len(self._waves)}")
        if was_paused:
            self._say(Step.CONTINUED)

    # A wave

    def _run_wave(self, wave: Sequence[str], hold: str) -> None:
        """Apply, confirm and soak a wave, or roll it back; ``hold`` is the name under which its devices are held.

        Raises _StoppedError if the rollout must not go on.
        """
        order = replace(self._wave_order(wave), hold=hold)
        attempts = self._apply(order, wave)
        self._holding.drained(name for name, attempt in attempts.items() if attempt.drained)
        reason = self._unconfirmable(attempts)
        if reason:
            self._roll_back(order, attempts, reason)
            raise _StoppedError(reason)
        confirmed = self._confirm(order, attempts)
        reason = self._failure_budget_used()
        if reason:
            raise _StoppedError(reason)
        # A device without an outcome was not begun, because of an interrupt.
        if not self._outcomes.keys() >= set(wave):
            raise _StoppedError(_INTERRUPTED)
        if confirmed and not self._interrupts.asked:
            self._soak(confirmed)

    def _unconfirmable(self, attempts: Mapping[str, Attempt]) -> str:
        """Return why a wave that was applied has to be rolled back; empty if it may be confirmed.

        In that case the journal has announced its confirmation.
        """
        reason = self._failure_budget_used() or self._revert_timer_expiring(attempts)
        # The journal announces the confirmations only if nothing else prevents them.
        return reason or self._announce_confirmations(attempts)

    def _wave_order(self, wave: Collection[str]) -> WaveOrder:
        """Return what the devices of a wave share."""
        prefix_counts = [prefixes_behind(self._context.gate.fabric, name) for name in wave]
        # A device may miss the prefixes behind all the others of its wave, but not those behind itself.
        most_missing = sum(prefix_counts) - min(prefix_counts, default=0)
        ended_new = {name for name, outcome in self._outcomes.items() if outcome.outcome is Outcome.NEW}
        return WaveOrder(
            jobs=self._jobs,
            settled=self._context.settled | ended_new,
            missing=most_missing,
            policy=self._context.policy,
            announce=self._context.announce,
            blocker=self._context.blocker,
        )

    def _apply(self, order: WaveOrder, wave: Sequence[str]) -> dict[str, Attempt]:
        """Apply the changes of a wave; return the attempts that await confirmation, and note how the others ended."""
        failures_left = self._rollout.max_failures - len(self._failed)
        nr = bounded(only(self._nr, wave), self._rollout.workers, failures_left, stop=self._interrupts)
        results = nr.run(apply_change, on_failed=True, order=order)
        attempts: dict[str, Attempt] = {}
        for name in wave:
            result = results[name][0]
            applied = result.result
            if result.exception is not None:
                self._note_outcome(name, self._assessed(order, name, result.exception))
            elif not isinstance(applied, ApplyResult):
                # The device was not attempted: the wave had ended before its turn.
                continue
            elif applied.attempt is not None:
                attempts[name] = applied.attempt
            elif applied.outcome is not None:
                self._note_outcome(name, applied.outcome)
        return attempts

    def _confirm(self, order: WaveOrder, attempts: Mapping[str, Attempt]) -> dict[str, Attempt]:
        """Confirm the whole wave; return the attempts that were confirmed, and note how every one ended."""
        if not attempts:
            return {}
        results = self._on_all(confirm_commit, attempts, order=order, attempts=attempts)
        for name in attempts:
            self._note_outcome(name, self._outcome_from(results, name, order))
        return {name: attempt for name, attempt in attempts.items() if self._outcomes[name].ok}

    def _roll_back(self, order: WaveOrder, attempts: Mapping[str, Attempt], reason: str) -> None:
        """Roll back every device in ``attempts``, which run their new configuration, and note how each ended."""
        if not attempts:
            return
        self._say(Step.WAVE_UNDONE, reason, devices=list(attempts))
        why = f"rolled back with its wave: {reason}"
        results = self._on_all(rollback_device, attempts, order=order, attempts=attempts, why=why)
        for name in attempts:
            outcome = self._outcome_from(results, name, order)
            self._outcomes[name] = outcome
            if outcome.outcome is Outcome.OLD:
                self._undone.append(name)
            else:
                self._failed.append(name)

    def _soak(self, attempts: Mapping[str, Attempt]) -> None:
        """Check a confirmed wave for the time of its soak; roll it back if it fails.

        Raises _StoppedError then, and if the journal cannot be written. The soak is in the journal before it begins:
        if its end is lost, resuming and rolling back ask the switches.
        """
        seconds = self._rollout.soak_s
        if seconds <= 0:
            return
        self._say(Step.SOAKING, f"{len(attempts)} devices for {seconds:g} s", devices=list(attempts), seconds=seconds)
        blocker = self._context.blocker()
        if blocker:
            raise _StoppedError(blocker)
        # Devices that failed, or were disconnected by their change, may announce nothing during the soak.
        disconnected = (name for name, attempt in attempts.items() if attempt.before.disconnects)
        silent = {*self._failed, *disconnected}
        missing = sum(prefixes_behind(self._context.gate.fabric, name) for name in silent)
        order = replace(self._wave_order(attempts), missing=missing)
        soak = Soak(self._nr, order, attempts, self._control)
        reason = soak.run()
        if reason:
            self._roll_back(order, attempts, reason)
            raise _StoppedError(reason)
        self._say(Step.SOAKED, "ended early" if soak.cut_short else "", devices=list(attempts))

    # Judging

    def _failure_budget_used(self) -> str:
        """Return why the rollout stops once ``max_failures`` devices have failed; empty while fewer have."""
        allowed = self._rollout.max_failures
        if len(self._failed) < allowed:
            return ""
        last_failed = self._failed[-1]
        reason = f"{last_failed}: {self._outcomes[last_failed].error}"
        if allowed > 1:
            reason += f" ({len(self._failed)} devices failed, max_failures is {allowed})"
        return reason

    def _revert_timer_expiring(self, attempts: Mapping[str, Attempt]) -> str:
        """Return why it is too late to confirm the wave; empty while there is time.

        It is too late when a switch may revert its change before all are confirmed.
        """
        if not attempts:
            return ""
        revert_in_s = self._rollout.revert_in_s
        margin_s = min(_MOST_MARGIN_S, max(_LEAST_MARGIN_S, revert_in_s / 10))
        first = min(attempts, key=lambda name: attempts[name].ends_at_s)
        remaining_s = attempts[first].ends_at_s - self._context.policy.clock.monotonic()
        if remaining_s >= margin_s:
            return ""
        return (
            f"{first}: its revert timer of {revert_in_s} s was nearly over before the last device of the wave was "
            f"verified: raise `revert_in`, or lower `wave_size`, of the target's `rollout:`"
        )

    def _announce_confirmations(self, attempts: Mapping[str, Attempt]) -> str:
        """Write into the journal what will be confirmed; return why that failed, empty once it is written.

        Nothing may be confirmed unless it is written: if the results of the confirmations are lost, resuming and
        rolling back ask these switches.
        """
        commits = {
            name: {"commit_id": attempt.commit_id, "after_sha256": attempt.after_sha256}
            for name, attempt in attempts.items()
        }
        if commits:
            self._say(Step.CONFIRMING, devices=commits)
        return self._context.blocker()

    def _note_outcome(self, name: str, outcome: DeviceOutcome) -> None:
        """Note how a device ended, and count it as failed unless that is well."""
        self._outcomes[name] = outcome
        if not outcome.ok:
            self._failed.append(name)

    def _outcome_from(self, results: AggregatedResult, name: str, order: WaveOrder) -> DeviceOutcome:
        """Return the outcome in the result of a device's task; if the task failed, read the device."""
        result = results[name][0]
        if isinstance(result.result, DeviceOutcome):
            return result.result
        return self._assessed(order, name, result.exception or RuntimeError("no result"))

    def _assessed(self, order: WaveOrder, name: str, fault: BaseException) -> DeviceOutcome:
        """Read a device whose task raised ``fault``, and return its outcome."""
        why = error_text(fault)
        # The loss of a worker is a ConnectionError; any other exception here is a mistake of the program.
        if not isinstance(fault, ConnectionError):
            why = f"railweave itself failed here: {why}"
        results = only(self._nr, (name,)).run(assess_device, on_failed=True, order=order, why=why)
        outcome = results[name][0].result
        if isinstance(outcome, DeviceOutcome):
            return outcome
        return DeviceOutcome(Outcome.UNREACHABLE, why)

    # Machinery

    def _on_all(self, task: Callable[..., Result], names: Collection[str], **arguments: Any) -> AggregatedResult:
        """Run ``task`` on all of ``names``. An interrupt does not stop it: no device may be left in the middle."""
        return bounded(only(self._nr, names), self._rollout.workers).run(task, on_failed=True, **arguments)

    def _say(self, step: Step, text: str = "", **details: object) -> None:
        self._context.announce(Event(step, text=text, details=details))
