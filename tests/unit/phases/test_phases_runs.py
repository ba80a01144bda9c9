"""`deploy --from`: the order of phases, nodes and cables, with switches and nodes played by the test."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nornir_railweave.rollout.node_log import NodeLog
from railweave.api import hosts
from railweave.api.deployment import phases as phased
from railweave.api.deployment.rollout import Review
from railweave.api.design.revisions import PhasedChange
from railweave.api.project import Project
from railweave.api.targets.phases import LivePhases
from railweave.catalog.load import load_catalog
from railweave.cli.terminal import Terminal, show_phases
from railweave.design.build import design
from railweave.errors import RefusedError, UsageError
from railweave.hosts.outcome import HostResult, HostsRun, HostState
from railweave.intent.load import load_intent_text
from railweave.plan.consent import DeployOptions
from railweave.plan.outcome import DeployResult, DeviceOutcome, Outcome, Result
from railweave.plan.phases.planning import phases
from railweave.plan.phases.progress import Waiting

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
NODES = ("gpu1", "gpu2", "gpu3", "gpu4")


def designed(text: str) -> Any:
    intent = load_intent_text(text, "weave.yml")
    return SimpleNamespace(intent=intent, fabric=design(intent, load_catalog()).fabric)


def result_of(outcome: Result = Result.DONE, *, interrupted: bool = False) -> DeployResult:
    reached = Outcome.NEW if outcome is not Result.STOPPED else Outcome.OLD
    return DeployResult(outcome, {"weave-leaf1": DeviceOutcome(reached)}, interrupted=interrupted)


def held(first: int, second: int) -> dict[str, int]:
    """Return the phase of every node; those of the last two are as of the first two."""
    return dict(zip(NODES, (first, second) * 2, strict=True))


@dataclass
class Stage:
    """What the played switches and nodes do, and what was asked of them."""

    done: int = 0
    missing: Callable[[int], Waiting | None] = lambda number: None
    manages_nodes: bool = False
    node_phases: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NODES, 0))
    node_result: HostState = HostState.CHANGED
    results: dict[int, DeployResult | None] = field(default_factory=dict)
    deployed: list[tuple[int, bool]] = field(default_factory=list)
    nodes_applied: list[int] = field(default_factory=list)
    values: dict[int, Any] = field(default_factory=dict)
    agrees: bool = True
    up: set[str] = field(default_factory=set)
    drain: dict[str, str] = field(default_factory=dict)
    drained: list[str] = field(default_factory=list)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    played = Stage()

    @dataclass(frozen=True)
    class PhaseFabric:
        number: int
        target: None = None

        def connected(self) -> AbstractContextManager[None]:
            return nullcontext()

    def agree(project: Project, fabric: PhaseFabric, options: DeployOptions, review: Review) -> Any:
        return fabric

    def carry_out(project: Project, fabric: PhaseFabric, agreed: Any, options: DeployOptions) -> Any:
        assert agreed is fabric
        played.deployed.append((fabric.number, options.single_step))
        return played.results.get(fabric.number, result_of())

    @dataclass(frozen=True)
    class Nodes:
        values: Any
        hosts: tuple[Any, ...] = tuple(SimpleNamespace(name=name) for name in NODES)

        def run(self, states: dict[str, HostState]) -> HostsRun:
            return HostsRun("weave", "sim", True, tuple(HostResult(name, state) for name, state in states.items()))

        def plan(self) -> HostsRun:
            held = {one.name: played.values.get(played.node_phases[one.name]) for one in self.hosts}
            return self.run(
                {name: HostState.CHANGED if one != self.values else HostState.UNCHANGED for name, one in held.items()}
            )

        def held(self) -> AbstractContextManager[None]:
            return nullcontext()

        def apply(self) -> HostsRun:
            (number,) = (number for number, values in played.values.items() if values == self.values and number)
            played.nodes_applied.append(number)
            if played.node_result is not HostState.FAILED:
                played.node_phases |= dict.fromkeys(played.node_phases, number)
            return self.run(dict.fromkeys(played.node_phases, played.node_result))

    def nodes(project: Project, target: str, values: Any) -> Any:
        return Nodes(values)

    monkeypatch.setattr(LivePhases, "done", lambda self, asked=None, settle=False: played.done)
    monkeypatch.setattr(LivePhases, "missing_cables", lambda self, number: played.missing(number))
    monkeypatch.setattr(LivePhases, "live_to_deploy", lambda self, number: PhaseFabric(number))
    monkeypatch.setattr(phased, "read_review", lambda file, target: Review(file))
    monkeypatch.setattr(phased, "agree", agree)
    monkeypatch.setattr(phased, "carry_out", carry_out)
    monkeypatch.setattr(hosts, "managed", lambda project, target: played.manages_nodes)
    monkeypatch.setattr(hosts, "live_nodes", nodes)
    return played


@pytest.fixture
def run(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, Any]]:
    def made(
        head: str,
        number: int | None = None,
        quiet: bool = True,
        reviewed: Path | None = None,
        nodes_done: bool = False,
        remove_live: bool = False,
    ) -> tuple[int, Any]:
        base, wanted = designed(WEAVE % 2), designed(head)
        change = PhasedChange("main", base, wanted, phases(base.fabric, wanted.fabric))
        of_nodes = [phase for phase in change.phases if phase.is_of_nodes]
        stage.values = {phase.number: phase.node_values for phase in of_nodes}
        if of_nodes:
            stage.values[of_nodes[0].number - 1] = of_nodes[0].was
        monkeypatch.setattr(phased, "live_phases", lambda project, target, base: LivePhases(project, change, target))
        project = Project(Path("weave.yml"), Terminal(quiet=quiet, yes=stage.agrees))
        options = replace(AGREED, nodes_done=nodes_done, remove_live=remove_live)
        done = phased.deploy_phases(project, "sim", options, base="main", phase=number, reviewed=reviewed)
        status = show_phases(done, as_json=quiet)
        out = capsys.readouterr().out
        return status, json.loads(out) if quiet else out

    return made


def test_managed_nodes_accept_then_send_and_drop_only_what_no_job_sends(stage: Stage, run: Any) -> None:
    stage.manages_nodes = True
    status, told = run(WEAVE % 2 + MARKING)
    assert (status, stage.deployed, stage.nodes_applied) == (0, [(1, False)], [2, 3])
    assert (told["waiting"]["number"], told["waiting"]["for"]) == (4, "jobs")
    assert told["waiting"]["then"] == "railweave deploy --from main --nodes-done"
    stage.done = 4
    assert run(WEAVE % 2 + MARKING)[1]["steps"] == [], "nobody has stated that no job sends the old marking"
    status, told = run(WEAVE % 2 + MARKING, nodes_done=True)
    assert (status, told["waiting"]) == (0, None)
    assert [step["number"] for step in told["steps"]] == [4, 5]
    assert (stage.deployed, stage.nodes_applied) == ([(1, False), (5, True)], [2, 3, 4])


def test_a_statement_does_not_cover_what_nodes_have_not_done_yet(stage: Stage, run: Any) -> None:
    stage.manages_nodes = True
    _, told = run(WEAVE % 2 + MARKING, nodes_done=True)
    assert (stage.nodes_applied, told["waiting"]["for"]) == ([2, 3], "jobs")


def test_nodes_that_fail_keep_the_old_marking_on_the_switches(stage: Stage, run: Any) -> None:
    stage.manages_nodes, stage.node_result = True, HostState.FAILED
    status, _ = run(WEAVE % 2 + MARKING)
    assert status == 1
    assert (stage.deployed, stage.nodes_applied) == ([(1, False)], [2])


@pytest.mark.parametrize(
    ("of_nodes", "next_phase"),
    [((1, 1), 2), ((2, 1), 2), ((2, 2), 3), ((3, 2), 3), ((2, 99), 2), ((3, 99), 3), ((99, 99), 2)],
)
def test_nodes_go_on_where_they_are_and_never_back(
    stage: Stage, run: Any, of_nodes: tuple[int, int], next_phase: int
) -> None:
    # Switches look alike while the nodes change; 99 is a node on which a phase failed halfway.
    stage.done, stage.manages_nodes = 4, True
    stage.node_phases = held(*of_nodes)
    run(WEAVE % 2 + MARKING)
    assert stage.nodes_applied[0] == next_phase


def test_nodes_of_others_are_waited_for_and_the_words_say_how_to_go_on(stage: Stage, run: Any) -> None:
    stage.done = 4
    status, told = run(WEAVE % 2 + MARKING)
    assert (status, stage.deployed) == (0, [])
    assert (told["waiting"]["number"], told["waiting"]["for"]) == (2, "nodes")
    assert told["waiting"]["then"] == "railweave deploy --from main --nodes-done"
    _, words = run(WEAVE % 2 + MARKING, quiet=False)
    assert "phase 4: GPU nodes drop the old marking (accept DSCP 24 on priority 4; send DSCP 24)" in words
    assert run(WEAVE % 2 + MARKING, nodes_done=True)[1]["waiting"] is None
    assert stage.deployed == [(5, True)]


def test_nodes_of_others_while_a_shared_value_changes_are_refused_with_what_is_missing(stage: Stage, run: Any) -> None:
    stage.done = 4
    with pytest.raises(RefusedError) as refused:
        run(WEAVE % 2 + MARKING, 5)
    (found,) = refused.value.diagnostics
    assert found.message == (
        "phase 5 cannot begin: nobody has stated whether all 4 GPU nodes have done phases 2 to 4, and that no job still"
        " sends the old marking: a running job keeps what it was started with"
    )
    assert "railweave deploy --from main --phase 5 --nodes-done" in found.fix
    assert run(WEAVE % 2 + MARKING, 5, nodes_done=True)[0] == 0
    assert stage.deployed == [(5, True)]


def test_a_phase_waits_for_every_managed_node(stage: Stage, run: Any) -> None:
    stage.done, stage.manages_nodes = 4, True
    stage.node_phases = held(4, 3)
    with pytest.raises(RefusedError, match="gpu2, gpu4 would still change"):
        run(WEAVE % 2 + MARKING, 5, nodes_done=True)
    stage.node_phases = held(1, 2)
    with pytest.raises(RefusedError, match="phase 3 cannot begin: gpu1, gpu3 would still change"):
        run(WEAVE % 2 + MARKING, 3)
    stage.node_phases = held(3, 3)
    with pytest.raises(RefusedError, match="phase 3 is done already, so phase 2 cannot be run again"):
        run(WEAVE % 2 + MARKING, 2)
    with pytest.raises(RefusedError, match="no job still sends the old marking"):
        run(WEAVE % 2 + MARKING, 4)
    stage.node_phases = held(4, 4)
    assert run(WEAVE % 2 + MARKING, 5, nodes_done=True)[0] == 0
    assert stage.deployed == [(5, True)]


SMALLER = "mtu: {fabric: 4300, hosts: 4200}\n"


def test_a_smaller_mtu_goes_to_the_managed_nodes_before_the_switches(stage: Stage, run: Any) -> None:
    stage.manages_nodes, stage.done = True, 2
    status, told = run(WEAVE % 2 + SMALLER)
    assert (status, stage.nodes_applied, told["waiting"]["for"]) == (0, [1], "jobs")
    status, told = run(WEAVE % 2 + SMALLER, nodes_done=True)
    assert (status, told["waiting"]) == (0, None)
    assert [(step["number"], step["kind"]) for step in told["steps"]] == [(2, "hosts"), (3, "cleanup")]
    assert (stage.nodes_applied, stage.deployed) == ([1, 2], [(3, True)])


def test_a_smaller_mtu_waits_for_nodes_of_others(stage: Stage, run: Any) -> None:
    stage.done = 2
    status, told = run(WEAVE % 2 + SMALLER)
    assert (status, told["waiting"]["for"], stage.deployed) == (0, "nodes", [])
    assert told["waiting"]["then"] == "railweave deploy --from main --nodes-done"


def test_a_larger_mtu_goes_to_the_switches_before_the_nodes(stage: Stage, run: Any) -> None:
    def larger(**options: Any) -> Any:
        return run(WEAVE % 2 + "mtu: {fabric: 9216, hosts: 9200}\n", **options)

    status, told = larger()
    assert (status, told["waiting"]["for"], told["waiting"]["then"]) == (0, "nodes", "")
    assert stage.deployed == [(1, False)]
    stage.done, stage.manages_nodes, stage.node_phases = 3, True, held(1, 1)
    status, told = larger()
    assert (status, told["waiting"], stage.nodes_applied) == (0, None, [2, 3])
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


FEWER = (WEAVE % 2).replace("count: 4", "count: 2")


@pytest.fixture
def leaving(stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stage:
    """Let gpu3 and gpu4 leave, whose links are ``stage.up``; the drain hook answers ``stage.drain``."""

    class Hooks:
        def __init__(self, *given: Any) -> None:
            pass

        def drain(self, hosts: Any) -> dict[str, str]:
            stage.drained += [host.name for host in hosts]
            return {host.name: stage.drain.get(host.name, "") for host in hosts}

    @contextmanager
    def shown() -> Iterator[None]:
        yield

    def live(self: LivePhases, number: int) -> Any:
        fabric = self.change.phase(number).fabric
        access = SimpleNamespace(hooks=None, batches=SimpleNamespace(forks=1))
        return SimpleNamespace(
            designed=SimpleNamespace(fabric=fabric, intent=SimpleNamespace(sha256="")),
            target=SimpleNamespace(name="sim", hosts=access, rollout=SimpleNamespace()),
            nornir=None,
            progress=shown,
        )

    def ends(nornir: Any, fabric: Any, names: Any) -> dict[str, tuple[str, ...]]:
        return {name: ("weave-leaf1:Ethernet8",) if name in stage.up else () for name in names}

    @contextmanager
    def audited(*given: Any) -> Iterator[Callable[[Any], None]]:
        yield lambda found: None

    monkeypatch.setattr(LivePhases, "live", live)
    monkeypatch.setattr(phased, "links_up_towards", ends)
    monkeypatch.setattr(phased, "HookRunner", Hooks)
    monkeypatch.setattr(phased, "node_log", lambda *named: NodeLog(tmp_path, *named))
    monkeypatch.setattr(phased, "audited_action", audited)
    stage.up |= {"gpu3", "gpu4"}
    return stage


def test_nodes_that_leave_are_drained_and_waited_for(leaving: Stage, run: Any) -> None:
    status, told = run(FEWER)
    assert (status, leaving.deployed, leaving.drained) == (0, [], ["gpu3", "gpu4"])
    waiting = told["waiting"]
    assert (waiting["number"], waiting["kind"], waiting["for"]) == (1, "drain", "removal")
    assert waiting["proofs"][0] == {
        "device": "gpu3",
        "what": "links",
        "expected": "down",
        "actual": "up at weave-leaf1:Ethernet8",
        "ok": False,
    }
    assert waiting["then"] == "railweave deploy --from main"
    leaving.up.clear()
    leaving.done = 1
    status, told = run(FEWER)
    assert (status, told["waiting"], leaving.deployed) == (0, None, [(2, False)])
    assert leaving.drained == ["gpu3", "gpu4"], "what is out of use is not drained again"


def test_a_node_whose_drain_hook_fails_is_named(leaving: Stage, run: Any) -> None:
    leaving.up, leaving.drain = {"gpu4"}, {"gpu4": "`drain gpu4`: busy"}
    _, words = run(FEWER, quiet=False)
    assert "gpu4: drain `drain gpu4`: busy; gpu4: links up at weave-leaf1:Ethernet8" in words
    assert "Move the jobs away and shut them down: gpu3, gpu4. Then: railweave deploy --from main" in " ".join(
        words.split()
    )


def test_a_drain_that_the_operator_declines_is_a_failure(leaving: Stage, run: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(Terminal, "approves_removal", lambda self, names: False)
    assert (run(FEWER)[0], leaving.drained) == (1, [])


def test_ports_of_nodes_in_use_do_not_close(leaving: Stage, run: Any) -> None:
    leaving.done = 1
    with pytest.raises(RefusedError) as refused:
        run(FEWER, 2)
    (found,) = refused.value.diagnostics
    assert (found.code, found.message, found.fix) == (
        "RW518",
        "phase 2 cannot begin: gpu3, gpu4 are in use: gpu3: links up at weave-leaf1:Ethernet8; gpu4: links up at"
        " weave-leaf1:Ethernet8",
        "`railweave deploy --from main --phase 1` drains them; shut GPU nodes down; or, if they may lose their links,"
        " deploy with --remove-live",
    )
    assert leaving.deployed == []


def test_with_consent_nodes_leave_at_once(leaving: Stage, run: Any) -> None:
    leaving.done = 1
    status, told = run(FEWER, remove_live=True)
    assert (status, told["waiting"], leaving.deployed, leaving.drained) == (0, None, [(2, False)], [])
    assert run(FEWER, 2, remove_live=True)[0] == 0
