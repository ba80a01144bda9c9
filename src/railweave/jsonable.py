"""Values as JSON knows them: a dataclass or named tuple as an object of its fields, other
tuples as lists, enumerations by their value. And what a line of a log holds."""

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


def _fields(value: Any) -> Iterable[str]:
    """Return the names of the fields of a dataclass or named tuple, or of a value of one."""
    return value._fields if hasattr(value, "_fields") else [one.name for one in fields(value)]


def object_of(line: str | bytes) -> dict[str, Any]:
    """Return the object that a line of a log holds as JSON, empty where it holds none."""
    try:
        held = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}
