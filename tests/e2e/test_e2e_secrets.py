"""Secrets of the intent and of switches appear on the switches and in the files rendered for them, and nowhere else."""

import io
import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest
from marked_secrets import MARK, files_with_the_mark, is_private, loadable_overrides, overrides, write_intent

pytestmark = pytest.mark.e2e

TARGET = ("--target", "sim")
OF_THE_OPERATOR = {"intent", "templates"}
OF_SWITCHES = {"rendered", ".railweave"}


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Return what all loggers of this process say at their most talkative."""
    text = io.StringIO()
    handler, root = logging.StreamHandler(text), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.setLevel(level)
    root.removeHandler(handler)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the commands that are run on switches, as their process lists show them."""
    sent: list[str] = []
    execute = paramiko.Channel.exec_command

    def recorded(channel: paramiko.Channel, command: Any) -> None:
        sent.append(str(command))
        execute(channel, command)

    monkeypatch.setattr(paramiko.Channel, "exec_command", recorded)
    return sent


@pytest.fixture
def project(new_project: Callable[[str], Any]) -> Iterator[Any]:
    before = os.umask(0)
    yield new_project("lab-4.yml")
    os.umask(before)


def run(project: Any, *words: str, status: int | None = 0) -> str:
    """Run a command that shows no secret, and return what it said."""
    done = project.run(*words, status=status)
    said = str(done.stdout + done.stderr)
    assert MARK not in said, words
    return said


def assert_nothing_is_kept(folder: Path) -> None:
    for path in files_with_the_mark(folder):
        assert path.parts[0] in OF_THE_OPERATOR | OF_SWITCHES, path
        assert path.parts[0] != ".railweave" or path.parts[1] == "sim", path
        assert path.parts[0] in OF_THE_OPERATOR or is_private(folder / path), path


def test_secrets_stay_on_the_switches_through_a_whole_life(
    project: Any, logged: io.StringIO, commands: list[str]
) -> None:
    tables = loadable_overrides("one")
    write_intent(project.intent, tables)
    run(project, "render", "--out", "rendered")
    run(project, "sim", "up")
    run(project, "plan", *TARGET, "-o", "plan.json")
    assert is_private(project.folder / "plan.json")
    run(project, "deploy", *TARGET, "--yes", "--provision", "--json")
    assert f"{MARK}-one-radius" in project.on("lab-leaf1", "show runningconfiguration all")
    assert f"{MARK}-one-session" in project.on("lab-spine1", "sudo vtysh -c 'show running-config'")
    run(project, "verify", *TARGET)
    first = run(project, "rollout", "list")
    assert "lab" in first

    # Changed ones: by patch and by writing, refused once, carried out, taken back.
    (community,) = tables["SNMP_COMMUNITY"]
    changed = {
        name: rows for name, rows in overrides("two").items() if name in {"TACPLUS", "TACPLUS_SERVER", "SNMP_USER"}
    }
    new_communities = {community: {"TYPE": "RW"}, **overrides("two")["SNMP_COMMUNITY"]}
    write_intent(project.intent, {**tables, **changed, "SNMP_COMMUNITY": new_communities})
    for words in (
        ("plan",),
        ("plan", "--json"),
        ("plan", "--markdown"),
        ("drift",),
        ("drift", "--json"),
        ("drift", "--markdown"),
    ):
        run(project, *words, *TARGET)
    run(project, "plan", *TARGET, "-o", "plan.json")
    run(project, "sim", "fault", "lab-leaf1", "refuse-commit", "--command", "apply-patch")
    assert "apply-patch" in run(project, "deploy", "plan.json", *TARGET, "--yes", status=1)
    run(project, "deploy", *TARGET, "--yes")
    assert f"{MARK}-two-tacplus" in project.on("lab-leaf1", "show runningconfiguration all")
    run(project, "rollback", *TARGET, "--yes", status=None)
    run(project, "rollback", "--last", *TARGET, "--yes", status=None)
    assert f"{MARK}-one-tacplus" in project.on("lab-leaf1", "show runningconfiguration all")

    # One that somebody set by hand on a session.
    mine = "neighbor SPINES password"
    by_hand = f"sudo vtysh -c 'configure terminal' -c 'router bgp 4210000000' -c '{mine} {MARK}-by-hand'"
    commands_of_ours = len(commands)
    project.on("lab-leaf1", by_hand)
    del commands[commands_of_ours:]
    assert re.search(rf"{mine} +\(hidden\) → \(hidden\)", run(project, "drift", *TARGET))
    assert f"{mine} (hidden)" in run(project, "plan", *TARGET, "--json")
    run(project, "facts", "collect", *TARGET, "--out", "facts")
    assert is_private(project.folder / "facts" / "lab-leaf1.json")
    for told in ("audit", "audit --json", "rollout list --json", "rollout show"):
        run(project, *told.split(), status=None)

    assert commands
    assert [one for one in commands if MARK in one] == []
    assert "Running task" in logged.getvalue()
    assert [line for line in logged.getvalue().splitlines() if MARK in line] == []
    assert_nothing_is_kept(project.folder)
