"""BFD on the simulator: turned on, watching, noticing a silent spine, turned off. The lab proves it on real FRR."""

from typing import Any

import pytest
from command_rig import own_template

pytestmark = pytest.mark.e2e

SPINE = "lab-spine1"


def test_bfd_is_turned_on_notices_a_silent_spine_and_is_turned_off(deployed_lab: Any) -> None:
    project = deployed_lab
    without = project.intent.read_text()
    project.intent.write_text(f"{without}bgp: {{bfd: true}}\n")
    plan = project.plan()
    added = {(one["table"], one["key"], one["disruption"]) for one in plan["changes"] if one["field"] is None}
    assert ("SYSTEM_DEFAULTS", "software_bfd", "reload") in added, "bgpcfgd reads it when it starts"
    assert project.deploy()["result"] == "done"
    assert project.plan()["changes"] == []
    watched = [check for check in project.verify()["checks"] if check["kind"] == "bfd"]
    assert len(watched) == len({check["subject"] for check in watched}) == 8

    project.run("sim", "fault", SPINE, "silent")
    failed = {(one["kind"], one["actual"]) for one in project.verify(status=1)["checks"] if not one["ok"]}
    assert {("bgp", "AS 4200001000 not established"), ("bfd", "down")} <= failed
    project.run("sim", "fault", SPINE, "clear")
    project.wait_until(lambda: project.verify(status=None)["ok"], 60, "sessions are back")

    project.intent.write_text(without)
    off = project.plan()["changes"]
    assert {one["disruption"] for one in off} == {"session"}, "the other end takes it for a failure"
    assert {one["table"] for one in off} == {"frr"}, "bfdd may be needed by others"
    assert project.deploy()["result"] == "done"
    assert project.plan()["changes"] == []
    assert "bfd" not in {check["kind"] for check in project.verify()["checks"]}


@pytest.mark.nightly
def test_bfd_that_does_not_come_up_ends_the_deployment(deployed_lab: Any) -> None:
    project = deployed_lab
    template = own_template(project.folder)
    project.intent.write_text(f"{project.intent.read_text()}bgp: {{bfd: true}}\n")
    template.write_text(template.read_text().replace("{% if bfd %}", "{% if bfd and attaches_nodes %}"))
    stopped = project.deploy(status=1)
    assert stopped["result"] == "stopped"
    ((name, error),) = [(name, one["error"]) for name, one in stopped["devices"].items() if one["outcome"] == "old"]
    assert "leaf" in name
    assert "bfd" in error
