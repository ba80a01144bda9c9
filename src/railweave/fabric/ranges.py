"""Ranges of names as a person types them: ``gpu1-32``, ``r01-12``."""

import re
from collections.abc import Container

RANGE = re.compile(r"(?P<stem>.*?)(?P<first>[0-9]{1,6})-(?P<last>[0-9]{1,6})")


def names_in_range(text: str) -> tuple[str, ...]:
    """Return the names of a range in its order; the text itself if it is not a range, or runs backwards."""
    match = RANGE.fullmatch(text)
    if match is None or int(match["last"]) < int(match["first"]):
        return (text,)
    numbers = range(int(match["first"]), int(match["last"]) + 1)
    width = len(match["first"])
    return tuple(f"{match['stem']}{number:0{width}}" for number in numbers)


def expanded(text: str, known: Container[str]) -> tuple[str, ...]:
    """Return the names that ``text`` stands for: itself or those of a range."""
    # The name of a known device may end like a range.
    if text in known:
        return (text,)
    return names_in_range(text)
