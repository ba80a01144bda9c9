"""`deploy --from`: the order of phases, nodes and cables, with switches and nodes played by the test."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from railweave.api import hosts, phased
from railweave.api.comparing import PhasedChange
from railweave.api.deploying import DeployOptions
from railweave.api.phasing import LivePhases
from railweave.api.project import Project
from railweave.catalog.load import load_catalog
from railweave.cli.terminal import Terminal, show_phases
from railweave.design.build import design
from railweave.errors import RefusedError, UsageError
from railweave.hosts.outcome import HostResult, HostsRun, HostState
from railweave.intent.load import load_intent_text
from railweave.plan.outcome import DeployResult, DeviceOutcome, Outcome, Result
from railweave.plan.phase_progress import Waiting
from railweave.plan.phases import phases

WEAVE = """
fabric: weave
workload: {kind: inference}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}}
topology:
  shape: rail-optimized
  oversubscription: "3:1"
  leaf:  {model: sonic-vs, count: 2}
  spine: {model: sonic-vs, count: %d}
"""
MARKING = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [24], lossless: true, priority: 4, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""
AGREED = DeployOptions(provision=True)


def designed(text: str) -> Any:
    intent = load_intent_text(text, "weave.yml")
    return SimpleNamespace(intent=intent, fabric=design(intent, load_catalog()).fabric)


def result_of(outcome: Result = Result.DONE, *, interrupted: bool = False) -> DeployResult:
    reached = Outcome.NEW if outcome is not Result.STOPPED else Outcome.OLD
    return DeployResult(outcome, {"weave-leaf1": DeviceOutcome(reached)}, interrupted=interrupted)


@dataclass
class Stage:
    """What the played switches and nodes do, and what was asked of them."""

    done: int = 0
    missing: Callable[[int], Waiting | None] = lambda number: None
    manages_nodes: bool = False
    node_states: HostState = HostState.UNCHANGED
    results: dict[int, DeployResult | None] = field(default_factory=dict)
    deployed: list[tuple[int, bool]] = field(default_factory=list)
    nodes_applied: int = 0


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    played = Stage()

    def deployment(project: Project, target: str, options: DeployOptions, *, reviewed: Path | None, live: Any) -> Any:
        played.deployed.append((live, options.single_step))
        return played.results.get(live, result_of())

    def nodes(project: Project, target: str) -> Any:
        names = ("gpu1", "gpu2")

        def run() -> HostsRun:
            return HostsRun("weave", target, True, tuple(HostResult(name, played.node_states) for name in names))

        def apply() -> HostsRun:
            played.nodes_applied += 1
            return run()

        return SimpleNamespace(plan=run, apply=apply)

    monkeypatch.setattr(LivePhases, "done", lambda self, asked=None: played.done)
    monkeypatch.setattr(LivePhases, "missing_cables", lambda self, number: played.missing(number))
    monkeypatch.setattr(LivePhases, "live_to_deploy", lambda self, number: number)
    monkeypatch.setattr(phased, "deploy", deployment)
    monkeypatch.setattr(hosts, "managed", lambda project, target: played.manages_nodes)
    monkeypatch.setattr(hosts, "live_nodes", nodes)
    return played


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    def made(head: str, number: int | None = None, quiet: bool = True, reviewed: Path | None = None) -> tuple[int, Any]:
        base, wanted = designed(WEAVE % 2), designed(head)
        change = PhasedChange("main", base.fabric, wanted, phases(base.fabric, wanted.fabric))
        monkeypatch.setattr(phased, "live_phases", lambda project, target, base: LivePhases(project, change, target))
        project = Project(Path("weave.yml"), Terminal(quiet=quiet))
        done = phased.deploy_phases(project, "sim", AGREED, base="main", phase=number, reviewed=reviewed)
        status = show_phases(done, as_json=quiet)
        out = capsys.readouterr().out
        return status, json.loads(out) if quiet else out

    return made


def test_managed_nodes_change_between_the_switches_and_only_then_the_old_marking_goes(stage: Stage, run: Any) -> None:
    stage.manages_nodes = True
    status, told = run(WEAVE % 2 + MARKING)
    assert (status, told["waiting"]) == (0, None)
    assert stage.deployed == [(1, False), (3, True)]
    assert stage.nodes_applied == 1
    assert [step["number"] for step in told["steps"]] == [1, 2, 3]


def test_nodes_that_fail_keep_the_old_marking_on_the_switches(stage: Stage, run: Any) -> None:
    stage.manages_nodes, stage.node_states = True, HostState.FAILED
    status, _ = run(WEAVE % 2 + MARKING)
    assert status == 1
    assert stage.deployed == [(1, False)]


def test_nodes_are_seen_to_again_when_the_switches_are_past_them(stage: Stage, run: Any) -> None:
    # Switches look alike before and after the nodes change.
    stage.done, stage.manages_nodes = 2, True
    assert run(WEAVE % 2 + MARKING)[0] == 0
    assert stage.nodes_applied == 1
    assert stage.deployed == [(3, True)]


def test_nodes_of_others_are_waited_for_and_the_words_say_how_to_go_on(stage: Stage, run: Any) -> None:
    stage.done = 2
    status, told = run(WEAVE % 2 + MARKING)
    assert (status, stage.deployed) == (0, [])
    assert (told["waiting"]["for"], told["waiting"]["then"]) == ("nodes", "railweave deploy --from main --phase 3")
    _, words = run(WEAVE % 2 + MARKING, quiet=False)
    assert "roce: DSCP 24, priority 4" in words


def test_the_last_phase_is_refused_while_managed_nodes_would_still_change(stage: Stage, run: Any) -> None:
    stage.done, stage.manages_nodes, stage.node_states = 2, True, HostState.CHANGED
    with pytest.raises(RefusedError, match="gpu1, gpu2 would still change"):
        run(WEAVE % 2 + MARKING, 3)
    stage.node_states = HostState.UNCHANGED
    assert run(WEAVE % 2 + MARKING, 3)[0] == 0
    assert stage.deployed == [(3, True)]


SMALLER = "mtu: {fabric: 4300, hosts: 4200}\n"


def test_a_smaller_mtu_goes_to_the_managed_nodes_before_the_switches(stage: Stage, run: Any) -> None:
    stage.manages_nodes, stage.done = True, 1
    status, told = run(WEAVE % 2 + SMALLER)
    assert (status, told["waiting"]) == (0, None)
    assert [(step["number"], step["kind"]) for step in told["steps"]] == [(1, "hosts"), (2, "cleanup")]
    assert (stage.nodes_applied, stage.deployed) == (1, [(2, True)])


def test_a_smaller_mtu_waits_for_nodes_of_others(stage: Stage, run: Any) -> None:
    stage.done = 1
    status, told = run(WEAVE % 2 + SMALLER)
    assert (status, told["waiting"]["for"], stage.deployed) == (0, "nodes", [])
    assert told["waiting"]["then"] == "railweave deploy --from main --phase 2"


def test_a_larger_mtu_goes_to_the_switches_before_the_nodes(stage: Stage, run: Any) -> None:
    def larger(**options: Any) -> Any:
        return run(WEAVE % 2 + "mtu: {fabric: 9216, hosts: 9200}\n", **options)

    status, told = larger()
    assert (status, told["waiting"]["for"], told["waiting"]["then"]) == (0, "nodes", "")
    assert stage.deployed == [(1, False)]
    # The switches look alike before and after the nodes changed.
    stage.done, stage.manages_nodes = 2, True
    status, told = larger()
    assert (status, told["waiting"], stage.nodes_applied) == (0, None, 1)
    assert stage.deployed == [(1, False)]


def test_a_smaller_mtu_that_no_packet_needs_is_one_step_with_consent(stage: Stage, run: Any) -> None:
    status, told = run(WEAVE % 2 + "mtu: {fabric: 9050, hosts: 9000}\n")
    assert (status, len(told["steps"])) == (0, 1)
    assert stage.deployed == [(1, True)]


def test_cables_end_the_run_and_are_named(stage: Stage, run: Any) -> None:
    status, told = run(WEAVE % 4)
    assert status == 0
    assert stage.deployed == [(1, False), (2, True)]
    assert (told["waiting"]["number"], len(told["waiting"]["cables"])) == (2, 4)


def test_a_phase_does_not_begin_while_cables_of_an_earlier_one_are_missing(stage: Stage, run: Any) -> None:
    found = phases(designed(WEAVE % 2).fabric, designed(WEAVE % 4).fabric)
    stage.done, stage.missing = 2, lambda number: Waiting(found[1], found[1].cables[:1])
    with pytest.raises(RefusedError, match="cables of phase 2 are missing") as refused:
        run(WEAVE % 4, 3)
    assert "verify --from main --phase 2" in refused.value.diagnostics[0].fix
    status, told = run(WEAVE % 4)
    assert (status, stage.deployed) == (0, [])
    assert len(told["waiting"]["cables"]) == 1


def test_a_deployment_that_stops_ends_the_run(stage: Stage, run: Any) -> None:
    stage.results = {1: result_of(Result.STOPPED)}
    assert run(WEAVE % 4)[0] == 1
    stage.results = {1: None}
    assert run(WEAVE % 4)[0] == 1
    stage.results = {1: result_of(Result.STOPPED, interrupted=True)}
    assert run(WEAVE % 4)[0] == 130
    assert {number for number, _ in stage.deployed} == {1}


def test_a_finished_change_is_only_looked_at(stage: Stage, run: Any) -> None:
    stage.done = 4
    assert run(WEAVE % 4)[0] == 0
    assert stage.deployed == [(4, False)]


def test_a_change_of_one_phase_is_an_ordinary_deployment(stage: Stage, run: Any) -> None:
    status, told = run(WEAVE % 2 + "mtu: {fabric: 9216, hosts: 9000}\n")
    assert (status, told["phases"], stage.deployed) == (0, 1, [(1, False)])


def test_a_plan_file_is_of_the_phase_that_comes_next(stage: Stage, run: Any) -> None:
    stage.done = 1
    run(WEAVE % 4, reviewed=Path("plan.json"))
    assert stage.deployed == [(2, True)]


def test_a_phase_that_does_not_exist_is_a_usage_error(stage: Stage, run: Any) -> None:
    with pytest.raises(UsageError, match="phases 1 to 4"):
        run(WEAVE % 4, 9)


def test_the_number_of_a_phase_needs_the_running_intent() -> None:
    with pytest.raises(UsageError, match="--from"):
        phased.deploy_phases(Project(Path("weave.yml")), "sim", AGREED, base="", phase=2)
