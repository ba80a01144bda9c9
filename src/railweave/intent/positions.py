"""A YAML file as plain values, with the place of every value and key, refusing what an intent never needs.

The place of a scalar is the value itself, of a mapping or list its key, of a list item its first token; an alias has a
place of its own. The parser's events become nodes, which limits depth and size before aliases are expanded. Errors that
leave the rest readable are gathered; others end the reading.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Never

import yaml

from railweave.diagnostics import Diagnostic, Where, error, in_order
from railweave.errors import RailweaveError, RefusedError
from railweave.intent.paths import child
from railweave.intent.syntax import syntax_diagnostic
from railweave.secrets import shown_key

MAX_BYTES = 1 << 20
"""Largest file; the intent of a fabric of thousands of switches needs a few kilobytes."""
MAX_VALUES = 200_000
"""Most values of a document with its aliases expanded."""
MAX_DEPTH = 32
"""Deepest nesting; the intent itself ends at seven."""

Value = str | bool | int | None | list["Value"] | dict[str, "Value"]
"""What a document is made of."""

# libyaml's parser, if PyYAML was built with it, is several times as fast.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "<<"
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
# What YAML 1.1 reads as a number of base 60 (https://yaml.org/type/int.html) and YAML 1.2 as text.
_BASE_60 = re.compile(r"[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+")
# The characters that YAML 1.1 allows (section 5.1), the complement of them.
_CONTROL = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Document:
    """A document that could be read."""

    value: dict[str, Value] = field(repr=False)
    # The places of values, and those of their keys, by path.
    places: Mapping[str, Where] = field(repr=False)
    keys: Mapping[str, Where] = field(repr=False)
    # Errors in the YAML that left the rest readable.
    diagnostics: tuple[Diagnostic, ...]


def plain_value(text: str) -> str | bool | int | None:
    """Return the value of an unquoted scalar: ``true``, ``false``, a decimal integer, None, or else its text.

    Every other reading of YAML 1.1 stays text: ``no`` and ``on``, ``1:30`` (base 60), ``017`` (octal), ``1_000``,
    dates and floats.
    """
    if text in {"true", "false"}:
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return text or None


def decode(data: bytes, file: str) -> str:
    """Return the text of ``data``, the bytes of ``file``, without a byte order mark.

    Raises RefusedError if they are not UTF-8, or more than ``MAX_BYTES``.
    """
    if len(data) > MAX_BYTES:
        _refuse("RW007", f"the file is larger than {MAX_BYTES >> 20} MiB", Where(file), "give the intent file itself")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        valid = data[: exc.start]
        line = valid.count(b"\n") + 1
        line_start = valid.rfind(b"\n") + 1
        # Columns are counted in characters, not in bytes.
        column = len(valid[line_start:].decode("utf-8-sig", "replace")) + 1
        message = f"byte 0x{data[exc.start]:02x} is not UTF-8 text"
        return _refuse("RW002", message, Where(file, line, column), "save the file as UTF-8")


def read_checked(
    path: Path, faults: Callable[[Document, str], Iterable[Diagnostic]], named: str, begins: str
) -> Document:
    """Return the document in a file of the user that is not an intent.

    ``faults`` is called with the document and the name of the file, and returns the errors in it. ``named`` and
    ``begins`` are as in `read_document`. Raises RefusedError with all errors, and RailweaveError if the file cannot be
    read.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise RailweaveError(f"{path}: {exc.strerror}; name a readable {named}, which begins with `{begins}`") from exc
    document = read_document(decode(data, str(path)), str(path), named, begins)
    diagnostics = [*document.diagnostics, *faults(document, str(path))]
    if diagnostics:
        raise RefusedError(diagnostics)
    return document


def read_document(text: str, file: str, named: str = "intent", begins: str = "fabric: NAME") -> Document:
    """Return the document in ``text``, which was read from ``file``. Raises RefusedError if it cannot be read.

    ``named`` is what messages call the document, ``begins`` the line with which it begins.
    """
    _refuse_control_characters(text, file)
    reader = _Reader(file)
    root = reader.read(text)
    if root is None:
        _refuse("RW009", f"the {named} is empty", Where(file, 1, 1), f"begin with `{begins}`")
    if not isinstance(root.event, yaml.MappingStartEvent):
        kind = "a single value" if isinstance(root.event, yaml.ScalarEvent) else "a list"
        reader.stop("RW009", f"the {named} is {kind}, not a mapping of keys", root.event, f"begin with `{begins}`")
    return Document(reader.mapping(root, ""), reader.places, reader.keys, in_order(reader.diagnostics))


def _refuse_control_characters(text: str, file: str) -> None:
    """Raise RefusedError if ``text`` has a character that YAML does not allow."""
    match = _CONTROL.search(text)
    if match is None:
        return
    breaks = list(_LINE_BREAK.finditer(text, 0, match.start()))
    line_start = 0
    if breaks:
        line_start = breaks[-1].end()
    where = Where(file, len(breaks) + 1, match.start() - line_start + 1)
    _refuse("RW002", f"character U+{ord(match[0]):04X} cannot stand in a text file", where, "remove it")


def _refuse(code: str, message: str, where: Where, fix: str) -> Never:
    raise RefusedError([error(code, message, where, fix=fix)])


class _Node:
    """A value as written: its event, and the children of a collection; those of a mapping are keys and values in turn.

    ``target`` is the node that an alias refers to, else the node itself. ``size`` is the number of its values with
    every alias expanded, ``height`` its nesting.
    """

    __slots__ = ("children", "event", "height", "size", "target")

    def __init__(self, event: Any) -> None:
        self.event = event
        self.target = self
        self.children: list[_Node] = []
        self.size = 1
        self.height = 0


class _MappingEntry(NamedTuple):
    """An entry of a mapping."""

    key_event: Any
    value: _Node


_Entries = dict[str, _MappingEntry]
"""The entries of a mapping by the text of their keys."""


class _Reader:
    """Reads one document: ``read`` builds its nodes, ``mapping`` expands one and records the places."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.places: dict[str, Where] = {}
        self.keys: dict[str, Where] = {}
        self.diagnostics: list[Diagnostic] = []
        self._open: list[_Node] = []
        self._anchors: dict[str, _Node] = {}
        self._entries_of: dict[_Node, _Entries] = {}

    def read(self, text: str) -> _Node | None:
        """Return the root of the document; None if it is empty. Raises RefusedError if reading cannot continue."""
        root = None
        try:
            events = iter(yaml.parse(text, Loader=_LOADER))
            for event in events:
                if isinstance(event, yaml.NodeEvent):
                    root = self._node(event, events)
                elif root is not None and isinstance(event, yaml.DocumentStartEvent):
                    self.stop(
                        "RW008", "a second document begins here", event, "keep one intent a file; remove the `---`"
                    )
        except yaml.YAMLError as exc:
            raise RefusedError([*self.diagnostics, syntax_diagnostic(exc, text, self._file)]) from None
        return root

    def _node(self, event: Any, events: Iterator[Any]) -> _Node:
        """Return the node that begins with ``event``; the events of its children are taken from ``events``."""
        node = _Node(event)
        if isinstance(event, yaml.AliasEvent):
            self._resolve(node)
            return node
        self._refuse_tag(event)
        if isinstance(event, yaml.CollectionStartEvent):
            self._bound_depth(1, event)
            self._open.append(node)
            child_event = next(events)
            while not isinstance(child_event, yaml.CollectionEndEvent):
                self._add(node, self._node(child_event, events))
                child_event = next(events)
            self._open.pop()
            node.height += 1
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _resolve(self, node: _Node) -> None:
        """Set the target of an alias. An alias without a target is reported, and stays its own target."""
        event = node.event
        # Looked up first: a collection that is still open hides an earlier anchor of the same name.
        if any(collection.event.anchor == event.anchor for collection in self._open):
            self._report_alias(event, "refers to the value that contains it")
            return
        target = self._anchors.get(event.anchor)
        if target is None:
            self._report_alias(event, f"has no anchor `&{event.anchor}` above it")
            return
        self._bound_depth(target.height, event)
        node.target = target
        node.size = target.size
        node.height = target.height

    def _report_alias(self, event: Any, fault: str) -> None:
        fix = "write the value itself, or name an anchor that ends above this line"
        self.report("RW006", f"alias `*{event.anchor}` {fault}", event, fix)

    def _bound_depth(self, height: int, event: Any) -> None:
        """Stop if a value of this height would be nested too deeply in the collections that are open."""
        if len(self._open) + height > MAX_DEPTH:
            message = f"values are nested deeper than {MAX_DEPTH} levels"
            self.stop("RW007", message, event, "compare the structure with a reference intent")

    def _add(self, collection: _Node, node: _Node) -> None:
        """Add a finished node to the collection that it belongs to."""
        collection.children.append(node)
        # The children of a mapping are keys and values in turn. Keys do not count as values.
        is_key = isinstance(collection.event, yaml.MappingStartEvent) and len(collection.children) % 2 == 1
        if is_key:
            return
        collection.size += node.size
        collection.height = max(collection.height, node.height)
        if collection.size > MAX_VALUES:
            message = f"aliases make this document grow beyond {MAX_VALUES} values"
            self.stop("RW006", message, node.event, "use fewer aliases of aliases")

    def _refuse_tag(self, event: Any) -> None:
        """Report a value with a tag, such as ``!!binary``."""
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            refused = "binary values" if tag == "!!binary" else "YAML tags"
            fix = "remove the tag and write the value as plain text"
            self.report("RW005", f"{refused} are not read (`{tag}`)", event, fix)

    def mapping(self, node: _Node, path: str) -> dict[str, Value]:
        """Return the values of a mapping by key, and record their places; ``path`` is that of the mapping."""
        result: dict[str, Value] = {}
        for key, entry in self._entries(node, path).items():
            value_path = child(path, key)
            self.keys[value_path] = self._where(entry.key_event, value_path)
            result[key] = self._value(entry.value, value_path, entry.key_event)
        return result

    def _value(self, node: _Node, path: str, key_event: Any = None) -> Value:
        """Return a value and record its place; ``key_event`` is the event of its key, None for an item of a list."""
        event = node.target.event
        if isinstance(event, _LEAF):
            return self._leaf(node, path, key_event)
        # A mapping or list below its key is reported at the key.
        self.places[path] = self._where(key_event or node.event, path)
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(node.target, path)
        return [self._value(item, child(path, index)) for index, item in enumerate(node.target.children)]

    def _leaf(self, node: _Node, path: str, key_event: Any) -> Value:
        """Return a scalar and record its place; None for an alias without a target, which was reported."""
        event = node.target.event
        is_plain = _is_plain(event)
        value: Value = getattr(event, "value", None)
        if is_plain:
            value = plain_value(event.value)
        place_event = node.event
        lacks_value = value is None and not isinstance(node.event, yaml.AliasEvent)
        if lacks_value and key_event is not None:
            # A key without a value is reported at the key.
            place_event = key_event
        self.places[path] = self._where(place_event, path)
        if is_plain and isinstance(value, str) and _BASE_60.fullmatch(value):
            self._report_base_60(value, path)
        return value

    def _report_base_60(self, value: str, path: str) -> None:
        """Report a value that some YAML readers take for a number of base 60, such as ``1:30``."""
        shown_value = f"`{value}`"
        quoted = f'"{value}"'
        if path.startswith("overrides"):
            # It may be a secret.
            shown_value = "this value"
            quoted = "it"
        message = f"{shown_value} without quotes is a number of base 60 to some YAML readers, text to others"
        self.diagnostics.append(error("RW015", message, self.places[path], fix=f"write {quoted} in quotes"))

    def _entries(self, node: _Node, path: str) -> _Entries:
        """Return the entries of a mapping. Of equal keys the first counts, and a written one before a merged one."""
        # Aliases and merges use a mapping several times; its errors are reported once.
        if node in self._entries_of:
            return self._entries_of[node]
        entries: _Entries = {}
        merges: list[_MappingEntry] = []
        # The children are keys and values in turn.
        for key, value in zip(node.children[::2], node.children[1::2], strict=True):
            entry = _MappingEntry(key.event, value)
            scalar = key.target.event
            text = scalar.value if isinstance(scalar, yaml.ScalarEvent) else None
            if not text:
                self._report_key(text, entry.key_event)
            elif text in entries:
                self._report_duplicate(text, entry.key_event, entries[text].key_event, path)
            elif text == _MERGE and _is_plain(entry.key_event):
                merges.append(entry)
            else:
                entries[text] = entry
        # After all written entries, which come before merged ones of the same key.
        for merge in merges:
            self._merge(entries, merge, path)
        self._entries_of[node] = entries
        return entries

    def _report_key(self, text: str | None, event: Any) -> None:
        """Report a key without text; ``text`` is None for a key that is not a scalar."""
        message = "expected a key, got a list or mapping"
        if text == "":
            message = "a key is missing before the `:`"
        self.report("RW012", message, event, "write the key as plain text; put a template's `{{ … }}` in quotes")

    def _report_duplicate(self, text: str, event: Any, first: Any, path: str) -> None:
        """Report a key that the mapping at ``path`` has already; ``first`` is the event of the first one."""
        # The key of a row in overrides may be a secret.
        shown = shown_key(path.rpartition(".")[2], text)
        message = f"key `{shown}` is duplicated in this mapping"
        fix = f"keep one of them; the first is in line {first.start_mark.line + 1}"
        self.report("RW004", message, event, fix)

    def _merge(self, entries: _Entries, merge: _MappingEntry, path: str) -> None:
        """Add the entries of the mapping, or list of mappings, after ``<<`` (https://yaml.org/type/merge.html)."""
        merged_nodes = [merge.value]
        if isinstance(merge.value.target.event, yaml.SequenceStartEvent):
            merged_nodes = merge.value.target.children
        for node in merged_nodes:
            if isinstance(node.target.event, yaml.MappingStartEvent):
                for key, entry in self._entries(node.target, path).items():
                    entries.setdefault(key, entry)
            elif not isinstance(node.target.event, yaml.AliasEvent):
                # An alias without a target was reported when it was read.
                fix = "name an anchor of a mapping after `<<:`"
                self.report("RW012", "`<<` merges mappings only", merge.key_event, fix)

    def report(self, code: str, message: str, event: Any, fix: str) -> None:
        """Record an error at the place of an event."""
        self.diagnostics.append(error(code, message, self._where(event), fix=fix))

    def stop(self, code: str, message: str, event: Any, fix: str) -> Never:
        """Raise RefusedError with all errors so far and one at the place of an event."""
        self.report(code, message, event, fix)
        raise RefusedError(self.diagnostics)

    def _where(self, event: Any, path: str = "") -> Where:
        return Where(self._file, event.start_mark.line + 1, event.start_mark.column + 1, path)


_LEAF = (yaml.ScalarEvent, yaml.AliasEvent)


def _is_plain(event: Any) -> bool:
    """Tell whether an event is a scalar without quotes."""
    return isinstance(event, yaml.ScalarEvent) and event.implicit[0]
