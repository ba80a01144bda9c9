"""Commands that keep watch: what drifts, which host keys are trusted, who deployed what."""

from pathlib import Path
from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentArgument, IntentOption, TargetOption


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (drift, trust, audit):
        app.command()(command)


def drift(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    ignore: Annotated[Path, typer.Option("--ignore", metavar="FILE", help="Agreed exceptions.")] = Path(
        "drift-ignore.yml"
    ),
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print markdown for a pipeline's summary.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with status 2 when there is drift.")] = False,
) -> int:
    """Tell what runs otherwise than the intent says; nothing is changed."""
    from railweave import api
    from railweave.cli.show import print_diagnostics, print_document, print_view
    from railweave.cli.terminal import Terminal
    from railweave.plan.drift import remarks
    from railweave.report.drift import drift_json, drift_markdown, drift_view

    found = api.drift(api.open_project(intent or option, Terminal()), target, ignore=ignore)
    if json:
        print_document(drift_json(found))
    elif markdown:
        print(drift_markdown(found))
    else:
        print_view(drift_view(found))
    if not json:
        print_diagnostics(remarks(found))
    if found.unread:
        return 1
    return 2 if exit_code and found.found else 0


def trust(
    devices: Annotated[list[str] | None, typer.Argument(metavar="[DEVICE]...", help="Default: all.")] = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Record without asking.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Also keys in place of other ones.")] = False,
    json: AsJson = False,
) -> int:
    """Show the devices' host keys and record new ones in the target's known_hosts file."""
    from railweave.api.project import open_project
    from railweave.cli.show import print_document, print_view
    from railweave.cli.trusting import Consent, key_words, run_trust
    from railweave.report.trust import trust_json

    consent = Consent(yes=yes, replace=replace, quiet=json)
    found = run_trust(open_project(option).intent, target, devices or (), consent)
    if json:
        print_document(trust_json(map(key_words, found.keys), str(found.known_hosts), found.recorded))
    elif found.recorded:
        print_view(f"recorded in {found.known_hosts}: {', '.join(found.recorded)}")
    elif found.agreed:
        print_view("nothing to record")
    return 0 if found.ok else 1


def audit(json: AsJson = False) -> None:
    """Print who deployed what from this project, and what came of it."""
    from railweave.api.auditing import read_lines
    from railweave.cli.show import print_document, print_view
    from railweave.report.audit import audit_json, audit_view, read_audit

    log = read_audit(read_lines())
    if json:
        print_document(audit_json(log))
    else:
        print_view(audit_view(log))
