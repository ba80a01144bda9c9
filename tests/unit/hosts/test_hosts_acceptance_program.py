"""The program of acceptance tests on a node, as Ansible runs it: bounds, what it stores, and that nothing stays."""

import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acceptance_nodes import MODULE, RECORDED, ModuleNodes

pytestmark = pytest.mark.slow
REQUEST: dict[str, Any] = {
    "plan": "abc",
    "blocks": ["b1"],
    "has": [],
    "nics": ["rail0"],
    "programs": ["ib_write_bw", "iperf3"],
}


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[ModuleNodes]:
    made = ModuleNodes(tmp_path, ["gpu1"])
    yield made
    made.answer("stop", "gpu1", REQUEST)
    assert made.processes() == []


def work(*tests: list[tuple[str, ...]], round_s: float = 1.0) -> dict[str, Any]:
    """Return a block whose rounds run these words, from now on."""
    # Python has to start before that, on a machine that other tests keep busy.
    start = time.time() + 4.0
    rounds = []
    for number, words in enumerate(tests):
        read = start + number * (round_s + 0.3)
        own = [
            {"test": f"t{number}-{place}", "serves": place == 0, "words": each, "instead": []}
            for place, each in enumerate(words)
        ]
        times = {"read": read, "serve": read + 0.1, "send": read + 0.2, "end": read + round_s + 0.3}
        rounds.append({"round": f"r{number}", **times, "tests": own})
    return {**REQUEST, "work": {"version": 1, "plan": "abc", "block": "b1", "rounds": rounds}}


def fetched(nodes: ModuleNodes, after_s: float) -> list[Any]:
    """Return the lines of the block once its supervisor has ended."""
    deadline = time.monotonic() + after_s + 20
    while time.monotonic() < deadline:
        document = nodes.answer("fetch", "gpu1", REQUEST).document
        if not document["runs"] and document["blocks"]:
            lines: list[Any] = document["blocks"]["b1"]
            return lines
    raise AssertionError("the supervisor did not end")


def test_a_block_runs_without_its_controller_and_ends_what_hangs(nodes: ModuleNodes) -> None:
    assert nodes.answer("prepare", "gpu1", REQUEST).document["versions"] == {
        "ib_write_bw": "ib_write_bw Version: 6.20",
        "iperf3": None,
    }
    request = work([("ib_write_bw",)], [("ib_write_bw", "-x", "--hang"), ("nothing", "-c")], round_s=4.0)
    assert nodes.answer("start", "gpu1", request).error == ""
    lines = fetched(nodes, 13)
    assert [line["reading"] for line in lines if "reading" in line] == [0, 1, 2]
    assert lines[0]["nics"] == {"rail0": {"tx_bytes_phy": 12}}
    results = {line["test"]: line for line in lines if "test" in line}
    assert (results["t0-0"]["out"], results["t0-0"]["why"], results["t0-0"]["meta"]["rc"]) == (RECORDED, "", 0)
    assert results["t1-0"]["why"] == "ib_write_bw did not end within 4 s, its bound"
    assert results["t1-1"]["why"] == "nothing is not installed"
    assert nodes.processes() == []


def test_the_end_of_a_supervisor_ends_its_tests_and_what_is_done_stays(nodes: ModuleNodes) -> None:
    nodes.answer("prepare", "gpu1", REQUEST)
    nodes.answer("start", "gpu1", work([("ib_write_bw",)], [("ib_write_bw", "-x", "--hang")], round_s=4.0))
    deadline = time.monotonic() + 20
    # Those of the second round: the tool of the first sleeps as well, for a fifth of a second.
    while not any("sleep\x0060" in words for words in nodes.processes()) and time.monotonic() < deadline:
        time.sleep(0.1)
    answer = nodes.answer("start", "gpu1", work([("ib_write_bw",)]))
    assert answer.error == "tests of another block still run on it"
    stored = nodes.answer("prepare", "gpu1", REQUEST).document["blocks"]["b1"]
    assert [line["test"] for line in stored if "test" in line] == ["t0-0"]
    assert nodes.processes() == []


def test_a_node_that_is_started_late_says_so(nodes: ModuleNodes) -> None:
    request = work([("ib_write_bw",)])
    request["work"]["rounds"][0]["serve"] = time.time() - 1
    assert nodes.answer("start", "gpu1", request).error == "it was started after its first round began"


def test_a_part_that_is_not_known_and_a_folder_that_cannot_be_made_are_named(nodes: ModuleNodes) -> None:
    assert "must be one of prepare, start" in nodes.answer("all", "gpu1", REQUEST).error
    (nodes.roots["gpu1"] / "var").write_text("")
    error = nodes.answer("prepare", "gpu1", REQUEST).error
    assert error.endswith("/var/lib: Not a directory")


def test_a_supervisor_has_the_time_of_a_reading_after_its_last_round() -> None:
    spec = importlib.util.spec_from_file_location("acceptance_program", MODULE)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    last = {"read": 50.0, "serve": 70.0, "send": 75.0, "end": 100.0}
    assert program.lease_end(last) == 100.0 + 20.0 + program.LEASE_MARGIN_S
