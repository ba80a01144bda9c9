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
    """Design mathematics: every number with its formula."""
    from dataclasses import replace

    from railweave.cli.project import find_intent, gather
    from railweave.cli.show import print_diagnostics, print_document, print_view
    from railweave.design.document import size_json
    from railweave.diagnostics import has_errors
    from railweave.errors import RefusedError
    from railweave.report.sizing import sizing_view

    gathered = gather(find_intent(intent, option))
    if gathered.sizing is None or has_errors(gathered.of_design):
        raise RefusedError(gathered.diagnostics)
    if json:
        print_document(size_json(replace(gathered.sizing, diagnostics=gathered.of_design)))
        return
    print_view(sizing_view(gathered.sizing))
    print_diagnostics(gathered.of_design)


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
    from railweave.cli.facts import fact_diagnostics
    from railweave.cli.project import find_intent, gather, yang_diagnostics
    from railweave.cli.show import print_diagnostics, print_document, print_view
    from railweave.diagnostics import has_errors, in_order
    from railweave.report.diagnostics import diagnostics_json, diagnostics_summary

    path = find_intent(intent, option)
    gathered = gather(path)
    live = fact_diagnostics(gathered, facts) if facts else ()
    found = in_order((*gathered.diagnostics, *yang_diagnostics(gathered, yang or ()), *live))
    if json:
        print_document(diagnostics_json(found))
    else:
        print_diagnostics(found, stderr=False)
        print_view(diagnostics_summary(found, str(path)))
    if yang and not json:
        from railweave.report.yang import yang_summary

        switches = gathered.fabric.switches if gathered.fabric else ()
        print_view(yang_summary(found, len(switches), [folder.resolve().name for folder in yang]))
    return 1 if has_errors(found) else 0


def render(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; made when missing.")],
    intent: IntentArgument = None,
    option: IntentOption = None,
    hosts: Annotated[
        bool | None, typer.Option("--hosts/--no-hosts", help="Write the GPU nodes; default: up to 1,000 ports.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Every artefact: fabric.json, cables.csv, CONFIG_DB and FRR of each switch, the files of each GPU node."""
    from railweave.cli.project import find_intent, load_designed, project_templates
    from railweave.cli.show import print_diagnostics, print_document, print_view
    from railweave.report.artifacts import write_artifacts, writes_hosts
    from railweave.report.diagnostics import diagnostics_json

    designed = load_designed(find_intent(intent, option))
    fabric = designed.fabric
    with_hosts = writes_hosts(fabric) if hosts is None else hosts
    written = write_artifacts(fabric, out, project_templates(), hosts=with_hosts)
    nodes = len(fabric.hosts) if with_hosts else 0
    if json:
        print_document({"out": str(out), "files": written, "nodes": nodes, **diagnostics_json(designed.diagnostics)})
        return
    print_diagnostics(designed.diagnostics)
    print_view(f"{written} files of {len(fabric.switches)} switches and {nodes} nodes in {out}")
    if hosts is None and not with_hosts:
        print_view(f"the {len(fabric.hosts)} nodes are left out, because they are so many; --hosts writes them")


def explain(
    device: Annotated[str, typer.Argument(help="A switch of the fabric, such as pod1-leaf1.")],
    row: Annotated[str, typer.Argument(help="TABLE, TABLE|key, TABLE|key|field, or a line of FRR.")] = "",
    option: IntentOption = None,
    json: AsJson = False,
) -> None:
    """Why a row is there: the rule, the intent path and the source."""
    from railweave.cli.explaining import explanation
    from railweave.cli.project import find_intent, load_designed
    from railweave.cli.show import print_document, print_view
    from railweave.report.explanation import explanation_json, explanation_view

    found = explanation(load_designed(find_intent(None, option)).fabric, device, row)
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
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Leave with 2 when there are changes.")] = False,
) -> int:
    """Offline: what two git revisions of the intent change on the devices. No device is needed."""
    from railweave.cli.comparing import plan_between
    from railweave.cli.planning_view import show_plan
    from railweave.cli.project import find_intent

    plan = plan_between(find_intent(None, option), base, head, renumber=renumber)
    show_plan(plan, as_json=json, as_markdown=markdown)
    return 2 if exit_code and plan.changes else 0


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
    from railweave.checks.codes import CATALOGUE, TITLES
    from railweave.cli.show import print_document
    from railweave.report.reference import codes_reference

    titles = {**CATALOGUE, **TITLES}
    if json:
        print_document({"codes": titles})
    else:
        print(codes_reference(titles), end="")
