"""Commands that are refused, each with the exact report in the file beside it, and where every code is shown.

A case changes the project of `railweave init --template minimal`: ``files`` are written, ``intent`` is laid over its
intent. ``environ`` sets variables of the environment; no SSH agent runs. ``RAILWEAVE_UPDATE_GOLDEN=1`` writes the
reports anew; review the difference.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from railweave.api.starter import init
from railweave.checks.registry import all_rules
from railweave.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
CASES = sorted((ROOT / "tests/refused/commands").glob("*.yml"))
SHOWN = re.compile(
    r"^(?:(?:error|warning|info)\[([-\w]+)\]: |(?:(?:error|warning|info) )?([A-Z]{1,2}[-0-9][-\w]*) ).*\n  ",
    re.MULTILINE,
)


def overlaid(base: Any, change: Any) -> Any:
    """Return ``base`` with the keys of ``change``."""
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    return base | {key: overlaid(base.get(key), value) for key, value in change.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_command_is_refused_with_the_report_that_the_reference_shows(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = yaml.safe_load(case.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    for variable, value in asked.get("environ", {}).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr("railweave.catalog.load._Used.own", (None, ()))
    init(Path("fabric"), "minimal")
    monkeypatch.chdir("fabric")
    intent = yaml.safe_load(Path("intent/fabric.yml").read_text(encoding="utf-8"))
    if "intent" in asked:
        text = yaml.safe_dump(overlaid(intent, asked["intent"]), sort_keys=False)
        Path("intent/fabric.yml").write_text(text, encoding="utf-8")
    for name, text in asked.get("files", {}).items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    main(asked["command"].split())
    printed = capsys.readouterr()
    report = re.findall(r"^(?:error|warning|info)\[.*\n(?: .*\n)*", printed.out + printed.err, re.MULTILINE)
    assert report, printed
    expected = case.with_suffix(".txt")
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        expected.write_text("\n".join(report), encoding="utf-8")
    assert "\n".join(report) == expected.read_text(encoding="utf-8")


def test_every_code_has_an_example_a_report_or_a_reason_why_not() -> None:
    """What the reference shows: its example, a report of `tests/refused`, or what a page prints."""
    reports = (path.read_text(encoding="utf-8") for path in (ROOT / "tests/refused").rglob("*.txt"))
    pages = (
        block
        for path in (ROOT / "docs").rglob("*.md")
        for block in re.findall(r"```console\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    )
    shown = {"".join(code) for text in (*reports, *pages) for code in SHOWN.findall(text)}
    rules = all_rules().values()
    lacking = [one.code for one in rules if not one.example and not one.no_example and one.code not in shown]
    assert lacking == []
    assert [one.code for one in rules if one.no_example and (one.example or one.code in shown)] == []
