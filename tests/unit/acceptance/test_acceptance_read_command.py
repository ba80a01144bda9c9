"""`railweave acceptance read`: the values of outputs, and the exit status."""

import json
from pathlib import Path

import pytest
import tool_outputs as tools

from railweave.cli.main import main
from railweave.report.documents import schema


def test_values_and_remarks_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gpu1.txt"
    path.write_text(tools.perftest(tools.bandwidth_row(65536, 360.12), mtu=1024))
    assert main(["acceptance", "read", str(path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "gpu1.txt: ok (perftest-text)" in shown
    assert "! the path MTU is 1024" in shown


def test_json_follows_its_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    monkeypatch.chdir(tmp_path)
    for name, text in tools.ALL.items():
        Path(name).write_text(text)
    assert main(["acceptance", "read", "--json", *tools.ALL]) == 0
    shown = capsys.readouterr().out
    document = json.loads(shown)
    jsonschema.validate(document, schema("acceptance-read"))
    assert {file["file"]: file["format"] for file in document["files"]} == {name: name for name in tools.ALL}
    assert "secret-of-env" not in shown


def test_a_file_of_no_known_format_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    assert main(["acceptance", "read", str(path)]) == 1
    assert "no known format in notes.txt" in capsys.readouterr().out
    assert main(["acceptance", "read", str(tmp_path / "missing")]) == 64
