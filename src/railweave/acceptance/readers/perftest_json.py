"""What perftest writes with --out_json."""

from railweave.acceptance.readers.answers import reading, several
from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.perftest import NO_TAIL, row_values, setting_values
from railweave.acceptance.readers.text import number
from railweave.acceptance.readings import Answer, ToolReading

FORMAT = "perftest-json"


def matches(documents: Documents) -> bool:
    """Tell whether the first value is that of perftest."""
    return isinstance(documents.first.get("test_info"), dict)


def read(documents: Documents) -> ToolReading:
    """Read a result: JSON from release 24.01 on, with bare words before. Of the sizes of -a only the last is in it."""
    if not documents.is_single:
        return several(FORMAT, "documents", len(documents.values))
    settings = documents.first["test_info"]
    title = str(settings.get("test", "")).replace("_", " ").removesuffix(" Test")
    values, remarks = setting_values(settings, title)
    remarks += [str(value) for name, value in settings.items() if name.startswith("WARNING")]
    results = documents.first.get("results")
    if documents.cut or not isinstance(results, dict):
        return reading(FORMAT, Answer.INCOMPLETE, values, [*remarks, "the file was cut short: it has no result"])
    has_measurement = not results.keys().isdisjoint(("BW_average", "t_avg", "percentile_99.9"))
    if not has_measurement or "MsgSize" not in results:
        values.update({name: value for name, value in results.items() if number(value) is not None})
        remarks.append("a number alone: neither its unit nor its size is in the file (--output)")
        return reading(FORMAT, Answer.AMBIGUOUS, values, remarks)
    answer, measured = row_values(results, "", is_bidirectional=values.get("bidirectional") is True)
    values.update(measured)
    if answer is Answer.NOT_MEASURED and "t_avg_us" in values:
        remarks.append(NO_TAIL)
    elif answer is not Answer.OK:
        remarks.append("there is no rate that can be true, or the average fits the message rate in no unit")
    elif "bidirectional" in values:
        remarks.append("with --report-both only the half of the remote side is left in the file")
        answer = Answer.AMBIGUOUS
    # Releases before 24.01 write no quotes at all; QoS results of all releases leave out those of `sl`.
    elif not documents.strict and "sl" not in results and "BW_average" in results:
        remarks.append("no JSON: perftest before 24.01; the unit follows from the message rate")
        answer = Answer.AMBIGUOUS
    return reading(FORMAT, answer, values, remarks)
