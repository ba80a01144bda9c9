"""The kinds of value in an intent, for use as pydantic annotations.

Each kind parses a value as YAML gives it, refuses it in one sentence with a fix, and describes itself in JSON Schema,
so that notations (``400G``, ``"1.5:1"``, ``auto``) are understood in one place.
"""

import ipaddress
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Never

from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from railweave.fabric.model import IPV6_BLOCK_LENGTH
from railweave.fabric.policy import NO_POOL, Ipv6Pool, Pool
from railweave.fabric.releases import NAME, RELEASES
from railweave.intent.positions import plain_value
from railweave.secrets import reference, references
from railweave.units import parse_speed_gbps
from railweave.wording import either, suggestion

AUTO = "auto"
REFUSED = "refused"
"""The pydantic error type of everything that a kind refuses; its context holds code, message and fix."""

# Characters of a value in a message.
_LONGEST_SHOWN = 40
# A message lists up to so many numbers of a range one by one.
_FEW = 4
_PREFIX = r"[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}"
_IPV6_PREFIX = r"[0-9A-Fa-f:]{2,39}/[0-9]{1,3}"
_SPEED = r"[1-9][0-9]{0,5}[GT]"
_RATIO = re.compile(r"(?P<down>[0-9]{1,4}(?:\.[0-9]{1,4})?):(?P<up>[0-9]{1,4}(?:\.[0-9]{1,4})?)")


def shown(value: object) -> str:
    """Return how a message names a value: a scalar in backquotes, a collection by its kind."""
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
        """Return the words that a message adds if ``auto`` is allowed."""
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
        """Return the number."""
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
        if self.most - self.least < _FEW:
            choices = [str(number) for number in range(self.least, self.most + 1)]
            if self.auto:
                choices.append("`auto`")
            return f"write {either(choices)}"
        return f"write a number from {self.least} to {self.most}{self.or_auto}"

    def form(self) -> dict[str, Any]:
        """Return the number's bounds."""
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
        """Return the text."""
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
    words = list(allowed)
    if auto:
        words.append("`auto`")
    fix = f"write {either(words)}"
    if isinstance(value, str):
        fix = suggestion(value, allowed) + fix
    refuse("RW014", f"{shown(value)} is not a valid {what}", fix)


@dataclass(frozen=True, slots=True)
class Release(Kind):
    """A SONiC branch: year and month, as text or as the number that YAML makes of it, or ``master``."""

    def read(self, value: object) -> str:
        """Return the branch as text; an unknown one is a warning (RW116)."""
        text = ""
        if isinstance(value, str | int) and not isinstance(value, bool):
            text = str(value)
        if re.fullmatch(NAME, text) is None:
            fix = f"{suggestion(text, (*RELEASES, 'master'))}write {either((*RELEASES, 'master'))}"
            refuse("RW014", f"unknown SONiC release {shown(value)}", fix)
        return text

    def form(self) -> dict[str, Any]:
        """Return the pattern of a branch, and the range of its number."""
        text = {"type": "string", "pattern": f"^({NAME})$", "examples": [*RELEASES]}
        return {"anyOf": [text, {"type": "integer", "minimum": 200001, "maximum": 209912}]}


class Speed(Kind):
    """A port speed written like ``400G``, read as Gb/s."""

    __slots__ = ()

    def read(self, value: object) -> int:
        """Return the speed in Gb/s."""
        if not isinstance(value, str) or re.fullmatch(_SPEED, value) is None:
            fix = "write the Gb/s of one port, like 400G"
            number = re.fullmatch(r"([1-9][0-9]{0,5})\s*(?:g|G|[gG][bB].*)?", str(value))
            if number is not None:
                fix = f"write {number[1]}G"
            refuse("RW015", f"{shown(value)} is not a speed", fix + self.or_auto)
        return parse_speed_gbps(value)

    def form(self) -> dict[str, Any]:
        """Return the pattern of a speed."""
        return {"type": "string", "pattern": f"^{_SPEED}$", "examples": ["400G"]}


class Ratio(Kind):
    """Downlink to uplink bandwidth, ``"2:1"`` or ``"1.5:1"``."""

    __slots__ = ()

    def read(self, value: object) -> Fraction:
        """Return the ratio as an exact fraction."""
        match = _RATIO.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            fix = 'write downlink to uplink bandwidth, like "1:1" or "1.5:1"'
            if isinstance(value, int | str) and re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4})?", str(value)):
                fix = f'write "{value}:1"'
            refuse("RW015", f"{shown(value)} is not a ratio", fix + self.or_auto)
        down = Fraction(match["down"])
        up = Fraction(match["up"])
        if not up or not Fraction(1, 8) <= down / up <= 64:
            refuse("RW013", f"{shown(value)} is out of range", f'write a ratio from "1:8" to "64:1"{self.or_auto}')
        return down / up

    def form(self) -> dict[str, Any]:
        """Return the pattern of a ratio."""
        return {"type": "string", "pattern": f"^{_RATIO.pattern.replace('?P<down>', '').replace('?P<up>', '')}$"}


@dataclass(frozen=True, slots=True)
class Prefix(Kind):
    """An IPv4 prefix whose host bits are zero; if it is ``optional``, ``none`` means no addresses."""

    optional: bool = False

    def read(self, value: object) -> Pool | None:
        """Return the prefix as a pool of addresses, None for ``none``."""
        if self.optional and value == NO_POOL:
            return None
        try:
            # ipaddress would accept an address alone, and a netmask in place of the length.
            is_prefix = re.fullmatch(_PREFIX, str(value)) is not None
            interface = ipaddress.IPv4Interface(value if is_prefix else "")
        except ValueError:
            fix = "write a network and length, like 10.32.0.0/11"
            if self.optional and value is None:
                fix += f", or {NO_POOL} for no addresses"
            refuse("RW015", f"{shown(value)} is not an IPv4 prefix", fix)
        network = interface.network
        if interface.ip != network.network_address:
            refuse("RW015", f"{shown(value)} is an address within {network}, not a prefix", f"write {network}")
        return Pool(int(network.network_address), network.prefixlen)

    def form(self) -> dict[str, Any]:
        """Return the pattern of a prefix."""
        form = {"type": "string", "pattern": f"^{_PREFIX}$", "examples": ["10.32.0.0/11"]}
        if self.optional:
            return {"anyOf": [{"const": NO_POOL}, form]}
        return form


class Ipv6Prefix(Kind):
    """An IPv6 prefix of at most 64 bits, whose host bits are zero."""

    __slots__ = ()

    def read(self, value: object) -> Ipv6Pool:
        """Return the prefix as a pool of addresses."""
        try:
            is_prefix = re.fullmatch(_IPV6_PREFIX, str(value)) is not None
            interface = ipaddress.IPv6Interface(value if is_prefix else "")
        except ValueError:
            refuse("RW015", f"{shown(value)} is not an IPv6 prefix", "write a network and length, like fd00:10::/44")
        network = interface.network
        if interface.ip != network.network_address:
            refuse("RW015", f"{shown(value)} is an address within {network}, not a prefix", f"write {network}")
        # Every leaf has a block of this length.
        if network.prefixlen > IPV6_BLOCK_LENGTH:
            refuse("RW015", f"{shown(value)} holds no /{IPV6_BLOCK_LENGTH}", "write a /64 or larger pool, like a /44")
        return Ipv6Pool(int(network.network_address), network.prefixlen)

    def form(self) -> dict[str, Any]:
        """Return the pattern of a prefix."""
        return {"type": "string", "pattern": f"^{_IPV6_PREFIX}$", "examples": ["fd00:10::/44"]}


class CodePoints:
    """A list of DSCPs, or the word ``default`` (read as None) for all that no other class names."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        items = core_schema.list_schema(core_schema.no_info_plain_validator_function(_DSCP.read), min_length=0)
        return core_schema.no_info_wrap_validator_function(self._read, items)

    def _read(self, value: object, read_list: Callable[[object], list[int]]) -> tuple[int, ...] | None:
        if value == "default":
            return None
        if isinstance(value, list) and value:
            return tuple(read_list(value))
        fix = "write a list like [26]"
        if isinstance(value, int) and not isinstance(value, bool):
            fix = f"write [{value}]"
        wrong = "an empty list" if value == [] else shown(value)
        refuse("RW012", f"{wrong} is not a list of DSCPs", f"{fix}, or `default` for all that no other class names")

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, Any]:
        return {"anyOf": [{"const": "default"}, {"type": "array", "minItems": 1, "items": _DSCP.form()}]}


class FieldValue:
    """A CONFIG_DB field: text, a list of text, or ``{secret: NAME}``, which stays a reference until it is sent."""

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        items = core_schema.list_schema(core_schema.no_info_plain_validator_function(_field_text))
        return core_schema.no_info_wrap_validator_function(self._read, items)

    def _read(self, value: object, read_list: Callable[[object], list[str]]) -> str | tuple[str, ...]:
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
    if isinstance(value, str):
        return value
    fix = "write text, or a list of text"
    if isinstance(value, int):
        text = shown(value).strip("`")
        fix = f'write "{text}" in quotes'
    refuse("RW012", f"{shown(value)} is not text, and CONFIG_DB fields are text", fix)
