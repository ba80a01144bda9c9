"""The alerts that a change of the intent changes, as lines for its reviewer."""

import re
from collections.abc import Iterator, Sequence

from railweave.telemetry.alert_change import AlertChange, LimitChange
from railweave.wording import compact, counted


def alert_lines(alerts: Sequence[AlertChange]) -> Iterator[str]:
    """Yield a line for each threshold of an alert that has other values, and one for alerts that watch more or less."""
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
    if not change.code:
        return f"all {change.changed} alerts change their windows and delays: {first.labels} {values}"
    thresholds = f"{counted(change.changed, 'threshold')} {change.metric}"
    return f"alert {change.code} {change.alert} changes by {thresholds}{_place(first.labels)} {values}"


def _place(labels: str) -> str:
    """Return where a sample is, to be followed by its values: `, such as pod1-leaf1 Ethernet0 queue 3:`."""
    values = dict(re.findall(r'(\w+)="([^"]*)"', labels))
    words = [values[label] for label in ("device", "port") if label in values]
    if "queue" in values:
        words.append(f"queue {values['queue']}")
    if not words:
        # A threshold of the whole fabric.
        return ":"
    return f", such as {' '.join(words)}:"
