"""A change of one device's configuration, and the closed sets that describe it."""

from dataclasses import dataclass
from enum import StrEnum

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


@dataclass(frozen=True, slots=True)
class Change:
    """One change. ``field`` is None where a whole row comes or goes; then ``before`` or ``after`` holds its fields."""

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
