"""A commit from candidate to running configuration, or back: nothing in between is left on purpose.

    lock → nothing pending → read → refuse what moved → rollback file on the switch → arm the timer
         → apply step by step → read back → save, or wait for the confirmation

Success is what is read back, never a command's text. Where a step fails, the rollback file that already lies on the
switch is carried out, and what it could not restore is restored from here.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
    CommitConfirmException,
    CommitError,
    ConnectionClosedException,
    ConnectionException,
    LockError,
)

from napalm_sonic.apply import Applier, StepRefusedError
from napalm_sonic.candidate import Candidate, Kind, touched_rows
from napalm_sonic.confirm import DRAIN, ROLLBACK, Undo, refuse_when_pending
from napalm_sonic.drain import Drainer, TemporaryDrain
from napalm_sonic.paths import new_id
from napalm_sonic.reload import Reload
from napalm_sonic.running import read_running
from railweave.secrets import secret_values, shown_key, shown_text
from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig, same_fields
from railweave.sonic.drain import drained_as
from railweave.sonic.frr import frr_delta, frr_difference, parse_frr
from railweave.sonic.merge import apply as merged
from railweave.sonic.merge import inverse
from railweave.sonic.steps import ReloadStep, Step, apply_steps, rollback_document, rollback_steps

if TYPE_CHECKING:
    from napalm_sonic.confirm import ConfirmProgram
    from napalm_sonic.lock import Lock
    from napalm_sonic.options import Options
    from napalm_sonic.session import Session

_FAILURES = (
    StepRefusedError,
    CommitError,
    CommitConfirmException,
    LockError,
    CommandErrorException,
    CommandTimeoutException,
    ConnectionException,
    DocumentError,
)
_READ_BACK_ATTEMPTS = 3
_READ_BACK_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Work:
    """One commit: what changes, from what, by which steps."""

    commit_id: str
    before: RunningConfig
    changes: Mapping[str, Any]
    steps: tuple[Step, ...]
    drain: TemporaryDrain | None = None

    @property
    def reloads(self) -> bool:
        """True where the switch reloads."""
        return any(isinstance(step, ReloadStep) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Committer:
    """What a commit needs of one device."""

    session: "Session"
    lock: "Lock"
    confirm: "ConfirmProgram"
    options: "Options"
    drain: TemporaryDrain | None = None
    """The temporary drain of this session that the commit is made under; whatever undoes the commit, ends it."""

    @property
    def _applier(self) -> Applier:
        return Applier(self.session, self.options)

    def commit(
        self, candidate: Candidate, compared: RunningConfig | None, message: str, revert_in_s: int | None
    ) -> None:
        """Apply the candidate; raises CommitError, with the earlier configuration restored unless it says otherwise.

        ``compared``: the configuration that the last comparison was made with, if there was one.
        """
        drain = self._standing_drain()
        before = read_running(self.session)
        work = self._plan(candidate, before, drain)
        if not work.changes:
            return
        self._refuse_when_moved(work.changes, compared, before)
        for step in work.steps:
            if isinstance(step, ReloadStep):
                Reload(self.session, self.options).check(step)
        self.confirm.prepare(_way_back(work), revert_in_s, message)
        try:
            if revert_in_s is not None:
                self.confirm.arm()
            self._apply(work)
            self._check_timer(revert_in_s)
        except ConnectionClosedException as error:
            self._after_lost_session(work, revert_in_s, error)
        except _FAILURES as error:
            self._restore(work, error)
        if revert_in_s is None:
            if drain is not None:
                self._drainer.end(drain.before)
            self._applier_save()
            self.confirm.settle("confirmed")

    def confirm_pending(self) -> None:
        """Keep the pending commit and save; raises CommitConfirmException where none waits.

        What it was drained for ends first: a saved configuration never holds a temporary drain.
        """
        drain = self.confirm.under_drain()
        if drain.alone:
            raise CommitConfirmException(
                f"{self.session.hostname}: no commit waits to be confirmed, only a temporary drain: undrain() ends it"
            )
        if drain.before is not None:
            self._drainer.end(drain.before)
        self.confirm.confirm()
        self._applier_save()

    def rollback(self) -> None:
        """Revert a pending or unfinished commit, else undo the last one; raises CommitError where there is none."""
        if self.confirm.status().status in ("none", "reverted", "confirmed"):
            last = self.confirm.last_confirmed()
            if not last:
                raise CommitError(f"{self.session.hostname}: there is no commit to roll back")
            steps = self.confirm.rollback(last).get("steps")
            if not steps:
                raise CommitError(f"{self.session.hostname}: the rollback file of the last commit is gone")
            # A drain that the commit was made under has ended long ago; what is drained now is not its concern.
            saved = [step for step in steps if step.get("kind") != "save" and DRAIN not in step]
            self.confirm.prepare(Undo(new_id(), [*saved, {"kind": "save"}], kind=ROLLBACK), None, "rollback")
        ended = self.confirm.revert()
        if ended.status != "reverted":
            raise CommitError(f"{self.session.hostname}: the rollback did not succeed: {ended.error or ended.status}")

    @property
    def _drainer(self) -> Drainer:
        return Drainer(self.session, self.confirm, self.options)

    def _standing_drain(self) -> TemporaryDrain | None:
        """Return the drain that the commit takes over; raises CommitError where it ended or another commit waits."""
        status = self.confirm.status()
        drain = self.drain
        if drain is None or not drain.commit_id or drain.commit_id != status.commit_id:
            refuse_when_pending(self.session.hostname, status)
            return None
        if status.status != "armed":
            raise CommitError(
                f"{self.session.hostname}: the temporary drain was over ({status.status}) before the change began; "
                f"nothing was applied, drain again with a longer time"
            )
        return drain

    def _plan(self, candidate: Candidate, before: RunningConfig, drain: TemporaryDrain | None) -> Work:
        try:
            changes = candidate.changes(before)
            steps = apply_steps(changes, before) if changes else ()
        except DocumentError as error:
            raise CommitError(f"{self.session.hostname}: {error}") from error
        return Work(new_id(), before, changes, steps, drain)

    def _refuse_when_moved(
        self, changes: Mapping[str, Any], compared: RunningConfig | None, before: RunningConfig
    ) -> None:
        if compared is None:
            return
        moved = [
            f"{table}|{shown_key(table, key)}"
            for table, key in touched_rows(changes)
            if not _same_row(compared, before, table, key)
        ]
        if BGPRAW in changes and not _same_frr(compared, before):
            moved.append("FRR")
        if moved:
            raise CommitError(
                f"{self.session.hostname}: changed by somebody else since the comparison: {', '.join(moved[:5])}; "
                f"nothing was applied, compare again"
            )

    def _apply(self, work: Work) -> None:
        """Run the steps and read back. A refused last step whose effect is there after all is no failure."""
        refused: StepRefusedError | None = None
        try:
            self._applier.apply(work.steps, work.commit_id)
        except StepRefusedError as error:
            refused = error
        if work.reloads and refused is None:
            self.lock.acquire()  # the reload may have cut the session, and the lock with it
            self._finish_frr(work)
        unmet = self._unmet(work, attempts=1 if refused else _READ_BACK_ATTEMPTS)
        if unmet:
            raise CommitError(str(refused) if refused else f"not as wanted when read back: {_some(unmet)}")

    def _finish_frr(self, work: Work) -> None:
        """After a reload FRR runs its boot file; bring it to the wanted lines."""
        wanted, now = merged(work.changes, work.before), read_running(self.session)
        if wanted.frr is None or now.frr is None:
            return
        delta = frr_delta(parse_frr(now.frr), parse_frr(wanted.frr))
        if delta:
            self._applier.apply_frr(delta)

    def _unmet(self, work: Work, attempts: int) -> list[str]:
        """Return what is not as wanted; daemons get a moment to follow."""
        unmet: list[str] = []
        for attempt in range(attempts):
            if attempt:
                time.sleep(_READ_BACK_PAUSE_S)
            unmet = differing(work.changes, merged(work.changes, work.before), read_running(self.session))
            if not unmet:
                break
        return unmet

    def _check_timer(self, revert_in_s: int | None) -> None:
        """A change slower than its own deadline has been taken back by the switch meanwhile."""
        if revert_in_s is None:
            return
        status = self.confirm.status()
        if status.status != "armed":
            raise CommitError(f"the {revert_in_s} s until the revert passed while the change was applied")

    def _applier_save(self) -> None:
        try:
            self._applier.save()
        except StepRefusedError as error:
            raise CommitError(
                f"{self.session.hostname}: the new configuration runs but could not be saved: {error}"
            ) from error

    def _after_lost_session(self, work: Work, revert_in_s: int | None, error: ConnectionClosedException) -> None:
        if revert_in_s is not None:
            raise ConnectionClosedException(
                f"{error}; the switch restores the earlier configuration by itself within {revert_in_s} s unless a new "
                f"session confirms commit {work.commit_id}"
            ) from error
        try:
            self.session.close()
            self.session.open()
            self.lock.acquire()
        except (ConnectionException, LockError) as again:
            raise ConnectionClosedException(
                f"{error}; commit {work.commit_id} is unfinished: rollback() in a new session restores the earlier "
                f"configuration"
            ) from again
        self._restore(work, error)

    def _restore(self, work: Work, reason: Exception) -> None:
        """Bring the earlier configuration back and raise CommitError with the reason."""
        where = self.session.hostname
        told = shown_text(str(reason).removeprefix(f"{where}: "), _secrets(work))
        try:
            left = self._undo(work)
        except (*_FAILURES, OSError) as error:
            raise CommitError(
                f"{where}: {told}; the earlier configuration could not be restored ({error}): rollback() tries again"
            ) from reason
        if left:
            raise CommitError(f"{where}: {told}; restored but for {_some(left)}: look at these by hand") from reason
        raise CommitError(f"{where}: {told}; the earlier configuration is restored") from reason

    def _undo(self, work: Work) -> list[str]:
        """Return what is still not as before. Nothing written means nothing to revert: a reload may cost minutes."""
        undo = inverse(work.changes, work.before)
        if differing(undo, work.before, read_running(self.session)):
            self.confirm.revert()
            self._undo_rest(undo, work)
        if work.drain is not None:
            self._drainer.end(work.drain.before)
        left = differing(undo, work.before, read_running(self.session))
        if not left:
            self.confirm.settle("reverted")
        return left

    def _undo_rest(self, undo: Mapping[str, Any], work: Work) -> None:
        """Restore from here what the rollback file left: FRR's file knows only the way back from a full change."""
        now = read_running(self.session)
        rest = Candidate(Kind.MERGE, {**undo, BGPRAW: ""}).changes(now)
        if work.before.frr is not None and now.frr is not None and BGPRAW in work.changes:
            delta = frr_delta(parse_frr(now.frr), parse_frr(work.before.frr))
            if delta:
                rest[BGPRAW] = delta
        if rest and not work.reloads:
            with suppress(StepRefusedError):  # what it did or did not do is read back next
                self._applier.apply(apply_steps(rest, now), work.commit_id)


def _way_back(work: Work) -> Undo:
    """Return the way back from a commit, and from the temporary drain that it is made under."""
    undo = inverse(work.changes, work.before)
    if work.drain is None:
        return Undo(work.commit_id, rollback_document(rollback_steps(work.changes, work.before))["steps"], undo)
    # A reload of the way back boots what its file says, so the file must not say the drain.
    frr = work.before.frr
    undrained = RunningConfig(work.before.config_db, None if frr is None else drained_as(frr, work.drain.before))
    steps = rollback_document(rollback_steps(work.changes, undrained))["steps"]
    ended = [] if any(step["kind"] == "reload" for step in steps) else [work.drain.step]
    return Undo(work.commit_id, [*steps, *ended], undo, drained_before=work.drain.before)


def _secrets(work: Work) -> frozenset[str]:
    """Return the secrets that a device may quote when it refuses a change: those that come and those that were."""
    touched = {table: work.before.config_db.get(table, {}) for table in work.changes if table != BGPRAW}
    return secret_values(work.changes) | secret_values({**touched, BGPRAW: work.before.frr or ""})


def differing(changes: Mapping[str, Any], wanted: RunningConfig, now: RunningConfig) -> list[str]:
    """Return the rows that a merge document names and, where it changes FRR, the FRR lines that are not as wanted."""
    rows = Candidate(Kind.MERGE, {**changes, BGPRAW: ""}).changes(now)
    unmet = [f"{table}|{shown_key(table, key)}" for table, key in touched_rows(rows)]
    if BGPRAW in changes:
        if now.frr is None or wanted.frr is None:
            return [*unmet, "FRR (no answer)"]
        removed, added = frr_difference(parse_frr(now.frr), parse_frr(wanted.frr))
        unmet += [f"FRR {entry.context} / {entry.shown}" for entry in added]
        unmet += [f"FRR {entry.context} / {entry.shown} (too much)" for entry in removed]
    return unmet


def _same_row(one: RunningConfig, other: RunningConfig, table: str, key: str) -> bool:
    left, right = one.config_db.get(table, {}).get(key), other.config_db.get(table, {}).get(key)
    return left is right if left is None or right is None else same_fields(left, right)


def _same_frr(one: RunningConfig, other: RunningConfig) -> bool:
    return frr_difference(parse_frr(one.frr or ""), parse_frr(other.frr or "")) == ((), ())


def _some(items: list[str]) -> str:
    return ", ".join(items[:5]) + (f" and {len(items) - 5} more" if len(items) > 5 else "")
