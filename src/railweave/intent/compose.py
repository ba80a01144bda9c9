"""Parser events to a tree with places, refusing what an intent never needs.

Working on events, not on the parser's own tree, gives the places of aliases, bounds depth and size while reading,
and needs no recursion. Faults that leave the rest readable are gathered; the others end the reading.
"""

from dataclasses import dataclass, field
from typing import Any

import yaml

from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.intent.nodes import (
    MAX_DEPTH,
    MAX_VALUES,
    Entry,
    MappingNode,
    Mark,
    Node,
    Scalar,
    SequenceNode,
    plain_value,
)
from railweave.intent.syntax import explain
from railweave.secrets import shown_key

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "<<"


@dataclass(slots=True)
class _Open:
    """A collection that is being read."""

    is_mapping: bool
    mark: Mark
    anchor: str | None
    entries: list[Entry] = field(default_factory=list)
    items: list[tuple[Node, Mark | None]] = field(default_factory=list)
    merges: list[tuple[Node, Mark]] = field(default_factory=list)
    first_marks: dict[str, Mark] = field(default_factory=dict)
    key: tuple[str, Mark, bool] | None = None
    skip_value: bool = False
    size: int = 1
    height: int = 0


class Composer:
    """Reads one document; ``faults`` holds what was refused on the way."""

    def __init__(self, text: str, file: str) -> None:
        """Keep the text for the character at a fault and the file's name for places."""
        self._text = text
        self._file = file
        self._anchors: dict[str, Node] = {}
        self._open_anchors: set[str] = set()
        self._stack: list[_Open] = []
        self._root: Node | None = None
        self.faults: list[Diagnostic] = []

    def compose(self) -> Node | None:
        """Return the document's tree, None for an empty one; raises RefusedError where reading cannot go on."""
        documents = 0
        try:
            for event in yaml.parse(self._text, Loader=_LOADER):
                if isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        self._stop_at_second_document(event)
                else:
                    self._take(event)
        except yaml.YAMLError as fault:
            raise RefusedError([*self.faults, self._syntax_fault(fault)]) from None
        return self._root

    def _take(self, event: Any) -> None:
        """Take one event of the document."""
        if isinstance(event, yaml.ScalarEvent):
            self._refuse_tag(event)
            plain = event.implicit[0]
            scalar = Scalar(plain_value(event.value) if plain else event.value, _mark(event))
            self._name(event.anchor, scalar)
            self._place(scalar, None, event.value, merge=plain and event.value == _MERGE)
        elif isinstance(event, yaml.AliasEvent):
            self._take_alias(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()

    def _open(self, event: Any) -> None:
        self._refuse_tag(event)
        if len(self._stack) >= MAX_DEPTH:
            self._stop("RW007", f"values are nested deeper than {MAX_DEPTH} levels", _mark(event), _TOO_DEEP)
        if event.anchor:
            self._open_anchors.add(event.anchor)
        self._stack.append(_Open(isinstance(event, yaml.MappingStartEvent), _mark(event), event.anchor))

    def _close(self) -> None:
        opened = self._stack.pop()
        node: Node
        if opened.is_mapping:
            self._merge(opened)
            node = MappingNode(tuple(opened.entries), opened.mark, opened.size, opened.height + 1)
        else:
            node = SequenceNode(tuple(opened.items), opened.mark, opened.size, opened.height + 1)
        if opened.anchor:
            self._open_anchors.discard(opened.anchor)
        self._name(opened.anchor, node)
        self._place(node, None, None, merge=False)

    def _take_alias(self, event: Any) -> None:
        mark = _mark(event)
        node = self._anchors.get(event.anchor)
        if node is None or event.anchor in self._open_anchors:
            inside = event.anchor in self._open_anchors
            message = f"alias `*{event.anchor}` " + (
                "refers to the value that contains it" if inside else f"has no anchor `&{event.anchor}` above it"
            )
            self._fault("RW006", message, mark, "write the value itself, or name an anchor that ends above this line")
            node = Scalar(None, mark)
        if len(self._stack) + node.height > MAX_DEPTH:
            self._stop("RW007", f"values are nested deeper than {MAX_DEPTH} levels", mark, _TOO_DEEP)
        text = str(node.value) if isinstance(node, Scalar) and node.value is not None else None
        self._place(node, mark, text, merge=False)

    def _name(self, anchor: str | None, node: Node) -> None:
        if anchor:
            self._anchors[anchor] = node

    def _place(self, node: Node, alias: Mark | None, text: str | None, *, merge: bool) -> None:
        """Put a finished node into the collection it belongs to; ``text`` is its own where it may be a key."""
        if not self._stack:
            self._root = node
            return
        here = self._stack[-1]
        if here.is_mapping and here.key is None and not here.skip_value:
            self._place_key(here, text, alias or node.mark, merge=merge)
            return
        here.size += node.size
        here.height = max(here.height, node.height)
        if here.size > MAX_VALUES:
            self._stop(
                "RW006", f"aliases make this document grow beyond {MAX_VALUES} values", alias or node.mark, _TOO_LARGE
            )
        if not here.is_mapping:
            here.items.append((node, alias))
        elif here.key is None:
            here.skip_value = False
        else:
            key, mark, is_merge = here.key
            here.key = None
            if is_merge:
                here.merges.append((node, mark))
            else:
                here.entries.append(Entry(key, mark, node, alias))

    def _place_key(self, here: _Open, text: str | None, mark: Mark, *, merge: bool) -> None:
        if not text:
            what = "a key is missing before the `:`" if text == "" else "expected a key, got a list or mapping"
            self._fault("RW012", what, mark, "write the key as plain text; put a template's `{{ … }}` in quotes")
            here.skip_value = True
        elif text in here.first_marks:
            first = here.first_marks[text]
            self._fault(
                "RW004",
                f"key `{self._shown(text)}` is duplicated in this mapping",
                mark,
                f"keep one of them; the first is in line {first.line}",
            )
            here.skip_value = True
        else:
            here.first_marks[text] = mark
            here.key = (text, mark, merge)

    def _shown(self, key: str) -> str:
        """Return a key of the innermost mapping as it may be shown: that of a row in overrides may be a secret."""
        above = self._stack[-2].key if len(self._stack) > 1 else None
        return shown_key(above[0], key) if above else key

    def _merge(self, here: _Open) -> None:
        """Add the entries that ``<<`` brings; keys written out win, then the earlier merged mapping."""
        known = {entry.key for entry in here.entries}
        for node, mark in here.merges:
            parts = [part for part, _ in node.items] if isinstance(node, SequenceNode) else [node]
            for part in parts:
                if not isinstance(part, MappingNode):
                    self._fault("RW012", "`<<` merges mappings only", mark, "name an anchor of a mapping after `<<:`")
                    continue
                here.entries.extend(entry for entry in part.entries if entry.key not in known)
                known.update(entry.key for entry in part.entries)

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is None:
            return
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        what = "binary values" if tag == "!!binary" else "YAML tags"
        self._fault(
            "RW005", f"{what} are not read (`{tag}`)", _mark(event), "remove the tag and write the value as plain text"
        )

    def _stop_at_second_document(self, event: Any) -> None:
        self._stop("RW008", "a second document begins here", _mark(event), "keep one intent a file; remove the `---`")

    def _syntax_fault(self, fault: yaml.YAMLError) -> Diagnostic:
        mark = getattr(fault, "problem_mark", None) or getattr(fault, "context_mark", None)
        context, problem = str(getattr(fault, "context", "") or ""), str(getattr(fault, "problem", "") or "")
        if mark is None:
            said = explain(context, problem, "", 0)
            return error("RW003", said.message, Where(self._file, 1, 1), fix=said.fix)
        lines = self._text.splitlines()
        line = lines[mark.line] if mark.line < len(lines) else ""
        said = explain(context, problem, line, mark.column)
        place = self._syntax_place(fault, mark, said.message)
        return error("RW003", said.message, place, fix=said.fix)

    def _syntax_place(self, fault: Any, mark: Any, message: str) -> Where:
        """Return where to look: the opening bracket or quote that is not closed, else the parser's own place."""
        opening = getattr(fault, "context_mark", None)
        if opening is not None and ("closed" in message or "no `:`" in message):
            mark = opening
        return Where(self._file, mark.line + 1, mark.column + 1)

    def _fault(self, code: str, message: str, mark: Mark, fix: str) -> None:
        self.faults.append(error(code, message, Where(self._file, mark.line, mark.column), fix=fix))

    def _stop(self, code: str, message: str, mark: Mark, fix: str) -> None:
        self._fault(code, message, mark, fix)
        raise RefusedError(self.faults)


_TOO_DEEP = "compare the structure with a reference intent"
_TOO_LARGE = "use fewer aliases of aliases"


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)
