"""The table formats of tabulate that SONiC's commands use.

``simple``: columns as wide as the header and two more, two spaces apart, under a row of dashes; columns of numbers are
aligned right. ``grid``: boxes, for cells of several lines.
"""

from collections.abc import Sequence

_PADDING = 2


def simple_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: bool = False) -> str:
    """Return the table; ``right`` aligns texts to the right too."""
    widths = [max([len(header) + _PADDING, *(len(row[place]) for row in rows)]) for place, header in enumerate(headers)]
    aligned = _aligned(len(headers), rows, right)
    lines = [_line(headers, widths, aligned), "  ".join("-" * width for width in widths)]
    return "\n".join([*lines, *(_line(row, widths, aligned) for row in rows)])


def plain_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table without headers, a row of dashes above and below."""
    columns = len(rows[0]) if rows else 0
    widths = [max(len(row[place]) for row in rows) for place in range(columns)]
    dashes = "  ".join("-" * width for width in widths)
    aligned = _aligned(columns, rows, right=False)
    return "\n".join([dashes, *(_line(row, widths, aligned) for row in rows), dashes])


def grid_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in boxes; cells may hold several lines."""
    split = [[cell.split("\n") for cell in row] for row in rows]
    widths = [
        max([len(header) + _PADDING, *(len(line) for row in split for line in row[place])])
        for place, header in enumerate(headers)
    ]
    aligned = _aligned(len(headers), rows, right=False)
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    lines = [rule, _box(headers, widths, aligned), rule.replace("-", "=")]
    for row in split:
        height = max(len(cell) for cell in row)
        lines += [
            _box([cell[number] if number < len(cell) else "" for cell in row], widths, aligned)
            for number in range(height)
        ]
        lines.append(rule)
    return "\n".join(lines)


def _aligned(columns: int, rows: Sequence[Sequence[str]], right: bool) -> list[bool]:
    """Return for each column whether it is aligned right."""
    return [right or (bool(rows) and all(_is_number(row[place]) for row in rows)) for place in range(columns)]


def _box(cells: Sequence[str], widths: Sequence[int], aligned: Sequence[bool]) -> str:
    parts = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, aligned, strict=True)
    )
    return "| " + " | ".join(parts) + " |"


def _line(cells: Sequence[str], widths: Sequence[int], aligned: Sequence[bool]) -> str:
    parts = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, aligned, strict=True)
    )
    return "  ".join(parts).rstrip()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
