"""The edits of one device's configuration, and the closed sets that describe them.

An ``Edit`` says what differs. A ``Change`` is an edit that was judged: what it does to traffic, how it reaches the
switch, and why. A ``Delta`` is all changes of one device, in order: what a plan holds and what a driver carries out.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Self

from railweave.secrets import HIDDEN, is_secret, shown_frr, shown_key, shown_row
from railweave.sonic.delta.subject import Subject, SubjectKind, subject_of
from railweave.sonic.frr.lines import slot
from railweave.sonic.rows import FRR_TABLE, Fields, Value


class Op(StrEnum):
    """What happens to a row, field or line."""

    ADD = "add"
    UPDATE = "update"
    REMOVE = "remove"

    @property
    def inverse(self) -> "Op":
        """Return the operation that reverts this one."""
        return _INVERSE[self]


_INVERSE = {Op.ADD: Op.REMOVE, Op.UPDATE: Op.UPDATE, Op.REMOVE: Op.ADD}


class Disruption(StrEnum):
    """What a change does to traffic: nothing, a BGP session resets, a port flaps, the switch reloads."""

    NONE = "none"
    SESSION = "session"
    FLAP = "flap"
    RELOAD = "reload"


class Method(StrEnum):
    """How a change reaches the device."""

    PATCH = "patch"
    WRITE = "write"
    FRR = "frr"
    RELOAD = "reload"


@dataclass(frozen=True, slots=True, repr=False)
class Edit:
    """A change of one row, of one field of a row, or of one line of FRR.

    For a whole row, which is added or removed, ``field`` is None. For a line of FRR ``key`` is its context and
    ``field`` the line. ``before`` and ``after`` hold the row's fields, the field's value, or the line. They may be
    secrets, which ``shown`` and ``repr`` hide.
    """

    op: Op
    table: str
    key: str
    field: str | None
    before: Value | Fields | None
    after: Value | Fields | None

    @property
    def subject(self) -> Subject:
        """Return what it is about."""
        return subject_of(self.table, self.key, self.field, self.before if self.after is None else self.after)

    @property
    def shown(self) -> Self:
        """Return the edit for people, plan files and logs, secrets hidden; the same object if it has none."""
        if self.table == FRR_TABLE:
            line = shown_frr(self.field or "")
            if line == self.field:
                return self
            # Before and after hold the line itself, or None.
            return replace(self, field=line, before=self.before and line, after=self.after and line)
        key = shown_key(self.table, self.key)
        before = self._shown_value(self.before)
        after = self._shown_value(self.after)
        if key == self.key and before is self.before and after is self.after:
            return self
        return replace(self, key=key, before=before, after=after)

    def _shown_value(self, value: Value | Fields | None) -> Value | Fields | None:
        """Return the value before or after the edit with secrets hidden; the same object if it has none."""
        if value is None:
            return None
        if not isinstance(value, str | tuple):
            return shown_row(self.table, value)
        if self.field is not None and is_secret(self.table, self.field):
            return HIDDEN
        return value

    @property
    def unmet(self) -> str:
        """Describe how the row, field or FRR line still differs from the edit, secrets hidden."""
        shown = self.shown
        if shown.table != FRR_TABLE:
            name = f"{shown.table}|{shown.key} {shown.field or ''}".rstrip()
        elif shown.key:
            name = f"FRR {shown.key} / {shown.field}"
        else:
            name = f"FRR {shown.field}"
        if shown.op is Op.REMOVE:
            return f"{name} is there"
        if shown.table == FRR_TABLE or shown.field is None:
            return f"{name} is missing"
        return f"{name} is {_text(shown.before) or 'missing'}, not {_text(shown.after)}"

    def __repr__(self) -> str:
        """Return the edit as ``shown``: a representation ends in logs and tracebacks."""
        shown = self.shown
        values = ", ".join(f"{field.name}={getattr(shown, field.name)!r}" for field in fields(shown))
        return f"{type(self).__name__}({values})"


def _text(value: object) -> object:
    return ",".join(value) if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True, repr=False)
class Change(Edit):
    """An edit with what it does to traffic, how it reaches the device, and the sentence that says why it is made."""

    disruption: Disruption
    method: Method
    reason: str


@dataclass(frozen=True)
class Delta:
    """The changes of one device, in the order in which they are shown; ``steps`` puts them into a safe one.

    Many devices of a fabric share one delta (``delta.Sharing``), so its properties are computed once.
    """

    changes: tuple[Change, ...] = ()

    def __iter__(self) -> Iterator[Change]:
        """Go through the changes in order."""
        return iter(self.changes)

    def __len__(self) -> int:
        """Return the number of changes."""
        return len(self.changes)

    def about(self, kind: SubjectKind) -> Sequence[Change]:
        """Return the changes that are about subjects of ``kind``."""
        return self._by_subject.get(kind, ())

    @cached_property
    def _by_subject(self) -> Mapping[SubjectKind, Sequence[Change]]:
        changes: dict[SubjectKind, list[Change]] = {}
        for change in self.changes:
            changes.setdefault(change.subject.kind, []).append(change)
        return changes

    @cached_property
    def shown(self) -> tuple[Change, ...]:
        """Return the changes for people, with secrets hidden.

        Where one line of FRR replaces another, the removal and the addition are shown as one update. Its field is the
        setting that the lines make, and the two lines are its before and after.
        """
        replacements = _replacements(self.changes)
        shown: list[Change] = []
        for change in self.changes:
            replacement = None
            if change.table == FRR_TABLE:
                replacement = replacements.get(_setting(change))
            if replacement is None:
                shown.append(change.shown)
            elif change.op is Op.REMOVE:
                # The update takes the place of the removal; the addition is left out.
                shown.append(replacement)
        return tuple(shown)

    @cached_property
    def ops(self) -> Mapping[Op, int]:
        """Return how many changes add, update and remove."""
        return Counter(change.op for change in self.changes)

    @cached_property
    def disruptions(self) -> frozenset[Disruption]:
        """Return what the changes do to traffic."""
        return frozenset(change.disruption for change in self.changes)

    @cached_property
    def methods(self) -> frozenset[Method]:
        """Return how the changes reach the device."""
        return frozenset(change.method for change in self.changes)

    @property
    def reloads(self) -> bool:
        """Whether the switch reloads; then that one reload carries out all changes."""
        return Method.RELOAD in self.methods


_FrrSetting = tuple[str, str]
"""A context of FRR, and the setting that a line makes in it (``lines.slot``)."""


def _setting(change: Change) -> _FrrSetting:
    return change.key, slot(change.field or "")


def _replacements(changes: Sequence[Change]) -> dict[_FrrSetting, Change]:
    """Return an update, by setting, for each setting of FRR of which exactly one line is removed and one added."""
    removed: dict[_FrrSetting, list[Change]] = {}
    added: dict[_FrrSetting, list[Change]] = {}
    for change in changes:
        if change.table == FRR_TABLE:
            changes_by_setting = removed if change.op is Op.REMOVE else added
            changes_by_setting.setdefault(_setting(change), []).append(change)
    replacements: dict[_FrrSetting, Change] = {}
    for setting, removals in removed.items():
        additions = added.get(setting, [])
        if len(removals) == 1 and len(additions) == 1:
            replacements[setting] = _replacement(removals[0], additions[0])
    return replacements


def _replacement(removed: Change, added: Change) -> Change:
    """Return the update that shows the removal of a line and the addition of another in its place, secrets hidden."""
    worst = max(removed.disruption, added.disruption, key=list(Disruption).index)
    context, setting = _setting(removed)
    return Change(
        op=Op.UPDATE,
        table=FRR_TABLE,
        key=context,
        field=setting,
        before=removed.shown.field,
        after=added.shown.field,
        disruption=worst,
        method=added.method,
        reason=added.reason,
    )
