"""All files of a fabric's monitoring by their paths, and how many series and alerts they make."""

from collections.abc import Mapping
from typing import NamedTuple

from railweave.telemetry import metrics
from railweave.telemetry.alertmanager import alertmanager_text
from railweave.telemetry.gnmic import gnmic_text
from railweave.telemetry.grafana import dashboard_text
from railweave.telemetry.prometheus import prometheus_files
from railweave.telemetry.thresholds import Thresholds
from railweave.telemetry.unit_tests import unit_test_files


class RenderedTelemetry(NamedTuple):
    """The files of a fabric's monitoring, and how many series Prometheus will hold."""

    fabric: str
    # Bytes by path within the folder.
    files: Mapping[str, int]
    # Series of thresholds.prom.
    thresholds: int
    # Series of switches, if all of them count everything, and those that nodes have beside node_exporter's own.
    scraped: int
    alerts: int
    recording: int


def monitoring_files(thresholds: Thresholds) -> dict[str, str]:
    """Return every file but thresholds.prom by its path within the folder; equal fabrics give equal texts."""
    fabric = thresholds.fabric
    policy = fabric.policies.telemetry
    files = {}
    for path, content in {**prometheus_files(thresholds), **unit_test_files(policy)}.items():
        files[f"prometheus/{path}"] = content
    files["prometheus/alertmanager.yml"] = alertmanager_text(policy)
    files["gnmic.yaml"] = gnmic_text(fabric)
    files["grafana/fabric.json"] = dashboard_text(fabric)
    return files


def scraped_series(thresholds: Thresholds) -> int:
    """Return the most series that the exporter and the nodes serve.

    Queues and priorities count only for traffic classes that mark.
    """
    metrics_of_switches = sum("port" not in metric.labels for metric in metrics.SCRAPED)
    metrics_of_queues = sum(len(metric.labels) > 1 for metric in metrics.SCRAPED)
    metrics_of_ports = len(metrics.SCRAPED) - metrics_of_switches - metrics_of_queues
    # The metric of maintenance has a series for each state.
    series_of_switch = metrics_of_switches - 1 + len(metrics.MAINTENANCE_STATES)
    series = series_of_switch * len(thresholds.switches)
    for entry in thresholds.switches:
        queues = sum(len(port.thresholds.queues) for port in entry.ports)
        series += metrics_of_ports * len(entry.ports) + metrics_of_queues * queues
    nics = sum(len(host.ports) for host in thresholds.fabric.hosts)
    return series + len(metrics.OF_NODES) * nics
