"""Commands for the GPU nodes: what would change on them, and the change."""

from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentArgument, IntentOption, TargetOption

Limit = Annotated[
    str, typer.Option("--limit", "-l", metavar="NAMES", help="Only these nodes: names or patterns, comma separated.")
]

hosts = typer.Typer(help="The GPU nodes, through Ansible: addresses, routes, NIC settings, NCCL.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    app.add_typer(hosts, name="hosts")


@hosts.command()
def plan(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    limit: Limit = "",
    json: AsJson = False,
    files: Annotated[bool, typer.Option("--files", help="Show the differences of files, line by line.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with status 2 when there are changes.")] = False,
) -> int:
    """Live dry run: what `hosts apply` would change on the nodes."""
    from railweave.api.project import open_project
    from railweave.cli.node_runs import reached_nodes, show_run
    from railweave.hosts.outcome import HostState

    nodes = reached_nodes(open_project(intent or option).intent, target, limit)
    run = nodes.plan()
    show_run(run, as_json=json, files=files)
    if not run.ok:
        return 1
    return 2 if exit_code and run.named(HostState.CHANGED) else 0


@hosts.command()
def apply(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    limit: Limit = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    if_managed: Annotated[
        bool, typer.Option("--if-managed", help="Do nothing if the intent or the target does not manage the nodes.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Bring the nodes in line with the intent, batch by batch, and read every setting back."""
    from railweave.api.project import open_project
    from railweave.cli.node_runs import agreed, left_alone, reached_nodes, refuse_unmanaged, show_run

    path = open_project(intent or option).intent
    if if_managed and left_alone(path, target):
        return 0
    nodes = reached_nodes(path, target, limit)
    refuse_unmanaged(nodes)
    if not yes and not agreed(nodes, as_json=json):
        return 1
    run = nodes.apply()
    show_run(run, as_json=json)
    return 0 if run.ok else 1
