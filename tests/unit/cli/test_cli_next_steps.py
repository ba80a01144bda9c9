"""The step that a command names next can be copied where the person is."""

from pathlib import Path

import pytest

from railweave.cli.design_commands import init


@pytest.mark.parametrize(
    ("folder", "step"),
    [(".", "make deploy"), ("fabric", "cd fabric && make deploy"), ("my fabric", "cd 'my fabric' && make deploy")],
)
def test_init_names_the_folder_only_where_it_is_another(
    folder: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    init(Path(folder))
    assert capsys.readouterr().out.splitlines()[-1] == f"next: {step}"
