"""How much memory an answer may take, judged before any of it is decoded.

Two characters of JSON may become a hundred octets of memory. A runner works on dozens of switches at once, and a few of
them that answer anything must not take the memory of all.
"""

import re
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

LONGEST_ANSWER_BYTES = 8 * 1024 * 1024
"""No answer of a switch is longer: the configuration and state of 1,000 ports is half of it."""
LONGEST_FRR_CHARACTERS = 1024 * 1024
"""No configuration of FRR is longer: one with 1,000 neighbors is a third of it."""

_MOST_DECODED_BYTES = 32 * 1024 * 1024
# Answers up to here are decoded as they come: they are those of most switches, and small in whatever they hold.
_LARGE_CHARACTERS = 512 * 1024
_CONTAINER_BYTES, _VALUE_BYTES = 128, 72
"""Memory of an object or a list with one value, and of another value in it (CPython 3.11, 64 bits), rounded up."""
_WIDE = re.compile(rb"[\xf0-\xff]")
_NOT_LATIN = re.compile(rb"[\xc4-\xff]")

_large_decoding = Lock()

T = TypeVar("T")


class TooLargeError(ValueError):
    """An answer would take too much memory; the text says of what there is too much."""


def refuse_wide(answer: bytes) -> None:
    """Raise TooLargeError for octets whose text would take more memory than the longest answer.

    A text takes 1, 2 or 4 octets a character, by its widest one (PEP 393).
    """
    if answer.isascii():
        return
    width = _octets_a_character(answer)
    if len(answer) * width > LONGEST_ANSWER_BYTES:
        raise TooLargeError(f"it has {len(answer):,} octets, among them of characters of {width} octets")


def _octets_a_character(text: bytes) -> int:
    """Return how many octets Python keeps for each character of a text in UTF-8 (PEP 393)."""
    if _WIDE.search(text):
        return 4
    if _NOT_LATIN.search(text):
        return 2
    return 1


def decoded_in_turn(text: str, decode: Callable[[str], T]) -> T:
    """Return what ``decode`` makes of a JSON text; of all large ones in this process one at a time is decoded.

    Raises TooLargeError, before anything is decoded, for one with more values than the largest configuration has.
    """
    if len(text) <= _LARGE_CHARACTERS:
        return decode(text)
    with _large_decoding:
        containers = text.count("{") + text.count("[")
        values = text.count(",") + text.count(":")
        if containers * _CONTAINER_BYTES + values * _VALUE_BYTES > _MOST_DECODED_BYTES:
            raise TooLargeError(f"it has {containers + values:,} values in {len(text):,} characters")
        return decode(text)


def refuse_long_frr(text: object) -> None:
    """Raise TooLargeError for a configuration of FRR that is longer than any."""
    if isinstance(text, str) and len(text) > LONGEST_FRR_CHARACTERS:
        raise TooLargeError(f"the configuration of FRR has {len(text):,} characters")
