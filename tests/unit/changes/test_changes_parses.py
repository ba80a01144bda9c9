"""One change of one switch costs few readings of FRR's text: it is parsed once, wherever it is needed."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from napalm_sonic import candidate
from napalm_sonic.candidate import CandidateKind, read_candidate
from railweave.sonic.delta import diff as diff_module
from railweave.sonic.delta import merge
from railweave.sonic.delta.delta import inverse
from railweave.sonic.delta.diff import compare, diff
from railweave.sonic.delta.digest import running_sha256
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

    def called(*given: Any, **named: Any) -> Any:
        calls.append(given)
        return real(*given, **named)

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


def test_what_did_not_change_is_compared_once(running: RunningConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, other = replace(WANTED), replace(WANTED)
    diffs = counted(monkeypatch, diff_module, "diff")
    assert [compare("leaf1", running, wanted).sha256 for _ in range(2)] == [running_sha256(running, wanted)] * 2
    assert len(diffs) == 1
    compare("leaf1", running, wanted, remove_conflicting=True)
    compare("leaf1", running, other, remove_conflicting=True)
    compare("leaf1", running, wanted)
    assert len(diffs) == 4
    compare("leaf1", running.with_tables({**running.config_db, "PORT": {}}), wanted)
    assert len(diffs) == 5


def test_a_comparison_that_fails_is_done_again(running: RunningConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_values: Any, **_options: Any) -> NoReturn:
        raise ValueError("unreadable")

    with monkeypatch.context() as broken:
        broken.setattr(diff_module, "diff", failing)
        for _ in range(2):
            with pytest.raises(ValueError, match="unreadable"):
                compare("leaf1", running, WANTED)
    assert compare("leaf1", running, WANTED).difference.delta
