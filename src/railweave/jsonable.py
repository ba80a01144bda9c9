"""Values as JSON knows them: a dataclass as an object of its fields, tuples as lists, enumerations by their value."""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from enum import Enum
from math import isinf
from typing import Any, TypeVar

_Value = TypeVar("_Value")


def as_json(value: object) -> Any:
    """Return a value made of dataclasses, mappings, tuples, sets and plain values; an infinite number is null."""
    if is_dataclass(value):
        return {one.name: as_json(getattr(value, one.name)) for one in fields(value)}
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
    """Return a dataclass from the members of an object, lists as tuples, and from ``own`` values of fields.

    A field with a default may be missing; raises KeyError for any other, and ignores members that are no field.
    """
    values = dict(own)
    for one in fields(kind):  # type: ignore[arg-type]
        if one.name not in own and (one.name in document or one.default is MISSING):
            value = document[one.name]
            values[one.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)
