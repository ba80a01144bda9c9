"""Three tiers on the simulator: a super-spine drained, a spine lost, a pod added and rolled back."""

import json
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
        pods.wait_until(lambda: (spines(pods, NEAR), spines(pods, FAR)) == (near, far), 10, what)

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
    pods.wait_until(lambda: spines(pods, "10.32.0.0/26", far) == 1, 10, "no path leads up again to get around it")
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
    pods.wait_until(lambda: spines(pods, "10.32.1.0/26") == 2, 10, "the new pod is reached by both groups")
    pods.run("rollback", "--yes", "--provision")
    pods.wait_until(lambda: spines(pods, "10.32.1.0/26") == 0, 10, "the new pod is gone")
    ways(2, 2, "the pods of before carry as before")
