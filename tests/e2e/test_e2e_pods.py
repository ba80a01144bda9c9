"""Three tiers on the simulator: a third tier that was reserved is added, a super-spine drained, a pod added."""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e

ONE_POD = (
    ("  tiers: 3  ", "  tiers: 2  "),
    ("count: 8\n", "count: 4\n"),
    ("count: 4, downlink_speed", "count: 2, downlink_speed"),
    ("spine: {model: sonic-vs, count: 4}", "spine: {model: sonic-vs, count: 2}"),
)
THIRD_POD = (
    ("count: 8\n", "count: 12\n"),
    ("count: 4, downlink_speed", "count: 6, downlink_speed"),
    ("spine: {model: sonic-vs, count: 4}", "spine: {model: sonic-vs, count: 6}"),
)


def test_a_reserved_third_tier_and_a_pod_are_added_without_touching_a_leaf(new_project: Any) -> None:
    project = new_project("lab-pods.yml")
    pods = project.intent.read_text()
    project.edit(*ONE_POD)
    project.up()
    assert project.deploy()["result"] == "done"
    assert {device["role"] for device in project.fabric()["devices"]} == {"leaf", "spine", "host"}

    project.intent.write_text(pods)
    project.up()
    states = {name: one["state"] for name, one in project.plan()["devices"].items()}
    assert [states[f"labpods-leaf{number}"] for number in (1, 2)] == ["unchanged"] * 2
    assert project.deploy()["result"] == "done"
    found = project.verify()
    assert found["ok"] is True
    # 8 cables between leaves and spines, 16 above, a session at both ends of each.
    assert sum(check["kind"] == "bgp" for check in found["checks"]) == 48

    project.edit(*THIRD_POD)
    project.up()
    states = {name: one["state"] for name, one in project.plan()["devices"].items()}
    changed = {name for name, state in states.items() if state != "unchanged"}
    assert changed == {
        "labpods-leaf5", "labpods-leaf6", "labpods-spine57", "labpods-spine58",
        "labpods-superspine1", "labpods-superspine5",
    }  # fmt: skip
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"] is True
    assert project.plan()["changes"] == []
