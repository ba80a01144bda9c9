"""What each planned test yielded: a value beside its limit, or why it did not run."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from railweave.acceptance.model import HIGHER_IS_WORSE, AcceptancePlan, Metric, MetricLimit, PlannedTest
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
        """Tell whether the value is beyond where the plan warns."""
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

    @property
    def refused(self) -> bool:
        """Tell whether the tool ran and could not measure; without a file nothing is known."""
        return self.reading is not None and self.reading.answer in (Answer.ERROR, Answer.NOT_MEASURED)

    def measure(self, metric: Metric) -> Measure | None:
        """Return the measure of a metric."""
        return next((measure for measure in self.measures if measure.limit.metric is metric), None)


def outcomes(plan: AcceptancePlan, results: Iterable[NodeResult]) -> dict[str, MeasuredTest]:
    """Return the outcome of every planned test; results of tests that are not in the plan count for nothing."""
    readings: dict[str, dict[str, ToolReading]] = {}
    for result in results:
        readings.setdefault(result.test, {})[result.node] = result.reading
    return {test.id: _outcome(test, readings.get(test.id, {})) for test in plan.tests}


def _outcome(test: PlannedTest, readings: Mapping[str, ToolReading]) -> MeasuredTest:
    reading = readings.get(test.sender.node)
    if test.receiver is None and reading is None:
        # One rank of a collective writes the table, on whichever node it runs.
        reading = next((candidate for candidate in readings.values() if candidate.answer is Answer.OK), None)
    if reading is None:
        return MeasuredTest(OutcomeStatus.NOT_RUN, (), None, f"{test.sender.node} has no result")
    if reading.answer not in (Answer.OK, Answer.AMBIGUOUS) and not _corrupted(reading):
        remark = "; ".join(reading.remarks) or reading.answer.value
        return MeasuredTest(OutcomeStatus.NOT_RUN, (), reading, remark)
    measures: list[Measure] = []
    for limit in test.limits:
        value = _value(test, limit.metric, reading.values)
        if value is None:
            return MeasuredTest(OutcomeStatus.NOT_RUN, tuple(measures), reading, f"no {limit.metric} in its result")
        measures.append(Measure(limit, value))
    status = OutcomeStatus.PASSED
    if _corrupted(reading) or any(measure.failed for measure in measures):
        status = OutcomeStatus.FAILED
    return MeasuredTest(status, tuple(measures), reading)


def _corrupted(reading: ToolReading) -> bool:
    """Tell whether a collective delivered wrong data, which outranks every bandwidth."""
    return number(reading.values.get("wrong")) > 0


def number(scalar: Scalar | None) -> float:
    """Return a value as a number, 0 for a word or nothing."""
    if isinstance(scalar, int | float) and not isinstance(scalar, bool):
        return float(scalar)
    return 0.0


def _value(test: PlannedTest, metric: Metric, values: Mapping[str, Scalar]) -> float | None:
    if metric is Metric.BANDWIDTH:
        return _bandwidth(test, values)
    if metric is Metric.BUS_BANDWIDTH:
        # The slower of both modes and of all cycles: a job is as slow.
        return min(_of_size("busbw_GBps", test, values), default=None)
    names = {Metric.LATENCY_P999: "p999_us", Metric.LATENCY_TYPICAL: "t_typical_us"}
    return _finite(values.get(names.get(metric, "")))


def _bandwidth(test: PlannedTest, values: Mapping[str, Scalar]) -> float | None:
    at_size = _finite(values.get(f"avg_Gbps_at_{test.message_bytes}"))
    if at_size is not None:
        return at_size
    # A result of another message size measures something else.
    if values.get("size", test.message_bytes) != test.message_bytes:
        return None
    for name in ("avg_Gbps", "avg_Gbps_per_direction"):
        value = _finite(values.get(name))
        if value is not None:
            return value
    received = _finite(values.get("received_bps"))
    if received is None:
        return None
    return received / 1e9


def _of_size(prefix: str, test: PlannedTest, values: Mapping[str, Scalar]) -> Iterator[float]:
    size = _finite(values.get("size"))
    for name, scalar in values.items():
        if not name.startswith(prefix):
            continue
        is_of_size = f"_at_{test.message_bytes}" in f"{name}_" if "_at_" in name else size in (None, test.message_bytes)
        value = _finite(scalar)
        if is_of_size and value is not None:
            yield value


def _finite(scalar: Scalar | None) -> float | None:
    if isinstance(scalar, bool) or not isinstance(scalar, int | float):
        return None
    return float(scalar)
