"""All files of a fabric's monitoring by their paths, and what they come to."""

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
    # Of thresholds.prom.
    thresholds: int
    # Of switches, if all of them count everything, and of nodes beside node_exporter's own.
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
    """Return the most series that exporters serve: those by queue or priority only of classes that mark."""
    of_switches = sum("port" not in metric.labels for metric in metrics.SCRAPED)
    of_queues = sum(len(metric.labels) > 1 for metric in metrics.SCRAPED)
    of_ports = len(metrics.SCRAPED) - of_switches - of_queues
    series = (of_switches + len(metrics.MAINTENANCE_STATES) - 1) * len(thresholds.switches)
    for entry in thresholds.switches:
        queues = sum(len(port.thresholds.queues) for port in entry.ports)
        series += of_ports * len(entry.ports) + of_queues * queues
    nics = sum(len(host.ports) for host in thresholds.fabric.hosts)
    return series + len(metrics.OF_NODES) * nics
