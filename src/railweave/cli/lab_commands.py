"""`railweave lab`: render, start and stop the fabric on Containerlab."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from railweave import api
from railweave.cli.options import AsJson, IntentArgument, IntentOption, group
from railweave.cli.show import print_result, print_view, stop_result
from railweave.wording import command_line, compact

if TYPE_CHECKING:
    from railweave.api.lab import RenderedLab
    from railweave.lab.growth import LabGrowth


def register(app: typer.Typer) -> None:
    """Add ``railweave lab …`` to ``app``."""
    lab = group(app, "lab", "Run the fabric on Containerlab: real FRR, or SONiC images.")
    for command in (up, down, render):
        lab.command()(command)


def render(
    intent: IntentArgument = None,
    option: IntentOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder; default: .railweave/lab/FABRIC.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Write the Containerlab topology of an intent.

    A large fabric is scaled down to a lab of the same shape. SONIC_IMAGE names a SONiC image to run instead of
    railweave's node image, and SONIC_KIND its kind: sonic-vs or sonic-vm.
    """
    rendered = api.lab.render(api.open_project(intent or option), out)
    print_result(rendered, _document, partial(_view, running=False), as_json=json)


def up(
    intent: IntentArgument = None,
    option: IntentOption = None,
    wait: Annotated[
        float | None,
        typer.Option("--wait", metavar="SECONDS", min=1, help="Time to boot; default: 120, of virtual machines 900."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Start the lab; the whole reserve is cabled, with its ports down.

    A running lab gets what a grown intent adds; running nodes are not touched or removed. If a node does not boot in
    time, the command shows the last lines of its log and stops everything it started.
    """
    started = api.lab.up(api.open_project(intent or option), wait=wait)
    print_result(started, _document, partial(_view, running=True), as_json=json)


def down(
    intent: IntentArgument = None,
    option: IntentOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Stop every lab of this project.")] = False,
) -> None:
    """Stop the lab and remove its containers, network and files."""
    project = None
    if not everything:
        project = api.open_project(intent or option)
    for name, was_running in api.lab.down(project).items():
        print_view(f"lab {name}: {stop_result(was_running=was_running)}")


def _document(rendered: "RenderedLab") -> dict[str, Any]:
    """Return a lab as ``--json`` prints it."""
    lab = rendered.lab
    added: list[str] = []
    surplus: list[str] = []
    # Only a lab that was running already can grow.
    if rendered.growth is not None:
        added += rendered.growth.added
        surplus += rendered.growth.surplus
    return {
        "lab": rendered.name,
        "folder": str(rendered.folder),
        "intent": str(rendered.deploy_intent),
        "image": lab.image.name,
        "kind": lab.image.kind,
        "transport": lab.image.transport,
        "switches": len(lab.switches),
        "claimed": rendered.claimed,
        "hosts": len(lab.fabric.hosts),
        "links": len(lab.fabric.links),
        "added": added,
        "surplus": surplus,
        "mapping": [{"what": what, "intent": in_intent, "lab": in_lab} for what, in_intent, in_lab in rendered.mapping],
    }


def _view(rendered: "RenderedLab", *, running: bool) -> str:
    """Return the size of a lab, its mapping to the intent, and the next command."""
    lab = rendered.lab
    reserve = len(lab.switches) - rendered.claimed
    lines = [
        f"lab {rendered.name}: {rendered.claimed} switches and {reserve} more in reserve, "
        f"{len(lab.fabric.hosts)} nodes, {len(lab.fabric.links)} links; image {lab.image.name} ({lab.image.kind})"
    ]
    lines += [f"  {what}: {in_intent} -> {in_lab}" for what, in_intent, in_lab in rendered.mapping]
    if rendered.fitting_reserve:
        lines.append(
            f"scaled down for its reserve alone: for a lab of {rendered.intent} itself, "
            f"add `{rendered.fitting_reserve}` to its `topology`"
        )
    if rendered.growth is not None:
        lines += _growth_lines(rendered.growth)
    if running:
        deploy = command_line("deploy", "--provision", intent=str(rendered.deploy_intent), target="lab")
        lines.append(f"next: {deploy}")
    else:
        lab_up = command_line("lab", "up", intent=str(rendered.intent))
        lines.append(f"written to {rendered.folder}; start it: {lab_up}")
    return "\n".join(lines)


def _growth_lines(growth: "LabGrowth") -> list[str]:
    """Return what was added to a lab that was running, and what is running there but no longer in the intent."""
    if growth.document is None:
        lines = ["it is running with everything that the intent has: nothing was started"]
    else:
        lines = [f"added to the running lab: {compact(growth.added) or 'cables'}"]
    if growth.surplus:
        restart = f"`{command_line('lab', 'down')}` and `{command_line('lab', 'up')}`"
        lines.append(f"running, but no longer in the intent: {compact(growth.surplus)} ({restart} start anew)")
    return lines
