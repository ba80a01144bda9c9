"""`railweave links`: grade the cables of a running fabric, drain poor ones, and soak them before they return."""

from functools import partial
from typing import Annotated

import typer

from railweave import api
from railweave.cli.groups import LinksGroup
from railweave.cli.options import AsJson, IntentArgument, IntentOption, TargetOption, Yes
from railweave.cli.show import print_result
from railweave.cli.status import EXIT_FAILED, exit_status
from railweave.cli.terminal import Terminal

Seconds = Annotated[
    float, typer.Option("--seconds", metavar="SECONDS", min=1, help="Seconds between the two readings of a switch.")
]
CablesArgument = Annotated[
    list[str], typer.Argument(metavar="CABLE", help="Cables by their label, such as 'pod1-leaf1 Ethernet0'.")
]


def register(app: typer.Typer) -> None:
    """Add ``railweave links …`` to ``app``."""
    commands = typer.Typer(
        cls=LinksGroup,
        help="Grade the cables of a running fabric, drain and soak them.",
        no_args_is_help=False,
        rich_markup_mode=None,
    )
    app.add_typer(commands, name="links")
    for command in (show, drain, soak):
        commands.command()(command)


def show(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    seconds: Seconds = 30.0,
    json: AsJson = False,
) -> int:
    """Grade every cable, those whose loss harms most first.

    Changes nothing. Exit status 1 if a cable has grade D or a switch could not be read.
    """
    from railweave.report.links import links_json, links_view

    report = api.links(api.open_project(intent or option, Terminal(quiet=json)), target, seconds=seconds)
    print_result(report, links_json, links_view, as_json=json)
    return exit_status(ok=not report.unread and not report.to_drain)


def drain(
    cables: CablesArgument,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Yes = False,
    json: AsJson = False,
) -> int:
    """Move traffic away from cables between switches.

    Refused if the remaining paths do not suffice. The drain lasts until `undrain`.
    """
    from railweave.report.draining import drain_view, draining_json

    project = api.open_project(option, Terminal(yes=yes, quiet=json))
    results = api.drain_links(project, target, cables)
    if results is None:
        return EXIT_FAILED
    view = partial(drain_view, requested=len(results), intent=str(project.intent), target=target)
    print_result(results, draining_json, view, as_json=json)
    return exit_status(ok=all(result.ok for result in results))


def soak(
    cables: CablesArgument,
    option: IntentOption = None,
    target: TargetOption = "sim",
    seconds: Seconds = 30.0,
    readings: Annotated[int, typer.Option("--readings", metavar="N", min=1, help="How often to read.")] = 5,
    json: AsJson = False,
) -> int:
    """Read repaired cables several times before they return.

    Changes nothing. Exit status 1 if a reading of a cable was worse than grade B, missing, or ten times its best rate.
    """
    from railweave.report.links import links_json, links_view

    project = api.open_project(option, Terminal(quiet=json))
    report = api.soak_links(project, target, cables, readings=readings, seconds=seconds)
    print_result(report, links_json, links_view, as_json=json)
    return exit_status(ok=len(report.may_return) == len(report.cables))
