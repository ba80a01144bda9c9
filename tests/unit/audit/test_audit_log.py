"""The audit log: two lines a deployment, appended whole, readable after anything."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from railweave.api.journal.audit import audit, audited
from railweave.diagnostics import error
from railweave.errors import RailweaveError, RefusedError
from railweave.plan.model import DevicePlan, DeviceState, Plan
from railweave.plan.outcome import DeployResult, DeviceOutcome, Outcome, Result
from railweave.report.audit import audit_json, audit_view

PLAN = Plan("pod1", "production", "f" * 64, {"leaf1": DevicePlan(DeviceState.UNCHANGED)}, ())
DONE = DeployResult(
    Result.STOPPED,
    {"leaf1": DeviceOutcome(Outcome.NEW), "leaf2": DeviceOutcome(Outcome.OLD, "a session is down")},
    stopped_by="leaf2: a session is down",
    journal="j.jsonl",
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / ".railweave" / "audit.jsonl"


def entries(log: Path) -> list[dict[str, Any]]:
    return list(audit_json(audit(log))["entries"])


def test_a_deployment_is_recorded_with_who_what_and_each_device(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTOR", "ada")
    with audited("deploy plan.json", PLAN, log) as record:
        record(DONE)
    (entry,) = entries(log)
    assert (entry["user"], entry["command"], entry["target"], entry["intent_sha256"]) == (
        "ada",
        "deploy plan.json",
        "production",
        "f" * 64,
    )
    assert len(entry["plan_digest"]) == 64
    assert entry["result"] == "stopped"
    assert entry["devices"] == {"leaf1": {"outcome": "new"}, "leaf2": {"outcome": "old", "error": "a session is down"}}
    assert entry["began_at"] <= entry["ended_at"]


def test_a_limit_is_on_record(log: Path) -> None:
    with audited("deploy intent/lab.yml", replace(PLAN, limit=("leaf1", "leaf2")), log) as record:
        record(DONE)
    with audited("deploy intent/lab.yml", PLAN, log) as record:
        record(DONE)
    limited, whole = entries(log)
    assert limited["limit"] == ["leaf1", "leaf2"]
    assert "limit" not in whole
    console = Console(width=200)
    with console.capture() as capture:
        console.print(audit_view(audit(log)))
    first, second = capture.get().splitlines()[-2:]
    assert "deploy intent/lab.yml (limit: leaf1, leaf2)" in first
    assert "limit" not in second


def test_the_first_line_stands_before_anything_is_done(log: Path) -> None:
    with audited("deploy", PLAN, log) as record:
        assert [entry["result"] for entry in entries(log)] == ["not ended"]
        record(DONE)
    assert len(log.read_text().splitlines()) == 2


def test_a_line_that_the_disk_takes_in_parts_or_not_at_all(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, room = os.write, [10, 5000]

    def full(handle: int, data: bytes) -> int:
        if not room:
            raise OSError(28, "No space left on device")
        return real(handle, data[: room.pop(0)])

    monkeypatch.setattr("railweave.api.journal.audit.os.write", full)
    with pytest.raises(KeyError), audited("deploy", PLAN, log):
        raise KeyError
    assert [entry["result"] for entry in entries(log)] == ["not ended"], "its end found no room"
    with pytest.raises(RailweaveError, match="No space left on device"), audited("deploy", PLAN, log):
        pytest.fail("a deployment without a record began")


@pytest.mark.parametrize(
    ("fault", "result", "text"),
    [
        (
            RefusedError([error("RW507", "the plan reloads leaf1", fix="--provision")]),
            "refused",
            "the plan reloads leaf1",
        ),
        (RailweaveError("the disk is full"), "failed", "the disk is full"),
        (RuntimeError("a fault"), "failed", "RuntimeError: a fault"),
        (KeyboardInterrupt(), "failed", "KeyboardInterrupt: "),
    ],
)
def test_a_deployment_that_ends_by_an_exception_is_recorded(
    log: Path, fault: BaseException, result: str, text: str
) -> None:
    with pytest.raises(type(fault)), audited("deploy", PLAN, log):
        raise fault
    assert [(entry["result"], entry["error"]) for entry in entries(log)] == [(result, text)]


def test_every_line_is_synchronized_and_nothing_is_overwritten(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("railweave.api.journal.audit.os.fsync", synced.append)
    for _ in range(3):
        with audited("deploy", PLAN, log) as record:
            record(DONE)
    assert len(synced) == len(log.read_text().splitlines()) == 6
    assert len(entries(log)) == 3
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_line_cut_short_swallows_no_other(log: Path) -> None:
    with audited("deploy", PLAN, log) as record:
        record(DONE)
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"at": "2026-01-01T00:0')
    with audited("deploy", PLAN, log) as record:
        record(DONE)
    found = audit(log)
    assert (len(found.entries), found.torn) == (2, 1)


@pytest.mark.parametrize("cut", range(0, 400, 37))
def test_a_log_cut_anywhere_can_be_read(log: Path, cut: int) -> None:
    with audited("deploy", PLAN, log) as record:
        record(DONE)
    log.write_bytes(log.read_bytes()[:-cut] if cut else log.read_bytes())
    found = audit(log)
    json.dumps(audit_json(found))
    audit_view(found)
    assert len(found.entries) <= 1


def test_a_log_that_cannot_be_written_stops_a_deployment_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    begun = False
    with pytest.raises(RailweaveError, match="audit log"), audited("deploy", PLAN, tmp_path / "file" / "audit.jsonl"):
        begun = True
    assert not begun


def test_lines_of_anything_else_are_counted_not_shown(log: Path) -> None:
    log.parent.mkdir()
    log.write_text('[]\n{"id": 3}\nnull\n\n')
    found = audit_json(audit(log))
    head = found["chain"].pop("head")
    assert len(head) == 64
    assert found == {
        "entries": [],
        "torn_lines": 3,
        "chain": {"ok": True, "lines": 3, "unchained": 3, "faults": []},
    }


def test_a_project_without_deployments_has_an_empty_log(log: Path) -> None:
    assert entries(log) == []
