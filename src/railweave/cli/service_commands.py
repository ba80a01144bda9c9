"""Commands for people with their hands on hardware."""

from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentOption, TargetOption


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    app.command()(replace)


def replace(
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="The switch to replace, such as pod1-spine2.")],
    serial: Annotated[
        str, typer.Option("--serial", metavar="SERIAL", help="Serial number of the new switch, from its label.")
    ] = "",
    option: IntentOption = None,
    target: TargetOption = "sim",
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a work order with boxes to tick.")] = False,
) -> int:
    """What replacing a switch takes, step by step, and which step is next; nothing is changed."""
    from railweave.cli.project import find_intent
    from railweave.cli.servicing import replacement
    from railweave.cli.show import print_json, print_view
    from railweave.report.work import work_json, work_markdown, work_view

    steps = replacement(find_intent(None, option), target, device, serial)
    title = f"replace {device}" + (f" by the switch with serial number {serial}" if serial else "")
    if json:
        print_json(work_json(title, steps))
    elif markdown:
        print(work_markdown(title, steps), end="")
    else:
        print_view(work_view(title, steps))
    return 0
