"""A plan in a sentence, and its disruption by role: what a reviewer must know first."""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.plan.cables import moved_cables
from railweave.plan.markings import given_up_markings
from railweave.plan.model import DISRUPTION_RANK, DeviceState, Plan
from railweave.report.listing import compact, counted
from railweave.sonic.change import Disruption, Method

_WORDS = {
    Disruption.NONE: "no disruption",
    Disruption.SESSION: "BGP sessions reset",
    Disruption.FLAP: "ports flap",
    Disruption.RELOAD: "the switch reloads",
}
_PLURALS = {"leaf": "leaves", "spine": "spines", "super-spine": "super-spines"}


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
        return _WORDS[self.disruption]


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


def headline(plan: Plan) -> str:
    """Return one sentence that says what will happen."""
    unreachable = plan.names(DeviceState.UNREACHABLE)
    tail = f"; {compact(unreachable)} could not be read" if unreachable else ""
    if not plan.changes:
        return f"{plan.fabric}: no changes, {_all_fine(plan)}{tail}."
    changed = plan.names(DeviceState.CHANGED)
    fresh = [name for name in changed if plan.devices[name].unprovisioned]
    parts = []
    if fresh:
        parts.append(f"provisions {_by_role(plan, fresh)}")
    running = [name for name in changed if name not in set(fresh)]
    if running:
        parts.append(f"changes {_by_role(plan, running)}: {_worst_words(plan, running)}")
    return f"{plan.fabric}: {counted(plan.summary.total, 'change')}; this {' and '.join(parts)}{tail}."


def _all_fine(plan: Plan) -> str:
    count = len(plan.names(DeviceState.UNCHANGED))
    return f"{counted(count, 'device')} {'is' if count == 1 else 'are'} as intended"


def _by_role(plan: Plan, names: list[str]) -> str:
    counts: dict[str, int] = {}
    for name in names:
        counts[plan.devices[name].role] = counts.get(plan.devices[name].role, 0) + 1
    return " and ".join(counted(count, role, _PLURALS.get(role, f"{role}s")) for role, count in counts.items())


def _worst_words(plan: Plan, names: list[str]) -> str:
    chosen = set(names)
    found = {change.disruption for change in plan.changes if change.device in chosen}
    return _WORDS[max(found, key=DISRUPTION_RANK.__getitem__)]


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
