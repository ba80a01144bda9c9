"""Which alerts two designs of a fabric have different limits for, or different windows and delays.

The samples of ``thresholds.prom`` are compared, which are what Prometheus evaluates the rules with.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.fabric.model import Fabric
from railweave.fabric.node_metrics import ScrapedMetric
from railweave.telemetry import metrics
from railweave.telemetry.alert_change import AlertChange, LimitChange
from railweave.telemetry.exposition import ThresholdsText
from railweave.telemetry.rules.model import AlertRule
from railweave.telemetry.rules.registry import ALERTS
from railweave.telemetry.thresholds import Thresholds

_AMOUNTS_IN_CONDITIONS = (metrics.SPEED,)
"""Thresholds that some condition compares with; in all other conditions it only matters that they are there."""


class MonitoredFabric(NamedTuple):
    """A design of a fabric with the catalog of its models."""

    fabric: Fabric
    catalog: Catalog


def alert_changes(before: MonitoredFabric, after: MonitoredFabric) -> tuple[AlertChange, ...]:
    """Return a change of all alerts if the interval of scrapes changes, then the changes of each alert by its code.

    An alert with several changed thresholds has a change for each; empty if all alerts stay the same.
    """
    changes = list(_interval_change(before.fabric, after.fabric))
    samples_before = _samples(before)
    samples_after = _samples(after)
    # Most samples are equal, and only the others are taken apart.
    old_values = _values(samples_before - samples_after)
    new_values = _values(samples_after - samples_before)
    for rule in ALERTS:
        for metric in _limits_of(rule):
            change = _change(rule, metric, old_values.get(metric.name, {}), new_values.get(metric.name, {}))
            if change is not None:
                changes.append(change)
    return tuple(changes)


def _interval_change(before: Fabric, after: Fabric) -> Iterator[AlertChange]:
    """Yield the change of all alerts if the interval of scrapes changes, on which their windows and delays depend."""
    old_s = before.policies.telemetry.scrape_s
    new_s = after.policies.telemetry.scrape_s
    if old_s != new_s:
        first = LimitChange("telemetry.scrape_s", str(old_s), str(new_s))
        yield AlertChange(code="", alert="", metric="", changed=len(ALERTS), added=0, removed=0, first=first)


def _samples(design: MonitoredFabric) -> frozenset[str]:
    samples: set[str] = set()
    for text in ThresholdsText(Thresholds(design.fabric, design.catalog)):
        samples.update(text.splitlines())
    return frozenset(samples)


def _values(samples: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the values of samples by the name of their metric, and then by their labels."""
    values: dict[str, dict[str, str]] = {}
    for sample in samples:
        series, _, value = sample.rpartition(" ")
        name, _, labels = series.partition("{")
        values.setdefault(name, {})[labels.rstrip("}")] = value
    return values


def _limits_of(rule: AlertRule) -> Iterator[ScrapedMetric]:
    """Yield the thresholds that the expression of a rule reads."""
    expression = rule.promql(1)
    for metric in metrics.LIMITS:
        if metric.name in expression:
            yield metric


def _change(
    rule: AlertRule, metric: ScrapedMetric, old_values: Mapping[str, str], new_values: Mapping[str, str]
) -> AlertChange | None:
    """Return how a threshold of a rule changes, None if the alert stays the same.

    The values are those of the samples that differ before and after, by their labels.
    """
    with_new_value = sorted(old_values.keys() & new_values.keys())
    added = len(new_values) - len(with_new_value)
    removed = len(old_values) - len(with_new_value)
    changed = with_new_value
    if metric is not rule.limit.metric and metric not in _AMOUNTS_IN_CONDITIONS:
        # The condition selects queues that have such a threshold, whatever its value is.
        changed = []
    if not (changed or added or removed):
        return None
    first_change = None
    if changed:
        labels = changed[0]
        first_change = LimitChange(labels, old_values[labels], new_values[labels])
    return AlertChange(
        code=rule.code,
        alert=rule.name,
        metric=metric.name,
        changed=len(changed),
        added=added,
        removed=removed,
        first=first_change,
    )
