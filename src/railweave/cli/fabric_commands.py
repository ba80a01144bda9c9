"""Commands that talk to devices: plan, deploy, verify."""

from pathlib import Path
from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentArgument, IntentOption, MaxFailures, TargetOption
from railweave.errors import UsageError

SkipUnreachable = Annotated[bool, typer.Option("--skip-unreachable", help="Leave out devices that do not answer.")]
RemoveConflicting = Annotated[
    bool, typer.Option("--remove-conflicting", help="Plan the removal of foreign rows that hold a fabric port.")
]
From = Annotated[
    str, typer.Option("--from", metavar="BASE", help="In phases, from the intent that runs: a git revision or a file.")
]
PhaseNumber = Annotated[
    int | None, typer.Option("--phase", metavar="N", min=1, help="This phase of the change (with --from).")
]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with status 2 when there are changes.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (plan, deploy, verify):
        app.command()(command)


def plan(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Keep the plan for `deploy`.")] = None,
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print markdown for a pull request.")] = False,
    remove_conflicting: RemoveConflicting = False,
    base: From = "",
    phase: PhaseNumber = None,
    exit_code: ExitCode = False,
) -> int:
    """Live dry run: what a deployment would change on the running devices."""
    from railweave import api
    from railweave.cli.planning_view import show_plan
    from railweave.cli.show import write_json
    from railweave.cli.terminal import Terminal
    from railweave.plan.document import plan_json
    from railweave.plan.model import DeviceState
    from railweave.plan.refusal import conflicts

    project = api.open_project(intent or option, Terminal())
    made = api.plan(project, target, base=base, phase=phase, remove_conflicting=remove_conflicting)
    if out is not None:
        write_json(out, plan_json(made))
    refused = conflicts(made)
    show_plan(made, as_json=json, as_markdown=markdown, problems=refused)
    if refused or made.names(DeviceState.UNREACHABLE):
        return 1
    return 2 if exit_code and made.deltas else 0


def deploy(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    provision: Annotated[bool, typer.Option("--provision", help="Allow devices to be reloaded.")] = False,
    renumber: Annotated[bool, typer.Option("--renumber", help="Allow existing identities to change.")] = False,
    skip_unreachable: SkipUnreachable = False,
    remove_conflicting: RemoveConflicting = False,
    single_step: Annotated[
        bool, typer.Option("--single-step", help="Change in one step what needs phases under live traffic.")
    ] = False,
    remove_live: Annotated[
        bool, typer.Option("--remove-live", help="Close ports for good even if nodes or switches use them.")
    ] = False,
    max_failures: MaxFailures = None,
    base: From = "",
    phase: PhaseNumber = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the newest unfinished rollout, or the named one.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Plan, then apply wave by wave; or `deploy plan.json`, refused when the devices have moved since.

    With --resume the argument may name a rollout instead: `deploy --resume [ROLLOUT]`.
    """
    from railweave import api
    from railweave.cli.terminal import Terminal, show_result

    if resume and base:
        raise UsageError("--resume knows of which phase its rollout was: leave --from out")
    rollout, intent = _named_rollout(intent, resume=resume)
    reviewed = intent if intent is not None and intent.suffix == ".json" else None
    operator = Terminal(yes=yes or reviewed is not None, quiet=json)
    project = api.open_project((None if reviewed else intent) or option, operator)
    agreement = api.Agreement(
        provision=provision,
        renumber=renumber,
        skip_unreachable=skip_unreachable,
        remove_conflicting=remove_conflicting,
        single_step=single_step,
        remove_live=remove_live,
        max_failures=max_failures,
    )
    if base or phase is not None:
        from railweave.cli.phase_runs import deploy_in_phases

        return deploy_in_phases(project, target, reviewed, agreement, base, phase, quiet=json)
    if resume:
        result = api.resume(project, target, agreement, rollout=rollout)
    else:
        result = api.deploy(project, target, agreement, reviewed=reviewed)
    return show_result(result, as_json=json)


def _named_rollout(argument: Path | None, *, resume: bool) -> tuple[str, Path | None]:
    """Return the rollout and the intent that the argument of ``deploy`` names, empty and None for neither.

    Raises UsageError where a plan file is to be resumed.
    """
    if not resume or argument is None or argument.suffix in (".yml", ".yaml"):
        return "", argument
    if argument.suffix == ".json":
        raise UsageError("a plan file cannot be resumed: `railweave deploy --resume [ROLLOUT]`")
    return str(argument), None


def verify(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="Read again until all checks pass.")] = 0.0,
    base: From = "",
    phase: PhaseNumber = None,
    json: AsJson = False,
) -> int:
    """Compare LLDP, BGP, MTU, addresses and links of the running fabric with the intent."""
    from railweave import api
    from railweave.cli.show import print_document, print_view
    from railweave.cli.terminal import Terminal
    from railweave.report.verification import verify_json, verify_view

    project = api.open_project(intent or option, Terminal())
    result = api.verify(project, target, base=base, phase=phase, wait_s=wait)
    if json:
        print_document(verify_json(result))
    else:
        print_view(verify_view(result))
    return 0 if result.ok else 1
