"""What can be seen from outside of an acceptance that runs: its moments, at each of which a trial may strike.

They are read from files of the run, of its hooks and on the disks of simulated nodes, and from the table of processes:
nothing of the run takes part in it, and no moment is a time.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

MARK = b"RAILWEAVE_ACCEPTANCE="
"""What every process of a test on a node has in its environment."""

_LOOK_S = 0.03


class Moment(NamedTuple):
    """Something that happens once in a run: what, and where or how often it had happened before."""

    what: str
    which: str

    def __str__(self) -> str:
        return f"{self.what} {self.which}".rstrip()


class RunWatch:
    """Looks at a run; ``seen`` has the moments that have come, in their order."""

    def __init__(
        self,
        folder: Path,
        disks: Mapping[str, Path],
        drained: Path,
        temporary: Path,
        *,
        controller: int,
        simulator: int,
    ) -> None:
        """``disks`` are the folders of tests on nodes, ``temporary`` is where the controller has its own files."""
        self.folder = folder
        self.disks = disks
        self.drained = drained
        self.controller = controller
        self.simulator = simulator
        self.temporary = temporary
        self.seen: dict[Moment, None] = {}
        self._sessions: set[int] = set()

    def until(self, moment: Moment, is_over: Callable[[], bool], seconds: float) -> bool:
        """Wait for a moment, and tell whether it came before the run was over; raises AssertionError."""
        deadline = time.monotonic() + seconds
        while not self._has_come(moment):
            if is_over():
                return False
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {moment}"
            time.sleep(_LOOK_S)
            self.look(processes=moment.what in ("session", "tools"))
        return True

    def look(self, *, processes: bool = True) -> None:
        """Add what has happened since the last look."""
        for moment in self._in_files():
            self.seen.setdefault(moment)
        if processes:
            self._sessions |= {pid for pid in descendants(self.controller) if _read(pid, "comm").strip() == b"ssh"}
            for moment in _counted("session", len(self._sessions)):
                self.seen.setdefault(moment)
            if self.tools():
                self.seen.setdefault(Moment("tools", self._round()))

    def _has_come(self, moment: Moment) -> bool:
        if moment.what != "tools":
            return moment in self.seen
        # A look may have missed the tools of a round; those of the next do as well.
        return any(seen.what == "tools" and seen.which >= moment.which for seen in self.seen)

    def _in_files(self) -> Iterator[Moment]:
        if (self.folder / "facts").exists():
            yield Moment("settings", "")
        yield from _counted("journal", len(_lines(self.folder / "journal.jsonl")))
        results = self.folder / "results"
        fetched = [name for test in names_in(results) for name in names_in(results / test)]
        yield from _counted("fetched", sum(name.endswith(".meta.json") for name in fetched))
        drained = {path.name for path in self.drained.iterdir()}
        for node in self.disks:
            is_drained = Moment("drained", node)
            if node in drained:
                yield is_drained
            elif is_drained in self.seen:
                yield Moment("resumed", node)
            yield from self._on_disk(node)

    def _on_disk(self, node: str) -> Iterator[Moment]:
        disk = self.disks[node]
        started = Moment("started", node)
        if disk.exists():
            yield Moment("prepared", node)
        elif started in self.seen:
            yield Moment("cleared", node)
        if (disk / "supervisor.json").exists():
            yield started
        elif started in self.seen:
            yield Moment("ended", node)
        blocks = [name for name in names_in(disk) if name.endswith(".jsonl")]
        yield from _counted(f"stored on {node},", sum(len(_lines(disk / name)) for name in blocks))

    def _round(self) -> str:
        """Return the round that is carried out, by the journal."""
        name = ""
        for line in _lines(self.folder / "journal.jsonl"):
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if event["event"] == "before":
                    name = event["round"]
        return name

    # What can be killed

    def tools(self) -> list[int]:
        """Return the processes of tests on the nodes."""
        return [pid for pid in descendants(self.simulator) if MARK in _read(pid, "environ")]

    def supervisor(self, node: str) -> list[int]:
        """Return the processes of a node's supervisor: that which carries out the block, and its guard."""
        try:
            inside = {pid for pid, _ in json.loads((self.disks[node] / "supervisor.json").read_bytes())}
        except (OSError, ValueError):
            return []
        disk = f"/{node}/disk".encode()
        processes = [pid for pid in descendants(self.simulator) if disk in _read(pid, "mountinfo")]
        return [pid for pid in processes if _own_pid(pid) in inside]

    def sessions(self) -> list[int]:
        """Return the SSH clients of the run; those that serve later tasks have left its process tree."""
        return [pid for pid in having(str(self.temporary), "environ") if _read(pid, "comm").strip() == b"ssh"]


def drawn_moment(kind: str, node: str, moments: Iterable[Moment], random: Random) -> Moment:
    """Return the moment at which something is killed: each sort of moments is as likely as the others."""
    by_sort: dict[str, list[Moment]] = {}
    for moment in _moments_of(kind, node, list(moments)):
        by_sort.setdefault(moment.what, []).append(moment)
    sort = random.choice(sorted(by_sort))
    return random.choice(by_sort[sort])


def _moments_of(kind: str, node: str, moments: list[Moment]) -> list[Moment]:
    """Return the moments at which there is something of a kind to kill."""
    if kind == "sessions":
        return [moment for moment in moments if moment.what == "session"]
    if kind == "tool":
        return [moment for moment in moments if moment.what == "tools"]
    if kind == "supervisor":
        return moments[moments.index(Moment("started", node)) : moments.index(Moment("ended", node))]
    return moments


def _counted(what: str, count: int) -> Iterator[Moment]:
    for number in range(1, count + 1):
        yield Moment(what, f"{number}")


def descendants(pid: int) -> list[int]:
    """Return all processes that come from one, by what the kernel has of each of its threads."""
    waiting = [pid]
    pids = []
    while waiting:
        threads = Path(f"/proc/{waiting.pop()}/task")
        for thread in names_in(threads):
            children = [int(child) for child in _text(threads / thread / "children").split()]
            pids += children
            waiting += children
    return pids


def having(text: str, name: str) -> list[int]:
    """Return the processes whose file ``name`` of /proc has a text."""
    wanted = text.encode()
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if wanted in _read(pid, name)]


def _own_pid(pid: int) -> int:
    """Return the number that a process has in its own namespace (proc_pid_status(5)); 0 if it has ended."""
    for line in _read(pid, "status").splitlines():
        if line.startswith(b"NSpid:"):
            return int(line.split()[-1])
    return 0


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder that others change meanwhile; none if it is gone."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
