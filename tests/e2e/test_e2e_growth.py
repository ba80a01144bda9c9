"""Growth where every uplink is in use: refused in one step, carried out in phases, verified after each."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

SUPERPOD = Path(__file__).resolve().parents[2] / "src" / "railweave" / "starter" / "designs" / "superpod.yml"


def superpod(folder: Path) -> str:
    text = SUPERPOD.read_text(encoding="utf-8").replace("count: 64, gpus", "count: 32, gpus")
    assert "count: 32, gpus" in text
    (folder / "intent" / "superpod.yml").write_text(text, encoding="utf-8")
    return "superpod.yml"


def grow(project: Any, *edits: tuple[str, str]) -> int:
    """Change the intent, deploy it phase by phase, and return the number of cables that were moved."""
    (project.folder / "base.yml").write_text(project.intent.read_text(encoding="utf-8"), encoding="utf-8")
    project.edit(*edits)
    project.up()
    refused = project.deploy(status=1)
    assert "RW515" in {diagnostic["code"] for diagnostic in refused["diagnostics"]}
    moved = 0
    while True:
        # New cables whose ports have become free.
        project.up()
        waiting = project.deploy("--from", "base.yml")["waiting"]
        if waiting is None:
            break
        assert waiting["for"] == "cables"
        words = ("--from", "base.yml", "--phase", str(waiting["number"]))
        rewired = project.json("sim", "cable", *words)
        assert rewired["moved"] == len(rewired["cables"]) == len(waiting["cables"])
        moved += rewired["moved"]
        assert project.json("verify", "--target", "sim", *words)["ok"] is True
    assert project.plan()["changes"] == []
    assert project.verify()["ok"] is True
    return moved


def test_a_superpod_grows_from_one_unit_to_two(new_project: Any) -> None:
    project = new_project(superpod)
    project.up()
    assert project.deploy()["result"] == "done"
    assert grow(project, ("count: 32, gpus", "count: 64, gpus")) == 128
