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
from railweave.sonic.rows import FRR_TABLE, Fields, Value


class Op(StrEnum):
    """What happens to a row, field or line."""

    ADD = "add"
    UPDATE = "update"
    REMOVE = "remove"

    @property
    def inverse(self) -> "Op":
        """Return what takes it back."""
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
    """A row that comes or goes (``field`` None), a field that changes, or an FRR line (key = context, field = line).

    ``before`` and ``after`` hold the row's fields, the field's value, or the line. They may be secrets, which ``shown``
    and ``repr`` hide.
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
        """Return the edit as people, plan files and logs may see it: itself where it holds no secret."""
        if self.table == FRR_TABLE:
            line = shown_frr(self.field or "")
            if line == self.field:
                return self
            return replace(self, field=line, before=self.before and line, after=self.after and line)
        key = shown_key(self.table, self.key)
        before, after = self._shown_value(self.before), self._shown_value(self.after)
        if key == self.key and before is self.before and after is self.after:
            return self
        return replace(self, key=key, before=before, after=after)

    def _shown_value(self, value: Value | Fields | None) -> Value | Fields | None:
        if value is None:
            return None
        if isinstance(value, str | tuple):
            return HIDDEN if self.field is not None and is_secret(self.table, self.field) else value
        return shown_row(self.table, value)

    @property
    def unmet(self) -> str:
        """Return in words how the row, field or line of FRR is other than the edit makes it, as it may be shown."""
        one = self.shown
        if one.table == FRR_TABLE:
            place = f"FRR {one.key} / {one.field}" if one.key else f"FRR {one.field}"
            return f"{place} is {'there' if one.op is Op.REMOVE else 'missing'}"
        place = f"{one.table}|{one.key} {one.field or ''}".rstrip()
        if one.field is None or one.op is Op.REMOVE:
            return f"{place} is {'missing' if one.op is Op.ADD else 'there'}"
        now, intended = (",".join(value) if isinstance(value, tuple) else value for value in (one.before, one.after))
        return f"{place} is {now or 'missing'}, not {intended}"

    def __repr__(self) -> str:
        """Return the edit as it may be shown."""
        shown = self.shown
        told = ", ".join(f"{one.name}={getattr(shown, one.name)!r}" for one in fields(shown))
        return f"{type(self).__name__}({told})"


@dataclass(frozen=True, slots=True, repr=False)
class Change(Edit):
    """An edit with what it does to traffic, how it reaches the device, and the sentence that says why it is made."""

    disruption: Disruption
    method: Method
    reason: str


@dataclass(frozen=True)
class Delta:
    """The changes of one device, in the order in which they are shown; ``steps`` puts them into a safe one.

    Many devices of a fabric have one delta between them, so what is asked of it is found once.
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
        return self._told.get(kind, ())

    @cached_property
    def _told(self) -> Mapping[SubjectKind, Sequence[Change]]:
        found: dict[SubjectKind, list[Change]] = {}
        for change in self.changes:
            found.setdefault(change.subject.kind, []).append(change)
        return found

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
        """True where the switch reloads; then everything goes with that one reload."""
        return Method.RELOAD in self.methods
