"""What a command prints as the next step is copied to a shell as it stands, in a project of several intents."""

import re
import shlex
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

LEAF = "lab-leaf2"
STEP = re.compile(r"`(railweave [^`]+)`")


@pytest.fixture
def project(deployed_lab: Any) -> Any:
    """The deployed lab, where nothing but what a command prints tells which of the four intents is meant."""
    assert len(list((deployed_lab.folder / "intent").glob("*.yml"))) > 1
    intent = deployed_lab.intent.relative_to(deployed_lab.folder)
    deployed_lab.environ["RAILWEAVE_INTENT"] = ""
    deployed_lab.named = ("--intent", str(intent))
    return deployed_lab


def copied(project: Any, said: str, verb: str) -> Any:
    """Run the printed command of a verb, as it was printed; nobody is at the keyboard to confirm."""
    (command,) = {one for one in STEP.findall(" ".join(said.split())) if one.split()[1] == verb}
    return project.run(*shlex.split(command)[1:], *(() if verb == "plan" else ("--yes",)))


def stopped(project: Any) -> str:
    """Return what a deployment prints that one switch refused."""
    project.intent.write_text(project.intent.read_text() + "bgp: {keepalive: 2, hold: 8}\n", encoding="utf-8")
    project.run("sim", "fault", LEAF, "refuse-commit", "--times", "0", *project.named)
    said: str = project.run("deploy", "--yes", *project.named, status=1).stdout
    project.run("sim", "fault", LEAF, "clear", *project.named)
    return said


def test_a_stopped_rollout_is_planned_and_resumed_by_the_printed_commands(project: Any) -> None:
    said = stopped(project)
    assert LEAF in copied(project, said, "plan").stdout
    assert "already as intended" in copied(project, said, "deploy").stdout
    assert "no changes" in project.run("plan", *project.named).stdout


def test_a_stopped_rollout_is_rolled_back_by_the_printed_command(project: Any) -> None:
    assert "rolled back" in copied(project, stopped(project), "rollback").stdout


def test_a_drain_is_undone_by_the_printed_command(project: Any) -> None:
    said = " ".join(project.run("drain", "lab-spine1", "--yes", *project.named).stdout.split())
    command = said.partition("undo: ")[2]
    assert "lab-spine1: traffic is back" in project.run(*shlex.split(command)[1:]).stdout
