"""The delta of one device: made of edits, carried out on a value, and inverted.

Every change of a delta names what it replaces, so its inverse needs nothing else: before and after exchanged, in the
opposite order. NAPALM's merge documents (``merge``) are one way to write a delta down.
"""

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from hashlib import sha256

from railweave.sonic.delta.change import Change, Delta, Disruption, Edit, Method, Op
from railweave.sonic.delta.edits import removal_edits
from railweave.sonic.delta.methods import Treatment, classify, settle, written
from railweave.sonic.delta.tables import tables_after
from railweave.sonic.document import RunningConfig
from railweave.sonic.frr import FrrEntry, with_lines
from railweave.sonic.rows import FRR_TABLE, ConfigDb

NO_REASON = ""


def judged(edits: Sequence[Edit], config_db: ConfigDb, reason: Callable[[Edit], str] = lambda _: NO_REASON) -> Delta:
    """Return the delta of ``edits`` on a device with these running tables: the only place where a delta is judged."""
    return treated(edits, settle(edits, config_db), reason)


def treated(edits: Iterable[Edit], treatments: Iterable[Treatment], reason: Callable[[Edit], str]) -> Delta:
    """Return edits with what each does to traffic, how it goes, and why it is made."""
    return Delta(
        tuple(
            _change(edit, treatment.disruption, treatment.method, reason(edit))
            for edit, treatment in zip(edits, treatments, strict=True)
        )
    )


def _change(edit: Edit, disruption: Disruption, method: Method, reason: str) -> Change:
    return Change(edit.op, edit.table, edit.key, edit.field, edit.before, edit.after, disruption, method, reason)


def inverse(delta: Delta) -> Delta:
    """Return the delta that takes ``delta`` back: each change with before and after exchanged, in the opposite order.

    Disruption is of the inverse, from the same table of rules. What came without a reload goes without one, and never
    by a patch, which a switch may refuse.
    """
    return Delta(tuple(back for change in reversed(delta.changes) for back in _exchanged(change)))


def _exchanged(change: Change) -> Iterator[Change]:
    back = Edit(change.op.inverse, change.table, change.key, change.field, change.after, change.before)
    if change.method is Method.RELOAD:
        yield _change(back, change.disruption, Method.RELOAD, change.reason)
        return
    removes = back.op is Op.REMOVE and back.table != FRR_TABLE
    for edit in removal_edits(back) if removes else (back,):
        treatment = written(classify(edit))
        if treatment.method is Method.RELOAD:
            yield _change(edit, change.disruption, Method.WRITE, change.reason)
        else:
            yield _change(edit, treatment.disruption, treatment.method, change.reason)


class Sharing:
    """Keeps one object for equal deltas of many devices, and one for equal changes: a fabric's switches have most of
    them in common, and what factories leave on them too. Use one as long as deltas are being found."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._changes: dict[Hashable, Change] = {}
        self._deltas: dict[bytes, Delta] = {}

    def __call__(self, delta: Delta) -> Delta:
        """Return a delta that is equal to ``delta``."""
        own = tuple(self._changes.setdefault(_identity(change), change) for change in delta)
        # A digest takes 32 bytes; the numbers themselves took 22 KiB for each of a thousand fresh switches.
        same = sha256(array("Q", map(id, own))).digest()
        return self._deltas.setdefault(same, Delta(own))


def _identity(change: Change) -> Hashable:
    """Return what is equal for equal changes; a row's fields have no hash of their own."""
    before, after = change.before, change.after
    if not isinstance(before, dict) and not isinstance(after, dict):
        return change
    had, has = (tuple(one.items()) if isinstance(one, dict) else one for one in (before, after))
    return (change.op, change.table, change.key, had, has, change.disruption, change.method, change.reason)


def lines_of(edits: Iterable[Edit]) -> tuple[tuple[FrrEntry, ...], tuple[FrrEntry, ...]]:
    """Return the FRR lines that go, and those that come."""
    own = [(edit.op, FrrEntry(edit.key, edit.field or "")) for edit in edits if edit.table == FRR_TABLE]
    return (
        tuple(entry for op, entry in own if op is Op.REMOVE),
        tuple(entry for op, entry in own if op is not Op.REMOVE),
    )


def applied(edits: Iterable[Edit], running: RunningConfig) -> RunningConfig:
    """Return what runs after ``edits``; raises DocumentError where FRR's lines change and are unknown."""
    edits = tuple(edits)
    rows = tables_after(edits, running.config_db)
    removed, added = lines_of(edits)
    if not removed and not added:
        return running.with_tables(rows)
    before = running.known_frr("a change of it cannot be judged")
    return running.with_frr(rows, with_lines(before, removed, added))
