"""Commands that make a project."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    app.command()(init)


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is new or empty.")],
) -> None:
    """Make a starter project: an intent, an inventory and a Makefile."""
    from railweave.cli.show import print_view
    from railweave.cli.starting import start_project

    written = start_project(folder)
    print_view("\n".join(f"  {path}" for path in written))
    print_view(f"next: cd {folder} && make deploy")
