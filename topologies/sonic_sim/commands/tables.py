"""The table formats of tabulate that SONiC's commands use."""

from collections.abc import Sequence

from tabulate import tabulate

Rows = Sequence[Sequence[str]]


def table(headers: Sequence[str], rows: Rows, *, right: bool = False, numbers: str = "right") -> str:
    """Return a table in tabulate's ``simple`` form; ``right`` aligns texts to the right too."""
    return tabulate(rows, headers, tablefmt="simple", stralign="right" if right else "left", numalign=numbers)


def grid(headers: Sequence[str], rows: Rows) -> str:
    """Return a table in boxes; cells may hold several lines."""
    return tabulate(rows, headers, tablefmt="grid")


def plain_table(rows: Rows) -> str:
    """Return a table without headers, a row of dashes above and below."""
    return tabulate(rows)
