"""The command: what it prints and writes, and what it does with a refused intent."""

import json
from pathlib import Path

import pytest
from reference_intents import ROOT

from railweave.cli.main import main

Capture = pytest.CaptureFixture[str]
INTENT = ROOT / "intent" / "lab-4.yml"


def test_a_folder_gets_every_file(tmp_path: Path, capfd: Capture) -> None:
    assert main(["telemetry", "render", str(INTENT), "--out", str(tmp_path / "out"), "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    written = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    assert {entry["file"] for entry in document["files"]} == written
    text = (tmp_path / "out" / "thresholds.prom").read_text(encoding="utf-8")
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert document["series"]["thresholds"] == len(samples)
    assert (tmp_path / "out" / "thresholds.prom").stat().st_mode & 0o777 == 0o644


def test_a_refused_intent_writes_nothing(tmp_path: Path, capfd: Capture) -> None:
    intent = tmp_path / "wrong.yml"
    text = INTENT.read_text(encoding="utf-8")
    intent.write_text(f"{text}\ntelemetry: {{scrape: 15}}\n", encoding="utf-8")
    assert main(["telemetry", "render", str(intent), "--out", str(tmp_path / "out")]) == 1
    assert "scrape_s" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way_is_named(tmp_path: Path, capfd: Capture) -> None:
    (tmp_path / "out").write_text("", encoding="utf-8")
    assert main(["telemetry", "render", str(INTENT), "--out", str(tmp_path / "out")]) == 1
    assert "is a file: move it away, or write to another folder" in capfd.readouterr().err
