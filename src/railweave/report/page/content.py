"""What a page is made of: sections of sentences, facts and tables, without a word of HTML."""

from enum import StrEnum
from typing import NamedTuple


class Tone(StrEnum):
    """How a piece of text is meant."""

    PLAIN = ""
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    DIM = "dim"


class Words(NamedTuple):
    """A sentence or the content of a cell. ``opens`` is what a link leads to within the page: a picture, a device or a
    section, empty for no link."""

    text: str
    tone: Tone = Tone.PLAIN
    opens: str = ""


Cell = Words | str


class Facts(NamedTuple):
    """Names with their values."""

    rows: tuple[tuple[str, Cell], ...]
    kind: str = "facts"


class Grid(NamedTuple):
    """A table; ``caption`` says what it holds. ``numeric`` are the columns that line up at the right. ``more`` says
    what is left out, empty for nothing."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int] = frozenset()
    more: str = ""
    kind: str = "grid"


class Sentences(NamedTuple):
    """Sentences, one below the other."""

    lines: tuple[Words, ...]
    kind: str = "sentences"


class Step(NamedTuple):
    """One station of a chain: where it is, and what holds there."""

    title: Words
    lines: tuple[str, ...]


class Chain(NamedTuple):
    """Stations one after the other, with what is between them: one ``joint`` fewer than steps."""

    caption: str
    steps: tuple[Step, ...]
    joints: tuple[str, ...]
    kind: str = "chain"


class Drawing(NamedTuple):
    """A picture, as an SVG element whose words are escaped; ``caption`` says what it shows."""

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
