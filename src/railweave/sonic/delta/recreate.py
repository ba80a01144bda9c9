"""Rows that are deleted and set again, because orchagent ignores changes of them or clears what another row sets.

Between the two the switch waits until the deletion was processed: a deletion and a write that arrive together become
one write (run on 202505; sonic-swss-common common/consumerstatetable, subscriberstatetable). Meanwhile the queues of
one port at a time have no buffer or scheduler.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from railweave.sonic.delta.change import Edit
from railweave.sonic.delta.daemon_rows import made_between
from railweave.sonic.delta.lossless import LosslessChange, lossless_change
from railweave.sonic.delta.order import ChangePhase
from railweave.sonic.delta.rules import RULES, find_rule
from railweave.sonic.delta.spans import SPANNED, cleared_rows
from railweave.sonic.ownership import PRIORITY_GROUPS, port_of
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Value
from railweave.wording import natural_key

RowName = tuple[str, str]
"""The table and the key of a row."""


class RowField(NamedTuple):
    """A field of a row."""

    table: str
    key: str
    field: str


_RECREATING = frozenset(table for rule in RULES if rule.recreates for table in rule.tables)
"""Tables whose changes may recreate rows: most of a device's thousands of changes are of others."""


@dataclass(frozen=True, slots=True)
class Recreation:
    """Rows of one table that are deleted and set again."""

    table: str
    phase: ChangePhase
    # The keys of the rows.
    deleted: tuple[str, ...]
    # Fields of other rows that refer to them and are removed meanwhile.
    unbound: tuple[RowField, ...] = ()
    # The rows and fields that are set after the wait, by table.
    rows: Mapping[str, Mapping[str, Fields]] = field(default_factory=dict, repr=False)

    @property
    def covered(self) -> Iterator[RowName]:
        """Yield the rows whose edits the recreation carries out."""
        for key in (*self.deleted, *self.rows.get(self.table, ())):
            yield self.table, key


def recreated_rows(edits: Iterable[Edit], before: ConfigDb, after: ConfigDb) -> dict[str, list[str]]:
    """Return the keys, by table, of rows that exist before and after ``edits`` and have to be set again for them."""
    keys: dict[str, dict[str, None]] = {}
    for edit in edits:
        if edit.table not in _RECREATING:
            continue
        rule = find_rule(edit)
        table = rule.recreates if rule else ""
        if table and edit.key in before.get(table, {}) and edit.key in after.get(table, {}):
            keys.setdefault(table, {})[edit.key] = None
    return {table: list(keys_of_table) for table, keys_of_table in keys.items()}


def set_again(edits: Iterable[Edit], before: ConfigDb, after: ConfigDb) -> Iterator[tuple[str, str, Fields]]:
    """Yield table, key and fields of the rows that are set again when ``edits`` turn ``before`` into ``after``.

    No edit names most of these rows. They are missing for a moment, so checks and restores of a change need them too.
    """
    row_edits = [edit for edit in edits if edit.table != FRR_TABLE]
    for recreation in recreations(row_edits, before, after, lossless_change(before, after)):
        for table, rows in recreation.rows.items():
            for key, fields in rows.items():
                yield table, key, fields


def recreations(
    edits: Iterable[Edit], before: ConfigDb, after: ConfigDb, change: LosslessChange
) -> Iterator[Recreation]:
    """Yield the recreations that are needed when ``edits`` turn ``before`` into ``after``.

    ``change`` is what the edits do to lossless priorities.
    """
    edits = tuple(edits)
    for table, keys in recreated_rows(edits, before, after).items():
        yield _recreation(table, keys, before, after)
    for table in sorted(SPANNED):
        table_edits = [edit for edit in edits if edit.table == table]
        if table == PRIORITY_GROUPS:
            table_edits += made_between(edits, before, after)
        yield from _split_ranges(table, table_edits, after.get(table, {}), change)


def _recreation(table: str, keys: Collection[str], before: ConfigDb, after: ConfigDb) -> Recreation:
    """Return the recreation of these rows of a table, with the fields of other rows that refer to them."""
    phase = ChangePhase.CONFIGURE
    if table == "PFC_WD":
        # The watchdog takes the lossless queues of its port when its row is set, so it is set last.
        phase = ChangePhase.RESTORE
    unbound: tuple[RowField, ...] = ()
    if table == "SCHEDULER":
        # orchagent endlessly retries the removal of a row that others refer to (run on 202505).
        unbound = tuple(_scheduler_references(before, keys))
    rows = {table: {key: after[table][key] for key in keys}}
    for reference in unbound:
        fields = after.get(reference.table, {}).get(reference.key, {})
        if reference.field in fields:
            rows.setdefault(reference.table, {})[reference.key] = {reference.field: fields[reference.field]}
    return Recreation(table, phase, tuple(keys), unbound, rows)


def _scheduler_references(tables: ConfigDb, schedulers: Collection[Value]) -> Iterator[RowField]:
    """Yield the fields of queues and ports that refer to these schedulers."""
    for table in ("QUEUE", "PORT_QOS_MAP"):
        for key, fields in tables.get(table, {}).items():
            if fields.get("scheduler") in schedulers:
                yield RowField(table, key, "scheduler")


class _PortInPhase(NamedTuple):
    """A port whose rows are set again in a phase of the change."""

    phase: ChangePhase
    port: str

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Return the order in which ports are worked on."""
        return self.phase, natural_key(self.port)


def _split_ranges(
    table: str, edits: Collection[Edit], intended: Mapping[str, Fields], change: LosslessChange
) -> Iterator[Recreation]:
    """Yield a recreation for each port with removed rows that clear groups or queues of rows that stay.

    ``edits`` are those of the table, and ``intended`` are its rows after them.
    """
    cleared = cleared_rows(edits, intended)
    if not cleared:
        return
    # A priority stays lossless until its code points have moved, so these rows are removed late.
    late_keys = {edit.key for edit in edits if change.takes_away(edit)} & cleared.keys()
    late_keys = _with_related(late_keys, cleared)
    removed_rows: dict[_PortInPhase, list[str]] = {}
    for key in cleared:
        phase = ChangePhase.REMOVE if key in late_keys else ChangePhase.CONFIGURE
        removed_rows.setdefault(_PortInPhase(phase, port_of(key)), []).append(key)
    for port_in_phase in sorted(removed_rows, key=lambda port_in_phase: port_in_phase.sort_key):
        removed = removed_rows[port_in_phase]
        staying = dict.fromkeys(chain.from_iterable(cleared[key] for key in removed))
        # orchagent ignores a write of a row that it has already, so the rows that stay are deleted as well.
        deleted = (*removed, *staying)
        rows = {table: {key: intended[key] for key in staying}}
        yield Recreation(table, port_in_phase.phase, deleted, rows=rows)


def _with_related(keys: set[str], cleared: Mapping[str, list[str]]) -> set[str]:
    """Return removed rows and all others that clear the same rows, directly or through further removed rows.

    ``cleared`` has the rows that each removed row clears.
    """
    related = keys
    while True:
        cleared_by_related = set(chain.from_iterable(cleared[key] for key in related))
        wider = {key for key, rows in cleared.items() if not cleared_by_related.isdisjoint(rows)}
        if wider == related:
            return related
        related = wider
