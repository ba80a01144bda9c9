"""Commands that show a fabric to people: draw, report."""

from pathlib import Path
from typing import Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import AsJson, IntentArgument, IntentOption
from railweave.cli.show import print_result, print_view


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    app.command()(draw)


def draw(
    intent: IntentArgument = None,
    option: IntentOption = None,
    of: Annotated[
        str,
        typer.Option(
            "--of",
            metavar="PART",
            help="`fabric`, `pod-1`, `stripe-3`, or a switch or GPU node.",
            autocompletion=completion.parts,
        ),
    ] = "fabric",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write: .svg, .png, .mmd (Mermaid), .drawio, .txt."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Draw the fabric, or a part of it: in the terminal, or as SVG, PNG, Mermaid or draw.io."""
    from railweave.report.drawing import scene_json, scene_view

    found = api.draw(api.open_project(intent or option), of=of, out=out)
    if out is not None and not json:
        print_view(f"{found.title} ({found.about}) in {out}")
    else:
        print_result(found, scene_json, scene_view, as_json=json)
