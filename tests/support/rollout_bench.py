"""One small fabric on a watched simulator, and the operator who rolls out changes to it as the commands do."""

import contextlib
import json
import os
import pickle
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from process_trees import go_on
from rollout_shapes import Shape, Wish

from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.resuming import newest_unfinished
from nornir_railweave.rollout.rolling_back import newest_change
from railweave.api.deployment.resumption import resume
from railweave.api.deployment.rollback import rollback
from railweave.api.deployment.rollout import deploy
from railweave.api.design.intent import Designed, load_designed
from railweave.api.project import JOURNALS, Project
from railweave.api.simulator.sim import simulator_spec
from railweave.api.targets.fabric import live_fabric
from railweave.catalog.load import load_catalog
from railweave.errors import RailweaveError, RefusedError
from railweave.plan.consent import DeployOptions
from railweave.plan.model import Plan
from railweave.plan.outcome import DeployResult
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import DeviceConfig
from railweave.templates import find_templates
from sonic_sim import control

TARGET = "sim"
_SIMULATOR = Path(__file__).with_name("watched_simulator.py")
# A trial begins on switches that were put back to what another project deployed.
_YES = DeployOptions(provision=True, single_step=True, discard_newer=True)


@dataclass(frozen=True, slots=True)
class Pace:
    """The ``rollout:`` of the inventory, and how long a lost switch is searched for."""

    rollout: dict[str, Any] = field(default_factory=dict)
    reconnect_s: float = 1.5
    more: dict[str, Any] = field(default_factory=dict)

    def inventory(self) -> str:
        """Return the target's file. Timers of switches are real time even where their clock is fast."""
        times = {"revert_in": 35, "verify_interval": 0.05, "drain_timeout": 1}
        return json.dumps(
            {
                "source": "sim",
                "driver": "sonic",
                "rollout": {**times, "verify_timeout": 1, **self.rollout},
                "options": {"reload_poll": 0.05, "reload_timeout": 8},
                "timeouts": {"connect": 10, "reconnect": self.reconnect_s},
                **self.more,
            }
        )


class WatchedFabric:
    """The process that simulates one fabric; ``ask`` speaks to it past all drivers."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        state_dir.mkdir(parents=True)
        with (state_dir / "simulator.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(_SIMULATOR), str(state_dir)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert control.is_ready(self._process), (state_dir / "simulator.log").read_text()

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        answer = control._must_ask(self.state_dir, {"verb": verb, **arguments})
        assert "error" not in answer, answer
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(300)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(300)


class Operator:
    """Who stands in the project ``folder`` with one intent, and plans, deploys, carries on and rolls back."""

    def __init__(self, folder: Path, shape: Shape, wish: Wish, pace: Pace) -> None:
        self.folder = folder
        self.shape = shape
        self.intent = folder / "intent" / f"{shape.name}.yml"
        self.text = shape.intent(wish)
        self.pace = pace
        with self.at_work():
            self.designed: Designed = load_designed(self.intent)
        self.fabric = self.designed.fabric
        self._configurator = Configurator(self.fabric, find_templates())

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Stand in the project, its intent and inventory as this operator has them."""
        target = self.folder / "inventory" / f"{TARGET}.yml"
        for file, text in ((self.intent, self.text), (target, self.pace.inventory())):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        with contextlib.chdir(self.folder):
            yield

    @property
    def journals(self) -> Path:
        return self.folder / JOURNALS

    def intended(self, name: str) -> DeviceConfig:
        return self._configurator.device(self.fabric.switch_of[name])

    def raise_the_hardware(self) -> None:
        """Rack what the intent names and is not there, and plug its cables."""
        control.up(self.folder / ".railweave" / "sim" / self.shape.name, simulator_spec(self.fabric, load_catalog()))

    def plan(self) -> Plan:
        with self.at_work():
            reached = live_fabric(Project(self.intent), TARGET)
            with reached.progress():
                return reached.plan()

    def deploy(self) -> DeployResult | None:
        with self.at_work():
            return deploy(Project(self.intent), TARGET, _YES)

    def resume(self) -> DeployResult | None:
        with self.at_work():
            return resume(Project(self.intent), TARGET, _YES)

    def roll_back(self) -> DeployResult | None:
        with self.at_work():
            return rollback(Project(self.intent), TARGET, _YES)

    def can_resume(self) -> bool:
        """Tell whether a rollout was left unfinished."""
        return newest_unfinished(self.journals, self.fabric.name, TARGET) is not None

    def can_roll_back(self) -> bool:
        """Tell whether any rollout changed something."""
        return newest_change(self.journals, self.fabric.name, TARGET) is not None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a rollout ended: its result, the refusal, or that its process was killed (``killed_at``: journal line).

    A process that was to be killed and ended before that tells the ``word`` of its result alone.
    """

    result: DeployResult | None = None
    refused: str = ""
    killed_at: int = 0
    word: str = ""


def attempt(work: Callable[[], DeployResult | None]) -> Ended:
    """Return how ``work`` ended in this process."""
    try:
        return Ended(work())
    except RailweaveError as refusal:
        found = refusal.diagnostics if isinstance(refusal, RefusedError) else ()
        return Ended(refused="; ".join(f"{one.code} {one.message}" for one in found) or str(refusal))


def killed(work: Callable[[], DeployResult | None], line: int, *, torn: bool) -> Ended:
    """Return how ``work`` ended in a process of its own that dies by SIGKILL after the journal's line ``line``.

    ``torn``: it dies in the middle of writing that line.
    """
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:  # the process that is lost
        told = {"fault": "it never ended"}
        try:
            os.close(receiver)
            _die_at(line, torn=torn)
            told = {"refused": attempt(work).refused}
        except BaseException as fault:
            told = {"fault": f"{type(fault).__name__}: {fault}"}
        finally:
            os.write(sender, json.dumps(told).encode())
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as answer:
        answered = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Ended(killed_at=line)
    found = json.loads(answered)
    assert "fault" not in found, found
    return Ended(refused=found["refused"])


def frozen(
    work: Callable[[], DeployResult | None],
    fabric: WatchedFabric,
    device: str,
    after: int,
    meanwhile: Callable[[], object],
) -> Ended:
    """Return how ``work`` ended in a process of its own that was stopped at the command ``after`` of a switch.

    It goes on once the timers of all switches have struck and ``meanwhile`` was done.
    """
    receiver, sender = os.pipe()
    told, begin = os.pipe()
    child = os.fork()
    if child == 0:  # the process that is stopped
        ended = Ended(refused="it never ended")
        try:
            os.close(begin)
            os.read(told, 1)
            ended = attempt(work)
        except BaseException as fault:
            ended = Ended(word=f"{type(fault).__name__}: {fault}")
        finally:
            with os.fdopen(sender, "wb") as answer:
                pickle.dump(ended, answer)
            os._exit(0)
    os.close(sender)
    os.close(told)
    fabric.ask("trigger", device=device, after=after, fault={"kind": "freeze", "pid": child})
    os.close(begin)
    with os.fdopen(receiver, "rb") as answer:
        while not select.select([answer], [], [], 0.02)[0]:
            if stopped := fabric.ask("frozen")["pids"]:
                fabric.ask("settle")
                fabric.ask("pass_time")
                meanwhile()
                go_on(stopped)
                break
        result: Ended = pickle.load(answer)
    os.waitpid(child, 0)
    assert not result.word, result
    return result


def _die_at(line: int, *, torn: bool) -> None:
    """Let this process die at a line of its journal."""
    whole, lines = Journal._append, 0

    def append(journal: Journal, data: bytes) -> None:
        nonlocal lines
        lines += 1
        if lines == line and torn:
            os.write(journal._file, data[: len(data) // 2])
        else:
            whole(journal, data)
        if lines == line:
            os.kill(os.getpid(), signal.SIGKILL)

    Journal._append = append  # type: ignore[method-assign, assignment]
