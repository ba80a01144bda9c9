"""Commands for people with their hands on hardware."""

from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentOption, TargetOption


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (replace, retire):
        app.command()(command)


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
    from railweave.api.project import open_project
    from railweave.api.servicing import replacement
    from railweave.cli.show import print_document, print_view
    from railweave.cli.terminal import Terminal
    from railweave.report.work import work_json, work_markdown, work_view

    steps = replacement(open_project(option, Terminal()), target, device, serial)
    title = f"replace {device}" + (f" by the switch with serial number {serial}" if serial else "")
    if json:
        print_document(work_json(title, steps))
    elif markdown:
        print(work_markdown(title, steps), end="")
    else:
        print_view(work_view(title, steps))
    return 0


def retire(
    base: Annotated[str, typer.Argument(metavar="BASE", help="Git revision of the intent that still has them.")],
    head: Annotated[str, typer.Argument(metavar="HEAD", help="Git revision after; default: the working tree.")] = "",
    option: IntentOption = None,
    target: TargetOption = "sim",
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for quiet ports.")] = 5.0,
    json: AsJson = False,
) -> int:
    """Prove that nothing uses the switches that the intent no longer has; nothing is changed."""
    from railweave.api.project import open_project
    from railweave.api.retiring import prove_retirement
    from railweave.cli.show import print_document, print_view
    from railweave.cli.terminal import Terminal
    from railweave.report.retirement import is_proven, retirement_json, retirement_view

    gone, found = prove_retirement(open_project(option, Terminal()), target, base, head, wait)
    if json:
        print_document(retirement_json(gone, found))
    else:
        print_view(retirement_view(gone, found, target))
    return 0 if is_proven(gone, found) else 1
