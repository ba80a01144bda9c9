"""The value of a metric in a reading, or why it has none: what the judge compares with a limit."""

import re

from railweave.acceptance.limits.collectives import fit
from railweave.acceptance.model import Metric, PlannedTest
from railweave.acceptance.readings import Answer, Scalar, ToolReading


def measured_value(reading: ToolReading, metric: Metric, test: PlannedTest) -> float | Answer:
    """Return the value of ``metric`` at the planned message size, in the unit of the metric, or the answer instead.

    A derived unit counts (perftest before 24.01 writes none), a peak never; of a collective the slower of both places
    counts, without the time of its steps where several sizes show it. A reading of another size than planned did not
    measure the test.
    """
    if reading.answer not in {Answer.OK, Answer.AMBIGUOUS}:
        return reading.answer
    # InfiniBand, and READ with its whole round trips, are other tests than the planned one.
    if reading.values.get("link") == "IB" or reading.values.get("round_trip"):
        return Answer.NOT_MEASURED
    # Of an ambiguous file both directions may be in the value, or one.
    names = [name for name in _NAMES.get(metric, ()) if reading.answer is Answer.OK or name == "avg_Gbps"]
    values = [_at_size(reading, name, test.message_bytes) for name in names]
    measured = [value for value in values if value is not None]
    rate = reading.values.get("received_bps", reading.values.get("forward_received_bps"))
    if metric is Metric.BANDWIDTH and isinstance(rate, int | float):
        measured.append(rate / 1e9)
    if measured and metric is Metric.BUS_BANDWIDTH:
        return max(min(measured), _large_message_bus(reading, test))
    if measured:
        return min(measured)
    if reading.answer is Answer.AMBIGUOUS:
        return Answer.AMBIGUOUS
    return Answer.NOT_MEASURED


_NAMES = {
    Metric.BANDWIDTH: ("avg_Gbps", "avg_Gbps_per_direction"),
    Metric.LATENCY_P999: ("p999_us",),
    Metric.LATENCY_TYPICAL: ("t_typical_us",),
    Metric.BUS_BANDWIDTH: ("busbw_GBps", "busbw_GBps_oop", "busbw_GBps_ip"),
}
_PLACES = ("_oop", "_ip")
_BUS_AT_SIZE = re.compile(r"busbw_GBps_at_(\d+)(_oop|_ip)?")


def _large_message_bus(reading: ToolReading, test: PlannedTest) -> float:
    """Return the bus bandwidth without the time of the steps of a collective, 0 where it does not follow.

    The limit is that of an endless message; in a large group the steps count for large messages, too.
    """
    slower_place: dict[int, float] = {}
    for name, value in reading.values.items():
        at_size = _BUS_AT_SIZE.fullmatch(name)
        if at_size is not None and isinstance(value, int | float):
            size = int(at_size[1])
            slower_place[size] = min(slower_place.get(size, value), value)
    for limit in test.limits:
        if limit.metric is Metric.BUS_BANDWIDTH and {"steps", "factor"} <= limit.inputs.keys():
            fitted = fit(int(limit.inputs["steps"]), float(limit.inputs["factor"]), slower_place)
            return fitted.bus_gigabytes if fitted else 0.0
    return 0.0


def _at_size(reading: ToolReading, name: str, size: int) -> float | None:
    """Return the value of ``name`` at ``size``: by the name with the size, or by the only size of the file."""
    stem = name
    place = ""
    for suffix in _PLACES:
        if name.endswith(suffix):
            stem = name.removesuffix(suffix)
            place = suffix
    value: Scalar | None = reading.values.get(f"{stem}_at_{size}{place}")
    if value is None and reading.values.get("size") == size:
        value = reading.values.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None
