"""A project of its own for every scenario, driven by the commands that users type, on a simulator of its own."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_rig import CommandRig
from rollout_counts import counted, told_rollouts

from sonic_sim import control

FILES = (
    *("acceptance_faults", "acceptance_kills", "acceptance_run", "gitops", "wheels", "documentation", "hosts"),
    *("rehearse", "faults", "resume", "ipv6", "sites", "report"),
)
"""Test files in the order in which they begin: those that wait for minutes, then by their processor time."""

LAST = "yang"
"""The file of hundreds of short tests, which fill up what is left of the time."""

TOGETHER = {
    "acceptance_kills",
    "bill_of_materials",
    "chaos",
    "container",
    "documentation",
    "phases",
    "report",
    "site",
    "waves",
    "wheels",
}
"""Files whose tests share what took long to make: one process runs them."""


def _file(path: str) -> str:
    return Path(path).stem.removeprefix("test_e2e_")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        file = _file(item.path.name)
        return FILES.index(file) if file in FILES else len(FILES) + (file == LAST)

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Give tests out one after the other, the long ones first, so that no worker is left with one at the end."""
    if config.option.dist != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # in the order of FILES, not the file of most tests first

    class InOrder(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return path if _file(path) in TOGETHER else nodeid

    return InOrder(config, log)


class Project(CommandRig):
    """A project on a simulator of its own."""

    in_process = True
    adopted = False
    """Whether its switches run what another project deployed, whose journals are gone (`bring_back`)."""

    def run(self, *words: str, status: int | None = 0, **environ: str) -> "subprocess.CompletedProcess[str]":
        return super().run(*self._consenting(words), status=status, **environ)

    def apart(self, *words: str, status: int | None = 0, **environ: str) -> "subprocess.CompletedProcess[str]":
        return super().apart(*self._consenting(words), status=status, **environ)

    def start(self, *words: str, **environ: str) -> "subprocess.Popen[str]":
        return super().start(*self._consenting(words), **environ)

    def _consenting(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command that takes over from the project that deployed the switches."""
        if not self.adopted or words[0] != "deploy" or "--discard-newer" in words:
            return words
        return (*words, "--discard-newer")

    def up(self) -> None:
        self.run("sim", "up")

    def plan(self, *words: str, status: int | None = 0) -> Any:
        return self.json("plan", "--target", "sim", *words, status=status)

    def deploy(self, *words: str, status: int | None = 0) -> Any:
        return self.json("deploy", "--target", "sim", "--yes", "--provision", *words, status=status)

    def verify(self, status: int | None = 0) -> Any:
        return self.json("verify", "--target", "sim", status=status)

    def running(self, device: str) -> Any:
        """Return the whole running document of a device, as an engineer at its prompt would see it."""
        return json.loads(self.on(device, "show runningconfiguration all"))

    def on(self, device: str, command: str) -> str:
        return self.run("sim", "ssh", device, command).stdout

    def keep(self, folder: Path) -> None:
        """Stop the simulator and put what its switches held into ``folder``."""
        for state in (self.folder / ".railweave" / "sim").iterdir():
            control.down(state, keep_state=True)
        shutil.copytree(self.folder / ".railweave" / "sim", folder)

    def bring_back(self, folder: Path) -> None:
        """Start the simulator as it was when it was kept in ``folder``."""
        shutil.copytree(folder, self.folder / ".railweave" / "sim")
        self.adopted = True
        self.up()

    def edit(self, *replacements: tuple[str, str]) -> None:
        """Change the intent; every text to be replaced must be there."""
        text = self.intent.read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in text, f"{old!r} is not in {self.intent.name}"
            text = text.replace(old, new)
        self.intent.write_text(text, encoding="utf-8")

    def wait_until(self, condition: Callable[[], Any], seconds: float, what: str) -> Any:
        """Poll ``condition`` until it returns something true; fail with ``what`` after ``seconds``."""
        deadline = time.monotonic() + seconds
        while True:
            outcome = condition()
            if outcome:
                return outcome
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            time.sleep(0.1)

    def kill(self, process: "subprocess.Popen[str]") -> None:
        """End a process that this test started, as a lost machine would."""
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)

    def set_rollout(self, **settings: float) -> None:
        """Set the rollout's times in the simulator's inventory."""
        target = self.folder / "inventory" / "sim.yml"
        document = yaml.safe_load(target.read_text(encoding="utf-8"))
        document["rollout"] |= settings
        target.write_text(yaml.safe_dump(document), encoding="utf-8")

    def fabric(self) -> Any:
        out = self.folder / "rendered"
        self.run("render", "--out", str(out))
        return json.loads((out / "fabric.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def deployed_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], Path]:
    """Return a function that deploys an intent on bare switches, and keeps the switches in the folder it returns."""

    def kept(intent: Any) -> Path:
        project = Project(tmp_path_factory.mktemp("kept") / "project", intent)
        project.up()
        try:
            assert project.deploy()["result"] == "done"
            project.keep(project.folder.parent / "sim")
        finally:
            project.run("sim", "down", "--all", status=None)
        return project.folder.parent / "sim"

    return kept


@pytest.fixture(scope="session")
def kept_lab(deployed_once: Callable[[Any], Path]) -> Path:
    """Deploy lab-4.yml once for all tests of a process."""
    return deployed_once("lab-4.yml")


@pytest.fixture
def deployed_lab(new_project: Callable[[str], Project], kept_lab: Path) -> Project:
    """Return a project with lab-4.yml running on switches of its own."""
    project = new_project("lab-4.yml")
    project.bring_back(kept_lab)
    return project


@pytest.fixture
def new_project(tmp_path: Path) -> Iterator[Callable[[str], Project]]:
    made: list[Project] = []

    def make(intent: str) -> Project:
        project = Project(tmp_path / f"project{len(made)}", intent)
        made.append(project)
        return project

    yield make
    for project in made:
        project.run("sim", "down", "--all", status=None)


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Project]]:
    """Return a function that makes a project for all tests of a module."""
    made: list[Project] = []

    def make(intent: str) -> Project:
        project = Project(tmp_path_factory.mktemp("shared") / "project", intent)
        made.append(project)
        return project

    yield make
    for project in made:
        project.run("sim", "down", "--all", status=None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [one for outcome in ("passed", "failed") for one in terminalreporter.stats.get(outcome, ())]
    rollouts = told_rollouts(reports)
    if rollouts:
        terminalreporter.section("rollouts struck by faults")
        for line in counted(rollouts):
            terminalreporter.write_line(line)
