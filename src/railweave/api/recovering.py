"""Recovery of switches whose transaction state is damaged, or whose last change nobody finished."""

from collections.abc import Sequence

from nornir_railweave.tasks import recover_device
from railweave.api.auditing import audited_action
from railweave.api.live import live_fabric
from railweave.api.project import Project
from railweave.errors import UsageError
from railweave.plan.recovery import RecoveryResult


def recover(
    project: Project, target: str, devices: Sequence[str], *, accept_running: bool = False
) -> tuple[RecoveryResult, ...]:
    """Repair the transaction state of these switches and restore what an unfinished change left; one result each.

    ``accept_running`` keeps what runs where nothing can be restored. A commit that waits for its confirmation is left
    alone. Raises UsageError for unknown names.
    """
    live = live_fabric(project, target)
    fabric = live.designed.fabric
    names = tuple(dict.fromkeys(devices))
    if unknown := [name for name in names if name not in fabric.switch_of]:
        raise UsageError(f"{fabric.name} has no switch {', '.join(unknown)}")
    command = " ".join(["recover", *names, *(["--accept-running"] if accept_running else [])])
    with audited_action(command, fabric.name, target, live.designed.intent.sha256) as record, live.progress():
        results = recover_device.recover(live.nornir, names, accept_running=accept_running)
        record({one.device: {"outcome": one.outcome.value, "error": one.error} for one in results})
        return results
