"""`railweave rehearse`: what a deployment would meet, on simulated switches that run what the target's switches run."""

from typing import Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import (
    AllowLockout,
    AsJson,
    DiscardNewer,
    From,
    IntentArgument,
    IntentOption,
    MaxFailures,
    PhaseNumber,
    Provision,
    RemoveConflicting,
    RemoveLive,
    Renumber,
    SingleStep,
    SkipUnreachable,
    TargetOption,
    intent_or_plan,
)
from railweave.cli.show import print_result, print_text
from railweave.cli.status import exit_status
from railweave.cli.terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the command of this module to ``app``."""
    app.command()(rehearse)


def rehearse(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="DEVICE[:PORT]=KIND[@WAVE]",
            help="Inject a fault of `sim fault` when a wave begins; default: the device's wave.",
            autocompletion=completion.switches,
        ),
    ] = None,
    running: Annotated[
        str,
        typer.Option(
            "--running",
            metavar="BASE|FOLDER",
            help="Read no device: start from an intent (revision or file) or from saved configurations NAME.json.",
        ),
    ] = "",
    base: From = "",
    phase: PhaseNumber = None,
    provision: Provision = False,
    renumber: Renumber = False,
    skip_unreachable: SkipUnreachable = False,
    remove_conflicting: RemoveConflicting = False,
    single_step: SingleStep = False,
    remove_live: RemoveLive = False,
    allow_lockout: AllowLockout = False,
    discard_newer: DiscardNewer = False,
    max_failures: MaxFailures = None,
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print markdown for a pull request.")] = False,
) -> int:
    """Run the deployment on simulated copies of the switches.

    `rehearse plan.json` rehearses a saved plan. The target is only read; with --running no device is read. Exit
    status 1 if the deployment would be refused, stop or break the rollout policy.
    """
    from railweave.report.rehearsal import rehearsal_json, rehearsal_markdown, rehearsal_view

    intent, reviewed = intent_or_plan(intent)
    options = api.DeployOptions(
        provision=provision,
        renumber=renumber,
        skip_unreachable=skip_unreachable,
        remove_conflicting=remove_conflicting,
        single_step=single_step,
        remove_live=remove_live,
        allow_lockout=allow_lockout,
        discard_newer=discard_newer,
        max_failures=max_failures,
    )
    # Nothing is asked: what changes are simulated switches.
    project = api.open_project(intent or option, Terminal(yes=True, quiet=json or markdown))
    rehearsal = api.rehearse(
        project, target, options, reviewed=reviewed, running=running, base=base, phase=phase, faults=tuple(fault or ())
    )
    if markdown and not json:
        print_text(rehearsal_markdown(rehearsal))
    else:
        print_result(rehearsal, rehearsal_json, rehearsal_view, as_json=json)
    return exit_status(ok=rehearsal.ok)
