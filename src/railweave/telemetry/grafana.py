"""One dashboard for Grafana: the state of the fabric, its queues against their thresholds, and its links."""

import json
from typing import Any, NamedTuple

from railweave.fabric.model import Fabric
from railweave.telemetry import metrics

_ROWS_HIGH = 8
_COLUMNS = 24
_DEVICE = '{device=~"$device"}'


class DashboardPanel(NamedTuple):
    """A panel of the dashboard; ``legend`` has the labels of a series."""

    title: str
    unit: str
    expression: str
    legend: str


def _rate(metric: object) -> str:
    return f"rate({metric}{_DEVICE}[$__rate_interval])"


_PANELS = (
    DashboardPanel(
        "Firing alerts", "short", 'sum by (alertname) (ALERTS{alertstate="firing",severity!="none"})', "{{alertname}}"
    ),
    DashboardPanel(
        "Switches out of service",
        "short",
        f"max by (device, state) ({metrics.MAINTENANCE}) > 0",
        "{{device}} {{state}}",
    ),
    DashboardPanel("Received", "Bps", f"topk(10, {_rate(metrics.RECEIVED_BYTES)})", "{{device}} {{port}}"),
    DashboardPanel("PFC sent", "pps", f"topk(10, {_rate(metrics.PFC_SENT)})", "{{device}} {{port}} {{priority}}"),
    DashboardPanel("ECN marks", "pps", f"topk(10, {_rate(metrics.ECN_MARKS)})", "{{device}} {{port}} {{queue}}"),
    DashboardPanel(
        "Deepest queues as a share of kmax",
        "percentunit",
        f"topk(10, {metrics.QUEUE_WATERMARK}{_DEVICE} / on (device, port, queue) group_left () {metrics.KMAX})",
        "{{device}} {{port}} {{queue}}",
    ),
    DashboardPanel(
        "Headroom used",
        "percentunit",
        f'topk(10, label_replace({metrics.HEADROOM_WATERMARK}{_DEVICE}, "queue", "$1", "pg", "(.+)")'
        f" / on (device, port, queue) group_left () {metrics.HEADROOM})",
        "{{device}} {{port}} {{pg}}",
    ),
    DashboardPanel(
        "Drops in queues", "pps", f"topk(10, {_rate(metrics.QUEUE_DROPS)})", "{{device}} {{port}} {{queue}}"
    ),
    DashboardPanel(
        "Bit error ratio before FEC", "sci", f"topk(10, {metrics.PRE_FEC_BER}{_DEVICE})", "{{device}} {{port}}"
    ),
    DashboardPanel(
        "Uncorrectable codewords", "short", f"topk(10, {_rate(metrics.UNCORRECTABLE)})", "{{device}} {{port}}"
    ),
    DashboardPanel("Weakest light", "dBm", f"bottomk(10, {metrics.OPTIC_POWER}{_DEVICE})", "{{device}} {{port}}"),
    DashboardPanel("Age of readings", "s", f"topk(10, {metrics.READING_AGE}{_DEVICE})", "{{device}}"),
)


def dashboard_text(fabric: Fabric) -> str:
    """Return the dashboard as JSON, for Grafana's import or provisioning."""
    datasource = {"type": "prometheus", "uid": "${datasource}"}
    query = f"label_values({metrics.DEVICE}, device)"
    document = {
        "uid": f"railweave-{fabric.name}"[:40],
        "title": f"railweave: {fabric.name}",
        "tags": ["railweave"],
        "schemaVersion": 39,
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus"},
                {
                    **{"name": "device", "type": "query", "query": query, "datasource": datasource},
                    **{"multi": True, "includeAll": True, "allValue": ".*", "refresh": 2},
                },
            ]
        },
        "panels": [_panel(panel, number, datasource) for number, panel in enumerate(_PANELS)],
    }
    return json.dumps(document, indent=1) + "\n"


def _panel(panel: DashboardPanel, number: int, datasource: dict[str, str]) -> dict[str, Any]:
    """Return a panel for Grafana by its ``number`` on the page, from 0; there are two in a row."""
    row, column = divmod(number, 2)
    width = _COLUMNS // 2
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": datasource,
        "gridPos": {"h": _ROWS_HIGH, "w": width, "x": column * width, "y": row * _ROWS_HIGH},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [{"refId": "A", "datasource": datasource, "expr": panel.expression, "legendFormat": panel.legend}],
    }


EXPRESSIONS = tuple(panel.expression for panel in _PANELS)
"""The expressions of the panels."""
