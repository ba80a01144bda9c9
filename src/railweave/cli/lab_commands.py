"""`railweave lab`: render, start and stop the fabric on Containerlab."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from railweave import api
from railweave.cli.options import AsJson, IntentArgument, IntentOption, group
from railweave.cli.show import print_result, print_view
from railweave.wording import command_line, compact

if TYPE_CHECKING:
    from railweave.api.lab import RenderedLab
    from railweave.lab.growth import LabGrowth


def register(app: typer.Typer) -> None:
    """Add ``railweave lab …`` to ``app``."""
    added = group(app, "lab", "The fabric on Containerlab: real FRR, Redis and kernel, or real SONiC images.")
    for command in (up, down, render):
        added.command()(command)


def render(
    intent: IntentArgument = None,
    option: IntentOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder; default: .railweave/lab/FABRIC.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Write the Containerlab topology of an intent; a large fabric is scaled down to a lab of the same shape.

    SONIC_IMAGE names a SONiC image instead of railweave's node image, SONIC_KIND its kind: sonic-vs or sonic-vm.
    """
    made = api.lab.render(api.open_project(intent or option), out)
    print_result(made, _document, lambda made: _view(made, running=False), as_json=json)


def up(
    intent: IntentArgument = None,
    option: IntentOption = None,
    wait: Annotated[
        float | None,
        typer.Option("--wait", metavar="SECONDS", min=1, help="Time to boot; default: 120, of virtual machines 900."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Start the lab of an intent; the whole reserve is cabled, with its ports down.

    A running lab gets what a grown intent adds; nothing that runs is touched or removed. What does not boot in time is
    named with the last lines of its log, and nothing is left running that this command started.
    """
    made = api.lab.up(api.open_project(intent or option), wait=wait)
    print_result(made, _document, lambda made: _view(made, running=True), as_json=json)


def down(
    intent: IntentArgument = None,
    option: IntentOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Stop every lab of this project.")] = False,
) -> None:
    """Stop the lab and remove its containers, network and files."""
    for name, ran in api.lab.down(None if everything else api.open_project(intent or option)).items():
        print_view(f"lab {name}: {'stopped' if ran else 'was not running'}")


def _document(made: "RenderedLab") -> dict[str, Any]:
    return {
        "lab": made.name,
        "folder": str(made.folder),
        "intent": str(made.deploy_intent),
        "image": made.lab.image.name,
        "kind": made.lab.image.kind,
        "transport": made.lab.image.transport,
        "switches": len(made.lab.switches),
        "claimed": made.claimed,
        "hosts": len(made.lab.fabric.hosts),
        "links": len(made.lab.fabric.links),
        "added": [] if made.growth is None else list(made.growth.added),
        "surplus": [] if made.growth is None else list(made.growth.surplus),
        "mapping": [{"what": what, "intent": there, "lab": here} for what, there, here in made.mapping],
    }


def _view(made: "RenderedLab", *, running: bool) -> str:
    lab = made.lab
    lines = [
        f"lab {made.name}: {made.claimed} switches and {len(lab.switches) - made.claimed} more in reserve, "
        f"{len(lab.fabric.hosts)} hosts, {len(lab.fabric.links)} links; image {lab.image.name} ({lab.image.kind})",
        *(f"  {what}: {there} -> {here}" for what, there, here in made.mapping),
    ]
    if made.fitting_reserve:
        lines.append(
            f"scaled down for its reserve alone: for a lab of {made.intent} itself, add `{made.fitting_reserve}` to its"
            " `topology`"
        )
    if made.growth is not None:
        lines += _growth_lines(made.growth)
    if running:
        lines.append(f"next: {command_line('deploy', '--provision', intent=str(made.deploy_intent), target='lab')}")
    else:
        lines.append(f"written to {made.folder}; start it: {command_line('lab', 'up', intent=str(made.intent))}")
    return "\n".join(lines)


def _growth_lines(growth: "LabGrowth") -> list[str]:
    """Say what became of a lab that ran already."""
    if growth.document is None:
        lines = ["it is running with everything that the intent has: nothing was started"]
    else:
        lines = [f"added to the running lab: {compact(growth.added) or 'cables'}"]
    if growth.surplus:
        anew = f"`{command_line('lab', 'down')}` and `{command_line('lab', 'up')}`"
        lines.append(f"running, but no longer in the intent: {compact(growth.surplus)} ({anew} start anew)")
    return lines
