"""perftest (ib_write_bw, ib_send_lat and so on) from its own arithmetic: units, directions and what was not measured.

Read in perftest 4.4 to 26.04 (linux-rdma/perftest, src/perftest_parameters.c). "MB/sec" is 2^20 byte/s in all releases
(``format_factor``), a bidirectional value is the sum of both directions, and READ has no half round trip.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

GBPS_OF_MIBPS = 2**20 * 8 / 1e9
GBPS_UNIT = "Gb/s"
MIBPS_UNIT = "MiB/s"
_ECN = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
_FULL_MTU = 4096
_HEADERS_BYTES = 82
"""Of each packet beside its payload: Ethernet with preamble, gap and FCS, IPv4, UDP, BTH and ICRC."""


class BandwidthRow(NamedTuple):
    """A row of a bandwidth test; what is no finite number is None."""

    size: int | None
    iterations: int | None
    peak: float | None
    average: float | None
    # Millions of messages a second.
    rate: float | None

    def answer(self) -> Answer:
        """Tell a value from one that cannot be true and from the zeros of a side that did not measure."""
        if self.size is None or self.iterations is None or self.average is None or self.rate is None:
            return Answer.INVALID
        if self.iterations < 0 or self.average < 0 or self.rate < 0 or self.size <= 0:
            return Answer.INVALID
        if not self.iterations or not self.average:
            return Answer.NOT_MEASURED
        return Answer.OK

    def unit(self, stated: str = "") -> str:
        """Return the unit of the average that follows from size and rate; ``stated`` or nothing if neither fits.

        Rates below 0.000050 have too few digits to tell the units apart.
        """
        if not self.size or not self.rate or not self.average or self.rate < 50e-6:
            return stated
        gbps = self.rate * self.size * 8 / 1000
        slack = max(0.02, 1e-6 / self.rate, 0.01 / self.average)
        for unit, scale in ((GBPS_UNIT, 1.0), (MIBPS_UNIT, GBPS_OF_MIBPS)):
            if abs(self.average * scale - gbps) <= slack * gbps:
                return unit
        return ""


def as_gbps(value: float, unit: str) -> float:
    """Return a printed rate in Gb/s, with as many digits as perftest prints."""
    if unit == GBPS_UNIT:
        return value
    gbps = value * GBPS_OF_MIBPS
    if gbps < 1:
        return round(gbps, 6)
    return round(gbps, 2)


def bandwidth_values(row: BandwidthRow, unit: str, suffix: str, *, bidirectional: bool) -> dict[str, Scalar]:
    """Return the values of a valid row; ``suffix`` ends the names, such as ``_at_65536``."""
    values: dict[str, Scalar] = {}
    average = as_gbps(row.average or 0.0, unit)
    if bidirectional:
        values[f"avg_Gbps_sum{suffix}"] = average
        values[f"avg_Gbps_per_direction{suffix}"] = round(average / 2, 6)
    else:
        values[f"avg_Gbps{suffix}"] = average
    if unit == MIBPS_UNIT and row.average is not None:
        values[f"avg_MiBps{suffix}"] = row.average
    # Duration mode and --noPeak print 0.00 for a peak that nobody measured.
    values[f"peak_Gbps{suffix}"] = Answer.NOT_MEASURED.value
    if row.peak:
        values[f"peak_Gbps{suffix}"] = as_gbps(row.peak, unit)
    return values


LATENCY_NAMES = {
    "t_min": "t_min_us",
    "t_max": "t_max_us",
    "t_typical": "t_typical_us",
    "t_avg": "t_avg_us",
    "percentile_99": "p99_us",
    "percentile_99.9": "p999_us",
    "tps_average": "tps",
}
"""Names of perftest's JSON with ours. t_stdev is left out: the source truncates each deviation to an integer."""


def latency_values(row: Mapping[str, object], suffix: str) -> tuple[Answer, dict[str, Scalar]]:
    """Return the values of a row of a latency test; without a percentile its tail was not measured."""
    values: dict[str, Scalar] = {}
    for name, ours in LATENCY_NAMES.items():
        value = number(row.get(name))
        if name in row and (value is None or value < 0):
            return Answer.INVALID, {}
        if value is not None:
            values[ours + suffix] = value
    tail = [number(row.get(name)) for name in ("t_min", "t_typical", "percentile_99", "percentile_99.9", "t_max")]
    ordered = [value for value in tail if value is not None]
    if ordered != sorted(ordered):
        return Answer.INVALID, {}
    if "percentile_99.9" not in row:
        values["p999_us" + suffix] = Answer.NOT_MEASURED.value
        return Answer.NOT_MEASURED, values
    return Answer.OK, values


def setting_values(settings: Mapping[str, object]) -> tuple[dict[str, Scalar], list[str]]:
    """Return device, MTU, queue pairs and marking from the names of perftest's JSON, and doubts that follow."""
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    for name, ours in (("Device", "device"), ("Link_type", "link"), ("Connection_type", "connection")):
        if isinstance(settings.get(name), str):
            values[ours] = str(settings[name])
    for name, ours in (("Number_of_qps", "qps"), ("Mtu", "mtu"), ("TOS", "tos")):
        value = whole(settings.get(name))
        if value is not None:
            values[ours] = value
    mtu = whole(settings.get("Mtu"))
    if mtu and mtu < _FULL_MTU:
        share = mtu / (mtu + _HEADERS_BYTES)
        remarks.append(f"the path MTU is {mtu}: at most {share:.1%} of the line rate is payload; check the MTU first")
    if values.get("link") == "IB":
        remarks.append("the link type is InfiniBand: this is not a test of RoCE")
    tos = whole(settings.get("TOS"))
    if tos is not None and 0 <= tos < 256:
        values["dscp"] = tos >> 2
        values["ecn"] = _ECN[tos & 3]
    return values, remarks


def test_values(title: str) -> tuple[dict[str, Scalar], list[str]]:
    """Return what the title of a test says: its verb and directions."""
    values: dict[str, Scalar] = {"test": title}
    remarks: list[str] = []
    if "Bidirectional" in title:
        values["bidirectional"] = True
        remarks.append("the value is the sum of both directions")
    if "Latency" in title and ("Read" in title or "Atomic" in title):
        values["round_trip"] = True
        remarks.append("READ and ATOMIC latency is the full round trip, that of WRITE and SEND half of it")
    return values, remarks


def worst(answers: Iterable[Answer]) -> Answer:
    """Return the answer of a file from those of its parts: the one that is least a value."""
    order = (Answer.ERROR, Answer.INVALID, Answer.INCOMPLETE, Answer.AMBIGUOUS, Answer.NOT_MEASURED)
    present = set(answers)
    return next((answer for answer in order if answer in present), Answer.OK)


def reading(
    kind: str, answer: Answer, values: Mapping[str, Scalar] | None = None, remarks: Iterable[str] = ()
) -> ToolReading:
    """Return a reading with its remarks once each."""
    return ToolReading(kind, answer, values or {}, tuple(dict.fromkeys(remarks)))
