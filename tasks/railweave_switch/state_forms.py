"""The form of the state files: what each field may hold, and the errors of a file that holds something else."""

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
    """The state was written by another version of this program, which alone may change it."""


def decoded(kind: type[T], data: bytes, where: str) -> T:
    """Return the dataclass ``kind`` from the JSON of the file ``where``; raises DamagedError, VersionError."""
    known = _known_fields(cast(Any, kind), data, where)
    try:
        return kind(**known)
    except TypeError as error:
        raise DamagedError(f"{where} is incomplete: {error}") from None


@functools.lru_cache(maxsize=2)
def _known_fields(kind: type[Any], data: bytes, where: str) -> Mapping[str, Any]:
    """Return the fields of a file; the last files are kept, since a guard reads its state every second.

    What a field holds is replaced as a whole and never changed, so several values may share it.
    """
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{where} cannot be read: {error}") from None
    if not isinstance(found, dict) or not found:
        raise DamagedError(f"{where} is empty")
    version = found.get("version")
    if version != VERSION:
        if isinstance(version, int):
            raise VersionError(f"{where} is of version {version}, this program reads version {VERSION}")
        raise DamagedError(f"{where} has no version")
    forms = _forms_of(cast(Any, kind))
    known = {name: found[name] for name in forms if name in found}
    if wrong := [name for name, value in known.items() if not forms[name](value)]:
        raise DamagedError(f"{where} is incomplete: {', '.join(wrong)}")
    return known


@functools.cache
def _forms_of(kind: type[Any]) -> Mapping[str, Callable[[Any], bool]]:
    """Return what each field of a dataclass may hold, looked up once: a guard reads its state every second."""
    return {one.name: _FORMS.get(one.name, _is_text) for one in fields(kind)}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and math.isfinite(value))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_lines(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_are_texts, value)))


def _are_steps(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and _is_text(one.get("kind")) for one in value)


def _is_part(value: Any) -> bool:
    """Tell whether a value is a part of CONFIG_DB as ``rows`` describes it."""
    return isinstance(value, dict) and all(
        isinstance(rows, dict) and all(fields is None or _are_fields(fields) for fields in rows.values())
        for rows in value.values()
    )


def _are_fields(value: Any) -> bool:
    return isinstance(value, dict) and all(one is None or _is_text(one) or _are_texts(one) for one in value.values())


def _is_drain(value: Any) -> bool:
    """Tell whether a value is the name of a drain, in a state, or what undoes one, in a document."""
    return value is None or _is_text(value) or (isinstance(value, dict) and _are_steps(value.get("steps")))


def _is_generation(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("number", 0), int)  # the rest is the client's


def _is_broken(value: Any) -> bool:
    """Tell whether a value says which daemons stayed away; empty where none did."""
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
"""What a field may hold where that is no text."""
