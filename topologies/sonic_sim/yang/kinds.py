"""The types of leaves, and libyang 1's messages about wrong values."""

import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple


@cache
def _sections() -> dict[str, str]:
    """Return the parts of ``tables.txt``, by their headings."""
    text = Path(__file__).with_name("tables.txt").read_text(encoding="utf-8")
    return dict(part.split("]\n", 1) for part in text.split("\n[")[1:])


def lines_of(section: str) -> list[str]:
    """Return the lines of a part of ``tables.txt``: ``types`` or ``tables``."""
    return [line for line in _sections()[section].splitlines() if line and not line.startswith("#")]


_BASE = re.compile(r"(?P<base>text|decimal|u?int(?:8|16|32|64))(?:\((?P<ranges>[-0-9. |]+)\))?")
# Stands for the constraint of a value outside its base type.
INVALID = "invalid"


class TypeFault(NamedTuple):
    """The constraint that a value does not satisfy, or INVALID, and the model's message for it, empty for none."""

    constraint: str
    message: str


NO_FAULT = TypeFault("", "")


@dataclass(frozen=True)
class Kind:
    """A type: its text and the model's message for it; the parts of a union; the restrictions that all hold."""

    text: str
    message: str = ""
    parts: tuple["Kind", ...] = ()
    every: tuple["Kind", ...] = ()

    @cached_property
    def references(self) -> tuple[str, ...]:
        """Return the paths of the leafrefs, alone or in a union."""
        if self.parts:
            return tuple(path for part in self.parts for path in part.references)
        if self.text.startswith("^"):
            return (self.text.removeprefix("^"),)
        return ()

    def fault(self, value: str) -> TypeFault:
        """Return the fault of a value, NO_FAULT if it is valid. Leafrefs are not followed."""
        return _fault(self, value)


@cache
def _named() -> dict[str, str]:
    """Return the types of ``tables.txt`` that have names."""
    return dict(line.split(" = ", 1) for line in lines_of("types"))


@lru_cache(maxsize=1024)
def kind_of(text: str) -> Kind:
    """Return the kind of a text in the notation of ``tables.txt``."""
    text = _named().get(text, text)
    if " && " in text:
        return Kind(text, every=tuple(_restriction(part) for part in text.split(" && ")))
    if "+" in text and not text.startswith("~"):
        return Kind(text, parts=tuple(kind_of(part) for part in text.split("+")))
    return _restriction(text)


def _restriction(text: str) -> Kind:
    """Return the kind of a single restriction, which may have a message after `` ! ``."""
    inner, _, message = text.partition(" ! ")
    return Kind(inner, message.replace("\\n", "\n"))


@lru_cache(maxsize=65536)
def _fault(kind: Kind, value: str) -> TypeFault:
    """Return the fault of a value, NO_FAULT if it is valid; the answers are kept."""
    if kind.every:
        for restriction in kind.every:
            fault = restriction.fault(value)
            if fault != NO_FAULT:
                return fault
        return NO_FAULT
    if kind.parts:
        # A union says only that none of its types fits; what it refers to is followed later.
        is_valid = any(not part.references and part.fault(value) == NO_FAULT for part in kind.parts)
        return NO_FAULT if is_valid else TypeFault(INVALID, "")
    constraint = _violated(kind.text, value)
    return TypeFault(constraint, kind.message) if constraint else NO_FAULT


def _violated(text: str, value: str) -> str:
    """Return the constraint that a value does not satisfy, of a kind with this text; empty if it satisfies all."""
    # A leafref.
    if text.startswith("^"):
        return ""
    if text.startswith("~"):
        pattern = text.removeprefix("~")
        if _pattern(pattern).fullmatch(value):
            return ""
        return pattern or INVALID
    base = _BASE.fullmatch(text)
    if base is not None:
        return _violated_range(base["base"], base["ranges"], value)
    # All that is left are the words of an enumeration.
    words = ("true", "false") if text == "bool" else text.split("|")
    return "" if value in words else INVALID


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    """Return a pattern of XML Schema as one of Python, which has other names for classes of characters."""
    return re.compile(re.sub(r"\[\\p\{N\}\\p\{L\}\]", r"[^\\W_]", text))


def _violated_range(base: str, ranges: str | None, value: str) -> str:
    """Return the constraint that a value of a base type does not satisfy; empty if it satisfies all.

    It is INVALID for a value that is not of the type, and the text of the ranges for one that is in none of them.
    """
    number = _number_of(base, value)
    if number is None:
        return INVALID
    if not ranges:
        return ""
    for bounds in ranges.split("|"):
        low, _, high = bounds.partition("..")
        if float(low) <= number <= float(high or low):
            return ""
    return ranges


def _number_of(base: str, value: str) -> float | None:
    """Return the number that ranges limit: the length of a text, else the value; None if it is not of the base type."""
    if base == "text":
        return len(value)
    if base == "decimal":
        return float(value) if re.fullmatch(r"[+-]?\d+(\.\d{1,2})?", value) else None
    if not re.fullmatch(r"\s*[+-]?\d+\s*|\s+", value):
        return None
    # libyang 1 skips white space, and reads white space alone as 0.
    number = int(value.strip() or 0)
    bits = int(base.lstrip("uint"))
    if base.startswith("u"):
        is_in_type = 0 <= number < 2**bits
    else:
        is_in_type = -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)
    return number if is_in_type else None
