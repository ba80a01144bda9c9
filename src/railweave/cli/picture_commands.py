"""Commands that show a fabric to people: draw, report."""

from pathlib import Path
from typing import Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import AsJson, IntentArgument, IntentOption
from railweave.cli.show import print_document, print_result, print_view


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (draw, report):
        app.command()(command)


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
    """Draw the fabric in the terminal, or as SVG, PNG or draw.io.

    Draws the fabric or a part of it; Mermaid and plain text can be written too.
    """
    from railweave.report.drawing import scene_json, scene_view

    scene = api.draw(api.open_project(intent or option), of=of, out=out)
    if out is not None and not json:
        print_view(f"{scene.title} ({scene.about}) in {out}")
    else:
        print_result(scene, scene_json, scene_view, as_json=json)


def report(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write, an HTML file.")],
    intent: IntentArgument = None,
    option: IntentOption = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Also show a plan: the file of `plan -o`.")
    ] = None,
    verification: Annotated[
        Path | None,
        typer.Option("--verification", metavar="FILE", help="Also show what `verify --json` printed."),
    ] = None,
    drift: Annotated[
        Path | None, typer.Option("--drift", metavar="FILE", help="Also show what `drift --json` printed.")
    ] = None,
    rollout: Annotated[
        str | None,
        typer.Option(
            "--rollout",
            metavar="NAME",
            help="Also show a rollout, by its name or `newest`.",
            autocompletion=completion.rollouts,
        ),
    ] = None,
    acceptance: Annotated[
        Path | None,
        typer.Option("--acceptance", metavar="DIR", help="Also show acceptance tests: the directory of their plan."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Write one HTML page: topology, sizes, failures and parts."""
    if rollout == "newest":
        # An empty name fits every rollout, of which the newest is shown; None shows none.
        rollout = ""
    page = api.report(
        api.open_project(intent or option),
        out,
        plan=plan,
        verification=verification,
        drift=drift,
        rollout=rollout,
        acceptance=acceptance,
    )
    if json:
        print_document({"out": str(out), "bytes": page.size_bytes, "fabric": page.fabric.name})
    else:
        print_view(f"{out}: {page.size_bytes / 1000:,.0f} kB; open it in a browser, it needs no network")
