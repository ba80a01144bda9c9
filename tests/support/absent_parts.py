"""Answers with a part that is not there, null, or of another kind: what they decided is unknown then."""

import copy
from collections.abc import Iterator
from typing import Any

ABSENT = object()
EMPTY: tuple[object, ...] = (ABSENT, None, [], {}, "")
ODD: tuple[object, ...] = (*EMPTY, "zzz", -5)
"""What a part becomes."""

Answer = dict[str, Any]
Place = tuple[str | int, ...]


def places(part: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every part of an answer with its place, a part before what it holds."""
    if at:
        yield at, part
    if isinstance(part, dict):
        for key, held in part.items():
            yield from places(held, (*at, key))
    elif isinstance(part, list):
        for number, held in enumerate(part):
            yield from places(held, (*at, number))


def changed(answer: Answer, at: Place, value: object) -> Answer:
    """Return the answer with another part at a place, without it where the value is ``ABSENT``; parts beside the way
    to it are the same objects."""
    made = copy.copy(answer)
    part: Any = made
    for key in at[:-1]:
        part[key] = copy.copy(part[key])
        part = part[key]
    if value is ABSENT:
        del part[at[-1]]
    else:
        part[at[-1]] = value
    return made
