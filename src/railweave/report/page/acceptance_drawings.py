"""Drawings of an acceptance: a matrix of pairs for each rail, and the bandwidth of each round as a strip of values."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple
from xml.sax.saxutils import escape

from railweave.wording import counted

# Pixels.
_CELL = 12
_LEFT = 96
_TOP = 84
_WIDTH = 640
# Matrices side by side: what a window of 1,360 shows without scrolling.
_PAGE = 1280
_ROW = 20
# Of the names of columns.
_LETTER_DEGREES = -60
# A larger fabric shows the worst pair of each block of nodes.
_MOST_ROWS = 48
# A value above what ports carry is drawn here: it would leave the picture.
_LARGEST_SHARE = 1.05


class PairValue(NamedTuple):
    """A measured pair: its value as a share of what was expected, None if it was not measured, and its words."""

    sender: str
    receiver: str
    share: float | None
    # "good", "warning", "bad" or "missing", which are the classes of the page's style sheet.
    grade: str
    words: str


class RoundValues(NamedTuple):
    """The values of a round as shares of what NIC ports carry, with the shares below which its tests warn and fail."""

    name: str
    shares: tuple[float, ...]
    fail: float
    warn: float


_URGENCY = {"missing": 1, "good": 0, "warning": 2, "bad": 3}


def pair_matrices(nodes: Sequence[str], matrices: Mapping[str, Sequence[PairValue]]) -> str:
    """Return matrices of pairs by their titles as one SVG element, with senders down and receivers across.

    In a large fabric a row or column stands for several of the ``nodes``.
    """
    nodes_per_row = ceil(len(nodes) / _MOST_ROWS)
    # A row has the name of its first node.
    names = nodes[::nodes_per_row]
    row_of = {name: number // nodes_per_row for number, name in enumerate(nodes)}
    width = _LEFT + len(names) * _CELL + 30
    height = _TOP + len(names) * _CELL + 20
    matrices_across = max(1, min(len(matrices), _PAGE // width))
    matrices_down = ceil(len(matrices) / matrices_across)
    parts = []
    for number, (title, pairs) in enumerate(matrices.items()):
        x = number % matrices_across * width
        y = number // matrices_across * height
        parts += [f'<g transform="translate({x} {y})">', *_matrix(title, names, row_of, pairs), "</g>"]
    total = sum(map(len, matrices.values()))
    title = f"{counted(total, 'pair')}, senders down and receivers across"
    return _svg("pairs", title, matrices_across * width, matrices_down * height, parts)


def _matrix(title: str, names: Sequence[str], row_of: Mapping[str, int], pairs: Sequence[PairValue]) -> Iterator[str]:
    """Yield the elements of one matrix; a cell that stands for several pairs shows the worst of them."""
    worst_pairs: dict[tuple[int, int], PairValue] = {}
    for pair in pairs:
        position = row_of[pair.sender], row_of[pair.receiver]
        if position not in worst_pairs or _is_worse(pair, worst_pairs[position]):
            worst_pairs[position] = pair
    side = len(names) * _CELL
    yield f'<text class="heading" x="{_LEFT}" y="12">{escape(title)}</text>'
    yield f'<rect class="plain" x="{_LEFT}" y="{_TOP}" width="{side}" height="{side}"/>'
    # The names of all rows would overlap: about 16 of them are written.
    named_every = max(1, len(names) // 16)
    for row in range(0, len(names), named_every):
        name = escape(names[row])
        baseline = row * _CELL + _CELL - 2
        yield f'<text class="end" x="{_LEFT - 6}" y="{_TOP + baseline}">{name}</text>'
        transform = f"translate({_LEFT + baseline} {_TOP - 6}) rotate({_LETTER_DEGREES})"
        yield f'<text transform="{transform}">{name}</text>'
    for (row, column), pair in sorted(worst_pairs.items()):
        yield _cell(row, column, pair)


def _is_worse(pair: PairValue, other: PairValue) -> bool:
    """Whether a pair has a more urgent grade than another, or a smaller share at the same grade."""
    if pair.grade != other.grade:
        return _URGENCY[pair.grade] > _URGENCY[other.grade]
    return (pair.share or 0.0) < (other.share or 0.0)


def _cell(row: int, column: int, pair: PairValue) -> str:
    x = _LEFT + column * _CELL
    y = _TOP + row * _CELL
    square = f'<rect class="{pair.grade}" x="{x + 0.5}" y="{y + 0.5}" width="{_CELL - 1}" height="{_CELL - 1}">'
    return f"{square}<title>{escape(pair.words)}</title></rect>"


def round_strips(rounds: Sequence[RoundValues]) -> str:
    """Return the values of rounds as an SVG element, a line for each round.

    Each test is a stroke, and the limits are thin lines.
    """
    parts = [_tick(share, len(rounds)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    for number, values in enumerate(rounds):
        parts += _strip(number, values)
    title = f"bandwidth of the tests of {counted(len(rounds), 'round')} as a share of what NIC ports carry"
    return _svg("strips", title, _LEFT + _WIDTH + 60, 30 + _ROW * len(rounds), parts)


def _tick(share: float, rows: int) -> str:
    x = _across(share)
    line = f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{24 + _ROW * rows}"/>'
    return f'{line}<text class="middle" x="{x:.1f}" y="12">{share:.0%}</text>'


def _strip(number: int, values: RoundValues) -> Iterator[str]:
    """Yield the elements of a round; its ``number`` counts from 0."""
    y = 24 + _ROW * number
    yield f'<text class="end" x="{_LEFT - 6}" y="{y + 13}">{escape(values.name)}</text>'
    for limit, grade in ((values.fail, "bad"), (values.warn, "warning")):
        x = _across(limit)
        yield f'<line class="limit {grade}" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + _ROW - 4}"/>'
    # Equal values are one stroke: a round of a large fabric has thousands of tests.
    counts = Counter(round(share, 3) for share in values.shares)
    for share, count in sorted(counts.items()):
        x = _across(min(share, _LARGEST_SHARE))
        grade = "good"
        if share < values.fail:
            grade = "bad"
        elif share < values.warn:
            grade = "warning"
        words = f"{values.name}: {counted(count, 'test')} at {share:.1%}"
        stroke = f'<line class="stroke {grade}" x1="{x:.1f}" x2="{x:.1f}" y1="{y + 2}" y2="{y + _ROW - 6}">'
        yield f"{stroke}<title>{escape(words)}</title></line>"


def _across(share: float) -> float:
    """Return the x of a share in pixels."""
    return _LEFT + share * _WIDTH


def _svg(key: str, title: str, width: float, height: float, parts: Sequence[str]) -> str:
    """Return an SVG element with a title for screen readers; ``key`` makes the id of the title unique in the page."""
    name = f"title-{key}"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="picture figures" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" aria-labelledby="{name}">',
            f'<title id="{name}">{escape(title)}</title>',
            *parts,
            "</svg>",
        )
    )
