"""Commands that need no device: init, size, check, render, explain, diff, phases, models."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import AsJson, ExitCode, IntentArgument, IntentOption, TargetOption, open_compared
from railweave.cli.show import (
    print_design_diagnostics,
    print_diagnostics,
    print_document,
    print_json,
    print_plan,
    print_rehearsals,
    print_result,
    print_text,
    print_view,
)
from railweave.cli.status import EXIT_FAILED, changes_status, exit_status
from railweave.cli.terminal import Terminal
from railweave.errors import RefusedError, UsageError
from railweave.intent.reference import file_of
from railweave.wording import either

if TYPE_CHECKING:
    from railweave.api.design.analysis import Checked
    from railweave.diagnostics import Diagnostic

    CodeHostWriter = Callable[[Iterable[Diagnostic], str], str]

_NAME_WIDTH = 16

Base = Annotated[str, typer.Argument(metavar="BASE", help="The intent before: a git revision or a file.")]
Head = Annotated[
    str, typer.Argument(metavar="HEAD", help="The intent after: a git revision or a file; default: the working tree.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (init, size, check, render, explain, diff, phases, models, schema, codes):
        app.command()(command)


def init(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="A new or empty folder.")] = None,
    template: Annotated[str, typer.Option("--template", metavar="NAME", help="The starter project.")] = "gitops",
    design: Annotated[
        str | None,
        typer.Option(
            "--design", metavar="NAME", help="The reference design to start from.", autocompletion=completion.designs
        ),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, metavar="N", help="GPU nodes of the design; default: as published.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the starter projects and the reference designs, and exit.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="With --list: print the reference page of the designs.")
    ] = False,
) -> None:
    """Create a starter project: intent, inventory and pipelines.

    It is a git repository with a first commit, except inside another one.
    """
    from rich.text import Text

    if listed:
        _list_starters(as_markdown=markdown)
        return
    if folder is None:
        raise UsageError("name a folder: `railweave init DIR`")
    files = api.init(folder, template, design=design, nodes=nodes)
    # As Text: in a str rich would take brackets for its markup.
    print_view(Text("\n".join(f"  {path}" for path in files)))
    print_view(Text(f"git: {api.create_repository(folder).summary}"))
    missing_extra = api.sim.missing_extra()
    if missing_extra:
        print_view(Text(f"note: {missing_extra}"))
    if folder.resolve() == Path.cwd():
        print_view("next: make deploy")
    else:
        print_view(f"next: cd {shlex.quote(str(folder))} && make deploy")


def _list_starters(*, as_markdown: bool) -> None:
    """Print the starter projects and the reference designs, or the reference page of the designs."""
    from railweave.report.comparison import designs_page
    from railweave.report.layout import paragraphs, table

    if as_markdown:
        print(designs_page(api.starter_designs(), api.compare_designs()), end="")
        return
    templates = table("template", "what it is", rows=list(api.starter_templates().items()))
    designs = table("design", "what it is", rows=list(api.starter_designs().items()))
    print_view(paragraphs(templates, designs, "next: railweave init DIR --template NAME, or --design NAME"))


def size(
    intent: IntentArgument = None,
    option: IntentOption = None,
    draw: Annotated[bool, typer.Option("--draw", help="Also draw a stripe: nodes, leaves and spines.")] = False,
    json: AsJson = False,
) -> None:
    """Size the fabric and show how each number was calculated.

    Also shows what still fits, and the next step of growth.
    """
    from railweave.design.document import size_json
    from railweave.report.sizing import sizing_view

    project = api.open_project(intent or option)
    sizing = api.size(project)
    print_result(sizing, size_json, sizing_view, as_json=json)
    if json:
        return
    if draw:
        from railweave.report.drawing import scene_view

        print_view("")
        print_view(scene_view(api.draw(project, of="stripe-0")))
    print_design_diagnostics(sizing.diagnostics, project.intent)


def check(
    intent: IntentArgument = None,
    option: IntentOption = None,
    yang: Annotated[
        list[Path] | None,
        typer.Option(
            "--yang",
            metavar="DIR",
            help="Also validate every CONFIG_DB against the YANG models in DIR (/usr/local/yang-models of a switch); "
            "repeat for more releases. Needs the extra railweave[yang].",
        ),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option("--facts", metavar="DIR", help="Also compare with live settings (`railweave facts collect`)."),
    ] = None,
    form: Annotated[
        str,
        typer.Option("--format", metavar="FORM", help="Print for a code host: `sarif`, `github` or `gitlab`."),
    ] = "",
    json: AsJson = False,
) -> int:
    """Check the intent: all diagnostics with their place and fix."""
    from railweave.report.diagnostics import diagnostics_json

    write_for_host = _code_host_writer(form)
    # --format takes precedence over --json.
    as_json = json and write_for_host is None
    project = api.open_project(intent or option)
    try:
        checked = api.check(project, yang=yang or (), facts=facts)
    except RefusedError as refused:
        if as_json:
            # As the failure of every command: `main` prints its document.
            raise
        _print_check(refused.diagnostics, project.intent, write_for_host)
        return EXIT_FAILED
    if as_json:
        print_document(diagnostics_json(checked.diagnostics))
    else:
        _print_check(checked.diagnostics, project.intent, write_for_host)
        if yang and write_for_host is None:
            _print_yang_summary(checked, yang)
    return exit_status(ok=checked.ok)


def _print_check(diagnostics: "Sequence[Diagnostic]", intent: Path, write_for_host: "CodeHostWriter | None") -> None:
    """Print diagnostics in the form of a code host, or for a person with a summary."""
    from railweave.report.diagnostics import diagnostics_summary

    if write_for_host is not None:
        print_text(write_for_host(diagnostics, str(file_of(intent))), end="")
        return
    # Here diagnostics are the result, not messages beside it.
    print_diagnostics(diagnostics, stderr=False)
    print_view(diagnostics_summary(diagnostics, str(intent)))


def _code_host_writer(form: str) -> "CodeHostWriter | None":
    """Return the writer of diagnostics for a code host, None without one; raises UsageError for an unknown one."""
    if not form:
        return None
    from railweave.report.code_hosts import CODE_HOSTS

    if form not in CODE_HOSTS:
        raise UsageError(f"--format {form}: it is one of {either(CODE_HOSTS)}")
    return CODE_HOSTS[form]


def _print_yang_summary(checked: "Checked", releases: list[Path]) -> None:
    """Print how many CONFIG_DBs were validated against the models of each release; none if the design failed."""
    from railweave.report.diagnostics import yang_summary

    count = 0
    if checked.fabric is not None:
        count = len(checked.fabric.switches)
    print_view(yang_summary(checked.diagnostics, count, [folder.resolve().name for folder in releases]))


def render(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; created if missing.")],
    intent: IntentArgument = None,
    option: IntentOption = None,
    hosts: Annotated[
        bool | None,
        typer.Option("--hosts/--no-hosts", help="Write the files of the GPU nodes; default: up to 1,000 node ports."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Write the configuration of every switch and GPU node to files.

    Also writes fabric.json and cables.csv.
    """
    from railweave.report.diagnostics import diagnostics_json

    project = api.open_project(intent or option)
    rendered = api.render(project, out, hosts=hosts)
    if json:
        counts = {"out": str(out), "files": rendered.files, "nodes": rendered.nodes}
        print_document({**counts, **diagnostics_json(rendered.diagnostics)})
        return
    print_design_diagnostics(rendered.diagnostics, project.intent)
    fabric = rendered.fabric
    print_view(f"{rendered.files} files of {len(fabric.switches)} switches and {rendered.nodes} nodes in {out}")
    # With --no-hosts nobody misses them.
    if hosts is None and not rendered.nodes and fabric.hosts:
        print_view(f"the files of {len(fabric.hosts):,} nodes are left out; --hosts writes them")


def explain(
    device: Annotated[
        str,
        typer.Argument(
            metavar="DEVICE",
            help="A switch of the fabric, such as pod1-leaf1, a code, such as RW108 or AL-5, or acceptance.",
            autocompletion=completion.switches_and_codes,
        ),
    ],
    row: Annotated[
        str,
        typer.Argument(metavar="ROW", help="TABLE, TABLE|key, TABLE|key|field, a line of FRR, or a limit's topic."),
    ] = "",
    option: IntentOption = None,
    json: AsJson = False,
) -> int:
    """Explain a configuration row, or a code of checks and alerts.

    For a row: the rule that made it, its path in the intent, and the source of the rule. For `acceptance TOPIC`: how
    limits of acceptance tests are computed; `acceptance` lists the topics.
    """
    from railweave.report.explanation import explanation_json, explanation_view, rule_json, rule_view

    # Names of switches are host names, in lower case.
    if device[:1].isupper() and device in api.codes():
        print_result(api.explain_rule(device), rule_json, rule_view, as_json=json)
        return 0
    if device[:1].isupper() and device in api.watch_rules():
        from railweave.report.explanation import watch_json, watch_view

        print_result(api.watch_rules()[device], watch_json, watch_view, as_json=json)
        return 0
    # Names of switches have a hyphen.
    if device == "acceptance":
        from railweave.report.explanation import limits_json, limits_view

        print_result(api.explain_limits(row), limits_json, limits_view, as_json=json)
        return 0
    explanation = api.explain(api.open_project(option), device, row)
    print_result(explanation, explanation_json, explanation_view, as_json=json)
    return exit_status(ok=bool(explanation.found))


def diff(
    base: Base,
    head: Head = "",
    option: IntentOption = None,
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print markdown for a pull request.")] = False,
    renumber: Annotated[
        bool, typer.Option("--renumber", help="Allow changes of existing names, AS numbers and addresses.")
    ] = False,
    exit_code: ExitCode = False,
) -> int:
    """Show offline what changes between two revisions of the intent."""
    plan = api.diff(open_compared(option, head), base, head, renumber=renumber)
    print_plan(plan, as_json=json, as_markdown=markdown)
    if not json:
        print_rehearsals(plan, as_markdown=markdown)
    return changes_status(changed=bool(plan.deltas or plan.node_files), reported=exit_code)


def phases(
    base: Base,
    head: Head = "",
    option: IntentOption = None,
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a work order with checkboxes.")] = False,
    target: TargetOption = "sim",
) -> None:
    """Split a change that would disrupt traffic into phases.

    Each phase lists the cables to move. No device is read: --target only appears in the printed commands.
    """
    del target
    from railweave.report.phases import phases_json, phases_view, work_order

    steps = api.phases(open_compared(option, head, Terminal()), base, head)
    if markdown and not json:
        print(work_order(steps, base), end="")
    else:
        print_result(steps, phases_json, partial(phases_view, base=base), as_json=json)


def models(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="One switch model or NIC; default: all.", autocompletion=completion.models
        ),
    ] = "",
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page instead.")] = False,
    file: Annotated[
        bool, typer.Option("--file", help="Print the file of MODEL, to make one of your own from in catalog/.")
    ] = False,
) -> None:
    """List the switch models and NICs of the catalog.

    For each model: ports, speeds, breakouts, lossless cable lengths, and what is missing.
    """
    from railweave.report.models import models_json, models_page, models_view

    if file:
        if not model:
            raise UsageError("name the model whose file to print: `railweave models MODEL --file`")
        print(api.model_file(model), end="")
        return
    capabilities = api.models(model)
    if markdown and not json:
        print(models_page(capabilities), end="")
    else:
        print_result(capabilities, models_json, models_view, as_json=json)


def schema(
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="`intent` or a command, such as `rollout list`; default: list them."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page instead.")] = False,
) -> None:
    """Print the JSON Schema of the intent or of a --json output."""
    schema_name = " ".join(name or ())
    if markdown:
        print(_schema_page(schema_name), end="")
    elif schema_name:
        print_json(api.schema(schema_name))
    else:
        lines = [f"{listed_name:{_NAME_WIDTH}} {title}" for listed_name, title in api.schemas().items()]
        print_view("\n".join(lines))


def _schema_page(name: str) -> str:
    """Return the reference page of one schema, of every command's document for an empty name."""
    from railweave.report.reference import documents_reference, intent_reference

    if name == "intent":
        return intent_reference(api.schema(name))
    if name:
        return documents_reference([api.schema(name)])
    # The intent has a page of its own: people write it, and only read the documents.
    document_names = [schema_name for schema_name in api.schemas() if schema_name != "intent"]
    return documents_reference(map(api.schema, document_names))


def codes(json: AsJson = False) -> None:
    """List the codes of checks, alerts and health with their rules."""
    from railweave.report.reference import codes_json, codes_reference

    if json:
        print_document(codes_json(api.codes(), api.watch_rules()))
    else:
        print(codes_reference(api.codes(), api.watch_rules()), end="")
