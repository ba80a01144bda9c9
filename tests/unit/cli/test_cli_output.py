"""What every printed line has in common: it ends with its last word, so that a copy of it has no blanks at its end."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from railweave.cli.show import _Printable, print_view
from railweave.report.layout import paragraphs, table

ROOT = Path(__file__).resolve().parents[3]
VIEW = paragraphs(Text("heading", style="bold"), table("device", "error", rows=[("leaf1", ""), ("leaf2", "no answer")]))


def test_no_line_of_a_view_ends_with_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    print_view(VIEW)
    assert capsys.readouterr().out == ("heading\n\ndevice   error\n──────────────────\nleaf1\nleaf2    no answer\n")


def test_colored_blanks_of_a_picture_stay() -> None:
    screen = io.StringIO()
    Console(file=screen, width=20, force_terminal=True, color_system="standard").print(
        _Printable(Text.assemble(("a", "on red"), ("  ", "on red"), "  "))
    )
    assert screen.getvalue() == "\x1b[41ma\x1b[0m\x1b[41m  \x1b[0m\n"


def test_no_golden_output_has_blanks_at_the_end_of_a_line() -> None:
    outputs = [*(ROOT / "tests" / "golden").rglob("*.txt"), *(ROOT / "tests" / "refused").rglob("*.txt")]
    trailing = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in outputs
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.endswith(" ")
    ]
    assert outputs
    assert trailing == []
