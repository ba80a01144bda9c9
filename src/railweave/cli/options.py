"""Options that several commands share, declared once."""

from pathlib import Path
from typing import Annotated

import typer

IntentArgument = Annotated[
    Path | None, typer.Argument(metavar="INTENT", help="Intent file; default: RAILWEAVE_INTENT or the only one.")
]
IntentOption = Annotated[Path | None, typer.Option("--intent", metavar="FILE", help="Intent file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
MaxFailures = Annotated[
    int | None,
    typer.Option("--max-failures", min=1, metavar="N", help="Stop at the N-th failed device; default: the target's."),
]
TargetOption = Annotated[
    str, typer.Option("--target", "-t", envvar="TARGET", metavar="TARGET", help="A file of inventory/ without .yml.")
]
