"""Options that several commands share, declared once, and groups of commands."""

from pathlib import Path
from typing import Annotated

import typer

IntentArgument = Annotated[
    Path | None,
    typer.Argument(metavar="INTENT", help="Intent file; default: RAILWEAVE_INTENT, else the only file in intent/."),
]
IntentOption = Annotated[Path | None, typer.Option("--intent", metavar="FILE", help="Intent file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; `railweave schema` has the schemas.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with status 2 if there are changes.")]
MaxFailures = Annotated[
    int | None,
    typer.Option("--max-failures", min=1, metavar="N", help="Stop at the N-th failed device; default: the target's."),
]
Provision = Annotated[bool, typer.Option("--provision", help="Allow devices to be reloaded.")]
From = Annotated[
    str,
    typer.Option("--from", metavar="BASE", help="Change in phases from the running intent, a git revision or a file."),
]
PhaseNumber = Annotated[int | None, typer.Option("--phase", metavar="N", min=1, help="Only this phase (with --from).")]
NodesDone = Annotated[
    bool,
    typer.Option("--nodes-done", help="The nodes have done the phases before, and no job still sends the old values."),
]
SkipUnreachable = Annotated[bool, typer.Option("--skip-unreachable", help="Leave out devices that do not answer.")]
TargetOption = Annotated[
    str,
    typer.Option(
        "--target", "-t", envvar="RAILWEAVE_TARGET", metavar="TARGET", help="The target: inventory/TARGET.yml."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def group(app: typer.Typer, name: str, purpose: str) -> typer.Typer:
    """Return a new group of commands ``railweave NAME …``."""
    made = typer.Typer(help=purpose, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(made, name=name)
    return made
