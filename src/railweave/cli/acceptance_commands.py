"""`railweave acceptance`: plan the tests of a fabric, and judge their results."""

from pathlib import Path
from typing import Annotated

import typer

from railweave import api
from railweave.acceptance.model import Level
from railweave.cli.options import IntentArgument, IntentOption, group
from railweave.errors import RailweaveError


def register(app: typer.Typer) -> None:
    """Add ``railweave acceptance …`` to ``app``."""
    acceptance = group(app, "acceptance", "Plan acceptance tests, and judge their results from files.")
    for command in (plan,):
        acceptance.command()(command)


def plan(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The directory of the plan and its results.")],
    intent: IntentArgument = None,
    option: IntentOption = None,
    level: Annotated[Level, typer.Option("--level", help="How thorough the tests are.")] = Level.QUICK,
) -> None:
    """Plan the tests of a fabric with their limits; touches no device."""
    api.open_project(intent or option)
    raise RailweaveError(f"the tests of level {level} are not planned yet: nothing was written to {out}")
