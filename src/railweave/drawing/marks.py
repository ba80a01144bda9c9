"""What is said of devices and cables of a picture: what a plan does to them, what fails, what differs."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple


class MarkKind(StrEnum):
    """What a mark says, the least urgent first."""

    DONE = "done"
    ADDED = "added"
    CHANGED = "changed"
    DISTURBED = "disturbed"
    REMOVED = "removed"
    DRIFTED = "drifted"
    FAILED = "failed"
    UNREACHABLE = "unreachable"

    @property
    def urgency(self) -> int:
        """Return its place among the kinds."""
        return tuple(MarkKind).index(self)


class Mark(NamedTuple):
    """What is said of one device or cable, in words."""

    kind: MarkKind
    text: str


class Marks(NamedTuple):
    """Marks by device, and by the two devices of a cable, the upper one first."""

    devices: Mapping[str, tuple[Mark, ...]] = {}
    cables: Mapping[tuple[str, str], tuple[Mark, ...]] = {}

    def of_devices(self, names: Iterable[str]) -> tuple[Mark, ...]:
        """Return the marks of some devices."""
        return tuple(mark for name in names for mark in self.devices.get(name, ()))

    def of_cables(self, uppers: Iterable[str], lowers: Iterable[str]) -> tuple[Mark, ...]:
        """Return the marks of the cables between two sets of devices."""
        if not self.cables:
            return ()
        ends = frozenset(uppers), frozenset(lowers)
        return tuple(
            mark
            for (upper, lower), marks in self.cables.items()
            if upper in ends[0] and lower in ends[1]
            for mark in marks
        )


NO_MARKS = Marks()


def worst(marks: Iterable[Mark]) -> MarkKind | None:
    """Return the most urgent kind of some marks, None without any."""
    return max((mark.kind for mark in marks), key=lambda kind: kind.urgency, default=None)


def summary(marks: Iterable[Mark], most: int = 3) -> str:
    """Return the words of some marks, each once, the first ``most`` of them."""
    texts = list(dict.fromkeys(mark.text for mark in marks))
    rest = len(texts) - most
    return "; ".join(texts[:most]) + (f" and {rest} more" if rest > 0 else "")
