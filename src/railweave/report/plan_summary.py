"""The disruption of a plan by role, its cables and what is kept: what a reviewer looks for after its sentence."""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.plan.cables import moved_cables
from railweave.plan.closing import live_port_findings
from railweave.plan.draining import WHOLE
from railweave.plan.headline import WORDS
from railweave.plan.markings import given_up_markings
from railweave.plan.model import DISRUPTION_RANK, Plan
from railweave.plan.refusal import lowered_mtu
from railweave.plan.waves import violation_diagnostics
from railweave.sonic.delta.change import Disruption, Method
from railweave.wording import compact


@dataclass(frozen=True, slots=True)
class RoleDisruption:
    """The devices of one role that have the same worst-case impact."""

    role: str
    disruption: Disruption
    devices: tuple[str, ...]
    changes: int
    methods: tuple[Method, ...]
    fresh: bool

    @property
    def words(self) -> str:
        """Return the disruption in words."""
        return "first provisioning: no traffic yet" if self.fresh else WORDS[self.disruption]


def disruption_by_role(plan: Plan) -> tuple[RoleDisruption, ...]:
    """Return the worst disruption of each changed device, gathered by role; the worst first, those that
    are provisioned for the first time last."""
    gathered: dict[tuple[str, Disruption, bool], list[str]] = {}
    changes = plan.deltas
    for name, own in changes.items():
        worst = max((one.disruption for one in own), key=DISRUPTION_RANK.__getitem__)
        device = plan.devices[name]
        gathered.setdefault((device.role, worst, device.unprovisioned), []).append(name)
    rows = [
        RoleDisruption(
            role,
            disruption,
            tuple(names),
            sum(len(changes[name]) for name in names),
            tuple(sorted({one.method for name in names for one in changes[name]})),
            fresh,
        )
        for (role, disruption, fresh), names in gathered.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.fresh, -DISRUPTION_RANK[row.disruption], row.role)))


def cable_lines(plan: Plan, most: int) -> tuple[str, ...]:
    """Return a line for each cable that has to be moved; beyond ``most`` the rest is counted. The last one tells how
    to move them without taking a leaf's links away all at once."""
    cables = moved_cables(plan)
    if not cables:
        return ()
    lines = [f"cable to move: {cable}" for cable in cables[:most]]
    if hidden := len(cables) - len(lines):
        lines.append(f"cables to move: {hidden} more, all in the JSON output")
    return (*lines, "`railweave phases BASE` and `deploy --from BASE` move cables a few at a time, with a work order")


def marking_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line for each code point that is lossless on running switches and would be no more."""
    return tuple(
        f"DSCP {dscp} is no longer lossless, or on another priority, on {compact(devices)}: GPU nodes that send it"
        " would lose packets; `railweave phases` shows how to change it without loss"
        for dscp, devices in given_up_markings(plan)
    )


def mtu_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line where running switches would take smaller packets than before."""
    return tuple(f"{one.message}; `railweave phases` shows how to change it without loss" for one in lowered_mtu(plan))


def live_port_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line where ports would close for good that something still uses."""
    return tuple(f"{one.code}: {one.message}" for one in live_port_findings(plan))


def hand_drained_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line for the devices that somebody drained altogether, and one for each with drained links."""
    whole = [name for name, device in plan.devices.items() if device.drained == WHOLE]
    lines = [f"drained by hand: {compact(whole)}; `railweave undrain` ends it"] if whole else []
    lines += [
        f"drained by hand on {name}: {', '.join(device.drained)}; `railweave undrain {name}` ends it"
        for name, device in plan.devices.items()
        if device.drained and device.drained != WHOLE
    ]
    return tuple(lines)


def unmet_lines(plan: Plan) -> tuple[str, ...]:
    """Return a line for each rule of the rollout policy that no order of this plan can keep."""
    return tuple(f"{one.code}: {one.message}" for one in violation_diagnostics(plan.violations, plan.policy))


def kept(plan: Plan) -> Mapping[str, int]:
    """Return how many rows that are not ours are kept, by table, over all devices."""
    counts: dict[str, int] = {}
    for device in plan.devices.values():
        for table, rows in (device.not_ours or {}).items():
            counts[table] = counts.get(table, 0) + rows
    return dict(sorted(counts.items()))
