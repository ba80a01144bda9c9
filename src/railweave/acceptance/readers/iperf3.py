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
    """Read a report. A run that ended early has rates too: they do not count."""
    report = documents.first
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
    rates = [number(value) for name, value in values.items() if name.endswith("received_bps")]
    if any(not rate or rate < 0 for rate in rates):
        return reading(FORMAT, Answer.NOT_MEASURED, values, ["the receiver counted nothing"])
    if not rates:
        return reading(FORMAT, Answer.INVALID, values, ["there is no rate that can be true"])
    return reading(FORMAT, Answer.OK, values)


def _values(start: dict[str, Any], end: dict[str, Any]) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {}
    if isinstance(end.get("streams"), list) and end["streams"]:
        values["streams"] = len(end["streams"])
    if isinstance(start.get("version"), str):
        values["tool_version"] = start["version"][:60]
    if _object(start.get("test_start")).get("reverse"):
        values["reverse"] = True
    if "accepted_connection" in start:
        values["side"] = "server"
    if not any(name.endswith("_bidir_reverse") for name in end):
        return values | _sums(end, "", "")
    return values | _sums(end, "forward_", "") | _sums(end, "reverse_", "_bidir_reverse")


def _sums(end: dict[str, Any], prefix: str, suffix: str) -> dict[str, Scalar]:
    """Return the sums of one direction, with names that start with ``prefix``."""
    sent = _object(end.get(f"sum_sent{suffix}"))
    received = _object(end.get(f"sum_received{suffix}"))
    # UDP: old releases have one sum, of what was sent, with the losses that the receiver counted.
    datagrams = _object(end.get(f"sum{suffix}"))
    numbers = {
        "sent_bps": number((sent or datagrams).get("bits_per_second")),
        "received_bps": number(received.get("bits_per_second")),
        "retransmits": whole(sent.get("retransmits")),
        "lost_packets": whole(datagrams.get("lost_packets")),
        "packets": whole(datagrams.get("packets")),
        "lost_pct": number(datagrams.get("lost_percent")),
        "jitter_ms": number(datagrams.get("jitter_ms")),
        "seconds": number((sent or datagrams).get("seconds")),
    }
    rate = numbers["sent_bps"]
    lost = numbers["lost_pct"]
    if not received and rate is not None and lost is not None:
        numbers["received_bps"] = rate * (1 - lost / 100)
    return {prefix + name: value for name, value in numbers.items() if value is not None}


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {}
