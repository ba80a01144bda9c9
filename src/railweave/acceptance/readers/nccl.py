"""nccl-tests 2.0 to 2.19 as text (rccl-tests too) and JSON, and the diagnostics that NCCL itself prints.

Read in NVIDIA/nccl-tests, src/util.cu and src/common.cu, and in ROCm/rocm-systems, projects/rccl-tests and rccl.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from railweave.acceptance.readers.answers import reading, several, worst
from railweave.acceptance.readers.collectives import CollectiveRow, collective_values
from railweave.acceptance.readers.documents import Documents, objects
from railweave.acceptance.readers.text import NUMBER_OR_DEFECT, by_host, lines_with, number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

TEXT_FORMAT = "nccl-text"
JSON_FORMAT = "nccl-json"
DIAGNOSTICS_FORMAT = "nccl-diagnostics"

_HEADER = re.compile(r"^# +size +count .*time .*$", re.MULTILINE)
_SIGNS = ("# nThread ", "(elements)", "Test NCCL failure", "NCCL WARN", "ccl-tests version")
# NCCL writes a line of its own into the output of all ranks, in newer versions behind a time stamp.
_LOG = re.compile(
    r"\n?(?:\[\d{4}-\d\d-\d\d [\d:]+\] )?(?<![\w.-])[\w.-]+:\d+:\d+ \[-?\d+\] .{0,300}?NCCL (?:INFO|WARN|TRACE).*\n?"
)
_RANK = re.compile(r"^# +Rank +(\d+) .{0,99}? on +(\S+) device", re.MULTILINE)
_VERSION = re.compile(r"# ([nr]ccl-tests version \S+)")
_LIBRARY = re.compile(r"[nr]ccl-library=(\d{1,9})")
_BOUNDS = re.compile(r"^# Out of bounds values +: \d+ (OK|FAILED)", re.MULTILINE)
# Without its line end a number may have lost digits.
_AVERAGE = re.compile(r"^# Avg bus bandwidth +: (\S+) *(FAILED)?.*\n", re.MULTILINE)
_FAULTS = (
    "Test NCCL failure",
    "Test CUDA failure",
    "Test HIP failure",
    "Test timeout",
    "NCCL failure",
    "out of memory",
)
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
_ITERATION = {"i_min": "i_min_us", "i_max": "i_max_us", "i_p99": "i_p99_us", "i_cv%": "i_cv_pct"}
_MEASURED = ("time", "algbw", "busbw", "#wrong", "error", *_ITERATION)
_BLANK_HALF = " " * 30
"""Some runs measure in place alone: nccl-tests leaves 32 blanks (writeBenchMarkLineNullBody)."""
_ALONE = "one rank a table: no network was used (a build without MPI=1?)"


def text_matches(text: str) -> bool:
    """Tell whether nccl-tests or rccl-tests wrote ``text``, or NCCL in place of them."""
    return any(sign in text for sign in _SIGNS)


def read_text(text: str) -> ToolReading:
    """Read the table of a run; several tables are those of ranks that never met, or of several runs."""
    text = "".join(by_host(text, "# ").values())
    remarks = [*lines_with(text, "NCCL WARN")[:5], *lines_with(text, *_FAULTS, "# error:")[:5]]
    ranks = _RANK.findall(text)
    headers = list(_HEADER.finditer(text))
    values: dict[str, Scalar] = {"ranks": len(dict(ranks)), "nodes": len({host for _, host in ranks})}
    if len(headers) > 1 and any(rank != "0" for rank, _ in ranks):
        return several(TEXT_FORMAT, "tables", len(headers))
    if len(headers) > 1:
        values = {"tables": len(headers), "ranks_each": 1}
        return reading(TEXT_FORMAT, Answer.NOT_MEASURED, values, [*remarks, _ALONE])
    warnings = text.count("NCCL WARN")
    if warnings:
        values["warn"] = warnings
    version = _VERSION.search(text)
    if version is not None:
        values["tool_version"] = version[1]
    library = _LIBRARY.search(text)
    if library is not None:
        values["nccl_version"] = int(library[1])
    answers = [Answer.ERROR for _ in lines_with(text, *_FAULTS)]
    if headers:
        answers += _read_table(text, headers[0], values, remarks)
    elif ranks or "# nThread" in text:
        answers.append(Answer.INCOMPLETE)
    else:
        answers.append(Answer.NOT_MEASURED)
    if len(ranks) == 1:
        answers.append(Answer.NOT_MEASURED)
        remarks.append(_ALONE)
    if diagnostics_match(text):
        diagnosis = read_diagnostics(text)
        values.update(diagnosis.values)
        remarks.extend(diagnosis.remarks)
        answers += [answer for answer in (diagnosis.answer,) if answer is Answer.ERROR]
    return reading(TEXT_FORMAT, worst(answers), values, remarks)


def _read_table(text: str, header: re.Match[str], values: dict[str, Scalar], remarks: list[str]) -> list[Answer]:
    names = header.group().replace("cputime", "time").replace("timestamp", "").split()
    rows: list[CollectiveRow] = []
    broken = []
    cycles: Counter[str] = Counter()
    for cells, has_gap in _rows(text[header.end() :]):
        measured = _row(cells, names, is_in_place=has_gap or "out-of-place" not in text)
        if not measured:
            broken.append(cells[0])
        rows += [row._replace(cycle=cycles[cells[0]]) for row in measured]
        # rccl-tests -N repeats all sizes.
        cycles[cells[0]] += "# Testing " in text
    answer, collective = collective_values(rows)
    values.update(collective)
    answers = [answer]
    if broken:
        remarks.append(f"rows are broken and left out: {', '.join(broken)[:100]} bytes")
        answers.append(Answer.INCOMPLETE)
    bounds = _BOUNDS.search(text)
    average = _AVERAGE.search(text)
    if average is not None and number(average[1]) is not None:
        # The mean over all sizes and both modes: for people, never a criterion.
        values["avg_busbw_GBps"] = number(average[1]) or 0.0
    if bounds is None or average is None:
        remarks.append("the table has no end: the run was cut short, or hung")
        answers.append(Answer.INCOMPLETE)
    elif "FAILED" in (bounds[1], average[2]):
        remarks.append("the test says FAILED")
        answers.append(Answer.ERROR)
    return answers


def _rows(body: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the cells of each row, also of one that log lines broke, and whether its out-of-place half is blank."""
    pending: list[str] = []
    has_gap = False
    for line in _LOG.sub("\n", body.partition("# Out of bounds")[0]).splitlines(keepends=True):
        cells = _STAMP.sub("", line.strip()).split()
        if line[-1] != "\n":
            # The last number may have lost digits.
            cells = cells[:-1]
        # A row starts with size, count and a type, which is a word.
        if len(cells) > 2 and cells[0].isdecimal() and cells[1].isdecimal() and cells[2][0].isalpha():
            if pending:
                yield pending, has_gap
            pending = cells
            has_gap = _BLANK_HALF in line.strip()
        elif pending and all(map(_is_value, cells)):
            pending = pending + cells
    if pending:
        yield pending, has_gap


def _is_value(cell: str) -> bool:
    return cell == "N/A" or NUMBER_OR_DEFECT.fullmatch(cell) is not None


def _row(cells: list[str], names: list[str], *, is_in_place: bool) -> list[CollectiveRow]:
    """Return the measurements of a row; none if cells are missing or too many."""
    # Size, count and type; then the operation and the root where the collective has them.
    first = 3 + any(cell[0].isalpha() for cell in cells[3:4]) + ("root" in names)
    columns = names[names.index("time") :]
    halves = columns.count("time")
    if is_in_place and halves > 1:
        columns = columns[: len(columns) // 2]
    size = whole(cells[0])
    measured = cells[first:]
    if len(measured) > len(columns) and measured[len(columns)][0].isalpha():
        # rccl-tests appends the algorithm, the protocol and the channels.
        measured = measured[: len(columns)]
    if size is None or len(measured) != len(columns):
        return []
    starts = [index for index, name in enumerate(columns) if name == "time"]
    rows = []
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        part = dict(zip(columns[start:end], measured[start:end], strict=True))
        if not all(_is_value(cell) for name, cell in part.items() if name in _MEASURED):
            return []
        iterations = {ours: number(part.get(name)) for name, ours in _ITERATION.items()}
        more = {name: value for name, value in iterations.items() if value is not None}
        wrong = whole(part.get("#wrong", part.get("error")))
        place = is_in_place or start > 0
        rows.append(CollectiveRow(size, place, number(part.get("busbw")), number(part["time"]), wrong, more=more))
    return rows


# --- JSON (-J, file versions 1 to 3) ---


_FILE_VERSIONS = (1, 2, 3)


def json_matches(documents: Documents) -> bool:
    """Tell whether the first value is a report of nccl-tests or rccl-tests."""
    return "version" in documents.first and not documents.first.keys().isdisjoint(("nccl_version", "rccl_version"))


def read_json(documents: Documents) -> ToolReading:
    """Read a report. Environment variables are in it, with secrets: nothing of `env` leaves this function."""
    if not documents.is_single:
        return several(JSON_FORMAT, "documents", len(documents.values))
    document = documents.first
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    config = objects(document.get("config"))
    hosts = [str(device.get("hostname")) for part in config for device in objects(part.get("devices"))]
    if hosts:
        values |= {"ranks": len(hosts), "nodes": len(set(hosts))}
    version = whole(document.get("nccl_version", document.get("rccl_version")))
    if version is not None:
        # 2.31.1 is 23101 (NCCL_VERSION of nccl.h, from 2.9 on).
        values["nccl_version"] = f"{version // 10000}.{version // 100 % 100}.{version % 100}"
    answer, collective = collective_values(list(_json_rows(document.get("results"))))
    values.update(collective)
    answers = [answer, *_read_summary(document, values, remarks)]
    if whole(document["version"]) not in _FILE_VERSIONS:
        remarks.append(f"the form of file version {str(document['version'])[:20]} is unknown")
        answers.append(Answer.AMBIGUOUS)
    if documents.cut or "end_time" not in document:
        remarks.append("the file was cut short: the run did not end")
        answers.append(Answer.INCOMPLETE)
    if len(hosts) == 1:
        remarks.append(_ALONE)
        answers.append(Answer.NOT_MEASURED)
    return reading(JSON_FORMAT, worst(answers), values, remarks)


def _read_summary(document: dict[str, Any], values: dict[str, Scalar], remarks: list[str]) -> Iterator[Answer]:
    """Read the two summaries; truth values are text, and "false" is no truth."""
    bounds = document.get("out_of_bounds")
    average = document.get("average_bus_bandwidth")
    if isinstance(bounds, dict):
        if whole(bounds.get("count")) is not None:
            values["out_of_bounds"] = whole(bounds["count"]) or 0
        if "okay" in bounds:
            values["okay"] = bounds["okay"] in ("true", True)
        if values.get("okay") is False:
            yield Answer.ERROR
    if isinstance(average, dict):
        if number(average.get("bandwidth")) is not None:
            values["avg_busbw_GBps"] = number(average["bandwidth"]) or 0.0
        if average.get("okay") in ("false", False):
            remarks.append("the test says FAILED: the average is below NCCL_TESTS_MIN_BW")
            yield Answer.ERROR
    errors = document.get("errors")
    remarks.extend(str(error)[:200] for error in (errors if isinstance(errors, list) else ()) if error)


def _json_rows(results: object) -> Iterator[CollectiveRow]:
    for result in objects(results):
        size = whole(result.get("size"))
        for name in ("out_of_place", "in_place"):
            cells = result.get(name)
            report = result.get(f"{name}_per_iter")
            if size is None or not isinstance(cells, dict):
                continue
            figures = {
                ours: part.get(ours.removeprefix("i_")) for part in objects(report) for ours in _ITERATION.values()
            }
            more = {ours: value for ours, raw in figures.items() if (value := number(raw)) is not None}
            time_us = number(cells.get("time", cells.get("cpu_time")))
            wrong = whole(cells.get("nwrong"))
            yield CollectiveRow(size, name == "in_place", number(cells.get("bus_bw")), time_us, wrong, more=more)


# --- NCCL_RUN_DIAGNOSTICS=1 (NCCL 2.31 on, RCCL): [INFO] is its only word for a failure ---

_DIAGNOSIS = re.compile(r"NCCL DIAG (?:\[(OK|INFO)\] +)?(.*)")
_RATES = re.compile(r"net bw: ([\d.]+)/([\d.]+)/([\d.]+) Gbit/s min/median/max (same|cross)-nic")
_OUTLIER = re.compile(r"net bw: \S+-nic rank (\d+) \(([^)]*)\): [\d.]+ Gbit/s, >")
_EDGES = re.compile(r"p2p: (\d+)/(\d+) directed")
_FAILS = ("mismatch", "failed", "unavailable", "returned", "off median")


def diagnostics_match(text: str) -> bool:
    """Tell whether a report of active diagnostics is in ``text``."""
    return "NCCL DIAG" in text


def read_diagnostics(text: str) -> ToolReading:
    """Read a report. Without rates of the network nothing was measured, whatever the GPUs of a node said."""
    values: dict[str, Scalar] = {}
    has_failed = False
    for tag, message in _DIAGNOSIS.findall(text):
        rates = _RATES.match(message)
        outlier = _OUTLIER.match(message)
        edges = _EDGES.match(message)
        if rates is not None:
            figures = zip(("min", "median", "max"), rates.groups(), strict=False)
            values |= {f"{rates[4]}_nic_{name}_Gbps": number(value) or 0.0 for name, value in figures}
        if outlier is not None and "outlier_rank" not in values:
            values |= {"outlier_rank": whole(outlier[1]) or 0, "outlier_host": outlier[2]}
        fails = tag == "INFO" and any(word in message for word in _FAILS)
        fails |= edges is not None and edges[1] != edges[2]
        if message.startswith("p2p:"):
            values["p2p_ok"] = values.get("p2p_ok") is not False and not fails
        has_failed |= fails
    remarks = lines_with(text, "[INFO]")[:5]
    if has_failed:
        return reading(DIAGNOSTICS_FORMAT, Answer.ERROR, values, remarks)
    if "diagnostics completed" not in text:
        return reading(DIAGNOSTICS_FORMAT, Answer.INCOMPLETE, values, [*remarks, "the report has no end"])
    if not any(name.endswith("_Gbps") for name in values):
        remarks.append("the network was not measured: it takes several nodes with ib_write_bw")
        return reading(DIAGNOSTICS_FORMAT, Answer.NOT_MEASURED, values, remarks)
    return reading(DIAGNOSTICS_FORMAT, Answer.OK, values, remarks)
