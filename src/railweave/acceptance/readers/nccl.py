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
    """Read the table of a run. Several tables are those of ranks that never met, or of several runs: none is read."""
    text = "".join(by_host(text, "# ").values())
    remarks = [*lines_with(text, "NCCL WARN")[:5], *lines_with(text, *_FAULTS, "# error:")[:5]]
    ranks = _RANK.findall(text)
    headers = list(_HEADER.finditer(text))
    if len(headers) > 1:
        if any(rank != "0" for rank, _ in ranks):
            return several(TEXT_FORMAT, "tables", len(headers))
        values: dict[str, Scalar] = {"tables": len(headers), "ranks_each": 1}
        return reading(TEXT_FORMAT, Answer.NOT_MEASURED, values, [*remarks, _ALONE])
    values = {"ranks": len(dict(ranks)), "nodes": len({host for _, host in ranks}), **_head_values(text)}
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
        if diagnosis.answer is Answer.ERROR:
            answers.append(Answer.ERROR)
    return reading(TEXT_FORMAT, worst(answers), values, remarks)


def _head_values(text: str) -> dict[str, Scalar]:
    """Return the number of warnings and the versions of the tool and of NCCL, as far as they are in the text."""
    values: dict[str, Scalar] = {}
    warnings = text.count("NCCL WARN")
    if warnings:
        values["warn"] = warnings
    version = _VERSION.search(text)
    if version is not None:
        values["tool_version"] = version[1]
    library = _LIBRARY.search(text)
    if library is not None:
        values["nccl_version"] = int(library[1])
    return values


def _read_table(text: str, header: re.Match[str], values: dict[str, Scalar], remarks: list[str]) -> list[Answer]:
    """Add the values of a table and of the lines below it to ``values``, and remarks on them; return their answers."""
    names = header.group().replace("cputime", "time").replace("timestamp", "").split()
    rows: list[CollectiveRow] = []
    broken_sizes = []
    # rccl-tests -N repeats all sizes; each repetition is a cycle.
    has_cycles = "# Testing " in text
    cycle_of_size: Counter[str] = Counter()
    for cells, has_blank_half in _table_rows(text[header.end() :]):
        size = cells[0]
        measurements = _measurements(cells, names, is_in_place=has_blank_half or "out-of-place" not in text)
        if not measurements:
            broken_sizes.append(size)
        rows += [measurement._replace(cycle=cycle_of_size[size]) for measurement in measurements]
        if has_cycles:
            cycle_of_size[size] += 1
    answer, collective = collective_values(rows)
    values.update(collective)
    answers = [answer]
    if broken_sizes:
        remarks.append(f"rows are broken and left out: {', '.join(broken_sizes)[:100]} bytes")
        answers.append(Answer.INCOMPLETE)
    bounds = _BOUNDS.search(text)
    average = _AVERAGE.search(text)
    average_busbw = number(average[1]) if average is not None else None
    if average_busbw is not None:
        # The mean over all sizes and both modes: for people, never a criterion.
        values["avg_busbw_GBps"] = average_busbw or 0.0
    if bounds is None or average is None:
        remarks.append("the table has no end: the run was cut short, or hung")
        answers.append(Answer.INCOMPLETE)
    elif "FAILED" in (bounds[1], average[2]):
        remarks.append("the test says FAILED")
        answers.append(Answer.ERROR)
    return answers


def _table_rows(body: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the cells of each row of the table, and whether its out-of-place half is blank.

    A row that lines of the log have split is put together again.
    """
    row: list[str] = []
    has_blank_half = False
    table, _, _ = body.partition("# Out of bounds")
    for line in _LOG.sub("\n", table).splitlines(keepends=True):
        cells = _STAMP.sub("", line.strip()).split()
        if not line.endswith("\n"):
            # The text ends within this line, so its last number may have lost digits.
            cells = cells[:-1]
        if _starts_row(cells):
            if row:
                yield row, has_blank_half
            row = cells
            has_blank_half = _BLANK_HALF in line.strip()
        elif row and all(map(_is_value, cells)):
            # The rest of a row behind a log line.
            row = row + cells
    if row:
        yield row, has_blank_half


def _starts_row(cells: list[str]) -> bool:
    """Tell whether cells begin with a size, a count and a type, which is a word."""
    return len(cells) > 2 and cells[0].isdecimal() and cells[1].isdecimal() and cells[2][0].isalpha()


def _is_value(cell: str) -> bool:
    return cell == "N/A" or NUMBER_OR_DEFECT.fullmatch(cell) is not None


def _measurements(cells: list[str], names: list[str], *, is_in_place: bool) -> list[CollectiveRow]:
    """Return the measurements of a row of the table, out of place and in place.

    ``names`` are those of the columns. There are no measurements if cells are missing, too many or no values.
    """
    # Size, count and type; then the operation and the root where the collective has them.
    has_operation = len(cells) > 3 and cells[3][0].isalpha()
    first_value = 3 + has_operation + ("root" in names)
    columns = names[names.index("time") :]
    # A run in place alone leaves the half of the columns that is out of place blank.
    if is_in_place and columns.count("time") > 1:
        columns = columns[: len(columns) // 2]
    size = whole(cells[0])
    measured = cells[first_value:]
    if len(measured) > len(columns) and measured[len(columns)][0].isalpha():
        # rccl-tests appends the algorithm, the protocol and the channels.
        measured = measured[: len(columns)]
    if size is None or len(measured) != len(columns):
        return []
    # Each half of the columns begins with a time.
    starts = [index for index, name in enumerate(columns) if name == "time"]
    rows = []
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        cell_of = dict(zip(columns[start:end], measured[start:end], strict=True))
        if not all(_is_value(cell) for name, cell in cell_of.items() if name in _MEASURED):
            return []
        iterations = {value_name: number(cell_of.get(column)) for column, value_name in _ITERATION.items()}
        row = CollectiveRow(
            size=size,
            in_place=is_in_place or start > 0,
            busbw=number(cell_of.get("busbw")),
            time_us=number(cell_of["time"]),
            wrong=whole(cell_of.get("#wrong", cell_of.get("error"))),
            more={name: value for name, value in iterations.items() if value is not None},
        )
        rows.append(row)
    return rows


# --- JSON (-J, file versions 1 to 3) ---


_FILE_VERSIONS = (1, 2, 3)


def json_matches(documents: Documents) -> bool:
    """Tell whether the first value is a report of nccl-tests or rccl-tests."""
    return "version" in documents.first and not documents.first.keys().isdisjoint(("nccl_version", "rccl_version"))


def read_json(documents: Documents) -> ToolReading:
    """Read a report. It contains environment variables, perhaps secrets: nothing of `env` is put into the reading."""
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
    """Add the values of the results' summaries to ``values``, and remarks on them; yield an answer for each failure.

    Truth values are text, such as "false".
    """
    bounds = document.get("out_of_bounds")
    average = document.get("average_bus_bandwidth")
    if isinstance(bounds, dict):
        count = whole(bounds.get("count"))
        if count is not None:
            values["out_of_bounds"] = count
        if "okay" in bounds:
            values["okay"] = bounds["okay"] in ("true", True)
        if values.get("okay") is False:
            yield Answer.ERROR
    if isinstance(average, dict):
        bandwidth = number(average.get("bandwidth"))
        if bandwidth is not None:
            values["avg_busbw_GBps"] = bandwidth or 0.0
        if average.get("okay") in ("false", False):
            remarks.append("the test says FAILED: the average is below NCCL_TESTS_MIN_BW")
            yield Answer.ERROR
    errors = document.get("errors")
    if isinstance(errors, list):
        remarks.extend(str(error)[:200] for error in errors if error)


def _json_rows(results: object) -> Iterator[CollectiveRow]:
    """Yield the measurements of all sizes, out of place and in place."""
    for result in objects(results):
        size = whole(result.get("size"))
        for place in ("out_of_place", "in_place"):
            cells = result.get(place)
            if size is None or not isinstance(cells, dict):
                continue
            yield CollectiveRow(
                size=size,
                in_place=place == "in_place",
                busbw=number(cells.get("bus_bw")),
                time_us=number(cells.get("time", cells.get("cpu_time"))),
                wrong=whole(cells.get("nwrong")),
                more=_iteration_values(result.get(f"{place}_per_iter")),
            )


def _iteration_values(report: object) -> dict[str, float]:
    """Return the values of iterations in a report. If it is a list, the last object counts."""
    parts = objects(report)
    if not parts:
        return {}
    values = {}
    for name in _ITERATION.values():
        value = number(parts[-1].get(name.removeprefix("i_")))
        if value is not None:
            values[name] = value
    return values


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
        if rates is not None:
            lowest, median, highest, nics = rates.groups()
            for name, rate in (("min", lowest), ("median", median), ("max", highest)):
                values[f"{nics}_nic_{name}_Gbps"] = number(rate) or 0.0
        outlier = _OUTLIER.match(message)
        if outlier is not None and "outlier_rank" not in values:
            values |= {"outlier_rank": whole(outlier[1]) or 0, "outlier_host": outlier[2]}
        edges = _EDGES.match(message)
        lacks_edges = edges is not None and edges[1] != edges[2]
        reports_failure = tag == "INFO" and any(phrase in message for phrase in _FAILS)
        is_failure = lacks_edges or reports_failure
        if message.startswith("p2p:"):
            values["p2p_ok"] = values.get("p2p_ok") is not False and not is_failure
        has_failed = has_failed or is_failure
    remarks = lines_with(text, "[INFO]")[:5]
    if has_failed:
        return reading(DIAGNOSTICS_FORMAT, Answer.ERROR, values, remarks)
    if "diagnostics completed" not in text:
        return reading(DIAGNOSTICS_FORMAT, Answer.INCOMPLETE, values, [*remarks, "the report has no end"])
    if not any(name.endswith("_Gbps") for name in values):
        remarks.append("the network was not measured: it takes several nodes with ib_write_bw")
        return reading(DIAGNOSTICS_FORMAT, Answer.NOT_MEASURED, values, remarks)
    return reading(DIAGNOSTICS_FORMAT, Answer.OK, values, remarks)
