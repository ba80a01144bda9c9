"""The files of transactions on the switch: a small state file, and the rollback document of the pending transaction.

transaction.json   the last transaction: author, kind, time and status; replaced atomically, under the lock
pending.json       the rollback document of the pending transaction, written before anything is changed
ID.rollback.json   the rollback document of a confirmed commit
save.json          the next startup configuration, until both startup files are replaced by it
hold.json          the client that is about to drain the switch, with a time limit
digest.key         the key of the digests of running configurations that clients keep
reserve            disk space for the state and the revert if the disk is full
"""

from __future__ import annotations

import contextlib
import errno
import json
from dataclasses import dataclass, field, replace
from typing import Any

from railweave_switch.host import Process, SwitchHost
from railweave_switch.state_forms import VERSION, DamagedError, VersionError, decoded

RESERVE_BYTES = 256 * 1024
KEPT_COMMITS = 11
"""The number of confirmed commits whose rollback documents are kept."""


class TransactionKind:
    """The kind of a transaction."""

    COMMIT = "commit"
    DRAIN = "drain"
    ROLLBACK = "rollback"


class Stage:
    """The status of a transaction."""

    APPLYING = "applying"
    ARMED = "armed"
    CONFIRMED = "confirmed"
    REVERTING = "reverting"
    REVERTED = "reverted"
    FAILED = "failed"
    # Reported only, never written to the state file.
    NONE = "none"
    EXPIRED = "expired"
    DAMAGED = "damaged"


ENDED = frozenset({Stage.CONFIRMED, Stage.REVERTED})
OPEN = frozenset({Stage.APPLYING, Stage.ARMED, Stage.REVERTING, Stage.FAILED})
"""Statuses in which a change may have to be reverted."""

REPAIRS = {
    Stage.EXPIRED: "railweave-switch revert",
    Stage.FAILED: "railweave-switch revert",
    Stage.DAMAGED: "railweave-switch recover",
}
"""The command that repairs a status."""

Step = dict[str, Any]
Generation = dict[str, Any]
Lines = list[tuple[str, ...]]


@dataclass
class State:
    """The last transaction."""

    id: str
    kind: str
    status: str
    # User, and the message of the commit, for other users.
    by: str = ""
    message: str = ""
    # Boot in which it began.
    boot_id: str = ""
    # Seconds since 1970, for display.
    began_at: float = 0.0
    # Deadline in seconds since the boot, None for a change that is confirmed at once.
    ends_s: float | None = None
    # The deadline in seconds since 1970, for display.
    deadline_at: float | None = None
    # Process that carries it out.
    worker: Process | None = None
    # Id of the drain that it supersedes.
    drain: str = ""
    # Whether FRR answered when it began.
    has_frr: bool = True
    # Lines that it added to FRR and removed there, None while unknown.
    frr_added: Lines | None = None
    frr_removed: Lines | None = None
    # Ids of the confirmed commits that can be rolled back, oldest first.
    kept: list[str] = field(default_factory=list)
    # Id of the commit that it rolls back.
    rolls_back: str = ""
    # It has ended, but the startup files do not have its result yet.
    unsaved: bool = False
    # Why it was reverted.
    reason: str = ""
    error: str = ""
    # Rows and lines that a revert could not restore.
    missing: list[str] = field(default_factory=list)
    # Errors of a revert's steps.
    notes: list[str] = field(default_factory=list)
    # The client's description of the running intent, and a number that every confirmed deployment and rollback raises.
    generation: Generation = field(default_factory=dict)
    # Daemons that ran when it began.
    daemons: list[str] = field(default_factory=list)
    # Daemons that stayed away after its revert, or that of an earlier transaction (``services.describe_away``).
    broken: dict[str, Any] = field(default_factory=dict)
    version: int = VERSION

    def write(self, host: SwitchHost, **changes: Any) -> None:
        """Change fields and write the state file."""
        vars(self).update(changes)
        write(host, "transaction.json", vars(self))

    def over(self, host: SwitchHost) -> bool:
        """Tell whether the deadline has passed. After a restart of the switch it always has."""
        return self.boot_id != host.boot_id() or (self.ends_s is not None and host.now_s() >= self.ends_s)

    def now(self, host: SwitchHost) -> str:
        """Return the actual status: ``expired`` or ``failed`` if no process continues the transaction.

        Otherwise it is the status in the file.
        """
        status = self.status
        # A running guard reverts the transaction by itself.
        if status not in (Stage.APPLYING, Stage.ARMED, Stage.REVERTING) or guarded(host, self.id):
            return status
        if status == Stage.ARMED and self.ends_s is not None:
            # Without a guard it can still be confirmed until its deadline.
            if self.over(host):
                return Stage.EXPIRED
            return status
        if host.alive(self.worker):
            return status
        if status == Stage.REVERTING:
            return Stage.FAILED
        return Stage.EXPIRED

    @property
    def number(self) -> int:
        """Return the number of the generation, 0 before the first confirmed deployment."""
        return int(self.generation.get("number") or 0)

    def is_armed(self, host: SwitchHost) -> bool:
        """Tell whether it can be confirmed."""
        return self.now(host) == Stage.ARMED and not self.over(host)

    def come_since(self, named: str) -> str:
        """Return the reason why a client's plan is outdated: in words, the transaction that came after ``named``.

        ``named`` is the last transaction that the client has read, empty if it found none.
        """
        if not self.id:
            return f"the switch knows of no transaction, and this was planned on {named}"
        message = ""
        if self.message:
            message = f" ({self.message})"
        return (
            f"{self.kind} {self.id} by {self.by or 'another session'}{message} came since this was planned, on "
            f"{named or 'a switch without any'}"
        )

    def describe(self, host: SwitchHost) -> str:
        """Return in words the pending transaction."""
        status = self.now(host)
        if status in ENDED or not self.id:
            return "nothing is pending"
        text = f"{self.kind} {self.id} by {self.by or 'another session'} is {status}"
        if status in REPAIRS:
            text += f"; `{REPAIRS[status]}` repairs it"
        return text

    @property
    def last(self) -> str:
        """Return the id of the last confirmed commit.

        Empty if there is none, or if the last transaction is not confirmed; drains do not count.
        """
        if not self.kept or (self.status != Stage.CONFIRMED and self.kind != TransactionKind.DRAIN):
            return ""
        return self.kept[-1]


@dataclass(frozen=True)
class RollbackDocument:
    """A rollback document: the steps back, and the rows and FRR's lines that must be there after them."""

    id: str
    steps: list[Step]
    # Rows to restore, as a part of CONFIG_DB.
    rows: dict[str, Any]
    # Rows after the transaction.
    after: dict[str, Any]
    # SHA-256 of the startup files when the transaction began, by path.
    startup: dict[str, str] = field(default_factory=dict)
    # FRR's text to restore, None if FRR did not answer.
    frr: str | None = None
    # Replaces frr in the rollback of a confirmed commit, since other lines have changed after that.
    frr_lines: Lines | None = None
    # Regular expression of lines that are never compared.
    frr_ignored: str = ""
    # Lines that a confirmed commit added to FRR and removed there.
    frr_added: Lines | None = None
    frr_removed: Lines | None = None
    # The client's own form of the rollback.
    undo: Any = None
    # Id, steps and lines of the superseded drain.
    drain: dict[str, Any] | None = None
    # Id of the superseded drain.
    supersedes: str = ""
    # Deadline of the transaction in seconds since the boot.
    ends_s: float | None = None
    # Generation after the confirmation, empty if the transaction does not change it.
    generation: Generation = field(default_factory=dict)
    # Generation before the transaction, to which a revert goes back.
    earlier: Generation = field(default_factory=dict)
    version: int = VERSION

    def generation_back(self, state: State) -> Generation:
        """Return the generation after a rollback of this confirmed commit: the earlier one, under a new number.

        A commit that did not change the generation leaves that of ``state``, the last transaction.
        """
        if not self.generation:
            return state.generation
        return {**self.earlier, "number": state.number + 1}


@dataclass(frozen=True)
class Hold:
    """The announcement of a client that it is about to drain BGP ``peers``, in force until ``ends_s`` since the boot.

    ``["*"]`` means all peers; an empty list means that another switch of the plane is drained.
    """

    id: str
    peers: list[str]
    by: str
    message: str
    boot_id: str
    ends_s: float
    version: int = VERSION

    def over(self, host: SwitchHost) -> bool:
        """Tell whether its time limit has passed. After a restart of the switch it always has."""
        return self.boot_id != host.boot_id() or host.now_s() >= (self.ends_s or 0.0)

    def words(self, host: SwitchHost) -> str:
        """Return in words who holds the switch, why and for how long."""
        message = ""
        if self.message:
            message = f" ({self.message})"
        seconds = max(0.0, self.ends_s - host.now_s())
        drained = "another switch of its plane"
        if self.peers:
            drained = "it"
        return (
            f"{self.by or 'another session'}{message} is about to drain {drained}, for at most {seconds:.0f} s from "
            f"now (`railweave-switch hold --id {self.id}` on this switch ends that)"
        )

    def report(self, host: SwitchHost) -> dict[str, Any]:
        """Return the form of the hold in answers."""
        remaining_s = round(max(0.0, self.ends_s - host.now_s()), 1)
        return {
            "id": self.id,
            "peers": self.peers,
            "message": self.message,
            "words": self.words(host),
            "remaining_s": remaining_s,
        }


def path(host: SwitchHost, name: str) -> str:
    """Return the path of a file of the state directory."""
    return f"{host.directory}/{name}"


def read_state(host: SwitchHost) -> State | None:
    """Return the state, None before the first transaction; raises DamagedError, VersionError, OSError."""
    file_path = path(host, "transaction.json")
    try:
        data = host.read_file(file_path)
    except FileNotFoundError:
        if any(name == "pending.json" or name.endswith(".rollback.json") for name in host.list_directory()):
            raise DamagedError(f"{file_path} is gone, and transactions were made here") from None
        return None
    state = decoded(State, data, file_path)
    if state.status not in {*OPEN, *ENDED}:
        raise DamagedError(f"{file_path} names no status")
    return state


def read_document(host: SwitchHost, name: str = "pending.json") -> RollbackDocument:
    """Return a rollback document; raises DamagedError if it is missing or cannot be read."""
    file_path = path(host, name)
    try:
        return decoded(RollbackDocument, host.read_file(file_path), file_path)
    except FileNotFoundError:
        raise DamagedError(f"{file_path} is gone") from None
    except VersionError as error:
        raise DamagedError(str(error)) from None


def held(host: SwitchHost) -> Hold | None:
    """Return the hold in force, None without one; a file that cannot be read counts as no hold, also for its owner."""
    file_path = path(host, "hold.json")
    try:
        hold = decoded(Hold, host.read_file(file_path), file_path)
    except (DamagedError, VersionError, OSError):
        return None
    if hold.over(host):
        return None
    return hold


def write(host: SwitchHost, name: str, value: Any) -> None:
    """Write a value as JSON to a file of the state directory; on a full disk the reserve is removed for it."""
    data = (json.dumps(value, sort_keys=True) + "\n").encode()
    try:
        host.write_file(path(host, name), data)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        remove(host, "reserve")
        host.write_file(path(host, name), data)


def remove(host: SwitchHost, name: str) -> None:
    """Remove a file of the state directory."""
    host.remove_file(path(host, name))


def prepare_disk(host: SwitchHost) -> None:
    """Make the directory and reserve disk space; raises OSError if there is not enough."""
    host.make_directory()
    file_path = path(host, "reserve")
    with contextlib.suppress(FileNotFoundError):
        if len(host.read_file(file_path)) == RESERVE_BYTES:
            return
    # Not zeros: file systems may store those without any blocks.
    host.write_file(file_path, b"\1" * RESERVE_BYTES)


def guarded(host: SwitchHost, name: str = "") -> bool:
    """Tell whether the guard of the transaction ``name`` runs; without a name, whether any guard runs."""
    try:
        guard = json.loads(host.read_file(path(host, "guard.json")).decode())
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(guard, dict) or (name and guard.get("id") != name):
        return False
    return isinstance(guard.get("process"), dict) and host.alive(guard["process"])


def kept_on_disk(host: SwitchHost) -> list[str]:
    """Return the ids of the commits with a rollback document on the disk, oldest first: the ids sort by time."""
    names = sorted(name for name in host.list_directory() if name.endswith(".rollback.json"))
    return [name[: -len(".rollback.json")] for name in names]


def stand_in(host: SwitchHost, name: str, ends_s: float | None) -> State:
    """Return a state in place of one that cannot be read: the commit ``name`` is being reverted.

    The generation is that of the last confirmed commit whose rollback document can be read and has one.
    """
    kept = kept_on_disk(host)
    generation: Generation = {}
    for commit in kept:
        with contextlib.suppress(DamagedError):
            generation = read_document(host, f"{commit}.rollback.json").generation or generation
    state = State(name, TransactionKind.COMMIT, Stage.REVERTING, boot_id=host.boot_id(), ends_s=ends_s)
    return replace(state, kept=kept, generation=generation)
