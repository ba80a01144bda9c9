"""What iperf3 writes with --json or --json-stream: what arrived counts, and `error` before everything else."""

from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.perftest import reading
from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

FORMAT = "iperf3-json"
_DIRECTIONS = {"forward_": "", "reverse_": "_bidir_reverse"}


def matches(documents: Documents) -> bool:
    """Tell whether the value is a report of iperf3, or the events of one."""
    first = documents.values[0] if documents.values else None
    if not isinstance(first, dict):
        return False
    return ("start" in first and "intervals" in first) or first.get("event") in ("start", "interval", "end", "error")


def read(documents: Documents) -> ToolReading:
    """Read a report (iperf 3.0 to 3.20). A run that ended early has rates too: they do not count."""
    first = documents.values[0]
    is_stream = isinstance(first, dict) and "event" in first
    if documents.mixed or (len(documents.values) > 1 and not is_stream) or not isinstance(first, dict):
        return reading(FORMAT, Answer.AMBIGUOUS, remarks=["the file holds more than one report: one file a test"])
    report: dict[str, object] = first
    if is_stream:
        events = (value for value in documents.values if isinstance(value, dict))
        report = {str(event.get("event")): event.get("data") for event in events}
    end = _object(report.get("end"))
    values = _values(_object(report.get("start")), end)
    if report.get("error"):
        remarks = [f"iperf3 says: {str(report['error'])[:200]}"]
        if "sent_bps" in values or "forward_sent_bps" in values:
            return reading(FORMAT, Answer.INCOMPLETE, values, remarks)
        return reading(FORMAT, Answer.NOT_MEASURED, values, remarks)
    if documents.cut or not end:
        return reading(FORMAT, Answer.INCOMPLETE, values, ["the file was cut short: it has no end"])
    return _judged(values)


def _judged(values: dict[str, Scalar]) -> ToolReading:
    rates = [value for name, value in values.items() if name.endswith("received_bps")]
    if not rates:
        return reading(FORMAT, Answer.INVALID, values, ["there is no rate that can be true"])
    if any(not isinstance(rate, int | float) or rate <= 0 for rate in rates):
        return reading(FORMAT, Answer.NOT_MEASURED, values, ["the receiver counted nothing"])
    return reading(FORMAT, Answer.OK, values)


def _values(start: dict[str, object], end: dict[str, object]) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {}
    streams = end.get("streams")
    if isinstance(streams, list) and streams:
        values["streams"] = len(streams)
    test = _object(start.get("test_start"))
    if test.get("reverse"):
        values["reverse"] = True
    if "accepted_connection" in start:
        values["side"] = "server"
    if "sum_sent_bidir_reverse" in end or "sum_bidir_reverse" in end:
        for prefix, suffix in _DIRECTIONS.items():
            _read_sums(end, prefix, suffix, values)
    else:
        _read_sums(end, "", "", values)
    return values


def _read_sums(end: dict[str, object], prefix: str, suffix: str, values: dict[str, Scalar]) -> None:
    sent = _object(end.get(f"sum_sent{suffix}"))
    received = _object(end.get(f"sum_received{suffix}"))
    # UDP: before 3.10 there is one sum, of what was sent, with the losses that the receiver counted.
    datagrams = _object(end.get(f"sum{suffix}"))
    for name, source in (("sent_bps", sent or datagrams), ("received_bps", received)):
        rate = number(source.get("bits_per_second"))
        if rate is not None:
            values[prefix + name] = rate
    for name in ("retransmits", "lost_packets", "packets"):
        count = whole((received or datagrams).get(name, datagrams.get(name, sent.get(name))))
        if count is not None:
            values[prefix + name] = count
    for name, ours in (("lost_percent", "lost_pct"), ("jitter_ms", "jitter_ms")):
        value = number(datagrams.get(name, received.get(name)))
        if value is not None:
            values[prefix + ours] = value
    seconds = number((sent or datagrams).get("seconds"))
    if seconds is not None:
        values[f"{prefix}seconds"] = seconds
    lost, rate = number(datagrams.get("lost_percent")), number(datagrams.get("bits_per_second"))
    if not received and lost is not None and rate is not None:
        values[f"{prefix}received_bps"] = rate * (1 - lost / 100)


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
