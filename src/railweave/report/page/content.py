"""The building blocks of a page: sections of sentences, facts, tables, chains and drawings. The template makes HTML."""

from enum import StrEnum
from typing import NamedTuple


class Tone(StrEnum):
    """How a text is colored."""

    PLAIN = ""
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    DIM = "dim"


class Words(NamedTuple):
    """A sentence or the content of a cell.

    ``opens`` is the fragment of the page that a link leads to: a picture, a device or a section; empty for no link.
    """

    text: str
    tone: Tone = Tone.PLAIN
    opens: str = ""


Cell = Words | str


class Facts(NamedTuple):
    """Names with their values."""

    rows: tuple[tuple[str, Cell], ...]
    kind: str = "facts"


class Grid(NamedTuple):
    """A table."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    # Columns of numbers, from 0, which are aligned to the right.
    numeric: frozenset[int] = frozenset()
    # A count of the rows left out, empty for none.
    more: str = ""
    # The name by which the template tells the parts of a section apart.
    kind: str = "grid"


class Sentences(NamedTuple):
    """Sentences, one below the other."""

    lines: tuple[Words, ...]
    kind: str = "sentences"


class Station(NamedTuple):
    """One station of a chain: the device, and the settings there."""

    title: Words
    lines: tuple[str, ...]


class Chain(NamedTuple):
    """Stations one after the other."""

    caption: str
    steps: tuple[Station, ...]
    # Descriptions of the cables between two stations, one fewer than these.
    joints: tuple[str, ...]
    kind: str = "chain"


class Drawing(NamedTuple):
    """A picture as an SVG element, whose text is escaped already, with its ``caption``."""

    caption: str
    svg: str
    kind: str = "drawing"


Part = Facts | Grid | Sentences | Chain | Drawing


class Section(NamedTuple):
    """A section of the page; ``key`` is its anchor."""

    key: str
    title: str
    parts: tuple[Part, ...]


def linked(device: str) -> Words:
    """Return the name of a device as a link that opens it."""
    return Words(device, opens=f"device-{device}")
