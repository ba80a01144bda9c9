"""`railweave hosts` and `railweave facts`: the GPU nodes, and the settings of live devices."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import (
    AsJson,
    ExitCode,
    From,
    IntentArgument,
    IntentOption,
    NodesDone,
    PhaseNumber,
    TargetOption,
    Yes,
    group,
)
from railweave.cli.show import print_document, print_error, print_result, print_view
from railweave.cli.status import EXIT_FAILED, changes_status, exit_status
from railweave.cli.terminal import Terminal
from railweave.errors import UsageError
from railweave.wording import command_line

Limit = Annotated[
    str,
    typer.Option(
        "--limit",
        "-l",
        metavar="NAMES",
        help="Only these: names, patterns or kinds, comma-separated.",
        autocompletion=completion.nodes_listed,
    ),
]


def register(app: typer.Typer) -> None:
    """Add ``railweave hosts …`` and ``railweave facts …`` to ``app``."""
    hosts = group(app, "hosts", "Plan and configure the GPU nodes through Ansible.")
    hosts.command()(plan)
    hosts.command()(apply)
    hosts.command()(rollback)
    facts = group(app, "facts", "Read settings of live switches and nodes for `check --facts`.")
    facts.callback()(_group)
    facts.command()(collect)


SingleStep = Annotated[
    bool, typer.Option("--single-step", help="Apply in one step a change that needs phases under live traffic.")
]


def _group() -> None:
    """Keep ``collect`` a command of a group, though it is the only one."""


def plan(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    limit: Limit = "",
    base: From = "",
    phase: PhaseNumber = None,
    json: AsJson = False,
    files: Annotated[bool, typer.Option("--files", help="Show the differences of files, line by line.")] = False,
    exit_code: ExitCode = False,
) -> int:
    """Dry run: what `hosts apply` would change on the nodes."""
    from railweave.hosts.outcome import HostState
    from railweave.report.hosts import hosts_json, hosts_view

    project = api.open_project(intent or option, Terminal())
    run = api.hosts.plan(project, target, limit=limit, base=base, phase=_phase_number(base, phase))
    print_result(run, hosts_json, partial(hosts_view, files=files), as_json=json)
    if not run.ok:
        return EXIT_FAILED
    return changes_status(changed=bool(run.named(HostState.CHANGED)), reported=exit_code)


def apply(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    limit: Limit = "",
    base: From = "",
    phase: PhaseNumber = None,
    nodes_done: NodesDone = False,
    single_step: SingleStep = False,
    yes: Yes = False,
    if_managed: Annotated[
        bool, typer.Option("--if-managed", help="Do nothing if the intent or the target does not manage the nodes.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Configure the nodes batch by batch, and read each setting back."""
    from railweave.report.hosts import hosts_json, hosts_view

    project = api.open_project(intent or option, Terminal(yes=yes, quiet=json))
    # `make deploy` comes here for every intent, also for those whose nodes others manage.
    if if_managed and not api.hosts.managed(project, target):
        return 0
    number = _phase_number(base, phase)
    if number is None:
        run = api.hosts.apply(project, target, limit=limit, single_step=single_step)
    else:
        run = api.deploy_node_phase(project, target, base=base, phase=number, limit=limit, nodes_done=nodes_done)
    if run is None:
        return EXIT_FAILED
    print_result(run, hosts_json, hosts_view, as_json=json)
    return exit_status(ok=run.ok)


def _phase_number(base: str, phase: int | None) -> int | None:
    """Return the phase; raises UsageError for a base without a phase, or a phase without a base."""
    if bool(base) != (phase is not None):
        raise UsageError("--from BASE and --phase N go together: the running intent, and the phase of the nodes")
    return phase


def rollback(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    limit: Limit = "",
    single_step: SingleStep = False,
    yes: Yes = False,
    json: AsJson = False,
) -> int:
    """Restore the nodes' configuration from before their last change.

    Batch by batch, from the snapshots on the nodes.
    """
    from railweave.report.hosts import hosts_json, hosts_view

    project = api.open_project(intent or option, Terminal(yes=yes, quiet=json))
    run = api.hosts.rollback(project, target, limit=limit, single_step=single_step)
    if run is None:
        return EXIT_FAILED
    print_result(run, hosts_json, hosts_view, as_json=json)
    return exit_status(ok=run.ok)


def collect(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for one NAME.json per device.")],
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    limit: Limit = "",
    json: AsJson = False,
) -> int:
    """Read the settings of switches and GPU nodes into files.

    `check --facts` compares them with the intent. Changes nothing.
    """
    from railweave.report.reasons import reason_lines

    project = api.open_project(intent or option, Terminal())
    collected = api.facts.collect(project, target, out, limit=limit)
    if json:
        document = {"out": str(out), "switches": list(collected.switches), "nodes": list(collected.nodes)}
        print_document({**document, "unread": collected.unread})
    else:
        for line in reason_lines(collected.unread, "devices"):
            print_error(f"not read: {line}")
        print_view(f"facts of {len(collected.switches)} switches and {len(collected.nodes)} nodes in {out}")
        check = command_line("check", "--facts", out, intent=str(project.intent))
        print_view(f"compare them with the intent: {check}")
    return exit_status(ok=not collected.unread)
