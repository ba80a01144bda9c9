"""Limits of collectives by the bytes that their links carried: all flows wait for the link that the hash loads most.

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
    """Return the outcomes of tests, where collectives are judged by the bytes that their links carried.

    A limit that a hash collision may lower is replaced by one for the collisions that the counters show.
    """
    updated = dict(outcomes)
    for test in index.plan.tests:
        is_collective = test.receiver is None
        if not is_collective or test.round not in tallies:
            continue
        outcome = outcomes[test.id]
        # Where the hash cannot make a collective slower, its limits do not change.
        if not any("sure_share" in measure.limit.inputs for measure in outcome.measures):
            continue
        share = _counted_share(index, tallies[test.round], test.group)
        if share is None:
            continue
        measures = tuple(Measure(_counted_limit(measure.limit, share), measure.value) for measure in outcome.measures)
        status = outcome.status
        if any(measure.failed for measure in measures):
            status = OutcomeStatus.FAILED
        updated[test.id] = outcome._replace(status=status, measures=measures)
    return updated


def _counted_limit(limit: MetricLimit, share: float) -> MetricLimit:
    """Return a limit for ``share``, what the most loaded link let through of line rate, instead of the sure share."""
    sure_share = number(limit.inputs.get("sure_share"))
    if sure_share <= 0:
        return limit
    # What is expected is already divided by the oversubscription.
    ratio = number(limit.inputs.get("ratio")) or 1.0
    counted_share = max(sure_share, min(1.0, share * ratio))
    fail = limit.fail / sure_share * counted_share
    warn = limit.warn / sure_share * counted_share
    inputs = {**limit.inputs, "counted_share": round(counted_share, 4)}
    return replace(limit, fail=fail, warn=warn, inputs=inputs)


def _counted_share(index: PlanIndex, counts: RoundTally, group: Sequence[NicPort]) -> float | None:
    """Return the time that a NIC port of a group needs for its bytes, divided by that of the most loaded link.

    Returns None if a link was not read, or if the ports sent different amounts: then flows did not wait for each other.
    """
    port_times = []
    for link in filter(None, map(index.host_link.get, group)):
        sent_bytes = counts.count(link.lower, CounterMeaning.SENT_BYTES)
        if sent_bytes:
            port_times.append(sent_bytes / link.speed_gbps)
    if len(port_times) < len(group) or min(port_times) < _EVEN * max(port_times):
        return None
    longest_time = max(port_times)
    for places in (index.lower_places, index.upper_places):
        column = counts.column(places, CounterMeaning.SENT_BYTES)
        for link, link_bytes in zip(index.plan.links, column, strict=True):
            if link_bytes is None:
                return None
            if link.nic_port is None:
                longest_time = max(longest_time, link_bytes / link.speed_gbps)
    return max(port_times) / longest_time
