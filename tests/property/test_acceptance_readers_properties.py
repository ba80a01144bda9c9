"""Whatever bytes a result file has: a reader raises nothing and reports no rate that the file does not state."""

import re
from collections.abc import Iterator

import pytest
import tool_outputs as tools
from hypothesis import given
from hypothesis import strategies as st

from railweave.acceptance.readers.registry import FORMATS, read_tool_output
from railweave.acceptance.readings import Answer, ToolReading

RATE = re.compile(r"(avg_Gbps|busbw_GBps|p999_us|t_typical_us|received_bps|nic_min_Gbps)")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
OPEN_ENDED = {"rccl-csv", "nhc", "superbench", "cvs-ibperf"}
"""Formats of rows in which nothing tells whether one more was to come; cvs names its nodes itself."""
SIZES = tools.bandwidth_row(2, 0.041) + tools.bandwidth_row(65536, 390.71)
OUTPUTS = (
    *tools.ALL.values(),
    tools.perftest(SIZES),
    tools.perftest(tools.LATENCY_ROW, "RDMA_Write Latency", tools.LATENCY_HEADER),
    tools.perftest(tools.bandwidth_row(65536, 46651.9, 0.008388608), header=tools.MIB_HEADER),
)
SPLICES = (
    "\n",
    "-",
    "nan",
    "0",
    "9",
    "}",
    "{",
    '"',
    ",",
    "\0",
    "# ",
    "#bytes ",
    "node-a: ",
    tools.BANDWIDTH_HEADER,
    "é",
)


def rates(reading: ToolReading) -> Iterator[float]:
    for name, value in reading.values.items():
        if RATE.search(name) and not isinstance(value, str | bool | tuple):
            yield float(value)


def stated(text: str) -> list[float]:
    """Return every number of a text as it is, as MiB/s in Gb/s, and halved, as a bidirectional sum is."""
    numbers = [float(number) for number in NUMBER.findall(text)]
    both = numbers + [number * 0.008388608 for number in numbers]
    return both + [number / 2 for number in both]


def is_sound(reading: ToolReading) -> bool:
    parts = reading.format.split(", ")
    assert isinstance(reading.answer, Answer)
    assert all(part in ("", *FORMATS) for part in parts)
    assert all(isinstance(value, int | float | str | bool | tuple) for value in reading.values.values())
    return reading.answer is Answer.OK


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes) -> None:
    is_sound(read_tool_output(data))


@given(st.sampled_from(OUTPUTS), st.floats(0, 1))
def test_a_file_that_was_cut_has_no_other_rate_than_the_whole(text: str, share: float) -> None:
    whole = read_tool_output(text.encode())
    cut = read_tool_output(text[: int(share * len(text))].encode())
    assert {*rates(cut)} <= {*rates(whole)}
    if is_sound(cut) and whole.format not in OPEN_ENDED:
        assert {*rates(cut)} == {*rates(whole)}


@given(st.sampled_from(OUTPUTS), st.data())
def test_a_file_that_was_changed_has_only_rates_that_are_in_it(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = min(len(text), start + data.draw(st.integers(0, 30)))
        text = text[:start] + data.draw(st.sampled_from((*SPLICES, text[start:stop] * 2))) + text[stop:]
    reading = read_tool_output(text.encode("utf-8", "surrogatepass"))
    is_sound(reading)
    numbers = stated(text)
    for rate in rates(reading):
        # Converted rates are rounded to the digits that perftest prints.
        assert any(abs(rate - number) <= 0.0051 for number in numbers), (rate, reading)


@given(st.sampled_from(OUTPUTS), st.sampled_from(OUTPUTS), st.integers(1, 40), st.integers(1, 40))
def test_two_files_line_by_line_have_no_rate_of_neither(first: str, second: str, step: int, other: int) -> None:
    parts = [first[at : at + step * 20] + second[at * other // step : (at + step * 20) * other // step]
             for at in range(0, len(first), step * 20)]  # fmt: skip
    text = "".join(parts)
    reading = read_tool_output(text.encode())
    is_sound(reading)
    numbers = stated(text)
    assert all(any(abs(rate - number) <= 0.0051 for number in numbers) for rate in rates(reading))


@pytest.mark.parametrize("first", [tools.PERFTEST, tools.PERFTEST_JSON, tools.NCCL, tools.NCCL_JSON, tools.IPERF3])
def test_a_file_of_two_runs_is_no_value(first: str) -> None:
    reading = read_tool_output((first + first).encode())
    assert reading.answer is Answer.AMBIGUOUS
    assert not list(rates(reading))
