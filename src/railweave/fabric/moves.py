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

    A cable is one at most in either; those that stay as they are, that come alone and that go alone are none of them.
    """
    had, has = dict.fromkeys(before), dict.fromkeys(after)
    gone = [ends for ends in had if ends not in has]
    come = [ends for ends in has if ends not in had] if gone else []
    found: dict[Ends, Ends] = {}
    for kept in _STAYS:
        waiting: defaultdict[Hashable, deque[Ends]] = defaultdict(deque)
        for ends in come:
            waiting[kept(ends)].append(ends)
        for ends in gone:
            if candidates := waiting.get(kept(ends)):
                found[ends] = candidates.popleft()
        taken = set(found.values())
        gone = [ends for ends in gone if ends not in found]
        come = [ends for ends in come if ends not in taken]
        if not (gone and come):
            break
    return {ends: found[ends] for ends in had if ends in found}
