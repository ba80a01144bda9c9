"""Unit tests for `promtool test rules`: each alert stays quiet, fires, and resolves, on the example of its rule."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from railweave.export.yaml_text import yaml_text
from railweave.fabric.telemetry import TelemetryPolicy
from railweave.telemetry import metrics
from railweave.telemetry.prometheus import WRITTEN, alert_entry
from railweave.telemetry.rules.model import AlertRule, AlertScope, ExampleSeries
from railweave.telemetry.rules.registry import GROUPS

# Evaluations after a window and a delay are over, so that no edge decides.
_SPARE_SCRAPES = 8

_EXAMPLE: Mapping[str, str] = {
    "device": "leaf1",
    "port": "Ethernet0",
    "queue": "3",
    "priority": "3",
    "pg": "3",
    "cable": "leaf1 Ethernet0",
    "peer": "spine1",
    "peer_port": "Ethernet16",
    "direction": "up",
    "plane": "0",
    "rail": "0",
}


def unit_test_files(policy: TelemetryPolicy) -> dict[str, str]:
    """Return the files of tests by their paths, one for each file of rules."""
    files = {}
    for group, alerts in GROUPS.items():
        document = {
            "rule_files": [f"../rules/{group}.yml"],
            "evaluation_interval": f"{policy.scrape_s}s",
            "tests": [_test(alert, policy) for alert in alerts],
        }
        files[f"tests/{group}.yml"] = WRITTEN + yaml_text(document)
    return files


def _test(alert: AlertRule, policy: TelemetryPolicy) -> Mapping[str, Any]:
    """Return the test of an alert: at the end of a quiet phase, of a firing one, and of a quiet one again."""
    scrape_s = policy.scrape_s
    window_scrapes = ceil(alert.window(scrape_s) / scrape_s)
    # The number of scrapes in each of the three phases.
    phase = window_scrapes + alert.scrapes + _SPARE_SCRAPES
    labels = _labels_of(alert)
    annotations = alert_entry(alert, policy)["annotations"] | {"summary": alert.summary.format_map(labels)}
    firing = {
        "exp_labels": {"rule": alert.code, "severity": alert.severity.value, **labels},
        "exp_annotations": annotations,
    }
    times = [phase * scrape_s, 2 * phase * scrape_s, 3 * phase * scrape_s]
    expected: list[list[Any]] = [[], [firing], []]
    link = ExampleSeries(metrics.LINK, 1, 1)
    return {
        "interval": f"{scrape_s}s",
        "input_series": [_series(series, phase) for series in (link, *alert.example)],
        "alert_rule_test": [
            {"eval_time": f"{time}s", "alertname": alert.name, "exp_alerts": alerts}
            for time, alerts in zip(times, expected, strict=True)
        ],
    }


def _labels_of(alert: AlertRule) -> dict[str, str]:
    """Return the labels of an alert with the values that they have in its example."""
    labels = dict(_EXAMPLE)
    if alert.scope is AlertScope.NIC:
        # The alert has the labels of the link to the node.
        link = next(series for series in alert.example if series.metric is metrics.LINK)
        labels |= link.labels
    return {label: labels[label] for label in alert.labels}


def _series(series: ExampleSeries, phase: int) -> Mapping[str, str]:
    """Return an input series of a test, with values for three phases of ``phase`` scrapes."""
    names = ("device", *series.metric.labels)
    # A value of the whole fabric has no device.
    if series.metric is metrics.FLOOR:
        names = ()
    values = {**_EXAMPLE, **series.labels}
    labels = ",".join(f'{name}="{values[name]}"' for name in names if name in values)
    write = _counter if series.metric.kind == "counter" else _gauge
    return {"series": f"{series.metric}{{{labels}}}", "values": write(series, phase)}


def _gauge(series: ExampleSeries, phase: int) -> str:
    """Return the values of a gauge: good, bad, and good again, each for a phase."""
    good = _number(series.good)
    bad = _number(series.bad)
    return f"{good}+0x{phase} {bad}+0x{phase - 1} {good}+0x{phase - 1}"


def _counter(series: ExampleSeries, phase: int) -> str:
    """Return the values of a counter, to which each scrape adds the good value, the bad one, and the good one again."""
    first_bad = phase * series.good + series.bad
    first_good = first_bad + (phase - 1) * series.bad + series.good
    good = _number(series.good)
    bad = _number(series.bad)
    return f"0+{good}x{phase} {_number(first_bad)}+{bad}x{phase - 1} {_number(first_good)}+{good}x{phase - 1}"


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)
