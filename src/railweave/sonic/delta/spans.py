"""Rows of priority groups and queues, whose keys are ranges: ``Ethernet0|3-4``.

What counts is what each group or queue gets, not how rows are cut: ``3`` and ``4`` say what ``3-4`` says. A row that is
removed takes the profile of all its groups or queues away, also of those that another row names (run on 202505;
sonic-swss orchagent/bufferorch.cpp). So rows are kept where they say what is intended, changed where one value is
intended for all of them, and only what is left is removed and added, each group and queue by a row of its own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.edits import row_edits
from railweave.sonic.document import same_fields
from railweave.sonic.ownership import numbers_of, port_of, stands_over_others
from railweave.sonic.rows import Fields

SPANNED = frozenset({"BUFFER_PG", "BUFFER_QUEUE", "QUEUE"})

Rows = Mapping[str, Fields]


_NUMBERS = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)


def names_no_number(table: str, key: str) -> bool:
    """Tell whether a row's key names no group or queue: orchagent takes one number or a rising range, nothing else, and
    the YANG model of QUEUE takes any text (sonic-swss orchagent/orch.cpp parseIndexRange; sonic-queue.yang)."""
    if table not in SPANNED:
        return False
    found = _NUMBERS.fullmatch(key.rpartition("|")[2])
    return found is None or (found[2] is not None and int(found[1]) >= int(found[2]))


def span_edits(table: str, running: Rows, intended: Rows, is_ours: Callable[[str], bool]) -> Iterator[Edit]:
    """Yield the edits after which every group or queue gets what ``intended`` says; unmanaged rows stay."""
    had, wants = rows_by_port(running), rows_by_port(intended)
    for port in had.keys() | wants.keys():
        before, after = had.get(port, {}), wants.get(port, {})
        if before != after:
            yield from _port_edits(table, before, after, is_ours)


def rows_by_port(rows: Rows) -> dict[str, dict[str, Fields]]:
    """Return the rows of a table by port."""
    ports: dict[str, dict[str, Fields]] = {}
    for key, fields in rows.items():
        ports.setdefault(port_of(key), {})[key] = fields
    return ports


def _port_edits(table: str, running: Rows, intended: Rows, is_ours: Callable[[str], bool]) -> Iterator[Edit]:
    intended_at = {number: fields for key, fields in intended.items() for number in numbers_of(key)}
    covered: set[int] = set()
    for key, fields in running.items():
        targets = [intended_at.get(number) for number in numbers_of(key)] or [intended.get(key)]
        first = targets[0]
        if all(target is not None and same_fields(target, fields) for target in targets):
            covered.update(_covered(key, running))
        elif first is not None and all(target is not None and same_fields(target, first) for target in targets):
            yield from row_edits(table, key, fields, {**dict.fromkeys(fields), **first})
            covered.update(_covered(key, running))
        elif is_ours(key):
            yield Edit(Op.REMOVE, table, key, None, fields, None)
    for key, fields in intended.items():
        if not numbers_of(key):
            yield from () if key in running else row_edits(table, key, None, fields)
        for number in numbers_of(key):
            if number not in covered:
                yield from row_edits(table, f"{port_of(key)}|{number}", None, fields)


def _covered(key: str, rows: Rows) -> Iterable[int]:
    """Return the groups or queues that have what a row says: of one that stands over others nobody knows, because what
    was removed under it has nothing any more."""
    return () if stands_over_others(key, rows) else numbers_of(key)


def spans_of(numbers: Iterable[int]) -> Iterator[str]:
    """Yield numbers as buffermgrd joins them: neighbors in one span, ``3-4`` (generateIdListFromMap, orch.cpp)."""
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        yield str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}"


def cleared_rows(edits: Iterable[Edit], rows: Rows) -> dict[str, list[str]]:
    """Return the rows that ``edits`` of one table remove although others of ``rows``, its table afterwards, name some
    of their groups or queues, with those others: what they say is cleared with the removal."""
    removed = [edit.key for edit in edits if edit.op is Op.REMOVE and edit.field is None]
    if not removed:
        return {}
    ports = rows_by_port(rows)
    cleared: dict[str, list[str]] = {}
    for key in removed:
        numbers = set(numbers_of(key))
        others = [other for other in ports.get(port_of(key), ()) if not numbers.isdisjoint(numbers_of(other))]
        if others:
            cleared[key] = others
    return cleared
