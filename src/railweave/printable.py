"""Text of devices as people may see it: nothing in it moves a cursor, colors a terminal, or turns the line around.

Anybody who is attached to a port chooses the names that its switch shows (LLDP); whoever has a login, descriptions.
"""

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
"""Control characters but tab and line feed (C0, C1), separators, marks of direction, and halves of surrogate pairs."""
_UNPRINTABLE = re.compile(f"[{_CONTROL}]")


def printable(text: str) -> str:
    """Return text with a replacement character in the place of each control character but tabs and line feeds."""
    return _UNPRINTABLE.sub(REPLACEMENT, text)


def printable_json(text: str) -> str:
    """Return JSON with those characters as escapes, so that it says the same and does nothing to a terminal."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
