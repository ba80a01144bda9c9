"""What the switch knows of its transactions: one small state file, and the rollback document of the pending one.

transaction.json   who changed what, when, and how far it got; replaced atomically, under the lock
pending.json       the rollback document of the pending transaction; there before anything is changed
ID.rollback.json   that of a confirmed commit
save.json          what the switch is to boot, until both startup files are replaced by it
hold.json          who is about to lead traffic off the switch, until when
digest.key         with which clients make the digests of what runs that they keep
reserve            disk space for the state and the revert where the disk is full
"""

from __future__ import annotations

import contextlib
import errno
import json
from dataclasses import dataclass, field, replace
from typing import Any

from railweave_switch.host import Process, SwitchHost
from railweave_switch.services import away, describe_away
from railweave_switch.state_forms import VERSION, DamagedError, VersionError, decoded

RESERVE_BYTES = 256 * 1024
KEPT_COMMITS = 11
"""The switch keeps the rollback documents of so many confirmed commits."""


class TransactionKind:
    """What a transaction is about."""

    COMMIT, DRAIN, ROLLBACK = "commit", "drain", "rollback"


class Stage:
    """How far a transaction got; the last three are reported and never written."""

    APPLYING, ARMED, CONFIRMED = "applying", "armed", "confirmed"
    REVERTING, REVERTED, FAILED = "reverting", "reverted", "failed"
    NONE, EXPIRED, DAMAGED = "none", "expired", "damaged"


ENDED = frozenset({Stage.CONFIRMED, Stage.REVERTED})
OPEN = frozenset({Stage.APPLYING, Stage.ARMED, Stage.REVERTING, Stage.FAILED})
"""States in which something may have to be reverted."""

REPAIRS = {
    Stage.EXPIRED: "railweave-switch revert",
    Stage.FAILED: "railweave-switch revert",
    Stage.DAMAGED: "railweave-switch recover",
}
"""The command that repairs a state."""

Step = dict[str, Any]
Generation = dict[str, Any]
Lines = list[tuple[str, ...]]


@dataclass
class State:
    """The last transaction. ``ends_s`` is the deadline on the clock since the boot, None for one that is kept at once.

    ``has_frr`` tells whether FRR answered when it began, ``frr_added`` and ``frr_removed`` what it changed there (None:
    not known), ``kept`` are the confirmed commits that can be rolled back, ``unsaved`` tells that it ended and the
    startup files do not yet say so. ``generation`` is that of the intent which the switch runs: what the client said of
    it, and a ``number`` that every confirmed deployment and rollback raises. ``daemons`` are those that ran when it
    began, ``broken`` tells of the ones that stayed away after its revert, or after that of an earlier one.
    """

    id: str
    kind: str
    status: str
    by: str = ""
    message: str = ""
    boot_id: str = ""
    began_at: float = 0.0
    ends_s: float | None = None
    deadline_at: float | None = None
    worker: Process | None = None
    drain: str = ""
    has_frr: bool = True
    frr_added: Lines | None = None
    frr_removed: Lines | None = None
    kept: list[str] = field(default_factory=list)
    rolls_back: str = ""
    unsaved: bool = False
    reason: str = ""
    error: str = ""
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    generation: Generation = field(default_factory=dict)
    daemons: list[str] = field(default_factory=list)
    broken: dict[str, Any] = field(default_factory=dict)
    version: int = VERSION

    def write(self, host: SwitchHost, **changes: Any) -> None:
        """Change it and write it."""
        vars(self).update(changes)
        write(host, "transaction.json", vars(self))

    def over(self, host: SwitchHost) -> bool:
        """Tell whether its time is over; a restart ends it at once."""
        return self.boot_id != host.boot_id() or (self.ends_s is not None and host.now_s() >= self.ends_s)

    def now(self, host: SwitchHost) -> str:
        """Return the status as it really is: what nobody continues is ``expired``, or ``failed``."""
        status = self.status
        if status not in (Stage.APPLYING, Stage.ARMED, Stage.REVERTING) or guarded(host, self.id):
            return status
        if status == Stage.ARMED and self.ends_s is not None:
            return Stage.EXPIRED if self.over(host) else status
        if host.alive(self.worker):
            return status
        return Stage.FAILED if status == Stage.REVERTING else Stage.EXPIRED

    @property
    def number(self) -> int:
        """Return the number of the generation, 0 where none was ever confirmed."""
        return int(self.generation.get("number") or 0)

    def is_armed(self, host: SwitchHost) -> bool:
        """Tell whether it waits for its confirmation, and in time."""
        return self.now(host) == Stage.ARMED and not self.over(host)

    def come_since(self, named: str) -> str:
        """Return in words the transaction that came after ``named``, the last one that somebody knows of."""
        if not self.id:
            return f"the switch knows of no transaction, and this was planned on {named}"
        said = f" ({self.message})" if self.message else ""
        return (
            f"{self.kind} {self.id} by {self.by or 'another session'}{said} came since this was planned, on "
            f"{named or 'a switch without any'}"
        )

    def describe(self, host: SwitchHost) -> str:
        """Return in words what is pending."""
        status = self.now(host)
        if status in ENDED or not self.id:
            return "nothing is pending"
        repair = f"; `{REPAIRS[status]}` repairs it" if status in REPAIRS else ""
        return f"{self.kind} {self.id} by {self.by or 'another session'} is {status}{repair}"

    @property
    def last(self) -> str:
        """Return the id of the last commit if it was kept; a drain is no commit."""
        return (
            self.kept[-1]
            if self.kept and (self.status == Stage.CONFIRMED or self.kind == TransactionKind.DRAIN)
            else ""
        )


@dataclass(frozen=True)
class RollbackDocument:
    """A rollback document: the steps back, and what must be true after them: ``rows`` and FRR's text ``frr``.

    ``after`` are the rows as the transaction leaves them, ``startup`` the digests of the startup files when it began.
    ``frr_lines`` replaces ``frr`` in the rollback of a confirmed commit: other lines have changed since. ``undo`` is
    the client's own form of it. ``generation`` is that of the switch once the transaction is confirmed, empty where it
    stays ``earlier``, the one before.
    """

    id: str
    steps: list[Step]
    rows: dict[str, Any]
    after: dict[str, Any]
    startup: dict[str, str] = field(default_factory=dict)
    frr: str | None = None
    frr_lines: Lines | None = None
    frr_ignored: str = ""
    frr_added: Lines | None = None
    frr_removed: Lines | None = None
    undo: Any = None
    drain: dict[str, Any] | None = None
    supersedes: str = ""
    ends_s: float | None = None
    generation: Generation = field(default_factory=dict)
    earlier: Generation = field(default_factory=dict)
    version: int = VERSION

    def generation_back(self, state: State) -> Generation:
        """Return the generation of a switch whose confirmed commit went back: the earlier one, under a new number."""
        return {**self.earlier, "number": state.number + 1} if self.generation else state.generation


@dataclass(frozen=True)
class Hold:
    """Who is about to drain these BGP ``peers``, until ``ends_s`` since the boot; ``["*"]`` are all, none means those
    of another switch of its plane."""

    id: str
    peers: list[str]
    by: str
    message: str
    boot_id: str
    ends_s: float
    version: int = VERSION

    def over(self, host: SwitchHost) -> bool:
        """Tell whether its time is over; a restart ends it at once."""
        return self.boot_id != host.boot_id() or host.now_s() >= (self.ends_s or 0.0)

    def words(self, host: SwitchHost) -> str:
        """Return in words who holds the switch, for what and how long."""
        what = f" ({self.message})" if self.message else ""
        seconds = max(0.0, self.ends_s - host.now_s())
        whom = "it" if self.peers else "another switch of its plane"
        return (
            f"{self.by or 'another session'}{what} is about to drain {whom}, for at most {seconds:.0f} s from now "
            f"(`railweave-switch hold --id {self.id}` on this switch ends that)"
        )

    def report(self, host: SwitchHost) -> dict[str, Any]:
        """Return it as answers tell it."""
        remaining_s = round(max(0.0, self.ends_s - host.now_s()), 1)
        told = {"id": self.id, "peers": self.peers, "message": self.message, "words": self.words(host)}
        return {**told, "remaining_s": remaining_s}


def path(host: SwitchHost, name: str) -> str:
    """Return where a file of ours lies."""
    return f"{host.directory}/{name}"


def read_state(host: SwitchHost) -> State | None:
    """Return the state, None where there never was one; raises DamagedError, VersionError, OSError."""
    where = path(host, "transaction.json")
    try:
        data = host.read_file(where)
    except FileNotFoundError:
        if any(name == "pending.json" or name.endswith(".rollback.json") for name in host.list_directory()):
            raise DamagedError(f"{where} is gone, and transactions were made here") from None
        return None
    state = decoded(State, data, where)
    if state.status not in {*OPEN, *ENDED}:
        raise DamagedError(f"{where} names no status")
    return state


def read_document(host: SwitchHost, name: str = "pending.json") -> RollbackDocument:
    """Return a rollback document; raises DamagedError where it is gone or cannot be read."""
    where = path(host, name)
    try:
        return decoded(RollbackDocument, host.read_file(where), where)
    except FileNotFoundError:
        raise DamagedError(f"{where} is gone") from None
    except VersionError as error:
        raise DamagedError(str(error)) from None


def held(host: SwitchHost) -> Hold | None:
    """Return the hold that is in force; a file that cannot be read holds for nobody, not for its owner either."""
    where = path(host, "hold.json")
    try:
        found = decoded(Hold, host.read_file(where), where)
    except (DamagedError, VersionError, OSError):
        return None
    return None if found.over(host) else found


def write(host: SwitchHost, name: str, value: Any) -> None:
    """Write a file of ours as JSON; a full disk gives up the reserve for it."""
    data = (json.dumps(value, sort_keys=True) + "\n").encode()
    try:
        host.write_file(path(host, name), data)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        remove(host, "reserve")
        host.write_file(path(host, name), data)


def remove(host: SwitchHost, name: str) -> None:
    """Remove a file of ours."""
    host.remove_file(path(host, name))


def prepare_disk(host: SwitchHost) -> None:
    """Make the directory and reserve disk space; raises OSError where there is no room for that."""
    host.make_directory()
    where = path(host, "reserve")
    with contextlib.suppress(FileNotFoundError):
        if len(host.read_file(where)) == RESERVE_BYTES:
            return
    host.write_file(where, b"\1" * RESERVE_BYTES)


def guarded(host: SwitchHost, name: str = "") -> bool:
    """Tell whether the guard of a transaction runs, without a name that of any."""
    try:
        found = json.loads(host.read_file(path(host, "guard.json")).decode())
    except (OSError, ValueError, RecursionError):
        return False
    known = isinstance(found, dict) and (not name or found.get("id") == name)
    return bool(known and isinstance(found.get("process"), dict) and host.alive(found["process"]))


def report(host: SwitchHost) -> dict[str, Any]:
    """Return the status, whatever the state file looks like.

    The hold is read first: once it is gone, what it was for is there to be read.
    """
    hold = held(host)
    state, status, error = None, Stage.NONE, ""
    try:
        state = read_state(host)
        status = state.now(host) if state is not None else status
    except (DamagedError, VersionError, NotADirectoryError) as fault:
        status, error = Stage.DAMAGED, str(fault)
    known = state or State("", "", status)
    waits = known.ends_s is not None and status in (Stage.APPLYING, Stage.ARMED)
    return {
        **{name: getattr(known, name) for name in ("id", "kind", "by", "message", "deadline_at", "reason", "missing")},
        "status": status,
        "remaining_s": round(max(0.0, (known.ends_s or 0.0) - host.now_s()), 1) if waits else None,
        "error": error or known.error,
        "drain": known.drain,
        "unsaved": known.unsaved,
        "last": known.last,
        "generation": known.generation,
        "repair": REPAIRS.get(status, ""),
        "broken": still_broken(host, known),
        "hold": {} if hold is None else hold.report(host),
    }


def still_broken(host: SwitchHost, state: State) -> dict[str, Any]:
    """Return what is to be said of daemons that a change ended and that do not run again, empty where all run.

    Those that ran when the last transaction began count since its end: they may have ended after it was confirmed. A
    reboot stops and starts all of them.
    """
    expected = {*state.broken.get("daemons", ())}
    if state.status in ENDED and state.boot_id == host.boot_id():
        expected.update(state.daemons)
    gone = away(host, expected)
    if not gone:
        return {}
    waited_s = state.broken.get("waited_s", 0.0)
    return describe_away(host, gone, waited_s, state.broken)


def kept_on_disk(host: SwitchHost) -> list[str]:
    """Return the commits whose rollback documents lie there, oldest first: their names sort by time."""
    names = sorted(name for name in host.list_directory() if name.endswith(".rollback.json"))
    return [name[: -len(".rollback.json")] for name in names]


def stand_in(host: SwitchHost, name: str, ends_s: float | None) -> State:
    """Return a state in the place of one that cannot be read: of a transaction that is to be reverted.

    The last confirmed commit that can be read tells the generation.
    """
    kept = kept_on_disk(host)
    generation: Generation = {}
    for commit in kept:
        with contextlib.suppress(DamagedError):
            generation = read_document(host, f"{commit}.rollback.json").generation or generation
    state = State(name, TransactionKind.COMMIT, Stage.REVERTING, boot_id=host.boot_id(), ends_s=ends_s)
    return replace(state, kept=kept, generation=generation)
