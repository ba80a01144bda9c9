"""The documentation site: every page is in its navigation, and the designs quote what the tool prints."""

import os
import re
from pathlib import Path

import pytest
import yaml
from by_check import sampled
from in_process import run_here

ROOT = Path(__file__).resolve().parents[3]
DESIGNS = sorted((ROOT / "docs/designs").glob("*.md"))
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def test_every_page_is_in_the_navigation_or_linked_from_one_that_is() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    nav = yaml.safe_dump(settings["nav"])
    pages = {page.relative_to(ROOT / "docs").as_posix(): page for page in (ROOT / "docs").rglob("*.md")}
    outside = [name for name in pages if name not in nav]

    assert sorted(outside) == sorted(settings["not_in_nav"].split())
    for name in outside:
        linked = f"({name.rpartition('/')[2]})", f"/{name})"
        texts = [page.read_text(encoding="utf-8") for other, page in pages.items() if other not in outside]
        assert any(link in text for link in linked for text in texts), f"no page links to {name}"


@pytest.mark.parametrize("page", sampled(DESIGNS, every=3), ids=lambda page: page.stem)
def test_a_design_quotes_what_the_tool_prints(page: Path, tmp_path: Path) -> None:
    """The first block is the intent, a `diff` changes it, and every quoted line is printed, in the same order."""
    intent = tmp_path / "intent/fabric.yml"
    intent.parent.mkdir()
    quoted = 0
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "yaml":
            intent.write_text(text, encoding="utf-8")
        elif kind == "diff":
            old, new = (one[1:] for one in text.splitlines())
            assert old in intent.read_text(encoding="utf-8")
            intent.write_text(intent.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        elif text.startswith("$ railweave "):
            command, *lines = text.splitlines()
            done = run_here(command.split()[2:], tmp_path, {**os.environ, "NO_COLOR": "1", "COLUMNS": "200"}, 60)
            assert done.returncode == 0
            printed = iter([line.rstrip() for line in done.stdout.splitlines()])
            assert [line for line in lines if line != "…" and line not in printed] == []
            quoted += 1

    assert quoted
    checked = run_here(["check"], tmp_path, {**os.environ, "NO_COLOR": "1"}, 60)
    assert "no errors, no warnings" in checked.stdout
