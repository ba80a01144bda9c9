"""How a fabric is monitored: the ``telemetry:`` of an intent, with its defaults."""

from typing import NamedTuple

from railweave.fabric.counter_groups import CounterPolicy


class TelemetryPolicy(NamedTuple):
    """The keys of ``telemetry:``; each is described in docs/reference/intent.md."""

    # Seconds between two scrapes; windows and delays of alerts are multiples of it.
    scrape_s: int = 15
    # Where Prometheus reaches the exporter, the node_exporter with thresholds.prom, and Alertmanager.
    exporter: str = "localhost:9105"
    textfile: str = "localhost:9100"
    alertmanager: str = "localhost:9093"
    # The port of node_exporter on the nodes.
    node_port: int = 9100
    # Alertmanager posts alerts to this URL; None configures a receiver without integration.
    webhook: str | None = None
    # Begins the links to the runbook pages.
    runbooks: str = "docs/runbooks"
    # What switches count; None without `telemetry:` in the intent, which leaves the switches' rows alone.
    counters: CounterPolicy | None = None
