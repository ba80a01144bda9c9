"""Commands that compare a running fabric with its intent, and that change it: plan, deploy, rollback, verify, drift."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import (
    AllowLockout,
    AsJson,
    DiscardNewer,
    ExitCode,
    From,
    IntentArgument,
    IntentOption,
    MaxFailures,
    NodesDone,
    PhaseNumber,
    Provision,
    RemoveConflicting,
    RemoveLive,
    Renumber,
    Since,
    SingleStep,
    SkipUnreachable,
    SwitchLimit,
    TargetOption,
    Yes,
    intent_or_plan,
)
from railweave.cli.show import print_diagnostics, print_plan, print_rehearsals, print_result, print_text, write_json
from railweave.cli.status import EXIT_FAILED, changes_status, exit_status
from railweave.cli.terminal import Terminal, show_phases, show_result
from railweave.errors import RailweaveError, UsageError
from railweave.files import cannot_write
from railweave.wording import command_line, commands_name

if TYPE_CHECKING:
    from railweave.plan.drift import Drift
    from railweave.plan.model import Plan

_EXCEPTIONS = "drift-ignore.yml"

PlanFile = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Save the plan for `deploy`.")]
JobOutput = Annotated[
    Path | None,
    typer.Option("--job-output", metavar="FILE", help="Append `risk=` (none to lockout) and `changes=` for pipelines."),
]
SigningKey = Annotated[
    Path | None, typer.Option("--sign", metavar="KEY", help="Sign the saved plan with this SSH key.")
]
# A dry run may show a switch that is not racked yet; a deployment (SkipUnreachable) can only leave it out.
PlanUnreachable = Annotated[
    bool,
    typer.Option("--skip-unreachable", help="Plan new switches that do not answer as factory-fresh; leave others out."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (plan, deploy, rollback, verify, drift):
        app.command()(command)


def plan(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    out: PlanFile = None,
    sign: SigningKey = None,
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print markdown for a pull request.")] = False,
    remove_conflicting: RemoveConflicting = False,
    skip_unreachable: PlanUnreachable = False,
    base: From = "",
    phase: PhaseNumber = None,
    limit: SwitchLimit = "",
    since: Since = "",
    job_output: JobOutput = None,
    exit_code: ExitCode = False,
) -> int:
    """Dry run: show what a deployment would change."""
    from railweave.plan.consent import conflicts

    if sign is not None and out is None:
        raise UsageError("--sign needs --out FILE: the signature is written next to the plan")
    project = api.open_project(intent or option, Terminal())
    planned = api.plan(
        project,
        target,
        base=base,
        phase=phase,
        remove_conflicting=remove_conflicting,
        skip_unreachable=skip_unreachable,
        limit=limit,
        since=since,
    )
    files = _save_plan(planned, out, sign)
    if job_output is not None:
        _write_job_output(planned, job_output)
    diagnostics = conflicts(planned)
    print_plan(planned, as_json=json, as_markdown=markdown, problems=diagnostics)
    if not json:
        print_rehearsals(planned, *files, as_markdown=markdown)
    # A pipeline must not continue with a plan that cannot be deployed, or that lacks devices.
    if diagnostics or planned.waiting or not _is_complete(planned, skip_unreachable=skip_unreachable):
        return EXIT_FAILED
    return changes_status(changed=bool(planned.deltas), reported=exit_code)


def _write_job_output(plan: "Plan", file: Path) -> None:
    """Append what rules of a pipeline decide by, as GitHub reads outputs of a step and GitLab a dotenv report."""
    from railweave.plan.risk import risk_of

    try:
        with file.open("a", encoding="utf-8") as output:
            output.write(f"risk={risk_of(plan)}\nchanges={plan.summary.total}\n")
    except OSError as exc:
        raise RailweaveError(cannot_write(file, exc)) from exc


def _save_plan(plan: "Plan", out: Path | None, signing_key: Path | None) -> tuple[Path, ...]:
    """Write a plan to ``out``, and sign it if there is a key; return the file that was written, if any."""
    if out is None:
        return ()
    from railweave.api.plan_files import sign_plan
    from railweave.plan.document import plan_json

    write_json(out, plan_json(plan))
    if signing_key is not None:
        sign_plan(out, signing_key)
    return (out,)


def _is_complete(plan: "Plan", *, skip_unreachable: bool) -> bool:
    """Tell whether enough devices were read: all of them, with --skip-unreachable at least one."""
    from railweave.plan.model import DeviceState

    unreachable = len(plan.names(DeviceState.UNREACHABLE))
    if skip_unreachable and unreachable < len(plan.devices):
        return True
    return not unreachable


def deploy(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Yes = False,
    provision: Provision = False,
    renumber: Renumber = False,
    skip_unreachable: SkipUnreachable = False,
    remove_conflicting: RemoveConflicting = False,
    single_step: SingleStep = False,
    remove_live: RemoveLive = False,
    allow_lockout: AllowLockout = False,
    discard_newer: DiscardNewer = False,
    max_failures: MaxFailures = None,
    base: From = "",
    phase: PhaseNumber = None,
    nodes_done: NodesDone = False,
    limit: SwitchLimit = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the newest unfinished rollout, or the named one.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Plan, then apply the changes wave by wave.

    `deploy plan.json` applies a saved plan; it is refused if a device has changed since. With --resume the argument
    may name a rollout instead: `deploy --resume [ROLLOUT]`.
    """
    is_phased = bool(base) or phase is not None
    if resume and is_phased:
        raise UsageError("--resume knows the phase of its rollout: omit --from and --phase")
    if limit:
        _require_limitable(limit, base, phase, resume=resume)
    options = api.DeployOptions(
        provision=provision,
        renumber=renumber,
        skip_unreachable=skip_unreachable,
        remove_conflicting=remove_conflicting,
        single_step=single_step,
        remove_live=remove_live,
        allow_lockout=allow_lockout,
        discard_newer=discard_newer,
        nodes_done=nodes_done,
        max_failures=max_failures,
    )
    if resume:
        return _resume(intent, option, target, options, yes=yes, as_json=json)
    intent, reviewed = intent_or_plan(intent)
    # Whoever passes the file of a plan has agreed to that plan.
    project = api.open_project(intent or option, Terminal(yes=yes or reviewed is not None, quiet=json))
    if is_phased:
        phased = api.deploy_phases(project, target, options, base=base, phase=phase, reviewed=reviewed)
        return show_phases(phased, as_json=json)
    return show_result(api.deploy(project, target, options, reviewed=reviewed, limit=limit), as_json=json)


def _require_limitable(limit: str, base: str, phase: int | None, *, resume: bool) -> None:
    """Raise UsageError for a limit together with options that decide themselves which switches change."""
    from railweave.api.targets.limit import refuse_limited_phase

    if resume:
        raise UsageError("--resume knows the limit of its rollout: omit --limit")
    refuse_limited_phase(limit, base, phase)


def _resume(
    argument: Path | None, option: Path | None, target: str, options: "api.DeployOptions", *, yes: bool, as_json: bool
) -> int:
    """Resume the rollout or the intent that ``argument`` names, print the result and return the exit status."""
    from railweave.api.journal.rollout_project import open_rollout_project

    rollout, intent = _named_rollout(argument)
    operator = Terminal(yes=yes, quiet=as_json)
    project = open_rollout_project(intent or option, operator, target, rollout=rollout, resume=True)
    with commands_name(_intent_to_name(project, intent or option), target):
        return show_result(api.resume(project, target, options, rollout=rollout), as_json=as_json)


def _named_rollout(argument: Path | None) -> tuple[str, Path | None]:
    """Return the rollout and the intent that the argument of ``deploy --resume`` names, empty and None for neither."""
    if argument is None or argument.suffix in (".yml", ".yaml"):
        return "", argument
    if argument.suffix == ".json":
        raise UsageError(f"a plan file cannot be resumed: `{command_line('deploy', '--resume', 'ROLLOUT')}`")
    return str(argument), None


def _intent_to_name(project: "api.Project", given: Path | None) -> str:
    """Return the intent that printed commands name; empty for the default, the only intent of the project."""
    if given is None and [str(project.intent)] == [*completion.intents()]:
        return ""
    return str(project.intent)


def rollback(
    rollout: Annotated[
        str,
        typer.Argument(
            metavar="ROLLOUT",
            help="Name or part of a name; default: the newest with changes.",
            autocompletion=completion.rollouts,
        ),
    ] = "",
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Yes = False,
    provision: Provision = False,
    skip_unreachable: SkipUnreachable = False,
    last: Annotated[
        bool, typer.Option("--last", help="Roll back the newest rollout recorded on the switches; needs no journal.")
    ] = False,
    order: Annotated[
        Path | None,
        typer.Option("--order", metavar="FILE", help="Signed rollback order, if the target has allowed signers."),
    ] = None,
    max_failures: MaxFailures = None,
    json: AsJson = False,
) -> int:
    """Roll back a rollout: restore the earlier configuration."""
    from railweave.api.journal.rollout_project import open_rollout_project

    if last and rollout:
        raise UsageError("--last selects the rollout: omit its name")
    # Asking for a rollback is consent to the earlier names and addresses.
    options = api.DeployOptions(
        provision=provision, renumber=True, skip_unreachable=skip_unreachable, max_failures=max_failures
    )
    operator = Terminal(yes=yes, quiet=json)
    if last:
        result = api.rollback_last(api.open_project(option, operator), target, options, order=order)
        return show_result(result, as_json=json)
    project = open_rollout_project(option, operator, target, rollout=rollout)
    with commands_name(_intent_to_name(project, option), target):
        result = api.rollback(project, target, options, rollout=rollout, order=order)
        return show_result(result, as_json=json)


def verify(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    wait: Annotated[
        float,
        typer.Option("--wait", metavar="SECONDS", min=0, help="Retry until all checks pass, at most this long."),
    ] = 0.0,
    base: From = "",
    phase: PhaseNumber = None,
    limit: SwitchLimit = "",
    json: AsJson = False,
) -> int:
    """Compare the state of the running fabric with the intent.

    Checks LLDP, BGP, MTU, addresses and links. Errors that grow and PFC storms fail: counters are read twice, at least
    2 seconds apart.
    """
    from railweave.report.verification import verify_json, verify_view

    project = api.open_project(intent or option, Terminal())
    result = api.verify(project, target, base=base, phase=phase, wait_s=wait, limit=limit)
    print_result(result, verify_json, verify_view, as_json=json)
    return exit_status(ok=result.ok)


def drift(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    ignore: Annotated[
        Path | None, typer.Option("--ignore", metavar="FILE", help=f"Accepted exceptions; default: {_EXCEPTIONS}.")
    ] = None,
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print markdown for a pipeline's summary.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with status 2 if there is drift.")] = False,
) -> int:
    """Show how the running configuration differs from the intent."""
    from railweave.plan.drift import remarks

    # The default may be missing; a file that somebody names may not, or a typing error would hide its exceptions.
    if ignore is not None and not ignore.is_file():
        raise UsageError(f"there is no file {ignore}; without --ignore, {_EXCEPTIONS} is read if it is there")
    exceptions = ignore or Path(_EXCEPTIONS)
    differences = api.drift(api.open_project(intent or option, Terminal()), target, ignore=exceptions)
    _print_drift(differences, as_json=json, as_markdown=markdown)
    if not json:
        print_diagnostics(remarks(differences))
    # "No drift" is a statement about every device.
    if differences.unread or differences.plan.waiting:
        return EXIT_FAILED
    return changes_status(changed=differences.found, reported=exit_code)


def _print_drift(differences: "Drift", *, as_json: bool, as_markdown: bool) -> None:
    from railweave.report.drift import drift_json, drift_markdown, drift_view

    if as_markdown and not as_json:
        print_text(drift_markdown(differences))
    else:
        print_result(differences, drift_json, drift_view, as_json=as_json)
