"""`railweave rollout`: list and show rollouts; pause, continue and abort a running one."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import AsJson, group
from railweave.cli.show import print_document, print_result, print_view

if TYPE_CHECKING:
    from railweave.plan.rollout import Rollout

_NEWEST = 20

RolloutArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROLLOUT",
        help="Name of a rollout or part of it; default: the newest.",
        autocompletion=completion.rollouts,
    ),
]


def register(app: typer.Typer) -> None:
    """Add ``railweave rollout …`` to ``app``."""
    rollout = group(app, "rollout", "List rollouts; pause, continue or abort a running one.")
    rollout.command("list")(list_rollouts)
    rollout.command("show")(show)
    rollout.command("pause")(pause)
    rollout.command("continue")(unpause)
    rollout.command("abort")(abort)


def list_rollouts(
    everything: Annotated[bool, typer.Option("--all", help="List all, not only the newest 20.")] = False,
    json: AsJson = False,
) -> None:
    """List the rollouts of this project, newest first."""
    from railweave.report.rollouts import rollouts_json, rollouts_view

    most = None
    if not everything:
        most = _NEWEST
    rollouts = api.rollout.history(most)
    left_out = max(0, api.rollout.count() - len(rollouts))
    print_result(rollouts, rollouts_json, partial(rollouts_view, left_out=left_out), as_json=json)


def show(rollout: RolloutArgument = "", json: AsJson = False) -> None:
    """Show a rollout: its devices and every step."""
    from railweave.report.rollouts import rollout_json, rollout_view

    print_result(api.rollout.find(rollout), rollout_json, rollout_view, as_json=json)


def pause(rollout: RolloutArgument = "", json: AsJson = False) -> None:
    """Pause a running rollout after the current wave."""
    effect = "pauses after the current wave; `railweave rollout continue` continues it"
    _show_request(api.rollout.pause(rollout), "pause", effect, as_json=json)


def unpause(rollout: RolloutArgument = "", json: AsJson = False) -> None:
    """Continue a paused rollout."""
    _show_request(api.rollout.unpause(rollout), "continue", "continues", as_json=json)


def abort(rollout: RolloutArgument = "", json: AsJson = False) -> None:
    """Stop a running rollout after the current wave.

    Finished waves stay deployed.
    """
    effect = "stops after the current wave; finished waves stay deployed"
    _show_request(api.rollout.abort(rollout), "abort", effect, as_json=json)


def _show_request(rollout: "Rollout", request: str, effect: str, *, as_json: bool) -> None:
    if as_json:
        print_document({"rollout": rollout.name, "asked": request})
    else:
        print_view(f"rollout {rollout.name} {effect}")
