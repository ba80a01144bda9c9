"""A change on its way to the switch: its delta, and its steps and those back as the switch's program reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from napalm_sonic.drain import TemporaryDrain
from napalm_sonic.reading import Reading
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.delta import applied, inverse
from railweave.sonic.delta.kept import with_removals
from railweave.sonic.delta.merge import MergeDocument, merge_document
from railweave.sonic.delta.recreate import set_again
from railweave.sonic.delta.steps import PatchStep, Step, rollback_document, undo_steps_of
from railweave.sonic.document import BGPRAW, RunningConfig


@dataclass(frozen=True)
class Work:
    """A commit: the reading before it, the delta and its steps."""

    commit_id: str
    before: Reading
    delta: Delta
    steps: tuple[Step, ...]

    @cached_property
    def after(self) -> RunningConfig:
        """Return the intended configuration."""
        return applied(self.delta, self.before.running)


def step_document(step: Step) -> dict[str, Any]:
    """Return a step as the switch's program reads it."""
    if isinstance(step, PatchStep):
        return {"kind": "patch", "operations": [dict(operation) for operation in step.operations]}
    return dict(rollback_document([step])["steps"][0])


def rollback_of(work: Work, drain: TemporaryDrain | None) -> dict[str, Any]:
    """Return the rollback of a transaction: the steps back, the rows after them, and the merge document for people.

    ``drain`` is the temporary drain that the transaction supersedes.
    """
    before = work.before.running
    reverse = inverse(work.delta)
    undo = merge_document(reverse)
    undrained = before
    if drain is not None and before.frr_document is not None:
        # A reload in a revert boots FRR's file, so the file must not have the lines of the drain.
        undrained = before.with_frr(before.config_db, replace(before.frr_document, drain=drain.before))
    # A reload restores the rows as they were, a live rollback keeps those that must not be deleted.
    restored = before
    if not work.delta.reloads:
        restored = applied(reverse, work.after)
    return {
        "steps": [step_document(step) for step in undo_steps_of(work.delta, undrained, reverse)],
        "rows": part_of(with_rows_set_again(undo, reverse, work.after, before), restored),
        "undo": with_removals(undo, work.delta),
    }


def with_rows_set_again(
    document: MergeDocument, delta: Delta, before: RunningConfig, after: RunningConfig
) -> MergeDocument:
    """Return the rows of a merge document, and those that are deleted and set again to apply its changes.

    ``before`` and ``after`` are the configurations before and after the ``delta``.
    """
    tables = {table: dict(rows) for table, rows in document.items() if table != BGPRAW}
    # A reload writes all rows at once.
    if delta.reloads:
        return tables
    for table, key, fields in set_again(delta, before.config_db, after.config_db):
        row = tables.setdefault(table, {}).setdefault(key, {})
        # None: the document deletes the row.
        if row is not None:
            tables[table][key] = {**fields, **row}
    return tables


def part_of(document: MergeDocument, running: RunningConfig) -> dict[str, Any]:
    """Return the rows and fields of a merge document with their running values, null if they do not exist."""
    part: dict[str, Any] = {}
    for table, rows in document.items():
        if table != BGPRAW and rows:
            running_rows = running.config_db.get(table, {})
            part[table] = {key: _fields_of(running_rows.get(key), fields) for key, fields in rows.items()}
    return part


def _fields_of(row: Mapping[str, Any] | None, fields: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the named ``fields`` of a row; all fields if the merge document deletes the row (``fields`` is None).

    None if there is no row.
    """
    if row is None:
        return None
    if fields is None:
        return dict(row)
    return {name: row.get(name) for name in fields}
