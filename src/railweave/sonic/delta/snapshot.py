"""The configuration of a switch before a change: what is missing of it, and the changes that restore it.

A failed device, a failed wave, a rollback and a resumed rollout all return to a snapshot in this way.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from railweave.sonic.delta.change import Change, Delta, Edit
from railweave.sonic.delta.daemon_rows import left_behind
from railweave.sonic.delta.delta import applied, judged, lines_of
from railweave.sonic.delta.diff import DeviceDiff, sort_key, unmanaged_rows
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.delta.edits import frr_edits
from railweave.sonic.delta.kept import unrestored_rows
from railweave.sonic.delta.merge import MergeDocument, apply, edits
from railweave.sonic.delta.recreate import set_again
from railweave.sonic.delta.steps import without_orphans
from railweave.sonic.delta.tables import tables_after
from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig, json_fields
from railweave.sonic.frr import FrrDocument, FrrEntry, frr_difference, with_lines
from railweave.sonic.frr.drain import drained_peers
from railweave.sonic.ownership import is_made_by_sonic
from railweave.sonic.rows import FRR_TABLE, DeviceConfig, Fields

FRR_UNKNOWN = "FRR (it does not answer)"
CHANGED_BY_OTHERS = "managed rows or FRR lines that the change does not touch (somebody else changed them)"
DIGEST = "what its managed rows were (their digest differs)"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a switch held before a change. Rows and lines that the change does not touch may be anybody's."""

    # A merge document of the rows that the change touches.
    rows: MergeDocument = field(repr=False)
    # FRR's whole configuration, because the lines of a merge document only fit the configuration that they were made
    # for; None leaves FRR alone.
    frr: FrrDocument | None = field(repr=False)
    # Tells which rows and lines are ours.
    owned: DeviceConfig = field(repr=False)
    # The digest of all rows and lines that are ours (``digest.running_sha256``); empty if it is unknown.
    sha256: str = ""
    # The lines that the change removes or adds, some of them perhaps unmanaged; all lines for a reload, which boots a
    # file.
    lines: frozenset[FrrEntry] = field(default=frozenset(), repr=False)

    def difference(self, running: RunningConfig, reason: str = "") -> DeviceDiff:
        """Return the changes that restore the snapshot on a switch that runs ``running``; their reason is ``reason``.

        If FRR's running configuration is unknown, FRR is left out. Raises DocumentError if ``rows`` is not valid.
        """
        running_frr = running.frr_document
        restoring = [*edits(self.rows, running)]
        # buffermgrd's joined rows would stay and refer to groups that these edits remove.
        restoring += left_behind(restoring, running.config_db)
        drained: tuple[str, ...] = ()
        if running_frr is not None:
            drained = drained_peers(running_frr)
            if self.frr is not None:
                restored_frr = self._restored_frr(running_frr, self.frr)
                restoring += frr_edits(*frr_difference(running_frr, restored_frr))
        delta = judged(sorted(restoring, key=sort_key), running.config_db, reason)
        return DeviceDiff(
            delta,
            unmanaged_rows(running, self.owned),
            conflicts=(),
            unprovisioned=False,
            drained=drained,
            kept=unrestored_rows(self.rows, running.config_db),
        )

    def _restored_frr(self, running: FrrDocument, before: FrrDocument) -> FrrDocument:
        """Return FRR's configuration to restore: ``before``, with running lines that the change does not touch."""
        running_lines = frozenset(running.entries)
        missing = tuple(line for line in before.entries if line in self.lines and line not in running_lines)
        added = self.lines - frozenset(before.entries)
        return with_lines(running, tuple(added), missing)

    def missing(self, running: RunningConfig) -> tuple[str, ...]:
        """Return what differs from the snapshot on a switch that runs ``running``; empty if the switch holds it.

        These are names of rows and lines, or a sentence if only the digest differs or FRR's configuration is unknown.
        """
        missing = [*dict.fromkeys(_name(edit) for edit in self.difference(running).delta)]
        if running.frr is None and self.frr is not None:
            missing.append(FRR_UNKNOWN)
        if missing or not self.sha256:
            return tuple(missing)
        if running_sha256(running, self.owned) == self.sha256:
            return ()
        # All that the change touched is restored, so somebody else changed another of our rows.
        if self.rows or self.lines:
            return (CHANGED_BY_OTHERS,)
        return (DIGEST,)

    def is_reached_from(self, running: RunningConfig) -> bool:
        """Tell whether restoring the snapshot on ``running`` gives the configuration of its digest."""
        if not self.sha256 or self.frr is None:
            return True
        restored = running.with_frr(apply(self.rows, running).config_db, self.frr)
        return running_sha256(restored, self.owned) == self.sha256


_RowsBefore = dict[str, dict[str, dict[str, Any] | None]]
"""A merge document under construction, without FRR."""


def snapshot_before(delta: Delta, running: RunningConfig, owned: DeviceConfig) -> Snapshot:
    """Return the snapshot to which a switch that runs ``running`` returns when ``delta`` is reverted.

    ``owned`` tells which rows and lines are ours.
    """
    rows: _RowsBefore = {}
    for change in delta:
        if change.table != FRR_TABLE:
            _remember_change(rows, change, running)
    if delta.reloads:
        # The reload drops these rows as a whole.
        for table, key in _left_out(delta, running):
            before = running.config_db[table][key]
            rows.setdefault(table, {})[key] = _fields(before, before)
    else:
        _remember_recreated(rows, delta, running)
    lines = frozenset(chain.from_iterable(lines_of(delta)))
    if delta.reloads and running.frr_document is not None:
        # A reload boots FRR from a file, so it may lose any line.
        lines |= frozenset(running.frr_document.entries)
    return Snapshot(rows, running.frr_document, owned, running_sha256(running, owned), lines)


def _remember_change(rows: _RowsBefore, change: Change, running: RunningConfig) -> None:
    """Add to ``rows`` what reverts one change of a row."""
    before = running.config_db.get(change.table, {}).get(change.key)
    table_rows = rows.setdefault(change.table, {})
    if before is None:
        # A row that did not exist is removed again.
        table_rows.setdefault(change.key, None)
        return
    row = table_rows.setdefault(change.key, {})
    if row is not None:
        names: Iterable[str] = before
        if change.field is not None:
            names = (change.field,)
        row.update(_fields(before, names))


def _remember_recreated(rows: _RowsBefore, delta: Delta, running: RunningConfig) -> None:
    """Add to ``rows`` the rows that ``delta`` deletes and sets again; a change that stops in between loses them."""
    for table, key, fields in set_again(delta, running.config_db, tables_after(delta, running.config_db)):
        before = running.config_db.get(table, {}).get(key)
        if before is None:
            continue
        row = rows.setdefault(table, {}).setdefault(key, {})
        if row is not None:
            row.update(_fields(before, fields))


def _fields(row: Fields, names: Iterable[str]) -> dict[str, Any]:
    """Return these fields of a row as a merge document has them: None for a field that the row does not have."""
    present = json_fields({name: row[name] for name in names if name in row})
    return {**dict.fromkeys(names), **present}


def _left_out(delta: Delta, running: RunningConfig) -> Iterator[tuple[str, str]]:
    """Yield table and key of the rows that a reload leaves out because ``delta`` removes their ports."""
    after = applied(delta, running).config_db
    kept = without_orphans(after)
    for table, rows in running.config_db.items():
        rows_after = after.get(table, {})
        kept_rows = kept.get(table, {})
        for key, fields in rows.items():
            is_left_out = key in rows_after and key not in kept_rows
            if is_left_out and not is_made_by_sonic(table, key, fields):
                yield table, key


def snapshot_of(document: MergeDocument, running: RunningConfig, owned: DeviceConfig, sha256: str = "") -> Snapshot:
    """Return the snapshot that a rollback document restores on a switch that runs ``running``.

    ``owned`` tells which rows and lines are ours; ``sha256`` is the digest of the restored ones, empty if it is
    unknown. Raises DocumentError if FRR's configuration is unknown.
    """
    running_frr = running.frr_document
    restored_frr = apply(document, running).frr_document
    if running_frr is None or restored_frr is None:
        raise DocumentError("FRR's running configuration is unknown, so it could not be restored")
    rows = {table: table_rows for table, table_rows in document.items() if table != BGPRAW}
    removed, added = frr_difference(running_frr, restored_frr)
    return Snapshot(rows, restored_frr, owned, sha256, frozenset((*removed, *added)))


def _name(edit: Edit) -> str:
    """Return the name of the row or line of FRR that an edit restores, secrets hidden."""
    shown = edit.shown
    if edit.table != FRR_TABLE:
        return f"{edit.table}|{shown.key}"
    if edit.before is None:
        return f"FRR {shown.key} / {shown.field}"
    return f"FRR {shown.key} / {shown.field} (too much)"
