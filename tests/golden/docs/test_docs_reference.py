"""The reference pages are what the commands print; ``RAILWEAVE_UPDATE_GOLDEN=1`` writes them anew."""

import os
import re
from pathlib import Path

import pytest

from railweave.cli.main import main

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("intent.md", ["schema", "intent", "--markdown"]),
        ("json.md", ["schema", "--markdown"]),
        ("checks.md", ["codes"]),
        pytest.param("designs.md", ["init", "--list", "--markdown"], marks=pytest.mark.slow),
    ],
)
def test_a_reference_page_is_what_the_command_prints(
    page: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    printed = capsys.readouterr().out
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        (DOCS / page).write_text(printed, encoding="utf-8")
    assert (DOCS / page).read_text(encoding="utf-8") == printed


def test_one_command_renews_every_page_that_a_command_prints() -> None:
    makefile = (DOCS.parents[1] / "Makefile").read_text(encoding="utf-8")
    renewed = dict(re.findall(r"@\$\(RAILWEAVE\) (.+) >\$\(PAGES\)/(.+)", makefile))
    assert {page: words.split() for words, page in renewed.items()} == {
        "intent.md": ["schema", "intent", "--markdown"],
        "json.md": ["schema", "--markdown"],
        "checks.md": ["codes"],
        "catalog.md": ["models", "--markdown"],
        "designs.md": ["init", "--list", "--markdown"],
    }
