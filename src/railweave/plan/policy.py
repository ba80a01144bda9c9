"""What a rollout may take away from a fabric that runs: the policy, as a site states it in its inventory."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from railweave.diagnostics import Where
from railweave.fabric.model import Fabric, Link, Switch, Tier
from railweave.plan.capacity import Service
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

    ``spines``: disturbed spines of one plane; in three tiers those of its pods that join one group of super-spines
    count as one, since the same paths lead over all of them, and so does one super-spine of that group. ``leaves``:
    disturbed leaves of one stripe in a rail-optimized plane (never more than one, whatever is said), of the whole
    plane in a rack-aligned one. ``wave_size``: devices of a wave, disturbed or not. ``uplink_floor_percent``: the
    least uplink bandwidth of a switch in service, in percent of what it has in the intent; None leaves it to
    ``spines``. ``path_floor``: the least spines that join any two leaves in service, or super-spines where they are
    of two pods. ``places`` says where the inventory states a key such as ``floor.uplinks``, under the empty key
    where it states the policy at all.
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

SPARE_LINKS = 2
"""How many links of one switch somebody may drain unseen between two waves: who drains a third looks at the rollout's
own drain first, and keeps a path for all traffic (RW522)."""


@dataclass(frozen=True, slots=True)
class PolicyViolation:
    """A rule of the policy that would be broken: its key in the inventory's ``rollout``, why, and the fix.

    ``key`` is empty where the rule is none of the policy's keys. ``devices`` are those that cannot keep the rule. With
    ``two_sided`` it is a floor that is crossed while links wait for their second end. ``beside`` are the devices that
    are out of service already, whatever the rollout does.
    """

    key: str
    message: str
    fix: str
    devices: tuple[str, ...] = ()
    two_sided: bool = False
    beside: tuple[str, ...] = ()


class Limits:
    """A policy applied to one fabric; ``unprovisioned`` are the devices that carry no traffic yet."""

    def __init__(self, fabric: Fabric, policy: RolloutPolicy, unprovisioned: Collection[str] = ()) -> None:
        self._switch_of = fabric.switch_of
        self._policy = policy
        self._share_nics = fabric.leaves_per_nic > 1
        self._unprovisioned = frozenset(unprovisioned)
        self._service = Service(fabric, self._unprovisioned)
        running = [switch for switch in fabric.switches if switch.name not in self._unprovisioned]
        self._sizes = Counter(map(_group, running))
        self._columns = Counter(plane for plane, _ in {_column(one) for one in running if not one.tier.attaches_nodes})

    def runs(self, name: str) -> bool:
        """Tell whether a device carries traffic unless it is out of service."""
        return name not in self._unprovisioned

    def violation(self, out: Collection[str], down: Collection[Link] = ()) -> PolicyViolation | None:
        """Return the first rule that is broken with these devices and links out of service; None where none is."""
        devices = [self._switch_of[name] for name in out if name in self._switch_of and name not in self._unprovisioned]
        return (
            self._planes(devices)
            or self._shares(devices)
            or self._groups(devices)
            or self._nics(devices)
            or self.floors(out, down)
        )

    def _planes(self, devices: Iterable[Switch]) -> PolicyViolation | None:
        planes = sorted({switch.plane for switch in devices})
        if len(planes) < 2:
            return None
        return PolicyViolation(
            "",
            f"planes {' and '.join(str(plane) for plane in planes)} would be disturbed at once",
            "restore what is out of service first",
        )

    def _shares(self, devices: Iterable[Switch]) -> PolicyViolation | None:
        counts = Counter(_group(switch) for switch in devices)
        for group, count in counts.items():
            allowed = self._allowed(group)
            if count > allowed:
                return _over(group, count, allowed, self._sizes[group], self._policy.share(group[0]))
        return None

    def _allowed(self, group: "_Group") -> int:
        if group.of == "group":
            return 1
        allowed = self._policy.share(group.tier).of(self._sizes[group])
        # Two leaves of a stripe are two rails of every node below them.
        return min(1, allowed) if group.of == "stripe" else allowed

    def _groups(self, devices: Iterable[Switch]) -> PolicyViolation | None:
        """Return the violation where paths of too many groups of super-spines would be disturbed at once."""
        found: dict[int, dict[int, Tier]] = {}
        for switch in devices:
            if switch.group is not None:
                found.setdefault(switch.plane, {})[switch.group] = switch.tier
        for plane, groups in found.items():
            tier, total = next(iter(groups.values())), self._columns[plane]
            allowed = self._policy.share(tier).of(total)
            if len(groups) > allowed:
                return PolicyViolation(
                    RolloutPolicy.share_key(tier),
                    f"the paths of {len(groups)} of the {total} groups of super-spines of plane {plane} would be"
                    f" disturbed at once, and those of {allowed} may be",
                    f"restore what is out of service first, or raise `{RolloutPolicy.share_key(tier)}`",
                )
        return None

    def _nics(self, devices: Iterable[Switch]) -> PolicyViolation | None:
        """Return the violation where leaves that share NICs would be disturbed at once: where racks are aligned, leaves
        of the plane have one limit, and only this one tells those of a rack apart."""
        if not self._share_nics:
            return None
        leaves = [one for one in devices if one.stripe is not None]
        for (_, stripe, _), count in Counter((one.plane, one.stripe, one.rail) for one in leaves).items():
            if count > 1:
                return PolicyViolation(
                    "",
                    f"{count} leaves that share the NICs of stripe {stripe} would be disturbed at once",
                    "restore what is out of service first",
                )
        return None

    def bears_lost_links(self, out: Collection[str], down: Collection[Link] = ()) -> bool:
        """Tell whether no floor is crossed though `SPARE_LINKS` further links of a switch below carry nothing."""
        paths = self._service.least_paths(out, down)
        is_free = self._policy.uplink_floor_percent is None
        return is_free and (paths is None or paths - SPARE_LINKS >= self._policy.path_floor)

    def floors(self, out: Collection[str], down: Collection[Link] = ()) -> PolicyViolation | None:
        """Return the floor that is crossed with these devices and links out of service; None where none is."""
        floor = self._policy.uplink_floor_percent
        if floor is not None:
            left, worst = self._service.least_uplinks(out, down)
            # Shares of bandwidth are ratios of whole numbers; a floor that is met exactly is met.
            if left < floor - 1e-9:
                return PolicyViolation(
                    "floor.uplinks",
                    f"a {self._switch_of[worst].tier.name} keeps {left:.4g}% of its uplink bandwidth, and the floor is"
                    f" {floor:g}%",
                    f"lower `floor.uplinks` to {_floor_percent(left)}%",
                )
        paths = self._service.least_paths(out, down)
        if paths is not None and paths < self._policy.path_floor:
            return PolicyViolation(
                "floor.paths",
                f"two leaves keep {counted(paths, 'path') if paths else 'no path'} between them, and the floor is"
                f" {self._policy.path_floor}",
                f"lower `floor.paths` to {paths}" + (", which accepts that leaves are cut off" if not paths else ""),
            )
        return None


class _Group(NamedTuple):
    """Devices that share a limit: those of a tier and plane, or ``of`` one stripe of leaves with rails, one pod of
    spines or one group of super-spines there."""

    tier: Tier
    plane: int
    of: str = ""
    number: int | None = None


def _group(switch: Switch) -> _Group:
    if switch.rail is not None and switch.stripe is not None:
        return _Group(switch.tier, switch.plane, "stripe", switch.stripe)
    if switch.group is None:
        return _Group(switch.tier, switch.plane)
    of, number = ("group", switch.group) if switch.pod is None else ("pod", switch.pod)
    return _Group(switch.tier, switch.plane, of, number)


def _column(switch: Switch) -> tuple[int, int]:
    """Return the plane of a switch above the leaves and what it shares its paths with: its group of super-spines."""
    return switch.plane, switch.place if switch.group is None else switch.group


def _over(group: _Group, count: int, allowed: int, total: int, share: Share) -> PolicyViolation:
    tier, plane, of, _ = group
    key, devices = RolloutPolicy.share_key(tier), tier.counted(total)
    where = f"one {of} of plane {plane}" if of else f"plane {plane}"
    if not allowed:
        return PolicyViolation(
            key,
            f"{share} of the {devices} of {where} is not a whole device, so none may ever be disturbed",
            f"raise `{key}` to 1 or to {_ceil_percent(total)}%",
        )
    return PolicyViolation(
        key,
        f"{count} of the {devices} of {where} would be out of service, and {allowed} may be",
        "restore what is out of service first" + ("" if of in ("stripe", "group") else f", or raise `{key}`"),
    )


def _ceil_percent(total: int) -> int:
    return -(-100 // total)


def _floor_percent(percent: float) -> int:
    return int(percent + 1e-9)
