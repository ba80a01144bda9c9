"""Every command that the documents show is one: its name, its options and its arguments are accepted."""

import re
import shlex
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from parsed_commands import ERRORS, NAMED_ONLY, parse

ROOT = Path(__file__).resolve().parents[3]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
SHOWN = re.compile(r"(?:^(?: {4,}| *\$ )(?:[A-Z_]+=\S+ )*(?:\S+/)?|`)(?=railweave )([^`\n]+)", re.MULTILINE)
AFTER = re.compile(r"\s(?:#|>|\|{1,2}|&&) .*|\s+\\$")
TARGET = re.compile(r"(?:^ {4,}|^ *\$ |`)make ([a-z0-9-]+)", re.MULTILINE)


def shown_commands() -> Iterator[tuple[str, str]]:
    """Yield the page and the text of every command, ``plan|apply`` as two of them."""
    for page in PAGES:
        for found in SHOWN.finditer(page.read_text(encoding="utf-8")):
            cut = AFTER.sub("", found[1])
            command = (found[1] if cut.count('"') % 2 else cut).replace("\\|", "|").strip()
            if "…" not in command and command != "railweave NAME":
                words = [word.split("|") for word in shlex.split(command)]
                yield from ((page.name, shlex.join(one)) for one in product(*words))


COMMANDS = sorted(set(shown_commands()))
NAMES = sorted({name for name, _ in COMMANDS})


def test_the_documents_show_commands() -> None:
    assert len(COMMANDS) > 100


@pytest.mark.parametrize("page", NAMES)
def test_the_commands_of_a_page_are_accepted(page: str) -> None:
    refused = {text: fault for name, text in COMMANDS if name == page and (fault := fault_of(text))}
    assert refused == {}


def fault_of(text: str) -> str:
    """Return why a command is refused, empty for one that is accepted."""
    words = [re.sub(r"^N$", "1", word) for word in shlex.split(text)[1:]]
    try:
        parse(words)
    except NAMED_ONLY:
        # A command that is only named lacks its arguments.
        return ""
    except ERRORS as error:
        return repr(error)
    return ""


def test_every_make_target_of_the_documents_is_there() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    shown = {name for page in PAGES for name in TARGET.findall(page.read_text(encoding="utf-8"))}
    assert shown <= targets
