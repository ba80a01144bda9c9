"""perftest (ib_write_bw, ib_send_lat and so on) from its own arithmetic: units, directions and what was not measured.

Read in perftest 4.4 to 26.04 (linux-rdma/perftest, src/perftest_parameters.c). "MB/sec" is 2^20 byte/s in all releases
(``format_factor``), a bidirectional value is the sum of both directions, and READ has no half round trip. Rows of
tables have the names of its JSON here.
"""

from collections.abc import Mapping

from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, Scalar

_GBPS_OF_MIBPS = 2**20 * 8 / 1e9
_ECN = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
_FULL_MTU = 4096
_HEADERS_BYTES = 82
"""Of each packet beside its payload: Ethernet with preamble, gap and FCS, IPv4, UDP, BTH and ICRC."""
_LATENCIES = {
    "t_min": "t_min_us",
    "t_typical": "t_typical_us",
    "percentile_99": "p99_us",
    "percentile_99.9": "p999_us",
    "t_max": "t_max_us",
    "t_avg": "t_avg_us",
    "tps_average": "tps",
}
"""Names of the JSON with ours, from the shortest time on. Deviations are truncated to integers, so t_stdev is none."""
PLAIN_VALUES = ("size", "iterations", "sl", "cpu_util_pct", "avg", "msgrate_Mpps", "derived_unit")
"""Values of a row that are not repeated with the size of its messages in their name."""


def row_values(
    row: Mapping[str, object], header_unit: str, *, is_bidirectional: bool
) -> tuple[Answer, dict[str, Scalar]]:
    """Return the answer and the values of a row.

    ``header_unit`` is the unit in the table's header: "Gb/s", "MiB/s", or empty if there is no header.
    """
    size = whole(row.get("MsgSize"))
    iterations = whole(row.get("n_iterations"))
    if not size or iterations is None or size < 0 or iterations < 0:
        return Answer.INVALID, {}
    if not iterations:
        return Answer.NOT_MEASURED, {}
    values: dict[str, Scalar] = {"size": size, "iterations": iterations}
    for column, value_name in (("sl", "sl"), ("CPU_util", "cpu_util_pct")):
        value = number(row.get(column))
        if value is not None:
            values[value_name] = value
    if "BW_average" in row:
        answer, measured = _bandwidth(row, size, header_unit, is_bidirectional=is_bidirectional)
    else:
        answer, measured = _latencies(row)
    return answer, values | measured


def _latencies(row: Mapping[str, object]) -> tuple[Answer, dict[str, Scalar]]:
    """Return the answer and the times of a row. It is invalid if a time is no number, or below a smaller percentile."""
    values: dict[str, Scalar] = {}
    for column, value_name in _LATENCIES.items():
        value = number(row.get(column))
        if column in row and (value is None or value < 0):
            return Answer.INVALID, {}
        if value is not None:
            values[value_name] = value
    percentiles = [value for name, value in values.items() if name not in {"t_avg_us", "tps"}]
    if percentiles != sorted(percentiles):
        return Answer.INVALID, {}
    if "p999_us" not in values:
        return Answer.NOT_MEASURED, {**values, "p999_us": Answer.NOT_MEASURED.value}
    return Answer.OK, values


def _bandwidth(
    row: Mapping[str, object], size: int, header_unit: str, *, is_bidirectional: bool
) -> tuple[Answer, dict[str, Scalar]]:
    """Return the answer and the rates of a row.

    Their unit is the one in which the average fits the message rate, or else that of the header. The row is invalid if
    the message rate is precise enough and fits neither unit, and ambiguous if no unit is known.
    """
    average = number(row.get("BW_average"))
    rate = number(row.get("MsgRate"))
    peak = number(row.get("BW_peak"))
    if average is None or rate is None or average < 0 or rate < 0:
        return Answer.INVALID, {}
    if not average:
        return Answer.NOT_MEASURED, {}
    values: dict[str, Scalar] = {"avg": average, "msgrate_Mpps": rate}
    unit = _fitting_unit(average, rate, size)
    if not unit and not header_unit:
        return Answer.AMBIGUOUS, values
    if not unit and rate >= _LEAST_RATE:
        return Answer.INVALID, values
    unit = unit or header_unit
    gbps = _as_gbps(average, unit)
    if is_bidirectional:
        values |= {"avg_Gbps_sum": gbps, "avg_Gbps_per_direction": round(gbps / 2, 6)}
    else:
        values["avg_Gbps"] = gbps
    if unit == "MiB/s":
        values["avg_MiBps"] = average
    values["derived_unit"] = unit
    for port in (1, 2):
        port_rate = number(row.get(f"BW Port{port}"))
        if port_rate is not None:
            values[f"port{port}_Gbps"] = _as_gbps(port_rate, unit)
    # Duration mode and --noPeak print 0.00 for a peak that nobody measured.
    if peak:
        values["peak_Gbps"] = _as_gbps(peak, unit)
    else:
        values["peak"] = Answer.NOT_MEASURED.value
    return Answer.OK, values


_LEAST_RATE = 50e-6
"""Millions of messages a second, below which the six decimals of a rate are too few to tell the units apart."""


def _fitting_unit(average: float, rate: float, size: int) -> str:
    """Return the unit in which the average fits the message rate; empty if neither fits, or the rate is too small."""
    if rate < _LEAST_RATE:
        return ""
    gbps = rate * size * 8 / 1000
    # 2 %, or what the last printed digit of a number leaves open.
    tolerance = max(0.02, 1e-6 / rate, 0.01 / average)
    for unit, scale in (("Gb/s", 1.0), ("MiB/s", _GBPS_OF_MIBPS)):
        if abs(average * scale - gbps) <= tolerance * gbps:
            return unit
    return ""


def _as_gbps(value: float, unit: str) -> float:
    """Return a rate in Gb/s. A converted rate is rounded to the precision that perftest prints."""
    if unit == "Gb/s":
        return value
    gbps = value * _GBPS_OF_MIBPS
    if gbps < 1:
        return round(gbps, 6)
    return round(gbps, 2)


def setting_values(settings: Mapping[str, object], title: str) -> tuple[dict[str, Scalar], list[str]]:
    """Return device, MTU, queue pairs, marking and directions of a test, and remarks on them.

    ``settings`` have the names of the JSON; ``title`` is that of the test, such as "RDMA_Write BW".
    """
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    if title:
        values["test"] = title
    for setting, value_name in (("Device", "device"), ("Link_type", "link"), ("Connection_type", "connection")):
        setting_text = settings.get(setting)
        if isinstance(setting_text, str):
            values[value_name] = setting_text
    mtu = whole(settings.get("Mtu"))
    tos = whole(settings.get("TOS"))
    counts = {"qps": whole(settings.get("Number_of_qps")), "mtu": mtu, "tos": tos}
    values |= {name: count for name, count in counts.items() if count is not None}
    if mtu and 0 < mtu < _FULL_MTU:
        share = mtu / (mtu + _HEADERS_BYTES)
        remarks.append(f"the path MTU is {mtu}: at most {share:.1%} of the line rate is payload; check the MTU first")
    if values.get("link") == "IB":
        remarks.append("the link type is InfiniBand: this is not a test of RoCE")
    if tos is not None and 0 <= tos < 256:
        values |= {"dscp": tos >> 2, "ecn": _ECN[tos & 3]}
    if "Bidirectional" in title:
        values["bidirectional"] = True
        remarks.append("the value is the sum of both directions")
    waits_for_reply = "Read" in title or "Atomic" in title
    if "Latency" in title and waits_for_reply:
        values["round_trip"] = True
        remarks.append("READ and ATOMIC latency is the full round trip, that of WRITE and SEND half of it")
    return values, remarks


NO_TAIL = "the tail is not measured in duration mode: use iterations"
