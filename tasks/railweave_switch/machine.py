"""A switch as the program's host: its files and clock, its Redis, its commands, its processes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from railweave_switch import main
from railweave_switch.host import (
    LOCK_FILE,
    NOT_FILLED,
    SESSION_LOCK_FILE,
    BusyError,
    CommandError,
    DatabaseError,
    Done,
    Hash,
    ModelsError,
    Process,
    SwitchHost,
)
from railweave_switch.redis import SOCKETS, RedisConnection

_LOCK_PAUSE_S = 0.2


class Machine(SwitchHost):
    """The machine on which this process runs; ``root`` is a prefix of all our paths, for rehearsals."""

    def __init__(self, root: str = "") -> None:
        self.root = root
        self.directory = f"{root}{SwitchHost.directory}"
        self.sonic_directory = f"{root}{SwitchHost.sonic_directory}"
        self.sockets = [f"{root}{path}" for path in SOCKETS]

    # Time

    def now_s(self) -> float:
        """Return the seconds since the boot, sleep included."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall_s(self) -> float:
        """Return seconds since 1970."""
        return time.time()

    def boot_id(self) -> str:
        """Return the kernel's id of this boot."""
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(max(0.0, seconds))

    # Files

    def read_file(self, path: str) -> bytes:
        """Return a file's content."""
        with open(path, "rb") as file:
            return file.read()

    def end_of_file(self, path: str, most_bytes: int) -> bytes:
        """Return the last bytes of a file, which may be large."""
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
            return file.read(most_bytes)

    def write_file(self, path: str, data: bytes, mode: int | None = None) -> None:
        """Write and sync a temporary file, move it over the old one and sync the directory."""
        directory = os.path.dirname(path)
        # A new file belongs to the owner of its directory, so that FRR in its container can read its own.
        owner = os.stat(path if os.path.exists(path) else directory)
        if mode is None:
            mode = 0o600
            if stat.S_ISREG(owner.st_mode):
                mode = stat.S_IMODE(owner.st_mode)
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".railweave-")
        try:
            _write_and_sync(handle, data)
            os.chmod(temporary, mode)
            os.chown(temporary, owner.st_uid, owner.st_gid)
            os.replace(temporary, path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if not isinstance(error, OSError) or error.errno != errno.EBUSY:
                raise
            # A file that is mounted by itself cannot be replaced.
            _write_and_sync(os.open(path, os.O_WRONLY | os.O_TRUNC), data)
        self._sync(directory)

    def remove_file(self, path: str) -> None:
        """Remove a file."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def rename_file(self, old: str, new: str) -> None:
        """Move a file."""
        os.replace(old, new)
        self._sync(os.path.dirname(new))

    def list_directory(self) -> Sequence[str]:
        """Return the names in our directory."""
        try:
            return os.listdir(self.directory)
        except FileNotFoundError:
            return ()

    def make_directory(self) -> None:
        """Create our directory; raises PermissionError if it is a link or another user's."""
        os.makedirs(os.path.dirname(self.directory), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.directory, 0o700)
        status = os.lstat(self.directory)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "it is not a directory owned by root", self.directory)
        if stat.S_IMODE(status.st_mode) != 0o700:
            os.chmod(self.directory, 0o700)

    @staticmethod
    def _sync(directory: str) -> None:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    # SONiC

    def rows(self, database: str, pattern: str = "*") -> dict[str, Hash]:
        """Return the rows of a database; raises DatabaseError while CONFIG_DB is being filled."""
        with RedisConnection(database, self.sockets) as redis:
            if database == "CONFIG_DB" and redis.call("GET", "CONFIG_DB_INITIALIZED") != "1":
                raise DatabaseError(NOT_FILLED)
            return redis.rows(pattern)

    def write_rows(self, commands: Sequence[Sequence[str]]) -> None:
        """Run commands on CONFIG_DB in one Redis transaction; raises DatabaseError if one of them is refused."""
        with RedisConnection("CONFIG_DB", self.sockets) as redis:
            answers = redis.pipeline([("MULTI",), *commands, ("EXEC",)])
        # The answer to EXEC lists those to the commands.
        for answer in answers[-1] or ():
            if isinstance(answer, DatabaseError):
                raise answer

    def run(self, words: Sequence[str], timeout_s: float, stdin: str = "") -> Done:
        """Run a command in a process group of its own, which is killed after the time limit.

        Raises CommandError if the command cannot be started, or does not end in time.
        """
        command = " ".join(words[:3])
        try:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=os.setpgrp,  # noqa: PLW1509  no threads here; process_group needs Python 3.11
            )
        except OSError as error:
            raise CommandError(f"{command}: {error.strerror or error}") from error
        try:
            out, err = process.communicate(stdin.encode(), timeout=timeout_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise CommandError(f"{command}: it did not end within {timeout_s:g} s") from None
        return Done(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def rejected_by_models(
        self, after: Mapping[str, Any], before: Mapping[str, Any] | None, timeout_s: float
    ) -> list[Sequence[str]] | None:
        """Validate in another process: this one runs with -S, so it cannot import SONiC's libraries."""
        # The check stops by itself after half of the time, so that it can still answer.
        words = [sys.executable, "-I", os.path.abspath(sys.argv[0]), "_check", str(timeout_s / 2)]
        try:
            done = self.run(words, timeout_s, json.dumps({"after": after, "before": before}))
            answer = json.loads(done.out)
        except CommandError as error:
            raise ModelsError(str(error)) from error
        except ValueError as error:
            raise ModelsError(f"the check failed: {done.words()}") from error
        # An object instead of a list of rows says why the models cannot be used.
        if isinstance(answer, dict):
            raise ModelsError(str(answer.get("fault")))
        rejected: list[Sequence[str]] | None = answer
        return rejected

    def daemons(self) -> frozenset[str]:
        """Return the names of all processes; /proc shows those in containers as well."""
        names = set()
        for pid in os.listdir("/proc"):
            if pid.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", "rb") as file:
                    # A process may give itself a name that is not valid UTF-8.
                    names.add(file.read().strip().decode("utf-8", "replace"))
        return frozenset(names)

    # Processes

    @contextlib.contextmanager
    def lock(self, wait_s: float) -> Iterator[None]:
        """Hold the lock; the kernel releases it when the process ends in any way."""
        self.make_directory()
        with open(self.root + LOCK_FILE, "a", encoding="utf-8") as file:
            ends_s = self.now_s() + wait_s
            while not _try_lock(file.fileno()):
                if self.now_s() >= ends_s:
                    raise BusyError
                self.sleep(_LOCK_PAUSE_S)
            yield

    def session_holder(self) -> str:
        """Return the holder of the session lock, by the note in its file; empty if the lock is free."""
        try:
            with open(self.root + SESSION_LOCK_FILE, encoding="utf-8") as file:
                # A lock that can be taken is free; closing the file releases it.
                if _try_lock(file.fileno()):
                    return ""
                return file.read().strip() or "another session"
        except FileNotFoundError:
            return ""

    def me(self) -> Process:
        """Return this process by its id and start time, because the kernel reuses process ids."""
        return {"pid": os.getpid(), "start": _start_time(os.getpid()), "boot_id": self.boot_id()}

    def alive(self, process: Process | None) -> bool:
        """Tell whether a process still runs."""
        if not process or process.get("boot_id") != self.boot_id():
            return False
        pid = process.get("pid")
        if not isinstance(pid, int):
            return False
        start_time = _start_time(pid)
        return start_time != "" and start_time == process.get("start")

    def processes(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return the ids and start times of the processes with these names, those in containers too."""
        processes: dict[str, list[str]] = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                    name = file.read().strip()
                if name in names:
                    processes.setdefault(name, []).append(f"{pid}@{_start_time(int(pid))}")
        return {name: " ".join(sorted(running)) for name, running in processes.items()}

    def end(self, process: Process) -> None:
        """Kill a process and every process of its session."""
        if not self.alive(process):
            return
        session = int(process["pid"])
        for pid in os.listdir("/proc"):
            if pid.isdigit() and _session(int(pid)) == session:
                with contextlib.suppress(OSError):
                    os.kill(int(pid), signal.SIGKILL)

    def start_guard(self, name: str) -> None:
        """Start the guard as a transient systemd unit; without systemd, or if that fails, in a session of its own."""
        words = [*self._start_command(), "_guard", name]
        if _init_name() == "systemd":
            unit_options = [f"--unit=railweave-switch-{name}", "--property=KillMode=process"]
            done = subprocess.run(
                ["systemd-run", "--collect", "--quiet", *unit_options, *words],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            if done.returncode == 0:
                return
        nothing = subprocess.DEVNULL
        subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd="/")

    def work(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Process a request in a process with a session of its own; this process only waits for the answer."""
        read_end, write_end = os.pipe()
        worker = os.fork()
        if worker == 0:
            try:
                _leave_session()
                with open(write_end, "w", encoding="utf-8") as file:
                    json.dump(main.work(self, request), file)
                os._exit(0)
            finally:
                # The client may be gone, but the answer is stored. _exit, because nothing of the parent may run here.
                os._exit(1)
        os.close(write_end)
        with open(read_end, "rb") as file:
            answer_text = file.read()
        _, wait_status = os.waitpid(worker, 0)
        try:
            answer: dict[str, Any] = json.loads(answer_text)
        except ValueError:
            status = os.waitstatus_to_exitcode(wait_status)
            return {"outcome": "failed", "error": f"the worker ended without an answer (exit {status})"}
        return answer

    def program(self) -> bytes:
        """Return the file that this process was started from."""
        return self.read_file(os.path.abspath(sys.argv[0]))

    def keep_compiled(self, program: bytes) -> None:
        """Store the compiled modules. Imported here because only an installation needs it."""
        from railweave_switch import compiled

        compiled.keep(self, program)

    @staticmethod
    def _start_command() -> list[str]:
        """Return the command that starts this program, isolated from the caller's environment and packages."""
        return [sys.executable, "-I", "-S", os.path.abspath(sys.argv[0])]


def _write_and_sync(handle: int, data: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _leave_session() -> None:
    """Leave the session of the client, so that this process survives its end and the loss of its streams."""
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)


def _try_lock(handle: int) -> bool:
    """Take the lock of an open file if it is free; return whether it was taken."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name (proc_pid_stat(5)), none if the process does not exist."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def _start_time(pid: int) -> str:
    """Return when a process started, in clock ticks since the boot; empty if it has ended."""
    fields = _stat_fields(pid)
    # Zombies (Z) and dead processes (X) have ended.
    if len(fields) < 20 or fields[0] in "ZX":
        return ""
    return fields[19]


def _session(pid: int) -> int:
    """Return the id of a process's session, 0 if the process does not exist."""
    fields = _stat_fields(pid)
    if len(fields) < 4:
        return 0
    return int(fields[3])


def _init_name() -> str:
    """Return the name of the machine's first process, empty if it cannot be read."""
    try:
        with open("/proc/1/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
