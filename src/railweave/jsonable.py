"""Values as JSON knows them: a dataclass or named tuple as an object of its fields, other
tuples as lists, enumerations by their value."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from enum import Enum
from math import isinf
from typing import Any, TypeVar

_Value = TypeVar("_Value")


def as_json(value: object) -> Any:
    """Return a value made of dataclasses, mappings, tuples, sets and plain values; an infinite number is null."""
    if is_dataclass(value) or hasattr(value, "_fields"):
        return {name: as_json(getattr(value, name)) for name in _fields(value)}
    if isinstance(value, Mapping):
        return {str(name): as_json(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    return None if isinstance(value, float) and isinf(value) else value


def members(value: object, *names: str) -> dict[str, Any]:
    """Return these attributes of a value as the members of an object."""
    return {name: as_json(getattr(value, name)) for name in names}


def from_members(kind: type[_Value], document: Mapping[str, Any], **own: Any) -> _Value:
    """Return a dataclass or named tuple from the members of an object, lists as tuples, and from ``own`` values.

    A field with a default may be missing; raises KeyError for any other, and ignores members that are no field.
    """
    defaults = getattr(kind, "_field_defaults", None)
    if defaults is None:
        defaults = {one.name: one.default for one in fields(kind) if one.default is not MISSING}  # type: ignore[arg-type]
    values = dict(own)
    for name in _fields(kind):
        if name not in own and (name in document or name not in defaults):
            value = document[name]
            values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def _fields(value: Any) -> Iterable[str]:
    """Return the names of the fields of a dataclass or named tuple, or of a value of one."""
    return value._fields if hasattr(value, "_fields") else [one.name for one in fields(value)]
