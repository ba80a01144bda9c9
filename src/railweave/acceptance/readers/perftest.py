"""perftest (ib_write_bw, ib_send_lat and so on) from its own arithmetic: units, directions and what was not measured.

Read in perftest 4.4 to 26.04 (linux-rdma/perftest, src/perftest_parameters.c). "MB/sec" is 2^20 byte/s in all releases
(``format_factor``), a bidirectional value is the sum of both directions, and READ has no half round trip. Rows of
tables have the names of its JSON here.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import add
from statistics import mean
from typing import NamedTuple

from railweave.acceptance.readers.answers import reading, several, worst
from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.text import NUMBER_OR_DEFECT, by_host, lines_with, number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

TEXT_FORMAT = "perftest-text"
JSON_FORMAT = "perftest-json"
_GBPS_OF_MIBPS = 2**20 * 8 / 1e9
_ECN = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
_FULL_MTU = 4096
_HEADERS_BYTES = 82
"""Of each packet beside its payload: Ethernet with preamble, gap and FCS, IPv4, UDP, BTH and ICRC."""
_LATENCIES = {
    "t_min": "t_min_us",
    "t_typical": "t_typical_us",
    "percentile_99": "p99_us",
    "percentile_99.9": "p999_us",
    "t_max": "t_max_us",
    "t_avg": "t_avg_us",
    "tps_average": "tps",
}
"""Names of the JSON with ours, from the shortest time on. Deviations are truncated to integers, so t_stdev is none."""
_PLAIN = ("size", "iterations", "sl", "cpu_util_pct", "avg", "msgrate_Mpps", "derived_unit")


def row_values(row: Mapping[str, object], stated: str, *, is_bidirectional: bool) -> tuple[Answer, dict[str, Scalar]]:
    """Return the answer and values of a row; ``stated`` is the unit of its header, empty where it has none."""
    size = whole(row.get("MsgSize"))
    iterations = whole(row.get("n_iterations"))
    if not size or iterations is None or size < 0 or iterations < 0:
        return Answer.INVALID, {}
    if not iterations:
        return Answer.NOT_MEASURED, {}
    values: dict[str, Scalar] = {"size": size, "iterations": iterations}
    for name, ours in (("sl", "sl"), ("CPU_util", "cpu_util_pct")):
        more = number(row.get(name))
        if more is not None:
            values[ours] = more
    if "BW_average" not in row:
        answer, measured = _latencies(row)
    else:
        answer, measured = _bandwidth(row, size, stated, is_bidirectional=is_bidirectional)
    return answer, values | measured


def _latencies(row: Mapping[str, object]) -> tuple[Answer, dict[str, Scalar]]:
    values: dict[str, Scalar] = {}
    for name, ours in _LATENCIES.items():
        value = number(row.get(name))
        if name in row and (value is None or value < 0):
            return Answer.INVALID, {}
        if value is not None:
            values[ours] = value
    ordered = [value for name, value in values.items() if name not in {"t_avg_us", "tps"}]
    if ordered != sorted(ordered):
        return Answer.INVALID, {}
    if "p999_us" not in values:
        return Answer.NOT_MEASURED, {**values, "p999_us": Answer.NOT_MEASURED.value}
    return Answer.OK, values


def _bandwidth(
    row: Mapping[str, object], size: int, stated: str, *, is_bidirectional: bool
) -> tuple[Answer, dict[str, Scalar]]:
    average = number(row.get("BW_average"))
    rate = number(row.get("MsgRate"))
    peak = number(row.get("BW_peak"))
    if average is None or rate is None or average < 0 or rate < 0:
        return Answer.INVALID, {}
    if not average:
        return Answer.NOT_MEASURED, {}
    values: dict[str, Scalar] = {"avg": average, "msgrate_Mpps": rate}
    unit = _unit(average, rate, size)
    if not unit and not stated:
        return Answer.AMBIGUOUS, values
    if not unit and rate >= _LEAST_RATE:
        return Answer.INVALID, values
    unit = unit or stated
    gbps = _as_gbps(average, unit)
    if is_bidirectional:
        values |= {"avg_Gbps_sum": gbps, "avg_Gbps_per_direction": round(gbps / 2, 6)}
    else:
        values["avg_Gbps"] = gbps
    if unit == "MiB/s":
        values["avg_MiBps"] = average
    values["derived_unit"] = unit
    ports = {f"port{port}_Gbps": number(row.get(f"BW Port{port}")) for port in (1, 2)}
    values |= {name: _as_gbps(rate, unit) for name, rate in ports.items() if rate is not None}
    # Duration mode and --noPeak print 0.00 for a peak that nobody measured.
    if peak:
        values["peak_Gbps"] = _as_gbps(peak, unit)
    else:
        values["peak"] = Answer.NOT_MEASURED.value
    return Answer.OK, values


_LEAST_RATE = 50e-6
"""Of messages in millions a second: below it six decimals are too few to tell the units apart."""


def _unit(average: float, rate: float, size: int) -> str:
    """Return the unit in which the average fits the message rate; nothing if neither fits."""
    gbps = rate * size * 8 / 1000
    if rate >= _LEAST_RATE:
        slack = max(0.02, 1e-6 / rate, 0.01 / average)
        for unit, scale in (("Gb/s", 1.0), ("MiB/s", _GBPS_OF_MIBPS)):
            if abs(average * scale - gbps) <= slack * gbps:
                return unit
    return ""


def _as_gbps(value: float, unit: str) -> float:
    if unit == "Gb/s":
        return value
    gbps = value * _GBPS_OF_MIBPS
    if gbps < 1:
        return round(gbps, 6)
    return round(gbps, 2)


def _settings(settings: Mapping[str, object], title: str) -> tuple[dict[str, Scalar], list[str]]:
    """Return device, MTU, queue pairs, marking and directions from the names of the JSON, and doubts that follow."""
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    if title:
        values["test"] = title
    for name, ours in (("Device", "device"), ("Link_type", "link"), ("Connection_type", "connection")):
        if isinstance(settings.get(name), str):
            values[ours] = str(settings[name])
    mtu = whole(settings.get("Mtu"))
    tos = whole(settings.get("TOS"))
    counts = {"qps": whole(settings.get("Number_of_qps")), "mtu": mtu, "tos": tos}
    values |= {name: count for name, count in counts.items() if count is not None}
    if mtu and 0 < mtu < _FULL_MTU:
        share = mtu / (mtu + _HEADERS_BYTES)
        remarks.append(f"the path MTU is {mtu}: at most {share:.1%} of the line rate is payload; check the MTU first")
    if values.get("link") == "IB":
        remarks.append("the link type is InfiniBand: this is not a test of RoCE")
    if tos is not None and 0 <= tos < 256:
        values |= {"dscp": tos >> 2, "ecn": _ECN[tos & 3]}
    if "Bidirectional" in title:
        values["bidirectional"] = True
        remarks.append("the value is the sum of both directions")
    if "Latency" in title and ("Read" in title or "Atomic" in title):
        values["round_trip"] = True
        remarks.append("READ and ATOMIC latency is the full round trip, that of WRITE and SEND half of it")
    return values, remarks


# Headers that are remembered: all files of a run have a few.
_ALIKE = 1_000

_NO_TAIL = "the tail is not measured in duration mode: use iterations"

# --- tables ---

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


def text_matches(text: str) -> bool:
    """Tell whether perftest wrote ``text``, a file or what a launcher collected."""
    if "#bytes" in text or any(word in text for word in _STARTS):
        return True
    return ("BW Test" in text or "Latency Test" in text or len(text) < 200) and bool(
        _TITLE.search(text) or _BARE.fullmatch(text)
    )


_ADDRESS = re.compile(
    r"\n (?:(?:local|remote) address: (?:(?:LID|QPN|PSN|RKey|VAddr) (?:0x)?[0-9a-f]+ ?)+|GID: [0-9:]+)(?=\n)"
)
"""A line with the address of a queue pair, which differs from test to test and says nothing of its result."""


def read_text(text: str) -> ToolReading:
    """Read one or several hosts; with several, names of values start with ``HOST_``."""
    return _read_alike(_ADDRESS.sub("", text))


# Half of the files of a run are those of servers, which only differ in their addresses.
@lru_cache(maxsize=_ALIKE)
def _read_alike(text: str) -> ToolReading:
    readings = {host: _read_host(part) for host, part in by_host(text, "#bytes").items()}
    if len(readings) == 1:
        return next(iter(readings.values()))
    values: dict[str, Scalar] = {"hosts": tuple(readings)}
    remarks: list[str] = []
    for host, part in readings.items():
        values.update({f"{host}_{name}": value for name, value in part.values.items()})
        remarks.extend(f"{host}: {remark}" for remark in part.remarks)
    return reading(TEXT_FORMAT, worst(part.answer for part in readings.values()), values, remarks)


class _Table(NamedTuple):
    rows: list[dict[str, str]]
    # The unit of its header; a latency test has none.
    unit: str
    # The last line is the beginning of a row.
    is_cut: bool


def _tables(text: str) -> list[_Table]:
    """Return the tables with rows: --report-both prints the sum of both sides, then each of them."""
    tables = []
    for part in text.split("#bytes")[1:]:
        header, _, body = part.partition("\n")
        names = _column_names(header)
        table = _Table([], "Gb/s" if "Gb/sec" in header else "MiB/s", is_cut=False)
        for line in body.splitlines(keepends=True):
            cells = line.split()
            if not cells or not all(map(NUMBER_OR_DEFECT.fullmatch, cells)):
                continue
            # Without a line end the last number may have lost digits; message rates have six behind the point.
            digits = 6 if names[-1] == "MsgRate" else 2
            is_whole = line[-1] == "\n" or len(cells[-1].partition(".")[2]) == digits
            table = table._replace(is_cut=len(cells) != len(names) or not is_whole)
            if not table.is_cut:
                table.rows.append(dict(zip(names, cells, strict=True)))
        if table.rows or table.is_cut:
            tables.append(table)
    return tables


@lru_cache(maxsize=_ALIKE)
def _column_names(header: str) -> tuple[str, ...]:
    return tuple(_COLUMNS.get(name, name) for name in ("#bytes", *_COLUMN.findall(header)))


def _read_host(text: str) -> ToolReading:
    if _BARE.fullmatch(text):
        remark = "a number alone: neither its unit nor what it measures is in the file (--output)"
        values: dict[str, Scalar] = {"value": number(text.split(maxsplit=1)[0]) or 0.0}
        return reading(TEXT_FORMAT, Answer.AMBIGUOUS, values, [remark])
    head_end = text.rfind("\n", 0, text.find("#bytes") + 1) + 1
    lines = _Lines(*map(add, _head_lines(text[:head_end]), _lines(text[head_end:])))
    if len(lines.titles) > 1:
        return several(TEXT_FORMAT, "tests", len(lines.titles))
    faults = lines.faults
    values, remarks = _context(text, lines)
    tables = _tables(text)
    if not tables:
        return reading(TEXT_FORMAT, _answer_without_row(text, faults), values, remarks)
    is_bidirectional = values.get("bidirectional") is True
    for side, table in zip(("local", "remote"), tables[1:], strict=False):
        for row in table.rows[:1]:
            values[f"avg_Gbps_{side}"] = row_values(row, table.unit, is_bidirectional=False)[1].get("avg_Gbps", 0.0)
    answers = _read_rows(tables[0], values, remarks, is_bidirectional=is_bidirectional)
    sizes = {row["MsgSize"] for row in tables[0].rows}
    _, _, rest = text.partition("#bytes")
    # All sizes (-a) start at 2 and end with a line.
    has_more = "-" * 20 not in rest and (len(sizes) > 1 or "2" in sizes)
    if has_more or any(table.is_cut for table in tables):
        remarks.append("the file ends within the table: rows are missing")
        answers.append(Answer.INCOMPLETE)
    if "wc_status" in values or (faults and lines_with(rest, *_FAULTS)):
        answers.append(Answer.ERROR)
    return reading(TEXT_FORMAT, worst(answers), values, remarks)


def _read_rows(table: _Table, values: dict[str, Scalar], remarks: list[str], *, is_bidirectional: bool) -> list[Answer]:
    answers = []
    is_single = len({row["MsgSize"] for row in table.rows}) == 1
    rates: list[float] = []
    for row in table.rows:
        answer, measured = row_values(row, table.unit, is_bidirectional=is_bidirectional)
        answers.append(answer)
        if answer in {Answer.INVALID, Answer.AMBIGUOUS}:
            remarks.append(f"a row has no number that can be true: {' '.join(row.values())}")
            continue
        values.update({f"{name}_at_{row['MsgSize']}": more for name, more in measured.items() if name not in _PLAIN})
        if is_single:
            values.update(measured)
        rates += [rate for rate in (measured.get("avg_Gbps"),) if isinstance(rate, float)]
    if len(table.rows) > 1:
        values["rows"] = len(table.rows)
    # --run_infinitely prints a row every few seconds, each of its own time.
    if is_single and len(rates) > 1:
        average = round(mean(rates), 2)
        values |= {"avg_Gbps": average, f"avg_Gbps_at_{values['size']}": average, "avg_Gbps_min": min(rates)}
    if Answer.NOT_MEASURED in answers and "t_avg_us" in values:
        remarks.append(_NO_TAIL)
    return answers


class _Lines(NamedTuple):
    """What lines say beside the table: titles of tests, settings in their order, warnings and faults."""

    titles: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    faults: tuple[str, ...]


def _lines(text: str) -> _Lines:
    titles = (match[1] for match in map(_TITLE.match, text.split("\n")) if match)
    matches = {name: pattern.search(text) for name, pattern in _SETTINGS.items()}
    settings = ((name, match[1].removesuffix("[B]")) for name, match in matches.items() if match)
    warnings = lines_with(text, *_WARNINGS)
    return _Lines(tuple(titles), tuple(settings), tuple(warnings), tuple(lines_with(text, *_FAULTS)))


@lru_cache(maxsize=_ALIKE)
def _head_lines(text: str) -> _Lines:
    """Return the lines before a table, which are the same in most files of a run."""
    return _lines(text)


def _context(text: str, lines: _Lines) -> tuple[dict[str, Scalar], list[str]]:
    stated, doubts = _text_settings(lines.settings, "".join(lines.titles))
    values = dict(stated)
    remarks = list(doubts)
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
    return values, [*remarks, *lines.warnings[:5], *lines.faults[:5]]


@lru_cache(maxsize=_ALIKE)
def _text_settings(settings: tuple[tuple[str, str], ...], title: str) -> tuple[Mapping[str, Scalar], Sequence[str]]:
    # Of a setting that occurs twice the first counts.
    return _settings(dict(reversed(settings)), title)


def _answer_without_row(text: str, faults: Sequence[str]) -> Answer:
    """Tell why there is no row: traffic failed, the test never started, this side does not measure, or it was cut."""
    _, header, rest = text.partition("#bytes")
    if _COMPLETION.search(text) or (faults and lines_with(rest, *_FAULTS)):
        return Answer.ERROR
    if header and "-" * 20 in rest:
        return Answer.NOT_MEASURED
    if header or (_TITLE.search(text) and not faults):
        return Answer.INCOMPLETE
    return Answer.NOT_MEASURED


# --- --out_json ---


def json_matches(documents: Documents) -> bool:
    """Tell whether the first value is that of perftest."""
    return isinstance(documents.first.get("test_info"), dict)


def read_json(documents: Documents) -> ToolReading:
    """Read a result: JSON from 24.01 on, bare words before; of all sizes of -a only the last is left."""
    if not documents.is_single:
        return several(JSON_FORMAT, "documents", len(documents.values))
    settings = documents.first["test_info"]
    title = str(settings.get("test", "")).replace("_", " ").removesuffix(" Test")
    values, remarks = _settings(settings, title)
    remarks += [str(value) for name, value in settings.items() if name.startswith("WARNING")]
    results = documents.first.get("results")
    if documents.cut or not isinstance(results, dict):
        return reading(JSON_FORMAT, Answer.INCOMPLETE, values, [*remarks, "the file was cut short: it has no result"])
    if not results.keys() & {"BW_average", "t_avg", "percentile_99.9"} or "MsgSize" not in results:
        values.update({name: value for name, value in results.items() if number(value) is not None})
        remarks.append("a number alone: neither its unit nor its size is in the file (--output)")
        return reading(JSON_FORMAT, Answer.AMBIGUOUS, values, remarks)
    answer, measured = row_values(results, "", is_bidirectional=values.get("bidirectional") is True)
    values.update(measured)
    if answer is Answer.NOT_MEASURED and "t_avg_us" in values:
        remarks.append(_NO_TAIL)
    elif answer is not Answer.OK:
        remarks.append("there is no rate that can be true, or the average fits the message rate in no unit")
    elif "bidirectional" in values:
        remarks.append("with --report-both only the half of the remote side is left in the file")
        answer = Answer.AMBIGUOUS
    # Releases before 24.01 write no quotes at all; QoS results of all releases leave out those of `sl`.
    elif not documents.strict and "sl" not in results and "BW_average" in results:
        remarks.append("no JSON: perftest before 24.01; the unit follows from the message rate")
        answer = Answer.AMBIGUOUS
    return reading(JSON_FORMAT, answer, values, remarks)
