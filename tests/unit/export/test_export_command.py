"""The command: what it prints, and options that do not go together."""

import json
from pathlib import Path

import pytest
from exported import CLUSTER

from railweave.cli.main import main

Capture = pytest.CaptureFixture[str]


def test_without_a_file_the_export_itself_is_printed(capfd: Capture) -> None:
    assert main(["export", "slurm-tree", str(CLUSTER)]) == 0
    printed = capfd.readouterr()
    assert printed.out == (CLUSTER.parent / "slurm-tree.conf").read_text(encoding="utf-8")
    assert printed.err == ""


def test_a_folder_gets_every_format(tmp_path: Path, capfd: Capture) -> None:
    assert main(["export", "all", str(CLUSTER), "--out", str(tmp_path / "out")]) == 0
    assert capfd.readouterr().out.startswith(f"{tmp_path / 'out'}: all of ai1, 14 files, ")
    assert (tmp_path / "out" / "kueue.yaml").stat().st_mode & 0o777 == 0o644


def test_a_check_exits_by_its_findings(tmp_path: Path, capfd: Capture) -> None:
    file = tmp_path / "topology.conf"
    file.write_text((CLUSTER.parent / "slurm-tree.conf").read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["export", "--check", str(file), str(CLUSTER)]) == 0
    assert capfd.readouterr().out == f"✓ {file}: no errors, no warnings\n"
    file.write_text("SwitchName=all Nodes=gpu[1-7],store[1-2]\n", encoding="utf-8")
    assert main(["export", "--check", str(file), "--intent", str(CLUSTER), "--json"]) == 1
    found = json.loads(capfd.readouterr().out)["diagnostics"]
    assert [(one["code"], one["where"]["line"]) for one in found] == [("RW953", 1)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a format: `railweave export FORMAT`; `railweave export --list` lists them"),
        (["all"], "`all` writes several files: name a folder with --out"),
        (["kueue", "--live"], "--live reads switches: name their target with --target"),
        (["--check", "a", "--out", "b"], "--check writes nothing: leave out --out"),
        (["--check", "no-such-file"], "no-such-file cannot be read: No such file or directory"),
    ],
)
def test_options_that_do_not_go_together_are_named(
    words: list[str], said: str, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAILWEAVE_INTENT", str(CLUSTER))
    assert main(["export", *words]) in (1, 64)
    assert said in capfd.readouterr().err
