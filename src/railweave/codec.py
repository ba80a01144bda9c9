"""Frozen values as JSON, and JSON as frozen values: plans, journals and messages are written and read by this module.

``as_json`` and ``encode`` write. ``read_value`` and ``read_text`` read strictly: a value of a wrong type is refused
with its place, by pydantic, which is imported with the first value that is read. ``Record`` reads leniently, for files
that a kill may have cut short or a newer version has written: a value of a wrong type counts as missing. Whatever the
input, reading raises nothing but ``CodecError``.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from functools import cache
from math import isinf
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pydantic import ValidationError

Place = tuple[str | int, ...]
"""Where a value is in a document: names of members and indexes of lists, from the outside in."""


class CodecError(ValueError):
    """A text or a document does not hold the value that is read from it."""


class InvalidTextError(CodecError):
    """A text is not JSON; ``line`` and ``column`` are counted from 1, ``reason`` is the message without them."""

    def __init__(self, message: str, line: int = 1, column: int = 1, reason: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.reason = reason or message


class NestedTooDeepError(InvalidTextError):
    """The values of a text are nested deeper than Python reads."""


class InvalidPart(NamedTuple):
    """A part of a document that is missing or of another type."""

    place: Place
    # Pydantic's word for what is wrong, such as ``missing``.
    kind: str
    message: str


class InvalidValueError(CodecError):
    """A part of a document is missing or of another type; ``parts`` has every such part if several were found."""

    def __init__(self, place: Place, message: str, parts: tuple[InvalidPart, ...] = ()) -> None:
        super().__init__(f"{place_text(place)}: {message}" if place else message)
        self.place = place
        self.parts = parts


def as_json(value: object) -> Any:
    """Return a value as JSON has it: dataclasses, named tuples and mappings are objects, tuples are lists.

    An infinite number is null.
    """
    if is_dataclass(value) or hasattr(value, "_fields"):
        return {name: as_json(getattr(value, name)) for name in _field_names(value)}
    if isinstance(value, Mapping):
        return {str(name): as_json(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(member) for member in value]
    return _scalar_as_json(value)


def _scalar_as_json(value: object) -> Any:
    """Return a value without members as JSON has it; a value of an unknown type is returned as it is."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    # JSON has no infinity, which a ratio of load to paths is once the last path is lost.
    is_infinite = isinstance(value, float) and isinf(value)
    return None if is_infinite else value


def encode(value: object) -> bytes:
    """Return a value as one line of JSON in ASCII, without its newline."""
    return json.dumps(as_json(value)).encode()


def members(value: object, *names: str) -> dict[str, Any]:
    """Return these attributes of a value as the members of an object."""
    return {name: as_json(getattr(value, name)) for name in names}


def _field_names(value: Any) -> Iterable[str]:
    """Return the names of the fields of a named tuple or dataclass."""
    if hasattr(value, "_fields"):
        names: tuple[str, ...] = value._fields
        return names
    return [field.name for field in fields(value)]


def load_text(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises InvalidTextError if the text is not JSON, and NestedTooDeepError if its values are nested too deep.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as exc:
        raise InvalidTextError(str(exc), line=exc.lineno, column=exc.colno, reason=exc.msg) from None
    except RecursionError as exc:
        raise NestedTooDeepError(str(exc)) from None
    except ValueError as exc:
        # An integer of more digits than Python converts (sys.set_int_max_str_digits), or a byte that is not UTF-8:
        # Python does not tell their place.
        raise InvalidTextError(str(exc)) from None


def read_value(kind: Any, value: Any, at: Place = ()) -> Any:
    """Return ``value``, a parsed JSON value, as a value of the type ``kind``.

    A type is made of dataclasses, named tuples, tuples, mappings and enumerations. ``at`` is the place of ``value`` in
    its document. Raises InvalidValueError with the first part that is missing or of another type.
    """
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as exc:
        raise _invalid_value(exc, at) from None


def read_text(kind: Any, text: str | bytes) -> Any:
    """Return the value of a JSON text as a value of the type ``kind``, without coercion: ``"5"`` is no number.

    Raises InvalidTextError if ``text`` is not JSON, and InvalidValueError if it does not fit ``kind``, with all parts
    that are missing or of another type.
    """
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_json(text, strict=True)
    except ValidationError as exc:
        # If the text is not JSON, this raises first: the error of Python's parser has line and column.
        load_text(text)
        raise _invalid_value(exc) from None


def _invalid_value(invalid: "ValidationError", at: Place = ()) -> InvalidValueError:
    """Return pydantic's error about a value at the place ``at`` as one of railweave's."""
    details = invalid.errors(include_url=False, include_input=False, include_context=False)
    parts = tuple(InvalidPart((*at, *detail["loc"]), detail["type"], detail["msg"]) for detail in details)
    first = parts[0]
    return InvalidValueError(first.place, first.message, parts)


@cache
def _adapter(kind: Any) -> Any:
    # Imported late: pydantic takes a tenth of a second, and `--help` reads no value.
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def place_text(place: Place) -> str:
    """Return a place as people write it: ``changes[3].table``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def position(text: str, place: Place) -> tuple[int, int]:
    """Return (line, column), both from 1, of the value at a place in a valid JSON text.

    If the value is missing, they are those of the innermost object or list around it.
    """
    start = _past_space(text, 0)
    for part in place:
        has_members = text[start] in "{["
        if not has_members:
            break
        value_starts = dict(_members_of(text, start))
        if part not in value_starts:
            break
        start = value_starts[part]
    line = text.count("\n", 0, start) + 1
    # In the first line rfind returns -1, so that its first column is 1 too.
    column = start - text.rfind("\n", 0, start)
    return line, column


def _members_of(text: str, start: int) -> Iterator[tuple[str | int, int]]:
    """Yield the name or index of each member of an object or list, with the offset at which its value begins.

    ``start`` is the offset of the object or list in a valid JSON text.
    """
    is_object = text[start] == "{"
    index = 0
    offset = _past_space(text, start + 1)
    while text[offset] not in "}]":
        name: str | int = index
        if is_object:
            name, offset = _DECODER.raw_decode(text, offset)
            colon = _past_space(text, offset)
            offset = _past_space(text, colon + 1)
        yield name, offset
        _, offset = _DECODER.raw_decode(text, offset)
        offset = _past_space(text, offset)
        if text[offset] == ",":
            offset = _past_space(text, offset + 1)
        index += 1


def _past_space(text: str, start: int) -> int:
    """Return the offset of the first character from ``start`` on that is not white space."""
    match = _SPACE.match(text, start)
    return match.end() if match is not None else start


class Record:
    """An object of a file that may be cut short, newer or foreign: a value of another type counts as missing."""

    __slots__ = ("values",)

    def __init__(self, values: object) -> None:
        self.values: dict[str, Any] = values if isinstance(values, dict) else {}

    @classmethod
    def of_line(cls, line: str | bytes) -> "Record":
        """Return the record in a line of a log; empty if the line is damaged or another value."""
        try:
            return cls(load_text(line))
        except CodecError:
            return cls({})

    def text(self, name: str) -> str:
        """Return a text, empty if it is missing."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        """Return a whole number, 0 if it is missing."""
        value = self.values.get(name)
        # True is an integer to Python.
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def flag(self, name: str) -> bool:
        """Tell whether a value is true."""
        return self.values.get(name) is True

    def items(self, name: str) -> list[Any]:
        """Return the members of a list, none if it is missing."""
        value = self.values.get(name)
        return value if isinstance(value, list) else []

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the texts of a list."""
        return texts(self.items(name))

    def record(self, name: str) -> "Record":
        """Return an object, an empty one if it is missing."""
        return Record(self.values.get(name))

    def records(self, name: str) -> Iterator[tuple[str, "Record"]]:
        """Yield name and value of each member of an object whose members are objects."""
        for key, value in self.record(name).values.items():
            yield key, Record(value)


def texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list; none of another value."""
    if not isinstance(value, list):
        return ()
    return tuple(member for member in value if isinstance(member, str))
