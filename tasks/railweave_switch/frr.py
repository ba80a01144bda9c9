"""FRR's configuration as a set of lines in their contexts: enough to tell whether an earlier text is back."""

from __future__ import annotations

import re
from collections.abc import Iterable

Line = tuple[str, ...]
"""A line after the lines that it stands under: ``("router bgp 65001", "address-family ipv4 unicast", "network …")``."""

JOIN = " / "
_EXIT = re.compile(r"(exit(-[a-z0-9-]+)?|quit)$")


def lines_of(text: str, ignored: str) -> dict[Line, None]:
    """Return the lines of a ``show running-config``, in order, but for those that are never compared.

    ``ignored`` is a pattern of these, matched against a line after all that it stands under, joined by `` / ``. The
    client sends it, so that one table says it for both; an empty one matches none.
    """
    pattern = re.compile(ignored or "(?!)")
    found: dict[Line, None] = {}
    above: list[tuple[int, str]] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("!") or _EXIT.match(line):
            continue
        depth = len(raw) - len(raw.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        above.append((depth, line))
        path = tuple(one for _, one in above)
        if not pattern.match(JOIN.join(path)):
            found[path] = None
    return found


def shown(line: Iterable[str]) -> str:
    """Return a line for a person."""
    return "FRR " + JOIN.join(line)


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
