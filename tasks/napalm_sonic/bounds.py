"""Limits for the memory of answers, checked before an answer is decoded.

Two characters of JSON may take a hundred bytes of memory once decoded. A runner works on dozens of switches at once, so
a few broken or hostile switches must not use up its memory.
"""

import re
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

LONGEST_ANSWER_BYTES = 8 * 1024 * 1024
"""Maximum length of an answer: configuration and state of 1,000 ports take half of it."""
LONGEST_FRR_CHARACTERS = 1024 * 1024
"""Maximum length of FRR's configuration: one with 1,000 neighbors takes a third of it."""

_MOST_DECODED_BYTES = 32 * 1024 * 1024
# Answers up to this length, as of most switches, are decoded at once: their values take little memory in any case.
_LARGE_CHARACTERS = 512 * 1024
# Memory of an object or list with one value, and of each further value (CPython 3.11, 64 bits), rounded up.
_CONTAINER_BYTES = 128
_VALUE_BYTES = 72
# The first byte of a UTF-8 character above U+FFFF, and of one above U+00FF.
_WIDE = re.compile(rb"[\xf0-\xff]")
_NOT_LATIN = re.compile(rb"[\xc4-\xff]")

_large_decoding = Lock()

T = TypeVar("T")


class TooLargeError(ValueError):
    """An answer would take too much memory; the message has the numbers."""


def refuse_wide(answer: bytes) -> None:
    """Raise TooLargeError for an answer whose text would take more memory than the longest ASCII answer.

    Python stores every character of a text in 1, 2 or 4 bytes, depending on the widest one (PEP 393).
    """
    if answer.isascii():
        return
    width = _octets_a_character(answer)
    if len(answer) * width > LONGEST_ANSWER_BYTES:
        raise TooLargeError(f"it has {len(answer):,} octets, among them of characters of {width} octets")


def _octets_a_character(text: bytes) -> int:
    """Return the number of bytes in which Python stores each character of a UTF-8 text (PEP 393)."""
    if _WIDE.search(text):
        return 4
    if _NOT_LATIN.search(text):
        return 2
    return 1


def decoded_in_turn(text: str, decode: Callable[[str], T]) -> T:
    """Return the result of ``decode`` for a JSON text. Threads decode large texts one after the other.

    Raises TooLargeError, before it decodes anything, if the result would take more memory than the largest
    configuration does.
    """
    if len(text) <= _LARGE_CHARACTERS:
        return decode(text)
    with _large_decoding:
        # An estimate: nearly every value is behind a comma or a colon.
        containers = text.count("{") + text.count("[")
        values = text.count(",") + text.count(":")
        if containers * _CONTAINER_BYTES + values * _VALUE_BYTES > _MOST_DECODED_BYTES:
            raise TooLargeError(f"it has {containers + values:,} values in {len(text):,} characters")
        return decode(text)


def refuse_long_frr(text: object) -> None:
    """Raise TooLargeError for a text of FRR's configuration longer than ``LONGEST_FRR_CHARACTERS``."""
    if isinstance(text, str) and len(text) > LONGEST_FRR_CHARACTERS:
        raise TooLargeError(f"the configuration of FRR has {len(text):,} characters")
