"""Commands that need no device: size, check, render, explain, diff, schema, codes."""

from pathlib import Path
from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentArgument, IntentOption

_NAME_WIDTH = 16


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (size, check, render, explain, diff, schema, codes):
        app.command()(command)


def size(intent: IntentArgument = None, option: IntentOption = None, json: AsJson = False) -> None:
    """Sizing: every number with its formula."""
    from railweave import api
    from railweave.cli.show import print_diagnostics, print_document, print_view
    from railweave.design.document import size_json
    from railweave.report.sizing import sizing_view

    found = api.size(api.open_project(intent or option))
    if json:
        print_document(size_json(found))
        return
    print_view(sizing_view(found))
    print_diagnostics(found.diagnostics)


def check(
    intent: IntentArgument = None,
    option: IntentOption = None,
    yang: Annotated[
        list[Path] | None,
        typer.Option(
            "--yang",
            metavar="DIR",
            help="Validate every CONFIG_DB by the YANG models in DIR too (/usr/local/yang-models of a switch); "
            "repeat it for more releases. Needs the extra railweave[yang].",
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option("--facts", metavar="DIR", help="Compare what live devices were found to run, DIR/NAME.json each."),
    ] = None,
    json: AsJson = False,
) -> int:
    """All diagnostics: code, severity, place, devices and the way out."""
    from railweave import api
    from railweave.cli.show import print_diagnostics, print_document, print_view
    from railweave.report.diagnostics import diagnostics_json, diagnostics_summary

    project = api.open_project(intent or option)
    found = api.check(project, yang=yang or (), facts=facts)
    if json:
        print_document(diagnostics_json(found.diagnostics))
    else:
        print_diagnostics(found.diagnostics, stderr=False)
        print_view(diagnostics_summary(found.diagnostics, str(project.intent)))
    if yang and not json:
        from railweave.report.diagnostics import yang_summary

        switches = found.fabric.switches if found.fabric else ()
        print_view(yang_summary(found.diagnostics, len(switches), [folder.resolve().name for folder in yang]))
    return 0 if found.ok else 1


def render(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; created if missing.")],
    intent: IntentArgument = None,
    option: IntentOption = None,
    hosts: Annotated[
        bool | None, typer.Option("--hosts/--no-hosts", help="Write the GPU nodes; default: up to 1,000 ports.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Every artifact: fabric.json, cables.csv, CONFIG_DB and FRR of each switch, the files of each GPU node."""
    from railweave import api
    from railweave.cli.show import print_diagnostics, print_document, print_view
    from railweave.report.diagnostics import diagnostics_json

    done = api.render(api.open_project(intent or option), out, hosts=hosts)
    if json:
        told = diagnostics_json(done.diagnostics)
        print_document({"out": str(out), "files": done.files, "nodes": done.nodes, **told})
        return
    print_diagnostics(done.diagnostics)
    fabric = done.fabric
    print_view(f"{done.files} files of {len(fabric.switches)} switches and {done.nodes} nodes in {out}")
    if hosts is None and not done.nodes and fabric.hosts:
        print_view(f"the {len(fabric.hosts)} nodes are left out, because they are so many; --hosts writes them")


def explain(
    device: Annotated[str, typer.Argument(help="A switch of the fabric, such as pod1-leaf1.")],
    row: Annotated[str, typer.Argument(help="TABLE, TABLE|key, TABLE|key|field, or a line of FRR.")] = "",
    option: IntentOption = None,
    json: AsJson = False,
) -> None:
    """Why a row is there: the rule, the intent path and the source."""
    from railweave import api
    from railweave.cli.show import print_document, print_view
    from railweave.report.explanation import explanation_json, explanation_view

    found = api.explain(api.open_project(option), device, row)
    if json:
        print_document(explanation_json(found))
    else:
        print_view(explanation_view(found))


def diff(
    base: Annotated[str, typer.Argument(metavar="BASE", help="Git revision of the intent before.")],
    head: Annotated[str, typer.Argument(metavar="HEAD", help="Git revision after; default: the working tree.")] = "",
    option: IntentOption = None,
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print markdown for a pull request.")] = False,
    renumber: Annotated[bool, typer.Option("--renumber", help="Allow existing identities to change.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with status 2 when there are changes.")] = False,
) -> int:
    """Offline: what two git revisions of the intent change on the devices. No device is needed."""
    from railweave import api
    from railweave.cli.planning_view import show_plan

    plan = api.diff(api.open_project(option), base, head, renumber=renumber)
    show_plan(plan, as_json=json, as_markdown=markdown)
    return 2 if exit_code and plan.deltas else 0


def schema(
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="`intent` or a command, such as `rollout list`; none: list them."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page instead.")] = False,
) -> None:
    """The JSON Schema of the intent, for editors that complete it, or of what a command prints with --json."""
    from railweave.cli.show import print_json, print_view
    from railweave.intent.schema import json_schema
    from railweave.report import documents
    from railweave.report.reference import documents_reference, intent_reference

    asked = " ".join(name or ())
    if not asked and not markdown:
        print_view("\n".join(f"{one:{_NAME_WIDTH}} {title}" for one, title in documents.titles().items()))
    elif asked == "intent":
        intent = json_schema()
        print(intent_reference(intent), end="") if markdown else print_json(intent)
    elif asked:
        found = documents.named_schema(asked)
        print(documents_reference([found]), end="") if markdown else print_json(found)
    else:
        print(documents_reference(map(documents.schema, documents.schema_names())), end="")


def codes(json: AsJson = False) -> None:
    """The codes of findings, with the rule that each stands for."""
    from railweave.checks.codes import CATALOG, TITLES
    from railweave.cli.show import print_document
    from railweave.report.reference import codes_reference

    titles = {**CATALOG, **TITLES}
    if json:
        print_document({"codes": titles})
    else:
        print(codes_reference(titles), end="")
