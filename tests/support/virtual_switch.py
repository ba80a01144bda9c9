"""A switch in memory with a clock of its own, under the real program: faults strike at any step of any process.

What waits is a method and its arguments, so that a world can be copied with all that will happen in it.

Processes run one after the other, and beside each other wherever one waits: a command takes time, and what is due by
then runs first. A process that is killed makes no further step; its locks fall, its memory is gone.
"""

import contextlib
import errno
import functools
import heapq
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jsonpatch

from railweave.sonic.frr import parse_frr
from railweave.sonic.frr.document import never_compared
from railweave_switch import frr, main
from railweave_switch.guard import Guard
from railweave_switch.host import BusyError, CommandError, DatabaseError, Done, Hash, Process, SwitchHost
from railweave_switch.rows import decoded, tables_of

STATE = "/var/lib/railweave/transaction.json"
STARTUP_CONFIG_DB, STARTUP_FRR = "/etc/sonic/config_db.json", "/etc/sonic/frr/frr.conf"
COMMAND_S = 0.3
FRR_DAEMONS = ("mgmtd", "zebra", "bgpd", "staticd")
Rows = dict[str, dict[str, str]]


class Killed(BaseException):
    """This process is no more."""


@dataclass
class Proc:
    """A process; ``steps_left`` more steps until it is killed, None for never."""

    pid: int
    kind: str
    boot: int
    alive: bool = True
    steps_left: int | None = None


@dataclass
class World:
    """The switch under the processes."""

    rows: Rows = field(default_factory=dict)
    lines: list[frr.Line] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    now: float = 1000.0
    wall: float = 1.7e9
    boot: int = 1
    processes: list[Proc] = field(default_factory=list)
    holder: Proc | None = None
    events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    number: int = 0
    steps: int = 0
    redis_up_at: float = 0.0
    frr_up_at: float = 0.0
    away: dict[str, float] = field(default_factory=dict)
    late: dict[str, float] = field(default_factory=dict)
    lacks: set[frr.Line] = field(default_factory=set)
    disk_full: bool = False
    spare_bytes: int = 0
    reserve_helps: bool = True
    writes: int = 0
    full_from_write: int | None = None
    refuse: Callable[[Sequence[str]], Done | None] = lambda words: None
    kill_at: dict[str, int] = field(default_factory=dict)
    at_step: dict[int, Callable[[], None]] = field(default_factory=dict)
    on_write: Callable[[str, bytes], None] = lambda path, data: None
    commands: list[str] = field(default_factory=list)
    timed: list[tuple[float, str]] = field(default_factory=list)

    # Time and processes

    def at(self, when: float, what: Callable[[], None]) -> None:
        self.number += 1
        heapq.heappush(self.events, (when, self.number, what))

    def advance(self, seconds: float) -> None:
        until = self.now + seconds
        while self.events and self.events[0][0] <= until:
            when, _, what = heapq.heappop(self.events)
            self.now = max(self.now, when)
            with contextlib.suppress(Killed):
                what()
        self.wall += max(0.0, until - self.now)
        self.now = max(self.now, until)

    def start(self, kind: str) -> "VirtualHost":
        process = Proc(len(self.processes) + 1, kind, self.boot, steps_left=self.kill_at.pop(kind, None))
        self.processes.append(process)
        return VirtualHost(self, process)

    def reboot(self, *, warm: bool = False) -> None:
        """Lose power, or restart warm, which keeps CONFIG_DB."""
        for process in self.processes:
            process.alive = False
        self.boot += 1
        self.holder = None
        rows, self.lines = self.startup()
        self.rows = self.rows if warm else rows
        self.start_late(loads=True)

    def startup(self) -> tuple[Rows, list[frr.Line]]:
        """Return what the switch would boot."""
        tables = json.loads(self.files[STARTUP_CONFIG_DB])
        rows = {f"{table}|{key}": encoded(row) for table, found in tables.items() for key, row in found.items()}
        return rows, list(frr_lines(self.files[STARTUP_FRR].decode()))

    def save(self, config_db: str = STARTUP_CONFIG_DB, frr_file: str = STARTUP_FRR) -> None:
        """Save as SONiC and FRR do, whoever asks for it."""
        self.files[config_db] = json.dumps(tables_of(self.rows)).encode()
        self.files[frr_file] = frr.text_of(self.lines).encode()

    def start_guard(self, name: str) -> None:
        self.at(self.now + 0.05, partial(self.begin_guard, self.start("guard"), name))

    def begin_guard(self, host: "VirtualHost", name: str) -> None:
        with contextlib.suppress(Killed):
            host.step()
            guard = Guard(host, name)
            guard.announce()
            self.stand(guard, host)

    def stand(self, guard: Guard, host: "VirtualHost") -> None:
        """Let a guard look; where it is killed its twin goes on with the same memory."""
        try:
            pause = guard.poll()
        except Killed:
            if host.process.kind == "twin" or host.process.boot != self.boot:
                return
            twin = self.start("twin")
            guard.host = twin
            with contextlib.suppress(OSError, Killed):
                guard.announce()
            self.at(self.now + 0.01, partial(self.stand, guard, twin))
            return
        if pause is not None:
            self.at(self.now + max(pause, 0.01), partial(self.stand, guard, host))
        else:
            host.process.alive = False

    # The client

    def call(self, *words: str, stdin: bytes = b"") -> dict[str, Any]:
        """Make one call, as a client does; ``{}`` where the process was killed before it answered."""
        host = self.start("foreground")
        try:
            _, told = main.run(host, list(words), lambda: stdin)
        except Killed:
            return {}
        finally:
            host.process.alive = False
        found: dict[str, Any] = json.loads(told)
        return found

    def last(self) -> str:
        """Return the last transaction, empty where there is none that can be read."""
        try:
            return str(json.loads(self.files[STATE])["id"])
        except (LookupError, RecursionError, TypeError, ValueError):
            return ""

    def send(self, verb: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Send a transaction; one that names no other was planned on the last."""
        import hashlib

        data = json.dumps({"last": self.last(), **document}).encode()
        return self.call(verb, "--length", str(len(data)), "--sha256", hashlib.sha256(data).hexdigest(), stdin=data)

    # SONiC

    def execute(self, words: Sequence[str], stdin: str) -> Done:
        self.commands.append(" ".join(words))
        self.timed.append((self.now, " ".join(words)))
        refused = self.refuse(words)
        if refused is not None:
            return refused
        if words[0] == "vtysh":
            return self._vtysh(words, stdin)
        if self.now < self.redis_up_at:
            return Done(1, "", "Error: Unable to connect to redis")
        if list(words[:3]) == ["config", "save", "-y"]:
            if self.disk_full:
                return Done(1, "", "OSError: [Errno 28] No space left on device")
            self.files[words[3]] = json.dumps(tables_of(self.rows)).encode()
            return Done(0, "", "")
        data = json.loads(self.files[words[-1]])
        if words[1] == "apply-patch":
            self._replace(jsonpatch.apply_patch(tables_of(self.rows), data))
        elif words[1] == "load":
            self._merge(data)
        else:
            self._replace(data)
            self.lines = self.startup()[1]
            self.start_late()
        return Done(0, "", "")

    def _merge(self, document: Mapping[str, Any]) -> None:
        for table, rows in document.items():
            for key, fields in rows.items():
                if fields is None:
                    self.rows.pop(f"{table}|{key}", None)
                else:
                    row = self.rows.setdefault(f"{table}|{key}", {})
                    row.update(encoded(fields))

    def _replace(self, tables: Mapping[str, Any]) -> None:
        self.rows.clear()
        self._merge(tables)

    def _drop_fields(self, name: str, fields: Sequence[str]) -> None:
        row = self.rows.get(name, {})
        for one in fields:
            row.pop(one, None)
        if not row:
            self.rows.pop(name, None)

    def _vtysh(self, words: Sequence[str], stdin: str) -> Done:
        if self.now < self.frr_up_at:
            return Done(1, "", "Exiting: failed to connect to any daemons.\n")
        if list(words[1:]) == ["-c", "show daemons"]:
            running = (one for one in FRR_DAEMONS if self.now >= self.away.get(one, 0.0))
            return Done(0, f" {' '.join(running)}\n", "")
        if list(words[1:]) == ["-c", "show running-config bgpd"]:
            return Done(0, "frr version 10.3\n" + frr.text_of(one for one in self.lines if one not in self.lacks), "")
        if list(words[1:]) == ["-c", "show running-config"]:
            heading = "Building configuration...\n\nCurrent configuration:\n!\nfrr version 10.3\n"
            return Done(0, heading + frr.text_of(self.lines) + "end\n", "")
        if words[1:2] == ["-f"]:
            stdin = self.files[words[2].replace("/etc/frr", "/etc/sonic/frr")].decode()
        for line in frr_lines(stdin.replace("configure terminal\n", "")):
            self.frr_line(line)
        return Done(0, "", "")

    def stop_daemon(self, name: str, seconds: float, *, loads: bool = True) -> None:
        """Let one of FRR's daemons be away with its lines for so long; ``loads`` what it boots when it is back."""
        self.away[name] = self.now + seconds
        self.lines = [line for line in self.lines if name not in frr.daemons_of([line])]
        if name == "bgpd":
            self.lacks = set(frr.shared_lines(frr.text_of(self.lines)))
        if loads:
            self.at(self.now + seconds, self.load_boot_file)

    def is_loading(self) -> bool:
        """Tell whether a daemon is away that will load what it boots."""
        return any(self.now < until for until in self.away.values())

    def load_boot_file(self) -> None:
        """Load what FRR boots, as ``vtysh -b`` does: the lines of daemons that are away are dropped."""
        for line in self.startup()[1]:
            self.frr_line(line)

    def start_late(self, *, loads: bool = False) -> None:
        """Let the daemons of ``late`` start after the others, when the boot file was loaded already."""
        for name, seconds in self.late.items():
            self.stop_daemon(name, seconds, loads=loads)

    def frr_line(self, line: frr.Line) -> None:
        if any(self.now < self.away.get(name, 0.0) for name in frr.daemons_of([line])):
            return
        if self.now >= self.away.get("bgpd", 0.0):
            self.lacks.discard(line)
        if line[-1].startswith("no "):
            gone = (*line[:-1], line[-1][3:])
            self.lines = [one for one in self.lines if one[: len(gone)] != gone]
        elif line not in self.lines:
            self.lines.append(line)


FRR_IGNORED = never_compared(parse_frr("frr version 10.3"))


@functools.cache
def frr_lines(text: str) -> tuple[frr.Line, ...]:
    return tuple(frr.lines_of(text, FRR_IGNORED))


def encoded(fields: Mapping[str, Any]) -> dict[str, str]:
    row = {
        (f"{name}@" if isinstance(value, list) else name): (",".join(value) if isinstance(value, list) else value)
        for name, value in fields.items()
    }
    return row or {"NULL": "NULL"}


class VirtualHost(SwitchHost):
    """The switch as one process sees it."""

    def __init__(self, world: World, process: Proc) -> None:
        self.world = world
        self.process = process

    def step(self) -> None:
        """One step of this process: here it may be killed, and here other faults strike."""
        if not self.process.alive:
            raise Killed
        self.world.steps += 1
        strike = self.world.at_step.pop(self.world.steps, None)
        if strike is not None:
            strike()
        if self.process.steps_left is not None:
            self.process.steps_left -= 1
            if self.process.steps_left < 0:
                self.process.alive = False
        if not self.process.alive:
            raise Killed

    def now_s(self) -> float:
        self.step()
        return self.world.now

    def wall_s(self) -> float:
        return self.world.wall

    def boot_id(self) -> str:
        self.step()
        return f"boot-{self.world.boot}"

    def sleep(self, seconds: float) -> None:
        self.step()
        self.world.advance(max(0.0, seconds))
        self.step()

    def read_file(self, path: str) -> bytes:
        self.step()
        try:
            return self.world.files[path]
        except KeyError:
            raise FileNotFoundError(path) from None

    def write_file(self, path: str, data: bytes, mode: int | None = None) -> None:
        self.step()
        world = self.world
        world.writes += 1
        if world.full_from_write is not None and world.writes >= world.full_from_write:
            world.disk_full = True
        if world.disk_full and len(data) > world.spare_bytes:
            raise OSError(errno.ENOSPC, "No space left on device")
        world.spare_bytes -= len(data) if world.disk_full else 0
        world.on_write(path, data)
        world.files[path] = data
        self.step()

    def remove_file(self, path: str) -> None:
        self.step()
        gone = self.world.files.pop(path, b"")
        if path.endswith("/reserve") and self.world.reserve_helps:
            self.world.spare_bytes += len(gone)

    def rename_file(self, old: str, new: str) -> None:
        self.step()
        if old not in self.world.files:
            raise FileNotFoundError(old)
        self.world.files[new] = self.world.files.pop(old)

    def list_directory(self) -> Sequence[str]:
        self.step()
        start = f"{self.directory}/"
        return [path[len(start) :] for path in self.world.files if path.startswith(start)]

    def make_directory(self) -> None:
        self.step()

    def rows(self, database: str, pattern: str = "*") -> dict[str, Hash]:
        self.step()
        if self.world.now < self.world.redis_up_at:
            raise DatabaseError("Redis does not answer")
        return {key: dict(row) for key, row in self.world.rows.items() if pattern in ("*", key)}

    def write_rows(self, commands: Sequence[Sequence[str]]) -> None:
        self.step()
        if self.world.now < self.world.redis_up_at:
            raise DatabaseError("Redis does not answer")
        for name, key, *words in commands:
            if name == "DEL":
                self.world.rows.pop(key, None)
            elif name == "HDEL":
                self.world._drop_fields(key, words)
            else:
                row = self.world.rows.setdefault(key, {})
                row.update(dict(zip(words[::2], words[1::2], strict=True)))

    def run(self, words: Sequence[str], timeout_s: float, stdin: str = "") -> Done:
        self.step()
        if self.world.disk_full and words[0] == "hang":
            raise CommandError("it did not end")
        self.world.advance(COMMAND_S / 2)
        self.step()
        done = self.world.execute(words, stdin)
        self.step()
        self.world.advance(COMMAND_S / 2)
        self.step()
        return done

    @contextlib.contextmanager
    def lock(self, wait_s: float) -> Iterator[None]:
        ends = self.world.now + wait_s
        while self.world.holder is not None and self.world.holder.alive:
            if self.world.now >= ends:
                raise BusyError
            self.sleep(0.2)
        self.step()
        self.world.holder = self.process
        try:
            yield
        finally:
            if self.world.holder is self.process:
                self.world.holder = None

    def me(self) -> Process:
        self.step()
        return {"pid": self.process.pid, "boot": self.world.boot}

    def alive(self, process: Process | None) -> bool:
        self.step()
        if not process or process.get("boot") != self.world.boot:
            return False
        return any(one.alive for one in self.world.processes if one.pid == process.get("pid"))

    def end(self, process: Process) -> None:
        self.step()
        self.world.processes[int(process["pid"]) - 1].alive = False

    def start_guard(self, name: str) -> None:
        self.step()
        self.world.start_guard(name)

    def work(self, request: Mapping[str, Any]) -> dict[str, Any]:
        worker = self.world.start("worker")
        try:
            return main.work(worker, request)
        except Killed:
            return {"outcome": "failed", "error": "the worker ended without an answer"}
        finally:
            worker.process.alive = False

    def program(self) -> bytes:
        return b"program"


def holds(world: World, tables: Mapping[str, Any]) -> bool:
    """Tell whether exactly these tables stand in CONFIG_DB."""
    return {name: decoded(row) for name, row in world.rows.items()} == {
        f"{table}|{key}": dict(fields) for table, rows in tables.items() for key, fields in rows.items()
    }
