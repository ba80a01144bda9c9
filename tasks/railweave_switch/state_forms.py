"""The form of the state files: the type of each field, and the errors of a file that does not fit."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar, cast

VERSION = 1

T = TypeVar("T")


class DamagedError(Exception):
    """The state cannot be read."""


class VersionError(Exception):
    """The state was written by another version of this program; only that version may change it."""


def decoded(kind: type[T], data: bytes, file_path: str) -> T:
    """Return the dataclass ``kind`` from the JSON of the file ``file_path``; raises DamagedError, VersionError."""
    values = _field_values(cast(Any, kind), data, file_path)
    try:
        return kind(**values)
    except TypeError as error:
        raise DamagedError(f"{file_path} is incomplete: {error}") from None


@functools.lru_cache(maxsize=2)
def _field_values(kind: type[Any], data: bytes, file_path: str) -> Mapping[str, Any]:
    """Return the values of a dataclass's fields in a file; cached, since a guard reads its state every second.

    Values are replaced as a whole and never changed in place, so several objects may share them.
    """
    content = _content(data, file_path)
    forms = _forms_of(cast(Any, kind))
    # Fields that this version does not have are ignored, so a later one may add some.
    values = {name: content[name] for name in forms if name in content}
    wrong = [name for name, value in values.items() if not forms[name](value)]
    if wrong:
        raise DamagedError(f"{file_path} is incomplete: {', '.join(wrong)}")
    return values


def _content(data: bytes, file_path: str) -> dict[str, Any]:
    """Return the JSON object in a file of this version; raises DamagedError, VersionError."""
    try:
        content = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{file_path} cannot be read: {error}") from None
    if not isinstance(content, dict) or not content:
        raise DamagedError(f"{file_path} is empty")
    version = content.get("version")
    if version == VERSION:
        return content
    if isinstance(version, int):
        raise VersionError(f"{file_path} is of version {version}, this program reads version {VERSION}")
    raise DamagedError(f"{file_path} has no version")


@functools.cache
def _forms_of(kind: type[Any]) -> Mapping[str, Callable[[Any], bool]]:
    """Return a function for each field of a dataclass that tells whether a value fits it."""
    return {field.name: _FORMS.get(field.name, _is_text) for field in fields(kind)}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and math.isfinite(value))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_lines(value: Any) -> bool:
    # A line is the texts of its block and its own: without any, it has none.
    return value is None or (isinstance(value, list) and all(line and _are_texts(line) for line in value))


def _are_steps(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(step, dict) and _is_text(step.get("kind")) for step in value)


def _is_part(value: Any) -> bool:
    """Tell whether a value is a part of CONFIG_DB as ``rows`` describes it."""
    return isinstance(value, dict) and all(map(_are_rows, value.values()))


def _are_rows(value: Any) -> bool:
    return isinstance(value, dict) and all(row is None or _are_fields(row) for row in value.values())


def _are_fields(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_field, value.values()))


def _is_field(value: Any) -> bool:
    return value is None or _is_text(value) or _are_texts(value)


def _is_drain(value: Any) -> bool:
    """Tell whether a value is the id of a drain, in a state, or the steps that end one, in a rollback document."""
    return value is None or _is_text(value) or (isinstance(value, dict) and _are_steps(value.get("steps")))


def _is_generation(value: Any) -> bool:
    # The other fields are the client's own.
    return isinstance(value, dict) and isinstance(value.get("number", 0), int)


def _is_broken(value: Any) -> bool:
    """Tell whether a value names daemons that stayed away; it is empty if none did."""
    if value == {}:
        return True
    return (
        isinstance(value, dict)
        and _are_texts(value.get("daemons"))
        and _are_texts(value.get("lines"))
        and _is_text(value.get("command"))
        and isinstance(value.get("waited_s"), float)
    )


def _is_pattern(value: Any) -> bool:
    try:
        re.compile(value)
    except (TypeError, re.error, RecursionError, OverflowError):
        return False
    return _is_text(value)


# The fields that are not texts.
_FORMS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("began_at", "ends_s", "deadline_at"), _is_number),
    **dict.fromkeys(("frr_added", "frr_removed", "frr_lines"), _are_lines),
    **dict.fromkeys(("kept", "missing", "notes", "daemons", "peers"), _are_texts),
    "broken": _is_broken,
    **dict.fromkeys(("rows", "after"), _is_part),
    **dict.fromkeys(("has_frr", "unsaved"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(("generation", "earlier"), _is_generation),
    "startup": _are_fields,
    "steps": _are_steps,
    "worker": lambda value: value is None or isinstance(value, dict),
    "drain": _is_drain,
    "frr": lambda value: value is None or _is_text(value),
    "frr_ignored": _is_pattern,
    "undo": lambda value: True,
    "version": lambda value: isinstance(value, int),
}
