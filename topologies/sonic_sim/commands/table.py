"""The ``simple`` format of tabulate, as SONiC's tables use it: columns two (or more) spaces apart, a row of dashes."""

from collections.abc import Sequence


def simple_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: bool = False, gap: int = 2) -> str:
    """Return the table; ``right`` aligns texts to the right, ``gap`` is the number of spaces between columns."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [
        max(
            [len(header) + (2 if gap == 2 and _needs_room(cells, place, right) else 0)]
            + [len(row[place]) for row in cells]
        )
        for place, header in enumerate(headers)
    ]
    numeric = [bool(cells) and all(_is_number(row[place]) for row in cells) for place in range(len(headers))]
    lines = [_line(headers, widths, numeric, right, gap), (" " * gap).join("-" * width for width in widths)]
    lines += [_line(row, widths, numeric, right, gap) for row in cells]
    return "\n".join(lines)


def _needs_room(cells: Sequence[Sequence[str]], place: int, right: bool) -> bool:
    # tabulate counts two spaces of padding to the header where it is not narrower than the cells
    return False


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool], right: bool, gap: int) -> str:
    parts = [
        cell.rjust(width) if right or number else cell.ljust(width)
        for cell, width, number in zip(cells, widths, numeric, strict=True)
    ]
    return (" " * gap).join(parts).rstrip()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
