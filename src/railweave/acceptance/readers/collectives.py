"""Rows of nccl-tests and rccl-tests as values: bus bandwidth by size, out of place and in place, cycles apart."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import NamedTuple

from railweave.acceptance.readings import Answer, Scalar


class CollectiveRow(NamedTuple):
    """A measurement of one size; a value that is not a finite number is None."""

    size: int
    in_place: bool
    busbw: float | None
    time_us: float | None
    # Wrong elements; None if the run did not check them.
    wrong: int | None
    cycle: int = 0
    # Further values by name, such as those of iterations.
    more: Mapping[str, float] = {}


def collective_values(rows: Sequence[CollectiveRow]) -> tuple[Answer, dict[str, Scalar]]:
    """Return the answer and the values of the rows of a file.

    ``busbw_GBps_at_SIZE_oop`` (``_ip`` in place) is that of the slowest cycle, so that a slow cycle is never averaged
    away. A file with one size has the same values without ``_at_SIZE``, and one with one size and place also without
    the place.
    """
    groups: dict[tuple[int, str], list[CollectiveRow]] = defaultdict(list)
    for row in rows:
        place = "ip" if row.in_place else "oop"
        groups[row.size, place].append(row)
    sizes = {row.size for row in rows}
    cycles = {row.cycle for row in rows}
    several_cycles = len(cycles) > 1
    values: dict[str, Scalar] = {"rows": len(rows), "wrong": Answer.NOT_MEASURED.value}
    if several_cycles:
        values["cycles"] = len(cycles)
    for (size, place), group in groups.items():
        values |= _group_values(group, f"_at_{size}", f"_{place}", several_cycles=several_cycles)
        if len(sizes) == 1:
            values["size"] = size
            values |= _group_values(group, "", f"_{place}", several_cycles=several_cycles)
        if len(groups) == 1:
            values |= _group_values(group, "", "", several_cycles=False)
    wrong_counts = [row.wrong for row in rows if row.wrong is not None]
    if wrong_counts:
        values["wrong"] = sum(wrong_counts)
    return _answer(rows), values


def _answer(rows: Sequence[CollectiveRow]) -> Answer:
    """Return the answer of a file: wrong data, a rate that cannot be true, no rate at all (or no row), or OK."""
    if any(row.wrong for row in rows):
        return Answer.ERROR
    if any(row.busbw is None or row.busbw < 0 for row in rows):
        return Answer.INVALID
    # With one rank, or without a network, the bus carries nothing.
    if not any(row.busbw for row in rows):
        return Answer.NOT_MEASURED
    return Answer.OK


def _group_values(rows: list[CollectiveRow], size: str, place: str, *, several_cycles: bool) -> dict[str, Scalar]:
    """Return the values of all cycles of one size and place; their names end with ``size`` and ``place``."""
    values: dict[str, Scalar] = {}
    rates = [row.busbw for row in rows if row.busbw is not None and row.busbw >= 0]
    times = [row.time_us for row in rows if row.time_us is not None]
    if rates:
        values[f"busbw_GBps{size}{place}"] = min(rates)
    if times:
        values[f"time_us{size}{place}"] = max(times)
    for row in rows:
        values |= {f"{name}{size}{place}": value for name, value in row.more.items()}
        if several_cycles and row.busbw is not None:
            values[f"busbw_GBps{size}_cycle{row.cycle}{place}"] = row.busbw
    if len(rates) > 1 and any(rates):
        values[f"cv_pct{size}{place}"] = round(stdev(rates) / mean(rates) * 100, 2)
    return values
