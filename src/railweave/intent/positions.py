"""A YAML file as plain values, with the place of every value and key, refusing what an intent never needs.

A scalar's place is the value itself, a mapping's or list's the key that it belongs to, a list item's its first token;
an alias has a place of its own. The parser's events are read once, which bounds depth and size before anything is
expanded, and written out as values then. Faults that leave the rest readable are gathered; the others end the reading.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Never

import yaml

from railweave.diagnostics import Diagnostic, Where, error, in_order
from railweave.errors import RefusedError
from railweave.intent.paths import child
from railweave.intent.syntax import syntax_diagnostic
from railweave.secrets import shown_key

MAX_BYTES = 1 << 20
"""Largest file; the intent of a fabric of thousands of switches needs a few kilobytes."""
MAX_VALUES = 200_000
"""Most values of a document, aliases written out."""
MAX_DEPTH = 32
"""Deepest nesting; the intent itself ends at seven."""

Value = str | bool | int | None | list["Value"] | dict[str, "Value"]
"""What a document is made of."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "<<"
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
# The characters that YAML 1.1 allows (section 5.1), the complement of them.
_CONTROL = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Document:
    """A document that could be read. ``places`` and ``keys`` give the place of a path's value and of its key;
    ``diagnostics`` are what was wrong with the YAML although the rest was readable."""

    value: dict[str, Value] = field(repr=False)
    places: Mapping[str, Where] = field(repr=False)
    keys: Mapping[str, Where] = field(repr=False)
    diagnostics: tuple[Diagnostic, ...]


def plain_value(text: str) -> str | bool | int | None:
    """Return what an unquoted scalar means: ``true``, ``false``, a decimal integer, nothing, or else its text.

    Every other reading of YAML 1.1 stays text: ``no`` and ``on``, ``1:30`` (base 60), ``017`` (octal), ``1_000``,
    dates and floats.
    """
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if _INTEGER.fullmatch(text) else text or None


def decode(data: bytes, file: str) -> str:
    """Return the text of a file, without its byte order mark; raises RefusedError where it is no UTF-8 text."""
    if len(data) > MAX_BYTES:
        _refuse("RW007", f"the file is larger than {MAX_BYTES >> 20} MiB", Where(file), "give the intent file itself")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        before = data[: exc.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8-sig", "replace")) + 1
        message = f"byte 0x{data[exc.start]:02x} is not UTF-8 text"
        return _refuse("RW002", message, Where(file, line, column), "save the file as UTF-8")


def read_document(text: str, file: str) -> Document:
    """Return the document that ``text`` holds; raises RefusedError where there is none to be had."""
    _refuse_control_characters(text, file)
    reader = _Reader(file)
    reader.scan(text)
    if not reader.events:
        _refuse("RW009", "the intent is empty", Where(file, 1, 1), "begin with `fabric: NAME`")
    root = reader.events[0]
    if not isinstance(root, yaml.MappingStartEvent):
        kind = "a single value" if isinstance(root, yaml.ScalarEvent) else "a list"
        reader.stop("RW009", f"the intent is {kind}, not a mapping of keys", root, "begin with `fabric: NAME`")
    return Document(reader.mapping(0, ""), reader.places, reader.keys, in_order(reader.diagnostics))


def _refuse_control_characters(text: str, file: str) -> None:
    match = _CONTROL.search(text)
    if match is None:
        return
    breaks = list(_LINE_BREAK.finditer(text, 0, match.start()))
    where = Where(file, len(breaks) + 1, match.start() - (breaks[-1].end() if breaks else 0) + 1)
    _refuse("RW002", f"character U+{ord(match[0]):04X} cannot stand in a text file", where, "remove it")


def _refuse(code: str, message: str, where: Where, fix: str) -> Never:
    raise RefusedError([error(code, message, where, fix=fix)])


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of a mapping: its key with the event that names it, and the index of its value."""

    key: str
    named: Any
    value: int


class _Reader:
    """Reads one document: ``scan`` keeps the events of its nodes, ``mapping`` writes one out and notes the places.

    A node is the index of its first event. ``_ends`` is the index after its last one, ``_sizes`` its values with every
    alias written out, ``_heights`` its nesting.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self.events: list[Any] = []
        self.places: dict[str, Where] = {}
        self.keys: dict[str, Where] = {}
        self.diagnostics: list[Diagnostic] = []
        self._ends: list[int] = []
        self._sizes: list[int] = []
        self._heights: list[int] = []
        self._open: list[int] = []
        self._children: Counter[int] = Counter()
        self._anchors: dict[str, int] = {}
        self._targets: dict[int, int] = {}
        """Alias → the node that it stands for; an alias of nothing has none."""
        self._entries_of: dict[int, tuple[_Entry, ...]] = {}

    def scan(self, text: str) -> None:
        """Keep the events; raises RefusedError where reading cannot go on."""
        documents = 0
        try:
            for event in yaml.parse(text, Loader=_LOADER):
                documents += isinstance(event, yaml.DocumentStartEvent)
                if documents > 1:
                    fix = "keep one intent a file; remove the `---`"
                    self.stop("RW008", "a second document begins here", event, fix)
                if isinstance(event, yaml.NodeEvent):
                    self._begin(event)
                elif isinstance(event, yaml.CollectionEndEvent):
                    self._close()
        except yaml.YAMLError as exc:
            raise RefusedError([*self.diagnostics, syntax_diagnostic(exc, text, self._file)]) from None

    def _begin(self, event: Any) -> None:
        node = len(self.events)
        self.events.append(event)
        self._ends.append(node + 1)
        self._sizes.append(1)
        self._heights.append(0)
        if isinstance(event, yaml.AliasEvent):
            self._resolve(node, event)
        else:
            self._refuse_tag(event)
        if isinstance(event, yaml.CollectionStartEvent):
            self._bound_depth(1, event)
            self._open.append(node)
            return
        if event.anchor and isinstance(event, yaml.ScalarEvent):
            self._anchors[event.anchor] = node
        self._add(node)

    def _close(self) -> None:
        node = self._open.pop()
        self._ends[node] = len(self.events)
        self._heights[node] += 1
        if self.events[node].anchor:
            self._anchors[self.events[node].anchor] = node
        self._add(node)

    def _resolve(self, node: int, event: Any) -> None:
        """Find what an alias stands for."""
        inside = any(self.events[one].anchor == event.anchor for one in self._open)
        target = None if inside else self._anchors.get(event.anchor)
        if target is None:
            why = "refers to the value that contains it" if inside else f"has no anchor `&{event.anchor}` above it"
            fix = "write the value itself, or name an anchor that ends above this line"
            self.report("RW006", f"alias `*{event.anchor}` {why}", event, fix)
            return
        self._bound_depth(self._heights[target], event)
        self._targets[node] = target
        self._sizes[node], self._heights[node] = self._sizes[target], self._heights[target]

    def _bound_depth(self, height: int, event: Any) -> None:
        if len(self._open) + height > MAX_DEPTH:
            message = f"values are nested deeper than {MAX_DEPTH} levels"
            self.stop("RW007", message, event, "compare the structure with a reference intent")

    def _add(self, node: int) -> None:
        """Count a finished node into the collection that it belongs to; keys of a mapping are none of its values."""
        if not self._open:
            return
        here = self._open[-1]
        self._children[here] += 1
        if isinstance(self.events[here], yaml.MappingStartEvent) and self._children[here] % 2:
            return
        self._sizes[here] += self._sizes[node]
        self._heights[here] = max(self._heights[here], self._heights[node])
        if self._sizes[here] > MAX_VALUES:
            message = f"aliases make this document grow beyond {MAX_VALUES} values"
            self.stop("RW006", message, self.events[node], "use fewer aliases of aliases")

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            what = "binary values" if tag == "!!binary" else "YAML tags"
            fix = "remove the tag and write the value as plain text"
            self.report("RW005", f"{what} are not read (`{tag}`)", event, fix)

    def mapping(self, node: int, path: str) -> dict[str, Value]:
        """Return a mapping as values; ``path`` is its own."""
        result: dict[str, Value] = {}
        for entry in self._entries(node, path):
            below = child(path, entry.key)
            self.keys[below] = self._where(entry.named, below)
            result[entry.key] = self._value(entry.value, below, entry.named)
        return result

    def _value(self, node: int, path: str, key: Any = None) -> Value:
        event, target = self.events[node], self._targets.get(node, node)
        found = self.events[target]
        value = plain_value(found.value) if _is_plain(found) else getattr(found, "value", None)
        # Nothing written, and a mapping or list below its key, are shown at the key.
        at_key = value is None and not (isinstance(event, yaml.AliasEvent) and isinstance(found, _LEAF))
        self.places[path] = self._where(key if key is not None and at_key else event, path)
        if isinstance(found, yaml.MappingStartEvent):
            return self.mapping(target, path)
        if isinstance(found, yaml.SequenceStartEvent):
            return [self._value(one, child(path, index)) for index, one in enumerate(self._nodes(target))]
        return value

    def _nodes(self, node: int) -> Iterator[int]:
        """Yield the nodes that a collection holds, of a mapping key and value in turn."""
        one = node + 1
        while one < self._ends[node]:
            yield one
            one = self._ends[one]

    def _entries(self, node: int, path: str) -> tuple[_Entry, ...]:
        """Return the entries of a mapping: the first of two equal keys counts, written ones before those of ``<<``."""
        if node in self._entries_of:
            return self._entries_of[node]
        entries: dict[str, _Entry] = {}
        merges: list[_Entry] = []
        nodes = self._nodes(node)
        for key, value in zip(nodes, nodes, strict=True):
            event = self.events[key]
            found = self.events[self._targets.get(key, key)]
            text = found.value if isinstance(found, yaml.ScalarEvent) else None
            entry = _Entry(text or "", event, value)
            if not text:
                what = "a key is missing before the `:`" if text == "" else "expected a key, got a list or mapping"
                self.report("RW012", what, event, "write the key as plain text; put a template's `{{ … }}` in quotes")
            elif text in entries:
                first = entries[text].named.start_mark.line + 1
                # The key of a row in overrides may be a secret.
                shown = shown_key(path.rpartition(".")[2], text)
                message = f"key `{shown}` is duplicated in this mapping"
                self.report("RW004", message, event, f"keep one of them; the first is in line {first}")
            elif text == _MERGE and _is_plain(event):
                merges.append(entry)
            else:
                entries[text] = entry
        for merge in merges:
            for part in self._merged(merge.value):
                if isinstance(self.events[part], yaml.MappingStartEvent):
                    entries |= {one.key: one for one in self._entries(part, path) if one.key not in entries}
                elif not isinstance(self.events[part], yaml.AliasEvent):
                    fix = "name an anchor of a mapping after `<<:`"
                    self.report("RW012", "`<<` merges mappings only", merge.named, fix)
        self._entries_of[node] = tuple(entries.values())
        return self._entries_of[node]

    def _merged(self, value: int) -> list[int]:
        """Return the nodes that a merge key names: one, or those of a list."""
        target = self._targets.get(value, value)
        named = self._nodes(target) if isinstance(self.events[target], yaml.SequenceStartEvent) else (target,)
        return [self._targets.get(one, one) for one in named]

    def report(self, code: str, message: str, event: Any, fix: str) -> None:
        """Note what is wrong at an event."""
        self.diagnostics.append(error(code, message, self._where(event), fix=fix))

    def stop(self, code: str, message: str, event: Any, fix: str) -> Never:
        """Refuse the document for what is wrong at an event."""
        self.report(code, message, event, fix)
        raise RefusedError(self.diagnostics)

    def _where(self, event: Any, path: str = "") -> Where:
        return Where(self._file, event.start_mark.line + 1, event.start_mark.column + 1, path)


_LEAF = (yaml.ScalarEvent, yaml.AliasEvent)


def _is_plain(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.implicit[0]
