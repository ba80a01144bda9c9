"""The table of nccl-tests and rccl-tests, also where log lines of NCCL break its rows."""

import re
from itertools import pairwise
from typing import NamedTuple

from railweave.acceptance.readers import nccl_diagnostics
from railweave.acceptance.readers.collectives import CollectiveRow, collective_values
from railweave.acceptance.readers.perftest import reading, worst
from railweave.acceptance.readers.text import NUMBER_OR_DEFECT, by_host, first_lines, number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

FORMAT = "nccl-text"
_HEADER = re.compile(r"^# +size +count .*$", re.MULTILINE)
_SIGNS = re.compile(r"# +size +count +type|# nThread \d+ nGpus|Test NCCL failure|\bNCCL WARN\b|# [nr]ccl-tests version")
# NCCL writes a line of its own into the output of all ranks, in newer versions behind a time stamp.
_LOG = re.compile(r"\n?(?:\[\d{4}-\d\d-\d\d [\d:]+\] )?[\w.-]+:\d+:\d+ \[-?\d+\] (?:.*?)NCCL (?:INFO|WARN|TRACE).*\n?")
_RANK = re.compile(r"^# +Rank +(\d+) .*? on +(\S+) device", re.MULTILINE)
_LIBRARY = re.compile(r"[nr]ccl-library=(\d+)")
_BOUNDS = re.compile(r"^# Out of bounds values +: (\d+) (OK|FAILED)", re.MULTILINE)
_AVERAGE = re.compile(r"^# Avg bus bandwidth +: (\S+) *(FAILED)?", re.MULTILINE)
_WARN = re.compile(r"\bNCCL WARN\b")
_FAULT = re.compile(r"Test (NCCL|CUDA|HIP) failure|Test timeout|NCCL failure|# error:|Segmentation fault|out of memory")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
_FAILS = re.compile(r"Test (NCCL|CUDA|HIP) failure|Test timeout|NCCL failure|Segmentation fault|out of memory")
_MEASURED = ("time", "algbw", "busbw", "#wrong", "error")
_ITERATION = {"i_min": "i_min_us", "i_max": "i_max_us", "i_p99": "i_p99_us", "i_cv%": "i_cv_pct"}


def matches(text: str) -> bool:
    """Tell whether nccl-tests or rccl-tests wrote ``text``, or NCCL in place of them."""
    return bool(_SIGNS.search(text))


def read(text: str) -> ToolReading:
    """Read the table of a run; several tables are those of ranks that never met, or of several runs."""
    hosts = by_host(text, r"# +size +count ")
    text = "".join(hosts.values())
    warnings = _WARN.findall(text)
    remarks = [*first_lines(text, _WARN), *first_lines(text, _FAULT)]
    headers = list(_HEADER.finditer(text))
    ranks = dict(_RANK.findall(text))
    values: dict[str, Scalar] = {"ranks": len(ranks), "nodes": len(set(ranks.values()))}
    if warnings:
        values["warn"] = len(warnings)
    library = _LIBRARY.search(text)
    if library is not None:
        values["nccl_version"] = int(library[1][:9])
    if len(headers) > 1:
        return _several(text, headers, remarks)
    if not headers:
        return reading(FORMAT, _without_table(text), values, remarks)
    answers = _read_table(text, headers[0], values, remarks)
    if len(ranks) == 1:
        remarks.append("one rank alone: no network was used (a build without MPI=1?)")
        answers.append(Answer.NOT_MEASURED)
    if nccl_diagnostics.matches(text):
        diagnosis = nccl_diagnostics.read(text)
        values.update(diagnosis.values)
        remarks.extend(diagnosis.remarks)
        answers += [answer for answer in (diagnosis.answer,) if answer is Answer.ERROR]
    return reading(FORMAT, worst(answers), values, remarks)


def _several(text: str, headers: list[re.Match[str]], remarks: list[str]) -> ToolReading:
    ranks = _RANK.findall(text)
    values: dict[str, Scalar] = {"tables": len(headers), "ranks_each": round(len(ranks) / len(headers))}
    if all(rank == "0" for rank, _ in ranks):
        remarks.append("each process is rank 0 of 1: no network was used (a build without MPI=1?)")
        return reading(FORMAT, Answer.NOT_MEASURED, values, remarks)
    remarks.append(f"{len(headers)} runs in one file: one file a test")
    return reading(FORMAT, Answer.AMBIGUOUS, values, remarks)


def _without_table(text: str) -> Answer:
    if _FAILS.search(text):
        return Answer.ERROR
    if _RANK.search(text) or "# nThread" in text:
        return Answer.INCOMPLETE
    return Answer.NOT_MEASURED


def _read_table(text: str, header: re.Match[str], values: dict[str, Scalar], remarks: list[str]) -> list[Answer]:
    table = _rows(text[header.end() :], _columns(header.group()), is_halved="out-of-place" not in text)
    answer, measured = collective_values(table.rows)
    values.update(measured)
    answers = [answer]
    if table.broken:
        sizes = ", ".join(table.broken)
        remarks.append(f"the rows of {sizes} bytes are broken: they are left out")
        answers.append(Answer.INCOMPLETE)
    bounds = _BOUNDS.search(text)
    average = _AVERAGE.search(text)
    if average is not None and number(average[1]) is not None:
        # The mean over all sizes and both modes: for people, never a criterion.
        values["avg_busbw_GBps"] = number(average[1]) or 0.0
    if bounds is None:
        remarks.append("the table has no end: the run was cut short, or hung")
        answers.append(Answer.INCOMPLETE)
    elif bounds[2] == "FAILED" or (average is not None and average[2]):
        remarks.append("the test says FAILED")
        answers.append(Answer.ERROR)
    if _FAILS.search(text):
        answers.append(Answer.ERROR)
    return answers


class _Rows(NamedTuple):
    rows: list[CollectiveRow]
    # Sizes of rows that could not be put together again.
    broken: list[str]


def _columns(header: str) -> list[str]:
    """Return the names of the measured columns, of out of place and in place in this order."""
    names = header.replace("cputime", "time").replace("timestamp", "").split()
    if "time" not in names:
        return []
    return names[names.index("time") :]


def _rows(body: str, columns: list[str], *, is_halved: bool) -> _Rows:
    result = _Rows([], [])
    if not columns:
        return result
    end = body.find("# Out of bounds")
    pending: list[str] = []
    for line in _LOG.sub("\n", body[: end if end >= 0 else len(body)]).splitlines(keepends=True):
        tokens = _STAMP.sub("", line.strip()).split()
        if not tokens or tokens[0].startswith("#"):
            continue
        if _begins_row(tokens):
            _keep(result, pending, columns, is_halved=is_halved)
            pending = []
        elif not pending or not all(map(_is_value, tokens)):
            continue
        pending.extend(tokens)
        if line[-1:] != "\n":
            # The last number may have lost digits.
            pending = pending[:-1]
    _keep(result, pending, columns, is_halved=is_halved)
    return result


def _is_value(cell: str) -> bool:
    return cell == "N/A" or NUMBER_OR_DEFECT.fullmatch(cell) is not None


def _begins_row(tokens: list[str]) -> bool:
    """Tell whether a line starts with size, count and a type, which is a word."""
    return len(tokens) > 2 and tokens[0].isdigit() and tokens[1].isdigit() and tokens[2][0].isalpha()


def _keep(result: _Rows, tokens: list[str], columns: list[str], *, is_halved: bool) -> None:
    """Add the measurements of a row, or its size to the broken ones."""
    if not tokens:
        return
    names = columns
    # Before the measured columns: size, count and type, with redop and root where the operation has them.
    if len(tokens) - len(names) < 3 and len(tokens) - len(names) // 2 in {3, 4, 5}:
        names = columns[: len(columns) // 2]
        is_halved = True
    lead = tokens[: -len(names)]
    measured = tokens[-len(names) :]
    size = whole(tokens[0])
    values = (token for name, token in zip(names, measured, strict=True) if name in _MEASURED or name in _ITERATION)
    if len(lead) not in {3, 4, 5} or size is None or not all(map(_is_value, values)):
        result.broken.append(tokens[0])
        return
    starts = [index for index, name in enumerate(names) if name == "time"] + [len(names)]
    for place, (start, stop) in enumerate(pairwise(starts)):
        cells = dict(zip(names[start:stop], measured[start:stop], strict=True))
        wrong = whole(cells.get("#wrong", cells.get("error")))
        more = {ours: number(cells[name]) or 0.0 for name, ours in _ITERATION.items() if name in cells}
        row = CollectiveRow(
            size, is_halved or place == 1, number(cells.get("busbw")), number(cells["time"]), wrong, more=more
        )
        result.rows.append(row)
