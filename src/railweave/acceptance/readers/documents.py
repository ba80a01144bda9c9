"""JSON, also with the errors that programs make: bare words, trailing commas, Python's quotes, a missing end."""

import json
import re
from typing import Any, NamedTuple

from railweave.acceptance.readers.text import number


class Documents(NamedTuple):
    """The values of a text, and how it is broken."""

    values: tuple[object, ...]
    # The text is valid JSON.
    strict: bool = True
    # Its end is missing.
    cut: bool = False
    # Keys occur twice, or values lack their keys.
    mixed: bool = False

    @property
    def first(self) -> dict[str, Any]:
        """Return the first value if it is an object, else an empty one."""
        if self.values and isinstance(self.values[0], dict):
            return self.values[0]
        return {}

    @property
    def is_single(self) -> bool:
        """Tell whether there is one value, and nothing of another one in it."""
        return len(self.values) == 1 and not self.mixed

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return all objects: the values themselves, and those in lists."""
        return [row for value in self.values for row in objects(value)]


_PART = re.compile(r"""\s*([{}\[\],:]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}\[\],:"'\n]+|["'])""")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_DEEPEST = 100
# iperf3 writes these of each parallel stream into the one object `start` (esnet/iperf, src/iperf_tcp.c, iperf_udp.c).
_REPEATED = frozenset({"sock_bufsize", "sndbuf_actual", "rcvbuf_actual"})
_MISSING = object()


def read_documents(text: str) -> Documents:
    """Return the values of a text. If its end is missing, the last scalar is left out, because it may be cut."""
    try:
        return Documents((json.loads(text, object_pairs_hook=_unique),))
    except (ValueError, RecursionError):
        reader = _RelaxedReader()
        for match in _PART.finditer(text):
            can_go_on = reader.take(match[1].strip())
            if not can_go_on:
                break
        return reader.end()


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the members of an object; raises ValueError if a key occurs twice that iperf3 does not repeat."""
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    keys = [key for key, _ in pairs if key not in _REPEATED]
    if len(set(keys)) < len(keys):
        raise ValueError("a key occurs twice")
    return members


class _RelaxedReader:
    """Builds values from tokens with a stack of its own, so that no nesting is too deep for it."""

    def __init__(self) -> None:
        # The values whose end was read.
        self.finished: list[object] = []
        # The open containers, and for each the key of its next value, None in a list and before the key.
        self.stack: list[dict[str, object] | list[object]] = []
        self.keys: list[str | None] = []
        # A value is stored at the delimiter that follows it: before that its end may be missing.
        self.pending: object = _MISSING
        # The last scalar as text, which a colon makes a key.
        self.word = ""
        self.cut = False
        self.mixed = False

    def take(self, part: str) -> bool:
        """Take the next part; return False if nothing after it can be read."""
        # A quote alone begins a text that has no end.
        if part in {'"', "'"} or len(self.stack) > _DEEPEST:
            self.cut = True
            return False
        if part in {"{", "["}:
            self._open(part)
        elif part == ":" and self.stack:
            # The scalar before a colon is a key, not a value.
            self.keys[-1] = self.word
            self.pending = _MISSING
        elif part in {",", "}", "]"}:
            self._store_pending()
            if part != "," and self.stack:
                self._close()
        elif part and self.stack:
            self._scalar(part)
        return True

    def _open(self, part: str) -> None:
        """Begin an object or a list. A value right before it lacks its delimiter, so the text is mixed."""
        self.mixed |= self.pending is not _MISSING
        self.pending = _MISSING
        self.keys.append(None)
        if part == "{":
            self.stack.append({})
        else:
            self.stack.append([])

    def _close(self) -> None:
        """End the innermost container, which becomes the pending value of the one around it."""
        container = self.stack.pop()
        self.keys.pop()
        if self.stack:
            self.pending = container
        else:
            self.finished.append(container)

    def _scalar(self, part: str) -> None:
        """Make a text, number or word the pending value. A pending one lacks its delimiter, so the text is mixed."""
        self.mixed |= self.pending is not _MISSING
        self.word = part.strip("\"'")
        is_quoted = part[0] in "\"'"
        if is_quoted:
            self.pending = self.word
            return
        value = number(part)
        if value is None:
            self.pending = _WORDS.get(part, part)
        else:
            self.pending = value

    def _store_pending(self) -> None:
        """Add the pending value, if any, to the innermost container.

        In an object a value without a new key is left out, and the text is mixed.
        """
        if self.pending is _MISSING or not self.stack:
            return
        container = self.stack[-1]
        key = self.keys[-1]
        if isinstance(container, list):
            container.append(self.pending)
        elif key is None or key in container.keys() - _REPEATED:
            self.mixed = True
        else:
            container[key] = self.pending
        self.keys[-1] = None
        self.pending = _MISSING

    def end(self) -> Documents:
        """Return the values of the text. Containers without an end have the members before the cut."""
        self.cut |= bool(self.stack)
        # The end of a scalar may be missing; a container is pending once its end was read.
        if not isinstance(self.pending, dict | list):
            self.pending = _MISSING
        while self.stack:
            self._store_pending()
            self._close()
        return Documents(tuple(self.finished), strict=False, cut=self.cut, mixed=self.mixed)


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list, or a single object as a list; an empty list for any other value."""
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return []
