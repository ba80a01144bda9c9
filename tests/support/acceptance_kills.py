"""Kill trials of an acceptance: a seed draws what is killed, where and when; the run is resumed and comes to its end.

What a trial asserts: nothing that is done is carried out again, the results are those of a run that nobody disturbs,
nothing of the tests runs on any node or here, nothing is left on the disks of nodes, and every node is back in service.
"""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import yaml
from kill_moments import MARK, Moment, RunWatch, drawn_moment, having

from railweave.acceptance.running.journal import AcceptanceProgress, progress_of

KINDS = ("controller", "sessions", "tool", "supervisor", "node")
"""What is killed: the process of `acceptance run`, its SSH sessions to nodes, the tools of a node, the program that
starts them, or the power of a node."""

_DISK_FOLDER = "var/lib/railweave-acceptance"
_PATIENCE_S = 1200
_RESUMED = 3


class KillBench:
    """A simulated fabric that runs its intent, whose nodes a scheduler drains, and the plan of its acceptance.

    All trials use it one after the other. One run that nobody disturbs says what happens when, and what results.
    """

    def __init__(self, project: Any, plan: Path) -> None:
        self.project = project
        project.command_seconds = _PATIENCE_S
        self.plan = with_a_round_of_each_kind(plan.read_bytes())
        self.nodes = sorted({end["node"] for test in json.loads(self.plan)["tests"] for end in _ends(test)})
        (self.simulator,) = (project.folder / ".railweave" / "sim").iterdir()
        self.disks = {node: self.simulator / "nodes" / node / "disk" / _DISK_FOLDER for node in self.nodes}
        self.drained = project.folder / "drained"
        self.drained.mkdir()
        target = project.folder / "inventory" / "sim.yml"
        document = yaml.safe_load(target.read_text(encoding="utf-8"))
        hooks = {"drain": f"touch {self.drained}/{{name}}", "resume": f"rm -f {self.drained}/{{name}}"}
        target.write_text(yaml.safe_dump({**document, "hosts": {"hooks": hooks}}), encoding="utf-8")
        self.moments: list[Moment] = []
        self.results: frozenset[str] = frozenset()
        self._learn()

    def _learn(self) -> None:
        """Carry the plan out undisturbed, and keep what happened in its order and the names of the results."""
        run = BackgroundRun(self, "undisturbed")
        with run:
            self.project.wait_until(run.looked_and_is_over, _PATIENCE_S, "the undisturbed run ends")
            run.printed()
        if run.process.returncode:
            # The machine was too busy for a test.
            resumed(self.project, run.folder)
        self.moments = list(run.watch.seen)
        self.results = frozenset(results_of(run.folder))

    def of_tests(self) -> list[int]:
        """Return the processes of tests on the nodes of this fabric."""
        # Processes of a node have its disk as their root, which lies in the simulator's folder.
        marked = set(having(MARK.decode(), "environ"))
        return [pid for pid in having(str(self.simulator), "mountinfo") if pid in marked]

    def clean(self) -> None:
        """Remove what a trial that failed has left, so that the next ones say something."""
        for node in self.drained.iterdir():
            node.unlink()
        _kill(self.of_tests())
        for disk in self.disks.values():
            shutil.rmtree(disk, ignore_errors=True)


class BackgroundRun:
    """An `acceptance run` of the bench's plan in a new folder, ended with the block."""

    def __init__(self, bench: KillBench, name: str) -> None:
        self.bench = bench
        self.folder: Path = bench.project.folder / name
        self.folder.mkdir()
        (self.folder / "plan.json").write_bytes(bench.plan)
        # Whatever it starts has this in its environment. The path is short: sockets lie in it.
        self.temporary = Path(tempfile.mkdtemp(prefix="kill-"))
        words = ("acceptance", "run", str(self.folder), "--target", "sim", "--json")
        self.process: subprocess.Popen[str] = bench.project.start(*words, TMPDIR=str(self.temporary))
        simulator = json.loads((bench.simulator / "endpoints.json").read_text(encoding="utf-8"))["pid"]
        places = (self.folder, bench.disks, bench.drained, self.temporary)
        self.watch = RunWatch(*places, controller=self.process.pid, simulator=simulator)

    def __enter__(self) -> None:
        """Leave it running."""

    def __exit__(self, *_: object) -> None:
        """End it, if it has not ended."""
        if self.is_running():
            self.bench.project.kill(self.process)
        shutil.rmtree(self.temporary, ignore_errors=True)

    def is_running(self) -> bool:
        """Tell whether its first process runs."""
        return self.process.poll() is None

    def looked_and_is_over(self) -> bool:
        """Look at it, and tell whether it has ended."""
        self.watch.look()
        return not self.is_running()

    def printed(self) -> str:
        """Wait for its end, and return what it printed."""
        text: str = self.process.communicate(timeout=_PATIENCE_S)[0]
        assert "Traceback" not in text, text
        return text


class KillTrial:
    """One run that is struck once, and resumed until all its tests have run."""

    def __init__(self, bench: KillBench, seed: int) -> None:
        self.bench = bench
        self.random = Random(seed)
        self.seed = seed
        self.kind = KINDS[seed % len(KINDS)]
        self.node = self.random.choice(bench.nodes)
        self.moment = drawn_moment(self.kind, self.node, bench.moments, self.random)

    def run(self) -> str:
        """Carry the trial out, and return what was struck; raises AssertionError."""
        run = BackgroundRun(self.bench, f"acceptance{self.seed}")
        try:
            with run:
                struck = self._strike(run)
                run.printed()
                self._check_resumed(run)
        except AssertionError as fault:
            raise AssertionError(f"{self}: {fault}") from fault
        finally:
            self.bench.clean()
        return struck

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.kind} ({self.node}) at {self.moment}"

    def _strike(self, run: BackgroundRun) -> str:
        """Wait for the moment, kill, and return in words what was killed."""
        if not run.watch.until(self.moment, lambda: not run.is_running(), _PATIENCE_S):
            return f"{self}: it came to its end before"
        victims: list[int] = []
        if self.kind == "controller":
            victims = [run.process.pid]
        elif self.kind == "sessions":
            victims = run.watch.sessions()
        elif self.kind == "tool":
            tools = run.watch.tools()
            victims = self.random.sample(tools, min(2, len(tools)))
        elif self.kind == "supervisor":
            # That which carries out the block, its guard, or both.
            processes = run.watch.supervisor(self.node)
            victims = self.random.sample(processes, self.random.randint(min(1, len(processes)), len(processes)))
        else:
            self.bench.project.run("sim", "fault", self.node, "power-cycle")
            return f"{self}: the node starts again"
        _kill(victims)
        return f"{self}: {len(victims)} killed"

    def _check_resumed(self, run: BackgroundRun) -> None:
        if self.kind == "controller" and self.random.random() < 0.5:
            # Without anybody who asks for it, the nodes come to the end of their block.
            self._until(lambda: not self._supervised(), "blocks end without a controller")
            assert self.bench.of_tests() == [], "tools outlive their supervisor"
        progress = progress_in(run.folder)
        results = results_of(run.folder)
        if self.kind == "node":
            # A node that has started again is there before its links are seen everywhere.
            self.bench.project.run("verify", "--target", "sim", "--wait", "300")
        resumed(self.bench.project, run.folder)
        self._check_done(run.folder, progress, results)
        self._check_left(run)

    def _supervised(self) -> list[str]:
        """Return the nodes whose supervisor has not come to its end."""
        return [node for node, disk in self.bench.disks.items() if (disk / "supervisor.json").exists()]

    def _check_done(self, folder: Path, progress: AcceptanceProgress, results: Mapping[str, str]) -> None:
        """Check that what was done before the run was resumed was not done again, and that nothing is missing."""
        again = progress_in(folder)
        later = results_of(folder)
        repeated = again.repeated.keys() - progress.repeated.keys()
        for name in progress.done - repeated:
            assert again.block_of[name] == progress.block_of[name], f"{name} is done, and ran again"
            own = {test for test in results if test.startswith(f"{name}-")}
            assert own, f"{name} is done without results"
            assert all(later[test] == results[test] for test in own), f"{name} is done, and has other results"
        assert later.keys() == self.bench.results, sorted(later.keys() ^ self.bench.results)

    def _check_left(self, run: BackgroundRun) -> None:
        assert self.bench.of_tests() == [], "tools run"
        left = [node for node, disk in self.bench.disks.items() if disk.exists()]
        assert left == [], f"supervisors or results are left on {left}"
        assert list(self.bench.drained.iterdir()) == [], "nodes stay drained"
        # Sessions are kept for 5 seconds after the last task.
        self._until(lambda: not having(str(run.temporary), "environ"), "nothing of the run is left here")
        verdict = self.bench.project.json("acceptance", "judge", str(run.folder), status=None)
        assert (verdict["verdict"], verdict["findings"]) == ("passed", []), verdict

    def _until(self, condition: Any, what: str) -> None:
        self.bench.project.wait_until(condition, _PATIENCE_S, what)


def with_a_round_of_each_kind(text: bytes) -> bytes:
    """Return a plan with the first of its rounds of each kind: a trial takes little longer than they do."""
    plan = json.loads(text)
    rounds: dict[str, Any] = {}
    for planned in plan["rounds"]:
        rounds.setdefault(planned["kind"], planned)
    plan["rounds"] = list(rounds.values())
    names = {planned["id"] for planned in plan["rounds"]}
    plan["tests"] = [test for test in plan["tests"] if test["round"] in names]
    for link in plan["links"]:
        link["rounds"] = [name for name in link["rounds"] if name in names]
    return json.dumps(plan).encode()


def resumed(project: Any, folder: Path) -> None:
    """Resume a run until all its tests have run; raises AssertionError."""
    for _ in range(_RESUMED):
        words = ("acceptance", "run", str(folder), "--target", "sim", "--resume", "--json")
        done = project.run(*words, status=None)
        assert done.stdout, f"refused: {done.stderr}"
        result = json.loads(done.stdout)
        if not result["not_run"]:
            break
    assert (result["not_run"], result["interrupted"]) == ([], False), f"not run: {result['not_run']}"


def progress_in(folder: Path) -> AcceptanceProgress:
    """Return how far the runs in a folder came, by their journal."""
    journal = folder / "journal.jsonl"
    if not journal.exists():
        return AcceptanceProgress()
    # A kill may have cut the last line short.
    lines = []
    for line in journal.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(line))
    return progress_of(lines)


def results_of(folder: Path) -> dict[str, str]:
    """Return the digests of the results of tests on nodes, by TEST/NODE."""
    digests = {}
    for path in (folder / "results").glob("*/*.meta.json"):
        name = f"{path.parent.name}/{path.name.removesuffix('.meta.json')}"
        digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


def _ends(test: Any) -> list[Any]:
    ends: list[Any] = test.get("group") or [test["from"], test["to"]]
    return ends


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
