"""One change of one switch costs few readings of FRR's text: it is parsed once, wherever it is needed."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from napalm_sonic import candidate
from napalm_sonic.candidate import CandidateKind, read_candidate
from railweave.sonic.delta import merge
from railweave.sonic.delta.delta import inverse
from railweave.sonic.delta.diff import diff, running_sha256
from railweave.sonic.delta.merge import merge_document
from railweave.sonic.delta.steps import steps_of, undo_steps_of
from railweave.sonic.document import RunningConfig
from railweave.sonic.frr import apply as frr_apply
from railweave.sonic.frr import document as frr_document
from railweave.sonic.rows import DeviceConfig, Row

FRR = "router bgp 65001\n neighbor SPINES peer-group\n neighbor SPINES timers 3 9\nexit\n"
METADATA = {"hostname": "leaf1", "docker_routing_config_mode": "split-unified"}
WANTED = DeviceConfig(
    "leaf1",
    (Row("DEVICE_METADATA", "localhost", METADATA, "why"), Row("PORT", "Ethernet0", {"mtu": "9100"}, "why")),
    FRR.replace("3 9", "1 3"),
)


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[object]:
    """Return a list that grows with every call of a function."""
    calls: list[object] = []
    real: Callable[..., Any] = getattr(module, name)

    def called(*given: Any) -> Any:
        calls.append(given)
        return real(*given)

    monkeypatch.setattr(module, name, called)
    return calls


@pytest.fixture
def running() -> RunningConfig:
    return RunningConfig({"DEVICE_METADATA": {"localhost": METADATA}, "PORT": {"Ethernet0": {"mtu": "9100"}}}, FRR)


def test_a_planned_change_is_parsed_once_from_plan_to_way_back(
    running: RunningConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = counted(monkeypatch, frr_document, "read_lines")
    deltas = counted(monkeypatch, frr_apply, "read_lines")
    merges = counted(monkeypatch, merge, "parse_merge")
    delta = diff("leaf1", running, WANTED).delta
    running_sha256(running, WANTED)
    assert steps_of(delta, running)
    assert undo_steps_of(delta, running)
    assert merge_document(inverse(delta))
    assert (len(texts), len(deltas), len(merges)) == (2, 0, 0)


def test_a_merge_document_is_parsed_when_it_is_loaded_and_when_it_is_compared(
    running: RunningConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = merge_document(diff("leaf1", running, WANTED).delta)
    before = RunningConfig(running.config_db, FRR)
    texts = counted(monkeypatch, frr_document, "read_lines")
    deltas = counted(monkeypatch, frr_apply, "read_lines")
    loaded = counted(monkeypatch, candidate, "parse_merge")
    merges = counted(monkeypatch, merge, "parse_merge")
    delta = read_candidate(CandidateKind.MERGE, None, json.dumps(document)).delta(before)
    assert steps_of(delta, before)
    assert undo_steps_of(delta, before)
    assert (len(texts), len(deltas), len(loaded), len(merges)) == (1, 1, 1, 1)


def test_what_did_not_change_is_compared_once(running: RunningConfig) -> None:
    wanted, other = replace(WANTED), replace(WANTED)
    found = iter(range(9))
    compare = found.__next__
    assert [running.compared_with(wanted, ("leaf1", False), compare) for _ in range(2)] == [0, 0]
    assert running.compared_with(wanted, ("leaf1", True), compare) == 1
    assert running.compared_with(other, ("leaf1", True), compare) == 2
    assert running.compared_with(wanted, ("leaf1", False), compare) == 3
    changed = running.with_tables({**running.config_db, "PORT": {}})
    assert changed.compared_with(wanted, ("leaf1", False), compare) == 4


def test_a_comparison_that_fails_is_done_again(running: RunningConfig) -> None:
    def failing() -> int:
        raise ValueError("unreadable")

    for _ in range(2):
        with pytest.raises(ValueError, match="unreadable"):
            running.compared_with(WANTED, (), failing)
    assert running.compared_with(WANTED, (), lambda: 1) == 1
