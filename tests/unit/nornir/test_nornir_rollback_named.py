"""`railweave rollback` without a name says which rollout it means, where that is not the newest one."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nornir_railweave.rollout.rolling_back import newest_change
from railweave.api.deployment import rollback
from railweave.api.operator import Operator
from railweave.api.project import JOURNALS, Project
from railweave.errors import RailweaveError

CHANGED, UNCHANGED = "20261122T101500Z-lab-aaaaaa", "20261122T111500Z-lab-bbbbbb"


class Absent(Operator):
    """Nobody to answer: a rollback ends before it reaches a device."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def tell(self, note: str) -> None:
        self.told.append(note)

    def require_answer(self, command: str, instead: str = "") -> None:
        raise RailweaveError("nobody to ask")


def write(name: str, outcome: str) -> None:
    opening = {"step": "started", "at": "2026-11-22T10:15:00Z", "fabric": "lab", "target": "sim", "by": "ada@host",
               "intent_sha256": "f", "devices": {"leaf1": {"wave": 1}}}  # fmt: skip
    lines = [opening, {"step": "outcome", "device": "leaf1", "outcome": outcome}, {"step": "ended", "result": "done"}]
    JOURNALS.mkdir(parents=True, exist_ok=True)
    (JOURNALS / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize(("named", "told"), [("", 1), (CHANGED, 0)])
def test_the_rollout_before_one_that_changed_nothing_is_named_before_anything_is_done(
    named: str, told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(CHANGED, "new")
    write(UNCHANGED, "not-attempted")
    designed = SimpleNamespace(fabric=SimpleNamespace(name="lab"), intent=SimpleNamespace(sha256="f"))
    fabric = SimpleNamespace(designed=designed, target=SimpleNamespace(name="sim", allowed_signers=None))
    monkeypatch.setattr(rollback, "live_fabric", lambda project, target: cast("Any", fabric))
    monkeypatch.setattr(rollback, "check_journal_version", lambda rollout: ())
    operator = Absent()
    with pytest.raises(RailweaveError, match="nobody to ask"):
        rollback.rollback(Project(Path("x"), operator), "sim", rollout=named)
    said = (
        f"skipped {UNCHANGED} (changed nothing); this rolls back the earlier rollout {CHANGED}, "
        "which ada@host started at"
    )
    assert [note.startswith(said) for note in operator.told] == [True] * told


def test_the_newest_rollout_needs_no_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(CHANGED, "new")
    operator = Absent()
    found = newest_change(JOURNALS, "lab", "sim")
    assert found is not None
    rollback._report_skipped(Project(Path("x"), operator), found)
    assert operator.told == []
