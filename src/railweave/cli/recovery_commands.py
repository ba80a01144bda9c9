"""The command that repairs the transaction state of switches."""

from typing import Annotated

import typer

from railweave import api
from railweave.cli.options import AsJson, IntentOption, TargetOption
from railweave.cli.show import print_result
from railweave.cli.terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the command of this module to ``app``."""
    app.command()(recover)


def recover(
    devices: Annotated[list[str], typer.Argument(metavar="DEVICE...", help="Switches, such as pod1-leaf3.")],
    accept_running: Annotated[
        bool, typer.Option("--accept-running", help="Keep what runs if nothing can be restored.")
    ] = False,
    option: IntentOption = None,
    target: TargetOption = "sim",
    json: AsJson = False,
) -> int:
    """Repair switches whose transaction state is damaged or whose last change was not finished."""
    from railweave.report.recovery import recovery_json, recovery_view

    project = api.open_project(option, Terminal(quiet=json))
    results = api.recover(project, target, devices, accept_running=accept_running)
    print_result(results, recovery_json, recovery_view, as_json=json)
    return 0 if all(one.ok for one in results) else 1
