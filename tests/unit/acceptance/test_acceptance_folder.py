"""The folder of results: which node measures, several files of a node, other plans, versions, clocks and gaps."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import tool_outputs as tools

from railweave.acceptance.contents import content_of
from railweave.acceptance.folder import is_tested_version, measuring_nodes, read_meta, read_results
from railweave.acceptance.measured import measured_value
from railweave.acceptance.model import (
    AcceptancePlan,
    JudgeSettings,
    Level,
    Metric,
    NicPort,
    PlannedTest,
    RoundKind,
    Tool,
)
from railweave.acceptance.readers.registry import read_tool_output
from railweave.acceptance.readings import Answer

PAIR = PlannedTest(
    id="r001-0001",
    round="r001",
    kind=RoundKind.ISOLATED,
    tool=Tool.PERFTEST,
    sender=NicPort("gpu1", 0, 0),
    receiver=NicPort("gpu2", 0, 0),
    group=(),
    queue_pairs=4,
    message_bytes=65536,
    argv={},
    limits=(),
)
GROUP = PAIR._replace(
    id="r002-0001",
    tool=Tool.NCCL,
    receiver=None,
    group=(NicPort("gpu1", 0, 0), NicPort("gpu2", 0, 0)),
    message_bytes=1073741824,
)
PLAN = AcceptancePlan(
    fabric="pod",
    intent_sha256="",
    level=Level.SMOKE,
    seed=1,
    duration_s=60,
    rounds=(),
    tests=(PAIR,),
    links=(),
    devices=(),
    nodes=(),
    classes=(),
    settings=JudgeSettings(0.05, 0.02, 0.96, 0.05),
)
META = {"started": 100.0, "ended": 130.0, "rc": 0, "argv": ["ib_write_bw"], "tool_version": "perftest 25.10.0"}


def write(root: Path, name: str, content: str | dict[str, Any], test: str = PAIR.id) -> None:
    path = root / "results" / test / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def read(root: Path) -> tuple[list[tuple[str, str]], list[str]]:
    results, diagnostics = read_results(root, PLAN)
    shown = [f"{one.severity} {one.code} {one.message.replace(str(root), 'DIR')}" for one in diagnostics]
    return [(result.node, result.reading.answer.value) for result in results], shown


def test_sender_and_receiver_are_read_and_the_sender_measures(tmp_path: Path) -> None:
    write(tmp_path, "gpu1.txt", tools.PERFTEST)
    write(tmp_path, "gpu1.meta.json", META)
    write(tmp_path, "gpu2.txt", tools.perftest(""))
    write(tmp_path, "gpu2.meta.json", META)
    assert read(tmp_path) == ([("gpu1", "ok"), ("gpu2", "not-measured")], [])
    assert measuring_nodes(PAIR) == ("gpu1",)
    assert measuring_nodes(GROUP) == ("gpu1", "gpu2")


def test_a_test_without_a_result_of_its_sender_is_missing(tmp_path: Path) -> None:
    write(tmp_path, "gpu2.txt", tools.perftest(""))
    write(tmp_path, "gpu2.meta.json", META)
    missing = "error RW925 tests without a result of the node that measures: r001-0001"
    assert read(tmp_path)[1] == [missing]
    assert read(tmp_path / "nothing") == ([], [missing])


def test_without_meta_a_result_counts_with_a_warning(tmp_path: Path) -> None:
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON)
    results, shown = read(tmp_path)
    assert results == [("gpu1", "ok")]
    assert shown == ["warning RW922 1 results have no meta file: their plan, time and version are unknown"]


def test_a_result_of_another_plan_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(b"{}")
    digest = hashlib.sha256(b"{}").hexdigest()
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON)
    write(tmp_path, "gpu1.meta.json", {**META, "plan_sha256": digest})
    assert read(tmp_path) == ([("gpu1", "ok")], [])
    write(tmp_path, "gpu1.meta.json", {**META, "plan_sha256": "ab" * 32})
    results, shown = read(tmp_path)
    assert results == []
    assert shown[0] == ("error RW922 results of another plan (plan_sha256 abababababab…): r001-0001 of gpu1")


def test_an_unknown_version_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON)
    write(tmp_path, "gpu1.meta.json", {**META, "tool_version": "perftest 31.01"})
    results, shown = read(tmp_path)
    assert results == []
    assert shown[0] == "error RW924 the output of 'perftest 31.01' is unknown: r001-0001 of gpu1"


@pytest.mark.parametrize(
    ("version", "is_tested"),
    [
        ("", True),
        ("perftest 26.04.17", True),
        ("ib_write_bw Version: 6.06", True),
        ("nccl-tests version 2.19.6", True),
        ("nccl-tests 3.1.0", False),
        ("rccl-tests 2.17.9", True),
        ("iperf 3.12", True),
        ("iperf 2.1.9", False),
        ("perftest 27.01", False),
        ("qperf 0.4", False),
    ],
)
def test_versions_whose_source_the_readers_follow(version: str, *, is_tested: bool) -> None:
    assert is_tested_version(version) is is_tested


def test_several_files_of_a_node(tmp_path: Path) -> None:
    write(tmp_path, "gpu1.meta.json", META)
    write(tmp_path, "gpu1.txt", tools.perftest(tools.bandwidth_row(65536, 391.84)))
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON)
    write(tmp_path, "gpu1.json.0", "")
    assert read(tmp_path) == ([("gpu1", "ok")], [])
    write(tmp_path, "gpu1.txt", tools.perftest(tools.bandwidth_row(65536, 200.0)))
    results, shown = read(tmp_path)
    assert results == [("gpu1", "ambiguous")]
    assert shown == ["error RW923 several results that differ: gpu1.json, gpu1.txt: r001-0001 of gpu1"]


def test_cut_mixed_unknown_and_foreign_files_are_reported(tmp_path: Path) -> None:
    write(tmp_path, "gpu1.meta.json", META)
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON[:-40])
    write(tmp_path, "gpu2.txt", "hello\n")
    write(tmp_path, "gpu2.meta.json", META)
    write(tmp_path, "gpu3.txt", tools.PERFTEST)
    write(tmp_path, "gpu1.txt", tools.PERFTEST, test="r009-0001")
    assert read(tmp_path)[1] == [
        "error RW923 the file was cut short: it has no result: r001-0001 of gpu1",
        "error RW924 no known format in gpu2.txt: r001-0001 of gpu2",
        "error RW921 a node that takes no part has a result: r001-0001 of gpu3",
        "error RW921 results of no test of the plan: r009-0001",
    ]
    write(tmp_path, "gpu1.json", tools.PERFTEST + tools.NCCL)
    assert read(tmp_path)[1][0] == (
        "error RW923 output of several programs in one file: perftest-text, nccl-text: r001-0001 of gpu1"
    )


def test_a_version_in_the_output_counts_too(tmp_path: Path) -> None:
    write(tmp_path, "gpu1.meta.json", META)
    write(tmp_path, "gpu1.json", tools.IPERF3.replace("iperf 3.16", "iperf 4.0"))
    assert read(tmp_path)[1][0] == "error RW924 the output of 'iperf 4.0' is unknown: r001-0001 of gpu1"


def test_a_file_of_several_runs_is_reported_and_a_derived_unit_is_not(tmp_path: Path) -> None:
    write(tmp_path, "gpu1.meta.json", META)
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON * 2)
    assert read(tmp_path) == (
        [("gpu1", "ambiguous")],
        ["error RW923 the file holds 2 documents, or parts of them: one a file: r001-0001 of gpu1"],
    )
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON.replace('"', ""))
    assert read(tmp_path) == ([("gpu1", "ambiguous")], [])


def test_a_node_takes_its_own_part_of_what_a_launcher_collected(tmp_path: Path) -> None:
    outputs = {"gpu1": tools.PERFTEST, "gpu2": tools.perftest(tools.bandwidth_row(65536, 200.0))}
    lines = [f"{host}: {line}" for host, text in outputs.items() for line in text.splitlines(keepends=True)]
    write(tmp_path, "gpu1.txt", "".join(lines))
    results, _ = read_results(tmp_path, PLAN)
    assert measured_value(results[0].reading, Metric.BANDWIDTH, PAIR) == 391.34


def test_a_tool_that_failed_has_no_result(tmp_path: Path) -> None:
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON)
    write(tmp_path, "gpu1.meta.json", {**META, "rc": 1})
    results, shown = read(tmp_path)
    assert results == [("gpu1", "error")]
    assert shown == ["error RW923 the tool ended with status 1, although it has a result: r001-0001 of gpu1"]


def test_clocks_that_differ_are_reported(tmp_path: Path) -> None:
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON)
    write(tmp_path, "gpu1.meta.json", {**META, "started": 900.0, "ended": 800.0, "host": "gpu1"})
    write(tmp_path, "gpu2.txt", tools.perftest(""))
    write(tmp_path, "gpu2.meta.json", META)
    assert read(tmp_path)[1] == [
        "error RW926 the clocks of its nodes differ, or went backwards: no time is common to all of them: r001-0001",
    ]


def test_a_meta_file_is_read_as_far_as_it_is_sound(tmp_path: Path) -> None:
    assert read_meta(b"{") is None
    assert read_meta(b"[]") is None
    meta = read_meta(b'{"started": "now", "rc": 0.5, "host": 7}')
    assert meta is not None
    assert meta == (None, None, None, "", "", "")
    write(tmp_path, "gpu1.json", tools.PERFTEST_JSON)
    write(tmp_path, "gpu1.meta.json", "{")
    assert read(tmp_path)[1] == ["error RW923 a meta file is not JSON: r001-0001 of gpu1"]


@pytest.mark.parametrize(
    ("text", "metric", "test", "expected"),
    [
        (tools.PERFTEST, Metric.BANDWIDTH, PAIR, 391.34),
        (tools.PERFTEST, Metric.BANDWIDTH, PAIR._replace(message_bytes=4096), Answer.NOT_MEASURED),
        (tools.PERFTEST, Metric.LATENCY_P999, PAIR, Answer.NOT_MEASURED),
        (tools.PERFTEST_JSON.replace('"', ""), Metric.BANDWIDTH, PAIR, 391.84),
        (tools.PERFTEST + tools.PERFTEST, Metric.BANDWIDTH, PAIR, Answer.AMBIGUOUS),
        (tools.perftest(""), Metric.BANDWIDTH, PAIR, Answer.NOT_MEASURED),
        (tools.PERFTEST_JSON.replace("Write_BW", "Write_Bidirectional_BW"), Metric.BANDWIDTH, PAIR, Answer.AMBIGUOUS),
        (
            tools.PERFTEST.replace("Link type       : Ethernet", "Link type       : IB"),
            Metric.BANDWIDTH,
            PAIR,
            Answer.NOT_MEASURED,
        ),
        (
            tools.perftest(tools.bandwidth_row(65536, 779.66), "RDMA_Write Bidirectional BW"),
            Metric.BANDWIDTH,
            PAIR,
            389.83,
        ),
        (
            tools.perftest(tools.LATENCY_ROW, "RDMA_Read Latency", tools.LATENCY_HEADER),
            Metric.LATENCY_P999,
            PAIR._replace(message_bytes=8),
            Answer.NOT_MEASURED,
        ),
        (
            tools.perftest(tools.LATENCY_ROW, "RDMA_Write Latency", tools.LATENCY_HEADER),
            Metric.LATENCY_P999,
            PAIR._replace(message_bytes=8),
            7.5,
        ),
        (tools.IPERF3, Metric.BANDWIDTH, PAIR, 9.4),
        (tools.NCCL, Metric.BUS_BANDWIDTH, GROUP, 379.93),
        (tools.NCCL_HEADER + tools.NCCL_LARGE, Metric.BUS_BANDWIDTH, GROUP, Answer.INCOMPLETE),
    ],
)
def test_the_value_of_a_metric_is_that_of_the_planned_size(
    text: str, metric: Metric, test: PlannedTest, expected: float | Answer
) -> None:
    assert measured_value(read_tool_output(text.encode()), metric, test) == expected


def test_a_file_that_states_no_size_is_read_up_to_the_limit() -> None:
    with pytest.raises(OSError, match="the file is too large for a result"):
        content_of("/dev/zero", most_bytes=1000)
    assert content_of("/proc/self/stat").startswith(f"{os.getpid()} ".encode())


def test_a_file_system_that_answers_with_parts_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "result").write_bytes(b"0123456789")
    read_whole = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, size: read_whole(descriptor, min(size, 3)))
    assert content_of(str(tmp_path / "result")) == b"0123456789"
