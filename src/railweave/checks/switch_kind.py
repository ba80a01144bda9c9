"""Switches that have the same buffer, ports and cables, and so are checked once."""

from collections.abc import Mapping
from typing import NamedTuple

from railweave.fabric.devices import Tier
from railweave.fabric.panel import Panel


class SwitchKind(NamedTuple):
    """Switches of one panel and tier."""

    panel: Panel
    tier: Tier
    devices: tuple[str, ...]
    # Ports by (speed in Gb/s, length in m, level of the link), of the switch with the most cables.
    cables: Mapping[tuple[int, int, int], int]

    @property
    def lengths_m(self) -> frozenset[int]:
        """Return the lengths of its cables."""
        return frozenset(length_m for _, length_m, _ in self.cables)

    @property
    def speeds_gbps(self) -> tuple[int, ...]:
        """Return the speeds of its ports in use, ascending."""
        return tuple(sorted({speed_gbps for speed_gbps, _, _ in self.cables}))
