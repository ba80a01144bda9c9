"""`railweave acceptance`: plan the tests of a fabric, run them, and judge their results."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from railweave import api
from railweave.acceptance.model import Level
from railweave.cli.options import AsJson, IntentArgument, IntentOption, TargetOption, group
from railweave.cli.show import print_diagnostics, print_document, print_result, print_text, print_view, write_output
from railweave.cli.status import EXIT_INTERRUPTED, EXIT_OK, exit_status
from railweave.cli.terminal import Terminal
from railweave.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add ``railweave acceptance …`` to ``app``."""
    acceptance = group(app, "acceptance", "Plan acceptance tests, run them, and judge their results.")
    for command in (plan, run, judge, read):
        acceptance.command()(command)


def plan(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The directory of the plan and its results.")],
    intent: IntentArgument = None,
    option: IntentOption = None,
    level: Annotated[Level, typer.Option("--level", help="How thorough the tests are.")] = Level.QUICK,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Choose other pairs of equal merit.")] = 0,
    base: Annotated[
        str, typer.Option("--from", metavar="BASE", help="Only what is new compared with a git revision or file.")
    ] = "",
    only: Annotated[
        str,
        typer.Option("--only", metavar="NAMES", help="Only these nodes, switches and cables, with commas."),
    ] = "",
    json: AsJson = False,
) -> None:
    """Plan the tests of a fabric with their limits; touches no device."""
    # Not through `api.acceptance`, which also imports the judge.
    from railweave.api.acceptance_plans import plan as write_plan
    from railweave.report.acceptance_plan import plan_summary_json, plan_summary_view

    if base and only:
        raise UsageError("--from and --only exclude each other: name what changed, or where it began")
    project = api.open_project(intent or option)
    summary = write_plan(project, out, level=level, seed=seed, base=base, only=only)
    print_result(summary, plan_summary_json, plan_summary_view, as_json=json)


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the plan, results and counters.")],
    option: IntentOption = None,
    target: TargetOption = "sim",
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that ended early.")] = False,
    limit: Annotated[
        str, typer.Option("--limit", metavar="NAMES", help="Only tests between these nodes: names or patterns.")
    ] = "",
    idle: Annotated[
        bool, typer.Option("--idle", help="No job uses the nodes, although no hook of the target drains them.")
    ] = False,
    forms: Annotated[
        bool, typer.Option("--write-forms", help="Only write scripts for Slurm and mpirun; touches no device.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Run the tests of a plan and read counters around each round.

    The fabric is verified first, and the settings of switches and nodes are compared with the intent.

    Exits with status 0 if all tests ran, whatever their results, 1 if some did not, 130
    if it was interrupted.
    """
    from railweave.api.acceptance_runs import run as carry_out
    from railweave.api.acceptance_runs import write_forms
    from railweave.report.acceptance_run import run_summary_json, run_summary_view

    if forms:
        for path in write_forms(folder):
            print_text(str(path))
        return EXIT_OK
    project = api.open_project(option, Terminal())
    summary = carry_out(project, folder, target, resume=resume, limit=limit, idle=idle)
    print_result(summary, run_summary_json, partial(run_summary_view, folder=folder), as_json=json)
    if summary.interrupted:
        return EXIT_INTERRUPTED
    return exit_status(ok=summary.ok)


def judge(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the plan, results and counters.")],
    option: IntentOption = None,
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")] = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also write JUnit XML, for a CI system.")
    ] = None,
) -> int:
    """Judge the results of a plan: what failed, and what is to blame.

    Exits with status 0 if the fabric passed, 1 if it failed or something is missing.
    """
    from railweave.acceptance.judge.document import verdict_json
    from railweave.acceptance.judge.verdict import VerdictKind
    from railweave.report.acceptance import acceptance_markdown, acceptance_view

    verdict = api.acceptance.judge(folder, option)
    if junit is not None:
        from railweave.report.acceptance_junit import acceptance_junit

        write_output(junit, acceptance_junit(verdict).encode() + b"\n")
    if json:
        print_document(verdict_json(verdict))
    elif markdown:
        print_text(acceptance_markdown(verdict))
    else:
        print_view(acceptance_view(verdict))
        print_diagnostics(verdict.diagnostics)
    return exit_status(ok=verdict.verdict is VerdictKind.PASSED)


def read(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Outputs of test tools.")],
    json: AsJson = False,
) -> int:
    """Show what the judge reads in outputs of test tools.

    Exits with status 0 if every file has a known format, else 1.
    """
    from railweave.report.tool_outputs import tool_outputs_json, tool_outputs_view

    readings = api.acceptance.read_outputs(files)
    print_result(readings, tool_outputs_json, tool_outputs_view, as_json=json)
    return exit_status(ok=all(reading.format for reading in readings.values()))
