"""What rccl-tests writes with -x and -Z: JSON lines (2024), a JSON list, or CSV whose header lacks a name.

Read in ROCm/rccl-tests and ROCm/rocm-systems, projects/rccl-tests/src/common.cu (Reporter, 032d8f63).
"""

import csv
import re
from collections.abc import Mapping, Sequence

from railweave.acceptance.readers.answers import reading, worst
from railweave.acceptance.readers.collectives import CollectiveRow, collective_values
from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

JSON_FORMAT = "rccl-json"
CSV_FORMAT = "rccl-csv"
_HEADER = re.compile(r"numCycle([,;\t])\"?collective", re.IGNORECASE)
_COUNTS = {"nodes": "nodes", "ranks": "ranks", "rankspernode": "ranks_per_node", "gpus": "gpus"}
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")
_LARGEST_TEXT = 2**22


def json_matches(documents: Documents) -> bool:
    """Tell whether there are rows of rccl-tests, in a list or one a line."""
    return any("busBw" in row for row in documents.rows)


def read_json(documents: Documents) -> ToolReading:
    """Read the rows; a row that was cut is left out."""
    rows = [{name.casefold(): value for name, value in row.items()} for row in documents.rows]
    return _read_rows(JSON_FORMAT, rows, is_cut=documents.cut, is_mixed=documents.mixed)


def csv_matches(text: str) -> bool:
    """Tell whether ``text`` starts with the header of rccl-tests."""
    return _HEADER.match(text) is not None


def read_csv(text: str) -> ToolReading:
    """Read the rows, also if a spreadsheet has saved them with the separators of another language."""
    header = _HEADER.match(text)
    separator = "," if header is None else header[1]
    # The csv module refuses null bytes.
    text = text[:_LARGEST_TEXT].replace("\0", "")
    lines: list[list[str]] = []
    try:
        lines.extend(line for line in csv.reader(text.splitlines(), delimiter=separator) if line)
    except csv.Error:
        # A quote that is never closed makes a field of the rest of the file.
        return reading(CSV_FORMAT, Answer.INCOMPLETE, {}, ["a field has no end: the file was cut or mixed"])
    names = [name.strip().casefold() for name in lines[0]]
    if any(len(line) == len(names) + 1 for line in lines) and "nodes" not in names:
        # The MPI build writes `nodes` behind the name of the collective and leaves it out of its header.
        names.insert(2, "nodes")
    last_line = lines[-1]
    # A text without a line end may have been cut within its last cell.
    may_lack_digits = text[-1:] != "\n" and last_line[-1] not in {"0", "N/A"}
    is_cut = len(last_line) < len(names) or may_lack_digits
    rows = lines[1:-1] if is_cut else lines[1:]
    has_decimal_comma = separator != "," and any(re.search(r"\d,\d", cell) for row in rows for cell in row)
    documents = []
    for row in rows:
        cells = [_normalized_number(cell.strip(), has_decimal_comma=has_decimal_comma) for cell in row]
        documents.append(dict(zip(names, cells, strict=False)))
    return _read_rows(CSV_FORMAT, documents, is_cut=is_cut, is_mixed=any(len(row) != len(names) for row in rows))


def _normalized_number(cell: str, *, has_decimal_comma: bool) -> str:
    """Return a cell with a decimal point and without separators of thousands."""
    if has_decimal_comma:
        return cell.replace(".", "").replace(",", ".")
    if _THOUSANDS.fullmatch(cell):
        return cell.replace(",", "")
    return cell


def _read_rows(kind: str, rows: Sequence[Mapping[str, object]], *, is_cut: bool, is_mixed: bool) -> ToolReading:
    """Return the reading of rows, whose names are in lower case; rows without a size or a bandwidth were cut."""
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    measurements = []
    for row in rows:
        size = whole(row.get("size"))
        if size is None or "busbw" not in row:
            is_cut = True
            continue
        measurement = CollectiveRow(
            size=size,
            in_place=whole(row.get("inplace")) == 1,
            busbw=number(row["busbw"]),
            time_us=number(row.get("time")),
            wrong=whole(row.get("wrong", row.get("#wrong"))),
            cycle=whole(row.get("numcycle")) or 0,
        )
        measurements.append(measurement)
    for column, value_name in _COUNTS.items():
        counts = {whole(row.get(column)) for row in rows}
        if len(counts) == 1 and counts != {None}:
            values[value_name] = counts.pop() or 0
    answer, collective = collective_values(measurements)
    values.update(collective)
    answers = [answer]
    collectives = {str(row.get("name", row.get("collective"))) for row in rows}
    if is_mixed or len(collectives) > 1:
        remarks.append("the file holds several collectives, or parts of several outputs: one file a test")
        answers.append(Answer.AMBIGUOUS)
    if is_cut:
        remarks.append("the file was cut short: rows are missing")
        answers.append(Answer.INCOMPLETE)
    return reading(kind, worst(answers), values, remarks)
