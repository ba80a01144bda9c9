"""Which cable becomes which: the cables of two designs, or of what runs and what is to run, that are one cable.

A cable is both its ports. One that is in both with the same ports is the same cable; of the others a cable that goes
and one that comes are one that moves, where as much of it stays as can: the port nearer to the GPUs, else its device
and the far port, else both devices, else the device nearer to the GPUs, else the far port. So nothing is called removed
and added that people carry from one port to another, whichever end they unplug.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple


class End(NamedTuple):
    """A port of a device, by whatever identifies both."""

    device: Hashable
    port: Hashable


class Ends(NamedTuple):
    """A cable by its ports; ``lower`` is the one nearer to the GPUs."""

    lower: End
    upper: End


_STAYS: tuple[Callable[[Ends], Hashable], ...] = (
    lambda ends: ends.lower,
    lambda ends: (ends.lower.device, ends.upper),
    lambda ends: (ends.lower.device, ends.upper.device),
    lambda ends: ends.lower.device,
    lambda ends: ends.upper,
)
"""What a cable that moves keeps, the most first."""


def moves(before: Iterable[Ends], after: Iterable[Ends]) -> Mapping[Ends, Ends]:
    """Return the cables of ``before`` that move, each with what it becomes in ``after``, in the order of ``before``.

    A cable is at most once in either; cables that stay, and those that are only added or removed, are left out.
    """
    # Dictionaries as ordered sets.
    cables_before = dict.fromkeys(before)
    cables_after = dict.fromkeys(after)
    removed = [ends for ends in cables_before if ends not in cables_after]
    if not removed:
        return {}
    added = [ends for ends in cables_after if ends not in cables_before]
    moved: dict[Ends, Ends] = {}
    for kept in _STAYS:
        waiting: defaultdict[Hashable, deque[Ends]] = defaultdict(deque)
        for ends in added:
            waiting[kept(ends)].append(ends)
        for ends in removed:
            candidates = waiting.get(kept(ends))
            if candidates:
                moved[ends] = candidates.popleft()
        taken = set(moved.values())
        removed = [ends for ends in removed if ends not in moved]
        added = [ends for ends in added if ends not in taken]
        if not (removed and added):
            break
    return {ends: moved[ends] for ends in cables_before if ends in moved}
