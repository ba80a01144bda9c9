"""Limits of collectives by what their links carried: a hash that loads one of them most makes all flows wait for it.

The plan knows no hash, so its limits allow the worst that chance leaves (`limits.collisions`). Counters tell how much
the most loaded link between switches carried in the round, beside a NIC port:

    counted_share = (bytes / speed of a NIC port) / (bytes / speed of the link), each of those that take longest

All flows of a collective wait for the slowest, so that all NIC ports send as much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.outcomes import Measure, MeasuredTest, OutcomeStatus, number
from railweave.acceptance.judge.paths import PlanIndex
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.model import MetricLimit, NicPort

# NIC ports of a collective send alike, but for what was sent again and control traffic.
_EVEN = 0.9


def with_counted_limits(
    index: PlanIndex, outcomes: Mapping[str, MeasuredTest], tallies: Mapping[str, RoundTally]
) -> dict[str, MeasuredTest]:
    """Return the outcomes of tests, those of collectives by limits for what their links carried."""
    counted = dict(outcomes)
    for test in index.plan.tests:
        if test.receiver is not None or test.round not in tallies:
            continue
        outcome = outcomes[test.id]
        if not any("sure_share" in measure.limit.inputs for measure in outcome.measures):
            continue
        share = _counted_share(index, tallies[test.round], test.group)
        if share is None:
            continue
        measures = tuple(Measure(_counted_limit(measure.limit, share), measure.value) for measure in outcome.measures)
        status = outcome.status
        if any(measure.failed for measure in measures):
            status = OutcomeStatus.FAILED
        counted[test.id] = outcome._replace(status=status, measures=measures)
    return counted


def _counted_limit(limit: MetricLimit, share: float) -> MetricLimit:
    """Return a limit for the share that the most loaded link let through."""
    sure = number(limit.inputs.get("sure_share"))
    if sure <= 0:
        return limit
    # Where links between switches are the bottleneck, what is expected is divided by it.
    ratio = number(limit.inputs.get("ratio")) or 1.0
    part = max(sure, min(1.0, share * ratio))
    inputs = {**limit.inputs, "counted_share": round(part, 4)}
    return replace(limit, fail=limit.fail / sure * part, warn=limit.warn / sure * part, inputs=inputs)


def _counted_share(index: PlanIndex, counts: RoundTally, group: Sequence[NicPort]) -> float | None:
    """Return the time that a NIC port of a group needs for its bytes over that of the most loaded link.

    None if a link was not read, or if the ports sent different amounts: then flows did not wait for each other.
    """
    times = []
    for link in filter(None, map(index.host_link.get, group)):
        size = counts.count(link.lower, CounterMeaning.SENT_BYTES)
        if size:
            times.append(size / link.speed_gbps)
    if len(times) < len(group) or min(times) < _EVEN * max(times):
        return None
    longest = max(times)
    for places in (index.lower_places, index.upper_places):
        column = counts.column(places, CounterMeaning.SENT_BYTES)
        for link, size in zip(index.plan.links, column, strict=True):
            if size is None:
                return None
            if link.nic_port is None:
                longest = max(longest, size / link.speed_gbps)
    return max(times) / longest
