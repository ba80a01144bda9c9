"""One dashboard for Grafana: the state of the fabric, its queues against their thresholds, and its links."""

import json
from typing import Any

from railweave.fabric.model import Fabric
from railweave.telemetry import metrics

_ROWS_HIGH = 8
_COLUMNS = 24
_DEVICE = '{device=~"$device"}'


def _rate(metric: object) -> str:
    return f"rate({metric}{_DEVICE}[$__rate_interval])"


_PANELS: tuple[tuple[str, str, str, str], ...] = (
    # Title, unit, expression, legend.
    ("Firing alerts", "short", 'sum by (alertname) (ALERTS{alertstate="firing",severity!="none"})', "{{alertname}}"),
    ("Switches out of service", "short", f"max by (device, state) ({metrics.MAINTENANCE}) > 0", "{{device}} {{state}}"),
    ("Received", "Bps", f"topk(10, {_rate(metrics.RECEIVED_BYTES)})", "{{device}} {{port}}"),
    ("PFC sent", "pps", f"topk(10, {_rate(metrics.PFC_SENT)})", "{{device}} {{port}} {{priority}}"),
    ("ECN marks", "pps", f"topk(10, {_rate(metrics.ECN_MARKS)})", "{{device}} {{port}} {{queue}}"),
    (
        "Deepest queues as a share of kmax",
        "percentunit",
        f"topk(10, {metrics.QUEUE_WATERMARK}{_DEVICE} / on (device, port, queue) group_left () {metrics.KMAX})",
        "{{device}} {{port}} {{queue}}",
    ),
    (
        "Headroom used",
        "percentunit",
        f'topk(10, label_replace({metrics.HEADROOM_WATERMARK}{_DEVICE}, "queue", "$1", "pg", "(.+)")'
        f" / on (device, port, queue) group_left () {metrics.HEADROOM})",
        "{{device}} {{port}} {{pg}}",
    ),
    ("Drops in queues", "pps", f"topk(10, {_rate(metrics.QUEUE_DROPS)})", "{{device}} {{port}} {{queue}}"),
    ("Bit error ratio before FEC", "sci", f"topk(10, {metrics.PRE_FEC_BER}{_DEVICE})", "{{device}} {{port}}"),
    ("Uncorrectable codewords", "short", f"topk(10, {_rate(metrics.UNCORRECTABLE)})", "{{device}} {{port}}"),
    ("Weakest light", "dBm", f"bottomk(10, {metrics.OPTIC_POWER}{_DEVICE})", "{{device}} {{port}}"),
    ("Age of readings", "s", f"topk(10, {metrics.READING_AGE}{_DEVICE})", "{{device}}"),
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
        "panels": [_panel(number, datasource) for number in range(len(_PANELS))],
    }
    return json.dumps(document, indent=1) + "\n"


def _panel(number: int, datasource: dict[str, str]) -> dict[str, Any]:
    title, unit, expression, legend = _PANELS[number]
    width = _COLUMNS // 2
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": datasource,
        "gridPos": {"h": _ROWS_HIGH, "w": width, "x": number % 2 * width, "y": number // 2 * _ROWS_HIGH},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [{"refId": "A", "datasource": datasource, "expr": expression, "legendFormat": legend}],
    }


EXPRESSIONS = tuple(expression for _, _, expression, _ in _PANELS)
"""The expressions of the panels."""
