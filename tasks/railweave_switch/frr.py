"""FRR's configuration as a set of lines in their contexts: enough to tell whether an earlier text is back."""

from __future__ import annotations

import re
from collections.abc import Iterable

Line = tuple[str, ...]
"""A line after the lines that it stands under: ``("router bgp 65001", "address-family ipv4 unicast", "network …")``."""

_NOT_COMPARED = re.compile(
    r"(!|Building configuration|Current configuration|frr version |frr defaults |hostname |end$)"
)
_EXIT = re.compile(r"(exit(-[a-z0-9-]+)?|quit)$")


def lines_of(text: str, ignored: str = "") -> dict[Line, None]:
    """Return the lines of a ``show running-config``, in order. ``ignored`` is a pattern of lines that never matter."""
    pattern = re.compile(ignored) if ignored else None
    found: dict[Line, None] = {}
    above: list[tuple[int, str]] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line or _NOT_COMPARED.match(line) or _EXIT.match(line):
            continue
        depth = len(raw) - len(raw.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        if pattern is None or not pattern.match(line):
            found[(*(one for _, one in above), line)] = None
        above.append((depth, line))
    return found


def shown(line: Iterable[str]) -> str:
    """Return a line for a person."""
    return "FRR " + " / ".join(line)


def text_of(lines: Iterable[Line]) -> str:
    """Return the text for vtysh that adds these lines."""
    text: list[str] = []
    for line in lines:
        text += [" " * depth + word for depth, word in enumerate(line)]
        text += ["exit"] * (len(line) - 1)
    return "\n".join([*text, ""])


def removal_of(lines: Iterable[Line]) -> str:
    """Return the text for vtysh that removes these lines."""
    return text_of((*line[:-1], line[-1][3:] if line[-1].startswith("no ") else f"no {line[-1]}") for line in lines)
