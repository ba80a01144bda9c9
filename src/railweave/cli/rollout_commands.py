"""Commands about rollouts: take one back, see which there were and what they did, and steer the one at work."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.cli.options import AsJson, IntentOption, MaxFailures, TargetOption

if TYPE_CHECKING:
    from railweave.plan.rollout import Rollout

_NEWEST = 20

RolloutArgument = Annotated[
    str | None, typer.Argument(metavar="ROLLOUT", help="A rollout's name or a part of it; default: the newest.")
]


def register(app: typer.Typer) -> None:
    """Add ``railweave rollback`` and ``railweave rollout …`` to ``app``."""
    app.command()(rollback)
    group = typer.Typer(
        help="List, show, pause, continue and abort rollouts.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command("list")(list_rollouts)
    group.command("show")(show)
    group.command("pause")(pause)
    group.command("continue")(go_on)
    group.command("abort")(abort)
    app.add_typer(group, name="rollout")


def rollback(
    rollout: RolloutArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    provision: Annotated[bool, typer.Option("--provision", help="Allow devices to be reloaded.")] = False,
    skip_unreachable: Annotated[
        bool, typer.Option("--skip-unreachable", help="Leave out devices that do not answer.")
    ] = False,
    last: Annotated[
        bool, typer.Option("--last", help="The newest rollout known to the switches; needs no journal.")
    ] = False,
    max_failures: MaxFailures = None,
    json: AsJson = False,
) -> int:
    """Bring devices back to what they held before a rollout; default: the newest one that changed anything."""
    from railweave import api
    from railweave.cli.terminal import Terminal, show_result
    from railweave.errors import UsageError

    if last and rollout:
        raise UsageError("--last finds the rollout by itself: name none")

    agreement = api.Agreement(
        provision=provision,
        renumber=True,
        skip_unreachable=skip_unreachable,
        max_failures=max_failures,
    )
    project = api.open_project(option, Terminal(yes=yes, quiet=json))
    if last:
        return show_result(api.rollback_last(project, target, agreement), as_json=json)
    return show_result(api.rollback(project, target, agreement, rollout=rollout or ""), as_json=json)


def list_rollouts(
    everything: Annotated[bool, typer.Option("--all", help="Also those before the newest 20.")] = False,
    json: AsJson = False,
) -> None:
    """List the rollouts of this project, newest first."""
    from itertools import islice

    from nornir_railweave.rollout.rollouts import journals, rollouts
    from railweave.cli.show import print_document, print_view
    from railweave.report.rollouts import rollouts_json, rollouts_view

    found = list(islice(rollouts(_folder()), None if everything else _NEWEST))
    if json:
        print_document(rollouts_json(found))
    else:
        print_view(rollouts_view(found, max(0, len(journals(_folder())) - len(found))))


def show(rollout: RolloutArgument = None, json: AsJson = False) -> None:
    """Tell one rollout: its devices and every step."""
    from railweave.cli.show import print_document, print_view
    from railweave.report.rollouts import rollout_json, rollout_view

    found = _found(rollout)
    if json:
        print_document(rollout_json(found))
    else:
        print_view(rollout_view(found))


def pause(rollout: RolloutArgument = None, json: AsJson = False) -> None:
    """Ask a running rollout to wait after the wave at work."""
    from nornir_railweave.rollout.control import PAUSE

    _ask(rollout, PAUSE, "pauses after the current wave; `railweave rollout continue` resumes it", as_json=json)


def go_on(rollout: RolloutArgument = None, json: AsJson = False) -> None:
    """Let a paused rollout go on."""
    from nornir_railweave.rollout.control import GO_ON

    _ask(rollout, GO_ON, "goes on", as_json=json)


def abort(rollout: RolloutArgument = None, json: AsJson = False) -> None:
    """Ask a running rollout to stop after the wave at work; what is done stays."""
    from nornir_railweave.rollout.control import ABORT

    _ask(rollout, ABORT, "stops after the current wave; finished waves stay deployed", as_json=json)


def _folder() -> Path:
    from railweave.api.project import JOURNALS

    return JOURNALS


def _found(name: str | None) -> "Rollout":
    """Return the rollout named, else the newest; raises UsageError."""
    from nornir_railweave.rollout.rollouts import named_rollout, rollouts
    from railweave.errors import UsageError

    if name is not None:
        return named_rollout(_folder(), name)
    newest = next(rollouts(_folder()), None)
    if newest is None:
        raise UsageError("no rollouts yet")
    return newest


def _ask(name: str | None, word: str, told: str, *, as_json: bool) -> None:
    """Write the wish beside the journal of a running rollout; raises RefusedError where it does not run."""
    from nornir_railweave.rollout.control import ask
    from nornir_railweave.rollout.rollouts import rollouts
    from railweave.cli.show import print_document, print_view
    from railweave.diagnostics import error
    from railweave.errors import RailweaveError, RefusedError

    running = None if name else next((one for one in rollouts(_folder()) if one.alive), None)
    rollout = running or _found(name)
    if not rollout.alive:
        fix = (
            "nothing is left to do"
            if rollout.finished
            else f"resume it with `railweave deploy --resume {rollout.name}`, "
            f"or go back with `railweave rollback {rollout.name}`"
        )
        raise RefusedError([error("RW538", f"rollout {rollout.name} does not run: it is {rollout.state}", fix=fix)])
    try:
        ask(rollout.path, word)
    except OSError as problem:
        raise RailweaveError(f"{rollout.path}: the request cannot be written: {problem.strerror}") from problem
    if as_json:
        print_document({"rollout": rollout.name, "asked": word or "continue"})
    else:
        print_view(f"rollout {rollout.name} {told}")
