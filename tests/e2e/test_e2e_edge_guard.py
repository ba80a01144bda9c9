"""The ACL of ``edge_guard`` on running leaves: it comes without a reload, beside ACLs of others, and goes again."""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e

GUARD = ("fabric: lab\n", "fabric: lab\nedge_guard: true\n")


def test_the_edge_guard_comes_and_goes_without_a_reload(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(GUARD)
    plan = project.plan()
    assert {one["device"] for one in plan["changes"]} == {"lab-leaf1", "lab-leaf2"}
    assert {(one["disruption"], one["method"]) for one in plan["changes"]} == {("none", "write")}
    assert project.deploy()["result"] == "done"
    running = project.running("lab-leaf1")
    assert set(running["ACL_TABLE"]) == {"RAILWEAVE_EDGE", "SSH_ONLY"}
    assert {rule.partition("|")[0] for rule in running["ACL_RULE"]} == {"RAILWEAVE_EDGE", "SSH_ONLY"}
    assert project.plan()["changes"] == []
    assert project.verify()["ok"] is True
    project.edit(tuple(reversed(GUARD)))
    assert project.deploy()["result"] == "done"
    after = project.running("lab-leaf1")
    assert {rule.partition("|")[0] for rule in after["ACL_RULE"]} == set(after["ACL_TABLE"]) == {"SSH_ONLY"}
    assert not after.get("ACL_TABLE_TYPE")


def test_the_edge_guard_follows_when_nodes_get_ipv6(new_project: Any) -> None:
    project = new_project("lab-dual.yml")
    both = project.intent.read_text().replace("fabric: dual\n", "fabric: dual\nedge_guard: true\n")
    project.intent.write_text(both.replace("  hosts_ipv6:", "  # hosts_ipv6:"))
    project.up()
    assert project.deploy()["result"] == "done"
    assert set(project.running("dual-leaf1")["ACL_TABLE"]) == {"RAILWEAVE_EDGE", "SSH_ONLY"}
    project.intent.write_text(both)
    assert project.deploy()["result"] == "done"
    assert set(project.running("dual-leaf1")["ACL_TABLE"]) == {"RAILWEAVE_EDGE_V4V6", "SSH_ONLY"}
    assert project.plan()["changes"] == []
    assert project.verify()["ok"] is True
