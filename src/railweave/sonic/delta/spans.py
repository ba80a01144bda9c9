"""Rows of priority groups and queues, whose keys are ranges: ``Ethernet0|3-4``.

What counts is what each group or queue gets, not how rows are cut: ``3`` and ``4`` say what ``3-4`` says. A row that is
removed takes the profile of all its groups or queues away, also of those that another row names (run on 202505;
sonic-swss orchagent/bufferorch.cpp). So rows are kept where they say what is intended, changed where one value is
intended for all of them, and only what is left is removed and added.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.edits import row_edits
from railweave.sonic.document import same_fields
from railweave.sonic.ownership import is_left_by_sonic, numbers_of
from railweave.sonic.rows import Fields

SPANNED = frozenset({"BUFFER_PG", "BUFFER_QUEUE", "QUEUE"})

Rows = Mapping[str, Fields]


def overlap(one: str, other: str) -> bool:
    """Tell whether two rows are of one port and have a group or queue in common."""
    same = one.partition("|")[0] == other.partition("|")[0]
    return same and not set(numbers_of(one)).isdisjoint(numbers_of(other))


def span_edits(table: str, running: Rows, intended: Rows, is_ours: Callable[[str], bool]) -> Iterator[Edit]:
    """Yield the edits after which every group or queue gets what ``intended`` says; unmanaged rows stay."""
    had, wants = _by_port(running), _by_port(intended)
    for port in had.keys() | wants.keys():
        before, after = had.get(port, {}), wants.get(port, {})
        if before != after:
            yield from _port_edits(table, before, after, is_ours)


def _by_port(rows: Rows) -> dict[str, dict[str, Fields]]:
    ports: dict[str, dict[str, Fields]] = {}
    for key, fields in rows.items():
        ports.setdefault(key.partition("|")[0], {})[key] = fields
    return ports


def _port_edits(table: str, running: Rows, intended: Rows, is_ours: Callable[[str], bool]) -> Iterator[Edit]:
    intended_at = {number: fields for key, fields in intended.items() for number in numbers_of(key)}
    covered: set[int] = set()
    for key, fields in running.items():
        holds = [intended_at[number] for number in numbers_of(key) if number in intended_at]
        if holds and is_left_by_sonic(table, key, running):
            # It stays, and says at the next boot what holds now.
            yield from row_edits(table, key, fields, holds[0])
            continue
        targets = [intended_at.get(number) for number in numbers_of(key)] or [intended.get(key)]
        target = targets[0]
        if all(one is not None and same_fields(one, fields) for one in targets):
            covered.update(numbers_of(key))
        elif target is not None and all(one is not None and same_fields(one, target) for one in targets):
            yield from row_edits(table, key, fields, {**dict.fromkeys(fields), **target})
            covered.update(numbers_of(key))
        elif is_ours(key):
            yield Edit(Op.REMOVE, table, key, None, fields, None)
    for key, fields in intended.items():
        if not numbers_of(key):
            yield from () if key in running else row_edits(table, key, None, fields)
        for run in _runs(number for number in numbers_of(key) if number not in covered):
            yield from row_edits(table, f"{key.partition('|')[0]}|{_span(run)}", None, fields)


def _runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        yield [number for _, number in run]


def _span(run: list[int]) -> str:
    return str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}"
