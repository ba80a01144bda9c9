"""The types of leaves: what a value must be, and how libyang 1 words it when it is not."""

import ipaddress
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

_SECTIONS = dict(
    part.split("]\n", 1) for part in Path(__file__).with_name("tables.txt").read_text(encoding="utf-8").split("\n[")[1:]
)


def lines_of(section: str) -> list[str]:
    """Return the lines of a part of ``tables.txt``: ``types``, ``tables`` or ``others``."""
    return [line for line in _SECTIONS[section].splitlines() if line and not line.startswith("#")]


_BASE = re.compile(r"(text|u?int(?:8|16|32|64))(?:\((-?\d+)\.\.(\d+)\))?")
_NAMED = dict(line.split(" = ", 1) for line in lines_of("types"))
INVALID = "invalid"
"""A value outside its base type; any other fault is the constraint that the value does not satisfy."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type: its text, the message that the model has for it, and for unions their parts."""

    text: str
    message: str = ""
    parts: tuple["Kind", ...] = field(default=())

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the tables whose keys a leafref, alone or in a union, may name."""
        if self.parts:
            return tuple(table for part in self.parts for table in part.targets)
        return (self.text[1:],) if self.text.startswith("^") else ()

    @property
    def is_leafref(self) -> bool:
        """Tell a leafref from a union that has one."""
        return self.text.startswith("^") and not self.parts

    @property
    def is_number(self) -> bool:
        """Tell whether sonic_yang makes a number of the value, which it sees by the name of the type."""
        return self.text.startswith("uint") and not self.message and not self.parts

    def fault(self, value: str) -> str:
        """Return what is wrong with a value, empty where nothing is; leafrefs are not followed."""
        return _fault(self, value)


@lru_cache(maxsize=512)
def kind_of(text: str) -> Kind:
    """Read a kind in the notation of ``tables.txt``."""
    if text in _NAMED:
        inner, _, message = _NAMED[text].partition(" ! ")
        return Kind(inner, message)
    if "+" in text:
        return Kind(text, parts=tuple(kind_of(part) for part in text.split("+")))
    return Kind(text)


@lru_cache(maxsize=65536)
def _fault(kind: Kind, value: str) -> str:
    if kind.parts:
        return "" if any(not part.targets and not part.fault(value) for part in kind.parts) else INVALID
    if kind.text.startswith("^"):
        return ""
    if kind.text.startswith("~"):
        return "" if re.fullmatch(kind.text[1:], value) else kind.text[1:] or INVALID
    base = _BASE.fullmatch(kind.text)
    if base is not None:
        return _base_fault(base[1], base[2], base[3], value)
    if "|" in kind.text:
        return "" if value in kind.text.split("|") else INVALID
    return "" if value in ("true", "false") or (kind.text != "bool" and _is_address(kind.text, value)) else INVALID


def _base_fault(base: str, low: str | None, high: str | None, value: str) -> str:
    if base == "text":
        number = len(value)
    elif re.fullmatch(r"[+-]?\d+", value):
        number = int(value)
        bits = int(base.lstrip("uint"))
        least, most = (0, 2**bits) if base.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        if not least <= number < most:
            return INVALID
    else:
        return INVALID
    return "" if low is None or high is None or int(low) <= number <= int(high) else f"{low}..{high}"


def _is_address(name: str, value: str) -> bool:
    """Tell whether a value is an ``ip`` or ``prefix``, with ``4`` or ``6`` of that version."""
    try:
        if name.startswith("prefix"):
            version, fits = ipaddress.ip_interface(value).version, "/" in value
        else:
            version, fits = ipaddress.ip_address(value).version, True
    except ValueError:
        return False
    return fits and name[-1] in ("p", "x", str(version))
