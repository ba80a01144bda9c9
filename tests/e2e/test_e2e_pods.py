"""Three tiers on the simulator: a super-spine drained, a spine lost, a pod added and rolled back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

SUPER, OTHER, SPINE, LEAF = "labpods-superspine1", "labpods-superspine5", "labpods-spine1", "labpods-leaf1"
NEAR, FAR = "10.32.0.64/26", "10.32.0.128/26"
"""The nodes of the other leaf of the leaf's own pod, and of a leaf of the other pod."""


@pytest.fixture
def pods(new_project: Any) -> Any:
    project = new_project("lab-pods.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    return project


def spines(project: Any, prefix: str, leaf: str = LEAF) -> int:
    """Return over how many spines a leaf sends to a prefix."""
    routes = json.loads(project.on(leaf, "sudo vtysh -c 'show ip route json'"))
    return len({hop["interfaceName"] for hop in routes[prefix][0]["nexthops"]}) if prefix in routes else 0


def test_pods_are_operated_like_one_fabric(pods: Any) -> None:
    def ways(near: int, far: int, what: str) -> None:
        pods.wait_until(lambda: (spines(pods, NEAR), spines(pods, FAR)) == (near, far), 60, what)

    ways(2, 2, "all spines carry")
    assert pods.json("drain", SUPER, "--yes", "--wait", "2")["ok"]
    ways(2, 1, "other pods are reached by the other group alone")
    told = pods.json("drain", OTHER, "--yes", "--wait", "2", "--several", status=1)
    assert [one["code"] for one in told["diagnostics"]] == ["RW522"]
    assert pods.json("undrain", SUPER)["ok"]
    ways(2, 2, "both groups carry again")

    pods.run("sim", "fault", SPINE, "bgp-down")
    ways(1, 1, "a lost spine takes one way within its pod and one out of it")
    far = "labpods-leaf3"
    pods.wait_until(lambda: spines(pods, "10.32.0.0/26", far) == 1, 60, "no path leads up again to get around it")
    assert spines(pods, "10.32.0.192/26", far) == 2
    assert pods.verify(status=1)["ok"] is False
    pods.run("sim", "fault", SPINE, "clear")
    ways(2, 2, "the spine is back")

    pods.edit(("count: 8\n", "count: 12\n"), ("model: sonic-vs, count: 4, down", "model: sonic-vs, count: 6, down"),
              ("spine: {model: sonic-vs, count: 4}", "spine: {model: sonic-vs, count: 6}"))  # fmt: skip
    pods.up()
    grown = pods.plan()
    assert {name for name, one in grown["devices"].items() if one["state"] == "changed"} == {
        SUPER, OTHER, "labpods-leaf5", "labpods-leaf6", "labpods-spine57", "labpods-spine58",
    }  # fmt: skip
    assert pods.deploy()["result"] == "done"
    assert pods.verify()["ok"]
    pods.wait_until(lambda: spines(pods, "10.32.1.0/26") == 2, 60, "the new pod is reached by both groups")
    pods.run("rollback", "--yes", "--provision")
    pods.wait_until(lambda: spines(pods, "10.32.1.0/26") == 0, 60, "the new pod is gone")
    ways(2, 2, "the pods of before carry as before")


TWO_TIERS = """
fabric: rise
workload: {kind: inference}
nodes:
  - {name: gpu, count: 8, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6, pcie: gen4x16}}
topology:
  stripe: 2
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {model: sonic-vs}
  spine: {model: sonic-vs, count: 2}
  reserve: {RESERVE}
"""
THIRD = ("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 4}\n  super_spine: {model: sonic-vs}")


def two_tiers(reserve: str) -> Callable[[Path], str]:
    def write(folder: Path) -> str:
        (folder / "intent" / "rise.yml").write_text(TWO_TIERS.replace("RESERVE", reserve), encoding="utf-8")
        return "rise.yml"

    return write


def test_a_reserved_third_tier_is_deployed_over_live_spines(new_project: Any) -> None:
    project = new_project(two_tiers("pods: 2, spines: 4"))
    project.edit(("count: 8, gpus", "count: 4, gpus"), ("links_per_pair", "pod: 2\n  links_per_pair"))
    project.up()
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]
    project.edit(("count: 4, gpus", "count: 8, gpus"), THIRD)
    project.up()
    plan = project.plan()
    changed = {name for name, one in plan["devices"].items() if one["state"] == "changed"}
    assert {name for name in changed if "leaf" in name} == {f"rise-leaf{number}" for number in range(5, 9)}
    old = ("rise-spine1", "rise-spine2")
    assert {one["disruption"] for one in plan["changes"] if one["device"] in old} <= {"none", "session"}
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]
    routes = json.loads(project.on("rise-leaf1", "sudo vtysh -c 'show ip route json'"))
    assert len([prefix for prefix in routes if prefix.endswith("/26")]) == 8


@pytest.mark.nightly
def test_a_third_tier_that_nothing_reserved_comes_in_phases(new_project: Any) -> None:
    project = new_project(two_tiers("spines: 4"))
    project.up()
    assert project.deploy()["result"] == "done"
    (project.folder / "base.yml").write_text(project.intent.read_text(encoding="utf-8"), encoding="utf-8")
    project.edit(THIRD, ("reserve: {spines: 4}", "reserve: {pods: 2, spines: 8}\n  pod: 2"))
    told = project.json("phases", "base.yml")["phases"]
    assert [phase["kind"] for phase in told] == ["provision", "switches", "cables", "cables", "cleanup"]
    project.up()
    for number, phase in enumerate(told, start=1):
        words = ("--from", "base.yml", "--phase", str(number))
        assert [step["number"] for step in project.deploy(*words)["steps"]] == [number]
        if phase["cables"]:
            assert project.json("sim", "cable", *words)["moved"] == len(phase["cables"])
        assert project.json("verify", "--target", "sim", *words)["ok"]
        for leaf in ("rise-leaf1", "rise-leaf5"):
            routes = json.loads(project.on(leaf, "sudo vtysh -c 'show ip route json'"))
            assert len([prefix for prefix in routes if prefix.endswith("/26")]) == 8, (number, leaf)
    assert project.verify()["ok"]
