"""What commands show on a terminal of 80 and of 200 columns, whole; ``RAILWEAVE_UPDATE_GOLDEN=1`` writes it anew."""

import os
import re
from pathlib import Path

import pytest

from railweave.cli.main import main

HERE = Path(__file__).parent
ROOT = Path(__file__).resolve().parents[3]
COMMANDS = {
    "help": "--help",
    "size": "size intent/pod-32.yml",
    "check": "check intent/mixed-nodes.yml",
    "draw": "draw intent/pods-512.yml",
    "failures": "failures intent/pod-32.yml",
    "compare": "compare intent/pod-32.yml intent/pod-32-wide.yml",
    "suggest": "compare intent/pod-32.yml --suggest --prices tests/golden/screens/prices.yml",
    "bom": "bom intent/pod-32.yml",
}


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_screen_is_as_before(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", str(columns))
    main(COMMANDS[name].split())
    # click takes the name of the program from the test run's own command line.
    shown = re.sub(r"^Usage: .*? \[", "Usage: railweave [", capsys.readouterr().out)
    assert max(map(len, shown.splitlines())) <= columns
    kept = HERE / f"{name}.{columns}.txt"
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        kept.write_text(shown, encoding="utf-8")
    assert shown == kept.read_text(encoding="utf-8")
