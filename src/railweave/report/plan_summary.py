"""The disruption of a plan by role, its cables and what is kept: what a reviewer looks for after its sentence."""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.plan.cables import moved_cables
from railweave.plan.headline import WORDS
from railweave.plan.markings import given_up_markings
from railweave.plan.model import DISRUPTION_RANK, Plan
from railweave.report.listing import compact
from railweave.sonic.change import Disruption, Method


@dataclass(frozen=True, slots=True)
class RoleDisruption:
    """The devices of one role that suffer the same at worst."""

    role: str
    disruption: Disruption
    devices: tuple[str, ...]
    changes: int
    methods: tuple[Method, ...]

    @property
    def words(self) -> str:
        """Return the disruption in words."""
        return WORDS[self.disruption]


def disruption_by_role(plan: Plan) -> tuple[RoleDisruption, ...]:
    """Return the worst disruption of each changed device, gathered by role; the worst first."""
    gathered: dict[tuple[str, Disruption], list[str]] = {}
    changes = plan.changes_by_device()
    for name, own in changes.items():
        worst = max((one.disruption for one in own), key=DISRUPTION_RANK.__getitem__)
        gathered.setdefault((plan.devices[name].role, worst), []).append(name)
    rows = [
        RoleDisruption(
            role,
            disruption,
            tuple(names),
            sum(len(changes[name]) for name in names),
            tuple(sorted({one.method for name in names for one in changes[name]})),
        )
        for (role, disruption), names in gathered.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-DISRUPTION_RANK[row.disruption], row.role)))


def cable_lines(plan: Plan, most: int) -> tuple[str, ...]:
    """Return a line for each cable that has to be moved; beyond ``most`` the rest is counted."""
    cables = moved_cables(plan)
    shown = tuple(f"cable to move: {cable}" for cable in cables[:most])
    hidden = len(cables) - len(shown)
    return (*shown, f"cables to move: {hidden} more, all in the JSON form") if hidden else shown


def marking_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line for each code point that is lossless on running switches and would be no more."""
    return tuple(
        f"DSCP {dscp} is lossless no more, or on another priority, on {compact(devices)}: GPU nodes that send it would"
        " lose packets; `railweave phases` shows the way without loss"
        for dscp, devices in given_up_markings(plan)
    )


def kept(plan: Plan) -> Mapping[str, int]:
    """Return how many rows that are not ours are kept, by table, over all devices."""
    counts: dict[str, int] = {}
    for device in plan.devices.values():
        for table, rows in (device.not_ours or {}).items():
            counts[table] = counts.get(table, 0) + rows
    return dict(sorted(counts.items()))
