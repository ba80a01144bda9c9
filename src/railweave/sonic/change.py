"""A change of one device's configuration, and the closed sets that describe it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from railweave.secrets import HIDDEN, is_secret, shown_frr, shown_key, shown_row
from railweave.sonic.rows import Fields, Value

FRR_TABLE = "frr"
"""The table name under which changes of FRR lines stand: key = context, field = line."""


class Op(StrEnum):
    """What happens to a row, field or line."""

    ADD = "add"
    UPDATE = "update"
    REMOVE = "remove"


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
class Change:
    """One change. ``field`` is None where a whole row comes or goes; then ``before`` or ``after`` holds its fields.

    It may hold secrets; ``repr``, which logs write, and ``shown`` never do.
    """

    device: str
    op: Op
    table: str
    key: str
    field: str | None
    before: Value | Fields | None
    after: Value | Fields | None
    disruption: Disruption
    method: Method
    reason: str

    @property
    def shown(self) -> "Change":
        """Return the change as people, plan files and logs may see it: itself where it holds no secret.

        What is applied is always computed anew from the intent, so what is hidden is not lost.
        """
        if self.table == FRR_TABLE:
            return self._shown_line()
        key = shown_key(self.table, self.key)
        before, after = self._shown_value(self.before), self._shown_value(self.after)
        if key == self.key and before is self.before and after is self.after:
            return self
        return replace(self, key=key, before=before, after=after)

    def __repr__(self) -> str:
        """Return the change as it may be shown."""
        shown = self.shown
        told = ", ".join(f"{one.name}={getattr(shown, one.name)!r}" for one in fields(shown))
        return f"{type(self).__name__}({told})"

    def _shown_line(self) -> "Change":
        line = shown_frr(self.field or "")
        if line == self.field:
            return self
        return replace(self, field=line, before=self.before and line, after=self.after and line)

    def _shown_value(self, value: Value | Fields | None) -> Value | Fields | None:
        if isinstance(value, Mapping):
            return shown_row(self.table, value)
        return HIDDEN if value is not None and self.field is not None and is_secret(self.table, self.field) else value
