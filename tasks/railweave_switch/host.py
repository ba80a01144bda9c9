"""The interface to the machine: files, clock, databases, commands and processes.

``machine.Machine`` is a switch. The simulator and the tests have hosts of their own, so that one program runs in all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Hash = Mapping[str, str]
"""A row as Redis holds it: lists are fields whose name ends in ``@``, an empty row is the field ``NULL``."""

Process = Mapping[str, Any]
"""The identity of a process for as long as the machine runs."""


DIRECTORY = "/var/lib/railweave"
"""The directory of all our files, the locks too: only root may enter it, and only root can create it."""

LOCK_FILE = f"{DIRECTORY}/lock"
SESSION_LOCK_FILE = f"{DIRECTORY}/session.lock"


class BusyError(Exception):
    """Another transaction holds the lock."""


class CommandError(Exception):
    """A command could not be run or did not end in time; the message says which."""


class ModelsError(Exception):
    """The switch's YANG models cannot be used; the message says why."""


class DatabaseError(Exception):
    """A database does not answer, or is being filled."""


NOT_FILLED = (
    "CONFIG_DB is not filled, CONFIG_DB_INITIALIZED is not set: try again once SONiC has started; where that does not"
    " help, `sudo sonic-db-cli CONFIG_DB SET CONFIG_DB_INITIALIZED 1` and then `sudo config reload -y -f` on the switch"
)
"""Until the key is set, ``sonic-cfggen -d`` and all ``config`` commands, ``config reload`` too, wait forever."""


@dataclass(frozen=True)
class Done:
    """The result of a command: exit status, stdout and stderr."""

    exit_status: int
    out: str
    err: str

    def words(self) -> str:
        """Return the last lines of the output, for a person."""
        printed = self.err.strip() or self.out.strip() or f"exit status {self.exit_status} without a word"
        return " / ".join(line.strip() for line in printed.splitlines()[-4:])


class SwitchHost(Protocol):
    """A machine. Every method may raise OSError."""

    directory: str = DIRECTORY
    sonic_directory: str = "/etc/sonic"

    # Time

    def now_s(self) -> float:
        """Return the seconds since the boot, suspended time included (CLOCK_BOOTTIME); all deadlines use this clock."""

    def wall_s(self) -> float:
        """Return seconds since 1970, which may jump: for display only."""

    def boot_id(self) -> str:
        """Return an id that changes with every boot."""

    def sleep(self, seconds: float) -> None:
        """Wait for a time in seconds."""

    # Files

    def read_file(self, path: str) -> bytes:
        """Return a file's content; raises FileNotFoundError."""

    def end_of_file(self, path: str, most_bytes: int) -> bytes:
        """Return the last bytes of a file; raises OSError."""
        return self.read_file(path)[-most_bytes:]

    def write_file(self, path: str, data: bytes, mode: int | None = None) -> None:
        """Replace a file atomically: readers see the old or the new content, after a power loss too.

        Without ``mode`` an existing file keeps its mode and owner; only the owner of the directory can read a new one.
        """

    def remove_file(self, path: str) -> None:
        """Remove a file; do nothing if it does not exist."""

    def rename_file(self, old: str, new: str) -> None:
        """Move a file atomically; raises FileNotFoundError."""

    def list_directory(self) -> Sequence[str]:
        """Return the names in ``directory``; none if it does not exist."""

    def make_directory(self) -> None:
        """Create ``directory``, accessible to root alone, unless it exists; raises OSError if it is another user's."""

    # SONiC

    def rows(self, database: str, pattern: str = "*") -> dict[str, Hash]:
        """Return the rows of a database whose key matches a Redis pattern; raises DatabaseError."""

    def write_rows(self, commands: Sequence[Sequence[str]]) -> None:
        """Run HSET, HDEL and DEL on CONFIG_DB, without writing a file; raises DatabaseError."""

    def run(self, words: Sequence[str], timeout_s: float, stdin: str = "") -> Done:
        """Run a command of the switch; raises CommandError if it cannot run or does not end in time."""

    def rejected_by_models(
        self, after: Mapping[str, Any], before: Mapping[str, Any] | None, timeout_s: float
    ) -> list[Sequence[str]] | None:
        """Return the rows that the switch's YANG models reject (``models_check``), None on a host without models.

        ``before`` are the running tables if ``after`` is written, None if ``after`` is reloaded. Raises ModelsError if
        the models cannot be used, or do not answer in time.
        """
        return None

    def daemons(self) -> frozenset[str]:
        """Return the names of the switch's processes, those in containers too; none if they are unknown."""
        return frozenset()

    # Processes

    @contextlib.contextmanager
    def lock(self, wait_s: float) -> Iterator[None]:
        """Hold the lock of the transactions; raises BusyError if it is not free within ``wait_s``."""
        yield

    def session_holder(self) -> str:
        """Return the holder of the session lock, empty if it is free."""
        return ""

    def me(self) -> Process:
        """Return this process."""

    def alive(self, process: Process | None) -> bool:
        """Tell whether a process still runs."""

    def processes(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return an identity of the running processes for each of these names; it changes when they restart."""
        return {}

    def end(self, process: Process) -> None:
        """Kill a process and all processes that it started."""

    def start_guard(self, name: str) -> None:
        """Start the guard of a transaction so that it survives the end of the session."""

    def work(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Process a request in a process that survives the session, and return its answer."""

    def program(self) -> bytes:
        """Return the file that this program was started from."""

    def keep_compiled(self, program: bytes) -> None:
        """Store the compiled modules of a program, so that it starts faster; a host need not."""
        return
