"""One command at a time may take capacity of a fabric and target away: here by a lock file, among runners by the store.

The lock file ``FABRIC@TARGET.lock`` lies beside the journals. Its holder has it locked, and writes into it who that is,
for whoever finds it locked; what an earlier holder left in it means nothing.
"""

import fcntl
import getpass
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from nornir_railweave.journals.shared import SUFFIX, JournalHeldError, Lease, SharedJournals, is_held
from nornir_railweave.journals.store import StoreError
from railweave.codec import CodecError, encode, read_text
from railweave.diagnostics import Diagnostic, error
from railweave.errors import RailweaveError, RefusedError

NOTHING_CHANGED = "no device was changed: a rollout without a journal could not be resumed. Make room for it, and retry"
_LOCK_ATTEMPTS = 5
_LOCK_PAUSE_S = 0.05
# Longer than any holder that is written; what is longer is another file.
_HOLDER_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHolder:
    """The content of a lock file: which process holds it, and for what."""

    # The name of the rollout, empty for another command.
    rollout: str
    # The other command, such as ``drain leaf1``. Lock files of earlier revisions do not have it.
    what: str = ""
    pid: int
    by: str


def own_process() -> tuple[int, str]:
    """Return the id of this process, and whose it is: ``USER@HOST``."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = f"uid {os.getuid()}"
    return os.getpid(), f"{user}@{socket.gethostname()}"


def refuse_while_running(folder: Path, fabric: str, target: str) -> None:
    """Raise RefusedError, naming its process, if a rollout of this fabric and target runs on this machine."""
    if folder.is_dir():
        os.close(claim(folder, fabric, target, ""))


@contextmanager
def capacity_held(
    folder: Path, fabric: str, target: str, what: str, shared: SharedJournals | None = None
) -> Iterator[Lease | None]:
    """Hold a fabric and target, as a rollout does, while the command ``what`` takes capacity away.

    Yields the hold in the store, None without a store. Raises RefusedError if another command of this machine, or
    another runner of the store, holds them, and RailweaveError if the hold cannot be written.
    """
    begun = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{begun}-{fabric}-{secrets.token_hex(3)}"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock = claim(folder, fabric, target, "", what)
    try:
        _, user = own_process()
        by = f"{user}, {what}"
        lease = store_lease(shared, fabric, target, folder / f"{name}{SUFFIX}", by, journaled=False)
        try:
            yield lease
        finally:
            if lease is not None:
                with suppress(StoreError):
                    lease.release()
    finally:
        os.close(lock)


def store_lease(
    shared: SharedJournals | None, fabric: str, target: str, path: Path, by: str, *, journaled: bool = True
) -> Lease | None:
    """Hold a fabric and target in the store; return the hold, None without a store.

    ``path`` is the journal that is held, and ``by`` says who holds it. Raises RefusedError if another runner holds
    them, and RailweaveError if the store cannot be written.
    """
    if shared is None:
        return None
    try:
        return shared.claim(shared_place(fabric, target), path, by, journaled=journaled)
    except JournalHeldError as refused:
        raise held_elsewhere(refused, fabric, target) from refused
    except StoreError as refused:
        raise RailweaveError(f"the journal cannot be stored: {refused}; {NOTHING_CHANGED}") from refused


def shared_place(fabric: str, target: str) -> str:
    """Return where the records of a fabric and target lie in a store."""
    return quote(f"{fabric}@{target}", safe="@")


def held_elsewhere(held: JournalHeldError, fabric: str, target: str) -> RefusedError:
    """Return the error that another runner holds a fabric and target."""
    named = f", {held.rollout}: {held.by}" if held.rollout else ""
    message = f"another rollout, or a drain, of {fabric} on {target} is running at another runner{named}"
    return RefusedError([error("RW530", message, fix="wait for it to end, or end it there, and retry")])


def claim(folder: Path, fabric: str, target: str, rollout: str, what: str = "") -> int:
    """Lock a fabric and target; return the open lock file, which holds the lock until it is closed.

    The file says who holds it: the ``rollout``, or the other command ``what``. Raises RefusedError if another process
    has it locked, and RailweaveError if it cannot be written.
    """
    path = folder / f"{fabric}@{target}.lock"
    with writing(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with writing(path):
            locked = lock_file(file, fcntl.LOCK_EX)
            if locked:
                pid, user = own_process()
                os.ftruncate(file, 0)
                os.pwrite(file, encode(LockHolder(rollout=rollout, what=what, pid=pid, by=user)), 0)
        if not locked:
            raise RefusedError([busy(f"{fabric} on {target}", _read_holder(file))])
    except RailweaveError:
        os.close(file)
        raise
    return file


def lock_file(file: int, how: int) -> bool:
    """Lock an open file by the ``flock`` operation ``how``; return whether that succeeded.

    It is tried a few times, because a process that only checks whether the file is locked holds it for an instant.
    """
    for _ in range(_LOCK_ATTEMPTS):
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_S)
        else:
            return True
    return False


def _read_holder(file: int) -> LockHolder | None:
    """Return the holder of an open lock file; None if the holder has locked the file but not written into it yet."""
    try:
        holder: LockHolder = read_text(LockHolder, os.pread(file, _HOLDER_BYTES, 0))
    except CodecError:
        return None
    return holder


def busy(place: str, holder: LockHolder | None = None) -> Diagnostic:
    """Return the error that a rollout, or the command of ``holder``, is running on ``place``: a target or a rollout."""
    rollout = ""
    process = ""
    if holder is not None:
        rollout = holder.rollout
        process = f": process {holder.pid} of {holder.by}"
        if holder.what:
            message = f"`{holder.what}` is running on {place}{process}"
            return error("RW530", message, fix="wait for it to end, and retry")
    named = f", {rollout}" if rollout else ""
    return error(
        "RW530",
        f"another rollout of {place} is running{named}{process}",
        fix=f"wait for it to end, or abort it: `railweave rollout abort {rollout}`".rstrip(),
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise RailweaveError for an OSError of the block, such as that of a full or read-only disk."""
    try:
        yield
    except OSError as problem:
        raise RailweaveError(f"{path} cannot be written: {problem.strerror}; {NOTHING_CHANGED}") from problem


def is_alive(path: Path) -> bool:
    """Tell whether the process that writes this journal is alive, here or at another runner.

    Raises OSError if there is no such file.
    """
    file = os.open(path, os.O_RDONLY)
    try:
        return not lock_file(file, fcntl.LOCK_SH) or is_held(path)
    finally:
        os.close(file)
