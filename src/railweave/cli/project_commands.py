"""Commands that make a project."""

from pathlib import Path
from typing import Annotated

import typer

from railweave.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    app.command()(init)


def init(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="A folder that is new or empty.")] = None,
    template: Annotated[str, typer.Option("--template", metavar="NAME", help="Which starter project.")] = "gitops",
    listed: Annotated[bool, typer.Option("--list", help="List the templates and exit.")] = False,
) -> None:
    """Make a starter project: an intent, an inventory, a Makefile, and pipelines for GitHub and GitLab."""
    from railweave.api.starting import start_project, templates
    from railweave.cli.show import print_view

    if listed:
        print_view("\n".join(f"{name:10} {purpose}" for name, purpose in templates().items()))
        return
    if folder is None:
        raise UsageError("name a folder: `railweave init DIR`")
    written = start_project(folder, template)
    print_view("\n".join(f"  {path}" for path in written))
    print_view(f"next: cd {folder} && make deploy")
