"""The job of one device in a rollout: to deploy a plan's changes, or to roll an earlier rollout back.

A rollout (``rollout.rolling_out``) knows nothing of intents and plans. It carries the job of each device through the
same steps: read, drain, commit with the switch's timer, verify, undrain, then confirm or restore.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.reading import Comparer, running_of
from railweave.plan.document import change_json
from railweave.plan.expectation import Expectation
from railweave.plan.health import Health, gate
from railweave.plan.lineage import generation_document
from railweave.plan.model import NO_GENERATION, DevicePlan, Generation
from railweave.plan.observation import Observation
from railweave.plan.outcome import CheckKind, ConfigState, VerifyCheck
from railweave.plan.rollout import DeviceRecord
from railweave.plan.routes import SessionRoutes, session_routes
from railweave.plan.verification import check_device
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.diff import ConfigComparison
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.delta.methods import needs_both_ends
from railweave.sonic.delta.snapshot import Snapshot, snapshot_before
from railweave.sonic.document import DocumentError


@dataclass(frozen=True, slots=True)
class JobReading(ConfigComparison):
    """What a device runs, compared with the result of its job; the difference is still to be done."""

    # The job is done. Never true where the digest of the configuration differs from the intended one.
    done: bool
    # Links and sessions go down with the change until their far ends change too, or there are none yet (a switch that
    # is being provisioned). The state before is no measure then.
    disconnects: bool = False

    @property
    def delta(self) -> Delta:
        """Return what is still to be done."""
        return self.difference.delta

    @property
    def drained(self) -> tuple[str, ...]:
        """Return the BGP peers that somebody has drained already, ``("*",)`` for all."""
        return self.difference.drained

    @property
    def remaining(self) -> list[str]:
        """Return what prevents the change, then what is still to be done, in words; secrets are hidden."""
        reasons = [blocker.message for blocker in self.difference.blockers]
        return [*reasons, *(change.unmet for change in self.delta)]


class DeviceJob(Protocol):
    """What is to be done on one device and how to tell whether it is done; called from that device's worker."""

    @property
    def device(self) -> str:
        """Return the device's name."""

    @property
    def before_sha256(self) -> str:
        """Return the digest of the configuration that the device must have now."""

    @property
    def drain(self) -> tuple[str, ...]:
        """Return the BGP peers to drain before the change, ``("*",)`` for the whole device, ``()`` for none."""

    @property
    def disconnects(self) -> bool:
        """Tell whether it is certain, before the device is read, that its links and sessions go down with the job."""

    @property
    def generation(self) -> Mapping[str, Any]:
        """Return the number of the generation that the job was made for (``was``) and what the switch keeps with the
        confirmation (``now``); empty where it keeps what it has."""

    @property
    def restores(self) -> bool:
        """Tell whether the job restores an earlier configuration, which the device's YANG models need not check."""

    def read(self, driver: CheckedDriver, which: str = "running") -> JobReading:
        """Read the running (or ``startup``) configuration and compare it with the result of the job.

        Raises the driver's exceptions and DocumentError.
        """

    def moved(self, reading: JobReading) -> str:
        """Return a sentence if the device has changed since the job was made; empty if it has not."""

    def snapshot(self, reading: JobReading) -> Snapshot:
        """Return the configuration to which a failed change is rolled back; ``reading`` was read before the change."""

    @property
    def expectation(self) -> Expectation:
        """Return what is to be seen on the device afterwards: among others, its used ports and sessions."""

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        """Return the checks that the device must pass after the change.

        ``settled`` are the devices already in their target state. ``held`` are the checks of ``expectation`` that
        passed before the change, as kind and subject. A rollback returns those of ``held`` that it must preserve.
        """

    def routes(self, seen: Observation, settled: Container[str]) -> tuple[SessionRoutes, ...]:
        """Return the routes of sessions, with the fewest that each must carry.

        They are those announced over all sessions, and those accepted from ``settled`` devices.
        """


def config_state(reading: JobReading, job: DeviceJob) -> ConfigState:
    """Return which configuration was read: that from before the job, that after it, or neither."""
    if reading.done:
        return ConfigState.AFTER
    if reading.sha256 == job.before_sha256:
        return ConfigState.BEFORE
    return ConfigState.PARTIAL


@dataclass(frozen=True, slots=True)
class DeployJob:
    """Bring a device to its intended configuration by the changes of a plan, which was made a moment ago.

    ``own`` is the generation of the intent that is deployed; ``plan_digest`` names the plan to workers elsewhere.
    """

    compare: Comparer
    expectation: Expectation
    planned: DevicePlan
    own: Generation = NO_GENERATION
    plan_digest: str = ""

    @property
    def device(self) -> str:
        """Return the device's name."""
        return self.expectation.device

    @property
    def delta(self) -> Delta:
        """Return the changes of the plan."""
        return self.planned.difference.delta

    @property
    def before_sha256(self) -> str:
        """Return the digest that the plan was made with."""
        return self.planned.reading.running_sha256

    @property
    def disconnects(self) -> bool:
        """Tell whether the plan provisions the device, or needs the far ends of its links to follow."""
        return self.planned.difference.unprovisioned or needs_both_ends(self.delta)

    @property
    def drain(self) -> tuple[str, ...]:
        """Return what the plan drains."""
        return self.planned.drain

    @property
    def generation(self) -> Mapping[str, Any]:
        """Return the generation that the plan found (``was``) and the deployed one (``now``); empty without digest."""
        if self.own.digest:
            return {"was": self.planned.reading.generation.number, "now": generation_document(self.own)}
        return {}

    @property
    def restores(self) -> bool:
        """Return False: the configuration may be new to the device."""
        return False

    def read(self, driver: CheckedDriver, which: str = "running") -> JobReading:
        """Return what the device runs, or boots, compared with what is intended."""
        comparison = self.compare(driver, self.device, which)
        difference = comparison.difference
        delta = difference.delta
        return JobReading(
            comparison.running,
            comparison.sha256,
            difference,
            done=not delta and not difference.blockers,
            disconnects=difference.unprovisioned or needs_both_ends(delta),
        )

    def moved(self, reading: JobReading) -> str:
        """Return a sentence if the device, or what is to be changed, differs from what the plan found; else empty."""
        if reading.sha256 != self.before_sha256:
            return "the device's configuration changed since the plan was made; nothing was done"
        if reading.delta != self.delta and _shown(reading.delta) != _shown(self.delta):
            return "the changes differ from those of the plan; nothing was done"
        return ""

    def snapshot(self, reading: JobReading) -> Snapshot:
        """Return the device's configuration before the plan's changes."""
        return snapshot_before(reading.delta, reading.running, self.compare.intended(self.device))

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        """Return the checks of the intended state, over links to settled devices, and of what passed before."""
        return gate(self.expectation, seen, settled, held)

    def routes(self, seen: Observation, settled: Container[str]) -> tuple[SessionRoutes, ...]:
        """Return the routes of sessions, with the fewest that each must carry in the intended state."""
        routes = session_routes(self.expectation, seen)
        # What this device announces follows from what it accepted itself, whatever its neighbors run.
        return tuple(session for session in routes if session.announced or session.neighbor in settled)


def _shown(delta: Delta) -> list[dict[str, Any]]:
    """Return changes as a plan's file has them: with secrets hidden, so that a plan from a file compares equal."""
    return [change_json("", change) for change in delta]


@dataclass(frozen=True, slots=True)
class RollbackJob:
    """Restore the configuration of a device from before an earlier rollout.

    ``earlier`` is that configuration as the switch kept it, with its secrets. ``held`` are the checks that passed
    before the rollout and must pass again; None where that is unknown, and then links and sessions that the rollback
    does not touch must stay up. ``generation`` is that of before the rollout.
    """

    expectation: Expectation
    earlier: Snapshot
    before_sha256: str
    held: Health | None
    reason: str
    drain: tuple[str, ...] = ()
    disconnects: bool = False
    generation: Mapping[str, Any] = field(default_factory=dict)

    @property
    def device(self) -> str:
        """Return the device's name."""
        return self.expectation.device

    @property
    def restores(self) -> bool:
        """Return True: the device ran this configuration before."""
        return True

    def read(self, driver: CheckedDriver, which: str = "running") -> JobReading:
        """Return what the device runs, or boots, and its difference from the earlier configuration."""
        running = running_of(driver, which)
        if which == "running" and running.frr is None:
            raise DocumentError("FRR's running configuration is unknown: bgpraw is missing or empty")
        difference = self.earlier.difference(running, self.reason)
        sha256 = running_sha256(running, self.earlier.owned)
        is_done = not difference.delta
        # A switch whose FRR railweave does not manage saves no lines of FRR, so the digest does not show what it boots.
        if which == "running" and self.earlier.sha256:
            is_done = is_done and sha256 == self.earlier.sha256
        return JobReading(running, sha256, difference, done=is_done, disconnects=needs_both_ends(difference.delta))

    def moved(self, reading: JobReading) -> str:
        """Return a sentence if the device has changed since the rollback was planned; empty if it has not."""
        if reading.sha256 != self.before_sha256:
            return "the device's configuration changed since the rollback was planned; nothing was done"
        return ""

    def snapshot(self, reading: JobReading) -> Snapshot:
        """Return the device's configuration before the rollback."""
        return snapshot_before(reading.delta, reading.running, self.earlier.owned)

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        """Return the checks that passed before the rollout; those that passed after it do not count.

        If it is unknown which passed before, return the checks in ``held`` whose link or session the rollback leaves
        as it is.
        """
        del settled
        # BGP timers depend on the neighbors too, which may not be rolled back yet.
        checks = [check for check in check_device(self.expectation, seen) if check.kind is not CheckKind.TIMERS]
        if self.held is not None:
            return tuple(check for check in checks if (check.kind, check.subject) in self.held)
        return tuple(check for check in checks if (check.kind, check.subject) in held and self._leaves_alone(check))

    def routes(self, seen: Observation, settled: Container[str]) -> tuple[SessionRoutes, ...]:
        """Return nothing: the least routes of the earlier state are not known."""
        del seen, settled
        return ()

    def _leaves_alone(self, check: VerifyCheck) -> bool:
        """Tell whether the rollback keeps the session of a check, or does not touch its port."""
        if check.kind is CheckKind.BGP:
            frr = self.earlier.frr
            if frr is None:
                return False
            return any(entry.line.startswith(f"neighbor {check.subject} ") for entry in frr.entries)
        if check.kind not in (CheckKind.LINK, CheckKind.LLDP):
            return False
        rows = self.earlier.rows
        return check.subject not in rows.get("PORT", {}) and check.subject not in rows.get("DEVICE_NEIGHBOR", {})


def held_before(record: DeviceRecord) -> Health:
    """Return the checks that passed on a device before a rollout, by the ``record`` of its journal.

    Kinds of checks that this version does not know are left out.
    """
    kinds = {kind.value: kind for kind in CheckKind}
    return frozenset((kinds[kind], subject) for kind, subject in record.held if kind in kinds)
