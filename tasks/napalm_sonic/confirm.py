"""The client of ``railweave-confirm``, the program on the switch that undoes a change unless it is confirmed.

What counts is the state file on the switch, so another session, hours later or from another machine, sees and
finishes what this one began.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import CommandErrorException, CommitConfirmException, CommitError, ConnectionException

from napalm_sonic.codec import first_json
from napalm_sonic.lock import who
from napalm_sonic.paths import CONFIRM_PROGRAM, STATE_DIRECTORY, STATE_FILE, rollback_file, staged

if TYPE_CHECKING:
    from napalm_sonic.session import Completed, Session

PENDING = frozenset({"armed", "expired", "reverting"})
"""States in which a commit waits for its confirmation or for its revert."""

COMMIT, DRAIN, ROLLBACK = "commit", "drain", "rollback"
"""What a state is about."""

KEPT_COMMITS = 10
"""The switch keeps the rollback files of so many confirmed commits before the last."""

_OF_A_TIMER = ("id", "deadline_at", "rollback")
_COMMIT_ID = re.compile(r"[0-9A-Za-z-]+")
_NO_DEADLINE_S = 0
_FINAL_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Status:
    """What the switch says of the last commit; ``none`` where it knows of none."""

    status: str
    commit_id: str = ""
    by: str = ""
    remaining_s: float | None = None
    error: str = ""

    @property
    def pending(self) -> bool:
        """True while a commit waits for its confirmation."""
        return self.status in PENDING

    @property
    def overdue(self) -> bool:
        """True where the deadline passed and nobody restored anything: the switch lost its timer, by a reboot say."""
        return self.status == "expired"


@dataclass(frozen=True, slots=True)
class Undo:
    """The way back from a change: the steps of its rollback file, and the merge document that says the same.

    ``kind`` is ``commit``, ``drain`` or ``rollback``; ``drained_before`` says that a commit is made under a temporary
    drain, and what was drained before that (None: without one).
    """

    commit_id: str
    steps: Sequence[dict[str, Any]] = field(repr=False)
    document: Mapping[str, Any] | None = field(default=None, repr=False)
    kind: str = COMMIT
    drained_before: str | None = None


@dataclass(frozen=True, slots=True)
class UnderDrain:
    """``alone``: nothing is pending but a temporary drain. ``before``: what was drained before the drain that the
    pending commit is made under; None without such a drain."""

    alone: bool
    before: str | None


@dataclass
class ConfirmProgram:
    """The program of one switch, reached over a session."""

    session: "Session"
    revert_limit_s: float = 1800.0
    _installed: bool = field(default=False)
    _dropped: list[str] = field(default_factory=list)

    def prepare(self, undo: Undo, revert_in_s: int | None, message: str) -> None:
        """Put program, rollback file and state on the switch; nothing runs yet.

        A temporary drain whose timer runs is superseded: until the new timer is armed, the old one still undoes it.
        """
        self._install()
        earlier = self._read_state()
        self._place(rollback_file(undo.commit_id), {"version": 1, "steps": list(undo.steps), "undo": undo.document})
        kept, self._dropped = _kept(earlier, undo)
        drain_waits = earlier.get("kind") == DRAIN and earlier.get("status") == "armed"
        self._write_state(
            {
                "version": 1,
                "id": undo.commit_id,
                "kind": undo.kind,
                "status": "prepared",
                "deadline_s": _NO_DEADLINE_S if revert_in_s is None else revert_in_s,
                "deadline_at": None,
                "rollback": rollback_file(undo.commit_id),
                "pid": None,
                "by": who(),
                "message": message,
                "prepared_at": int(time.time()),
                "kept": kept,
                "drained_before": undo.drained_before,
                "supersedes": {name: earlier[name] for name in _OF_A_TIMER} if drain_waits else None,
            }
        )
        if not drain_waits:
            self._drop()

    def arm(self) -> None:
        """Start the timer; raises CommitConfirmException where the switch cannot."""
        done, status = self._verb("arm")
        if done.exit_status != 0 or status.status != "armed":
            raise CommitConfirmException(
                f"{self.session.hostname}: the revert timer does not start: {status.error or done.words()}"
            )
        self._drop()

    def status(self) -> Status:
        """Ask the switch; a switch that never had the program has nothing pending."""
        done = self.session.run_root(f"{CONFIRM_PROGRAM} status {STATE_FILE}")
        status = _parsed(done)
        if status is not None:
            return status
        said = done.words().lower()
        if "not found" in said or "no such file" in said:
            return Status("none")
        raise CommitConfirmException(f"{self.session.hostname}: railweave-confirm: {done.words()}")

    def confirm(self) -> None:
        """Keep the pending commit; raises CommitConfirmException where none is pending."""
        done, status = self._verb("confirm")
        if done.exit_status != 0:
            raise CommitConfirmException(f"{self.session.hostname}: {_why(done, status)}")

    def revert(self) -> Status:
        """Carry out the rollback file and return the state after it; survives the loss of the session.

        A reload inside the rollback may cut the session: then the session is opened again, within bounds, and the
        state is read until it is final.
        """
        try:
            return self._verb("revert", self.revert_limit_s)[1]
        except ConnectionException:
            return self._await_final()

    def message(self) -> str:
        """Return the message of the last commit, empty where the switch knows of none."""
        return str(self._read_state().get("message") or "")

    def settle(self, status: str) -> None:
        """Write the end of a commit into the state file: ``confirmed`` or ``reverted``."""
        state = self._read_state()
        if state:
            self._write_state({**state, "status": status, "error": None, "supersedes": None})
        self._drop()

    def last_confirmed(self) -> str:
        """Return the id of the last commit if it was kept, empty where there is none; drains are no commits."""
        state = self._read_state()
        if state.get("kind") == DRAIN:
            return str((state.get("kept") or [""])[-1])
        return str(state["id"]) if state.get("status") == "confirmed" else ""

    def under_drain(self) -> "UnderDrain":
        """Return what the pending change has to do with a temporary drain."""
        state = self._read_state()
        pending = state.get("status") in PENDING
        before = state.get("drained_before")
        return UnderDrain(
            alone=pending and state.get("kind") == DRAIN, before=None if not pending or before is None else str(before)
        )

    def rollback(self, commit_id: str) -> dict[str, Any]:
        """Return the rollback file of a commit; empty where the switch does not have it (any more)."""
        if not _COMMIT_ID.fullmatch(commit_id):
            return {}
        done = self.session.run_root(f"cat {rollback_file(commit_id)}")
        found = first_json(done.stdout, rollback_file(commit_id)) if done.exit_status == 0 else {}
        return found if isinstance(found, dict) else {}

    def _drop(self) -> None:
        """Remove the rollback files that nobody can need any more."""
        dropped, self._dropped = self._dropped, []
        if dropped:
            self.session.run_root("rm -f " + " ".join(rollback_file(one) for one in dropped))

    def _await_final(self) -> Status:
        deadline = time.monotonic() + self.revert_limit_s
        while True:
            time.sleep(_FINAL_POLL_S)
            try:
                self.session.close()
                self.session.open()
                status = self.status()
            except ConnectionException:
                status = None
            if status is not None and status.status not in ("armed", "prepared", "reverting"):
                return status
            if time.monotonic() > deadline:
                raise CommitConfirmException(
                    f"{self.session.hostname}: the session was lost during the revert and the switch does not say how "
                    f"it ended"
                )

    def _install(self) -> None:
        if self._installed:
            return
        path = staged("confirm")
        self.session.upload(path, Path(__file__).with_name("railweave_confirm.py").read_bytes())
        self._root(f"mkdir -p -m 700 {STATE_DIRECTORY}")
        self._root(f"install -m 755 {path} {CONFIRM_PROGRAM}")
        self.session.remove(path)
        self._installed = True

    def _verb(self, verb: str, timeout_s: float | None = None) -> "tuple[Completed, Status]":
        done = self.session.run_root(f"{CONFIRM_PROGRAM} {verb} {STATE_FILE}", timeout_s)
        status = _parsed(done)
        if status is None:
            raise CommitConfirmException(f"{self.session.hostname}: railweave-confirm {verb}: {done.words()}")
        return done, status

    def _read_state(self) -> dict[str, Any]:
        done = self.session.run_root(f"cat {STATE_FILE}")
        state = first_json(done.stdout, STATE_FILE) if done.exit_status == 0 else {}
        return state if isinstance(state, dict) else {}

    def _write_state(self, state: dict[str, Any]) -> None:
        self._place(STATE_FILE, state)

    def _place(self, target: str, document: dict[str, Any]) -> None:
        path = staged("state")
        self.session.upload(path, json.dumps(document).encode())
        self._root(f"cp {path} {target}")
        self.session.remove(path)

    def _root(self, command: str) -> None:
        done = self.session.run_root(command)
        if done.exit_status != 0:
            raise CommitConfirmException(f"{self.session.hostname}: {command}: {done.words()}")


def refuse_when_pending(hostname: str, status: Status) -> None:
    """Raise CommitError where a commit waits: a second change would have no way back of its own."""
    if status.pending:
        raise CommitError(
            f"{hostname}: commit {status.commit_id} by {status.by or 'another session'} is {status.status}; "
            f"confirm_commit() keeps it, rollback() undoes it"
        )


def _kept(earlier: Mapping[str, Any], undo: Undo) -> tuple[list[str], list[str]]:
    """Return the commits whose rollback files stay beside the new one, oldest first, and those whose files go."""
    kept = [str(one) for one in earlier.get("kept") or []]
    last = str(earlier.get("id") or "")
    dropped: list[str] = []
    if last and last != undo.commit_id:
        confirmed = earlier.get("status") == "confirmed" and earlier.get("kind", COMMIT) == COMMIT
        (kept if confirmed and undo.kind != ROLLBACK else dropped).append(last)
    return kept[-KEPT_COMMITS:], [*kept[:-KEPT_COMMITS], *dropped]


def _parsed(done: "Completed") -> Status | None:
    """Return the status that the program printed, or None where it printed none."""
    try:
        line = first_json(done.stdout, done.command)
    except CommandErrorException:
        return None
    if not isinstance(line, dict) or "status" not in line:
        return None
    remaining = line.get("remaining_s")
    return Status(
        status=str(line["status"]),
        commit_id=str(line.get("id") or ""),
        by=str(line.get("by") or ""),
        remaining_s=None if remaining is None else float(remaining),
        error=str(line.get("error") or ""),
    )


def _why(done: "Completed", status: Status) -> str:
    return {
        "none": "no commit waits for a confirmation",
        "confirmed": "the commit is confirmed already",
        "reverted": "the time was over: the switch has restored the earlier configuration",
        "expired": "the time is over and the switch has not restored the earlier configuration yet; call rollback()",
    }.get(status.status, status.error or done.words())


@dataclass(frozen=True, slots=True)
class WaysBack:
    """What a switch keeps of its last confirmed commits: ``driver.ways_back``, beside NAPALM's own methods."""

    hostname: str
    confirm: ConfirmProgram

    def document(self, commit_id: str) -> dict[str, Any]:
        """Return the merge document that restores what a confirmed commit changed, with its secrets.

        ``revert_timer.status().commit_id`` names the last commit. Raises CommitError where the file is gone.
        """
        found = self.confirm.rollback(commit_id)
        undo = found.get("undo")
        if not isinstance(undo, dict):
            why = (
                "was written by an earlier version, without the rows that it restores"
                if found
                else f"is not on the switch (it keeps those of the last {KEPT_COMMITS} commits)"
            )
            raise CommitError(f"{self.hostname}: the rollback file of commit {commit_id} {why}")
        return undo


def check_revert_in(revert_in: int | None) -> None:
    """Raise CommitError for anything but None or a whole number of seconds above 0."""
    if revert_in is not None and (isinstance(revert_in, bool) or not isinstance(revert_in, int) or revert_in <= 0):
        raise CommitError(f"revert_in is a whole number of seconds above 0, not {revert_in!r}")
