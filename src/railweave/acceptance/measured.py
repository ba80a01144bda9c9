"""The value of a metric in a reading, or why it has none: what the judge compares with a limit."""

import re

from railweave.acceptance.limits.collectives import fit
from railweave.acceptance.model import Metric, PlannedTest
from railweave.acceptance.readings import Answer, Scalar, ToolReading


def measured_value(reading: ToolReading, metric: Metric, test: PlannedTest) -> float | Answer:
    """Return the value of ``metric`` at the planned message size, in the unit of the metric, or why there is none.

    A value with a derived unit counts (perftest before 24.01 writes no unit), a peak does not. A collective has two
    values, out of place and in place, and the slower one counts, without the time of its steps if the reading has
    several sizes. A reading without the planned size is not measured.
    """
    if reading.answer not in {Answer.OK, Answer.AMBIGUOUS}:
        return reading.answer
    # The plan has neither InfiniBand nor READ, whose latency is a whole round trip.
    if reading.values.get("link") == "IB" or reading.values.get("round_trip"):
        return Answer.NOT_MEASURED
    values = _values_at_size(reading, metric, test.message_bytes)
    iperf3_bps = reading.values.get("received_bps", reading.values.get("forward_received_bps"))
    if metric is Metric.BANDWIDTH and isinstance(iperf3_bps, int | float):
        values.append(iperf3_bps / 1e9)
    if not values:
        return Answer.AMBIGUOUS if reading.answer is Answer.AMBIGUOUS else Answer.NOT_MEASURED
    if metric is Metric.BUS_BANDWIDTH:
        return max(min(values), _large_message_bus(reading, test))
    return min(values)


_NAMES = {
    Metric.BANDWIDTH: ("avg_Gbps", "avg_Gbps_per_direction"),
    Metric.LATENCY_P999: ("p999_us",),
    Metric.LATENCY_TYPICAL: ("t_typical_us",),
    Metric.BUS_BANDWIDTH: ("busbw_GBps", "busbw_GBps_oop", "busbw_GBps_ip"),
}
# A collective writes its result out of place, into another buffer, or in place.
_BUFFER_SUFFIXES = ("_oop", "_ip")
_BUS_AT_SIZE = re.compile(r"busbw_GBps_at_(\d+)(_oop|_ip)?")


def _large_message_bus(reading: ToolReading, test: PlannedTest) -> float:
    """Return the bus bandwidth of a collective without the time of its steps, or 0 if it cannot be fitted.

    The limit is for an endless message. In a large group the steps take time even for large messages.
    """
    slowest_at_size: dict[int, float] = {}
    for name, value in reading.values.items():
        match = _BUS_AT_SIZE.fullmatch(name)
        if match is not None and isinstance(value, int | float):
            size = int(match[1])
            slowest_at_size[size] = min(slowest_at_size.get(size, value), value)
    for limit in test.limits:
        if limit.metric is Metric.BUS_BANDWIDTH and {"steps", "factor"} <= limit.inputs.keys():
            fitted = fit(int(limit.inputs["steps"]), float(limit.inputs["factor"]), slowest_at_size)
            return 0.0 if fitted is None else fitted.bus_gigabytes
    return 0.0


def _values_at_size(reading: ToolReading, metric: Metric, size: int) -> list[float]:
    """Return the values of all names of a metric that the reading has at a message size."""
    names = _NAMES.get(metric, ())
    if reading.answer is Answer.AMBIGUOUS:
        # A value for each direction cannot be told from one for both; only the plain average counts.
        names = tuple(name for name in names if name == "avg_Gbps")
    values = []
    for name in names:
        value = _at_size(reading, name, size)
        if value is not None:
            values.append(value)
    return values


def _at_size(reading: ToolReading, name: str, size: int) -> float | None:
    """Return the value of ``name`` at a message size, or None if the reading has none.

    A reading of several sizes has the size in the name: ``busbw_GBps_ip`` is ``busbw_GBps_at_8589934592_ip`` there. A
    reading of one size has the name itself.
    """
    stem = name
    suffix = ""
    for buffer_suffix in _BUFFER_SUFFIXES:
        if name.endswith(buffer_suffix):
            stem = name.removesuffix(buffer_suffix)
            suffix = buffer_suffix
    value: Scalar | None = reading.values.get(f"{stem}_at_{size}{suffix}")
    if value is None and reading.values.get("size") == size:
        value = reading.values.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None
