"""What resuming and rolling back an unfinished rollout share: its fabric, its journal, its pending commits."""

from nornir_railweave.events import Announcer
from nornir_railweave.rollout.control import GO_ON, ask
from nornir_railweave.rollout.journal import Journal, RolloutMetadata
from nornir_railweave.rollout.resuming import free_devices
from railweave.api.live import LiveFabric
from railweave.api.phasing import live_phases
from railweave.api.project import Project
from railweave.errors import RailweaveError
from railweave.plan.rollout import Rollout


def fabric_of(rollout: Rollout, fabric: LiveFabric, project: Project) -> LiveFabric:
    """Return the fabric of ``rollout``: ``fabric``, or the phase of a change that leads to it.

    Raises RefusedError if no phases lead there any more, UsageError if that phase does not exist.
    """
    if not rollout.phase or rollout.intent_sha256 != fabric.designed.intent.sha256:
        return fabric
    return live_phases(project, fabric.target.name, rollout.base).live_to_deploy(rollout.phase)


def reopened(rollout: Rollout, project: Project) -> Journal:
    """Return the journal of ``rollout``, open at its end; raises RefusedError if another process holds it."""
    metadata = RolloutMetadata(
        rollout.kind,
        rollout.of,
        rollout.intent or str(project.intent),
        rollout.remove_conflicting,
        rollout.base,
        rollout.phase,
    )
    try:
        journal = Journal.reopen(rollout.path, rollout.fabric, rollout.target, metadata)
        # A request to the process that is gone is no request to this one.
        ask(rollout.path, GO_ON)
    except OSError as exc:
        raise RailweaveError(f"{rollout.path}: {exc.strerror}") from exc
    return journal


def free(fabric: LiveFabric, rollout: Rollout, journal: Journal) -> None:
    """Revert at once what the rollout left unconfirmed on its devices, and record it in its journal."""
    with fabric.shown:
        free_devices(
            fabric.nornir,
            rollout,
            fabric.intended,
            reconnect_s=fabric.target.timeouts.reconnect_s,
            announce=Announcer([journal, fabric.shown]),
        )
