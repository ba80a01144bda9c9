"""JSON patches (RFC 6902) as python-jsonpatch reads, applies and makes them."""

import json
from dataclasses import dataclass
from typing import Any

from jsonpatch import JsonPatch, JsonPatchException, make_patch
from jsonpointer import JsonPointer, JsonPointerException

Operation = dict[str, Any]


class PatchError(Exception):
    """A patch that cannot be read or applied; the text is jsonpatch's."""


@dataclass(frozen=True, slots=True)
class Move:
    """One change of a configuration: ``op``, the parts of its pointer, and its value.

    ``place`` is what an addition is for, below ``parts`` where what holds it is missing as well.
    """

    op: str
    parts: tuple[str, ...]
    value: Any = None
    place: tuple[str, ...] = ()

    def operation(self) -> Operation:
        """Return the JSON form."""
        base: Operation = {"op": self.op, "path": pointer(self.parts)}
        return base if self.op == "remove" else {**base, "value": self.value}


def pointer(parts: tuple[str, ...]) -> str:
    """Return the JSON pointer (RFC 6901) of its parts."""
    return str(JsonPointer.from_parts(parts).path)


def parts_of(path: str) -> tuple[str, ...]:
    """Return the parts of a JSON pointer that a patch was read with."""
    return tuple(JsonPointer(path).parts)


def read_patch(text: str) -> list[Operation]:
    """Parse a patch. Raises PatchError."""
    try:
        return list(JsonPatch(list(json.loads(text))))
    except (json.JSONDecodeError, TypeError, JsonPatchException, JsonPointerException) as error:
        raise PatchError(str(error)) from error


def apply_patch(document: Any, patch: list[Operation]) -> Any:
    """Return the document after a patch. Raises PatchError."""
    try:
        return JsonPatch(patch).apply(document)
    except (JsonPatchException, JsonPointerException) as error:
        raise PatchError(str(error)) from error


def difference(old: Any, new: Any) -> list[Operation]:
    """Return the patch from one document to another."""
    return list(make_patch(old, new))
