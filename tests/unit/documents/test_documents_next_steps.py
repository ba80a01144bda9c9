"""Every command that a message tells a person to run is one, with options and arguments that it takes, and with the
intent and the target that the person named."""

import ast
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from parsed_commands import COMMAND, ERRORS, NAMED_ONLY, parse
from sources import nodes_of

from railweave.wording import WITHOUT_INTENT, command_line, commands_name, takes_target

ROOT = Path(__file__).resolve().parents[3]
NAMES = "|".join(sorted(COMMAND.commands))
SHOWN = re.compile(rf"`(railweave [a-z][a-z-]*[^`]*)`|(?:^|: )(railweave (?:{NAMES})\b[^`;,()]*)")
PLACEHOLDER = "1"
"""Stands for a value that is filled in: a name and a number alike."""
KNOWS_NO_PROJECT = {
    "codes.toml",
    *(f"src/railweave/acceptance/judge/{name}.py" for name in ("blame", "marking", "pausing", "spread")),
    "src/railweave/cli/groups.py",
    "tasks/napalm_sonic/calling.py",
    "tasks/napalm_sonic/container_session.py",
    "tasks/napalm_sonic/jump.py",
}
"""Explanations of codes, the judge of acceptance, whose verdict follows from its files alone, `railweave --help`, and
the driver, which works without railweave."""
NO_NEXT_STEP = {
    ("src/railweave/api/lab.py", "railweave lab render"),
    ("src/railweave/cli/design_commands.py", "railweave facts collect"),
    ("src/railweave/export/formats/kueue.py", "railweave export node-labels"),
    ("src/railweave/export/model.py", "railweave export"),
    ("src/railweave/report/artifacts.py", "railweave render"),
    ("src/railweave/report/explanation.py", "railweave health"),
    ("src/railweave/report/models.py", "railweave check"),
    ("src/railweave/report/reference.py", "railweave explain CODE"),
    ("src/railweave/report/reference.py", "railweave health"),
    ("src/railweave/report/reference.py", "railweave telemetry render"),
    ("src/railweave/telemetry/prometheus.py", "railweave telemetry render"),
    ("tasks/railweave_hosts/runner.py", "railweave hosts"),
}
"""Names of commands in generated files, a help text and the title of a play."""


def messages(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings, f-strings with a placeholder for each value."""
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    inner: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            inner |= {id(part) for part in node.values}
            parts = (part.value if isinstance(part, ast.Constant) else PLACEHOLDER for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (docstrings | inner):
            yield node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "command_line":
            words = (one.value if isinstance(one, ast.Constant) else PLACEHOLDER for one in node.args)
            yield f"`{command_line(*words)}`"


def printed_commands() -> Iterator[tuple[str, str]]:
    """Yield the file and the text of every command of a message."""
    modules = (path for root in ("src", "tasks") for path in sorted((ROOT / root).rglob("*.py")))
    sources = ((path, path.read_text(encoding="utf-8")) for path in modules)
    with commands_name(f"{PLACEHOLDER}.yml", PLACEHOLDER):
        for path, source in sources:
            for text in messages(nodes_of(path)) if "railweave " in source or "command_line" in source else ():
                yield from ((str(path.relative_to(ROOT)), "".join(found)) for found in SHOWN.findall(text))
    codes = ROOT / "src/railweave/checks/codes.toml"
    yield from ((codes.name, "".join(found)) for found in SHOWN.findall(codes.read_text(encoding="utf-8")))


def refusal(text: str) -> str:
    """Return what is wrong with a command; nothing where it is accepted."""
    words = [re.sub(r"^\[?[A-Z][A-Z.]*\]?$", PLACEHOLDER, word) for word in shlex.split(text)[1:]]
    for one in words[1].split("|") if "|" in text else [""]:
        try:
            parse([words[0], one, *words[2:]] if one else words)
        except NAMED_ONLY as wrong:
            # A command that is only named lacks its arguments; one with options is there to be copied.
            if any(word.startswith("-") for word in words):
                return wrong.format_message()
        except ERRORS as wrong:
            return wrong.format_message()
    return ""


def lacking(text: str) -> list[str]:
    """Return the options of ``--intent`` and ``--target`` that the command takes and does not name."""
    words = text.split()
    taken = {"--intent": words[1] not in WITHOUT_INTENT, "--target": takes_target(words[1:])}
    return [option for option, is_taken in taken.items() if is_taken and option not in words]


def test_every_printed_command_is_accepted_and_names_intent_and_target() -> None:
    commands = sorted(set(printed_commands()))
    assert len(commands) > 60
    assert [(file, text, wrong) for file, text in commands if (wrong := refusal(text))] == []
    told = [one for one in commands if one[0] not in KNOWS_NO_PROJECT and one not in NO_NEXT_STEP]
    assert [(file, text, found) for file, text in told if (found := lacking(text))] == []


def options_of(command: Any) -> set[str]:
    return {name for one in command.params for name in one.opts}


@pytest.mark.parametrize("name", sorted(COMMAND.commands))
def test_a_printed_command_names_only_what_it_takes(name: str) -> None:
    found = COMMAND.commands[name]
    for part, command in getattr(found, "commands", {name: found}).items():
        assert ("--intent" in options_of(command), "--target" in options_of(command)) == (
            name not in WITHOUT_INTENT and (name, part) != ("acceptance", "read"),
            takes_target((name, part)),
        )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("railweave deploy --resume", ""),
        ("railweave drain", ""),
        ("railweave drain --links", "Option '--links' requires an argument."),
        ("railweave verify --at-once", "No such option: --at-once"),
    ],
)
def test_a_command_that_cannot_be_copied_is_found(text: str, wrong: str) -> None:
    assert refusal(text).startswith(wrong)
    assert bool(refusal(text)) == bool(wrong)


def test_a_command_that_would_run_on_another_target_is_found() -> None:
    assert lacking("railweave deploy --from REV --target lab") == ["--intent"]
    assert lacking("railweave verify --intent intent/lab-4.yml") == ["--target"]
    assert lacking("railweave sim up --intent intent/lab-4.yml") == lacking("railweave rollout list") == []
