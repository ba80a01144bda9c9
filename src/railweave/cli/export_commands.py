"""The command that hands a fabric on: export."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import AsJson, IntentArgument, IntentOption
from railweave.cli.show import print_diagnostics, print_document, print_note, print_text, print_view
from railweave.cli.status import exit_status
from railweave.diagnostics import Diagnostic, has_errors
from railweave.errors import UsageError
from railweave.intent.reference import names_intent
from railweave.wording import command_line

if TYPE_CHECKING:
    from railweave.export.model import Exported


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    app.command()(export)


def export(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="A format of `export --list`, or `all`.",
            autocompletion=completion.export_formats,
        ),
    ] = "",
    intent: IntentArgument = None,
    option: IntentOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="PATH", help="File to write, a folder for `all`; default: print it."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the formats, and exit.")] = False,
    check: Annotated[
        Path | None,
        typer.Option("--check", metavar="FILE", help="Compare what a consumer has with the intent; write nothing."),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Leave out drained and failed switches of the target (--target).")
    ] = False,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            envvar="RAILWEAVE_TARGET",
            metavar="TARGET",
            help="With --live: the target, inventory/TARGET.yml.",
            autocompletion=completion.targets,
        ),
    ] = "",
    label_keys: Annotated[
        list[str] | None,
        typer.Option(
            "--label-key",
            metavar="KEY",
            help="Key of node labels, with `{tier}` in it or once for each tier from the nodes up; "
            "default: fabric.topograph.run/tier-{tier}.",
        ),
    ] = None,
    suffix: Annotated[
        str, typer.Option("--node-suffix", metavar="TEXT", help="Behind the names of nodes: `.cluster.example`.")
    ] = "",
    namespace: Annotated[
        str, typer.Option("--namespace", metavar="NAME", help="Namespace of custom resources.")
    ] = "nvidia-network-operator",
    release: Annotated[
        str, typer.Option("--release", metavar="RELEASE", help="Release of the network operator: 26.1 to 26.10.")
    ] = "26.10",
    zone: Annotated[str, typer.Option("--zone", metavar="NAME", help="DNS zone; default: FABRIC.internal.")] = "",
    serial: Annotated[int, typer.Option("--serial", metavar="N", help="Serial number of the DNS zone.")] = 1,
    json: AsJson = False,
) -> int:
    """Write the topology for schedulers, operators and inventories.

    Slurm, Kubernetes, Kueue, Volcano, topograph, NVIDIA's network operator, Ansible and DNS.
    """
    from railweave.export.model import LABEL_KEY, ExportOptions

    if listed:
        _print_formats(as_json=json)
        return 0
    if check is not None and names_intent(kind):
        # With --check the first argument may be the intent: the format follows from the content of the file.
        intent = intent or Path(kind)
    _check_options(kind, check, out, live=live, target=target)
    options = ExportOptions(
        label_keys=tuple(label_keys or (LABEL_KEY,)),
        node_suffix=suffix,
        namespace=namespace,
        release=release,
        zone=zone,
        serial=serial,
    )
    project = api.open_project(intent or option)
    live_target = target if live else ""
    if check is not None:
        differences = api.check_export(project, check, options=options, live=live_target)
        return _print_differences(differences, check, as_json=json)
    exported = api.export(project, kind, out=out, options=options, live=live_target)
    _print_exported(exported, kind, out, as_json=json)
    return 0


def _check_options(kind: str, check: Path | None, out: Path | None, *, live: bool, target: str) -> None:
    """Raise UsageError for options that do not go together."""
    if live and not target:
        raise UsageError("--live reads switches: name their target with --target")
    if check is not None:
        if out is not None:
            raise UsageError("--check writes nothing: leave out --out")
        return
    if not kind:
        listing = command_line("export", "--list")
        raise UsageError(f"name a format: `{command_line('export', 'FORMAT')}`; `{listing}` lists them")
    if kind == "all" and out is None:
        raise UsageError("`all` writes several files: name a folder with --out")


def _print_differences(differences: "Sequence[Diagnostic]", file: Path, *, as_json: bool) -> int:
    """Print how a consumer's file differs from the intent, and return the exit status."""
    from railweave.report.diagnostics import diagnostics_json, diagnostics_summary

    if as_json:
        print_document(diagnostics_json(differences))
    else:
        print_diagnostics(differences, stderr=False)
        print_view(diagnostics_summary(differences, str(file)))
    return exit_status(ok=not has_errors(differences))


def _print_formats(*, as_json: bool) -> None:
    from railweave.report.layout import table

    formats = api.export_formats()
    if as_json:
        print_document({"formats": [{"name": name, "title": title} for name, title in formats.items()]})
    else:
        print_view(table("format", "what it is", rows=list(formats.items())))


def _print_exported(exported: "Exported", kind: str, out: Path | None, *, as_json: bool) -> None:
    """Print what was written to ``out``, or without it the content of the only file."""
    from railweave.report.export import exported_json, exported_lines

    if as_json:
        print_document(exported_json(exported, out))
        return
    for line in exported.warnings:
        print_note(line)
    if out is None:
        # The content of the one file, for a pipe to the consumer: `all` needs --out.
        ((_, text),) = exported.files.values()
        print_text(text, end="")
        return
    for line in exported_lines(exported, kind, out):
        print_view(line)
