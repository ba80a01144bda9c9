"""A simulated switch as the host of ``railweave-switch``: the same program as on a real one, on the switch's own rows,
files and commands. A wait of the program takes no time here; the command that waited answers later by as much.
"""

import contextlib
import fnmatch
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from railweave_switch import main
from railweave_switch.guard import Guard
from railweave_switch.host import (
    LOCK_FILE,
    NOT_FILLED,
    SESSION_LOCK_FILE,
    BusyError,
    CommandError,
    DatabaseError,
    Done,
    Hash,
    Process,
    SwitchHost,
)
from railweave_switch.models_check import newly_rejected, rejected
from railweave_switch.services import SERVICE_OF
from railweave_switch.state import Stage, State, TransactionKind, path
from sonic_sim.databases import CONFIG, NUMBERS, rows_of_database
from sonic_sim.device import Device, Effect
from sonic_sim.faults import FaultKind
from sonic_sim.files import ROOT
from sonic_sim.shell.programs import Call, Wait, find_command
from sonic_sim.spec import SimState
from sonic_sim.traffic import pass_seconds
from sonic_sim.yang.reload_rule import ReloadRule

_numbers = itertools.count(1)


class SimulatedHost(SwitchHost):
    """One process of the program on one switch. ``switch_s`` counts the seconds of the switch that it took."""

    def __init__(self, device: Device, program: str = main.PROGRAM) -> None:
        """Begin a process."""
        self.device = device
        self.switch_s = 0.0
        self._program = program
        self._number = next(_numbers)
        self._slept_s = 0.0

    def now_s(self) -> float:
        """Return the switch's clock; waits of the program count as if they had passed."""
        return self.device.clock.now() + self._slept_s

    def wall_s(self) -> float:
        """Return seconds since 1970."""
        return self.device.clock.now()

    def boot_id(self) -> str:
        """Return the moment of the last boot."""
        return str(self.device.times.booted)

    def sleep(self, seconds: float) -> None:
        """Wait: services that were starting are up afterwards."""
        self._slept_s += seconds
        self.switch_s += seconds
        pass_seconds(self.device, seconds)
        times = self.device.times
        now = self.device.clock.now()
        times.frr_up = min(times.frr_up, now)
        self.device.frr.hasten(self.device.clock.real_s(seconds))

    def read_file(self, path: str) -> bytes:
        """Return a file's content."""
        return self.device.files.read(path)

    def write_file(self, path: str, data: bytes, mode: int | None = None) -> None:
        """Replace a file; without ``mode`` it keeps its own."""
        files = self.device.files
        if mode is None and not files.exists(path):
            # The program keeps secrets of the switch, so its new files are root's alone.
            mode = 0o600
        files.write(path, data, mode=mode, now=self.device.clock.now())

    def remove_file(self, path: str) -> None:
        """Remove a file."""
        with contextlib.suppress(FileNotFoundError):
            self.device.files.remove(path)

    def rename_file(self, old: str, new: str) -> None:
        """Move a file."""
        self.device.files.rename(old, new)

    def list_directory(self) -> Sequence[str]:
        """Return the names in the program's directory."""
        files = self.device.files
        return files.listing(self.directory) if files.is_directory(self.directory) else ()

    def make_directory(self) -> None:
        """Make the program's directory."""
        if not self.device.files.exists(self.directory):
            self.device.files.make_directory(self.directory, mode=0o700)

    def rows(self, database: str, pattern: str = "*") -> dict[str, Hash]:
        """Return rows of a database."""
        number = NUMBERS[database]
        if number != CONFIG:
            rows: dict[str, Hash] = dict(rows_of_database(self.device, number, pattern))
        elif self.device.initialized:
            rows = {key: dict(row) for key, row in self.device.db.rows.items()}
        else:
            raise DatabaseError(NOT_FILLED)
        if pattern == "*":
            return rows
        return {key: row for key, row in rows.items() if fnmatch.fnmatchcase(key, pattern)}

    def write_rows(self, commands: Sequence[Sequence[str]]) -> None:
        """Carry out HSET, HDEL and DEL."""
        for name, key, *arguments in commands:
            if name == "DEL":
                self.device.db.delete(key)
            elif name == "HDEL":
                self.device.db.delete_fields(key, arguments)
            else:
                # Fields and values in turn.
                self.device.db.set_fields(key, dict(zip(arguments[::2], arguments[1::2], strict=True)))
        self.device.react()

    def run(self, words: Sequence[str], timeout_s: float, stdin: str = "") -> Done:
        """Run a command as root, with the faults of the switch, and return what it printed and its exit status.

        A fault that drops the session does not end the program. Raises CommandError if there is no such command, or it
        does not end.
        """
        device = self.device
        line = " ".join(words)
        command = find_command(words[0], device)
        if command is None or command.handler is None:
            raise CommandError(f"{words[0]}: command not found")
        slow = device.faults.strike(FaultKind.SLOW, line)
        if slow is not None:
            self._slept_s += slow.seconds
            # The seconds of the fault are real ones.
            if device.clock.scale:
                self.switch_s += slow.seconds / device.clock.scale
        drop = device.faults.strike(FaultKind.DROP_SESSION, line)
        device.faults.halfway = drop is not None and drop.moment == "during"
        try:
            result = command.handler(Call(device, list(words), stdin, user=ROOT))
        finally:
            device.faults.halfway = False
        for end in result.ends:
            end()
        if drop is not None:
            device.emit(Effect.DROP_SESSIONS)
        if result.seconds is Wait.FOR_EVER:
            raise CommandError(f"{line}: it did not end within {timeout_s:g} s")
        self.switch_s += float(result.seconds)
        device.react()
        return Done(result.exit, result.out, result.err)

    def rejected_by_models(
        self, after: Mapping[str, Any], before: Mapping[str, Any] | None, timeout_s: float
    ) -> list[Sequence[str]] | None:
        """Return the rows that the simulator's models reject, by the check that its own ``config reload`` makes.

        With ``before``, only those that were not rejected there.
        """
        if before is None:
            return [*rejected(after, ReloadRule())]
        return [*newly_rejected(after, before, ReloadRule())]

    def daemons(self) -> frozenset[str]:
        """Return the daemons that run."""
        self.device.restart_swss(self.now_s())
        down = set()
        # Without orchagent the whole container is down: supervisord ends it.
        if self.device.orchagent.crashed:
            down.add("swss")
        if not self.device.frr.running:
            down.add("bgp")
        return frozenset(name for name, service in SERVICE_OF.items() if service not in down)

    @contextlib.contextmanager
    def lock(self, wait_s: float) -> Iterator[None]:
        """Hold the lock of the transactions."""
        holder = self.device.locks.take(LOCK_FILE)
        if holder is None:
            raise BusyError
        try:
            yield
        finally:
            self.device.locks.release(holder)

    def session_holder(self) -> str:
        """Return who holds the lock of a session."""
        if SESSION_LOCK_FILE not in self.device.locks.held:
            return ""
        return self.device.files.read(SESSION_LOCK_FILE).decode().strip() or "another session"

    def me(self) -> Process:
        """Return this process."""
        self.device.processes.add(self._number)
        return {"number": self._number, "boot_id": self.boot_id()}

    def alive(self, process: Process | None) -> bool:
        """Tell whether a process still runs."""
        # Numbers of processes are used again after a boot.
        if process is None or process.get("boot_id") != self.boot_id():
            return False
        return process.get("number") in self.device.processes

    def processes(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return the moments at which these processes started, of those that the simulator has and that run.

        It has orchagent, zebra and bgpd.
        """
        times = self.device.times
        running = {}
        if not self.device.orchagent.crashed:
            running["orchagent"] = f"{times.booted} {self.device.orchagent.ended_at}"
        if self.device.frr_answers():
            running |= dict.fromkeys(("zebra", "bgpd"), str(times.frr_up))
        return {name: start for name, start in running.items() if name in names}

    def end(self, process: Process) -> None:
        """Forget a process: here none is ever stuck."""
        self.device.processes.discard(process["number"])

    def start_guard(self, name: str) -> None:
        """Start the guard; the server lets it look."""
        if self.device.guard is not None:
            self.device.guard.host.end(self.device.guard.host.me())
        self.device.guard = guard = Guard(SimulatedHost(self.device), name)
        guard.announce()
        self.device.emit(Effect.TIMER)

    def work(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do the work at once: nothing can come between."""
        worker = SimulatedHost(self.device)
        try:
            return main.work(worker, request)
        finally:
            self.device.processes.discard(worker._number)
            self.switch_s += worker.switch_s

    def program(self) -> bytes:
        """Return the file under which the program was started."""
        return self.device.files.read(self._program)


def take_over_transactions(device: Device, state: SimState) -> None:
    """Give the program on a switch the key and the running generation of ``state``."""
    host = SimulatedHost(device)
    host.make_directory()
    if state.digest_key:
        host.write_file(path(host, "digest.key"), state.digest_key.encode())
    if state.generation:
        State("", TransactionKind.COMMIT, Stage.CONFIRMED, generation=dict(state.generation)).write(host)


def look(device: Device) -> float | None:
    """Let the guard of a switch look; return the seconds until its next look, None if it has ended or there is none."""
    if device.guard is None:
        return None
    pause_s = device.guard.poll()
    if pause_s is None:
        device.guard.host.end(device.guard.host.me())
        device.guard = None
    return pause_s
