"""JSON patches (RFC 6902) with the error texts of python-jsonpatch, and the patch between two documents."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Operation = dict[str, Any]


class PatchError(Exception):
    """A patch that cannot be read or applied; the text is jsonpatch's."""


@dataclass(frozen=True, slots=True)
class Move:
    """One change of a configuration: ``op``, the parts of its pointer, and its value."""

    op: str
    parts: tuple[str, ...]
    value: Any = None

    def operation(self) -> Operation:
        """Return the JSON form."""
        base: Operation = {"op": self.op, "path": pointer(self.parts)}
        return base if self.op == "remove" else {**base, "value": self.value}


def pointer(parts: tuple[str, ...]) -> str:
    """Return the JSON pointer (RFC 6901) of its parts."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def parts_of(path: str) -> tuple[str, ...]:
    """Return the parts of a JSON pointer. Raises PatchError."""
    if path == "":
        return ()
    if not path.startswith("/"):
        raise PatchError("Location must start with /")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/"))


def read_patch(text: str) -> list[Operation]:
    """Parse a patch. Raises PatchError."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise PatchError(str(error)) from error
    if isinstance(document, dict):
        raise PatchError("Document is expected to be sequence of operations, got a sequence of strings.")
    for operation in document:
        if "op" not in operation:
            raise PatchError("Operation does not contain 'op' member")
        if operation["op"] not in ("add", "remove", "replace", "move", "copy", "test"):
            raise PatchError(f"Unknown operation '{operation['op']}'")
        if "path" not in operation:
            raise PatchError("Operation must have a 'path' member")
    return list(document)


def apply_patch(document: Any, patch: list[Operation]) -> Any:
    """Return the document after a patch. Raises PatchError."""
    result = copy.deepcopy(document)
    for operation in patch:
        parts = parts_of(operation["path"])
        if operation["op"] in ("add", "replace", "test") and "value" not in operation:
            raise PatchError("The operation does not contain a 'value' member")
        if operation["op"] in ("move", "copy"):
            source = parts_of(operation["from"])
            value = copy.deepcopy(_get(result, source))
            if operation["op"] == "move":
                result = apply_move(result, Move("remove", source))
            result = apply_move(result, Move("add", parts, value))
        elif operation["op"] == "test":
            if _get(result, parts) != operation["value"]:
                raise PatchError(f"{_get(result, parts)!r} is not equal to tested value {operation['value']!r}")
        else:
            result = apply_move(result, Move(operation["op"], parts, operation.get("value")))
    return result


def apply_move(document: Any, move: Move) -> Any:
    """Change a document in place by one operation and return it (a new one where the root is replaced)."""
    if not move.parts:
        return {} if move.op == "remove" else copy.deepcopy(move.value)
    parent = _get(document, move.parts[:-1])
    last = move.parts[-1]
    if isinstance(parent, list):
        _change_list(parent, move, last)
    elif move.op == "add":
        parent[last] = copy.deepcopy(move.value)
    else:
        if last not in parent:
            raise PatchError(f"can't {move.op} a non-existent object '{last}'")
        if move.op == "remove":
            del parent[last]
        else:
            parent[last] = copy.deepcopy(move.value)
    return document


def _change_list(parent: list[Any], move: Move, last: str) -> None:
    if last == "-":
        parent.append(move.value)
        return
    place = int(last)
    if move.op == "add":
        if place > len(parent):
            raise PatchError("can't insert outside of list")
        parent.insert(place, move.value)
    elif place >= len(parent):
        raise PatchError(f"can't {move.op} outside of list")
    elif move.op == "remove":
        del parent[place]
    else:
        parent[place] = move.value


def _get(document: Any, parts: tuple[str, ...]) -> Any:
    value = document
    for part in parts:
        if isinstance(value, list):
            value = value[int(part)]
        elif part in value:
            value = value[part]
        else:
            raise PatchError(f"member '{part}' not found in {value}")
    return value


def difference(old: Any, new: Any, parts: tuple[str, ...] = ()) -> Iterator[Move]:
    """Yield the moves from one document to another as jsonpatch finds them: what goes, comes, then differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old:
            if name not in new:
                yield Move("remove", (*parts, name))
        for name in new:
            if name not in old:
                yield Move("add", (*parts, name), new[name])
        for name in new:
            if name in old:
                yield from difference(old[name], new[name], (*parts, name))
    elif isinstance(old, list) and isinstance(new, list) and old != new:
        yield from _list_difference(old, new, parts)
    elif old != new or type(old) is not type(new):
        yield Move("replace", parts, new)


def _list_difference(old: list[Any], new: list[Any], parts: tuple[str, ...]) -> Iterator[Move]:
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    for _ in range(len(old) - end - start):
        yield Move("remove", (*parts, str(start)))
    for place in range(start, len(new) - end):
        yield Move("add", (*parts, str(place)), new[place])
