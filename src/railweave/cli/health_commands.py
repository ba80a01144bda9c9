"""`railweave health`: what is wrong with a fabric that runs."""

from typing import Annotated

import typer

from railweave import api
from railweave.cli.options import AsJson, IntentArgument, IntentOption, TargetOption
from railweave.cli.show import print_document, print_result, print_view
from railweave.cli.status import exit_status
from railweave.cli.terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command()(health)


def health(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=1, help="Time between the two readings.")
    ] = 30.0,
    watch: Annotated[bool, typer.Option("--watch", help="Repeat it and print what changes, until Ctrl-C.")] = False,
    json: AsJson = False,
) -> int:
    """Read counters and state twice and say what is wrong.

    Changes nothing and may run beside a rollout. Exit status 1 with findings, or if a switch could not be read.
    """
    from railweave.report.health import health_changes, health_json, health_view

    project = api.open_project(intent or option, Terminal(quiet=json))
    if not watch:
        report = api.health(project, target, seconds=seconds)
        print_result(report, health_json, health_view, as_json=json)
        return exit_status(ok=report.ok)
    last_report = None
    for report in api.watch_health(project, target, seconds=seconds):
        if json:
            print_document(health_json(report))
        elif last_report is None:
            print_view(health_view(report))
        else:
            changes = health_changes(last_report, report)
            if changes is not None:
                print_view(changes)
        last_report = report
    return exit_status(ok=last_report is None or last_report.ok)
