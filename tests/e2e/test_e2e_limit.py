"""A deployment limited to some switches: what stays behind, its verification, its plan file, resume and rollback."""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e

SYSLOG = ("workload:", "overrides: {leaf: {SYSLOG_SERVER: {10.9.9.9: {}}}}\nworkload:")
TIMERS = ("workload:", "bgp: {keepalive: 2, hold: 6}\nworkload:")
LEAVES = ("lab-leaf1", "lab-leaf2")


def with_server(project: Any) -> list[str]:
    """Return the leaves that have the syslog server of the changed intent."""
    return [leaf for leaf in LEAVES if "10.9.9.9" in project.running(leaf).get("SYSLOG_SERVER", {})]


def test_a_limited_deployment_leaves_the_others_behind_until_they_are_deployed(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(SYSLOG)
    first = project.deploy("--limit", "lab-leaf1")
    assert (first["result"], first["limit"], first["behind"]) == ("done", ["lab-leaf1"], ["lab-leaf2"])
    assert first["devices"]["lab-leaf2"]["outcome"] == "not-attempted"
    assert first["verification"]["ok"] is True
    assert {check["device"] for check in first["verification"]["checks"]} == {"lab-leaf1", "lab-spine1", "lab-spine2"}
    assert with_server(project) == ["lab-leaf1"]
    # What was left behind fails no verification, and is named.
    verified = project.verify()
    assert verified["ok"] is True
    assert [line for line in verified["warnings"] if "left behind by the limit" in line and "lab-leaf2" in line]
    assert project.json("rollout", "show")["limit"] == ["lab-leaf1"]

    rest = project.plan("--limit", "leaf")
    assert {change["device"] for change in rest["changes"]} == {"lab-leaf2"}
    # A plan file has its own limit.
    project.plan("--limit", "lab-leaf2", "-o", "rest.json")
    assert "--limit belongs to the plan" in project.run("deploy", "rest.json", "--limit", "leaf", status=64).stderr
    assert project.deploy("rest.json")["behind"] == []
    assert with_server(project) == [*LEAVES]
    assert project.plan()["changes"] == []

    # The rollback of a limited deployment is of its switches alone.
    assert project.json("rollback", "--yes", "--target", "sim")["result"] == "done"
    assert with_server(project) == ["lab-leaf1"]


def test_a_limit_that_separates_both_ends_of_links_is_refused_and_nothing_done(deployed_lab: Any) -> None:
    project = deployed_lab
    project.edit(TIMERS)
    for command in (project.plan, project.deploy):
        refused = command("--limit", "lab-leaf1", status=1)
        assert [diagnostic["code"] for diagnostic in refused["diagnostics"]] == ["RW542"]
    # A whole plane is no separation.
    assert project.deploy("--limit", "leaf,spine")["behind"] == []
    assert project.verify()["ok"] is True


def test_a_stopped_limited_deployment_is_resumed_within_its_limit(deployed_lab: Any) -> None:
    project = deployed_lab
    server = "{SYSLOG_SERVER: {10.9.9.9: {}}}"
    project.edit(("workload:", f"overrides: {{leaf: {server}, spine: {server}}}\nworkload:"))
    project.run("sim", "fault", "lab-leaf1", "refuse-commit", "--times", "0")
    stopped = project.deploy("--limit", "spine,lab-leaf1", status=1)
    assert stopped["result"] == "stopped"
    assert stopped["devices"]["lab-spine1"]["outcome"] == "new"
    project.run("sim", "fault", "lab-leaf1", "clear")
    assert "omit --limit" in project.run("deploy", "--resume", "--limit", "leaf", status=64).stderr
    resumed = project.deploy("--resume")
    assert resumed["result"] == "done"
    assert resumed["limit"] == ["lab-leaf1", "lab-spine1", "lab-spine2"]
    assert resumed["behind"] == ["lab-leaf2"]
    assert with_server(project) == ["lab-leaf1"]
