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
    extent = [change for change in alerts if change.added or change.removed]
    if extent:
        yield _extent_line(extent)


def _extent_line(extent: Sequence[AlertChange]) -> str:
    codes = compact(dict.fromkeys(change.code for change in extent))
    # Alerts share thresholds.
    counts = {change.metric: (change.added, change.removed) for change in extent}
    added = sum(more for more, _ in counts.values())
    removed = sum(fewer for _, fewer in counts.values())
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
