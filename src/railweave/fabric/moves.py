"""Matching the cables of two designs: which removed cable becomes which added one.

A cable with the same two ports in both designs stays. Of the others, a removed and an added cable are one that moves if
they share something: the port nearer to the GPUs, else its device and the far port, else both devices, else the device
nearer to the GPUs, else the far port. So a cable that people carry from one port to another is not shown as removed and
added, whichever end they unplug.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from typing import NamedTuple


class End(NamedTuple):
    """A port of a device, by whatever identifies both."""

    device: Hashable
    port: Hashable


class Ends(NamedTuple):
    """A cable by its ports; ``lower`` is the one nearer to the GPUs."""

    lower: End
    upper: End


# What a cable that moves keeps, the most first.
_KEPT_PARTS: tuple[Callable[[Ends], Hashable], ...] = (
    lambda ends: ends.lower,
    lambda ends: (ends.lower.device, ends.upper),
    lambda ends: (ends.lower.device, ends.upper.device),
    lambda ends: ends.lower.device,
    lambda ends: ends.upper,
)


def moves(before: Iterable[Ends], after: Iterable[Ends]) -> Mapping[Ends, Ends]:
    """Return the cables of ``before`` that move, each with its new ends in ``after``, in the order of ``before``.

    Cables that stay, that are only removed or only added are left out.
    """
    old = dict.fromkeys(before)
    new = dict.fromkeys(after)
    removed = _without(old, new)
    added = _without(new, old)
    moved: dict[Ends, Ends] = {}
    for kept_part in _KEPT_PARTS:
        if not removed or not added:
            break
        matched = _matched(removed, added, kept_part)
        moved |= matched
        removed = _without(removed, matched)
        added = _without(added, set(matched.values()))
    return {ends: moved[ends] for ends in old if ends in moved}


def _without(cables: Iterable[Ends], others: Container[Ends]) -> list[Ends]:
    return [ends for ends in cables if ends not in others]


def _matched(removed: Iterable[Ends], added: Iterable[Ends], kept_part: Callable[[Ends], Hashable]) -> dict[Ends, Ends]:
    """Return removed cables, each with the next added one that has the same ``kept_part``."""
    candidates: defaultdict[Hashable, deque[Ends]] = defaultdict(deque)
    for ends in added:
        candidates[kept_part(ends)].append(ends)
    matched = {}
    for ends in removed:
        same_part = candidates.get(kept_part(ends))
        if same_part:
            matched[ends] = same_part.popleft()
    return matched
