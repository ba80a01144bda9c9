"""Bring one device to its wanted configuration: commit with a timer, verify, then confirm or roll back.

Whatever fails, the device is read again and the outcome says which configuration it has. Nothing is concluded from the
text of a command or from an exception.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from napalm.base.exceptions import LockError, SessionLockedException
from nornir.core.task import Result, Task

from nornir_railweave.events import Event, Events, Step
from nornir_railweave.observing import observe
from nornir_railweave.reading import Comparer, Comparison
from nornir_railweave.saving import ensure_saved
from nornir_railweave.session import DEVICE_FAULTS, Session, session, words
from nornir_railweave.target import Rollout
from railweave.plan.document import change_json
from railweave.plan.expectation import Expectation
from railweave.plan.health import Health, gate, health, needs_both_ends
from railweave.plan.model import DevicePlan
from railweave.plan.outcome import DeviceOutcome, Outcome, VerifyCheck
from railweave.plan.verification import unreachable
from railweave.sonic.change import Change
from railweave.sonic.document import DocumentError
from railweave.sonic.merge import inverse, merge_document

_SHOWN_CHECKS = 3
_ATTEMPTS = 2
_UNSAVED = "the new configuration runs but could not be saved: after a power loss the switch boots the old one"


@dataclass(frozen=True, slots=True)
class Order:
    """What the devices of one wave share. ``settled`` are the devices that already are in their intended state."""

    compare: Comparer
    expectation: Callable[[str], Expectation]
    planned: Mapping[str, DevicePlan]
    changes: Mapping[str, tuple[Change, ...]]
    settled: frozenset[str]
    rollout: Rollout
    reconnect_s: float
    message: str
    announce: Events


class Standing(Enum):
    """Which configuration a device holds."""

    OLD = auto()
    NEW = auto()
    BETWEEN = auto()


class _UntouchedError(Exception):
    """Nothing was done: the device is not as the plan found it, or somebody else is at work on it."""


def apply(task: Task, order: Order) -> Result:
    """Return the device's ``DeviceOutcome``; the result is failed unless that is ``new`` without an error."""
    with session(task) as opened:
        outcome = _Application(opened, task.host.name, order).run()
    order.announce(Event(Step.OUTCOME, task.host.name, outcome.error, {"outcome": outcome.outcome.value}))
    return Result(host=task.host, result=outcome, failed=not outcome.ok)


class _Application:
    """The steps of one device, in the order in which they stand here."""

    def __init__(self, opened: Session, device: str, order: Order) -> None:
        self._session = opened
        self._device = device
        self._order = order
        self._document: dict[str, Any] = {}
        self._health: Health = frozenset()

    def run(self) -> DeviceOutcome:
        """Carry the change through and return how it ended."""
        try:
            before = self._read()
            self._health = self._health_before(before)
            fault_text = self._commit(before)
        except _UntouchedError as reason:
            self._say(Step.MOVED, str(reason))
            return DeviceOutcome(Outcome.OLD, str(reason))
        except (*DEVICE_FAULTS, DocumentError) as fault:
            self._say(Step.UNREACHABLE, words(fault))
            return DeviceOutcome(Outcome.UNREACHABLE, words(fault))
        return self._settle(before, fault_text)

    def _settle(self, before: Comparison, fault_text: str) -> DeviceOutcome:
        """Read what the commit left, verify it, and confirm or undo it."""
        try:
            standing = self._standing(before, reconnect=bool(fault_text))
        except (*DEVICE_FAULTS, DocumentError) as fault:
            return self._lost(fault_text or words(fault))
        if standing is not Standing.NEW:
            return self._undo(before, fault_text or "the device does not hold what was committed")
        wrong = self._gate()
        return self._undo(before, wrong) if wrong else self._confirm(before)

    def _say(self, step: Step, text: str = "", **details: Any) -> None:
        self._order.announce(Event(step, self._device, text, details))

    def _read(self) -> Comparison:
        """Return what runs; raises _UntouchedError unless that and the changes are what the plan says."""
        found = self._compare()
        if self._session.driver.has_pending_commit():
            raise _UntouchedError("another commit waits for its confirmation; nothing was done")
        planned = self._order.changes.get(self._device, ())
        if found.sha256 != self._order.planned[self._device].running_sha256:
            raise _UntouchedError("the device's configuration changed since the plan was made; nothing was done")
        if [change_json(one) for one in found.difference.changes] != [change_json(one) for one in planned]:
            raise _UntouchedError("the changes are other ones than the plan says; nothing was done")
        self._document = merge_document(found.difference.changes, found.difference.frr_delta)
        return found

    def _health_before(self, before: Comparison) -> Health:
        """Return what holds now and must hold afterwards; nothing of a device that carries no traffic yet."""
        if before.difference.unprovisioned or needs_both_ends(before.difference.changes):
            return frozenset()
        return health(self._order.expectation(self._device), observe(self._session.driver))

    def _compare(self) -> Comparison:
        return self._order.compare(self._session.driver, self._device)

    def _commit(self, before: Comparison) -> str:
        """Commit with the switch's timer; return what went wrong, empty where nothing did.

        Raises _UntouchedError where somebody else holds the switch's lock.
        """
        self._say(Step.APPLYING, f"{len(before.difference.changes)} changes")
        try:
            driver = self._session.driver
            driver.load_merge_candidate(config=json.dumps(self._document))
            if driver.compare_config():
                driver.commit_config(message=self._order.message, revert_in=self._order.rollout.revert_in_s)
            else:
                driver.discard_config()
        except (LockError, SessionLockedException) as fault:
            raise _UntouchedError(f"{words(fault)}; nothing was done") from fault
        except Exception as fault:
            # Any fault, our own included, leaves the device in a state that only reading it can tell.
            self._say(Step.LOST, words(fault))
            return words(fault)
        self._say(Step.APPLIED)
        return ""

    def _standing(self, before: Comparison, *, reconnect: bool) -> Standing:
        """Return which configuration the device holds, over a new session where the old one is in doubt."""
        if reconnect:
            self._session.reconnect(self._order.reconnect_s)
            self._say(Step.RECONNECTED)
        found = self._compare()
        if not found.difference.changes:
            return Standing.NEW
        return Standing.OLD if found.sha256 == before.sha256 else Standing.BETWEEN

    def _lost(self, why: str) -> DeviceOutcome:
        """Return the outcome of a device that cannot be found again."""
        return DeviceOutcome(
            Outcome.UNREACHABLE,
            f"{why}; not reachable again within {self._order.reconnect_s:g} s. The switch itself takes back a commit "
            f"that was not confirmed, {self._order.rollout.revert_in_s} s after it began",
        )

    def _gate(self) -> str:
        """Return what the verification found wrong when its time was up; empty where everything holds."""
        rollout = self._order.rollout
        expected = self._order.expectation(self._device)
        deadline = time.monotonic() + rollout.verify_timeout_s
        self._say(Step.VERIFYING)
        while True:
            failed = [check for check in self._checks(expected) if not check.ok]
            if not failed:
                self._say(Step.VERIFIED)
                return ""
            if time.monotonic() + rollout.verify_interval_s > deadline:
                return _sentence(failed)
            time.sleep(rollout.verify_interval_s)

    def _checks(self, expected: Expectation) -> tuple[VerifyCheck, ...]:
        try:
            return gate(expected, observe(self._session.driver), self._order.settled, self._health)
        except DEVICE_FAULTS as fault:
            self._session.close()
            return (unreachable(self._device, words(fault)),)

    def _confirm(self, before: Comparison) -> DeviceOutcome:
        """Make the commit permanent; a lost answer is replaced by asking the device."""
        for _ in range(_ATTEMPTS):
            try:
                driver = self._session.driver
                if driver.has_pending_commit():
                    driver.confirm_commit()
                elif not ensure_saved(driver, self._device, self._order.compare):
                    return DeviceOutcome(Outcome.NEW, _UNSAVED)
                self._say(Step.CONFIRMED)
                return DeviceOutcome(Outcome.NEW)
            except Exception as fault:
                why = words(fault)
                self._say(Step.LOST, why)
            try:
                if self._standing(before, reconnect=True) is not Standing.NEW:
                    break
            except (*DEVICE_FAULTS, DocumentError):
                return self._lost(why)
        return self._undo(before, f"the commit could not be confirmed: {why}")

    def _undo(self, before: Comparison, why: str) -> DeviceOutcome:
        """Bring the earlier configuration back: the driver's rollback, then the planned rows one by one."""
        self._say(Step.ROLLING_BACK, why)
        for way in (self._roll_back, self._restore):
            try:
                way(before)
            except Exception as fault:
                self._say(Step.LOST, words(fault))
            try:
                standing = self._standing(before, reconnect=True)
            except (*DEVICE_FAULTS, DocumentError):
                return self._lost(why)
            if standing is Standing.OLD:
                self._say(Step.ROLLED_BACK)
                return DeviceOutcome(Outcome.OLD, why)
        if standing is Standing.NEW:
            return DeviceOutcome(Outcome.NEW, f"{why}; the earlier configuration could not be restored")
        return DeviceOutcome(
            Outcome.UNREACHABLE,
            f"{why}; the device holds neither configuration in full: `railweave plan` shows what is left",
        )

    def _roll_back(self, before: Comparison) -> None:
        """Take the commit back where there is one: a device that never left the old configuration needs nothing."""
        driver = self._session.reconnect(self._order.reconnect_s)
        if driver.has_pending_commit() or self._standing(before, reconnect=False) is not Standing.OLD:
            driver.rollback()

    def _restore(self, before: Comparison) -> None:
        """Put the named rows and lines back without the driver's own rollback."""
        driver = self._session.reconnect(self._order.reconnect_s)
        driver.load_merge_candidate(config=json.dumps(inverse(self._document, before.running)))
        if driver.compare_config():
            driver.commit_config(message=f"{self._order.message} (undone)")


def _sentence(failed: list[VerifyCheck]) -> str:
    """Return failing checks as one sentence."""
    shown = "; ".join(
        f"{one.kind.value} {one.subject}: expected {one.expected}, is {one.actual}" for one in failed[:_SHOWN_CHECKS]
    )
    more = f"; and {len(failed) - _SHOWN_CHECKS} more" if len(failed) > _SHOWN_CHECKS else ""
    return f"verification failed: {shown}{more}"
