"""`railweave phases`: a change as a sequence of steps that do not hurt, and the work order for the racks."""

from typing import Annotated

import typer

from railweave.cli.options import AsJson, IntentOption


def register(app: typer.Typer) -> None:
    """Add the command of this module to ``app``."""
    app.command()(phases)


def phases(
    base: Annotated[str, typer.Argument(metavar="BASE", help="The intent that runs: a git revision or a file.")],
    head: Annotated[
        str, typer.Argument(metavar="HEAD", help="The intent to reach; default: the one in the working tree.")
    ] = "",
    option: IntentOption = None,
    json: AsJson = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a work order with boxes to tick.")] = False,
) -> None:
    """Offline: the phases of a change, and which cable moves from which port to which."""
    from railweave.api.phasing import find_phases
    from railweave.api.project import open_project
    from railweave.cli.show import print_document, print_view
    from railweave.cli.terminal import Terminal
    from railweave.report.phases import phases_json, phases_view, work_order

    found = find_phases(open_project(option, Terminal()), base, head).phases
    if json:
        print_document(phases_json(found))
    elif markdown:
        print(work_order(found, base), end="")
    else:
        print_view(phases_view(found, base))
