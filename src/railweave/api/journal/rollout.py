"""The rollouts of the project in the working directory: list and show them, steer a running one."""

from itertools import islice

from nornir_railweave.journals.shared import is_held
from nornir_railweave.rollout.control import ABORT, GO_ON, PAUSE, ask
from nornir_railweave.rollout.rollouts import journals, named_rollout, rollouts
from railweave.api.journal.folder import fetched_journals
from railweave.diagnostics import Diagnostic, error
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.plan.rollout import Rollout
from railweave.wording import command_line

__all__ = ["abort", "count", "find", "history", "pause", "unpause"]


def history(limit: int | None = None) -> tuple[Rollout, ...]:
    """Return the rollouts, newest first, at most ``limit``."""
    return tuple(islice(rollouts(fetched_journals()), limit))


def count() -> int:
    """Return how many rollouts there are."""
    return len(journals(fetched_journals()))


def find(name: str = "") -> Rollout:
    """Return the rollout with this name or part of a name, by default the newest; raises UsageError."""
    folder = fetched_journals()
    if name:
        return named_rollout(folder, name)
    newest = next(rollouts(folder), None)
    if newest is None:
        raise UsageError("no rollouts yet")
    return newest


def pause(name: str = "") -> Rollout:
    """Ask a running rollout, by default the newest, to pause after the current wave; return it.

    Raises RefusedError if it is not running, UsageError for an unknown name, RailweaveError if the request cannot be
    written.
    """
    return _ask(name, PAUSE)


def unpause(name: str = "") -> Rollout:
    """Let a paused rollout continue. Raises as `pause` does."""
    return _ask(name, GO_ON)


def abort(name: str = "") -> Rollout:
    """Ask a running rollout to stop after the current wave; finished waves stay deployed. Raises as `pause` does."""
    return _ask(name, ABORT)


def _ask(name: str, request: str) -> Rollout:
    """Write a request to a running rollout, by default the newest that runs, and return it. Raises as `pause` does."""
    running = None
    if not name:
        running = next((rollout for rollout in rollouts(fetched_journals()) if rollout.alive), None)
    # Where none runs, the refusal is about the newest.
    rollout = running or find(name)
    if not rollout.alive:
        raise RefusedError([_not_running(rollout)])
    # A request is a file beside the journal, and another runner has its own copy of that folder.
    if is_held(rollout.path):
        message = f"rollout {rollout.name} is running at another runner: {rollout.by}"
        raise RefusedError(
            [error("RW538", message, fix="end its job there: SIGTERM ends it after the current devices")]
        )
    try:
        ask(rollout.path, request)
    except OSError as exc:
        raise RailweaveError(f"{rollout.path}: the request cannot be written: {exc.strerror}") from exc
    return rollout


def _not_running(rollout: Rollout) -> Diagnostic:
    """Return the error for a request to a rollout that is finished or was interrupted."""
    if rollout.finished:
        fix = f"nothing remains to be done; `railweave rollout show {rollout.name}` shows the result"
    else:
        resume = command_line("deploy", "--resume", rollout.name, target=rollout.target)
        rollback = command_line("rollback", rollout.name, target=rollout.target)
        fix = f"resume it with `{resume}`, or roll it back with `{rollback}`"
    return error("RW538", f"rollout {rollout.name} is not running: it is {rollout.state}", fix=fix)
