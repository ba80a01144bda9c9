"""Rollouts as a person and a program are shown them, and the commands that steer one."""

import io
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from planned_devices import planned
from rich.console import Console

from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.control import FileControl, control_file
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.rollouts import read_rollout
from railweave.cli.main import main
from railweave.plan.model import DeviceState, Plan
from railweave.plan.rollout import DeviceRecord, Rollout, RolloutKind, RolloutMetadata
from railweave.report.rollouts import rollout_json, rollout_view, rollouts_json, rollouts_view

PLAN = Plan(
    "pod1",
    "production",
    "f" * 64,
    {name: planned(DeviceState.CHANGED, running_sha256="0" * 64) for name in ("spine1", "leaf1", "leaf2")},
    (("spine1",), ("leaf1", "leaf2")),
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path / ".railweave" / "journal"


def opened(folder: Path) -> Journal:
    journal = Journal(folder, "pod1", "production", RolloutMetadata(intent="intent/pod1.yml"))
    journal(journal.opening(PLAN))
    journal(Event(Step.WAVE, text="wave 1 of 2", details={"wave": 1, "of": 2, "devices": ["spine1"]}))
    journal(Event(Step.APPLIED, "spine1", details={"commit_id": "20261121-101500-3fa2"}))
    journal(Event(Step.OUTCOME, "spine1", details={"outcome": "new"}))
    journal(Event(Step.APPLYING, "leaf1", "3 changes"))
    return journal


def shown(view: Any) -> str:
    stream = io.StringIO()
    Console(file=stream, width=140, highlight=False).print(view)
    return stream.getvalue()


def answer(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_rollout_that_was_cut_off_is_shown_with_what_is_known_and_what_comes_next(project: Path) -> None:
    opened(project).close()
    (path,) = project.glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"step": "teleported"}\ngarbage\n{"at": "20')
    rollout = read_rollout(path)
    text = shown(rollout_view(rollout))
    lines = [line.rstrip() for line in text.splitlines()]
    assert f"rollout  {rollout.name} (deploy)" in lines
    assert "fabric   pod1 → production" in lines
    assert "state    interrupted" in lines
    header = next(line for line in lines if line.startswith("wave "))
    for name, outcome in (("spine1", "committed"), ("leaf1", "in doubt"), ("leaf2", "not started")):
        row = next(line for line in lines if f"   {name} " in line and "2026-" not in line)
        assert row.index(name) == header.index("device")
        assert row.index(outcome) == header.index("outcome")
    assert "the last line is incomplete: the process ended while writing it" in lines
    assert "1 line cannot be read and is left out" in lines
    assert "steps of a newer version, ignored: teleported" in lines
    assert lines[-2:] == [
        f"railweave deploy --resume {rollout.name} --target production",
        f"or railweave rollback {rollout.name} --target production",
    ]


def test_an_empty_journal_says_that_nothing_is_known(project: Path) -> None:
    Journal(project, "pod1", "production").close()
    (path,) = project.glob("*.jsonl")
    assert "the journal is empty: the rollout ended before its first step" in shown(rollout_view(read_rollout(path)))


@pytest.mark.parametrize(
    ("rollout", "last"),
    [
        (Rollout("x", Path(), alive=True), "railweave rollout pause|continue|abort x"),
        (Rollout("x", Path(), finished=True, devices={"a": DeviceRecord(outcome="new")}), "railweave rollback x"),
        (Rollout("x", Path(), finished=True, result="unchanged"), ""),
    ],
)
def test_what_can_be_done_next_stands_at_the_end(rollout: Rollout, last: str) -> None:
    assert shown(rollout_view(rollout)).splitlines()[-1].rstrip() == last


def test_a_list_has_a_line_a_rollout_and_counts_the_older_ones() -> None:
    devices = {"a": DeviceRecord(outcome="new"), "b": DeviceRecord(outcome=""), "c": DeviceRecord()}
    first = Rollout("first", Path("first.jsonl"), fabric="pod1", target="sim", devices=devices)
    metadata = RolloutMetadata(RolloutKind.ROLLBACK, "first")
    second = replace(first, name="second", metadata=metadata, finished=True, result="done", devices={})
    text = shown(rollouts_view([second, first], 3))
    assert "interrupted   1 committed, 1 in doubt, 1 not started" in text
    assert "and 3 older rollouts: `railweave rollout list --all`" in text
    assert "no rollouts yet" in shown(rollouts_view([]))
    told = rollouts_json([second])["rollouts"][0]
    assert (told["kind"], told["of"], told["state"], told["finished"]) == ("rollback", "first", "done", True)
    assert rollout_json(first)["devices"]["b"]["outcome"] is None


def test_the_commands_tell_of_rollouts(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", "list", "--json"]) == 0
    assert answer(capsys) == {"version": 1, "rollouts": []}
    assert main(["rollout", "show"]) == 64
    assert "no rollouts yet" in capsys.readouterr().err
    with closing(opened(project)) as journal:
        assert main(["rollout", "list", "--json"]) == 0
        assert [one["state"] for one in answer(capsys)["rollouts"]] == ["running"]
    assert main(["rollout", "show", journal.name[-6:], "--json"]) == 0
    assert [step["step"] for step in answer(capsys)["steps"]][:2] == ["started", "wave"]
    assert main(["rollout", "show", "nothing"]) == 64


def test_a_running_rollout_receives_requests(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(opened(project)) as journal:
        control = FileControl(control_file(journal.path))
        for word, asked in (("pause", "pause"), ("abort", "abort"), ("continue", "")):
            assert main(["rollout", word, "--json"]) == 0
            assert answer(capsys) == {"version": 1, "rollout": journal.name, "asked": asked or "continue"}
            assert control.asked() == asked


@pytest.mark.parametrize("word", ["pause", "continue", "abort"])
def test_a_rollout_that_is_not_running_is_refused_a_request(
    project: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    with closing(opened(project)) as journal:
        pass
    assert main(["rollout", word, "--json"]) == 1
    (found,) = answer(capsys)["diagnostics"]
    assert (found["code"], found["message"]) == (
        "RW538",
        f"rollout {journal.name} is not running: it is interrupted",
    )
    assert found["fix"] == (
        f"resume it with `railweave deploy --resume {journal.name} --target production`, "
        f"or roll it back with `railweave rollback {journal.name} --target production`"
    )
    assert list(project.glob("*.control")) == []


def test_a_plan_file_is_no_rollout_to_resume(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "--resume", "plan.json"]) == 64
    assert main(["rollback", "x", "--last"]) == 64
    assert "--last selects the rollout: omit its name" in capsys.readouterr().err
