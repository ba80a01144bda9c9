"""Values as JSON: a dataclass or named tuple becomes an object of its fields, another tuple a list, an enumeration
its value."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from math import isinf
from typing import Any


def as_json(value: object) -> Any:
    """Return a value made of dataclasses, mappings, tuples, sets and plain values; an infinite number is null."""
    if is_dataclass(value) or hasattr(value, "_fields"):
        return {name: as_json(getattr(value, name)) for name in _fields(value)}
    if isinstance(value, Mapping):
        return {str(name): as_json(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(member) for member in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    # JSON has no infinity, which a ratio of load to paths is once the last path is lost.
    is_infinite = isinstance(value, float) and isinf(value)
    return None if is_infinite else value


def members(value: object, *names: str) -> dict[str, Any]:
    """Return these attributes of a value as the members of an object."""
    return {name: as_json(getattr(value, name)) for name in names}


def _fields(value: Any) -> Iterable[str]:
    if is_dataclass(value):
        return [field.name for field in fields(value)]
    names: tuple[str, ...] = value._fields
    return names


def object_of(line: str | bytes) -> dict[str, Any]:
    """Return the JSON object in a line of a log; empty if the line is damaged or another value."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
