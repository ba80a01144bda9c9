"""The alerts that a change of the intent changes, as lines for its reviewer."""

import re
from collections.abc import Iterator, Sequence

from railweave.telemetry.alert_change import AlertChange, LimitChange
from railweave.wording import compact, counted


def alert_lines(alerts: Sequence[AlertChange]) -> Iterator[str]:
    """Yield a line for each threshold whose values change, then one for the alerts that gain or lose thresholds."""
    for change in alerts:
        if change.first is not None:
            yield _changed_line(change, change.first)
    extent_changes = [change for change in alerts if change.added or change.removed]
    if extent_changes:
        yield _extent_line(extent_changes)


def _extent_line(changes: Sequence[AlertChange]) -> str:
    """Return how many thresholds alerts gain and lose because they watch other ports or switches."""
    codes = compact(dict.fromkeys(change.code for change in changes))
    # Alerts of one metric share its thresholds, which count once.
    by_metric = {change.metric: change for change in changes}
    added = sum(change.added for change in by_metric.values())
    removed = sum(change.removed for change in by_metric.values())
    return f"alerts {codes} watch other ports or switches: {added:,} new thresholds, {removed:,} removed"


def _changed_line(change: AlertChange, first: LimitChange) -> str:
    values = f"{first.before} → {first.after}"
    # Only the interval of scrapes changes all alerts: such a change has no code.
    if not change.code:
        return f"all {change.changed} alerts change their windows and delays: {first.labels} {values}"
    thresholds = f"{counted(change.changed, 'threshold')} {change.metric}"
    return f"alert {change.code} {change.alert} changes by {thresholds}{_place(first.labels)} {values}"


def _place(labels: str) -> str:
    """Return the place that the labels of a sample name, such as ``, such as pod1-leaf1 Ethernet0 queue 3:``.

    The values of the sample follow it in the line. A threshold of the whole fabric has no place, only the colon.
    """
    value_of = dict(re.findall(r'(\w+)="([^"]*)"', labels))
    parts = [value_of[label] for label in ("device", "port") if label in value_of]
    if "queue" in value_of:
        parts.append(f"queue {value_of['queue']}")
    if not parts:
        return ":"
    return f", such as {' '.join(parts)}:"
