"""Commands of the lab on Containerlab: render, start and stop it."""

import os
from pathlib import Path
from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentArgument, IntentOption

OutFolder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder; default: .railweave/lab/FABRIC.")]


def register(app: typer.Typer) -> None:
    """Add ``railweave lab …`` to ``app``."""
    group = typer.Typer(
        help="The fabric on Containerlab: real FRR, Redis and kernel, or real SONiC images.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for command in (up, down, render):
        group.command()(command)
    app.add_typer(group, name="lab")


def render(
    intent: IntentArgument = None, option: IntentOption = None, out: OutFolder = None, json: AsJson = False
) -> None:
    """Write the Containerlab topology of an intent, scaled down to a lab of its shape where it is too large.

    SONIC_IMAGE names a SONiC image instead of railweave's node image, SONIC_KIND its kind: sonic-vs or sonic-vm.
    """
    from railweave.api.project import open_project
    from railweave.cli.lab_rendering import chosen_image, lab_folder, lab_view, rendered, write_lab
    from railweave.cli.show import print_document, print_view

    made = rendered(open_project(intent or option).intent, chosen_image(os.environ))
    folder = out or lab_folder(made.name)
    write_lab(made, folder)
    if json:
        print_document(made.summary(folder))
    else:
        print_view(lab_view(made, folder))


def up(intent: IntentArgument = None, option: IntentOption = None, json: AsJson = False) -> None:
    """Start the lab of an intent: the whole reserve is cabled, and waits with its ports down."""
    from nornir_railweave.lab.laboratory import start
    from railweave.api.project import open_project
    from railweave.cli.lab_rendering import chosen_image, lab_folder, lab_view, ready_images, rendered, write_lab
    from railweave.cli.show import print_document, print_view

    made = rendered(open_project(intent or option).intent, chosen_image(os.environ))
    made = ready_images(made)
    folder = lab_folder(made.name)
    start(made.folder(folder), lambda: write_lab(made, folder))
    if json:
        print_document(made.summary(folder))
    else:
        print_view(lab_view(made, folder, running=True))


def down(
    intent: IntentArgument = None,
    option: IntentOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Every lab of this project.")] = False,
) -> None:
    """Stop the lab and remove its containers, network and files."""
    from nornir_railweave.lab.laboratory import LabFolder, stop
    from railweave.api.project import STATE
    from railweave.cli.lab_rendering import lab_folder
    from railweave.cli.show import print_view
    from railweave.cli.sim_commands import fabric_name

    folders = sorted((STATE / "lab").glob("*")) if everything else [lab_folder(fabric_name(intent, option))]
    for folder in folders:
        ran = stop(LabFolder(folder, folder.name, {}, own_image=True))
        print_view(f"lab {folder.name}: {'stopped' if ran else 'was not running'}")
