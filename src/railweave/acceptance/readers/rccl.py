"""What rccl-tests writes with -x and -Z: JSON lines (2024), a JSON list, or CSV whose header lacks a name."""

import csv
import re
from collections.abc import Iterator

from railweave.acceptance.readers.collectives import CollectiveRow, collective_values
from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.perftest import reading, worst
from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

JSON_FORMAT = "rccl-json"
CSV_FORMAT = "rccl-csv"
_HEADER = re.compile(r"numCycle[,;\t]\"?collective", re.IGNORECASE)
_COUNTS = {"nodes": "nodes", "ranks": "ranks", "rankspernode": "ranks_per_node", "gpus": "gpus"}
_GROUPED = re.compile(r"[-+]?\d{1,3}([.,])\d{3}(\1\d{3})*")


def json_matches(documents: Documents) -> bool:
    """Tell whether there are rows of rccl-tests, in a list or one a line."""
    return any("busBw" in row for row in _json_rows(documents))


def read_json(documents: Documents) -> ToolReading:
    """Read the rows; one that was cut is left out."""
    rows = [{name.casefold(): value for name, value in row.items()} for row in _json_rows(documents)]
    return _read(JSON_FORMAT, rows, is_cut=documents.cut, is_mixed=documents.mixed)


def _json_rows(documents: Documents) -> Iterator[dict[str, object]]:
    for value in documents.values:
        for row in value if isinstance(value, list) else [value]:
            if isinstance(row, dict):
                yield row


def csv_matches(text: str) -> bool:
    """Tell whether ``text`` starts with the header of rccl-tests."""
    return _HEADER.search(text.partition("\n")[0]) is not None


def read_csv(text: str) -> ToolReading:
    """Read the rows, also as a spreadsheet of another language saves them."""
    delimiter = _HEADER.search(text.partition("\n")[0])
    separator = "," if delimiter is None else delimiter.group()[8]
    # The module refuses null bytes; a field has a largest size as well.
    lines = list(csv.reader(text.replace("\0", "").splitlines(), delimiter=separator)) if len(text) < 2**20 else []
    header = [name.strip().casefold() for name in lines[0]] if lines else []
    rows = []
    is_cut = False
    for line in lines[1:]:
        names = header
        # The MPI build writes `nodes` behind the name of the collective and leaves it out of its header.
        if len(line) == len(header) + 1 and "nodes" not in header:
            names = [*header[:2], "nodes", *header[2:]]
        if len(line) == len(names):
            rows.append(dict(zip(names, line, strict=True)))
        elif line:
            is_cut = True
    if not text.endswith("\n") and rows and str(rows[-1].get("#wrong", rows[-1].get("wrong"))) not in {"0", "N/A"}:
        is_cut = True
        rows.pop()
    decimal = _decimal_sign(rows, separator)
    return _read(CSV_FORMAT, [_english(row, decimal) for row in rows], is_cut=is_cut, is_mixed=False)


def _decimal_sign(rows: list[dict[str, str]], separator: str) -> str:
    """Return the decimal sign: a comma where another sign separates fields and some number has one."""
    cells = [cell for row in rows for cell in row.values()]
    if separator != "," and any(re.search(r"\d,\d", cell) for cell in cells):
        return ","
    return "."


def _english(row: dict[str, str], decimal: str) -> dict[str, object]:
    """Return the cells with decimal points and without separators of thousands."""
    cells: dict[str, object] = {}
    for name, cell in row.items():
        text = cell.strip()
        grouped = _GROUPED.fullmatch(text)
        if decimal == ",":
            text = text.replace(".", "").replace(",", ".")
        elif grouped is not None and grouped[1] == ",":
            text = text.replace(",", "")
        cells[name] = text
    return cells


def _read(kind: str, rows: list[dict[str, object]], *, is_cut: bool, is_mixed: bool) -> ToolReading:
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    measured = []
    for row in rows:
        size = whole(row.get("size"))
        if size is None or "busbw" not in row:
            is_cut = True
            continue
        wrong = whole(row.get("wrong", row.get("#wrong")))
        in_place = whole(row.get("inplace")) == 1
        cycle = whole(row.get("numcycle")) or 0
        measured.append(CollectiveRow(size, in_place, number(row["busbw"]), number(row.get("time")), wrong, cycle))
    for name, ours in _COUNTS.items():
        counts = {whole(row.get(name)) for row in rows} - {None}
        if len(counts) == 1:
            values[ours] = counts.pop() or 0
    names = {str(row.get("name", row.get("collective"))) for row in rows}
    answer, collective = collective_values(measured)
    values.update(collective)
    answers = [answer]
    if len(names) > 1:
        remarks.append(f"several collectives in one file: {', '.join(sorted(names))[:200]}")
        answers.append(Answer.AMBIGUOUS)
    if is_mixed or values.get("ranks", values.get("ranks_per_node", 0)) < values.get("nodes", 0):  # type: ignore[operator]
        remarks.append("the file holds parts of several outputs")
        answers.append(Answer.AMBIGUOUS)
    if is_cut:
        remarks.append("the file was cut short: rows are missing")
        answers.append(Answer.INCOMPLETE)
    return reading(kind, worst(answers), values, remarks)
