"""Tenants on the simulated fabric: filters come, a node moves, and a path that somebody opened is named and closed."""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e

NAME = "RAILWEAVE_TENANTS"
TEAMS = """fabric: lab
sonic: {acl_rules: 256}
tenants:
  - {name: a, nodes: gpu1-2}
  - {name: b, nodes: gpu3-4}
"""


def test_tenants_come_and_move_and_a_leak_is_named_and_closed(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(("fabric: lab\n", TEAMS))
    plan = project.plan()
    assert {one["device"] for one in plan["changes"]} == {"lab-leaf1", "lab-leaf2"}
    assert {(one["disruption"], one["method"]) for one in plan["changes"]} == {("none", "write")}
    assert project.deploy()["result"] == "done"
    assert project.plan()["changes"] == []
    checks = [one for one in project.verify()["checks"] if one["kind"] == "tenants"]
    assert len(checks) == 8
    assert all(one["ok"] for one in checks)

    project.edit(("nodes: gpu1-2}", "nodes: gpu1}"), ("nodes: gpu3-4}", "nodes: gpu2-4}"))
    assert {one["table"] for one in project.plan()["changes"]} == {"ACL_RULE"}
    assert project.deploy()["result"] == "done"

    project.on("lab-leaf1", f"sudo sonic-db-cli CONFIG_DB DEL 'ACL_RULE|{NAME}|deny'")
    failed = [one for one in project.verify(status=1)["checks"] if not one["ok"]]
    assert {(one["device"], one["kind"]) for one in failed} == {("lab-leaf1", "tenants")}
    assert failed[0]["actual"] == f"nodes of a reach nodes of b (no rule drops it at {failed[0]['subject']})"
    drift = project.json("drift", "--target", "sim")
    (leak, *_) = [one for one in drift["diagnostics"] if one["code"] == "RW142"]
    assert leak["devices"] == ["lab-leaf1"]
    assert leak["message"].startswith("on lab-leaf1 nodes of a reach nodes of b: no rule drops it at Ethernet")
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"] is True
