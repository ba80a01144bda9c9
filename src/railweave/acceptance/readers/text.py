"""The text of a file, its numbers, and the hosts whose lines a launcher has mixed in it."""

import re
from collections import defaultdict
from math import isfinite

_NUMBER = re.compile(r"[-+]?\d{1,25}(?P<float>\.\d*)?(?P<exponent>[eE][-+]?\d{1,3})?", re.ASCII)
NUMBER_OR_DEFECT = re.compile(r"[-+]?(\d+(\.\d*)?([eE][-+]?\d+)?|nan|inf)", re.ASCII)
"""A number as printf writes it, with those that no measurement yields."""
PREFIX = r"(?:(?P<host>[\w.-]+): ?|\[[^\]\s]*,(?P<rank>\d+)\]<\w+>: ?)"
"""What pdsh, clush and srun (``host: ``) or mpirun (``[1,0]<stdout>:``) put before each line."""
_PREFIX = re.compile(PREFIX)
_LARGEST = 2**80


def decoded(data: bytes) -> str:
    """Return the text of a file, whatever its bytes are; a byte order mark and carriage returns are left out."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").replace("\r\n", "\n")
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def number(value: object) -> float | int | None:
    """Return a finite number from a number or its text, an integer as one; None for everything else, such as N/A."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip())
        if match is None:
            return None
        if match["float"] is None and match["exponent"] is None:
            return int(value)
        value = float(value)
    if isinstance(value, int) and abs(value) < _LARGEST:
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    return None


def whole(value: object) -> int | None:
    """Return a number that is an integer, also where it is written as ``0.000000``."""
    parsed = number(value)
    if parsed is None or parsed != int(parsed):
        return None
    return int(parsed)


def by_host(text: str, anchor: str) -> dict[str, str]:
    """Return the text of each host by its name, without the prefix; of one under "" if lines have no prefix.

    ``anchor`` is an expression for a line that every host prints: what stands before it is the prefix.
    """
    anchors = re.finditer(rf"^{PREFIX}\s*{anchor}", text, re.MULTILINE)
    hosts = {match["host"] or match["rank"] for match in anchors}
    if not hosts:
        return {"": text}
    lines: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines(keepends=True):
        match = _PREFIX.match(line)
        if match is not None and (match["host"] or match["rank"]) in hosts:
            lines[match["host"] or match["rank"]].append(line[match.end() :])
    return {host: "".join(lines[host]) for host in sorted(lines)}


def first_lines(text: str, pattern: re.Pattern[str], most: int = 5) -> tuple[str, ...]:
    """Return the lines in which ``pattern`` is found, each once and at most ``most``."""
    lines = (line.strip()[:200] for line in text.splitlines() if pattern.search(line))
    return tuple(dict.fromkeys(lines))[:most]
