"""The guard: waits beside a transaction and reverts it unless it is confirmed."""

from __future__ import annotations

import contextlib

from railweave_switch.host import BusyError, CommandError, DatabaseError, Host
from railweave_switch.refusal import kept_on_disk
from railweave_switch.reverting import take_back
from railweave_switch.state import (
    APPLYING,
    COMMIT,
    CONFIRMED,
    FAILED,
    REVERTED,
    REVERTING,
    VERSION,
    DamagedError,
    Document,
    State,
    VersionError,
    guarded,
    read_document,
    read_state,
    write,
    write_state,
)
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

    def __init__(self, host: Host, name: str) -> None:
        self.host = host
        self.name = name
        self.document = read_document(host)
        if self.document["id"] != name:
            raise DamagedError(f"pending.json is of {self.document['id']}, not of {name}")
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
        try:
            state = read_state(self.host)
        except (DamagedError, VersionError):
            return self._fail_safe()
        except OSError:
            self.unread += 1
            return POLL_S if self.unread < UNREADABLE else self._fail_safe()
        self.unread = 0
        if state is None:
            return self._fail_safe()
        if state["id"] != self.name:
            return self._superseded(state)
        return self._own(state)

    def _own(self, state: State) -> float | None:
        status = state["status"]
        if status in (CONFIRMED, REVERTED):
            return None
        if self.ended is not None:
            return self._recorded(self.ended)
        if status == FAILED:
            if self.retries >= MOST_RETRIES:
                return None
            self.retries += 1
            return self._strike(state) or RETRY_S
        if status in (APPLYING, REVERTING) or state["ends_s"] is None:
            return self._watch_worker(state)
        left_s = float(state["ends_s"]) - self.host.now_s()
        return min(left_s, POLL_S) if left_s > 0 else self._strike(state)

    def _watch_worker(self, state: State) -> float | None:
        """Take over from a worker that died, or that is stuck long after the deadline."""
        if not self._at_work(state):
            return self._strike(state)
        ends_s = self.document["ends_s"]
        if state["status"] == APPLYING and ends_s is not None and self.host.now_s() > float(ends_s) + BUSY_S:
            self.host.end(state["worker"])
        return POLL_S

    def _at_work(self, state: State) -> bool:
        """Tell whether a worker other than this guard carries the transaction on."""
        worker = state.get("worker")
        return worker != self.host.me() and self.host.alive(worker)

    def _superseded(self, state: State) -> float | None:
        """End only when the transaction that took over has a guard of its own, or is over."""
        if state["status"] in (CONFIRMED, REVERTED) or guarded(self.host, state["id"]):
            return None
        if self.host.alive(state.get("worker")):
            return POLL_S
        return self._strike(state)

    def _fail_safe(self) -> float | None:
        """Revert without a state to go by, unless the files say that the change was confirmed."""
        names = set(self.host.list_directory())
        if "pending.json" not in names and f"{self.name}.rollback.json" in names:
            return None
        return self._strike(None)

    def _strike(self, state: State | None) -> float | None:
        """Revert under the lock, if that is still to be done there."""
        with self.host.lock(0.0):
            try:
                now = read_state(self.host)
            except (DamagedError, VersionError, OSError):
                now = None
            if now is not None and (state is None or now["status"] in (CONFIRMED, REVERTED)):
                return 0.0
            if now is not None and now["status"] in (APPLYING, REVERTING) and self._at_work(now):
                return POLL_S
            known = now or self._reconstructed()
            status = take_back(self.host, known, self._document_for(known), "nobody confirmed it in time")
        self.ended = known if status == REVERTED else None
        return POLL_S if self.ended else RETRY_S

    def _recorded(self, state: State) -> float | None:
        """Write how the revert ended, if that is not yet there."""
        with self.host.lock(0.0):
            write_state(self.host, state)
        return None

    def _document_for(self, state: State) -> Document:
        """Return what to restore: where another transaction took over, its document, which undoes this one as well."""
        if state["id"] != self.name:
            with contextlib.suppress(DamagedError, OSError):
                found = read_document(self.host)
                if found["id"] == state["id"]:
                    return found
        return self.document

    def _reconstructed(self) -> State:
        """Return a state in the place of one that cannot be read."""
        return {
            "version": VERSION,
            "id": self.name,
            "kind": COMMIT,
            "status": REVERTING,
            "boot_id": self.host.boot_id(),
            "ends_s": self.document["ends_s"],
            "kept": kept_on_disk(self.host),
        }
