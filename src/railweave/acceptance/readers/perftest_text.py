"""perftest's tables, of one host or of several that a launcher collected, and what its lines say beside them."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import mean
from typing import NamedTuple

from railweave.acceptance.readers.answers import reading, several, worst
from railweave.acceptance.readers.perftest import NO_TAIL, PLAIN_VALUES, row_values, setting_values
from railweave.acceptance.readers.text import NUMBER_OR_DEFECT, by_host, lines_with, number
from railweave.acceptance.readings import Answer, Scalar, ToolReading

FORMAT = "perftest-text"

# Headers that are remembered: all files of a run have a few.
_ALIKE = 1_000

_TITLE = re.compile(r"^ {8,}(\S.*) Test *$", re.MULTILINE)
_BARE = re.compile(r"\s*(\d+\.\d{6}\s+)+")
"""What --output=bandwidth, message_rate and latency print: numbers alone."""
_STARTS = ("Couldn't connect to", "Waiting for client to connect", "Failed status", "IB device")
_COLUMNS = {
    "#bytes": "MsgSize",
    "#sl": "sl",
    "#iterations": "n_iterations",
    "BW peak": "BW_peak",
    "BW average": "BW_average",
    "MsgRate[": "MsgRate",
    "CPU_Util": "CPU_util",
    "99% percentile": "percentile_99",
    "99.9% percentile": "percentile_99.9",
    "tps average": "tps_average",
}
_COLUMN = re.compile(r"#\w+|BW \w+|MsgRate\[|MsgRate \w+|CPU_Util|t_\w+|99(?:\.9)?% percentile|tps average")
_SETTINGS = {
    "Device": re.compile(r"Device *: (\S+)"),
    "Number_of_qps": re.compile(r"Number of qps *: (\S+)"),
    "Connection_type": re.compile(r"Connection type *: (\S+)"),
    "Mtu": re.compile(r"Mtu *: (\S+)"),
    "Link_type": re.compile(r"Link type *: (\S+)"),
    "TOS": re.compile(r"TOS *: (\S+)"),
}
_COMPLETION = re.compile(r"Failed status(?:-[^(\n]{0,99}\(| )(\d+).{0,99}?syndrom (0x[0-9a-f]+)")
_COMPLETED = re.compile(r"(?:ccnt|rcnt)=(\d+)")
_WARNINGS = ("Conflicting CPU frequency", "arning:", "WARNING")
_FAULTS = (
    *("Couldn't", "Can't", "Unable to", "Failed", "failed", "not found", "mismatch", "ncompatib", "Problem"),
    *("below bw limit", "below msg_rate limit", "Completion with", "Error occurred", "Segmentation fault", "refused"),
)


def matches(text: str) -> bool:
    """Tell whether perftest wrote ``text``, a file or what a launcher collected."""
    if "#bytes" in text or any(word in text for word in _STARTS):
        return True
    may_have_title = "BW Test" in text or "Latency Test" in text
    if not may_have_title and len(text) >= 200:
        return False
    return _TITLE.search(text) is not None or _BARE.fullmatch(text) is not None


_ADDRESS = re.compile(
    r"\n (?:(?:local|remote) address: (?:(?:LID|QPN|PSN|RKey|VAddr) (?:0x)?[0-9a-f]+ ?)+|GID: [0-9:]+)(?=\n)"
)
"""A line with the address of a queue pair, which differs from test to test and says nothing of its result."""


def read(text: str) -> ToolReading:
    """Read the output of one host, or of several: then the names of values start with ``HOST_``."""
    return _read_alike(_ADDRESS.sub("", text))


# Half of the files of a run are those of servers, which only differ in their addresses.
@lru_cache(maxsize=_ALIKE)
def _read_alike(text: str) -> ToolReading:
    """Read a text without the addresses of queue pairs, so that equal outputs are read once."""
    readings = {host: _read_host(part) for host, part in by_host(text, "#bytes").items()}
    if len(readings) == 1:
        return next(iter(readings.values()))
    values: dict[str, Scalar] = {"hosts": tuple(readings)}
    remarks: list[str] = []
    for host, host_reading in readings.items():
        values.update({f"{host}_{name}": value for name, value in host_reading.values.items()})
        remarks.extend(f"{host}: {remark}" for remark in host_reading.remarks)
    answer = worst(host_reading.answer for host_reading in readings.values())
    return reading(FORMAT, answer, values, remarks)


class _Table(NamedTuple):
    rows: list[dict[str, str]]
    # The unit of its header; that of a latency test means nothing.
    unit: str
    # The last line is the beginning of a row.
    is_cut: bool


def _tables(text: str) -> list[_Table]:
    """Return the tables with rows; --report-both prints one for the sum of both sides, then one for each side."""
    tables = []
    for part in text.split("#bytes")[1:]:
        header, _, body = part.partition("\n")
        unit = "Gb/s" if "Gb/sec" in header else "MiB/s"
        table = _table(_column_names(header), unit, body)
        if table.rows or table.is_cut:
            tables.append(table)
    return tables


def _table(names: tuple[str, ...], unit: str, body: str) -> _Table:
    """Return the table of the lines below a header. Lines with anything but numbers are left out."""
    rows = []
    is_cut = False
    # A number that ends with the text may have lost digits; message rates have six decimals.
    last_decimals = 6 if names[-1] == "MsgRate" else 2
    for line in body.splitlines(keepends=True):
        cells = line.split()
        if not cells or not all(map(NUMBER_OR_DEFECT.fullmatch, cells)):
            continue
        _, _, decimals = cells[-1].partition(".")
        last_is_whole = line[-1] == "\n" or len(decimals) == last_decimals
        is_cut = len(cells) != len(names) or not last_is_whole
        if not is_cut:
            rows.append(dict(zip(names, cells, strict=True)))
    return _Table(rows, unit, is_cut)


@lru_cache(maxsize=_ALIKE)
def _column_names(header: str) -> tuple[str, ...]:
    """Return the names that the JSON has for the columns of a header, which lacks its first word ("#bytes")."""
    return tuple(_COLUMNS.get(name, name) for name in ("#bytes", *_COLUMN.findall(header)))


def _read_host(text: str) -> ToolReading:
    """Return the reading of the output of one host."""
    if _BARE.fullmatch(text):
        remark = "a number alone: neither its unit nor what it measures is in the file (--output)"
        values: dict[str, Scalar] = {"value": number(text.split(maxsplit=1)[0]) or 0.0}
        return reading(FORMAT, Answer.AMBIGUOUS, values, [remark])
    head_end = text.rfind("\n", 0, text.find("#bytes") + 1) + 1
    lines = _head_lines(text[:head_end]).followed_by(_other_lines(text[head_end:]))
    if len(lines.titles) > 1:
        return several(FORMAT, "tests", len(lines.titles))
    values, remarks = _context(text, lines)
    tables = _tables(text)
    if not tables:
        return reading(FORMAT, _answer_without_row(text, lines.faults), values, remarks)
    table, *side_tables = tables
    values |= _side_rates(side_tables)
    is_bidirectional = values.get("bidirectional") is True
    answers = _read_rows(table, values, remarks, is_bidirectional=is_bidirectional)
    _, _, below_header = text.partition("#bytes")
    sizes = {row["MsgSize"] for row in table.rows}
    # The table of all sizes (-a) starts at 2 and ends with a line of dashes.
    has_all_sizes = len(sizes) > 1 or "2" in sizes
    lacks_end = has_all_sizes and "-" * 20 not in below_header
    if lacks_end or any(table.is_cut for table in tables):
        remarks.append("the file ends within the table: rows are missing")
        answers.append(Answer.INCOMPLETE)
    has_faults_below = bool(lines.faults) and bool(lines_with(below_header, *_FAULTS))
    if "wc_status" in values or has_faults_below:
        answers.append(Answer.ERROR)
    return reading(FORMAT, worst(answers), values, remarks)


def _side_rates(tables: Sequence[_Table]) -> dict[str, Scalar]:
    """Return the averages of the local and the remote side; --report-both prints a table for each behind the sum."""
    values: dict[str, Scalar] = {}
    for side, table in zip(("local", "remote"), tables, strict=False):
        if table.rows:
            _, measured = row_values(table.rows[0], table.unit, is_bidirectional=False)
            values[f"avg_Gbps_{side}"] = measured.get("avg_Gbps", 0.0)
    return values


def _read_rows(table: _Table, values: dict[str, Scalar], remarks: list[str], *, is_bidirectional: bool) -> list[Answer]:
    """Add the values of all rows of a table to ``values``, and remarks on them; return their answers."""
    answers = []
    has_one_size = len({row["MsgSize"] for row in table.rows}) == 1
    rates: list[float] = []
    for row in table.rows:
        answer, measured = row_values(row, table.unit, is_bidirectional=is_bidirectional)
        answers.append(answer)
        if answer in {Answer.INVALID, Answer.AMBIGUOUS}:
            remarks.append(f"a row has no number that can be true: {' '.join(row.values())}")
            continue
        for name, value in measured.items():
            if name not in PLAIN_VALUES:
                values[f"{name}_at_{row['MsgSize']}"] = value
        if has_one_size:
            values.update(measured)
        rate = measured.get("avg_Gbps")
        if isinstance(rate, float):
            rates.append(rate)
    if len(table.rows) > 1:
        values["rows"] = len(table.rows)
    # --run_infinitely prints a row every few seconds, with the average since the one before.
    if has_one_size and len(rates) > 1:
        average = round(mean(rates), 2)
        values |= {"avg_Gbps": average, f"avg_Gbps_at_{values['size']}": average, "avg_Gbps_min": min(rates)}
    if Answer.NOT_MEASURED in answers and "t_avg_us" in values:
        remarks.append(NO_TAIL)
    return answers


class _Lines(NamedTuple):
    """The lines of a text beside its tables: titles of tests, settings in their order, warnings and faults."""

    titles: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    faults: tuple[str, ...]

    def followed_by(self, rest: "_Lines") -> "_Lines":
        """Return these lines and those of the rest of a text."""
        return _Lines(
            titles=self.titles + rest.titles,
            settings=self.settings + rest.settings,
            warnings=self.warnings + rest.warnings,
            faults=self.faults + rest.faults,
        )


def _other_lines(text: str) -> _Lines:
    """Return the lines of a text beside its tables."""
    titles = (match[1] for match in map(_TITLE.match, text.split("\n")) if match)
    matches = {name: pattern.search(text) for name, pattern in _SETTINGS.items()}
    settings = ((name, match[1].removesuffix("[B]")) for name, match in matches.items() if match)
    warnings = lines_with(text, *_WARNINGS)
    return _Lines(tuple(titles), tuple(settings), tuple(warnings), tuple(lines_with(text, *_FAULTS)))


@lru_cache(maxsize=_ALIKE)
def _head_lines(text: str) -> _Lines:
    """Return the lines before a table, which are the same in most files of a run."""
    return _other_lines(text)


def _context(text: str, lines: _Lines) -> tuple[dict[str, Scalar], list[str]]:
    """Return the values and remarks that follow from the lines beside the tables."""
    setting_values, setting_remarks = _text_settings(lines.settings, "".join(lines.titles))
    values = dict(setting_values)
    if "Waiting for client to connect" in text:
        values["side"] = "server"
    completion = _COMPLETION.search(text)
    if completion is not None:
        values |= {"wc_status": int(completion[1]), "syndrome": completion[2]}
        completed = _COMPLETED.search(text)
        if completed is not None:
            values["completed"] = int(completed[1])
    if lines.warnings:
        values["warnings"] = len(lines.warnings)
    return values, [*setting_remarks, *lines.warnings[:5], *lines.faults[:5]]


@lru_cache(maxsize=_ALIKE)
def _text_settings(settings: tuple[tuple[str, str], ...], title: str) -> tuple[Mapping[str, Scalar], Sequence[str]]:
    """Return the values and remarks of settings (`setting_values`)."""
    # If a setting occurs twice, the first counts.
    return setting_values(dict(reversed(settings)), title)


def _answer_without_row(text: str, faults: Sequence[str]) -> Answer:
    """Return the answer of a text without rows.

    Its traffic failed (ERROR), it was cut short (INCOMPLETE), or it did not start or does not measure (NOT_MEASURED).
    """
    _, header, below_header = text.partition("#bytes")
    if _COMPLETION.search(text) or (faults and lines_with(below_header, *_FAULTS)):
        return Answer.ERROR
    table_has_ended = header and "-" * 20 in below_header
    if table_has_ended:
        return Answer.NOT_MEASURED
    has_started = header or (_TITLE.search(text) and not faults)
    if has_started:
        return Answer.INCOMPLETE
    return Answer.NOT_MEASURED
