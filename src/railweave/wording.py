"""Words around values: counted nouns, lists in a sentence, long lists cut short, commands to copy."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache

_DIGITS = re.compile(r"([0-9]+)")
# A name that begins with a number sorts after those that begin with a word.
_AFTER_WORDS = "\U0010ffff"


@lru_cache(maxsize=16384)
def natural_key(name: str) -> tuple[str | int, ...]:
    """Return a sort key under which ``Ethernet8`` comes before ``Ethernet16``: words and numbers in turn."""
    # A split by a group has words at even places and numbers at odd ones.
    parts: list[str | int] = list(_DIGITS.split(name))
    parts[1::2] = map(int, parts[1::2])
    if len(parts) > 1 and not parts[0]:
        parts[0] = _AFTER_WORDS
    return tuple(parts)


_NUMBERED = re.compile(r"^(?P<stem>.*?)(?P<number>[0-9]+)$")


def plural(noun: str) -> str:
    """Return the plural of a noun: ``leaves``, ``switches``, ``entries``."""
    if noun.endswith("f"):
        return f"{noun[:-1]}ves"
    if noun.endswith(("s", "ch", "x")):
        return f"{noun}es"
    if noun.endswith("ry"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def percent_text(value: float) -> str:
    """Return a percentage rounded down to tenths, so that a loss is never shown as none."""
    return f"{int(value * 10) / 10:g} %"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 leaf``, ``4 leaves``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {plural(noun)}"


def listed(words: Iterable[object], conjunction: str = "and") -> str:
    """Return words as a sentence lists them: ``a, b and c``; there must be at least one."""
    *all_but_last, last = map(str, words)
    if not all_but_last:
        return last
    return f"{', '.join(all_but_last)} {conjunction} {last}"


def either(words: Iterable[object]) -> str:
    """Return words of which one is to be chosen: ``a, b or c``."""
    return listed(words, "or")


def first_few(items: Iterable[object], most: int = 6, separator: str = ", ") -> str:
    """Return the first ``most`` items and how many more there are: ``a, b and 3 more``."""
    texts = list(map(str, items))
    hidden = len(texts) - most
    shown = separator.join(texts[:most])
    if hidden <= 0:
        return shown
    return f"{shown}{separator.rstrip(', ')} and {hidden} more"


def nearest(word: str, words: Sequence[str]) -> str | None:
    """Return the one of ``words`` that ``word`` was most probably meant to be, None if none is near."""
    candidates: dict[str, str] = {}
    for candidate in words:
        # The first of several words that differ only in case or underscores.
        candidates.setdefault(_normalized(candidate), candidate)
    matches = get_close_matches(_normalized(word), candidates, n=1, cutoff=0.6)
    if not matches:
        return None
    return candidates[matches[0]]


def _normalized(word: str) -> str:
    return word.lower().replace("_", "-")


WITHOUT_INTENT = frozenset({"audit", "codes", "compare", "init", "models", "rollout", "schema"})
"""Commands that take no ``--intent``."""
UNTARGETED = WITHOUT_INTENT | {
    "acceptance",
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
    "telemetry",
}
"""Commands that take no ``--target``."""
TARGETED_PARTS = frozenset({"acceptance run"})
"""Commands of a group in ``UNTARGETED`` that take one all the same."""


class _Named:
    """The intent and the target that the running command names."""

    intent = ""
    target = ""


@contextmanager
def commands_name(intent: str, target: str) -> Iterator[None]:
    """Let every command that is printed meanwhile name this intent and target, so that it can be copied and run."""
    earlier_intent = _Named.intent
    earlier_target = _Named.target
    _Named.intent = intent
    _Named.target = target
    try:
        yield
    finally:
        _Named.intent = earlier_intent
        _Named.target = earlier_target


def command_line(*words: object, intent: str = "", target: str = "") -> str:
    """Return a command of railweave as a shell takes it, for a message that says what to do next.

    If the command takes an intent or a target, it names these, by default those of `commands_name`.
    """
    line = ["railweave", *map(str, words)]
    intent = intent or _Named.intent
    if intent and words[0] not in WITHOUT_INTENT:
        line += ["--intent", intent]
    target = target or _Named.target
    if target and takes_target(words):
        line += ["--target", target]
    return shlex.join(line)


def takes_target(words: Sequence[object]) -> bool:
    """Tell whether a command takes ``--target``, by its words."""
    return words[0] not in UNTARGETED or " ".join(map(str, words[:2])) in TARGETED_PARTS


def suggestion(word: str, words: Sequence[str]) -> str:
    """Return a question that begins a fix, ``did you mean `leaf`? ``, empty if no word is near."""
    guess = nearest(word, words)
    if not guess:
        return ""
    return f"did you mean `{guess}`? "


def compact(names: Iterable[str], most: int = 6) -> str:
    """Return the names in natural order, with runs of consecutive numbers joined.

    After ``most`` runs the names that are left are only counted.
    """
    runs = _runs(sorted(dict.fromkeys(names), key=natural_key))
    shown = [_run_text(run) for run in runs[:most]]
    text = ", ".join(shown)
    hidden = sum(len(run) for run in runs[most:])
    if hidden:
        text += f" and {hidden} more"
    return text


def _runs(names: Sequence[str]) -> list[list[str]]:
    """Return the names in runs: within a run the numbers at their ends grow by one step."""
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return runs


def _follows(run: Sequence[str], name: str) -> bool:
    """Tell whether ``name`` continues a run with the step between its last two numbers.

    A run of one has no step yet, and takes any usual one.
    """
    last = _NUMBERED.match(run[-1])
    following = _NUMBERED.match(name)
    if last is None or following is None or last["stem"] != following["stem"]:
        return False
    step = int(following["number"]) - int(last["number"])
    if len(run) == 1:
        # SONiC numbers ports by lanes, 1, 2, 4 or 8 of them a port: Ethernet0, Ethernet8, …
        return step in {1, 2, 4, 8}
    second_last = _NUMBERED.match(run[-2])
    if second_last is None:
        return False
    return step == int(last["number"]) - int(second_last["number"])


def _run_text(run: Sequence[str]) -> str:
    """Return a run as text: one or two names, or an ellipsis between the first and the last."""
    if len(run) <= 2:
        return ", ".join(run)
    first, second, *_, last = run
    text = first
    # The second name shows a step other than 1; a port's step is its lanes and needs no mention.
    has_other_step = int(_number(second)) != int(_number(first)) + 1
    if has_other_step and not first.startswith("Ethernet"):
        text += f", {_number(second)}"
    return f"{text}…{_number(last)}"


def _number(name: str) -> str:
    """Return the number at the end of a name; the name itself if it has none."""
    match = _NUMBERED.match(name)
    return match["number"] if match else name
