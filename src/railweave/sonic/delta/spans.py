"""Rows of priority groups and queues, whose keys are ranges: ``Ethernet0|3-4``.

What counts is what each group or queue gets, not how the ranges are cut: ``3`` and ``4`` together equal ``3-4``.
Removing a row clears the profile of all its groups or queues, also of those that another row names (run on 202505;
sonic-swss orchagent/bufferorch.cpp). So rows that are right are kept, rows whose numbers all get the same new value are
changed, and only the rest is removed and added, one row for each group or queue.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import groupby

from railweave.sonic.delta.change import Edit, Op
from railweave.sonic.delta.edits import row_edits
from railweave.sonic.document import same_fields
from railweave.sonic.ownership import numbers_of, port_of, stands_over_others
from railweave.sonic.rows import Fields

SPANNED = frozenset({"BUFFER_PG", "BUFFER_QUEUE", "QUEUE"})

Rows = Mapping[str, Fields]

_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)


def names_no_number(table: str, key: str) -> bool:
    """Tell whether a row of ``SPANNED`` names no valid group or queue; SONiC's model of QUEUE accepts any text."""
    if table not in SPANNED:
        return False
    _, _, number_text = key.rpartition("|")
    match = _RANGE.fullmatch(number_text)
    if match is None:
        return True
    first, last = match.groups()
    # orchagent takes one number or a rising range (sonic-swss orchagent/orch.cpp parseIndexRange).
    return last is not None and int(first) >= int(last)


def span_edits(table: str, running: Rows, intended: Rows, is_ours: Callable[[str], bool]) -> Iterator[Edit]:
    """Yield the edits after which every group or queue has its intended fields; unmanaged rows stay."""
    running_ports = rows_by_port(running)
    intended_ports = rows_by_port(intended)
    for port in running_ports.keys() | intended_ports.keys():
        before = running_ports.get(port, {})
        after = intended_ports.get(port, {})
        if before != after:
            yield from _port_edits(table, before, after, is_ours)


def rows_by_port(rows: Rows) -> dict[str, dict[str, Fields]]:
    """Return the rows of a table by port."""
    ports: dict[str, dict[str, Fields]] = {}
    for key, fields in rows.items():
        ports.setdefault(port_of(key), {})[key] = fields
    return ports


def _port_edits(table: str, running: Rows, intended: Rows, is_ours: Callable[[str], bool]) -> Iterator[Edit]:
    """Yield the edits of one port's rows, after which each group or queue has its intended fields."""
    intended_by_number: dict[int, Fields] = {}
    for key, fields in intended.items():
        intended_by_number.update(dict.fromkeys(numbers_of(key), fields))
    configured: set[int] = set()
    for key, fields in running.items():
        intended_fields = _common_fields(key, intended_by_number, intended)
        # A row whose numbers all get the same fields is kept: to remove it would clear the profile of all of them.
        if intended_fields is not None:
            if not same_fields(intended_fields, fields):
                yield from row_edits(table, key, fields, {**dict.fromkeys(fields), **intended_fields})
            configured.update(_configured_numbers(key, running))
        elif is_ours(key):
            yield Edit(op=Op.REMOVE, table=table, key=key, field=None, before=fields, after=None)
    yield from _missing_rows(table, running, intended, configured)


def _common_fields(key: str, intended_by_number: Mapping[int, Fields], intended: Rows) -> Fields | None:
    """Return the intended fields that all groups or queues of a running row have in common.

    None if they differ, or if one has none. ``intended`` has the rows whose keys name no numbers.
    """
    numbers = numbers_of(key)
    if not numbers:
        return intended.get(key)
    first = intended_by_number.get(numbers[0])
    if first is None:
        return None
    for number in numbers[1:]:
        fields = intended_by_number.get(number)
        if fields is None or not same_fields(fields, first):
            return None
    return first


def _missing_rows(table: str, running: Rows, intended: Rows, configured: Collection[int]) -> Iterator[Edit]:
    """Yield the rows to add for groups and queues that are not among the ``configured`` ones."""
    for key, fields in intended.items():
        numbers = numbers_of(key)
        if not numbers and key not in running:
            yield from row_edits(table, key, None, fields)
        for number in numbers:
            if number not in configured:
                yield from row_edits(table, f"{port_of(key)}|{number}", None, fields)


def _configured_numbers(key: str, rows: Rows) -> Iterable[int]:
    """Return the groups or queues of a running row that certainly have its fields."""
    # If narrower rows name some of its numbers, one may have been removed before, which cleared those numbers.
    if stands_over_others(key, rows):
        return ()
    return numbers_of(key)


def spans_of(numbers: Iterable[int]) -> Iterator[str]:
    """Yield numbers as buffermgrd joins them: successive ones as a span, ``3-4`` (generateIdListFromMap, orch.cpp)."""
    # Successive numbers have the same distance to their position in the sorted list.
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda item: item[1] - item[0]):
        members = [number for _, number in run]
        if len(members) == 1:
            yield str(members[0])
        else:
            yield f"{members[0]}-{members[-1]}"


def cleared_rows(edits: Iterable[Edit], rows: Rows) -> dict[str, list[str]]:
    """Return the rows that ``edits`` of one table remove, each with the staying rows that the removal clears in part.

    ``rows`` is the table after the edits. Removed rows that share no group or queue with staying ones are left out.
    """
    removed = [edit.key for edit in edits if edit.op is Op.REMOVE and edit.field is None]
    if not removed:
        return {}
    ports = rows_by_port(rows)
    cleared: dict[str, list[str]] = {}
    for key in removed:
        numbers = set(numbers_of(key))
        rows_of_port = ports.get(port_of(key), ())
        overlapping = [other_key for other_key in rows_of_port if not numbers.isdisjoint(numbers_of(other_key))]
        if overlapping:
            cleared[key] = overlapping
    return cleared
