"""Prometheus' own files: its configuration, the targets with their labels, and the rules."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from railweave.export.yaml_text import yaml_text
from railweave.fabric.model import Fabric
from railweave.fabric.telemetry import TelemetryPolicy
from railweave.telemetry import metrics
from railweave.telemetry.exposition import switch_labels
from railweave.telemetry.rules.model import AlertRule, RecordingRule
from railweave.telemetry.rules.registry import GROUPS, RECORDING
from railweave.telemetry.thresholds import Thresholds

WRITTEN = "# Written by `railweave telemetry render`; change the intent, not this file.\n"
# Series that nobody reads for five minutes end, and thresholds change only with the intent.
_THRESHOLDS_INTERVAL = "2m"


def prometheus_files(thresholds: Thresholds) -> dict[str, str]:
    """Return the configuration, the targets and the rules by their paths."""
    policy = thresholds.fabric.policies.telemetry
    files = {"prometheus.yml": WRITTEN + yaml_text(_configuration(thresholds.fabric, policy))}
    files |= _targets(thresholds, policy)
    for group, alerts in GROUPS.items():
        recording = RECORDING if group == "devices" else ()
        files[f"rules/{group}.yml"] = WRITTEN + yaml_text({"groups": [_group(group, alerts, recording, policy)]})
    return files


def _configuration(fabric: Fabric, policy: TelemetryPolicy) -> Mapping[str, Any]:
    """Return the configuration: intervals, files of rules, Alertmanager, and the jobs that scrape."""
    interval = f"{policy.scrape_s}s"
    return {
        "global": {
            "scrape_interval": interval,
            "scrape_timeout": interval if policy.scrape_s < 10 else "10s",
            "evaluation_interval": interval,
            "external_labels": {"fabric": fabric.name},
        },
        "rule_files": ["rules/*.yml"],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [policy.alertmanager]}]}]},
        "scrape_configs": [_switches_job(), _job("railweave-nodes", "nodes"), _thresholds_job()],
    }


def _job(name: str, targets: str) -> dict[str, Any]:
    return {"job_name": name, "file_sd_configs": [{"files": [f"targets/{targets}.json"]}]}


def _switches_job() -> dict[str, Any]:
    """Return the scrape job that asks the exporter for each switch by itself.

    Samples of any other switch are dropped, so no series exists twice, whatever the exporter serves.
    """
    parameter = f"__param_{metrics.DEVICE_PARAMETER}"
    return {
        **_job("railweave-switches", "switches"),
        # The switch that a request names is also the instance of its series.
        "relabel_configs": [
            {"source_labels": ["device"], "target_label": parameter},
            {"source_labels": ["device"], "target_label": "instance"},
        ],
        # Prometheus keeps the target's `device`, and renames that of a sample to `exported_device`.
        "metric_relabel_configs": [
            {"action": "keepequal", "source_labels": ["exported_device"], "target_label": "device"},
            {"action": "labeldrop", "regex": "exported_device"},
        ],
    }


def _thresholds_job() -> dict[str, Any]:
    """Return the scrape job of the thresholds, which drops all other metrics of node_exporter."""
    return {
        **_job("railweave-thresholds", "thresholds"),
        "honor_labels": True,
        "scrape_interval": _THRESHOLDS_INTERVAL,
        "metric_relabel_configs": [
            {"action": "keep", "source_labels": ["__name__"], "regex": "railweave_.+"},
        ],
    }


def _targets(thresholds: Thresholds, policy: TelemetryPolicy) -> dict[str, str]:
    """Return the files of targets by their paths: switches, nodes, and the textfile with the thresholds."""
    fabric = thresholds.fabric
    switches = []
    for entry in thresholds.switches:
        labels = {"fabric": fabric.name, **switch_labels(entry)}
        switches.append({"targets": [policy.exporter], "labels": labels})
    nodes = []
    for host in fabric.hosts:
        labels = {"fabric": fabric.name, "device": host.name, "role": host.role.value, "stripe": str(host.stripe)}
        pod = fabric.pod_of(host)
        if pod is not None:
            labels["pod"] = str(pod)
        nodes.append({"targets": [f"{host.name}:{policy.node_port}"], "labels": labels})
    textfile = [{"targets": [policy.textfile], "labels": {"fabric": fabric.name}}]
    groups = {"switches": switches, "nodes": nodes, "thresholds": textfile}
    return {f"targets/{name}.json": _json_lines(entries) for name, entries in groups.items()}


def _json_lines(entries: Iterable[Mapping[str, Any]]) -> str:
    """Return a list with an entry a line, so that git shows which target changed."""
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    return f"[\n{lines}\n]\n"


def _group(
    name: str, alerts: Iterable[AlertRule], recording: Iterable[RecordingRule], policy: TelemetryPolicy
) -> Mapping[str, Any]:
    rules: list[Mapping[str, Any]] = [{"record": rule.name, "expr": rule.expression} for rule in recording]
    rules += [alert_entry(alert, policy) for alert in alerts]
    return {"name": f"railweave-{name}", "rules": rules}


def alert_entry(alert: AlertRule, policy: TelemetryPolicy) -> dict[str, Any]:
    """Return an alert rule as Prometheus reads it; its window and its delay follow from the policy's interval."""
    entry: dict[str, Any] = {"alert": alert.name, "expr": alert.promql(policy.scrape_s)}
    if alert.scrapes:
        entry["for"] = f"{alert.scrapes * policy.scrape_s}s"
    entry["labels"] = {"rule": alert.code, "severity": alert.severity.value}
    # Go's templates: {{ $labels.device }}.
    names = {label: f"{{{{ $labels.{label} }}}}" for label in alert.labels}
    entry["annotations"] = {
        "summary": alert.summary.format_map(names),
        "runbook_url": runbook_url(alert.code, policy),
    }
    return entry


def runbook_url(code: str, policy: TelemetryPolicy) -> str:
    """Return the link to the page of a code: a page of the site for a URL, else the file in the repository."""
    ending = "html" if "://" in policy.runbooks else "md"
    return f"{policy.runbooks.rstrip('/')}/{code}.{ending}"
