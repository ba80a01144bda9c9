"""Words around values: counted nouns, lists as a sentence has them, and long lists cut short."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache

_DIGITS = re.compile(r"([0-9]+)")


_AFTER_WORDS = "\U0010ffff"
"""Stands before a number with which a name begins."""


@lru_cache(maxsize=16384)
def natural_key(name: str) -> tuple[str | int, ...]:
    """Return a sort key under which ``Ethernet8`` comes before ``Ethernet16``: words and numbers in turn."""
    parts: list[str | int] = list(_DIGITS.split(name))
    parts[1::2] = map(int, parts[1::2])
    if len(parts) > 1 and not parts[0]:
        parts[0] = _AFTER_WORDS
    return tuple(parts)


_NUMBERED = re.compile(r"^(.*?)([0-9]+)$")


def plural(noun: str) -> str:
    """Return the plural of a noun: ``leaves``, ``switches``, ``entries``."""
    if noun.endswith("f"):
        return f"{noun[:-1]}ves"
    if noun.endswith(("s", "ch", "x")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"


def percent_text(value: float) -> str:
    """Return a percentage rounded down to tenths, so that a loss is never shown as none."""
    return f"{int(value * 10) / 10:g} %"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 leaf``, ``4 leaves``."""
    return f"1 {noun}" if count == 1 else f"{count:,} {plural(noun)}"


def listed(words: Iterable[object], conjunction: str = "and") -> str:
    """Return words as a sentence lists them: ``a, b and c``."""
    *first, last = map(str, words)
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def either(words: Iterable[object]) -> str:
    """Return words of which one is to be chosen: ``a, b or c``."""
    return listed(words, "or")


def first_few(items: Iterable[object], most: int = 6, separator: str = ", ") -> str:
    """Return the first ``most`` items and how many more there are: ``a, b and 3 more``."""
    texts = list(map(str, items))
    hidden = len(texts) - most
    return separator.join(texts[:most]) + (f"{separator.rstrip(', ')} and {hidden} more" if hidden > 0 else "")


def nearest(word: str, words: Sequence[str]) -> str | None:
    """Return the word that ``word`` was most probably meant to be."""
    lowered = {one.lower(): one for one in reversed(words)}
    found = get_close_matches(word.lower().replace("_", "-"), [one.replace("_", "-") for one in lowered], 1, 0.6)
    if not found:
        return None
    return next(original for low, original in lowered.items() if low.replace("_", "-") == found[0])


WITHOUT_INTENT = frozenset({"audit", "codes", "compare", "init", "models", "rollout", "schema"})
"""Commands that take no ``--intent``."""
UNTARGETED = WITHOUT_INTENT | {
    "bom",
    "check",
    "diff",
    "draw",
    "explain",
    "failures",
    "lab",
    "render",
    "report",
    "sim",
    "size",
}
"""Commands that take no ``--target``."""


class _Named:
    """What the command that runs was given."""

    intent = ""
    target = ""


@contextmanager
def commands_name(intent: str, target: str) -> Iterator[None]:
    """Let every command that is printed meanwhile name this intent and target, so that it can be copied as it is."""
    before = _Named.intent, _Named.target
    _Named.intent, _Named.target = intent, target
    try:
        yield
    finally:
        _Named.intent, _Named.target = before


def command_line(*words: object, intent: str = "", target: str = "") -> str:
    """Return a command of railweave as a shell takes it, for a message that says what to do next.

    It names the intent and the target, by default those of `commands_name`, where the command takes them.
    """
    verb = words[0]
    options = (
        ("--intent", "" if verb in WITHOUT_INTENT else intent or _Named.intent),
        ("--target", "" if verb in UNTARGETED else target or _Named.target),
    )
    named = (word for option in options if option[1] for word in option)
    return shlex.join(("railweave", *map(str, words), *named))


def suggestion(word: str, words: Sequence[str]) -> str:
    """Return a question that begins a fix, ``did you mean `leaf`? ``, empty where no word is near."""
    guess = nearest(word, words)
    return f"did you mean `{guess}`? " if guess else ""


def compact(names: Iterable[str], most: int = 6) -> str:
    """Return the names with runs of consecutive numbers joined; beyond ``most`` runs the rest is counted."""
    runs = _runs(sorted(dict.fromkeys(names), key=natural_key))
    shown = [_text(run) for run in runs[:most]]
    hidden = sum(len(run) for run in runs[most:])
    return ", ".join(shown) + (f" and {hidden} more" if hidden else "")


def _runs(names: Sequence[str]) -> list[list[str]]:
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return runs


def _follows(run: Sequence[str], name: str) -> bool:
    """Tell whether ``name`` continues the run with the step that it has (any step for a run of one)."""
    last, now = _NUMBERED.match(run[-1]), _NUMBERED.match(name)
    if last is None or now is None or last[1] != now[1]:
        return False
    step = int(now[2]) - int(last[2])
    if len(run) == 1:
        # Ports of SONiC count lanes: Ethernet0, Ethernet8, …
        return step in {1, 2, 4, 8}
    before = _NUMBERED.match(run[-2])
    return before is not None and step == int(last[2]) - int(before[2])


def _text(run: Sequence[str]) -> str:
    if len(run) <= 2:
        return ", ".join(run)
    last = _NUMBERED.match(run[-1])
    # The numbers of ports count lanes; a step that is not a port's own is shown.
    second = f", {_number(run[1])}" if not run[0].startswith("Ethernet") and not _is_next(run[0], run[1]) else ""
    return f"{run[0]}{second}…{last[2] if last else run[-1]}"


def _number(name: str) -> str:
    found = _NUMBERED.match(name)
    return found[2] if found else name


def _is_next(name: str, other: str) -> bool:
    return int(_number(other)) == int(_number(name)) + 1
