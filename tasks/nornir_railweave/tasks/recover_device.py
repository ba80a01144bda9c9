"""Repair the transaction state of devices, each by its switch's own program."""

from collections.abc import Sequence

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.target.connect import run_on
from railweave.plan.outcome import RecoveryOutcome, RecoveryResult
from railweave.switch_driver import Capability, CommitStatus

# By the program's words; all others are of a transaction that was left alone.
_OUTCOMES = {
    "healthy": RecoveryOutcome.HEALTHY,
    "reverted": RecoveryOutcome.RESTORED,
    "accepted": RecoveryOutcome.ACCEPTED,
    "failed": RecoveryOutcome.INCOMPLETE,
    "refused": RecoveryOutcome.REFUSED,
}


def recover(nr: Nornir, names: Sequence[str], *, accept_running: bool) -> tuple[RecoveryResult, ...]:
    """Repair the transaction state of these switches, all at once; return the result of each."""
    return tuple(run_on(nr, names, recover_device, accept_running=accept_running).values())


def recover_device(task: Task, accept_running: bool) -> Result:
    """Repair the transaction state of a switch; return a ``RecoveryResult``.

    ``accept_running`` keeps what the switch runs where its earlier configuration cannot be restored.
    """
    name = task.host.name
    if task.is_dry_run():
        result = RecoveryResult(name, RecoveryOutcome.REFUSED, error="dry run; nothing was done")
        return Result(host=task.host, result=result)
    with session(task) as opened:
        try:
            result = _recovered(name, opened.driver, accept_running=accept_running)
        except DEVICE_ERRORS as fault:
            result = RecoveryResult(name, RecoveryOutcome.UNREACHABLE, error=error_text(fault))
    changed = result.outcome in (RecoveryOutcome.RESTORED, RecoveryOutcome.ACCEPTED)
    return Result(host=task.host, result=result, failed=not result.ok, changed=changed)


def _recovered(name: str, driver: CheckedDriver, *, accept_running: bool) -> RecoveryResult:
    """Repair the transaction state of a switch by its driver, if that can; return the result."""
    if not driver.can(Capability.RECOVER):
        reason = f"the driver {driver.name} keeps no transactions on the switch"
        return RecoveryResult(name, RecoveryOutcome.REFUSED, error=reason)
    recovered = driver.recover(accept_running=accept_running)
    return RecoveryResult(
        device=name,
        outcome=_OUTCOMES.get(recovered.outcome, RecoveryOutcome.WAITING),
        found=recovered.found.state,
        transaction=_transaction(recovered.found) or recovered.found.error,
        restored=recovered.restored,
        missing=recovered.missing,
        error=recovered.error,
    )


def _transaction(status: CommitStatus) -> str:
    """Describe the transaction of a switch for a person; empty if the switch knows of none."""
    if not status.commit_id:
        return ""
    by = f" by {status.by}" if status.by else ""
    return f"{status.kind} {status.commit_id}{by}"
