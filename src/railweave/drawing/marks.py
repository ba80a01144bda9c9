"""Marks on devices and cables of a picture: changed by a plan, failed, drifted."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple


class MarkKind(StrEnum):
    """The kinds of marks, the least urgent first."""

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
        """Return its index among the kinds."""
        return tuple(MarkKind).index(self)


class Mark(NamedTuple):
    """A mark on one device or cable, with its text."""

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
        # Most pictures have no marks on cables, and a large one has thousands of bundles.
        if not self.cables:
            return ()
        upper_names = frozenset(uppers)
        lower_names = frozenset(lowers)
        found_marks: list[Mark] = []
        for (upper, lower), marks in self.cables.items():
            if upper in upper_names and lower in lower_names:
                found_marks += marks
        return tuple(found_marks)


NO_MARKS = Marks()


def worst(marks: Iterable[Mark]) -> MarkKind | None:
    """Return the most urgent kind of some marks, None without any."""
    return max((mark.kind for mark in marks), key=lambda kind: kind.urgency, default=None)


def summary(marks: Iterable[Mark], most: int = 3) -> str:
    """Return the texts of marks, each once; beyond the first ``most`` only their number."""
    # Devices of a block often have the same mark.
    texts = list(dict.fromkeys(mark.text for mark in marks))
    text = "; ".join(texts[:most])
    if len(texts) > most:
        text += f" and {len(texts) - most} more"
    return text
