"""What perftest writes with --out_json: JSON from 24.01 on, with bare words before, and only the last row of all."""

from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.perftest import (
    BandwidthRow,
    bandwidth_values,
    latency_values,
    reading,
    setting_values,
    test_values,
)
from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

FORMAT = "perftest-json"


def matches(documents: Documents) -> bool:
    """Tell whether the first value is that of perftest."""
    first = documents.values[0] if documents.values else None
    return isinstance(first, dict) and isinstance(first.get("test_info"), dict)


def read(documents: Documents) -> ToolReading:
    """Read a result; several in one file, or two mixed with each other, are of unknown tests."""
    document = documents.values[0]
    if documents.mixed or len(documents.values) > 1 or not isinstance(document, dict):
        remark = "the file holds more than one result, or parts of two: one file a test"
        return reading(FORMAT, Answer.AMBIGUOUS, {"documents": len(documents.values)}, [remark])
    settings = document["test_info"]
    values, remarks = setting_values(settings)
    title = str(settings.get("test", "")).replace("_", " ")
    more, doubts = test_values(title)
    values |= more
    remarks += doubts
    remarks += [str(value) for name, value in settings.items() if name.startswith("WARNING")]
    results = document.get("results")
    if documents.cut or not isinstance(results, dict):
        remarks.append("the file was cut short: it has no result")
        return reading(FORMAT, Answer.INCOMPLETE, values, remarks)
    answer = _read_results(results, values, remarks)
    if answer is Answer.OK and values.get("bidirectional"):
        remarks.append("with --report-both only the half of the remote side is left in the file")
        answer = Answer.AMBIGUOUS
    # Releases before 24.01 write no quotes at all; QoS results of all releases leave out those of `sl`.
    if answer is Answer.OK and not documents.strict and "sl" not in results:
        remarks.append("no JSON: perftest before 24.01; the unit follows from the message rate")
        answer = Answer.AMBIGUOUS
    return reading(FORMAT, answer, values, remarks)


def _read_results(results: dict[str, object], values: dict[str, Scalar], remarks: list[str]) -> Answer:
    for name, ours in (("MsgSize", "size"), ("n_iterations", "iterations"), ("sl", "sl")):
        count = whole(results.get(name))
        if count is not None:
            values[ours] = count
    utilization = number(results.get("CPU_util"))
    if utilization is not None:
        values["cpu_util_pct"] = utilization
    if "t_avg" in results and "MsgSize" in results:
        answer, latencies = latency_values(results, "")
        values.update(latencies)
        if answer is Answer.NOT_MEASURED:
            remarks.append("the tail is not measured in duration mode: use iterations")
        return answer
    if "BW_average" not in results:
        remarks.append("a number alone: neither its unit nor its size is in the file (--output)")
        values.update({name: value for name, value in results.items() if isinstance(value, int | float)})
        return Answer.AMBIGUOUS
    return _read_bandwidth(results, values, remarks)


def _read_bandwidth(results: dict[str, object], values: dict[str, Scalar], remarks: list[str]) -> Answer:
    row = BandwidthRow(
        whole(results.get("MsgSize")),
        whole(results.get("n_iterations")),
        number(results.get("BW_peak")),
        number(results["BW_average"]),
        number(results.get("MsgRate")),
    )
    answer = row.answer()
    if answer is not Answer.OK:
        remarks.append("there is no rate that can be true")
        return answer
    unit = row.unit()
    values.update({"avg": row.average or 0.0, "msgrate_Mpps": row.rate or 0.0})
    if not unit:
        remarks.append("average and message rate fit neither Gb/s nor MiB/s")
        return Answer.AMBIGUOUS
    values["derived_unit"] = unit
    values.update(bandwidth_values(row, unit, "", bidirectional=values.get("bidirectional") is True))
    values["peak"] = values["peak_Gbps"]
    return answer
