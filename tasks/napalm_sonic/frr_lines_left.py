"""FRR's lines after a change, compared with what its delta intends."""

from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.delta import lines_of
from railweave.sonic.frr import FrrDocument, FrrEntry, frr_difference
from railweave.sonic.rows import FRR_TABLE


def changes_frr(delta: Delta) -> bool:
    """Tell whether a delta changes lines of FRR."""
    return any(change.table == FRR_TABLE for change in delta)


def frr_unmet(delta: Delta, actual: FrrDocument | None, intended: FrrDocument | None) -> list[str]:
    """Describe the FRR lines that differ from ``delta``; lines that others changed meanwhile do not count."""
    if actual is None or intended is None:
        return ["FRR (no answer)"]
    surplus, missing = lines_left(delta, actual, intended)
    lines = [f"FRR {entry.context} / {entry.shown}" for entry in missing]
    return lines + [f"FRR {entry.context} / {entry.shown} (too much)" for entry in surplus]


def lines_left(
    delta: Delta, actual: FrrDocument, intended: FrrDocument
) -> tuple[tuple[FrrEntry, ...], tuple[FrrEntry, ...]]:
    """Return the lines that ``delta`` removes and FRR still has, and those that it adds and FRR lacks.

    A reload boots FRR's file, so after it all intended lines must be there, not only the added ones.
    """
    removed, added = map(frozenset, lines_of(delta))
    surplus, missing = frr_difference(actual, intended)
    return (
        tuple(entry for entry in surplus if entry in removed),
        tuple(entry for entry in missing if delta.reloads or entry in added),
    )
