"""The exit statuses of the command line, which pipelines decide by."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.plan.outcome import DeployResult
    from railweave.plan.phases.progress import PhasedResult

EXIT_OK = 0
EXIT_FAILED = 1
# Only with --exit-code, as of `terraform plan -detailed-exitcode`: a shell with `set -e` would stop at it.
EXIT_CHANGES = 2
# EX_USAGE of sysexits.h: click's own 2 would look like changes.
EXIT_USAGE = 64
# What a shell reports of a command that SIGINT ended: 128 and the signal's number.
EXIT_INTERRUPTED = 130


def exit_status(*, ok: bool) -> int:
    """Return the status of a command that succeeded, or that was refused or failed."""
    if ok:
        return EXIT_OK
    return EXIT_FAILED


def changes_status(*, changed: bool, reported: bool) -> int:
    """Return the status of a dry run: whether it found changes is ``reported`` only with ``--exit-code``."""
    if changed and reported:
        return EXIT_CHANGES
    return EXIT_OK


def rollout_status(result: "DeployResult | PhasedResult") -> int:
    """Return the status of a deployment or a rollback, by Ctrl-C or an abort too."""
    if result.interrupted:
        return EXIT_INTERRUPTED
    return exit_status(ok=result.ok)
