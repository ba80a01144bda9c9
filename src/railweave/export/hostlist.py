"""Slurm's host lists: ``gpu[1-16,20]``, as ``scontrol show hostlist`` writes and Slurm's files hold them."""

import re
from collections.abc import Iterable, Iterator

from railweave.wording import natural_key

# A zero in front would be lost in a range, so such a name is written out.
_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]*)")
# The commas between names, not those within brackets.
_NAMES = re.compile(r"[^,\[\]\s]*\[[^\]]*\]|[^,\s]+")
_RANGES = re.compile(r"(.*)\[([0-9,-]+)\]")
_MOST_NAMES = 1 << 20
"""Most names of one list, against ranges that would fill the memory."""


def hostlist(names: Iterable[str]) -> str:
    """Return names as one list: ``gpu[1-16,20]``; names without a number at their end stand alone."""
    numbers: dict[str, list[int]] = {}
    alone = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            alone.append(name)
        else:
            numbers.setdefault(match[1], []).append(int(match[2]))
    parts = [_bracketed(prefix, sorted(numbers[prefix])) for prefix in sorted(numbers, key=natural_key)]
    return ",".join([*parts, *sorted(alone, key=natural_key)])


def hostlist_parts(names: Iterable[str]) -> list[str]:
    """Return the list in pieces without a comma outside of brackets, for consumers that take a list of them."""
    return _NAMES.findall(hostlist(names))


def _bracketed(prefix: str, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{prefix}{numbers[0]}"
    ranges = []
    first = last = numbers[0]
    for number in numbers[1:]:
        if number == last + 1:
            last = number
            continue
        ranges.append(_range(first, last))
        first = last = number
    ranges.append(_range(first, last))
    return f"{prefix}[{','.join(ranges)}]"


def _range(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}-{last}"


def expanded(text: str) -> list[str]:
    """Return the names of a list; raises ValueError where a range is none."""
    names: list[str] = []
    for part in _NAMES.findall(text):
        match = _RANGES.fullmatch(part)
        if match is None:
            if "[" in part:
                raise ValueError(f"{part!r} is not a host list")
            names.append(part)
        else:
            names += _numbered(match[1], match[2])
        if len(names) > _MOST_NAMES:
            raise ValueError(f"{part!r} has more than {_MOST_NAMES:,} names")
    return names


def _numbered(prefix: str, ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise ValueError(f"{part!r} is not a range of numbers")
        if int(last or first) - int(first) > _MOST_NAMES:
            raise ValueError(f"{part!r} has more than {_MOST_NAMES:,} names")
        for number in range(int(first), int(last or first) + 1):
            yield f"{prefix}{number:0{len(first)}}"
