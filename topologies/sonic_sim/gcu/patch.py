"""JSON patches (RFC 6902) as python-jsonpatch reads, applies and makes them."""

import copy
import json
from dataclasses import dataclass
from typing import Any

from jsonpatch import JsonPatch, JsonPatchException, make_patch
from jsonpointer import JsonPointer, JsonPointerException, unescape

Operation = dict[str, Any]


class PatchError(Exception):
    """A patch that cannot be read or applied; the text is jsonpatch's."""


@dataclass(frozen=True, slots=True)
class Move:
    """One change of a configuration: its operation, the parts of its pointer, and its value.

    ``place`` is the place of the value that an addition is for. It is below ``parts`` if its parents are added too.
    """

    op: str
    parts: tuple[str, ...]
    value: Any = None
    place: tuple[str, ...] = ()

    def operation(self) -> Operation:
        """Return the JSON form."""
        base: Operation = {"op": self.op, "path": pointer(self.parts)}
        if self.op != "remove":
            base["value"] = self.value
        return base


def pointer(parts: tuple[str, ...]) -> str:
    """Return the JSON pointer (RFC 6901) of its parts."""
    return str(JsonPointer.from_parts(parts).path)


def parts_of(path: str) -> tuple[str, ...]:
    """Return the parts of a JSON pointer that a patch was read with."""
    return tuple(JsonPointer(path).parts)


def read_patch(text: str) -> list[Operation]:
    """Return the operations of a patch. Raises PatchError."""
    try:
        operations = list(json.loads(text))
        for index, operation in enumerate(operations):
            if isinstance(operation, str):
                # As jsonpatch 1.33 says it, which SONiC has. It refuses a wrong operation before this one first.
                list(JsonPatch(operations[:index]))
                raise PatchError("Document is expected to be sequence of operations, got a sequence of strings.")
        return list(JsonPatch(operations))
    except (json.JSONDecodeError, TypeError, JsonPatchException, JsonPointerException) as error:
        raise PatchError(str(error)) from error


def apply_patch(document: dict[str, Any], patch: list[Operation]) -> Any:
    """Return the document after a patch; tables that the patch does not name are shared. Raises PatchError."""
    try:
        operations = list(JsonPatch(patch))
        tables = _tables_named(operations)
        copied = {name: copy.deepcopy(document[name]) for name in tables if name in document}
        result: Any = {**document, **copied}
        for operation in operations:
            # The document holds the value of the patch itself, so that later operations change the patch as well: the
            # jsonpatch of SONiC (1.33) does so, later versions copy it. Applied again, such a patch may fail.
            result = _shared(JsonPatch([operation]).apply(result, in_place=True), operation)
        return result
    except (JsonPatchException, JsonPointerException) as error:
        raise PatchError(str(error)) from error


def _tables_named(operations: list[Operation]) -> set[str]:
    """Return the tables that the pointers of operations begin with."""
    tables = set()
    for operation in operations:
        for pointer_name in ("path", "from"):
            parts = str(operation.get(pointer_name, "")).split("/")
            # A pointer begins with a slash; that of the whole document is empty.
            if len(parts) > 1:
                tables.add(unescape(parts[1]))
    return tables


def _shared(document: Any, operation: Operation) -> Any:
    """Return a document after an operation, with the operation's own value in place of its copy."""
    value = operation.get("value")
    if operation["op"] not in ("add", "replace") or not isinstance(value, dict | list):
        return document
    place = JsonPointer(operation["path"])
    if not place.parts:
        return value
    holder, part = place.to_last(document)
    if isinstance(holder, dict):
        holder[part] = value
    return document


def difference(old: Any, new: Any) -> list[Operation]:
    """Return the patch from one document to another; values that are the same object are not compared."""
    if isinstance(old, dict) and isinstance(new, dict):
        shared = {name for name, value in old.items() if new.get(name) is value}
        old = {name: value for name, value in old.items() if name not in shared}
        new = {name: value for name, value in new.items() if name not in shared}
    return list(make_patch(old, new))
