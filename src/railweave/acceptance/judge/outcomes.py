"""What each planned test yielded: a value beside its limit, or why it did not run."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from railweave.acceptance.measured import measured_value
from railweave.acceptance.model import HIGHER_IS_WORSE, AcceptancePlan, Metric, MetricLimit, PlannedTest, Tool
from railweave.acceptance.readings import Answer, NodeResult, Scalar, ToolReading


class OutcomeStatus(StrEnum):
    """Whether a test met its limits."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not-run"


class Measure(NamedTuple):
    """The value of one metric of a test, beside its limit."""

    limit: MetricLimit
    value: float

    @property
    def failed(self) -> bool:
        """Tell whether the value is beyond what the plan allows."""
        return self._beyond(self.limit.fail)

    @property
    def warned(self) -> bool:
        """Tell whether the value is beyond the bound at which the plan warns."""
        return self._beyond(self.limit.warn)

    def _beyond(self, bound: float) -> bool:
        if self.limit.metric in HIGHER_IS_WORSE:
            return self.value > bound
        return self.value < bound


class MeasuredTest(NamedTuple):
    """What a test yielded."""

    status: OutcomeStatus
    measures: tuple[Measure, ...]
    reading: ToolReading | None
    # Why it did not run, or what is doubtful.
    remark: str = ""
    # Tools of both its nodes started: without a value the network may be why.
    tried: bool = True

    def measure(self, metric: Metric) -> Measure | None:
        """Return the measure of a metric."""
        return next((measure for measure in self.measures if measure.limit.metric is metric), None)


def outcomes(plan: AcceptancePlan, results: Iterable[NodeResult]) -> dict[str, MeasuredTest]:
    """Return the outcome of every planned test by its id; results of tests that are not in the plan are left out."""
    readings_of_tests: dict[str, dict[str, ToolReading]] = {}
    for result in results:
        readings_of_tests.setdefault(result.test, {})[result.node] = result.reading
    receivers_report = any(
        test.receiver is not None and test.receiver.node in readings_of_tests.get(test.id, {}) for test in plan.tests
    )
    measured = {}
    for test in plan.tests:
        readings = readings_of_tests.get(test.id, {})
        outcome = _outcome(test, readings)
        if outcome.status is OutcomeStatus.NOT_RUN:
            outcome = outcome._replace(tried=_has_started(test, readings, receivers_report=receivers_report))
        measured[test.id] = outcome
    return measured


def _has_started(test: PlannedTest, readings: Mapping[str, ToolReading], *, receivers_report: bool) -> bool:
    """Tell whether the tools of a test started, by what they printed.

    Many sites keep only what the sender prints. If ``receivers_report``, a receiver without a report did not start.
    """
    if test.receiver is None:
        # One rank of a collective reports for all.
        return any(reading.format for reading in readings.values())
    nodes = [test.sender.node]
    if receivers_report:
        nodes.append(test.receiver.node)
    return all(node in readings and readings[node].format for node in nodes)


def _outcome(test: PlannedTest, readings: Mapping[str, ToolReading]) -> MeasuredTest:
    """Return the outcome of a test from the readings of its nodes; ``tried`` is left to the caller."""
    reading = readings.get(test.sender.node)
    if test.receiver is None and reading is None:
        # One rank of a collective writes the table, on whichever node it runs.
        reading = next((candidate for candidate in readings.values() if candidate.answer is Answer.OK), None)
    if reading is None:
        return MeasuredTest(OutcomeStatus.NOT_RUN, (), None, f"{test.sender.node} has no result")
    # Wrong data fail a test whatever its bandwidth is.
    if number(reading.values.get("wrong")) > 0:
        return MeasuredTest(OutcomeStatus.FAILED, (), reading, "delivered wrong data")
    mismatch = _mismatch(reading, test)
    if mismatch:
        return MeasuredTest(OutcomeStatus.NOT_RUN, (), reading, mismatch)
    measures: list[Measure] = []
    for limit in test.limits:
        value = measured_value(reading, limit.metric, test)
        if isinstance(value, Answer):
            remark = "; ".join(reading.remarks) or f"{limit.metric} is {value}"
            return MeasuredTest(OutcomeStatus.NOT_RUN, tuple(measures), reading, remark)
        if limit.metric in HIGHER_IS_WORSE and value < limit.expect:
            remark = f"{limit.metric} of {value:g} {limit.unit} is below what light needs, {limit.expect:.3g}"
            return MeasuredTest(OutcomeStatus.NOT_RUN, tuple(measures), reading, remark)
        measures.append(Measure(limit, value))
    status = OutcomeStatus.PASSED
    if any(measure.failed for measure in measures):
        status = OutcomeStatus.FAILED
    return MeasuredTest(status, tuple(measures), reading)


def _mismatch(reading: ToolReading, test: PlannedTest) -> str:
    """Return why a result is not that of the planned test; empty if it is.

    The link, the MTU or the number of queue pairs may differ.
    """
    if reading.values.get("link") == "IB":
        fix = "name the RDMA device of the fabric (`rdma` in the intent)"
        return f"{test.id} ran over InfiniBand, not over RoCE: {fix}"
    if test.tool is not Tool.PERFTEST:
        return ""
    # A number that the reading or the plan does not state is 0.
    mtu = number(reading.values.get("mtu"))
    planned_mtu = max((number(limit.inputs.get("packet_bytes")) for limit in test.limits), default=0.0)
    if mtu and planned_mtu and mtu != planned_mtu:
        fix = "check the MTU of both NICs and the path"
        return f"{test.id} ran with path MTU {mtu:.0f} instead of {planned_mtu:.0f}: {fix}"
    queue_pairs = number(reading.values.get("qps"))
    if queue_pairs and queue_pairs != test.queue_pairs:
        return (
            f"{test.id} ran with {queue_pairs:.0f} queue pairs instead of {test.queue_pairs}: use the planned command"
        )
    return ""


def number(scalar: Scalar | None) -> float:
    """Return a value as a number; 0 if it is a word, a truth value or missing."""
    if isinstance(scalar, int | float) and not isinstance(scalar, bool):
        return float(scalar)
    return 0.0
