"""`railweave telemetry`: thresholds, alerts and configurations for the monitoring of a fabric."""

from pathlib import Path
from typing import Annotated

import typer

from railweave import api
from railweave.cli.options import AsJson, IntentArgument, IntentOption, group
from railweave.cli.show import print_document, print_view


def register(app: typer.Typer) -> None:
    """Add ``railweave telemetry …`` to ``app``."""
    telemetry = group(app, "telemetry", "Write thresholds, alerts and dashboards for Prometheus.")
    telemetry.command()(render)


def render(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder of the files.")],
    intent: IntentArgument = None,
    option: IntentOption = None,
    json: AsJson = False,
) -> None:
    """Write thresholds as metrics, alert rules and a dashboard.

    For Prometheus, Alertmanager, gnmic and Grafana.

    Touches no device. Equal intents give equal files, which belong in git beside the intent.
    """
    from railweave.report.telemetry import telemetry_json, telemetry_view

    rendered = api.render_telemetry(api.open_project(intent or option), out)
    if json:
        print_document(telemetry_json(rendered, out))
    else:
        print_view(telemetry_view(rendered, out))
