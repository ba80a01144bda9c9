"""`railweave exporter`: metrics of the switches for Prometheus."""

from pathlib import Path
from typing import Annotated

import typer

from railweave import api
from railweave.cli.options import IntentArgument, IntentOption, TargetOption
from railweave.cli.terminal import Terminal


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command()(exporter)


def exporter(
    intent: IntentArgument = None,
    option: IntentOption = None,
    target: TargetOption = "sim",
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDRESS:PORT", help="Where Prometheus scrapes; port 0 takes a free one.")
    ] = "127.0.0.1:9105",
    interval: Annotated[
        float, typer.Option("--interval", metavar="S", min=1, help="Time between two readings of a switch.")
    ] = 15.0,
    drift: Annotated[
        float, typer.Option("--drift", metavar="S", min=1, help="Time between two comparisons with the intent.")
    ] = 300.0,
    web_config: Annotated[
        Path | None,
        typer.Option("--web-config", metavar="FILE", help="TLS and passwords, as Prometheus' own exporters read them."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Read once, print the metrics of all switches and exit.")
    ] = False,
) -> None:
    """Serve the switches' counters, links and drift to Prometheus.

    Reads in the background and changes nothing. /metrics?device=NAME has the metrics of a switch, /metrics those of the
    exporter. SIGTERM or Ctrl-C ends it with status 0.
    """
    from railweave.cli.show import print_text

    project = api.open_project(intent or option, Terminal(quiet=once))
    options = api.ExporterOptions(listen=listen, interval_s=interval, drift_s=drift, web_config=web_config)
    if once:
        print_text(api.exporter_once(project, target, options), end="")
    else:
        api.serve_exporter(project, target, options)
