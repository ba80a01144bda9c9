"""Commands that take traffic off switches and links by hand, and bring it back."""

from typing import TYPE_CHECKING, Annotated

import typer

from railweave.cli.options import AsJson, IntentOption, TargetOption

if TYPE_CHECKING:
    from railweave.api.project import Project

Devices = Annotated[list[str], typer.Argument(metavar="DEVICE...", help="Switches, such as pod1-spine2.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (drain, undrain):
        app.command()(command)


def drain(
    devices: Annotated[
        list[str] | None, typer.Argument(metavar="[DEVICE]...", help="Switches; none: show what is drained.")
    ] = None,
    links: Annotated[
        list[str] | None,
        typer.Option(
            "--links", metavar="PEER|PORT|DEVICE", help="Only these links of one switch; repeat it, or use commas."
        ),
    ] = None,
    wait: Annotated[
        float | None,
        typer.Option("--wait", metavar="SECONDS", min=0, help="Wait for quiet counters; 0: do not."),
    ] = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    several: Annotated[bool, typer.Option("--several", help="More than one switch of a plane at once.")] = False,
    json: AsJson = False,
) -> int:
    """Take traffic off switches (BGP graceful shutdown), wait until they carry nothing; stays until `undrain`."""
    from railweave import api
    from railweave.cli.show import print_document, print_view
    from railweave.cli.terminal import Terminal
    from railweave.report.draining import drain_view, draining_json

    if not devices:
        return _tell_drained(api.open_project(option, Terminal()), target, as_json=json)
    named = tuple(word for text in links or () for word in text.split(",") if word)
    wish = api.DrainWish(tuple(devices), named, wait, several=several)
    results = api.drain(api.open_project(option, Terminal(yes=yes, quiet=json)), target, wish)
    if results is None:
        return 1
    if json:
        print_document(draining_json(results))
    else:
        print_view(drain_view(results, len(set(devices))))
    return 0 if all(one.ok for one in results) else 1


def _tell_drained(project: "Project", target: str, *, as_json: bool) -> int:
    """Print what is drained of the whole fabric."""
    from railweave import api
    from railweave.cli.show import print_document, print_view
    from railweave.report.draining import drained_json, drained_view

    found = api.drained(project, target)
    if as_json:
        print_document(drained_json(found))
    else:
        print_view(drained_view(found))
    return 1 if any(one.error for one in found) else 0


def undrain(
    devices: Devices,
    wait: Annotated[
        float | None, typer.Option("--wait", metavar="SECONDS", min=0, help="For sessions and links to hold.")
    ] = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    json: AsJson = False,
) -> int:
    """Bring the traffic of drained switches and links back, and verify them."""
    from railweave import api
    from railweave.cli.show import print_document, print_view
    from railweave.cli.terminal import Terminal
    from railweave.report.draining import draining_json, undrain_view

    results, verification = api.undrain(api.open_project(option, Terminal()), target, devices, wait)
    if json:
        print_document(draining_json(results, verification))
    else:
        print_view(undrain_view(results, verification))
    return 0 if all(one.ok for one in results) and (verification is None or verification.ok) else 1
