"""Hooks around the change of a node, and the RDMA test on the first batch."""

import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from node_stand_in import load

from nornir_railweave.rollout.node_log import NodeLog, left_drained
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.hosts.outcome import ChangeKind, HostChange, HostResult, HostsRun, HostState
from railweave.hosts.render import HostRenderer
from railweave.templates import find_templates
from railweave_hosts import rollout
from railweave_hosts.access import Batches, Connection, HostAccess
from railweave_hosts.hooks import HookRunner, Hooks
from railweave_hosts.rdma_test import ends_of_test, judged
from railweave_hosts.runner import NodeReading

pytestmark = pytest.mark.slow

Pod = Callable[..., Fabric]
PROGRAMS = Path(__file__).resolve().parents[3] / "templates" / "hosts"
MTU = HostChange(ChangeKind.SETTING, "rail0", "mtu", "1500", "9000")


class Nodes:
    """Stands for ansible-runner on nodes of which ``changing`` differ: records the parts, and fails as told."""

    def __init__(self, *changing: str) -> None:
        self.changing, self.log = set(changing), list[str]()
        self.broken: dict[str, str] = {}
        self.interrupted: set[str] = set()
        self.tests: Mapping[str, dict[str, Any]] = {}

    def run(self, access: object, inventory: Mapping[str, Any], bundles: object, **how: Any) -> Any:
        part = "check" if how["check"] else how["part"]
        self.log += [f"{part} {name}" for name in inventory]
        return tuple(self._result(name, part) for name in inventory)

    def _result(self, name: str, part: str) -> HostResult:
        if self.broken.get(name) == part:
            return HostResult(name, HostState.FAILED, (), "rail0 pfc: out of order")
        changed = name in self.changing and part != "confirm"
        state = HostState.CHANGED if changed else HostState.UNCHANGED
        return HostResult(name, state, (MTU,) if changed else (), interrupted=name in self.interrupted)

    def read(self, access: object, inventory: Mapping[str, Any], bundles: object, **how: Any) -> Any:
        self.log += [f"{how['part']} {name}" for name in inventory]
        return tuple(NodeReading(name, self.tests[name], "") for name in inventory)


@pytest.fixture
def apply(pod: Pod, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., HostsRun]:
    """Return a function that applies to three nodes with hooks that record their calls and fail for nodes named so."""

    def run(nodes: Nodes, count: int = 3, *, refused: str = "none", canary: int = 0, **how: Any) -> HostsRun:
        monkeypatch.setattr(rollout, "run_role", nodes.run)
        monkeypatch.setattr(rollout, "read_nodes", nodes.read)
        script = f"import sys; sys.exit('cannot' if sys.argv[1:] == {refused.split()!r} else 0)"

        class Recording(HookRunner):
            def _run(self, command: str | None, host: Any, timeout_s: float) -> str:
                if command is not None:
                    nodes.log.append(f"{command.split()[-2]} {host.name}")
                return super()._run(command, host, timeout_s)

        monkeypatch.setattr(rollout, "HookRunner", Recording)
        command = f'{sys.executable} -c "{script}"'
        access = HostAccess(
            connection=Connection.LOCAL,
            batches=Batches(canary=canary, forks=1, max_failures=9),
            hooks=how.pop("hooks", Hooks(drain=f"{command} drain {{name}}", resume=f"{command} resume {{name}}")),
        )
        fabric = pod()
        log = how.pop("log", None)
        made = rollout.HostRollout(fabric, HostRenderer(fabric, find_templates()), access, "test", log)
        return made.plan(fabric.hosts[:count]) if how.pop("dry", False) else made.apply(fabric.hosts[:count], **how)

    return run


def errors(run: HostsRun) -> dict[str, tuple[HostState, str]]:
    return {host.name: (host.state, host.error) for host in run.hosts}


def test_only_nodes_that_change_are_drained_and_resumed_once_they_are_verified(apply: Callable[..., HostsRun]) -> None:
    nodes = Nodes("gpu2")
    assert apply(nodes).ok
    every = [f"check gpu{number}" for number in (1, 2, 3)]
    assert nodes.log == [*every, "drain gpu2", "change gpu2", "resume gpu2", "confirm gpu2"]


def test_a_node_that_does_not_drain_is_not_touched(apply: Callable[..., HostsRun]) -> None:
    nodes = Nodes("gpu1", "gpu2")
    run = apply(nodes, refused="drain gpu1")
    state, error = errors(run)["gpu1"]
    assert state is HostState.FAILED
    assert error.startswith("not drained, and not changed: `")
    assert error.endswith("drain gpu1`: cannot")
    assert "change gpu1" not in nodes.log
    assert "resume gpu1" not in nodes.log
    assert errors(run)["gpu2"] == (HostState.CHANGED, "")


def test_a_node_that_is_not_verified_stays_drained(apply: Callable[..., HostsRun]) -> None:
    nodes = Nodes("gpu1")
    nodes.broken["gpu1"] = "change"
    assert errors(apply(nodes))["gpu1"] == (HostState.FAILED, "rail0 pfc: out of order; it stays drained")
    assert "resume gpu1" not in nodes.log


def test_a_node_that_is_not_resumed_keeps_its_snapshot_open_and_is_resumed_by_the_next_run(
    apply: Callable[..., HostsRun],
) -> None:
    nodes = Nodes("gpu1")
    _, error = errors(apply(nodes, refused="resume gpu1"))["gpu1"]
    assert error.startswith("changed and verified, but not resumed: `")
    assert "confirm gpu1" not in nodes.log

    again = Nodes()
    again.interrupted = {"gpu1"}
    assert apply(again).ok
    assert again.log[3:] == ["drain gpu1", "change gpu1", "resume gpu1", "confirm gpu1"]


class KilledError(BaseException):
    """The process is lost at this step."""


class Scheduled(Nodes):
    """Nodes in a scheduler, which are changed by their change, and a run that is killed at its step ``dies_at``."""

    def __init__(self, *changing: str, dies_at: int = 0) -> None:
        super().__init__(*changing)
        self.dies_at, self.steps = dies_at, 0
        self.drained, self.open = set[str](), set[str]()

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.dies_at:
            raise KilledError

    def run(self, access: object, inventory: Mapping[str, Any], bundles: object, **how: Any) -> Any:
        self.step()
        self.interrupted = set(self.open)
        found = super().run(access, inventory, bundles, **how)
        part = "check" if how["check"] else how["part"]
        if part == "change":
            assert set(inventory) <= self.drained, "a node is changed while jobs may run on it"
            self.open |= set(inventory)
            self.changing -= set(inventory)
        elif part == "confirm":
            self.open -= set(inventory)
        self.step()
        return found

    def hook(self, verb: str, name: str) -> None:
        self.step()
        if verb == "drain":
            self.drained.add(name)
        else:
            self.drained.discard(name)
        self.step()


@pytest.mark.parametrize("dies_at", range(1, 21))
@pytest.mark.parametrize("reverted", [False, True])
def test_a_run_that_is_killed_at_any_step_leaves_no_node_drained_unsaid(
    apply: Callable[..., HostsRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int, reverted: bool
) -> None:
    nodes = Scheduled("gpu1", "gpu3", dies_at=dies_at)

    def hooked(runner: object, command: str, host: Any, timeout_s: float) -> str:
        nodes.hook(command.split()[-2], host.name)
        return ""

    monkeypatch.setattr(HookRunner, "_run", hooked)
    log = NodeLog(tmp_path, "pod1", "sim")
    with pytest.raises(KilledError), log.held("hosts apply"):
        apply(nodes, log=log, canary=1)
    if reverted:
        nodes.changing.clear()
    planned = apply(nodes, log=log, dry=True)
    said = {one.name for one in planned.hosts if one.state is HostState.CHANGED or one.interrupted}
    assert nodes.drained <= said
    with log.held("hosts apply"):
        done = apply(nodes, log=log, canary=1)
    assert done.ok
    assert not nodes.drained
    assert not log.left_drained()
    assert {one.state for one in apply(nodes, log=log, dry=True).hosts} == {HostState.UNCHANGED}


def test_nodes_that_a_killed_run_left_drained_are_given_back_and_not_drained_again(
    apply: Callable[..., HostsRun], tmp_path: Path
) -> None:
    log = NodeLog(tmp_path, "pod1", "sim")
    log.note("draining", ["gpu2"])
    nodes = Nodes()
    done = apply(nodes, log=log)
    assert nodes.log == ["check gpu1", "check gpu2", "check gpu3", "resume gpu2", "confirm gpu2"]
    (change,) = done.hosts[1].changes
    assert (change.before, change.after) == ("drained by a run that did not end", "resumed")


def test_the_log_keeps_what_is_left_drained_and_no_more(tmp_path: Path) -> None:
    log = NodeLog(tmp_path, "pod1", "sim")
    for number in range(20):
        with log.held("hosts apply"):
            log.note("draining", [f"gpu{number}", "gpu2"])
            log.note("resumed", [f"gpu{number}"])
    with log.held("hosts apply"):
        assert log.left_drained() == {"gpu2"}
    assert (tmp_path / "pod1@sim.nodes").read_bytes().count(b"\n") == 1


def test_what_is_no_line_of_the_log_counts_for_nothing() -> None:
    lines = b'{"step": "draining", "nodes": ["gpu1", "gpu2", 3]}\n{"step": "resumed", "nodes": ["gpu1"]}\n'
    odd = b'[]\n{"step": "draining"}\n{"step": "draining", "nodes": "gpu4"}\n{"step": "dra'
    assert left_drained(lines + odd) == {"gpu2"}


def test_two_runs_on_the_nodes_of_a_fabric_exclude_each_other(tmp_path: Path) -> None:
    one, other = (NodeLog(tmp_path, "pod1", "sim") for _ in range(2))
    with (
        one.held("hosts apply"),
        pytest.raises(RefusedError, match="`hosts apply` is running"),
        other.held("hosts rollback"),
    ):
        pass


def test_a_rollback_goes_through_the_same_hooks(apply: Callable[..., HostsRun]) -> None:
    nodes = Nodes("gpu3")
    run = apply(nodes, rollback=True)
    assert (run.ok, run.is_rollback) == (True, True)
    assert nodes.log[3:] == ["drain gpu3", "rollback gpu3", "resume gpu3", "confirm gpu3"]


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("/nowhere/scontrol {name}", "`/nowhere/scontrol gpu1`: No such file or directory"),
        (f"{sys.executable} -c 'import time; time.sleep(60)' {{name}}", "did not end within 1 s"),
        ("false {name}", "`false gpu1`: status 1"),
    ],
)
def test_what_is_wrong_with_a_hook_is_told(pod: Pod, command: str, wanted: str) -> None:
    runner = HookRunner(Hooks(drain=command, drain_timeout_s=1), "pod", 1)
    assert wanted in runner.drain(pod().hosts[:1])["gpu1"]


def test_a_drain_ends_when_nothing_runs_any_more_or_its_time_is_over(
    pod: Pod, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = [0.0]
    monkeypatch.setattr("railweave_hosts.hooks.time.monotonic", lambda: clock[0])

    class Waits(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            clock[0] += timeout or 0
            if clock[0] >= 20:
                (tmp_path / "gpu1").touch()
            return False

    monkeypatch.setattr("railweave_hosts.hooks.threading.Event", Waits)
    told = Hooks(drained=f"test -e {tmp_path}/{{name}}", drain_timeout_s=60)
    assert HookRunner(told, "pod", 1).drain(pod().hosts[:1]) == {"gpu1": ""}
    assert clock[0] == 20
    slow = HookRunner(told, "pod", 1).drain(pod().hosts[1:2])
    assert slow["gpu2"].startswith("not drained within 60 s: `test -e ")


def test_the_first_batch_is_tested_before_it_is_resumed(apply: Callable[..., HostsRun]) -> None:
    nodes = Nodes("gpu1", "gpu2", "gpu3")
    nodes.tests = {"gpu1": {"rails": []}, "gpu2": {"rails": [measured(320)]}}
    run = apply(nodes, canary=2)
    assert run.tested == (
        "RDMA tested between gpu1 and gpu2 in the lossless class: rail0 320 Gb/s, 1.9 µs (99 %: 2.4 µs)"
    )
    assert nodes.log.index("rdma-test gpu1") < nodes.log.index("resume gpu1")
    assert "rdma-test gpu3" not in nodes.log


def measured(gbps: float) -> dict[str, Any]:
    return {"rail": "rail0", "gbps": gbps, "latency_us": 1.9, "p99_us": 2.4}


def test_a_rail_below_its_share_of_the_link_fails_the_test(apply: Callable[..., HostsRun]) -> None:
    nodes = Nodes("gpu1", "gpu2")
    nodes.tests = {"gpu1": {"rails": []}, "gpu2": {"rails": [measured(319.9)]}}
    assert errors(apply(nodes, canary=2))["gpu1"] == (
        HostState.FAILED,
        "the RDMA test between gpu1 and gpu2 failed: rail0 carried 319.9 of 400 Gb/s: less than 80 % of the link"
        " (hosts.batches.rdma_percent); rolled back to its snapshot; it stays drained",
    )


def test_a_floor_of_zero_only_reports(pod: Pod) -> None:
    fabric = pod()
    ends = ends_of_test(fabric, *fabric.hosts[:2])
    readings = [NodeReading("gpu1", {"rails": []}, ""), NodeReading("gpu2", {"rails": [measured(3)]}, "")]
    assert not judged(readings, ends, 0).failed
    assert judged(readings, ends, 1).failed


def test_a_failed_test_rolls_the_first_batch_back_and_leaves_it_drained(apply: Callable[..., HostsRun]) -> None:
    nodes = Nodes("gpu1", "gpu2")
    nodes.tests = {"gpu1": {"rails": []}, "gpu2": {"rails": [], "problem": "rail0: no answer"}}
    run = apply(nodes, canary=2)
    assert errors(run)["gpu1"] == (
        HostState.FAILED,
        "the RDMA test between gpu1 and gpu2 failed: gpu2 rail0: no answer; rolled back to its snapshot;"
        " it stays drained",
    )
    assert [line for line in nodes.log if "rollback" in line] == ["rollback gpu1", "rollback gpu2"]
    assert not [line for line in nodes.log if "resume" in line]


def test_what_was_not_tested_is_said(apply: Callable[..., HostsRun]) -> None:
    alone = apply(Nodes("gpu1"), canary=1)
    assert alone.tested == "RDMA not tested: that takes two changed nodes in the first batch (hosts.batches.canary: 2)"
    found = judged([NodeReading("gpu1", {"missing": "ib_write_bw is not installed"}, "")], {}, 80)
    assert found == ("RDMA not tested: on gpu1, ib_write_bw is not installed", False)


RESULT = """ #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      100000           0.00               391.49              0.746
"""
LATENCY = """ #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]
 2       1000          1.81           5.20         1.92               1.93             0.05            2.41                    5.20
"""  # noqa: E501


@pytest.fixture
def rdma() -> Any:
    load(PROGRAMS / "railweave_host.py", "railweave_host")
    return load(PROGRAMS / "railweave_rdma.py", "railweave_rdma")


@pytest.mark.parametrize(("counted", "problem"), [(65536 * 100000, None), (12, "priority 3 carried 12 of 6553600000")])
def test_the_client_waits_for_the_server_and_holds_the_priority_against_what_it_sent(
    pod: Pod, rdma: Any, monkeypatch: pytest.MonkeyPatch, counted: int, problem: str | None
) -> None:
    fabric = pod()
    wanted = dict(ends_of_test(fabric, *fabric.hosts[:2])["gpu2"])
    wanted["rails"] = wanted["rails"][:1]
    machine, asked, commands = rdma.node.Machine(), [0], list[list[str]]()
    machine.rdma_device = lambda interface: "mlx5_0"
    gids = {"gids/0": "fe80::1", "gids/3": wanted["rails"][0]["gid"], "gid_attrs/types/3": "RoCE v2\n"}
    machine.read = lambda path: gids.get(path.removeprefix("/sys/class/infiniband/mlx5_0/ports/1/"), "")
    waited = list[float]()
    monkeypatch.setattr(rdma.time, "sleep", waited.append)
    monkeypatch.setattr(rdma.shutil, "which", lambda tool: f"/usr/bin/{tool}")

    def run(command: list[str]) -> str:
        if command[0] == "ethtool":
            asked[0] += 1
            return f"     tx_prio3_bytes: {counted * (asked[0] - 1)}"
        commands.append(command)
        if len(commands) < 3:
            raise rdma.node.FaultError("Couldn't connect to 10.32.0.1:18515")
        return RESULT if command[0] == "ib_write_bw" else LATENCY

    machine.run = run
    counter = {"command": ["ethtool", "-S", "{interface}"], "kind": "number", "pattern": r"tx_prio3_bytes:\s*(\d+)"}
    answer = rdma.test(machine, {"nic": {"sent_bytes": counter}}, wanted)
    assert waited == [1.0, 1.0]
    assert [command[0] for command in commands] == ["ib_write_bw"] * 3 + ["ib_write_lat"] * (problem is None)
    assert commands[0][:7] == ["ib_write_bw", "-d", "mlx5_0", "-i", "1", "-x", "3"]
    assert commands[0][commands[0].index("--tclass") + 1] == "106"
    assert commands[0][-1] == "10.32.0.1"
    if problem is None:
        assert answer == {"rails": [{"rail": "rail0", "gbps": 391.49, "latency_us": 1.92, "p99_us": 2.41}]}
    else:
        assert problem in answer["problem"]


def test_a_node_without_perftest_is_not_tested(rdma: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdma.shutil, "which", lambda tool: None)
    assert rdma.test(rdma.node.Machine(), {}, {"rails": [{}]}) == {"missing": "ib_write_bw is not installed"}
