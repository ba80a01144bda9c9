"""The guard: a process that watches a transaction and reverts it unless it is confirmed in time."""

from __future__ import annotations

import contextlib

from railweave_switch.host import BusyError, CommandError, DatabaseError, SwitchHost
from railweave_switch.reverting import revert_to
from railweave_switch.saving import finish, journal_of
from railweave_switch.state import (
    ENDED,
    RollbackDocument,
    Stage,
    State,
    TransactionKind,
    guarded,
    read_document,
    read_state,
    stand_in,
    write,
)
from railweave_switch.state_forms import DamagedError, VersionError
from railweave_switch.steps import StepError

BUSY_S = 300.0
"""The time after its deadline that a change may still take to be applied."""
POLL_S = 1.0
RETRY_S = 60.0
MOST_RETRIES = 10
MOST_FAILED_READS = 3
"""The guard reverts after so many failures in a row to read the state."""


class Guard:
    """Watches one transaction, with its rollback document in memory, and reverts it unless it is confirmed.

    ``poll`` checks the state once and returns the seconds until the next check, None when its work is done.
    """

    def __init__(self, host: SwitchHost, name: str) -> None:
        self.host = host
        self.name = name
        self.document = read_document(host)
        if self.document.id != name:
            raise DamagedError(f"pending.json is of {self.document.id}, not of {name}")
        self.failed_reads = 0
        self.retries = 0
        self.ended: State | None = None
        """The state after this guard's own revert, until it is written."""

    def announce(self) -> None:
        """Write that the guard runs."""
        write(self.host, "guard.json", {"id": self.name, "process": self.host.me()})

    def poll(self) -> float | None:
        """Check the state once; return the seconds until the next check, None when the work is done.

        After an error of the switch the next check tries again.
        """
        try:
            return self._check_state()
        except (BusyError, DatabaseError, CommandError, StepError, OSError):
            return POLL_S

    def _check_state(self) -> float | None:
        """Act on the state of the last transaction; return the seconds until the next check, None when all is done."""
        state = None
        try:
            # A state that is damaged, or another version's, counts as missing.
            with contextlib.suppress(DamagedError, VersionError):
                state = read_state(self.host)
                self.failed_reads = 0
        except OSError:
            self.failed_reads += 1
            if self.failed_reads < MOST_FAILED_READS:
                return POLL_S
        if state is None:
            return self._fail_safe()
        if state.id != self.name:
            return self._superseded(state)
        if state.status in ENDED:
            return self._end(state)
        if self.ended is not None:
            # This guard has reverted the transaction, but could not write that: the file has the state before.
            with self.host.lock(0.0):
                self.ended.write(self.host)
            return None
        return self._watch(state)

    def _watch(self, state: State) -> float | None:
        """Check the guarded transaction while it is open; return the seconds until the next check, None to give up."""
        if state.status == Stage.FAILED:
            return self._retry(state)
        # While a worker is applying or reverting, and without a deadline, only the worker's end matters.
        if state.status != Stage.ARMED or state.ends_s is None:
            return self._watch_worker(state)
        left_s = state.ends_s - self.host.now_s()
        if left_s > 0:
            return min(left_s, POLL_S)
        return self._revert(state)

    def _retry(self, state: State) -> float | None:
        """Revert again, up to ``MOST_RETRIES`` times; return the seconds until the next check, None to give up."""
        self.retries += 1
        if self.retries > MOST_RETRIES:
            return None
        return self._revert(state) or RETRY_S

    def _end(self, state: State) -> float | None:
        """End once the startup files have the transaction's result; finish a save whose process was killed.

        Returns the seconds until the next check, None when nothing is left to do.
        """
        if state.status == Stage.REVERTED and state.unsaved and state.kind == TransactionKind.COMMIT:
            # Somebody had saved the change, so the next boot would apply it again.
            return self._retry(state)
        if journal_of(self.host, state) is None:
            return None
        if self._at_work(state):
            return POLL_S
        with self.host.lock(0.0):
            finish(self.host, state)
        return None

    def _watch_worker(self, state: State) -> float | None:
        """Revert if the worker has died; kill it if it still applies the change long after the deadline.

        Returns the seconds until the next check.
        """
        if not self._at_work(state):
            return self._revert(state)
        ends_s = self.document.ends_s
        if state.status == Stage.APPLYING and ends_s is not None and self.host.now_s() > ends_s + BUSY_S:
            self.host.end(state.worker or {})
        return POLL_S

    def _at_work(self, state: State) -> bool:
        """Tell whether a worker other than this guard continues the transaction."""
        return state.worker != self.host.me() and self.host.alive(state.worker)

    def _superseded(self, state: State) -> float | None:
        """End when the superseding transaction has a guard of its own, or has ended; revert if it was interrupted.

        Returns the seconds until the next check, None when the other guard is responsible.
        """
        if state.status in ENDED or guarded(self.host, state.id):
            return None
        if self.host.alive(state.worker):
            return POLL_S
        return self._revert(state)

    def _fail_safe(self) -> float | None:
        """Revert without a readable state; if the files show that the change was confirmed, end (None)."""
        names = set(self.host.list_directory())
        if "pending.json" not in names and f"{self.name}.rollback.json" in names:
            return None
        return self._revert(None)

    def _revert(self, state: State | None) -> float | None:
        """Revert, unless the state, which is read again under the lock, shows that this is no longer needed.

        ``state`` is that of the check before, None if it could not be read. Returns the seconds until the next check: 0
        if the state has changed meanwhile.
        """
        with self.host.lock(0.0):
            current = None
            with contextlib.suppress(DamagedError, VersionError, OSError):
                current = read_state(self.host)
            if current is None:
                current = stand_in(self.host, self.name, self.document.ends_s)
            else:
                has_ended = current.status in ENDED and not current.unsaved
                if state is None or current.status == Stage.CONFIRMED or has_ended:
                    return 0.0
                if current.status in (Stage.APPLYING, Stage.REVERTING) and self._at_work(current):
                    return POLL_S
            # It writes the outcome into the state.
            revert_to(self.host, current, self._document_for(current), "nobody confirmed it in time")
        if current.status != Stage.REVERTED:
            self.ended = None
            return RETRY_S
        self.ended = current
        return POLL_S

    def _document_for(self, state: State) -> RollbackDocument:
        """Return the document to restore for the last transaction.

        If it superseded the guarded one, its document undoes both; otherwise it is this guard's own.
        """
        if state.id != self.name:
            with contextlib.suppress(DamagedError, OSError):
                document = read_document(self.host)
                if document.id == state.id:
                    return document
        return self.document
