"""The steps of a journey, each with the mistakes that are made before it succeeds.

A step is a command of railweave, or a target of a project's Makefile, that does what the user wants. The commands of
the same name that were refused since the step before are its mistakes. Between a mistake and the step lies its fix: the
commands and edits that the page shows, and what the step says otherwise than the refused command.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shell_session import Command, FileEdit, Step, sections, steps

_NAME = re.compile(r"(?:^|[\s(])(railweave(?: (?:sim|lab|rollout))? [a-z][a-z-]*|railweave(?= -)|make [a-z-]+)")
_WORD = re.compile(r"[\w-][\w.-]*\w|\w")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_FORM_OF_A_DAY = "YYYY-MM-DD"
_QUOTED = re.compile(r"`([^`]+)`")
_COMMENT = re.compile(r"\s#.*$", re.MULTILINE)
_CHANGED = 2
"""The exit status of `drift --exit-code` that found drift: an answer, no refusal."""


@dataclass(frozen=True)
class Mistake:
    """A refused command, the words that the user types to have it accepted, and the command that is accepted."""

    command: Command
    fix: frozenset[str]
    accepted: str

    @property
    def named_fix(self) -> frozenset[str]:
        """Return what the message names of the fix: words that the refused command lacks, parts of the accepted one."""
        printed = " ".join(" ".join(self.command.shown).split())
        quoted = frozenset(map(str, _QUOTED.findall(printed)))
        typed = frozenset(one for one in quoted if one in self.accepted and one not in self.command.text)
        return typed | ((self.fix & _words(printed)) - _words(self.command.text))


@dataclass(frozen=True)
class JourneyStep:
    """A command that succeeds, and the mistakes before it."""

    command: Command
    name: str
    mistakes: tuple[Mistake, ...]


def commands_named(command: Command) -> Iterator[str]:
    """Yield the names of railweave's commands, and of targets of make, in a line of the shell."""
    yield from (found[1] for found in _NAME.finditer(command.text))


def is_mistake(command: Command) -> bool:
    """Return whether a command is refused or fails; drift that is found is neither."""
    found_drift = "railweave drift" in command.text and command.status == _CHANGED
    return command.status != 0 and not (found_drift and not any("error" in line for line in command.shown))


def page_steps(page: Path) -> list[Step]:
    """Return what a page asks its reader to do, in order."""
    found = sections(page.read_text(encoding="utf-8"))
    return [step for section in found for block in section.blocks for step in steps(block)]


def journey_steps(done: Sequence[Step]) -> list[JourneyStep]:
    """Return the steps of a journey."""
    found, since = [], dict[str, int]()
    for at, step in enumerate(done):
        if isinstance(step, Command) and not is_mistake(step):
            for name in commands_named(step):
                found.append(
                    JourneyStep(step, name, tuple(_mistakes(name, done[since.get(name, 0) : at + 1], step.text)))
                )
                since[name] = at + 1
    return found


def _mistakes(name: str, done: Sequence[Step], accepted: str) -> Iterator[Mistake]:
    for at, step in enumerate(done):
        if isinstance(step, Command) and is_mistake(step) and is_meant(step, name):
            yield Mistake(step, frozenset().union(*map(_typed, done[at + 1 :])), accepted)


def is_meant(command: Command, name: str) -> bool:
    """Return whether a refused command has that name, or has none and is answered with that name."""
    tried = list(commands_named(command))
    if name in tried or "No such command" not in " ".join(command.shown):
        return name in tried
    group, _, own = name.rpartition(" ")
    return own in _words(" ".join(command.shown)) and any(one.rpartition(" ")[0] == group for one in tried)


def _typed(step: Step) -> frozenset[str]:
    """Return the words that a step adds."""
    if isinstance(step, Command):
        return _words(step.text)
    if isinstance(step, FileEdit):
        added = set(step.after.splitlines()) - set(step.before.splitlines())
        return _words("\n".join(added)) - (_words(step.before) - {_FORM_OF_A_DAY})
    return _words(step.text)


def _words(text: str) -> frozenset[str]:
    """Return the words of a text; of a day its form too, and that there is more than one space."""
    bare = _COMMENT.sub("", text)
    found = {*_WORD.findall(bare), *([_FORM_OF_A_DAY] if _DAY.search(bare) else [])}
    return frozenset(found | ({"spaces"} if "  " in bare.strip() else set()))
