"""Parts of files that pages show are accepted where they belong: an intent, a target, its `hosts:`, a node's facts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from shell_session import ROOT, Block, sections, steps

from nornir_railweave.target.target_file import parse_target
from railweave import api
from railweave.errors import RefusedError
from railweave.intent.load import load_intent_text

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
INTENT = ROOT / "intent" / "minimal.yml"
TARGETS = (ROOT / "inventory" / "production.example.yml", ROOT / "inventory" / "lab.yml")


def shown(language: str) -> list[tuple[str, Block]]:
    """Return the page and the block of every part of a file that no session writes."""
    return [
        (f"{page.relative_to(ROOT)}:{block.line}", block)
        for page in PAGES
        for section in sections(page.read_text(encoding="utf-8"))
        for block in section.blocks
        if block.language == language and not (section.setting and steps(block))
    ]


FRAGMENTS = shown("yaml")
FACTS = [(place, block) for place, block in shown("json") if '"nics"' in block.lines[0]]


def refusals(fragment: Mapping[str, Any]) -> list[str]:
    """Return why a fragment is accepted nowhere, for each place; nothing where it is accepted in one."""
    found = []
    for read in (in_an_intent, *(lambda given, path=path: in_a_target(path, given) for path in TARGETS)):
        try:
            read(fragment)
        except RefusedError as refused:
            found.append(str(refused))
        else:
            return []
    return found


def in_an_intent(fragment: Mapping[str, Any]) -> None:
    """Read a whole intent with the fragment's keys; raises RefusedError."""
    whole = yaml.safe_load(INTENT.read_text(encoding="utf-8")) | dict(fragment)
    load_intent_text(yaml.safe_dump(whole), "intent.yml")


def in_a_target(path: Path, fragment: Mapping[str, Any]) -> None:
    """Read a whole target with the fragment's keys, those of its nodes below `hosts`; raises RefusedError."""
    whole = yaml.safe_load(path.read_text(encoding="utf-8"))
    hosts = {key: value for key, value in fragment.items() if key == "hooks"}
    if hosts:
        whole["hosts"] = whole.get("hosts", {}) | hosts
    whole |= {key: value for key, value in fragment.items() if key not in hosts}
    parse_target(yaml.safe_dump(whole), str(path), path.stem)


@pytest.mark.parametrize(("place", "block"), FRAGMENTS, ids=[place for place, _ in FRAGMENTS])
def test_a_part_of_a_file_is_accepted_where_it_belongs(place: str, block: Block) -> None:
    fragment = yaml.safe_load("\n".join(block.lines))
    assert not refusals(fragment), place


def test_a_part_that_is_accepted_nowhere_is_found() -> None:
    assert (len(FRAGMENTS) >= 10, len(FACTS)) == (True, 1)
    refused = refusals({"hooks": {"drian": "scontrol"}})
    assert len(refused) == 1 + len(TARGETS)
    assert "drian" in refused[1]


@pytest.mark.parametrize(("place", "block"), FACTS, ids=[place for place, _ in FACTS])
def test_facts_that_a_page_shows_are_read(place: str, block: Block, tmp_path: Path) -> None:
    text = "\n".join(block.lines)
    assert json.loads(text)["nics"]
    (tmp_path / "gpu1.json").write_text(text, encoding="utf-8")
    found = api.check(api.open_project(ROOT / "intent" / "lab-4.yml"), facts=tmp_path)
    assert not [one.message for one in found.diagnostics if "cannot be read" in one.message], place
