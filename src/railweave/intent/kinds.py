"""The kinds of value in an intent, for use as pydantic annotations.

Each kind parses a value as YAML gives it, refuses it in one sentence with a fix, and describes itself in JSON Schema,
so that notations (``400G``, ``"1.5:1"``, ``auto``) are understood in one place.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Never

from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from railweave.intent.positions import plain_value
from railweave.secrets import reference, references
from railweave.wording import either, suggestion

AUTO = "auto"
REFUSED = "refused"
"""The pydantic error type of everything that a kind refuses; its context holds code, message and fix."""

# Characters of a value in a message.
_LONGEST_SHOWN = 40
# A message lists up to so many numbers of a range one by one.
_FEW = 4


def shown(value: object) -> str:
    """Return a value as a message shows it: a scalar in backquotes, a collection only by its kind."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    # A message is one line.
    text = str(value).replace("\n", "⏎")
    if isinstance(value, bool):
        text = text.lower()
    if len(text) > _LONGEST_SHOWN:
        text = text[: _LONGEST_SHOWN - 1] + "…"
    # Text that would be a number or a truth value without its quotes is shown with them.
    if isinstance(value, str) and not isinstance(plain_value(value), str):
        text = f'"{text}"'
    return f"`{text}`"


def refuse(code: str, message: str, fix: str) -> Never:
    """Refuse the value that is validated; raises PydanticCustomError."""
    raise PydanticCustomError(REFUSED, "{message}", {"code": code, "message": message, "fix": fix})


@dataclass(frozen=True, slots=True)
class Kind(ABC):
    """A kind of scalar; with ``auto`` that word means None: railweave chooses."""

    auto: bool = False

    @abstractmethod
    def read(self, value: object) -> object:
        """Return the value parsed, or refuse it."""

    @abstractmethod
    def form(self) -> dict[str, Any]:
        """Return the JSON Schema of what may be written."""

    @property
    def or_auto(self) -> str:
        """Return what a message adds to its choices if ``auto`` is allowed; else an empty text."""
        return " or `auto`" if self.auto else ""

    def _read(self, value: object) -> object:
        if self.auto and value == AUTO:
            return None
        return self.read(value)

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        # Plain: pydantic's own conversions, such as "5" for 5, are not wanted.
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        if self.auto:
            return {"anyOf": [{"const": AUTO}, self.form()]}
        return self.form()


@dataclass(frozen=True, slots=True)
class Whole(Kind):
    """A whole number between two bounds, both allowed."""

    least: int = 0
    most: int = 0

    def read(self, value: object) -> int:
        """Return the number. Anything but a whole number within the bounds is refused."""
        # A truth value is an int in Python.
        if isinstance(value, bool) or not isinstance(value, int):
            fix = self._range()
            if isinstance(value, str):
                unquoted = plain_value(value)
                if isinstance(unquoted, int) and self.least <= unquoted <= self.most:
                    fix = f"write {unquoted} without quotes"
            refuse("RW012", f"{shown(value)} is not a whole number", fix)
        if not self.least <= value <= self.most:
            refuse("RW013", f"{shown(value)} is out of range", self._range())
        return value

    def _range(self) -> str:
        """Return a fix that names the allowed numbers."""
        if self.most - self.least < _FEW:
            choices = [str(number) for number in range(self.least, self.most + 1)]
            if self.auto:
                choices.append("`auto`")
            return f"write {either(choices)}"
        return f"write a number from {self.least} to {self.most}{self.or_auto}"

    def form(self) -> dict[str, Any]:
        """Return the type of the number and its bounds."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


class Flag(Kind):
    """``true`` or ``false``; YAML 1.1's other words for them (``yes``, ``off``) are text here."""

    __slots__ = ()

    def read(self, value: object) -> bool:
        """Return the truth value."""
        if isinstance(value, bool):
            return value
        word = str(value).lower()
        fix = "write `true` or `false`"
        if word in {"yes", "on", "y", "true"}:
            fix = "write `true`"
        elif word in {"no", "off", "n", "false"}:
            fix = "write `false`"
        refuse("RW012", f"{shown(value)} is not `true` or `false`", fix)

    def form(self) -> dict[str, Any]:
        """Return the boolean type."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Text that is not empty; ``what`` names its kind in messages, ``ids`` returns the words that an editor offers."""

    what: str = "text"
    pattern: str = r"\S.*"
    example: str = ""
    rule: str = ""
    ids: Callable[[], Sequence[str]] = tuple

    def read(self, value: object) -> str:
        """Return the text. Anything but text that matches the pattern is refused."""
        if not isinstance(value, str):
            fix = f"write {self._sample()}"
            # YAML reads a name of digits as a number.
            if isinstance(value, int) and re.fullmatch(self.pattern, str(value)):
                fix = f"put {shown(value)} in quotes"
            refuse("RW012", f"{shown(value)} is not {self.what}", fix)
        if re.fullmatch(self.pattern, value) is None:
            refuse("RW015", f"{shown(value)} is not {self.what}", self.rule or f"write {self._sample()}")
        return value

    def _sample(self) -> str:
        if not self.example:
            return self.what
        return f"{self.what}, like `{self.example}`"

    def form(self) -> dict[str, Any]:
        """Return the ids, else the pattern and an example for editors."""
        ids = self.ids()
        if ids:
            return {"enum": [*ids]}
        form: dict[str, Any] = {"type": "string", "pattern": f"^{self.pattern}$"}
        if self.example:
            form["examples"] = [self.example]
        return form


@dataclass(frozen=True, slots=True)
class Word(Kind):
    """One word of a closed set."""

    words: type[StrEnum] = StrEnum
    what: str = "word"

    def read(self, value: object) -> StrEnum:
        """Return the member of the enumeration."""
        allowed = [word.value for word in self.words]
        if value not in allowed:
            _refuse_word(value, self.what, allowed, auto=self.auto)
        return self.words(value)

    def form(self) -> dict[str, Any]:
        """Return the words."""
        return {"enum": [word.value for word in self.words]}


@dataclass(frozen=True, slots=True)
class Entry(Kind):
    """The id of something in the data files; ``ids`` looks them up when a value is read."""

    ids: Callable[[], Sequence[str]] = tuple
    what: str = "entry"

    def read(self, value: object) -> str:
        """Return the id."""
        if not isinstance(value, str) or value not in self.ids():
            _refuse_word(value, self.what, self.ids(), auto=self.auto)
        return value

    def form(self) -> dict[str, Any]:
        """Return the ids."""
        return {"enum": [*self.ids()]}


def _refuse_word(value: object, what: str, allowed: Sequence[str], *, auto: bool) -> Never:
    """Refuse a value that is not one of the ``allowed`` words; ``what`` names their kind."""
    words = list(allowed)
    if auto:
        words.append("`auto`")
    fix = f"write {either(words)}"
    if isinstance(value, str):
        fix = suggestion(value, allowed) + fix
    refuse("RW014", f"{shown(value)} is not a valid {what}", fix)


class CodePoints:
    """A list of DSCPs, or the word ``default`` (read as None) for all that no other class names."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        items = core_schema.list_schema(core_schema.no_info_plain_validator_function(_DSCP.read), min_length=0)
        return core_schema.no_info_wrap_validator_function(self._read, items)

    def _read(self, value: object, read_list: Callable[[object], list[int]]) -> tuple[int, ...] | None:
        """Return the code points, None for ``default``; ``read_list`` reads the items of a list."""
        if value == "default":
            return None
        if isinstance(value, list) and value:
            return tuple(read_list(value))
        fix = "write a list like [26]"
        if isinstance(value, int) and not isinstance(value, bool):
            fix = f"write [{value}]"
        shown_value = shown(value)
        if value == []:
            shown_value = "an empty list"
        refuse(
            "RW012", f"{shown_value} is not a list of DSCPs", f"{fix}, or `default` for all that no other class names"
        )

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        return {"anyOf": [{"const": "default"}, {"type": "array", "minItems": 1, "items": _DSCP.form()}]}


class FieldValue:
    """A CONFIG_DB field: text, a list of text, or ``{secret: NAME}``, which stays a reference until it is sent."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        items = core_schema.list_schema(core_schema.no_info_plain_validator_function(_field_text))
        return core_schema.no_info_wrap_validator_function(self._read, items)

    def _read(self, value: object, read_list: Callable[[object], list[str]]) -> str | tuple[str, ...]:
        """Return the text, the list, or the reference to a secret as text; ``read_list`` reads the items of a list."""
        if isinstance(value, dict) and list(value) == ["secret"]:
            text = reference(str(value["secret"]))
            # It is a reference only if the name is one.
            if references(text):
                return text
        if isinstance(value, list):
            return tuple(read_list(value))
        return _field_text(value)

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        secret = {"type": "object", "properties": {"secret": {"type": "string"}}, "required": ["secret"]}
        by_name = {**secret, "additionalProperties": False}
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, by_name]}


_DSCP = Whole(least=0, most=63)


def _field_text(value: object) -> str:
    """Return ``value`` if it is text; else it is refused."""
    if isinstance(value, str):
        return value
    fix = "write text, or a list of text"
    if isinstance(value, int):
        text = shown(value).strip("`")
        fix = f'write "{text}" in quotes'
    refuse("RW012", f"{shown(value)} is not text, and CONFIG_DB fields are text", fix)
