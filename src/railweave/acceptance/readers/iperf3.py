"""What iperf3 writes with --json or --json-stream: what arrived counts, and `error` before everything else.

Read in esnet/iperf, src/iperf_api.c, releases 3.0 to 3.21.
"""

from typing import Any

from railweave.acceptance.readers.answers import reading, several
from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

FORMAT = "iperf3-json"


def matches(documents: Documents) -> bool:
    """Tell whether the value is a report of iperf3, or the events of one."""
    return {"start", "intervals"} <= documents.first.keys() or {"event", "data"} <= documents.first.keys()


def read(documents: Documents) -> ToolReading:
    """Read a report. The rates of a run that ended early do not count."""
    report = documents.first
    # With --json-stream each member of the report is an event.
    if "event" in report:
        report = {str(event.get("event")): event.get("data") for event in documents.rows}
    elif not documents.is_single:
        return several(FORMAT, "documents", len(documents.values))
    start = _object(report.get("start"))
    end = _object(report.get("end"))
    values = _values(start, end)
    if report.get("error"):
        answer = Answer.NOT_MEASURED
        if any(name.endswith("sent_bps") for name in values):
            answer = Answer.INCOMPLETE
        return reading(FORMAT, answer, values, [f"iperf3 says: {str(report['error'])[:200]}"])
    if documents.cut or not end:
        return reading(FORMAT, Answer.INCOMPLETE, values, ["the file was cut short: it has no end"])
    received_bps = [number(value) for name, value in values.items() if name.endswith("received_bps")]
    if any(not rate or rate < 0 for rate in received_bps):
        return reading(FORMAT, Answer.NOT_MEASURED, values, ["the receiver counted nothing"])
    if not received_bps:
        return reading(FORMAT, Answer.INVALID, values, ["there is no rate that can be true"])
    return reading(FORMAT, Answer.OK, values)


def _values(start: dict[str, Any], end: dict[str, Any]) -> dict[str, Scalar]:
    """Return the values of a report; names of a bidirectional one begin with ``forward_`` or ``reverse_``."""
    values: dict[str, Scalar] = {}
    if isinstance(end.get("streams"), list) and end["streams"]:
        values["streams"] = len(end["streams"])
    if isinstance(start.get("version"), str):
        values["tool_version"] = start["version"][:60]
    if _object(start.get("test_start")).get("reverse"):
        values["reverse"] = True
    if "accepted_connection" in start:
        values["side"] = "server"
    is_bidirectional = any(name.endswith("_bidir_reverse") for name in end)
    if is_bidirectional:
        return values | _sums(end, "forward_", "") | _sums(end, "reverse_", "_bidir_reverse")
    return values | _sums(end, "", "")


def _sums(end: dict[str, Any], prefix: str, suffix: str) -> dict[str, Scalar]:
    """Return the sums of one direction; the names of its members end with ``suffix``, ours start with ``prefix``."""
    sent = _object(end.get(f"sum_sent{suffix}"))
    received = _object(end.get(f"sum_received{suffix}"))
    # Old releases have only one sum for UDP: the sent bytes, and the losses that the receiver counted.
    datagrams = _object(end.get(f"sum{suffix}"))
    sender_sum = sent or datagrams
    numbers = {
        "sent_bps": number(sender_sum.get("bits_per_second")),
        "received_bps": number(received.get("bits_per_second")),
        "retransmits": whole(sent.get("retransmits")),
        "lost_packets": whole(datagrams.get("lost_packets")),
        "packets": whole(datagrams.get("packets")),
        "lost_pct": number(datagrams.get("lost_percent")),
        "jitter_ms": number(datagrams.get("jitter_ms")),
        "seconds": number(sender_sum.get("seconds")),
    }
    sent_bps = numbers["sent_bps"]
    lost_pct = numbers["lost_pct"]
    # Without a sum of the receiver, what arrived follows from its losses.
    if not received and sent_bps is not None and lost_pct is not None:
        numbers["received_bps"] = sent_bps * (1 - lost_pct / 100)
    return {prefix + name: value for name, value in numbers.items() if value is not None}


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {}
