"""What of an alert two designs of a fabric differ in, as values: plans have them."""

from typing import NamedTuple


class LimitChange(NamedTuple):
    """A sample with another value: its labels as in ``thresholds.prom``, and both values as they are written there."""

    labels: str
    before: str
    after: str


class AlertChange(NamedTuple):
    """An alert that changes by a threshold, or all of them by the interval of scrapes."""

    # The code of the rule; empty for a change of all alerts.
    code: str
    alert: str
    # The metric of the threshold; empty for the interval of scrapes.
    metric: str
    # The numbers of samples with another value, of new ones, and of those that are gone.
    changed: int
    added: int
    removed: int
    # The first sample with another value, None without one.
    first: LimitChange | None = None
