"""A YAML document as a small tree that remembers where every token stands.

The tree shares what aliases share; ``size`` counts values as if every alias were written out, so that a document
which explodes is recognized before anything is expanded.
"""

import re
from dataclasses import dataclass

MAX_BYTES = 1 << 20
"""Largest intent file; a fabric of thousands of switches needs a few kilobytes."""
MAX_VALUES = 200_000
"""Most values of a document, aliases written out."""
MAX_DEPTH = 32
"""Deepest nesting; the intent itself ends at seven."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the text, line and column from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value. ``value`` is text, a bool, an int, or None where nothing is written."""

    value: str | bool | int | None
    mark: Mark
    size: int = 1
    height: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a mapping; ``mark`` is the key's, ``alias`` the place of the ``*`` where the value is an alias."""

    key: str
    mark: Mark
    node: "Node"
    alias: Mark | None = None


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A mapping; keys are text and unique."""

    entries: tuple[Entry, ...]
    mark: Mark
    size: int
    height: int


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """A list of (value, place of the ``*`` where it is an alias)."""

    items: tuple[tuple["Node", Mark | None], ...]
    mark: Mark
    size: int
    height: int


Node = Scalar | MappingNode | SequenceNode


def plain_value(text: str) -> str | bool | int | None:
    """Return what an unquoted scalar means: ``true``, ``false``, a decimal integer, nothing, or else its text.

    Every other reading of YAML 1.1 stays text: ``no`` and ``on``, ``1:30`` (base 60), ``017`` (octal), ``1_000``,
    dates and floats.
    """
    if text in {"true", "false"}:
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return text or None
