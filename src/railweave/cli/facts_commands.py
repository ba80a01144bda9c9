"""Commands for facts: what live devices are set to, read into files."""

from pathlib import Path
from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentArgument, IntentOption, TargetOption

facts = typer.Typer(help="Read the settings of live switches and GPU nodes for `check --facts`.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    app.add_typer(facts, name="facts")


@facts.callback()
def group() -> None:
    """Read the settings of live switches and GPU nodes for `check --facts`."""


@facts.command()
def collect(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write NAME.json of each device.")],
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    limit: Annotated[
        str,
        typer.Option(
            "--limit", "-l", metavar="NAMES", help="Only these: names, patterns, roles or kinds, comma separated."
        ),
    ] = "",
    json: AsJson = False,
) -> int:
    """Read switches and GPU nodes, change nothing, and write what `check --facts` compares with the intent."""
    from railweave.api.project import open_project
    from railweave.cli.collecting import collect_facts
    from railweave.cli.show import print_document, print_error, print_view
    from railweave.cli.terminal import Terminal

    project = open_project(intent or option, Terminal())
    found = collect_facts(project, target, out, limit)
    if json:
        document = {"out": str(out), "switches": list(found.switches), "nodes": list(found.nodes)}
        print_document({**document, "unread": found.faults})
    else:
        for name, fault in found.faults.items():
            print_error(f"{name} was not read: {fault}")
        print_view(f"facts of {len(found.switches)} switches and {len(found.nodes)} nodes in {out}")
        print_view(f"compare them with the intent: railweave check {project.intent} --facts {out}")
    return 1 if found.faults else 0
