"""Changes in phases on the simulator: spines where all uplinks are in use, and another marking of the RoCE class."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paramiko
import pytest

from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.journal import Journal
from railweave.api.deployment.phases import deploy_phases
from railweave.api.project import open_project
from railweave.plan.consent import DeployOptions

pytestmark = pytest.mark.e2e

WEAVE = """
fabric: weave
workload: {kind: inference}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}}
topology:
  shape: rail-optimized
  oversubscription: "3:1"     # 24 ports down, 8 up, all of them in use
  leaf:  {model: sonic-vs, count: 2}
  spine: {model: sonic-vs, count: 2}
"""
MARKING = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [24], lossless: true, priority: 4, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""
UPLINKS = 8
LEAVES = ("weave-leaf1", "weave-leaf2")


def weave(folder: Path) -> str:
    (folder / "intent" / "weave.yml").write_text(WEAVE, encoding="utf-8")
    return "weave.yml"


@pytest.fixture(scope="session")
def kept_weave(deployed_once: Callable[[Any], Path]) -> Path:
    return deployed_once(weave)


@pytest.fixture
def running_weave(new_project: Any, kept_weave: Path) -> Any:
    """A project whose fabric runs on switches of its own; ``base.yml`` keeps what runs."""
    project = new_project(weave)
    project.bring_back(kept_weave)
    project.set_rollout(verify_interval=0.1)
    (project.folder / "base.yml").write_text(WEAVE, encoding="utf-8")
    return project


class Floor:
    """The fewest sessions that each leaf had while somebody looked, as its own FRR counts them."""

    def __init__(self, project: Any) -> None:
        (state,) = (project.folder / ".railweave" / "sim").iterdir()
        self._reach = json.loads((state / "endpoints.json").read_text(encoding="utf-8"))
        self.fewest = dict.fromkeys(LEAVES, 10_000)
        self.looks = 0
        self.faults: list[str] = []

    @contextmanager
    def watched(self) -> Iterator[None]:
        ended = threading.Event()
        watchers = [threading.Thread(target=self._watch, args=(leaf, ended)) for leaf in LEAVES]
        for watcher in watchers:
            watcher.start()
        try:
            yield
        finally:
            ended.set()
            for watcher in watchers:
                watcher.join(timeout=10)

    def _watch(self, leaf: str, ended: threading.Event) -> None:
        place = self._reach["devices"][leaf]
        with paramiko.SSHClient() as client:
            client.load_host_keys(self._reach["known_hosts"])
            client.connect(
                place["address"],
                place["port"],
                self._reach["username"],
                key_filename=self._reach["key_file"],
                look_for_keys=False,
            )
            while not ended.is_set():
                _, out, _ = client.exec_command("sudo -n vtysh -c 'show bgp summary json'", timeout=10)
                peers = json.loads(out.read())["ipv4Unicast"]["peers"].values()
                established = sum(peer["state"] == "Established" for peer in peers)
                self.fewest[leaf] = min(self.fewest[leaf], established)
                self.looks += 1
                ended.wait(0.02)


def move(project: Any, cables: list[Any]) -> None:
    for cable in cables:
        ends = [f"{cable[end]['device']}:{cable[end]['port']}" for end in ("stays", "after")]
        project.run("sim", "cable", *ends)


def test_spines_join_where_all_uplinks_are_in_use_and_no_leaf_falls_below_the_floor(running_weave: Any) -> None:
    project = running_weave
    project.edit(("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 4}"))
    told = project.json("phases", "base.yml")
    assert [phase["kind"] for phase in told["phases"]] == ["provision", "cables", "cables", "cleanup"]
    order = project.run("phases", "base.yml", "--markdown").stdout
    assert order.count("- [ ] cable of") == told["cables"] == 8
    project.up()

    floor = Floor(project)
    with floor.watched():
        first = project.deploy("--from", "base.yml")
        assert [step["number"] for step in first["steps"]] == [1, 2]
        assert first["waiting"]["for"] == "cables"
        refused = project.deploy("--from", "base.yml", "--phase", "3", status=1)
        assert [one["code"] for one in refused["diagnostics"]] == ["RW518"]
        again = project.deploy("--from", "base.yml")
        assert (again["steps"], again["waiting"]["cables"]) == ([], first["waiting"]["cables"])

        *some, last = first["waiting"]["cables"]
        move(project, some)
        project.json("verify", "--from", "base.yml", "--phase", "2", status=1)
        assert project.deploy("--from", "base.yml")["waiting"]["cables"] == [last]
        move(project, [last])
        assert project.json("verify", "--from", "base.yml", "--phase", "2")["ok"] is True

        second = project.deploy("--from", "base.yml")
        assert [step["number"] for step in second["steps"]] == [3]
        rewired = project.json("sim", "cable", "--from", "base.yml", "--phase", "3")
        assert rewired["cables"] == second["waiting"]["cables"]
        assert rewired["moved"] == len(rewired["cables"])
        third = project.deploy("--from", "base.yml")
        assert ([step["number"] for step in third["steps"]], third["waiting"]) == ([4], None)
    assert floor.looks > 50
    assert all(UPLINKS / 2 <= fewest < UPLINKS for fewest in floor.fewest.values()), floor.fewest

    assert project.plan()["changes"] == []
    assert project.verify()["ok"] is True
    assert project.deploy("--from", "base.yml")["steps"][0]["result"] == "unchanged"


def lossless(project: Any, device: str) -> set[tuple[str, str]]:
    """Return the code points that a switch's tables treat as lossless, with their priorities, from end to end."""
    tables = project.running(device)
    (marked,) = tables["DSCP_TO_TC_MAP"].values()
    (groups,) = tables["TC_TO_PRIORITY_GROUP_MAP"].values()
    found = set()
    for dscp, priority in marked.items():
        ports = [
            port
            for port, row in tables["PORT_QOS_MAP"].items()
            if priority in row.get("pfc_enable", "").split(",")
            and priority in row["pfcwd_sw_enable"].split(",")
            and tables["QUEUE"][f"{port}|{priority}"].get("wred_profile")
            and any(
                holds(key, port, priority) and "lossless" in row["profile"] for key, row in tables["BUFFER_PG"].items()
            )
        ]
        if ports and groups[priority] == priority:
            assert len(ports) == len([port for port in tables["PORT_QOS_MAP"] if port != "global"])
            found.add((dscp, priority))
    return found


def holds(key: str, port: str, priority: str) -> bool:
    name, _, numbers = key.partition("|")
    first, _, last = numbers.partition("-")
    return name == port and int(first) <= int(priority) <= int(last or first)


def test_a_class_gets_another_code_point_and_priority_by_way_of_switches_that_serve_both(running_weave: Any) -> None:
    project = running_weave
    with project.intent.open("a", encoding="utf-8") as file:
        file.write(MARKING)
    assert "DSCP 26 is no longer lossless" in project.run("plan", "--markdown").stdout
    project.set_rollout(single_step=False)
    refused = project.deploy(status=1)
    assert [one["code"] for one in refused["diagnostics"]] == ["RW517"]
    assert [phase["kind"] for phase in project.json("phases", "base.yml")["phases"]] == [
        "switches",
        *("hosts",) * 3,
        "cleanup",
    ]
    assert lossless(project, "weave-leaf1") == {("26", "3")}

    first = project.deploy("--from", "base.yml")
    assert [step["number"] for step in first["steps"]] == [1]
    assert (first["waiting"]["for"], first["waiting"]["number"]) == ("nodes", 2)
    for device in ("weave-leaf1", "weave-spine2"):
        assert lossless(project, device) == {("26", "3"), ("24", "4")}
    words = " ".join(project.run("deploy", "--from", "base.yml", "--yes").stdout.split())
    assert "phase 3: GPU nodes send the new marking" in words, "the work of those who run the nodes"
    refused = project.deploy("--from", "base.yml", "--phase", "5", status=1)
    assert "nobody has stated whether all 4 GPU nodes have done phases 2 to 4" in refused["diagnostics"][0]["message"]
    assert lossless(project, "weave-leaf1") == {("26", "3"), ("24", "4")}

    last = project.deploy("--from", "base.yml", "--nodes-done")
    assert last["steps"][0]["result"] == "done"
    assert lossless(project, "weave-leaf1") == {("24", "4")}
    assert project.plan()["changes"] == []
    assert project.verify()["ok"] is True


def test_a_smaller_mtu_goes_to_the_nodes_before_the_switches(running_weave: Any) -> None:
    project = running_weave
    project.set_rollout(single_step=False)
    project.edit(("workload:", "mtu: {fabric: 4300, hosts: 4200}\nworkload:"))
    plan = project.plan()
    assert {(one["field"], one["disruption"]) for one in plan["changes"]} == {("mtu", "session")}
    assert all(device["disruptive"] for device in plan["devices"].values())
    refused = project.run("deploy", "--target", "sim", "--yes", status=1).stderr
    assert "error[RW524]: the MTU goes down, to 4300 bytes on weave-leaf1 and 3 more" in " ".join(refused.split())
    waiting = project.deploy("--from", "base.yml")["waiting"]
    assert (waiting["number"], waiting["for"]) == (1, "nodes")
    assert project.plan()["changes"] == plan["changes"]
    ended = project.deploy("--from", "base.yml", "--phase", "3", "--nodes-done")
    assert ended["steps"][0]["result"] == "done"
    assert project.plan()["changes"] == []
    assert project.verify()["ok"] is True


def test_a_base_that_does_not_run_is_found_out_before_anything_is_done(running_weave: Any) -> None:
    project = running_weave
    project.edit(("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 4}"))
    (project.folder / "other.yml").write_text(WEAVE + "mtu: {fabric: 9216, hosts: 9000}\n", encoding="utf-8")
    project.up()
    refused = project.deploy("--from", "other.yml", status=1)
    (found,) = refused["diagnostics"]
    assert found["code"] == "RW518"
    assert "weave-leaf1" in found["devices"]
    project.run("deploy", "--phase", "2", "--yes", status=64)
    project.run("deploy", "--from", "base.yml", "--phase", "9", "--yes", status=64)
    project.run("deploy", "--from", "no-such-revision", "--yes", status=1)


def lose(project: Any, *, at: Step, **options: Any) -> None:
    """Deploy the next phases in a process of its own, which dies when its journal has ``at``."""
    child = os.fork()
    if child == 0:  # the process that is lost
        try:
            os.chdir(project.folder)
            _die(at)
            agreed = DeployOptions(discard_newer=True, **options)
            deploy_phases(open_project(str(project.intent)), "sim", agreed, base="base.yml")
        finally:
            os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"it was never at {at}"


def _die(at: Step) -> None:
    """Let this process die once its journal has told ``at``; of confirmations, once it has told those of all."""
    write = Journal.__call__
    told: set[str] = set()

    def call(journal: Journal, event: Event) -> None:
        write(journal, event)
        told.update(event.details.get("devices", ()) if event.step is Step.CONFIRMING else ())
        if event.step is at and (at is not Step.CONFIRMING or len(told) == 4):
            os.kill(os.getpid(), signal.SIGKILL)

    Journal.__call__ = call  # type: ignore[method-assign, assignment]


@pytest.mark.nightly
def test_a_phase_whose_last_commit_was_not_confirmed_is_not_done(running_weave: Any) -> None:
    project = running_weave
    with project.intent.open("a", encoding="utf-8") as file:
        file.write(MARKING)
    project.set_rollout(single_step=False, revert_in=40, verify_timeout=5, drain_timeout=1)
    lose(project, at=Step.CONFIRMING)
    armed = [name for name, one in project.plan(status=1)["devices"].items() if one["pending"]]
    assert len(armed) == 1
    refused = project.json("verify", "--from", "base.yml", "--phase", "1", "--target", "sim", status=1)
    assert [(one["code"], one["devices"]) for one in refused["diagnostics"]] == [("RW508", armed)]
    assert [one["kind"] for one in project.verify(status=1)["checks"] if not one["ok"]] == ["commit"]

    again = project.deploy("--from", "base.yml")
    assert [(step["number"], step["result"]) for step in again["steps"]] == [(1, "done")]
    assert (again["waiting"]["for"], again["waiting"]["number"]) == ("nodes", 2)
    for device in (*LEAVES, "weave-spine1", "weave-spine2"):
        assert lossless(project, device) == {("26", "3"), ("24", "4")}
    verified = project.json("verify", "--from", "base.yml", "--phase", "1", "--target", "sim")
    assert verified["ok"] is True


def test_an_interrupted_phase_is_resumed_with_what_asking_for_phases_agrees_to(running_weave: Any) -> None:
    project = running_weave
    with project.intent.open("a", encoding="utf-8") as file:
        file.write(MARKING)
    project.set_rollout(single_step=False)
    lose(project, at=Step.APPLIED)
    done = project.deploy("--resume")
    assert done["result"] == "done"
    assert lossless(project, "weave-leaf2") == {("26", "3"), ("24", "4")}

    lose(project, at=Step.CONFIRMING, nodes_done=True)
    done = project.deploy("--resume")
    assert done["result"] == "done"
    assert lossless(project, "weave-leaf1") == {("24", "4")}
    assert project.plan()["changes"] == []
    assert "nothing to resume" in project.deploy("--resume", status=1)["error"]
