"""The intent file as plain values, with the place of every value and key.

Takes bytes or text; gives mappings, lists and scalars for validation, and two maps from intent path to place. A
scalar's place is the value itself, a mapping's or list's the key that it belongs to, a list item's its first token.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Never

from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.intent.compose import Composer
from railweave.intent.nodes import MAX_BYTES, MappingNode, Mark, Node, Scalar
from railweave.intent.paths import child

Value = str | bool | int | None | list["Value"] | dict[str, "Value"]
"""What a document is made of."""

# The characters that YAML 1.1 allows (section 5.1), the complement of them.
_CONTROL = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Document:
    """A document that could be read. ``places`` and ``keys`` give the place of a path's value and of its key;
    ``faults`` are what was wrong with the YAML although the rest was readable."""

    value: dict[str, Value] = field(repr=False)
    places: Mapping[str, Where] = field(repr=False)
    keys: Mapping[str, Where] = field(repr=False)
    faults: tuple[Diagnostic, ...]


def decode(data: bytes, file: str) -> str:
    """Return the text of a file, without its byte order mark; raises RefusedError where it is no UTF-8 text."""
    if len(data) > MAX_BYTES:
        _refuse("RW007", f"the file is larger than {MAX_BYTES >> 20} MiB", Where(file), "give the intent file itself")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        before = data[: fault.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8-sig", "replace")) + 1
        byte = data[fault.start]
        return _refuse(
            "RW002", f"byte 0x{byte:02x} is not UTF-8 text", Where(file, line, column), "save the file as UTF-8"
        )


def read_document(text: str, file: str) -> Document:
    """Return the document that ``text`` holds; raises RefusedError where there is none to be had."""
    _refuse_control_characters(text, file)
    composer = Composer(text, file)
    root = composer.compose()
    if root is None:
        return _refuse("RW009", "the intent is empty", Where(file, 1, 1), "begin with `fabric: NAME`")
    if not isinstance(root, MappingNode):
        kind = "a single value" if isinstance(root, Scalar) else "a list"
        place = Where(file, root.mark.line, root.mark.column)
        fault = error("RW009", f"the intent is {kind}, not a mapping of keys", place, fix="begin with `fabric: NAME`")
        raise RefusedError([*composer.faults, fault])
    expansion = _Expansion(file)
    value = expansion.mapping(root, "")
    return Document(value, expansion.places, expansion.keys, tuple(composer.faults))


class _Expansion:
    """Writes a tree out as plain values and notes the places."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.places: dict[str, Where] = {}
        self.keys: dict[str, Where] = {}

    def mapping(self, node: MappingNode, path: str) -> dict[str, Value]:
        result: dict[str, Value] = {}
        for entry in node.entries:
            below = child(path, entry.key)
            self.keys[below] = self._where(entry.mark, below)
            # Nothing written, and a mapping or list below its key, are shown at the key.
            at_key = not isinstance(entry.node, Scalar) or (entry.node.value is None and entry.alias is None)
            mark = entry.mark if at_key else entry.alias or entry.node.mark
            result[entry.key] = self._value(entry.node, below, mark)
        return result

    def _value(self, node: Node, path: str, mark: Mark) -> Value:
        self.places[path] = self._where(mark, path)
        if isinstance(node, Scalar):
            return node.value
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        return [
            self._value(item, child(path, index), alias or item.mark) for index, (item, alias) in enumerate(node.items)
        ]

    def _where(self, mark: Mark, path: str) -> Where:
        return Where(self._file, mark.line, mark.column, path)


def _refuse_control_characters(text: str, file: str) -> None:
    match = _CONTROL.search(text)
    if match is None:
        return
    breaks = list(_LINE_BREAK.finditer(text, 0, match.start()))
    column = match.start() - (breaks[-1].end() if breaks else 0) + 1
    _refuse(
        "RW002",
        f"character U+{ord(match[0]):04X} cannot stand in a text file",
        Where(file, len(breaks) + 1, column),
        "remove it",
    )


def _refuse(code: str, message: str, where: Where, fix: str) -> Never:
    raise RefusedError([error(code, message, where, fix=fix)])
