"""Whole changes: a running switch and its intent give these changes, these steps and these steps back.

A case is a folder with ``running.json`` (the document of ``show runningconfiguration all``) and ``wanted.json``. The
expected files are rewritten with RAILWEAVE_UPDATE_GOLDEN=1; review their difference.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from engine_tools import apply_steps, rollback_steps

from railweave.sonic.delta.change import Change
from railweave.sonic.delta.diff import DeviceDiff, diff
from railweave.sonic.delta.merge import merge_document
from railweave.sonic.delta.steps import PatchStep, Step, rollback_document
from railweave.sonic.document import RunningConfig, parse_running
from railweave.sonic.rows import DeviceConfig, Row

CASES = sorted((Path(__file__).parent / "cases").iterdir())


def load(case: Path) -> tuple[RunningConfig, DeviceConfig]:
    wanted = json.loads((case / "wanted.json").read_text())
    rows = tuple(
        Row(table, key, fields, f"the intent wants {table}|{key}")
        for table, table_rows in wanted["config_db"].items()
        for key, fields in table_rows.items()
    )
    return parse_running((case / "running.json").read_text()), DeviceConfig(wanted["device"], rows, wanted["frr"])


def json_step(step: Step) -> dict[str, Any]:
    if isinstance(step, PatchStep):
        return {"kind": "patch", "operations": list(step.operations)}
    return dict(rollback_document([step])["steps"][0])


def readable(step: dict[str, Any]) -> dict[str, Any]:
    """Give FRR text one line a line, so that a golden file can be reviewed."""
    return {name: value.splitlines() if name in ("text", "frr") else value for name, value in step.items()}


def summary(found: DeviceDiff) -> dict[str, Any]:
    return {
        "unprovisioned": found.unprovisioned,
        "conflicts": [str(one) for one in found.conflicts],
        "unmanaged": dict(found.unmanaged),
        "changes": [line(one) for one in found.delta.changes],
    }


def line(change: Change) -> str:
    field = "" if change.field is None else f" {change.field}"
    return f"{change.op} {change.table}|{change.key}{field}: {change.disruption}, {change.method}"


def check(path: Path, value: object) -> None:
    text = json.dumps(value, indent=1) + "\n"
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        path.write_text(text)
    assert json.loads(path.read_text()) == json.loads(text)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_change_has_these_changes_steps_and_steps_back(case: Path) -> None:
    running, wanted = load(case)
    found = diff(wanted.device, running, wanted, remove_conflicting=True)
    merge = merge_document(found.delta)
    check(case / "changes.json", summary(found))
    check(case / "steps.json", [readable(json_step(step)) for step in apply_steps(merge, running)])
    check(case / "rollback.json", [readable(json_step(step)) for step in rollback_steps(merge, running)])
