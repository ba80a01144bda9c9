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
    """What a device runs, against its job: the difference is still to be done."""

    # The job is done; a device of another digest than it should have is not, whatever its delta says.
    done: bool
    # Links and sessions go down with the job until their far ends follow, or there are none yet (a switch that is being
    # provisioned): then nothing has to hold right after the change because it held before.
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
        """Return what is still to be done, and why it cannot be, as a person may see it."""
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
        """Tell whether the device held before what the job brings; its YANG models are not asked about that."""

    def read(self, driver: CheckedDriver, which: str = "running") -> JobReading:
        """Read the running (or ``startup``) configuration; raises the driver's exceptions and DocumentError."""

    def moved(self, reading: JobReading) -> str:
        """Return in a sentence why ``reading`` must not be worked on; empty where it is what the job was made for."""

    def snapshot(self, reading: JobReading) -> Snapshot:
        """Return what a device on which ``reading`` was read before the change returns to when the change fails."""

    @property
    def expectation(self) -> Expectation:
        """Return what is to be seen on the device afterwards; used ports and sessions are watched by it."""

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        """Return the checks that the device must pass after the change.

        ``settled`` are the devices that stand still in their new state; ``held`` are kind and subject of the checks of
        ``expectation`` that held before the change. A rollback returns those of ``held`` that must survive it.
        """

    def routes(self, seen: Observation, settled: Container[str]) -> tuple[SessionRoutes, ...]:
        """Return the routes that sessions carry and must: announced over all, accepted from ``settled`` devices."""


def config_state(reading: JobReading, job: DeviceJob) -> ConfigState:
    """Tell which configuration ``reading`` is."""
    if reading.done:
        return ConfigState.AFTER
    if reading.sha256 == job.before_sha256:
        return ConfigState.BEFORE
    return ConfigState.PARTIAL


@dataclass(frozen=True, slots=True)
class DeployJob:
    """Bring a device to its intended configuration by the changes of a plan, which was made a moment ago.

    ``own`` is the state of the intent that is deployed, ``plan_digest`` names the plan where others carry it out.
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
        """Return that of the plan, and the one that is deployed."""
        if self.own.digest:
            return {"was": self.planned.reading.generation.number, "now": generation_document(self.own)}
        return {}

    @property
    def restores(self) -> bool:
        """Return that an intent may be new to the device."""
        return False

    def read(self, driver: CheckedDriver, which: str = "running") -> JobReading:
        """Compare what the device runs, or boots, with what is intended."""
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
        """Return why the device is not as the plan says."""
        if reading.sha256 != self.before_sha256:
            return "the device's configuration changed since the plan was made; nothing was done"
        if reading.delta != self.delta and _shown(reading.delta) != _shown(self.delta):
            return "the changes differ from those of the plan; nothing was done"
        return ""

    def snapshot(self, reading: JobReading) -> Snapshot:
        """Return what the device held before the plan's changes."""
        return snapshot_before(reading.delta, reading.running, self.compare.intended(self.device))

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        """Return the checks of the intended state, over links to settled devices, and of what held before."""
        return gate(self.expectation, seen, settled, held)

    def routes(self, seen: Observation, settled: Container[str]) -> tuple[SessionRoutes, ...]:
        """Return what sessions carry, and must in the intended state.

        What this device passes on follows from what it accepted itself, whatever the far ends run.
        """
        routes = session_routes(self.expectation, seen)
        return tuple(session for session in routes if session.announced or session.neighbor in settled)


def _shown(delta: Delta) -> list[dict[str, Any]]:
    """Return changes as a plan's file has them, secrets marked: those of a file are not equal to those just made."""
    return [change_json("", change) for change in delta]


@dataclass(frozen=True, slots=True)
class RollbackJob:
    """Restore what a device held before an earlier rollout.

    ``earlier`` is what its switch kept of that, with its secrets. ``held`` is what held before the rollout and has to
    hold again; None where nobody knows it: then links and sessions that stay have to survive. ``generation`` leads to
    that of before the rollout.
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
        """Return that the device held it before an earlier rollout."""
        return True

    def read(self, driver: CheckedDriver, which: str = "running") -> JobReading:
        """Return what the device runs, or boots, and what of its earlier configuration it does not hold.

        A switch whose FRR is not ours keeps no file of it: only its tables tell what it boots.
        """
        running = running_of(driver, which)
        if which == "running" and running.frr is None:
            raise DocumentError("FRR's running configuration is unknown: bgpraw is missing or empty")
        difference = self.earlier.difference(running, self.reason)
        sha256 = running_sha256(running, self.earlier.owned)
        as_recorded = which != "running" or self.earlier.sha256 in ("", sha256)
        return JobReading(
            running,
            sha256,
            difference,
            done=not difference.delta and as_recorded,
            disconnects=needs_both_ends(difference.delta),
        )

    def moved(self, reading: JobReading) -> str:
        """Return why the device is not as it was when the rollback was planned."""
        if reading.sha256 != self.before_sha256:
            return "the device's configuration changed since the rollback was planned; nothing was done"
        return ""

    def snapshot(self, reading: JobReading) -> Snapshot:
        """Return what the device held before the rollback."""
        return snapshot_before(reading.delta, reading.running, self.earlier.owned)

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        """Return the checks of what held before the rollout; what held between then and now is no measure."""
        del settled
        # Timers are agreed on with far ends, which may not be rolled back yet.
        checks = [check for check in check_device(self.expectation, seen) if check.kind is not CheckKind.TIMERS]
        if self.held is not None:
            return tuple(check for check in checks if (check.kind, check.subject) in self.held)
        return tuple(check for check in checks if (check.kind, check.subject) in held and self._stays(check))

    def routes(self, seen: Observation, settled: Container[str]) -> tuple[SessionRoutes, ...]:
        """Return nothing: which routes the earlier state had is known from what was accepted alone."""
        del seen, settled
        return ()

    def _stays(self, check: VerifyCheck) -> bool:
        """Tell whether the rollback leaves what a check looks at: a session that it keeps, a port that it spares."""
        if check.kind is CheckKind.BGP:
            frr = self.earlier.frr
            return frr is not None and any(entry.line.startswith(f"neighbor {check.subject} ") for entry in frr.entries)
        touched = (self.earlier.rows.get(table, {}) for table in ("PORT", "DEVICE_NEIGHBOR"))
        return check.kind in (CheckKind.LINK, CheckKind.LLDP) and not any(check.subject in rows for rows in touched)


def held_before(record: DeviceRecord) -> Health:
    """Return what held on a device before a rollout; kinds that this version does not know are left out."""
    kinds = {kind.value: kind for kind in CheckKind}
    return frozenset((kinds[kind], subject) for kind, subject in record.held if kind in kinds)
