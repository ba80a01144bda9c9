"""The guard: waits beside a transaction and reverts it unless it is confirmed."""

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
"""How long the guard lets a change that is still being applied go on after its deadline."""
POLL_S = 1.0
RETRY_S = 60.0
MOST_RETRIES = 10
UNREADABLE = 3
"""So many looks in a row at a state that cannot be read; then the guard reverts."""


class Guard:
    """Waits beside one transaction, its rollback document in memory, and reverts it unless it is confirmed.

    ``poll`` looks once and returns the seconds until the next look, None when its work is done.
    """

    def __init__(self, host: SwitchHost, name: str) -> None:
        self.host = host
        self.name = name
        self.document = read_document(host)
        if self.document.id != name:
            raise DamagedError(f"pending.json is of {self.document.id}, not of {name}")
        self.unread = 0
        self.retries = 0
        self.ended: State | None = None
        """How this guard's own revert ended, until that could be written."""

    def announce(self) -> None:
        """Say that the guard runs."""
        write(self.host, "guard.json", {"id": self.name, "process": self.host.me()})

    def poll(self) -> float | None:
        """Look at the state once; raises nothing that a switch can be blamed for."""
        try:
            return self._look()
        except (BusyError, DatabaseError, CommandError, StepError, OSError):
            return POLL_S

    def _look(self) -> float | None:
        state = None
        try:
            state = read_state(self.host)
            self.unread = 0
        except (DamagedError, VersionError):
            pass
        except OSError:
            self.unread += 1
            if self.unread < UNREADABLE:
                return POLL_S
        if state is None:
            return self._fail_safe()
        if state.id != self.name:
            return self._superseded(state)
        if state.status in ENDED:
            return self._end(state)
        if self.ended is not None:
            with self.host.lock(0.0):
                self.ended.write(self.host)
            return None
        return self._watch(state)

    def _watch(self, state: State) -> float | None:
        """Look at the guarded transaction while it is open."""
        if state.status == Stage.FAILED:
            self.retries += 1
            return None if self.retries > MOST_RETRIES else self._strike(state) or RETRY_S
        if state.status != Stage.ARMED or state.ends_s is None:
            return self._watch_worker(state)
        left_s = state.ends_s - self.host.now_s()
        return min(left_s, POLL_S) if left_s > 0 else self._strike(state)

    def _end(self, state: State) -> float | None:
        """End with the transaction, once the startup files say so too: who was replacing them may have been killed."""
        if state.status == Stage.REVERTED and state.unsaved and state.kind == TransactionKind.COMMIT:
            self.retries += 1  # what was reverted would boot: somebody had saved it
            return None if self.retries > MOST_RETRIES else self._strike(state) or RETRY_S
        if journal_of(self.host, state) is None:
            return None
        if self._at_work(state):
            return POLL_S
        with self.host.lock(0.0):
            finish(self.host, state)
        return None

    def _watch_worker(self, state: State) -> float | None:
        """Take over from a worker that died, or that is stuck long after the deadline."""
        if not self._at_work(state):
            return self._strike(state)
        ends_s = self.document.ends_s
        if state.status == Stage.APPLYING and ends_s is not None and self.host.now_s() > ends_s + BUSY_S:
            self.host.end(state.worker or {})
        return POLL_S

    def _at_work(self, state: State) -> bool:
        """Tell whether a worker other than this guard carries the transaction on."""
        return state.worker != self.host.me() and self.host.alive(state.worker)

    def _superseded(self, state: State) -> float | None:
        """End only when the transaction that took over has a guard of its own, or is over."""
        if state.status in ENDED or guarded(self.host, state.id):
            return None
        return POLL_S if self.host.alive(state.worker) else self._strike(state)

    def _fail_safe(self) -> float | None:
        """Revert without a state to go by, unless the files say that the change was confirmed."""
        names = set(self.host.list_directory())
        if "pending.json" not in names and f"{self.name}.rollback.json" in names:
            return None
        return self._strike(None)

    def _strike(self, state: State | None) -> float | None:
        """Revert under the lock, if that is still to be done there."""
        with self.host.lock(0.0):
            now = None
            with contextlib.suppress(DamagedError, VersionError, OSError):
                now = read_state(self.host)
            if now is not None and (state is None or (now.status in ENDED and not now.unsaved)):
                return 0.0
            if now is not None and now.status == Stage.CONFIRMED:
                return 0.0
            if now is not None and now.status in (Stage.APPLYING, Stage.REVERTING) and self._at_work(now):
                return POLL_S
            known = now or stand_in(self.host, self.name, self.document.ends_s)
            revert_to(self.host, known, self._document_for(known), "nobody confirmed it in time")
        self.ended = known if known.status == Stage.REVERTED else None
        return POLL_S if self.ended else RETRY_S

    def _document_for(self, state: State) -> RollbackDocument:
        """Return what to restore: where another transaction took over, its document, which undoes this one as well."""
        if state.id != self.name:
            with contextlib.suppress(DamagedError, OSError):
                found = read_document(self.host)
                if found.id == state.id:
                    return found
        return self.document
