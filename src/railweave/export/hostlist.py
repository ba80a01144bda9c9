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
    """Return names as one list: ``gpu[1-16,20]``. Names that do not end with a number follow, written out."""
    numbers_by_prefix: dict[str, list[int]] = {}
    unnumbered = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            unnumbered.append(name)
        else:
            prefix, number = match.groups()
            numbers_by_prefix.setdefault(prefix, []).append(int(number))
    prefixes = sorted(numbers_by_prefix, key=natural_key)
    parts = [_bracketed(prefix, sorted(numbers_by_prefix[prefix])) for prefix in prefixes]
    return ",".join([*parts, *sorted(unnumbered, key=natural_key)])


def hostlist_parts(names: Iterable[str]) -> list[str]:
    """Return the list of ``hostlist`` as its parts, such as ``gpu[1-16,20]``, for consumers that take a list."""
    return _NAMES.findall(hostlist(names))


def _bracketed(prefix: str, numbers: list[int]) -> str:
    """Return the names of one prefix as ``gpu[1-16,20]``, or ``gpu1`` for a single one; ``numbers`` are sorted."""
    if len(numbers) == 1:
        return f"{prefix}{numbers[0]}"
    ranges = []
    first = numbers[0]
    last = first
    for number in numbers[1:]:
        if number != last + 1:
            ranges.append(_range(first, last))
            first = number
        last = number
    ranges.append(_range(first, last))
    return f"{prefix}[{','.join(ranges)}]"


def _range(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}-{last}"


def expanded(text: str) -> list[str]:
    """Return the names of a list; raises ValueError for an invalid range or too many names."""
    names: list[str] = []
    for part in _NAMES.findall(text):
        match = _RANGES.fullmatch(part)
        if match is None:
            if "[" in part:
                raise ValueError(f"{part!r} is not a host list")
            names.append(part)
        else:
            prefix, ranges = match.groups()
            names += _numbered(prefix, ranges)
        if len(names) > _MOST_NAMES:
            raise ValueError(f"{part!r} has more than {_MOST_NAMES:,} names")
    return names


def _numbered(prefix: str, ranges: str) -> Iterator[str]:
    """Yield the names of the ranges in brackets, such as ``1-16,20``.

    Raises ValueError for an invalid range, or one with too many names.
    """
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if not last:
            last = first
        if not first.isdigit() or not last.isdigit():
            raise ValueError(f"{part!r} is not a range of numbers")
        if int(last) < int(first):
            raise ValueError(f"{part!r} is a range whose end is below its start")
        if int(last) - int(first) > _MOST_NAMES:
            raise ValueError(f"{part!r} has more than {_MOST_NAMES:,} names")
        # All numbers have the width of the first, as in gpu[008-012].
        width = len(first)
        for number in range(int(first), int(last) + 1):
            yield f"{prefix}{number:0{width}}"
