"""What a switch held before a change, as the value that it returns to: what is missing of it, and what brings it back.

A failed device, a failed wave, a rollback and a resumed rollout return to a snapshot. They differ in when, not in how.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from railweave.sonic.delta.change import Delta, Edit
from railweave.sonic.delta.daemon_rows import left_behind
from railweave.sonic.delta.delta import applied, judged, lines_of
from railweave.sonic.delta.diff import DeviceDiff, running_sha256, sort_key, unmanaged_rows
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
    """What a switch held before a change.

    ``rows`` is a merge document of the rows that the change touches. ``frr`` is FRR's whole configuration, because a
    document's lines only say what to do to the configuration that they were made for; where it is None FRR is left
    alone. ``lines`` are those that the change removes or adds, some of them perhaps unmanaged; after a reload, which
    boots a file, all of them. ``owned`` tells which rows and lines are ours, ``sha256`` is the digest of all of them
    (``diff.running_sha256``), empty where nobody knows it. What is not touched may be anything: somebody else's work.
    """

    rows: MergeDocument = field(repr=False)
    frr: FrrDocument | None = field(repr=False)
    owned: DeviceConfig = field(repr=False)
    sha256: str = ""
    lines: frozenset[FrrEntry] = field(default=frozenset(), repr=False)

    def difference(self, running: RunningConfig, reason: str = "") -> DeviceDiff:
        """Return what brings a switch that runs ``running`` back; every change carries ``reason``.

        Where FRR's configuration is unknown its lines are left out. Raises DocumentError where the rows are none.
        """
        now, found = running.frr_document, [*edits(self.rows, running)]
        found += left_behind(found, running.config_db)
        if now is not None and self.frr is not None:
            found += frr_edits(*frr_difference(now, self._frr_beside(now, self.frr)))
        delta = judged(sorted(found, key=sort_key), running.config_db, lambda _: reason)
        drained = () if now is None else drained_peers(now)
        return DeviceDiff(
            delta,
            unmanaged_rows(running, self.owned),
            (),
            False,
            drained=drained,
            kept=unrestored_rows(self.rows, running.config_db),
        )

    def _frr_beside(self, now: FrrDocument, before: FrrDocument) -> FrrDocument:
        """Return FRR's configuration to restore: what the change does not touch stays as it is ``now``."""
        held, there = frozenset(before.entries), frozenset(now.entries)
        gone = tuple(one for one in before.entries if one in self.lines and one not in there)
        return with_lines(now, tuple(self.lines - held), gone)

    def missing(self, running: RunningConfig) -> tuple[str, ...]:
        """Return what ``running`` lacks of the snapshot, in names; nothing where the switch holds it."""
        missing = [*dict.fromkeys(_name(edit) for edit in self.difference(running).delta)]
        if running.frr is None and self.frr is not None:
            missing.append(FRR_UNKNOWN)
        if not missing and self.sha256 and running_sha256(running, self.owned) != self.sha256:
            return (CHANGED_BY_OTHERS if self.rows or self.lines else DIGEST,)
        return tuple(missing)

    def is_reached_from(self, running: RunningConfig) -> bool:
        """Tell whether a switch that runs ``running`` holds what the digest is of once it is restored."""
        if not self.sha256 or self.frr is None:
            return True
        restored = running.with_frr(apply(self.rows, running).config_db, self.frr)
        return running_sha256(restored, self.owned) == self.sha256


def snapshot_before(delta: Delta, running: RunningConfig, owned: DeviceConfig) -> Snapshot:
    """Return what a switch that runs ``running`` returns to when ``delta`` has to go back."""
    rows: dict[str, dict[str, dict[str, Any] | None]] = {}
    for change in delta:
        if change.table != FRR_TABLE:
            before = running.config_db.get(change.table, {}).get(change.key)
            row = rows.setdefault(change.table, {}).setdefault(change.key, None if before is None else {})
            if row is not None and before is not None:
                row.update(_fields(before, before if change.field is None else (change.field,)))
    found = () if delta.reloads else set_again(delta, running.config_db, tables_after(delta, running.config_db))
    for table, key, fields in found:
        before = running.config_db.get(table, {}).get(key)
        row = None if before is None else rows.setdefault(table, {}).setdefault(key, {})
        if row is not None and before is not None:
            row.update(_fields(before, fields))
    for table, key in _left_out(delta, running) if delta.reloads else ():
        before = running.config_db[table][key]
        rows.setdefault(table, {})[key] = _fields(before, before)
    lines = frozenset(chain.from_iterable(lines_of(delta)))
    if delta.reloads and running.frr_document is not None:
        lines |= frozenset(running.frr_document.entries)
    return Snapshot(rows, running.frr_document, owned, running_sha256(running, owned), lines)


def _fields(row: Fields, names: Iterable[str]) -> dict[str, Any]:
    return {**dict.fromkeys(names), **json_fields({name: row[name] for name in names if name in row})}


def _left_out(delta: Delta, running: RunningConfig) -> Iterator[tuple[str, str]]:
    """Yield table and key of the rows that a reload leaves out because it removes their ports."""
    after = applied(delta, running).config_db
    kept = without_orphans(after)
    for table, rows in running.config_db.items():
        for key in rows.keys() & after.get(table, {}).keys() - kept.get(table, {}).keys():
            if not is_made_by_sonic(table, key, rows[key]):
                yield table, key


def snapshot_of(document: MergeDocument, running: RunningConfig, owned: DeviceConfig, sha256: str = "") -> Snapshot:
    """Return what a rollback document restores on a switch that runs ``running``.

    Raises DocumentError where FRR's configuration is unknown.
    """
    now, restored = running.frr_document, apply(document, running).frr_document
    if now is None or restored is None:
        raise DocumentError("FRR's running configuration is unknown, so it could not be restored")
    rows = {table: named for table, named in document.items() if table != BGPRAW}
    return Snapshot(rows, restored, owned, sha256, frozenset(chain.from_iterable(frr_difference(now, restored))))


def _name(edit: Edit) -> str:
    shown = edit.shown
    if edit.table == FRR_TABLE:
        return f"FRR {shown.key} / {shown.field}" + ("" if edit.before is None else " (too much)")
    return f"{edit.table}|{shown.key}"
