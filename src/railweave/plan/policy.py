"""What a rollout may take away from a fabric that runs: the policy, as a site states it in its inventory."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from railweave.diagnostics import Where
from railweave.fabric.model import Tier
from railweave.wording import counted


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a group of devices: a ``count`` of them, or a ``percent`` of the group; exactly one is given."""

    count: int | None = None
    percent: float | None = None

    def __post_init__(self) -> None:
        if (self.count is None) == (self.percent is None):
            raise ValueError("a share is a count or a percentage")

    def of(self, total: int) -> int:
        """Return how many of ``total`` devices: of a percentage only whole devices, so it may be none."""
        if self.count is not None:
            return min(self.count, total)
        return math.floor(total * (self.percent or 0) / 100)

    def __str__(self) -> str:
        """Return the share as the inventory states it: ``1`` or ``25%``."""
        return str(self.count) if self.count is not None else f"{self.percent:g}%"


ONE = Share(count=1)


@dataclass(frozen=True, slots=True)
class RolloutPolicy:
    """What may be out of service at once while a change is rolled out.

    ``spines``: disturbed spines of one plane. ``leaves``: disturbed leaves of one stripe in a rail-optimized plane
    (never more than one, whatever is said), of the whole plane in a rack-aligned one. ``wave_size``: devices of a wave,
    disturbed or not. ``uplink_floor_percent``: the least uplink bandwidth of a leaf in service, in percent of what it
    has in the intent; None leaves it to ``spines``. ``path_floor``: the least spines that join any two leaves in
    service. ``places`` says where the inventory states a key such as ``floor.uplinks``, under the
    empty key where it states the policy at all.
    """

    spines: Share = ONE
    leaves: Share = ONE
    wave_size: int = 50
    uplink_floor_percent: float | None = None
    path_floor: int = 1
    places: Mapping[str, Where] = field(default_factory=dict, compare=False, repr=False)

    def share(self, tier: Tier) -> Share:
        """Return the part of a tier that may be disturbed: ``spines`` holds for every tier above the leaves."""
        return self.leaves if tier.attaches_nodes else self.spines

    @staticmethod
    def share_key(tier: Tier) -> str:
        """Return the inventory's key of ``share``."""
        return f"max_unavailable.{'leaves' if tier.attaches_nodes else 'spines'}"

    def __str__(self) -> str:
        """Return the policy in a phrase."""
        floors = [] if self.uplink_floor_percent is None else [f"{self.uplink_floor_percent:g}% of its uplinks"]
        if self.path_floor:
            floors.append(f"{counted(self.path_floor, 'path')} to any other")
        kept = f"; every leaf in service keeps {' and '.join(floors)}" if floors else ""
        return f"disturbed at once: spines of a plane {self.spines}, leaves of a stripe {self.leaves}{kept}"


DEFAULT_POLICY = RolloutPolicy()
