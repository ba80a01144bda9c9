"""The delta of one device: built from edits, applied to a configuration, and inverted.

Every change holds the value that it replaces, so the inverse needs nothing else: before and after exchanged, in the
opposite order. NAPALM's merge documents (``merge``) are one written form of a delta.
"""

from array import array
from collections.abc import Hashable, Iterable, Iterator, Sequence
from hashlib import sha256
from operator import is_

from railweave.sonic.delta.change import Change, Delta, Disruption, Edit, Method, Op
from railweave.sonic.delta.edits import removal_edits
from railweave.sonic.delta.methods import classify, treatments, written
from railweave.sonic.delta.rules import Treatment
from railweave.sonic.delta.tables import tables_after
from railweave.sonic.document import RunningConfig
from railweave.sonic.frr import FrrEntry, with_lines
from railweave.sonic.rows import FRR_TABLE, ConfigDb

NO_REASON = ""


def judged(edits: Sequence[Edit], config_db: ConfigDb, reason: str = NO_REASON) -> Delta:
    """Return the delta of ``edits`` on a switch with these running tables; all of them have the same ``reason``."""
    return treated(edits, treatments(edits, config_db), [reason] * len(edits))


def treated(edits: Iterable[Edit], treatments: Iterable[Treatment], reasons: Iterable[str]) -> Delta:
    """Return the delta of edits, their treatments, and the reasons why they are made."""
    return Delta(
        tuple(
            _change(edit, treatment.disruption, treatment.method, reason)
            for edit, treatment, reason in zip(edits, treatments, reasons, strict=True)
        )
    )


def _change(edit: Edit, disruption: Disruption, method: Method, reason: str) -> Change:
    return Change(edit.op, edit.table, edit.key, edit.field, edit.before, edit.after, disruption, method, reason)


def inverse(delta: Delta) -> Delta:
    """Return the delta that reverts ``delta``: its changes in the opposite order, with before and after exchanged.

    The disruption of each is classified again, by the same rules. What was applied without a reload is reverted without
    one, and never by a patch, which a switch may refuse.
    """
    reverting: list[Change] = []
    for change in reversed(delta.changes):
        reverting += _reverting_changes(change)
    return Delta(tuple(reverting))


def _reverting_changes(change: Change) -> Iterator[Change]:
    """Yield the changes that revert one change; several if a removal has to write neutral values."""
    revert = Edit(
        op=change.op.inverse,
        table=change.table,
        key=change.key,
        field=change.field,
        before=change.after,
        after=change.before,
    )
    if change.method is Method.RELOAD:
        yield _change(revert, change.disruption, Method.RELOAD, change.reason)
        return
    edits: Iterable[Edit] = (revert,)
    if revert.op is Op.REMOVE and revert.table != FRR_TABLE:
        edits = removal_edits(revert)
    for edit in edits:
        treatment = written(classify(edit))
        if treatment.method is Method.RELOAD:
            # Removing what was just added by a write needs no reload, even where the rules ask for one.
            yield _change(edit, change.disruption, Method.WRITE, change.reason)
        else:
            yield _change(edit, treatment.disruption, treatment.method, change.reason)


class Sharing:
    """Keeps one object for equal deltas of many devices, and one for equal changes.

    Switches of a fabric have most changes in common, also those that remove the factory configuration.
    """

    def __init__(self, deltas: Iterable[Delta] = ()) -> None:
        """Start with the objects of ``deltas``; use one instance for all deltas of a fabric."""
        self._changes: dict[Hashable, Change] = {}
        self._deltas: dict[bytes, Delta] = {}
        # The devices of a plan share most of theirs already.
        for delta in {id(delta): delta for delta in deltas}.values():
            self(delta)

    def __call__(self, delta: Delta) -> Delta:
        """Return the shared delta that is equal to ``delta``."""
        changes = tuple(self._changes.setdefault(_identity(change), change) for change in delta)
        # A digest takes 32 bytes; the numbers themselves took 22 KiB for each of a thousand fresh switches.
        digest = sha256(array("Q", map(id, changes))).digest()
        shared = self._deltas.get(digest)
        if shared is None:
            # The deltas of a plan consist of shared changes already, so they need no copy.
            has_shared_changes = all(map(is_, changes, delta))
            shared = delta if has_shared_changes else Delta(changes)
            self._deltas[digest] = shared
        return shared


def _identity(change: Change) -> Hashable:
    """Return a hashable value that is equal for equal changes."""
    if not isinstance(change.before, dict) and not isinstance(change.after, dict):
        return change
    # A row's fields are a dict, which cannot be hashed.
    before: Hashable = change.before
    if isinstance(change.before, dict):
        before = tuple(change.before.items())
    after: Hashable = change.after
    if isinstance(change.after, dict):
        after = tuple(change.after.items())
    return (change.op, change.table, change.key, before, after, change.disruption, change.method, change.reason)


def lines_of(edits: Iterable[Edit]) -> tuple[tuple[FrrEntry, ...], tuple[FrrEntry, ...]]:
    """Return the FRR lines that are removed, and those that are added."""
    removed: list[FrrEntry] = []
    added: list[FrrEntry] = []
    for edit in edits:
        if edit.table == FRR_TABLE:
            lines = removed if edit.op is Op.REMOVE else added
            lines.append(FrrEntry(edit.key, edit.field or ""))
    return tuple(removed), tuple(added)


def applied(edits: Iterable[Edit], running: RunningConfig) -> RunningConfig:
    """Return the configuration after ``edits``.

    Raises DocumentError if they change lines of FRR and FRR's running configuration is unknown.
    """
    edits = tuple(edits)
    rows = tables_after(edits, running.config_db)
    removed, added = lines_of(edits)
    if not removed and not added:
        return running.with_tables(rows)
    before = running.known_frr("a change of it cannot be judged")
    return running.with_frr(rows, with_lines(before, removed, added))
