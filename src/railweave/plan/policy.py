"""What a rollout may take away from a fabric that runs: the policy, as a site states it in its inventory."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from railweave.diagnostics import Where
from railweave.fabric.devices import Switch, Tier
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.capacity import Service
from railweave.wording import counted, plural


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a group of devices: a ``count`` of them, or a ``percent`` of the group; exactly one is given."""

    count: int | None = None
    percent: float | None = None

    def __post_init__(self) -> None:
        if (self.count is None) == (self.percent is None):
            raise ValueError("a share is a count or a percentage")

    def of(self, total: int) -> int:
        """Return how many of ``total`` devices the share is. A percentage is rounded down, so it may be none."""
        if self.count is not None:
            return min(self.count, total)
        return math.floor(total * (self.percent or 0) / 100)

    def words(self, noun: str) -> str:
        """Return the share of devices in words: ``1 spine``, ``25% of the spines``."""
        if self.count is not None:
            return counted(self.count, noun)
        return f"{self} of the {plural(noun)}"

    def __str__(self) -> str:
        """Return the share as the inventory states it: ``1`` or ``25%``."""
        if self.count is not None:
            return str(self.count)
        return f"{self.percent:g}%"


ONE = Share(count=1)


@dataclass(frozen=True, slots=True)
class RolloutPolicy:
    """What may be out of service at once while a change is rolled out."""

    # Disturbed spines of one plane. In three tiers the spines of all pods that join one group of super-spines count as
    # one, since the same paths lead over all of them, and so does one super-spine of that group.
    spines: Share = ONE
    # Disturbed leaves: of one stripe in a rail-optimized plane, where more than one is never allowed because each is a
    # rail of the same nodes; of the whole plane in a rack-aligned one.
    leaves: Share = ONE
    # Devices of a wave, disturbed or not.
    wave_size: int = 50
    # The least uplink bandwidth of a switch in service, in percent of its bandwidth in the intent; None for no floor.
    uplink_floor_percent: float | None = None
    # The fewest spines that join any two leaves in service, or super-spines if they are of two pods.
    path_floor: int = 1
    # Where the inventory states a key such as ``floor.uplinks``; the empty key is the policy as a whole.
    places: Mapping[str, Where] = field(default_factory=dict, compare=False, repr=False)

    def share(self, tier: Tier) -> Share:
        """Return the part of a tier that may be disturbed. ``spines`` applies to every tier above the leaves."""
        if tier.attaches_nodes:
            return self.leaves
        return self.spines

    @staticmethod
    def share_key(tier: Tier) -> str:
        """Return the key under which the inventory states ``share``."""
        if tier.attaches_nodes:
            return "max_unavailable.leaves"
        return "max_unavailable.spines"

    def __str__(self) -> str:
        """Return the policy in a phrase."""
        text = f"at most {self.spines.words('spine')} per plane and {self.leaves.words('leaf')} per stripe at a time"
        if self.uplink_floor_percent is not None:
            text += f"; each leaf keeps at least {self.uplink_floor_percent:g}% of its uplinks"
        if self.path_floor:
            text += f"; any two leaves keep at least {counted(self.path_floor, 'path')}"
        return text


DEFAULT_POLICY = RolloutPolicy()

SPARE_LINKS = 2
"""How many links of one switch somebody may drain unseen between two waves: who drains a third looks at the rollout's
own drain first, and keeps a path for all traffic (RW522)."""


@dataclass(frozen=True, slots=True)
class PolicyViolation:
    """A rule of the policy that would be broken."""

    # The rule's key in the inventory's ``rollout``; empty if the rule is none of its keys.
    key: str
    message: str
    fix: str
    # The devices that cannot keep the rule.
    devices: tuple[str, ...] = ()
    # A floor that is crossed while links wait for their second end.
    two_sided: bool = False
    # Devices that are out of service already, whatever the rollout does.
    beside: tuple[str, ...] = ()


class _NicLeaves(NamedTuple):
    """Identifies leaves that share NICs: those of a stripe in one plane, with rails those of one rail."""

    plane: int
    stripe: int | None
    rail: int | None


class PolicyLimits:
    """A policy applied to one fabric; ``unprovisioned`` are the devices that carry no traffic yet."""

    def __init__(self, fabric: Fabric, policy: RolloutPolicy, unprovisioned: Collection[str] = ()) -> None:
        self._switch_of = fabric.switch_of
        self._policy = policy
        self._share_nics = fabric.leaves_per_nic > 1
        self._unprovisioned = frozenset(unprovisioned)
        self._service = Service(fabric, self._unprovisioned)
        running = [switch for switch in fabric.switches if switch.name not in self._unprovisioned]
        self._sizes = Counter(map(_limit_group, running))
        path_groups = {_path_group(switch) for switch in running if not switch.tier.attaches_nodes}
        self._path_groups_per_plane = Counter(group.plane for group in path_groups)

    def runs(self, name: str) -> bool:
        """Tell whether a device carries traffic unless it is out of service."""
        return name not in self._unprovisioned

    def violation(self, out: Collection[str], down: Collection[Link] = ()) -> PolicyViolation | None:
        """Return the first rule that is broken while ``out`` and ``down`` are out of service; None if none is."""
        devices = [self._switch_of[name] for name in out if name in self._switch_of and name not in self._unprovisioned]
        return (
            self._check_planes(devices)
            or self._check_shares(devices)
            or self._check_groups(devices)
            or self._check_shared_nics(devices)
            or self.floors(out, down)
        )

    def _check_planes(self, devices: Iterable[Switch]) -> PolicyViolation | None:
        """Return the violation if switches of several planes would be disturbed at once."""
        planes = sorted({switch.plane for switch in devices})
        if len(planes) < 2:
            return None
        return PolicyViolation(
            key="",
            message=f"planes {' and '.join(map(str, planes))} would be out of service at once",
            fix="restore what is out of service first",
        )

    def _check_shares(self, devices: Iterable[Switch]) -> PolicyViolation | None:
        """Return the violation of the first group of which more devices would be disturbed than may be."""
        counts = Counter(map(_limit_group, devices))
        for group, count in counts.items():
            allowed = self._allowed(group)
            if count > allowed:
                return _over_limit(group, count, allowed, self._sizes[group], self._policy.share(group.tier))
        return None

    def _allowed(self, group: "_LimitGroup") -> int:
        """Return how many devices of a group may be disturbed at once."""
        if group.of == "group":
            return 1
        allowed = self._policy.share(group.tier).of(self._sizes[group])
        if group.of == "stripe":
            # Two leaves of a stripe are two rails of every node below them.
            return min(1, allowed)
        return allowed

    def _check_groups(self, devices: Iterable[Switch]) -> PolicyViolation | None:
        """Return the violation if paths of too many groups of super-spines would be disturbed at once."""
        groups_of: dict[int, dict[int, Tier]] = {}
        for switch in devices:
            if switch.group is not None:
                groups_of.setdefault(switch.plane, {})[switch.group] = switch.tier
        for plane, groups in groups_of.items():
            tier = next(iter(groups.values()))
            total = self._path_groups_per_plane[plane]
            allowed = self._policy.share(tier).of(total)
            if len(groups) > allowed:
                key = RolloutPolicy.share_key(tier)
                return PolicyViolation(
                    key=key,
                    message=f"the paths of {len(groups)} of the {total} groups of super-spines of plane {plane} would"
                    f" be out of service at once; the limit is {allowed}",
                    fix=f"restore what is out of service first, or raise `{key}`",
                )
        return None

    def _check_shared_nics(self, devices: Iterable[Switch]) -> PolicyViolation | None:
        """Return the violation if leaves that share NICs would be out of service at once."""
        if not self._share_nics:
            return None
        # Without rails all leaves of a plane have one limit, which may allow several: only this rule keeps the leaves
        # of a stripe apart.
        leaves = [switch for switch in devices if switch.stripe is not None]
        counts = Counter(_NicLeaves(leaf.plane, leaf.stripe, leaf.rail) for leaf in leaves)
        for nic_leaves, count in counts.items():
            if count > 1:
                return PolicyViolation(
                    key="",
                    message=f"{count} leaves that share the NICs of stripe {nic_leaves.stripe} would be out of service"
                    " at once",
                    fix="restore what is out of service first",
                )
        return None

    def bears_lost_links(self, out: Collection[str], down: Collection[Link] = ()) -> bool:
        """Tell whether no floor is crossed even if `SPARE_LINKS` further uplinks of one switch carry nothing."""
        # A floor of bandwidth may be crossed by a single link.
        if self._policy.uplink_floor_percent is not None:
            return False
        paths = self._service.least_paths(out, down)
        return paths is None or paths - SPARE_LINKS >= self._policy.path_floor

    def floors(self, out: Collection[str], down: Collection[Link] = ()) -> PolicyViolation | None:
        """Return the floor that is crossed while ``out`` and ``down`` are out of service; None if none is."""
        return self._uplink_floor(out, down) or self._path_floor(out, down)

    def _uplink_floor(self, out: Collection[str], down: Collection[Link]) -> PolicyViolation | None:
        """Return the violation if a switch keeps less of its uplink bandwidth than the floor."""
        floor = self._policy.uplink_floor_percent
        if floor is None:
            return None
        percent_left, worst_switch = self._service.least_uplinks(out, down)
        # Percentages are rounded ratios, so one that equals the floor may be a little below it.
        if percent_left >= floor - 1e-9:
            return None
        tier = self._switch_of[worst_switch].tier
        return PolicyViolation(
            key="floor.uplinks",
            message=f"a {tier.name} keeps {percent_left:.4g}% of its uplink bandwidth, and the floor is {floor:g}%",
            fix=f"lower `floor.uplinks` to {_floor_percent(percent_left)}%",
        )

    def _path_floor(self, out: Collection[str], down: Collection[Link]) -> PolicyViolation | None:
        """Return the violation if two leaves keep fewer paths between them than the floor."""
        floor = self._policy.path_floor
        paths = self._service.least_paths(out, down)
        if paths is None or paths >= floor:
            return None
        paths_text = counted(paths, "path")
        fix = f"lower `floor.paths` to {paths}"
        if not paths:
            paths_text = "no path"
            fix += ", which accepts that leaves are cut off"
        message = f"two leaves keep {paths_text} between them, and the floor is {floor}"
        return PolicyViolation("floor.paths", message, fix)


class _LimitGroup(NamedTuple):
    """Devices of one tier and plane that share a limit.

    If ``of`` is ``stripe`` (leaves with rails), ``pod`` (spines) or ``group`` (super-spines), they are only those of
    the one with this ``number``.
    """

    tier: Tier
    plane: int
    of: str = ""
    number: int | None = None


def _limit_group(switch: Switch) -> _LimitGroup:
    """Return the group of devices with which a switch shares a limit."""
    if switch.rail is not None and switch.stripe is not None:
        return _LimitGroup(switch.tier, switch.plane, "stripe", switch.stripe)
    if switch.group is None:
        return _LimitGroup(switch.tier, switch.plane)
    if switch.pod is None:
        return _LimitGroup(switch.tier, switch.plane, "group", switch.group)
    return _LimitGroup(switch.tier, switch.plane, "pod", switch.pod)


class _PathGroup(NamedTuple):
    """Switches above the leaves that the same paths lead over: those of one group of super-spines."""

    plane: int
    number: int


def _path_group(switch: Switch) -> _PathGroup:
    if switch.group is None:
        # In two tiers every spine has paths of its own.
        return _PathGroup(switch.plane, switch.place)
    return _PathGroup(switch.plane, switch.group)


def _over_limit(group: _LimitGroup, count: int, allowed: int, total: int, share: Share) -> PolicyViolation:
    """Return the violation if ``count`` of the ``total`` devices of a group would be disturbed and ``allowed`` may be.

    ``share`` is the limit as the policy states it.
    """
    key = RolloutPolicy.share_key(group.tier)
    devices = group.tier.counted(total)
    where = f"plane {group.plane}"
    if group.of:
        where = f"one {group.of} of plane {group.plane}"
    if not allowed:
        return PolicyViolation(
            key=key,
            message=f"{share} of the {devices} of {where} is not a whole device, so none may ever be disturbed",
            fix=f"raise `{key}` to 1 or to {_percent_of_one(total)}%",
        )
    fix = "restore what is out of service first"
    # Stripes of leaves with rails and groups of super-spines have a limit of 1 that no key raises.
    if group.of not in ("stripe", "group"):
        fix += f", or raise `{key}`"
    return PolicyViolation(
        key, f"{count} of the {devices} of {where} would be out of service, and {allowed} may be", fix
    )


def _percent_of_one(total: int) -> int:
    """Return the least whole percentage of ``total`` devices that is one device."""
    return math.ceil(100 / total)


def _floor_percent(percent: float) -> int:
    # Percentages are rounded ratios, so a whole one may be a little below itself.
    return int(percent + 1e-9)
