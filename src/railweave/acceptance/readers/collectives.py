"""Rows of nccl-tests and rccl-tests as values: bus bandwidth by size, out of place and in place, cycles apart."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import mean, stdev
from typing import NamedTuple

from railweave.acceptance.readings import Answer, Scalar


class CollectiveRow(NamedTuple):
    """A measurement of one size; what is no finite number is None, and ``wrong`` too where nobody checked."""

    size: int
    in_place: bool
    busbw: float | None
    time_us: float | None
    wrong: int | None
    cycle: int = 0
    # Further values by name, such as those of iterations.
    more: Mapping[str, float] = {}


def collective_values(rows: Iterable[CollectiveRow]) -> tuple[Answer, dict[str, Scalar]]:
    """Return the answer and values of ``rows``.

    ``busbw_GBps_at_SIZE_oop`` is that of the slowest cycle; a slow cycle is never averaged away. Names are shorter
    where there is one size, or one row alone.
    """
    kept = list(rows)
    sizes = {row.size for row in kept}
    cycles = {row.cycle for row in kept}
    groups: dict[tuple[int, bool], list[CollectiveRow]] = defaultdict(list)
    for row in kept:
        groups[row.size, row.in_place].append(row)
    values: dict[str, Scalar] = {"rows": len(kept)}
    if len(sizes) == 1:
        values["size"] = next(iter(sizes))
    if len(cycles) > 1:
        values["cycles"] = len(cycles)
    for (size, in_place), members in groups.items():
        place = "ip" if in_place else "oop"
        suffixes = [f"_at_{size}_{place}"]
        if len(sizes) == 1:
            suffixes.append(f"_{place}")
        if len(groups) == 1:
            suffixes.append("")
        for suffix in suffixes:
            values.update(_group_values(members, suffix, several_cycles=len(cycles) > 1))
    checked = [row.wrong for row in kept if row.wrong is not None]
    values["wrong"] = Answer.NOT_MEASURED.value
    if checked:
        values["wrong"] = sum(checked)
    return _answer(kept), values


def _answer(rows: list[CollectiveRow]) -> Answer:
    if any(row.wrong for row in rows):
        return Answer.ERROR
    if not rows:
        return Answer.NOT_MEASURED
    if any(row.busbw is None or row.busbw < 0 for row in rows):
        return Answer.INVALID
    # A rank alone, or no network: the bus carries nothing.
    if not any(row.busbw for row in rows):
        return Answer.NOT_MEASURED
    return Answer.OK


def _group_values(rows: list[CollectiveRow], suffix: str, *, several_cycles: bool) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {}
    rates = [row.busbw for row in rows if row.busbw is not None and row.busbw >= 0]
    if rates:
        values[f"busbw_GBps{suffix}"] = min(rates)
    times = [row.time_us for row in rows if row.time_us is not None]
    if times:
        values[f"time_us{suffix}"] = max(times)
    for row in rows:
        values.update({f"{name}{suffix}": value for name, value in row.more.items()})
        if several_cycles and row.busbw is not None:
            size, _, place = suffix.rpartition("_")
            values[f"busbw_GBps{size}_cycle{row.cycle}_{place}"] = row.busbw
    if len(rates) > 1 and mean(rates) > 0:
        values[f"cv_pct{suffix}"] = round(stdev(rates) / mean(rates) * 100, 2)
    return values
