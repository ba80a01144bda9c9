"""Commands that weigh a design: bom, compare, failures."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave import api
from railweave.cli import completion
from railweave.cli.options import AsJson, IntentArgument, IntentOption
from railweave.cli.show import print_document, print_result, print_view
from railweave.errors import UsageError

if TYPE_CHECKING:
    from railweave.bom.bill import Bill
    from railweave.bom.phases import BomPhase
    from railweave.comparison.suggestions import Suggested


def register(app: typer.Typer) -> None:
    """Add the commands of this module to ``app``."""
    for command in (bom, compare, failures):
        app.command()(command)


Against = Annotated[
    str,
    typer.Option("--against", metavar="BASE", help="Only the additional parts compared with a revision or file."),
]
Prices = Annotated[
    Path | None, typer.Option("--prices", metavar="FILE", help="YAML with `currency`, `prices` by part, and more.")
]
Spares = Annotated[
    list[str] | None,
    typer.Option(
        "--spares",
        metavar="RULE",
        help="Spares: percent of every part (2), of a kind (module=5), or pieces of each (switch=+1); repeat it.",
    ),
]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Also write the parts into FILE, for spreadsheets.")
]
Workbook = Annotated[
    Path | None,
    typer.Option("--xlsx", metavar="FILE", help="Also write a workbook: parts with price formulas, trays, bundles."),
]
Labels = Annotated[
    Path | None,
    typer.Option("--labels", metavar="FILE", help="Also write labels of all cable ends: a page .html, or .csv."),
]


def bom(
    intent: IntentArgument = None,
    option: IntentOption = None,
    against: Against = "",
    prices: Prices = None,
    spares: Spares = None,
    phases: Annotated[
        bool, typer.Option("--phases", help="Parts to order today, for the stated growth, and for a full fabric.")
    ] = False,
    csv: CsvFile = None,
    xlsx: Workbook = None,
    labels: Labels = None,
    json: AsJson = False,
) -> None:
    """List what to buy: switches, NICs, optics, cables and fibers."""
    from railweave.report.bom import write_csv
    from railweave.report.labels import write_labels
    from railweave.report.workbook import write_workbook

    project = api.open_project(intent or option)
    if phases and against:
        raise UsageError("--phases and --against exclude each other: phases compare each with the one before")
    spare_rules = spares or ()
    bill = api.bom(project, against=against, prices=prices, spares=spare_rules)
    orders: Sequence[BomPhase] = ()
    if phases:
        orders = api.bom_phases(project, prices=prices, spares=spare_rules)
    if csv is not None:
        write_csv(bill, csv)
    if xlsx is not None:
        write_workbook(bill, xlsx, orders)
    if labels is not None:
        write_labels(api.cable_labels(project), bill.fabric, labels)
    _print_bill(bill, orders, as_json=json)


def _print_bill(bill: "Bill", orders: "Sequence[BomPhase]", *, as_json: bool) -> None:
    from railweave.report.bom import bom_json, bom_view, phases_view

    if as_json:
        print_document(bom_json(bill, phases=orders))
    elif orders:
        print_view(phases_view(bill, phases=orders))
    else:
        print_view(bom_view(bill))


_MOST = 4
"""Designs that --suggest shows."""
_MOST_WITH_NICS = 8
_DEFAULT_ORDER = "switches"


def compare(
    intents: Annotated[
        list[Path],
        typer.Argument(
            metavar="INTENT...",
            help="Two intent files or more, or one with --suggest.",
            autocompletion=completion.intents,
        ),
    ],
    prices: Prices = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write the comparison as a page for browsers.")
    ] = None,
    suggest: Annotated[
        bool,
        typer.Option("--suggest", help="Also show other designs for its nodes: shapes, models, planes."),
    ] = False,
    order: Annotated[
        str,
        typer.Option(
            "--order", metavar="ORDER", help="With --suggest: least `switches` (default), `cost` or `power` first."
        ),
    ] = "",
    nics: Annotated[
        bool,
        typer.Option("--nics", help="With --suggest: one design for each NIC choice that suits the workload."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="With --suggest: write the designs' intents."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Compare designs side by side: sizes, parts, failures and cost."""
    from railweave.report.comparison import comparison_json, comparison_view

    if suggest:
        if len(intents) != 1 or html:
            raise UsageError("--suggest takes one intent and no --html: compare what --out writes")
        suggested = _suggest(intents[0], out, nics=nics, order=order or _DEFAULT_ORDER, prices=prices)
        _print_suggested(suggested, out, as_json=json)
        return
    if out is not None or nics or order:
        raise UsageError("--out, --nics and --order are for --suggest")
    comparison = api.compare([api.open_project(intent) for intent in intents], prices=prices, html=html)
    print_result(comparison, comparison_json, comparison_view, as_json=json)


def _suggest(intent: Path, out: Path | None, *, nics: bool, order: str, prices: Path | None) -> "Suggested":
    """Return suggested designs for the nodes of an intent; writes their intents to ``out`` if it is given."""
    most = _MOST
    if nics:
        most = _MOST_WITH_NICS
    return api.suggest(api.open_project(intent), out=out, nics=nics, order=order, prices=prices, most=most)


def _print_suggested(suggested: "Suggested", out: Path | None, *, as_json: bool) -> None:
    """Print designs side by side, the reasons for each, and the files that were written."""
    from railweave.report.comparison import comparison_view
    from railweave.report.suggestions import suggested_json, suggested_lines

    if as_json:
        print_document(suggested_json(suggested))
        return
    print_view(comparison_view(suggested.comparison))
    print_view(suggested_lines(suggested))
    if out is not None and suggested.texts:
        print_view("\n".join(f"  {out / name}" for name in suggested.texts))


def failures(
    intent: IntentArgument = None,
    option: IntentOption = None,
    every: Annotated[bool, typer.Option("--all", help="Show every class of pairs, not only the worst.")] = False,
    rates: Annotated[
        Path | None,
        typer.Option(
            "--rates", metavar="FILE", help="YAML with failure `rates` by kind: show the expected loss over a year."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Show the impact of every single and double failure.

    Failures of links, switches, planes and pods.
    """
    from railweave.report.failures import failures_json, failures_view

    project = api.open_project(intent or option)
    analyzed = api.failures(project)
    over_a_year = None
    if rates is not None:
        over_a_year = api.availability(project, analyzed, rates)
    print_result(
        analyzed,
        partial(failures_json, over_a_year=over_a_year),
        partial(failures_view, every=every, over_a_year=over_a_year),
        as_json=json,
    )
