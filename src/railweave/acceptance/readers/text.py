"""The text of a file, its numbers, and the hosts whose lines a launcher has mixed in it."""

import re
from collections import defaultdict
from math import isfinite

_NUMBER = re.compile(r"[-+]?\d{1,25}(\.\d*)?([eE][-+]?\d{1,3})?", re.ASCII)
NUMBER_OR_DEFECT = re.compile(r"[-+]?(\d+(\.\d*)?([eE][-+]?\d+)?|nan|inf)", re.ASCII)
"""A number as printf writes it, with those that no measurement yields."""
_LAUNCHER = re.compile(r"([\w.-]+): ?|\[[^\]\s]*,(\d+)\]<\w+>: ?")
"""What pdsh, clush and srun (``host: ``) or mpirun (``[1,0]<stdout>:``) write before each line."""
# Counters end at 2^64; beyond that an integer is garbage.
_LARGEST = 2**80


def decoded(data: bytes) -> str:
    """Return the text of a file, whatever its bytes are; a byte order mark and carriage returns are left out."""
    encoding = "utf-8-sig"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    return data.decode(encoding, "replace").replace("\r\n", "\n")


def number(value: object) -> float | int | None:
    """Return a finite number, from a number or from its text; None for everything else, such as N/A.

    An integer stays an int.
    """
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if match is None:
            return None
        fraction, exponent = match.groups()
        if fraction is None and exponent is None:
            return int(value)
        value = float(value)
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST:
        return value
    return None


def whole(value: object) -> int | None:
    """Return a whole number as an int, also if it is written as ``0.000000``; None for everything else."""
    parsed = number(value)
    if parsed is None or parsed != int(parsed):
        return None
    return int(parsed)


def by_host(text: str, anchor: str) -> dict[str, str]:
    """Return the lines of each host by its name, without the prefix that a launcher writes before each line.

    ``anchor`` is the beginning of a line that every host prints: what is before it shows the prefix. A text without
    prefixes is returned whole under the name "".
    """
    hosts = set()
    for text_before in text.split(anchor)[:-1]:
        match = _LAUNCHER.match(text_before, text_before.rfind("\n") + 1)
        # Only blanks may be between the prefix and the anchor.
        if match is not None and not text_before[match.end() :].strip():
            hosts.add(_launcher_host(match))
    if not hosts:
        return {"": text}
    lines: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines(keepends=True):
        match = _LAUNCHER.match(line)
        if match is not None and _launcher_host(match) in hosts:
            lines[_launcher_host(match)].append(line[match.end() :])
    return {host: "".join(lines[host]) for host in sorted(lines)}


def _launcher_host(match: re.Match[str]) -> str:
    """Return the host of a prefix: its name, or the rank that mpirun writes."""
    return match[1] or match[2]


def lines_with(text: str, *words: str) -> list[str]:
    """Return the lines in which one of ``words`` occurs, stripped and cut to 200 characters."""
    # Searching the whole text first is faster: most files have none, and a large run has a hundred thousand files.
    if not any(word in text for word in words):
        return []
    return [line.strip()[:200] for line in text.splitlines() if any(word in line for word in words)]
