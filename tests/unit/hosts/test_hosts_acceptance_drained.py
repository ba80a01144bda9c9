"""Nodes of an acceptance are drained by the target's hooks, and given back whatever happens."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nornir_railweave.rollout.node_log import NodeLog
from railweave.api.acceptance_runs import drained
from railweave.api.operator import Operator
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave_hosts.access import HostAccess
from railweave_hosts.hooks import Hooks

pytestmark = pytest.mark.slow
HOOK = "import sys; open(sys.argv[1], 'a').write(f'{sys.argv[2]} {sys.argv[3]}\\n'); sys.exit(sys.argv[4:] == ['busy'])"


class Notes(Operator):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def tell(self, note: str) -> None:
        self.notes.append(note)


class Scheduler:
    """A scheduler whose hooks write down what they are called for."""

    def __init__(self, fabric: Fabric, folder: Path) -> None:
        self.fabric = fabric
        self.calls = folder / "calls"
        self.script = folder / "hook.py"
        self.script.write_text(HOOK)
        self.log = NodeLog(folder, fabric.name, "bench")
        self.operator = Notes()

    def hook(self, verb: str, *words: str) -> str:
        return f"{sys.executable} -IS {self.script} {self.calls} {verb} {{name}} {' '.join(words)}"

    def around(self, work: Callable[[], None], **hooks: str) -> list[str]:
        commands: dict[str, Any] = {"drain": self.hook("drain"), "resume": self.hook("resume"), **hooks}
        access = HostAccess(hooks=Hooks(**commands))
        try:
            with drained(self.operator, self.fabric, access, self.fabric.hosts[:2], self.log):
                work()
        finally:
            lines = sorted(self.calls.read_text().splitlines()) if self.calls.exists() else []
        return lines


@pytest.fixture
def scheduler(pod: Callable[..., Fabric], tmp_path: Path) -> Scheduler:
    return Scheduler(pod(nodes=3), tmp_path)


CALLS = ["drain gpu1", "drain gpu2", "resume gpu1", "resume gpu2"]


def test_nodes_are_given_back_after_the_run(scheduler: Scheduler) -> None:
    assert scheduler.around(lambda: None) == CALLS
    assert scheduler.log.left_drained() == frozenset()


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RefusedError, SystemExit])
def test_nodes_are_given_back_whatever_ends_the_run(scheduler: Scheduler, fault: type[BaseException]) -> None:
    def work() -> None:
        raise fault([])

    with pytest.raises(fault):
        scheduler.around(work)
    assert sorted(scheduler.calls.read_text().splitlines()) == CALLS


def test_a_node_that_stays_in_use_is_refused_and_all_are_given_back(scheduler: Scheduler) -> None:
    def never() -> None:
        raise AssertionError("tests ran on a node in use")

    with pytest.raises(RefusedError) as refused:
        scheduler.around(never, drain=scheduler.hook("drain", "busy"))
    messages = [diagnostic.message for diagnostic in refused.value.diagnostics]
    assert [message.partition(":")[0] for message in messages] == ["gpu1 is not drained", "gpu2 is not drained"]
    assert sorted(scheduler.calls.read_text().splitlines()) == CALLS


def test_nodes_that_a_killed_run_left_drained_are_given_back_too(scheduler: Scheduler) -> None:
    scheduler.log.note("draining", ["gpu3"])
    assert scheduler.around(lambda: None) == [*CALLS, "resume gpu3"]


def test_a_node_that_cannot_be_given_back_is_named(scheduler: Scheduler) -> None:
    scheduler.around(lambda: None, resume=scheduler.hook("resume", "busy"))
    assert [note.partition(": `")[0] for note in scheduler.operator.notes] == [
        "gpu1 stays drained",
        "gpu2 stays drained",
    ]
    assert scheduler.log.left_drained() == {"gpu1", "gpu2"}
