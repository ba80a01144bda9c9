"""Runs of an acceptance over nodes and switches in memory: every fault is named, and nothing done is repeated."""

import json
import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from acceptance_nodes import JumpClock, MemoryNodes, MemorySwitches
from small_acceptance import PlanBuilder, Shape, small_plan

from railweave.acceptance.counters import read_counters
from railweave.acceptance.document import ReadPlan, plan_blocks
from railweave.acceptance.folder import read_results
from railweave.acceptance.judge.verdict import judge
from railweave.acceptance.model import AcceptancePlan, PlannedTest, RoundKind
from railweave.acceptance.running.journal import progress_of
from railweave.acceptance.running.node_work import limited_rounds, srun_words
from railweave.acceptance.running.request import RunRequest, refused_progress
from railweave.acceptance.running.runner import AcceptanceRunner
from railweave.acceptance.running.timely import LATE_READINGS, TimelySwitches
from railweave.acceptance.running.timing import Pace, pace_of, round_times, simulated_pace, split_rounds

SHAPE = Shape(rails=1, stripes=1, nodes=2, spines=1)
NODES = ("gpu1", "gpu2")
ROUNDS = 6


def worded(test: PlannedTest) -> PlannedTest:
    assert test.receiver is not None
    words = ("ib_write_bw", "-d", "mlx5_0")
    return test._replace(argv={test.sender.node: (*words, "10.0.0.1"), test.receiver.node: words})


@pytest.fixture
def plan() -> AcceptancePlan:
    builder = PlanBuilder(SHAPE)
    for number in range(ROUNDS):
        builder.add_pairs(RoundKind.ISOLATED, [(number % 2, 1 - number % 2)])
    base = small_plan(SHAPE)
    tests = tuple(map(worded, builder.tests))
    links = tuple(link._replace(rounds=()) for link in base.links)
    kept = {name: getattr(base, name) for name in ("devices", "nodes", "classes", "settings", "level", "seed")}
    return AcceptancePlan(
        "pod", "0" * 64, duration_s=99, rounds=tuple(builder.rounds), tests=tests, links=links, **kept
    )


@pytest.fixture(autouse=True)
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what only a power loss would need: a line of the journal takes the disk 10 ms."""
    monkeypatch.setattr("os.fsync", lambda _: None)


class Cluster:
    """A directory with a plan, and the nodes and switches that outlive each run."""

    def __init__(self, plan: AcceptancePlan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        folder.mkdir()
        (folder / "plan.json").write_bytes(b"".join(plan_blocks(plan)))
        self.clock = JumpClock()
        self.nodes = MemoryNodes(self.clock, NODES)
        self.switches = MemorySwitches(self.clock)
        self.shown: list[str] = []
        self.runner: AcceptanceRunner

    def run(self, *, poll_s: float = 0.0, **request: Any) -> Any:
        members = {"rounds": self.plan.rounds, "nodes": NODES, "switches": ("p0-leaf1", "p0-spine1"), **request}
        given = RunRequest(self.folder, ReadPlan(self.plan, "sha"), **members)
        self.runner = AcceptanceRunner(given, self.nodes, self.switches, self.clock, self.shown.append)
        self.runner.poll_s = poll_s
        self.runner.prepare()
        return self.runner.run()

    def journal(self) -> list[Any]:
        return [json.loads(line) for line in (self.folder / "journal.jsonl").read_text().splitlines()]

    def files(self) -> list[str]:
        parts = ("results", "counters")
        paths = [path for part in parts for path in sorted((self.folder / part).rglob("*.*"))]
        return [path.relative_to(self.folder).as_posix() for path in paths]


@pytest.fixture
def cluster(plan: AcceptancePlan, tmp_path: Path) -> Cluster:
    return Cluster(plan, tmp_path / "acceptance")


def test_a_run_stores_outputs_and_counters_of_each_round_with_four_tasks_a_node(cluster: Cluster) -> None:
    summary = cluster.run()
    assert (summary.ok, summary.rounds, summary.tests, summary.not_run) == (True, ROUNDS, ROUNDS, {})
    assert cluster.nodes.asked == [("prepare", 2), ("start", 2), ("fetch", 2), ("stop", 2)]
    assert cluster.nodes.works == {"gpu1": {}, "gpu2": {}}
    assert [name for name in cluster.files() if "r000" in name] == [
        "results/r000-0000/gpu1.meta.json",
        "results/r000-0000/gpu1.txt",
        "results/r000-0000/gpu2.meta.json",
        "results/r000-0000/gpu2.txt",
        *(f"counters/r000/{when}/{name}.json" for when in ("after", "before") for name in sorted(DEVICES)),
    ]
    meta = json.loads((cluster.folder / "results/r000-0000/gpu1.meta.json").read_text())
    assert (meta["tool_version"], meta["host"], meta["rc"]) == ("ib_write_bw Version: 6.20", "gpu1", 0)
    # Servers and clients together, by the nodes' own clocks; a boundary is read once for both rounds.
    assert cluster.switches.reads == 1 + ROUNDS + 1


DEVICES = ("gpu1", "gpu2", "p0-leaf1", "p0-spine1")


def test_the_journal_has_a_line_before_and_after_each_round(cluster: Cluster) -> None:
    cluster.run()
    events = [(line["event"], line.get("round", "")) for line in cluster.journal()]
    rounds = [f"r{number:03}" for number in range(ROUNDS)]
    between = [(event, name) for name in rounds for event in ("before", "after")]
    assert events == [("run", ""), ("block", ""), *between, ("results", ""), ("end", "")]


class Killed(BaseException):
    """The controller's process is gone: nothing more of it runs."""


def kill_at(cluster: Cluster, moment: int, fault: type[BaseException]) -> None:
    left = [moment]

    def wait(_now: float) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise fault

    cluster.clock.waits = wait


# Preparing, starting, before and after rounds, fetching; every moment took the same.
@pytest.mark.parametrize("moment", [1, 2, 3, 4, 11, 16, 19])
def test_a_run_that_is_killed_anywhere_is_resumed_without_repeating_what_is_done(
    cluster: Cluster, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at(cluster, moment, Killed)
    # A killed process has no last words.
    monkeypatch.setattr(AcceptanceRunner, "_end", lambda _: None)
    with pytest.raises(Killed):
        cluster.run()
    monkeypatch.undo()
    cluster.clock.waits = lambda _: None
    # The nodes go on without a controller.
    cluster.clock.sleep(1000)
    done = {line["round"] for line in lines(cluster) if line["event"] == "after"}
    assert cluster.run().ok
    assert all(count(cluster, "before", name) == 1 for name in done)


def lines(cluster: Cluster) -> list[Any]:
    if not (cluster.folder / "journal.jsonl").exists():
        return []
    return cluster.journal()


def count(cluster: Cluster, event: str, name: str) -> int:
    return sum(line["event"] == event and line.get("round") == name for line in cluster.journal())


def test_an_interrupt_ends_what_runs_and_keeps_what_is_done(cluster: Cluster) -> None:
    kill_at(cluster, 14, KeyboardInterrupt)
    summary = cluster.run()
    assert summary.interrupted
    assert not summary.ok
    assert cluster.nodes.asked[-1] == ("stop", 2)
    assert cluster.shown[-1] == "ending the tests that run"
    cluster.clock.waits = lambda _: None
    done = set(cluster.runner.progress.done)
    assert done
    assert len(summary.not_run) == ROUNDS - len(done)
    assert cluster.run().ok
    assert all(count(cluster, "before", name) == 1 for name in done)


def strike(cluster: Cluster, rng: Random) -> None:
    """Run the plan, and let something be killed at a moment: the controller, a session, a node or a tool."""
    node = rng.choice(NODES)
    kind = rng.choice(["controller", "interrupt", "session", "node", "tool"])
    moment = rng.randrange(1, 22)
    if kind == "controller":
        kill_at(cluster, moment, Killed)
    elif kind == "interrupt":
        kill_at(cluster, moment, KeyboardInterrupt)
    elif kind == "session":
        cluster.nodes.lost[rng.choice(["prepare", "start", "fetch", "stop"])] = [node] * rng.randrange(1, 4)
    elif kind == "node":
        cluster.nodes.dies_at[node] = f"r{rng.randrange(ROUNDS):03}"
    else:
        cluster.nodes.fails[node] = "the tool was killed"
    with suppress(Killed, KeyboardInterrupt):
        cluster.run()
    cluster.clock.waits = lambda _: None
    cluster.nodes.lost.clear()
    cluster.nodes.dies_at.clear()
    cluster.nodes.fails.clear()
    # The nodes go on without a controller.
    cluster.clock.sleep(rng.choice([0, 1000]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_whatever_is_killed_the_next_run_ends_with_all_tests_and_repeats_no_stored_round(
    cluster: Cluster, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    if rng.random() < 0.5:
        # A killed process has no last words.
        monkeypatch.setattr(AcceptanceRunner, "_end", lambda _: None)
    strike(cluster, rng)
    monkeypatch.undo()
    monkeypatch.setattr("os.fsync", lambda _: None)
    progress = progress_of(lines(cluster))
    assert cluster.run().ok
    again = progress_of(lines(cluster))
    stored = progress.done - (again.repeated.keys() - progress.repeated.keys())
    assert {name: again.block_of[name] for name in stored} == {name: progress.block_of[name] for name in stored}
    assert cluster.nodes.works == {"gpu1": {}, "gpu2": {}}


FAULTS: dict[str, tuple[Callable[[Cluster], None], str, str]] = {
    "clock": (lambda it: it.nodes.offsets.update(gpu2=600), "gpu2: its clock differs by +600 s: set it (NTP)", "gpu2"),
    "tool": (lambda it: it.nodes.versions.update(ib_write_bw=None), "gpu1: ib_write_bw is not installed", ""),
    "version": (
        lambda it: it.nodes.versions.update(ib_write_bw="ib_write_bw Version: 27.1"),
        "gpu1: ib_write_bw Version: 27.1 is not a release whose output is known",
        "",
    ),
    "output": (
        lambda it: setattr(it.nodes, "output", "Hello"),
        "gpu1: the output of ib_write_bw has no form that is known",
        "",
    ),
    "hang": (
        lambda it: it.nodes.fails.update(gpu1="ib_write_bw did not end within 17 s, its bound"),
        "gpu1: ib_write_bw did not end within 17 s, its bound",
        "",
    ),
    "disk": (
        lambda it: it.nodes.problems.update(gpu1="/var/lib/x: the disk is full"),
        "gpu1: /var/lib/x: the disk is full",
        "gpu1",
    ),
    "unreachable": (lambda it: it.nodes.lost.update(prepare=["gpu2"]), "gpu2: no route to host", "gpu2"),
    "lost": (lambda it: it.nodes.lost.update(fetch=["gpu2"] * 3), "gpu2: no route to host", "gpu2"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_and_its_tests_are_not_run(cluster: Cluster, fault: str) -> None:
    spoil, why, device = FAULTS[fault]
    spoil(cluster)
    summary = cluster.run()
    assert not summary.ok
    assert why in set(summary.not_run.values())
    assert list(summary.problems) == [name for name in (device,) if name]


def test_results_that_no_session_could_fetch_are_fetched_by_the_next_run(cluster: Cluster) -> None:
    cluster.nodes.lost["fetch"] = ["gpu2"] * 3
    assert not cluster.run().ok
    ran = len(cluster.nodes.ran)
    assert cluster.run().ok
    assert count(cluster, "before", "r000") == 1
    assert len(cluster.nodes.ran) >= ran


def test_a_round_whose_last_counters_did_not_arrive_is_repeated_once(cluster: Cluster) -> None:
    cluster.nodes.uncounted["gpu2"] = 1
    summary = cluster.run()
    assert (summary.ok, summary.repeated) == (True, {"r005": "gpu2: its counters of the round did not arrive"})
    assert [count(cluster, "before", f"r{n:03}") for n in range(ROUNDS)] == [1, 1, 1, 1, 1, 2]


def test_a_round_whose_counters_never_arrive_does_not_count_and_the_next_run_repeats_it(cluster: Cluster) -> None:
    cluster.nodes.uncounted["gpu2"] = 2
    summary = cluster.run()
    assert summary.not_run == {"r005-0000": "gpu2: its counters of the round did not arrive"}
    assert cluster.journal()[-2]["not_run"] == {"r005": summary.not_run}
    assert "r005" not in cluster.runner.progress.done
    assert cluster.run().ok
    assert [count(cluster, "before", f"r{n:03}") for n in range(ROUNDS)] == [1, 1, 1, 1, 1, 3]
    assert cluster.nodes.works == {"gpu1": {}, "gpu2": {}}


def test_a_run_that_begins_anew_takes_nothing_of_the_one_before_it(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at(cluster, 12, Killed)
    monkeypatch.setattr(AcceptanceRunner, "_end", lambda _: None)
    with pytest.raises(Killed):
        cluster.run()
    monkeypatch.undo()
    cluster.clock.waits = lambda _: None
    cluster.clock.sleep(1000)
    assert cluster.nodes.works["gpu1"].keys() == {"b1"}
    (cluster.folder / "journal.jsonl").unlink()
    cluster.runner.prepare()
    cluster.run()
    assert cluster.nodes.works == {"gpu1": {}, "gpu2": {}}


def test_a_node_that_reboots_in_a_round_is_named_and_the_rounds_before_are_kept(cluster: Cluster) -> None:
    cluster.nodes.dies_at["gpu2"] = "r003"
    summary = cluster.run()
    assert summary.not_run == {f"r{n:03}-0000": "gpu2: it was rebooted while tests ran" for n in (3, 4, 5)}
    assert summary.problems == {"gpu2": "it was rebooted while tests ran"}
    cluster.nodes.dies_at.clear()
    assert cluster.run().ok
    assert [count(cluster, "before", f"r{n:03}") for n in range(ROUNDS)] == [1, 1, 1, 2, 2, 2]


def test_a_reboot_is_not_hidden_by_a_repeat_for_tools_that_failed_without_the_node(cluster: Cluster) -> None:
    cluster.nodes.dies_at["gpu2"] = "r003"
    cluster.nodes.fails["gpu1"] = "a tool failed"
    # Its peer fails as well, which a busy machine that simulates all nodes would be forgiven.
    summary = cluster.run(slowness=lambda: 1.0)
    assert {summary.not_run[f"r{n:03}-0000"] for n in (3, 4, 5)} == {"gpu2: it was rebooted while tests ran"}
    assert summary.problems == {"gpu2": "it was rebooted while tests ran"}
    assert (summary.repeated, cluster.nodes.asked[-1][0]) == ({}, "stop")


def test_a_node_that_boots_after_its_last_test_is_named_and_its_results_are_kept(cluster: Cluster) -> None:
    cluster.nodes.dies_at["gpu2"] = "never"
    summary = cluster.run()
    assert (summary.not_run, summary.problems) == ({}, {"gpu2": "it was rebooted while tests ran"})


def test_a_session_that_is_lost_once_is_opened_again(cluster: Cluster) -> None:
    cluster.nodes.lost["fetch"] = ["gpu1"]
    assert cluster.run().ok
    assert cluster.nodes.asked[-3:] == [("fetch", 2), ("fetch", 1), ("stop", 2)]


def test_rounds_around_a_late_answer_are_repeated_with_more_time(cluster: Cluster) -> None:
    cluster.clock.waits = lambda now: cluster.switches.slow.update({"p0-leaf1": 9.0} if now > 1_000_020 else {})
    summary = cluster.run()
    assert (summary.ok, list(summary.problems)) == (True, ["p0-leaf1"])
    assert set(summary.repeated.values()) == {"switches were not read in time"}
    readings = read_counters(cluster.folder, cluster.plan)
    unread = {(part.round, part.device): part.unread for part in readings if part.unread}
    assert summary.repeated.keys().isdisjoint(name for name, _ in unread)
    # Later rounds of the block were carried out without it, and say so.
    assert "its counters came after 9 s, too late for a round" in unread["r005", "p0-leaf1"]


def test_a_switch_that_answers_late_again_and_again_is_left_out_and_the_others_are_read() -> None:
    clock = JumpClock()
    switches, problems = MemorySwitches(clock), dict[str, str]()
    timely = TimelySwitches(switches, ("leaf1", "leaf2"), problems)
    switches.slow["leaf1"] = 9.0
    for _ in range(LATE_READINGS):
        assert problems == {}
        assert timely.read(clock.now(), clock.now() + 1.0) is None
    assert problems == {"leaf1": "its counters came after 9 s, too late for a round"}
    assert set(timely.read(clock.now(), clock.now() + 1.0) or ()) == {"leaf2"}
    timely.read_all_again()
    assert set(timely.read(clock.now(), clock.now() + 10.0) or ()) == {"leaf1", "leaf2"}


def test_a_switch_that_keeps_everybody_waiting_and_does_not_answer_is_left_out_at_once() -> None:
    clock = JumpClock()
    switches, problems = MemorySwitches(clock, {"leaf1": 60.0}, {"leaf1": "no answer"}), dict[str, str]()
    timely = TimelySwitches(switches, ("leaf1", "leaf2"), problems)
    assert timely.read(clock.now(), clock.now() + 1.0) is None
    timely.read_all_again()
    assert set(timely.read(clock.now(), clock.now() + 1.0) or ()) == {"leaf2"}
    assert problems == {"leaf1": "no answer"}


def test_a_switch_that_is_far_slower_than_the_others_is_named_before_the_first_round(cluster: Cluster) -> None:
    cluster.switches.slow["p0-leaf1"] = 20.0
    began = cluster.clock.now()
    summary = cluster.run()
    assert (summary.not_run, summary.repeated) == ({}, {})
    assert summary.problems == {"p0-leaf1": "its counters came after 20 s, those of most after 0 s"}
    # It was waited for once, and not around each round.
    seconds = sum(planned.seconds for planned in cluster.plan.rounds)
    assert cluster.clock.now() - began < 60 + 2 * seconds
    readings = read_counters(cluster.folder, cluster.plan, ["r000"])
    assert [part.device for part in readings if part.unread] == ["p0-leaf1"]


def test_a_machine_on_which_most_switches_come_late_leaves_none_out() -> None:
    clock = JumpClock()
    switches, problems = MemorySwitches(clock), dict[str, str]()
    timely = TimelySwitches(switches, ("leaf1", "leaf2"), problems)
    switches.slow.update(leaf1=9.0, leaf2=9.0)
    for _ in range(2 * LATE_READINGS):
        assert timely.read(clock.now(), clock.now() + 1.0) is None
    switches.slow.clear()
    assert set(timely.read(clock.now(), clock.now() + 1.0) or ()) == {"leaf1", "leaf2"}
    assert problems == {}


def test_rounds_that_were_never_read_in_time_did_not_run_and_leave_no_result(cluster: Cluster) -> None:
    def spike(_: float) -> None:
        took = 9.0 if cluster.nodes.asked[-1][0] == "start" else 0.05
        cluster.switches.slow.update({"p0-leaf1": took, "p0-spine1": took})

    cluster.clock.waits = spike
    summary = cluster.run()
    assert set(summary.not_run.values()) == {"switches were not read in time"}
    for name in (test.removesuffix("-0000") for test in summary.not_run):
        assert not [path for path in cluster.files() if path.startswith(f"results/{name}")]
    verdict = judge(
        cluster.plan, read_results(cluster.folder, cluster.plan)[0], read_counters(cluster.folder, cluster.plan)
    )
    assert (verdict.verdict, verdict.findings) == ("incomplete", ())


def test_counters_of_a_switch_that_cannot_be_read_are_missing_with_the_reason(cluster: Cluster) -> None:
    cluster.switches.errors["p0-leaf1"] = "another version of railweave-switch is installed there"
    summary = cluster.run()
    assert summary.ok
    assert summary.problems == {"p0-leaf1": "another version of railweave-switch is installed there"}
    missing = json.loads((cluster.folder / "counters/r000/before/p0-leaf1.json").read_text())
    assert missing == {"version": 1, "device": "p0-leaf1", "error": summary.problems["p0-leaf1"]}
    unread = {part.device: part.unread for part in read_counters(cluster.folder, cluster.plan, ["r000"])}
    assert unread["p0-leaf1"].startswith(
        "before/p0-leaf1.json has no counters: another version of railweave-switch is installed there"
    )


def test_a_tool_that_fails_on_a_machine_that_simulates_all_nodes_is_started_again(cluster: Cluster) -> None:
    def recover(_: float) -> None:
        if [part for part, _ in cluster.nodes.asked].count("start") == 2:
            cluster.nodes.fails.clear()

    cluster.nodes.fails["gpu1"] = "the node was too slow to start it within its round"
    cluster.clock.waits = recover
    summary = cluster.run(slowness=lambda: 4.0)
    assert (summary.ok, len(summary.repeated)) == (True, ROUNDS)
    assert set(summary.repeated.values()) == {"gpu1: the node was too slow to start it within its round"}


def test_a_disturbed_round_is_repeated_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "railweave.acceptance.running.runner.disturbed_rounds", lambda _: {"r001": "gpu1 rail0 carried 40 %"}
    )
    summary = cluster.run()
    assert summary.ok
    assert summary.repeated == {"r001": "gpu1 rail0 carried 40 %"}
    assert [count(cluster, "before", name) for name in ("r000", "r001", "r002")] == [1, 2, 1]


def test_a_limit_leaves_the_tests_whose_nodes_are_all_named(plan: AcceptancePlan) -> None:
    assert limited_rounds(plan, ["gpu1"]) == ()
    assert limited_rounds(plan, NODES) == plan.rounds


def test_a_directory_with_results_is_resumed_only_on_request(cluster: Cluster) -> None:
    cluster.run()
    progress = cluster.runner.progress
    assert refused_progress(progress, "sha", "", resume=False) == "6 rounds of this plan are done in this directory"
    assert refused_progress(progress, "other", "", resume=True) == "results of another plan are in this directory"
    assert refused_progress(progress, "sha", "gpu1", resume=True) == "the run to resume had --limit of all nodes"
    assert refused_progress(progress, "sha", "", resume=True) == ""


def test_a_node_that_did_not_start_a_block_is_named_and_its_rounds_are_repeated(cluster: Cluster) -> None:
    cluster.nodes.lost["start"] = ["gpu2", "gpu2"]
    summary = cluster.run()
    assert summary.ok
    assert summary.problems == {"gpu2": "no route to host"}
    assert set(summary.repeated.values()) == {"gpu2: no route to host"}
    parts = [part for part, _ in cluster.nodes.asked]
    assert parts == ["prepare", "start", "start", "fetch", "start", "fetch", "stop"]


def test_a_node_that_starts_no_block_at_all_says_why_in_each_test(cluster: Cluster) -> None:
    cluster.nodes.lost["start"] = ["gpu2"] * 4
    summary = cluster.run()
    assert summary.not_run == {f"r{n:03}-0000": "gpu2: no route to host" for n in range(ROUNDS)}
    assert cluster.run().ok


def test_a_session_that_is_lost_at_the_start_of_a_block_is_opened_again_and_no_round_is_repeated(
    cluster: Cluster,
) -> None:
    cluster.nodes.lost["start"] = ["gpu2"]
    summary = cluster.run()
    assert summary.ok
    assert (summary.problems, summary.repeated) == ({}, {})
    assert cluster.nodes.asked == [("prepare", 2), ("start", 2), ("start", 1), ("fetch", 2), ("stop", 2)]


def test_a_node_whose_start_took_all_the_time_before_the_first_round_is_not_asked_again(cluster: Cluster) -> None:
    cluster.nodes.lost["start"] = ["gpu2"]
    ask = cluster.nodes.ask

    def slow(part: str, requests: Any) -> Any:
        if part == "start" and cluster.nodes.lost["start"]:
            cluster.clock.sleep(4.0)
        return ask(part, requests)

    cluster.nodes.ask = slow  # type: ignore[method-assign]
    summary = cluster.run()
    assert summary.ok
    assert [part for part, _ in cluster.nodes.asked] == ["prepare", "start", "fetch", "start", "fetch", "stop"]


def test_blocks_are_two_at_most_and_at_least_twenty_minutes(plan: AcceptancePlan) -> None:
    rounds = tuple(plan.rounds[0]._replace(id=f"r{number}", seconds=15) for number in range(300))
    for count_of_rounds, blocks in ((1, 1), (60, 1), (90, 2), (300, 2)):
        split = split_rounds(rounds[:count_of_rounds], Pace())
        assert (len(split), sum(map(len, split))) == (blocks, count_of_rounds)
    hours = [planned._replace(seconds=3600) for planned in rounds[:24]]
    assert len(split_rounds(hours, Pace())) == 2


def test_rounds_follow_each_other_and_servers_outlast_clients_by_the_spread_of_clocks(
    plan: AcceptancePlan,
) -> None:
    pace = pace_of(0.5, 0.25, [-1.5, 0.5])
    assert pace == Pace(0.5, read_s=1.0, start_s=3.0, end_s=4.0)
    # Simulated nodes have one clock, and share a machine that may be busy.
    simulated = simulated_pace(0.5, 0.2, 10, 2.0)
    assert simulated == Pace(0.5, read_s=1.3, start_s=1.0, end_s=2.0, program_s=0.04)
    first, second = round_times(plan.rounds[:2], 100.0, pace)
    seconds = plan.rounds[0].seconds
    assert (first.read, first.serve, first.send) == (100.0, 101.0, 104.0)
    assert first.end == second.read == 108.0 + seconds / 2


def test_counters_are_read_once_switches_have_polled_them(cluster: Cluster) -> None:
    assert cluster.run(poll_s=10.0).ok
    read = [line["at"] for line in cluster.journal() if line["event"] in ("before", "after")]
    boundaries = sorted({round(at) for at in read})
    for planned, before, after in zip(cluster.plan.rounds, boundaries, boundaries[1:], strict=False):
        # A tenth more than the interval, in which a poll takes a while.
        assert after - before - planned.seconds > 11.0


def test_a_collective_is_started_by_srun_where_mpirun_is_missing() -> None:
    words = "mpirun -np 16 -H gpu1:8,gpu2:8 -x NCCL_ALGO=Ring -x A=b all_reduce_perf -b 8 -g 1"
    assert " ".join(srun_words(shlex.split(words))) == (
        "srun --mpi=pmix -N 2 -n 16 --ntasks-per-node=8 -w gpu1,gpu2 env NCCL_ALGO=Ring A=b all_reduce_perf -b 8 -g 1"
    )
