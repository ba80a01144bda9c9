"""Repair the transaction state of devices, each by its switch's own program."""

from collections.abc import Sequence
from typing import Any

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.reading import switch_program
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.target.connect import run_on
from railweave.plan.outcome import RecoveryOutcome, RecoveryResult

_OUTCOMES = {
    "healthy": RecoveryOutcome.HEALTHY,
    "reverted": RecoveryOutcome.RESTORED,
    "accepted": RecoveryOutcome.ACCEPTED,
    "failed": RecoveryOutcome.INCOMPLETE,
    "refused": RecoveryOutcome.REFUSED,
}
"""By the program's words; all others are of a transaction that was left alone."""


def recover(nr: Nornir, names: Sequence[str], *, accept_running: bool) -> tuple[RecoveryResult, ...]:
    """Recover these switches, all at once; the result of each."""
    return tuple(run_on(nr, names, recover_device, accept_running=accept_running).values())


def recover_device(task: Task, accept_running: bool) -> Result:
    """Return a ``RecoveryResult``."""
    name = task.host.name
    with session(task) as opened:
        try:
            result = _recovered(name, opened.driver, accept_running=accept_running)
        except DEVICE_ERRORS as fault:
            result = RecoveryResult(name, RecoveryOutcome.UNREACHABLE, error=error_text(fault))
    return Result(host=task.host, result=result, failed=not result.ok)


def _recovered(name: str, driver: Any, *, accept_running: bool) -> RecoveryResult:
    program = switch_program(driver)
    if program is None:
        text = f"the driver {type(driver).__name__} keeps no transactions on the switch"
        return RecoveryResult(name, RecoveryOutcome.REFUSED, error=text)
    done = program.recover(accept_running=accept_running)
    found = done.found
    transaction = f"{found.kind} {found.commit_id}" + (f" by {found.by}" if found.by else "") if found.commit_id else ""
    return RecoveryResult(
        name,
        _OUTCOMES.get(done.outcome, RecoveryOutcome.WAITING),
        found.status,
        transaction or found.error,
        done.restored,
        done.missing,
        done.error,
    )
