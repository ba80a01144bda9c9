"""The tables that perftest prints, of one host or of several through a launcher."""

import re
from typing import NamedTuple

from railweave.acceptance.readers.perftest import (
    GBPS_UNIT,
    MIBPS_UNIT,
    BandwidthRow,
    as_gbps,
    bandwidth_values,
    latency_values,
    reading,
    setting_values,
    test_values,
    worst,
)
from railweave.acceptance.readers.text import NUMBER_OR_DEFECT, by_host, first_lines, number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

FORMAT = "perftest-text"
_HEADER = re.compile(r"^ ?#bytes .*$", re.MULTILINE)
_TITLE = re.compile(r"^ {8,}(\S.*? Test) *$", re.MULTILINE)
_SIGNS = re.compile(r"#bytes +#iterations|#bytes +#sl|^\s*(\S+: )? {16}\S.* (BW|Latency) (\w+ )?Test$", re.MULTILINE)
_STARTED = re.compile(r"Couldn't connect to|Waiting for client to connect|Failed status|IB device .* not found")
_BARE = re.compile(r"\s*(\d+\.\d{6}\s+)+")
"""What --output=bandwidth, message_rate and latency print: numbers alone."""

_COLUMN = re.compile(
    r"#bytes|#sl|#iterations|BW (?:peak|average)\[[^\]]*\]|(?:BW|MsgRate) Port\d\[[^\]]*\]|MsgRate\[Mpps\]"
    r"|t_\w+\[usec\]|99(?:\.9)?% percentile\[usec\]|tps average|CPU_Util\[%+\]"
)
_SETTING = re.compile(
    r"\b(Device|Number of qps|Connection type|Mtu|Link type|TOS) *\t?: (\S+?)(?:\[B\])?(?=\s|$)", re.MULTILINE
)
_COMPLETION = re.compile(r"Failed status(?:-(?P<text>[^(\n]*)\(| )(?P<status>\d+).*?syndrom (?P<syndrome>0x[0-9a-f]+)")
_COMPLETED = re.compile(r"(?:ccnt|rcnt)=(\d+)")
_WARNING = re.compile(r"Conflicting CPU frequency|\bwarning:|\bWARNING\b", re.IGNORECASE)
_FAULT = re.compile(
    r"Couldn't|Can't|Unable to|Failed|\bfailed|not found|mismatch|[Ii]ncompatib|Problem|below \w+ limit|No IB devices"
    r"|Completion with|Error occurred|Segmentation fault|refused|timed out|VALIDATION: .*FAIL"
)
_DASHES = re.compile(r"^-{20,}$", re.MULTILINE)


def matches(text: str) -> bool:
    """Tell whether perftest wrote ``text``, a file or what a launcher collected."""
    return bool(_SIGNS.search(text) or _STARTED.search(text) or _BARE.fullmatch(text))


def read(text: str) -> ToolReading:
    """Read one or several hosts; with several, names of values start with ``HOST_``."""
    hosts = by_host(text, "#bytes")
    readings = {host: _read_host(part) for host, part in hosts.items()}
    if len(readings) == 1:
        return next(iter(readings.values()))
    values: dict[str, Scalar] = {"hosts": tuple(readings)}
    remarks: list[str] = []
    for host, part in readings.items():
        values.update({f"{host}_{name}": value for name, value in part.values.items()})
        remarks.extend(f"{host}: {remark}" for remark in part.remarks)
    return reading(FORMAT, worst(part.answer for part in readings.values()), values, remarks)


class _Table(NamedTuple):
    """The rows of a table by the names of its columns; ``cut`` if the last line is the beginning of a row."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    cut: bool


def _tables(text: str) -> list[_Table]:
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    return [_table(header.group(), text[header.end() : end]) for header, end in zip(headers, ends, strict=False)]


def _table(header: str, body: str) -> _Table:
    columns = tuple(_COLUMN.findall(header))
    rows: list[dict[str, str]] = []
    cut = False
    for line in body.splitlines(keepends=True):
        tokens = line.split()
        if not tokens or not all(map(NUMBER_OR_DEFECT.fullmatch, tokens)):
            continue
        # The last number of a row has digits behind its point; without a line end some of them may be missing.
        cut = len(tokens) != len(columns) or (line[-1:] != "\n" and not re.search(r"\.\d\d(\d{4})?$", tokens[-1]))
        if not cut:
            rows.append(dict(zip(columns, tokens, strict=True)))
    return _Table(columns, tuple(rows), cut)


def _read_host(text: str) -> ToolReading:
    if _BARE.fullmatch(text):
        value = number(text.rsplit(maxsplit=1)[-1]) or 0.0
        remark = "a number alone: neither its unit nor what it measures is in the file (--output)"
        return reading(FORMAT, Answer.AMBIGUOUS, {"value": value}, [remark])
    titles = _TITLE.findall(text)
    if len(titles) > 1:
        remark = f"{len(titles)} tests in one file, and nothing says which row belongs to which: one file a test"
        return reading(FORMAT, Answer.AMBIGUOUS, {"tests": len(titles)}, [remark])
    values, remarks = _context(text, titles)
    tables = [table for table in _tables(text) if table.rows or table.cut]
    if not tables:
        return reading(FORMAT, _answer_without_row(text), values, remarks)
    is_bandwidth = any("BW average" in column for column in tables[0].columns)
    if is_bandwidth:
        answers = _read_bandwidth(tables, values, remarks)
    else:
        answers = _read_latency(tables[0], values, remarks)
    if any(table.cut for table in tables):
        remarks.append("the file ends within a row")
        answers.append(Answer.INCOMPLETE)
    elif len(tables[0].rows) > 1 and not _DASHES.search(text, text.rindex("#bytes")):
        remarks.append("the file ends before the line behind the last row: sizes may be missing")
        answers.append(Answer.INCOMPLETE)
    if values.get("wc_status") is not None or _FAULT.search(text, text.index("#bytes")):
        answers.append(Answer.ERROR)
    return reading(FORMAT, worst(answers), values, remarks)


def _context(text: str, titles: list[str]) -> tuple[dict[str, Scalar], list[str]]:
    settings = {name.replace(" ", "_"): value for name, value in reversed(_SETTING.findall(text))}
    values, remarks = setting_values(settings)
    for title in titles:
        more, doubts = test_values(title)
        values.update(more)
        remarks.extend(doubts)
    if "Waiting for client to connect" in text:
        values["side"] = "server"
    completion = _COMPLETION.search(text)
    if completion is not None:
        values["wc_status"] = int(completion["status"])
        values["syndrome"] = completion["syndrome"]
        completed = _COMPLETED.search(text)
        if completed is not None:
            values["completed"] = int(completed[1])
    warnings = len(_WARNING.findall(text))
    if warnings:
        values["warnings"] = warnings
    remarks.extend(first_lines(text, _WARNING))
    remarks.extend(first_lines(text, _FAULT))
    return values, remarks


def _answer_without_row(text: str) -> Answer:
    """Tell why there is no row: traffic failed, the test never started, this side does not measure, or it was cut."""
    header = _HEADER.search(text)
    if _COMPLETION.search(text) or (header and _FAULT.search(text, header.end())):
        return Answer.ERROR
    if header and _DASHES.search(text, header.end()):
        return Answer.NOT_MEASURED
    if header or (_TITLE.search(text) and not _FAULT.search(text)):
        return Answer.INCOMPLETE
    return Answer.NOT_MEASURED


def _read_bandwidth(tables: list[_Table], values: dict[str, Scalar], remarks: list[str]) -> list[Answer]:
    # --report-both prints the sum, then a table of each side.
    for side, table in zip(("local", "remote"), tables[1:], strict=False):
        for printed in table.rows[:1]:
            row, unit = _bandwidth_row(table.columns, printed)
            values[f"avg_Gbps_{side}"] = as_gbps(row.average or 0.0, unit)
    rows = tables[0].rows
    is_single = len({row["#bytes"] for row in rows}) == 1
    if len(rows) > 1:
        values["rows"] = len(rows)
    answers = []
    for printed in rows:
        row, unit = _bandwidth_row(tables[0].columns, printed)
        answer = row.answer()
        if answer is Answer.OK and not unit:
            answer = Answer.INVALID
        answers.append(answer)
        if answer is not Answer.OK:
            remarks.append(f"a row has no rate that can be true: {' '.join(printed.values())}")
            continue
        suffixes = [f"_at_{row.size}"]
        if is_single:
            suffixes.append("")
            values.update({"size": row.size or 0, "iterations": row.iterations or 0})
        for suffix in suffixes:
            values.update(bandwidth_values(row, unit, suffix, bidirectional=values.get("bidirectional") is True))
        more = {"sl": number(printed.get("#sl")), "cpu_util_pct": number(printed.get("CPU_Util[%]"))}
        values.update({name: value for name, value in more.items() if value is not None})
    return answers


def _bandwidth_row(columns: tuple[str, ...], printed: dict[str, str]) -> tuple[BandwidthRow, str]:
    """Return a row and its unit, which the rate confirms; without a unit the row contradicts itself."""
    average = next(column for column in columns if "average" in column)
    peak = next((column for column in columns if "peak" in column), "")
    row = BandwidthRow(
        whole(printed["#bytes"]),
        whole(printed["#iterations"]),
        number(printed.get(peak)),
        number(printed[average]),
        number(printed.get("MsgRate[Mpps]")),
    )
    stated = MIBPS_UNIT
    if "Gb/sec" in average:
        stated = GBPS_UNIT
    return row, row.unit(stated)


_LATENCY_COLUMNS = {
    "99% percentile[usec]": "percentile_99",
    "99.9% percentile[usec]": "percentile_99.9",
    "tps average": "tps_average",
}


def _read_latency(table: _Table, values: dict[str, Scalar], remarks: list[str]) -> list[Answer]:
    answers = []
    for printed in table.rows:
        row = {_LATENCY_COLUMNS.get(name, name.removesuffix("[usec]")): value for name, value in printed.items()}
        suffixes = [f"_at_{printed['#bytes']}"]
        if len(table.rows) == 1:
            suffixes.append("")
        for suffix in suffixes:
            answer, latencies = latency_values(row, suffix)
            values.update(latencies)
        answers.append(answer)
        values.update({"size": whole(printed["#bytes"]) or 0, "iterations": whole(printed["#iterations"]) or 0})
    if Answer.NOT_MEASURED in answers:
        remarks.append("the tail is not measured in duration mode: use iterations")
    return answers
