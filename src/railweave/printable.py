"""Text of devices made safe to show: nothing in it moves a cursor, colors a terminal or reverses a line.

A neighbor chooses the names that its switch shows (LLDP), and anyone with a login the descriptions.
"""

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# Control characters but tab and line feed (C0, C1), separators, marks of direction, and halves of surrogate pairs.
_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_UNPRINTABLE = re.compile(f"[{_CONTROL}]")


def printable(text: str) -> str:
    """Return text with each control character replaced, except tabs and line feeds."""
    return _UNPRINTABLE.sub(REPLACEMENT, text)


def printable_json(text: str) -> str:
    """Return JSON with the same characters as escapes: the same value, harmless to a terminal."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
