"""A rollback's work on one device: the document that its own switch kept, and what must be true afterwards."""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from nornir_railweave.device.reading import running_of
from nornir_railweave.device.work import Found
from railweave.plan.expectation import Expectation
from railweave.plan.health import Health
from railweave.plan.observation import Observation
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.rollout import DeviceRecord
from railweave.plan.verification import check_device
from railweave.sonic.delta.diff import running_sha256
from railweave.sonic.delta.merge import apply
from railweave.sonic.delta.methods import needs_both_ends
from railweave.sonic.delta.restoring import Goal, restoring_diff
from railweave.sonic.document import DocumentError, RunningConfig, parse_running
from railweave.sonic.rows import DeviceConfig


@dataclass(frozen=True, slots=True)
class RestoringWork:
    """Bring back what a device held before a rollout.

    ``goal`` is what its switch kept, with its secrets; ``goal_sha256`` the digest of what it held, empty where nobody
    knows it. ``wanted`` tells which rows are ours. ``held`` is what held before the rollout and has
    to hold again; None where nobody knows it: then links and sessions that stay have to survive.
    """

    device: str
    expectation: Expectation
    wanted: DeviceConfig = field(repr=False)
    goal: Goal
    before_sha256: str
    goal_sha256: str
    held: Health | None
    reason: str
    drain: tuple[str, ...] = ()

    def read(self, driver: Any, which: str = "running") -> Found:
        """Return what the device runs, or boots, and what of its earlier configuration it does not hold.

        A switch whose FRR is not ours keeps no file of it: what it boots is told by its tables alone.
        """
        # What the session read last also tells whether a commit is pending.
        running = running_of(driver) if which == "running" else parse_running(driver.get_config(retrieve=which)[which])
        if which == "running" and running.frr is None:
            raise DocumentError("FRR's running configuration is unknown: bgpraw is missing or empty")
        found = restoring_diff(running, self.goal, self.wanted, self.reason)
        sha256 = running_sha256(running, self.wanted)
        done = not found.delta and (which != "running" or not self.goal_sha256 or sha256 == self.goal_sha256)
        return Found(
            running=running,
            sha256=sha256,
            delta=found.delta,
            done=done,
            disconnects=needs_both_ends(found.delta),
            drained=found.drained,
        )

    def leads_back(self, running: RunningConfig) -> bool:
        """Tell whether what the switch kept brings it to what it held before the rollout."""
        if not self.goal_sha256:
            return True
        restored = RunningConfig(apply(self.goal.rows, running).config_db, self.goal.frr)
        return running_sha256(restored, self.wanted) == self.goal_sha256

    def moved(self, found: Found) -> str:
        """Return why the device is not as it was when the rollback was planned."""
        if found.sha256 != self.before_sha256:
            return "the device's configuration changed since the rollback was planned; nothing was done"
        return ""

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        """Return the checks of what held before the rollout; what held between then and now is no measure."""
        del settled
        checks = check_device(self.expectation, seen)
        if self.held is not None:
            return tuple(check for check in checks if (check.kind, check.subject) in self.held)
        return tuple(check for check in checks if (check.kind, check.subject) in held and self._stays(check))

    def _stays(self, check: VerifyCheck) -> bool:
        """Tell whether the way back leaves what a check looks at: a session that it keeps, a port that it spares."""
        if check.kind is CheckKind.BGP:
            return f"neighbor {check.subject} " in self.goal.frr
        touched = (self.goal.rows.get(table, {}) for table in ("PORT", "DEVICE_NEIGHBOR"))
        return check.kind in (CheckKind.LINK, CheckKind.LLDP) and not any(check.subject in rows for rows in touched)


def held_before(record: DeviceRecord) -> Health:
    """Return what held on a device before a rollout; kinds that this version does not know are left out."""
    known = {kind.value: kind for kind in CheckKind}
    return frozenset((known[kind], subject) for kind, subject in record.held if kind in known)
