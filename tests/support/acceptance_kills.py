"""Kill trials of an acceptance: a seed draws what is killed, where and when; the run is resumed and comes to its end.

What a trial asserts: no round whose results were stored is carried out again, nothing of the tests runs on any node,
nothing is left on their disks, and every node is back in service.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import yaml

from railweave.acceptance.running.journal import AcceptanceProgress, progress_of

KINDS = ("controller", "sessions", "tool", "supervisor", "node")
"""What is killed: the process of `acceptance run`, its SSH sessions to nodes, the tools of a node, the program that
starts them, or the power of a node."""

_MARK = b"RAILWEAVE_ACCEPTANCE="
_SUPERVISOR = "/var/lib/railweave-acceptance/supervisor.json"
_END_SUPERVISOR = f"import json, os; [os.kill(pid, 9) for pid, _ in json.load(open('{_SUPERVISOR}'))]"
# A trial takes a twentieth of this on an idle machine.
_PATIENCE_S = 1800
_RESUMED = 3


class KillBench:
    """A simulated fabric that runs its intent, whose nodes a scheduler drains, and the plan of its acceptance."""

    def __init__(self, project: Any, plan: Path) -> None:
        self.project = project
        self.plan = plan.read_bytes()
        self.nodes = sorted({end["node"] for test in json.loads(self.plan)["tests"] for end in _ends(test)})
        self.rounds = len(json.loads(self.plan)["rounds"])
        self.drained = project.folder / "drained"
        self.drained.mkdir()
        target = project.folder / "inventory" / "sim.yml"
        document = yaml.safe_load(target.read_text(encoding="utf-8"))
        hooks = {"drain": f"touch {self.drained}/{{name}}", "resume": f"rm -f {self.drained}/{{name}}"}
        target.write_text(yaml.safe_dump({**document, "hosts": {"hooks": hooks}}), encoding="utf-8")

    def of_tests(self) -> list[int]:
        """Return the processes of tests on the nodes of this fabric."""
        return [pid for pid in self._on_nodes() if _MARK in _read(pid, "environ")]

    def supervisors(self) -> list[str]:
        """Return the nodes that have a supervisor, or results that nobody has fetched."""
        return [node for node in self.nodes if self.on_node(node, f"ls -d {Path(_SUPERVISOR).parent}")]

    def on_node(self, node: str, command: str) -> str:
        """Return what a command prints on a node."""
        done: str = self.project.run("sim", "ssh", node, command, status=None).stdout
        return done

    def _on_nodes(self) -> Iterator[int]:
        # Processes of a node have its disk as their root, which lies in the simulator's folder.
        folder = str(self.project.folder / ".railweave" / "sim").encode()
        for path in Path("/proc").glob("[0-9]*"):
            pid = int(path.name)
            if folder in _read(pid, "mountinfo"):
                yield pid


class KillTrial:
    """One run that is struck once, and resumed until all its tests have run."""

    def __init__(self, bench: KillBench, seed: int) -> None:
        self.bench = bench
        self.random = Random(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.folder = bench.project.folder / f"acceptance{seed}"
        self.folder.mkdir()
        (self.folder / "plan.json").write_bytes(bench.plan)

    def run(self) -> None:
        """Carry the trial out; raises AssertionError."""
        words = ("acceptance", "run", str(self.folder), "--target", "sim", "--json")
        running = self.bench.project.start(*words)
        try:
            self._wait_for_moment(running)
            self._strike(running)
            printed = running.communicate(timeout=_PATIENCE_S)[0]
        finally:
            if running.poll() is None:
                self.bench.project.kill(running)
        assert "Traceback" not in printed, printed
        if self.kind == "controller" and self.random.random() < 0.5:
            # Without anybody who asks for it, the nodes come to the end of their block.
            self._until(lambda: not self.bench.of_tests(), "tests end without a controller")
        progress = self._progress()
        self._resume()
        again = self._progress()
        for name in progress.done - again.repeated.keys():
            assert again.block_of[name] == progress.block_of[name], f"{name} is done, and ran again"
        self._check_left()

    def _wait_for_moment(self, running: "subprocess.Popen[str]") -> None:
        lines = self.random.randrange(2 * self.bench.rounds + 3)
        journal = self.folder / "journal.jsonl"

        def has_lines() -> bool:
            return running.poll() is not None or (journal.exists() and journal.read_bytes().count(b"\n") >= lines)

        if lines:
            self._until(has_lines, f"{lines} lines are in the journal")
        time.sleep(self.random.uniform(0.0, 3.0))

    def _strike(self, running: "subprocess.Popen[str]") -> None:
        node = self.random.choice(self.bench.nodes)
        if self.kind == "controller":
            running.kill()
        elif self.kind == "sessions":
            # There are none while rounds run.
            self._until(lambda: running.poll() is not None or self._end_sessions(running.pid), "a session opens")
        elif self.kind == "tool":
            victims = self.bench.of_tests()
            for pid in self.random.sample(victims, min(2, len(victims))):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        elif self.kind == "supervisor":
            self.bench.on_node(node, f'python3 -c "{_END_SUPERVISOR}"')
        else:
            self.bench.project.run("sim", "fault", node, "power-cycle")

    @staticmethod
    def _end_sessions(controller: int) -> bool:
        """End the SSH clients that descend from a process, and tell whether there were any."""
        children: dict[int, list[int]] = {}
        for path in Path("/proc").glob("[0-9]*"):
            parent = _read(int(path.name), "stat").rpartition(b")")[2].split()
            if parent:
                children.setdefault(int(parent[1]), []).append(int(path.name))
        waiting = [controller]
        ended = False
        while waiting:
            pid = waiting.pop()
            waiting += children.get(pid, [])
            if _read(pid, "comm").strip() == b"ssh":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                ended = True
        return ended

    def _resume(self) -> None:
        words = ("acceptance", "run", str(self.folder), "--target", "sim", "--resume")
        # A node that has started again is there before its links are seen everywhere.
        self.bench.project.run("verify", "--target", "sim", "--wait", "60")
        for _ in range(_RESUMED):
            result = self.bench.project.json(*words, status=None)
            if not result["not_run"]:
                break
        assert (result["not_run"], result["interrupted"]) == ([], False), f"not run: {result['not_run']}"

    def _check_left(self) -> None:
        assert self.bench.of_tests() == [], "tools run"
        supervisors = self.bench.supervisors()
        assert supervisors == [], f"supervisors are left on {supervisors}"
        assert list(self.bench.drained.iterdir()) == [], "nodes stay drained"
        verdict = self.bench.project.json("acceptance", "judge", str(self.folder), status=None)
        assert (verdict["verdict"], verdict["findings"]) == ("passed", []), verdict

    def _progress(self) -> AcceptanceProgress:
        journal = self.folder / "journal.jsonl"
        if not journal.exists():
            return AcceptanceProgress()
        # A kill may have cut the last line short.
        lines = []
        for line in journal.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                lines.append(json.loads(line))
        return progress_of(lines)

    def _until(self, condition: Any, what: str) -> None:
        self.bench.project.wait_until(condition, _PATIENCE_S, f"{self.kind} in {self.folder.name}: {what}")


def _ends(test: Any) -> list[Any]:
    ends: list[Any] = test.get("group") or [test["from"], test["to"]]
    return ends


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
