"""A fabric without addresses between its switches (RFC 8950), on the simulator; the lab proves the same on real FRR."""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e


@pytest.mark.nightly
def test_an_unnumbered_fabric_is_deployed_and_grows(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.intent.write_text(project.intent.read_text() + "addressing: {underlay: unnumbered}\n")
    project.up()
    assert project.deploy()["result"] == "done"
    sessions = [check for check in project.verify()["checks"] if check["kind"] == "bgp"]
    assert {check["subject"][:8] for check in sessions} == {"Ethernet"}
    assert project.plan()["changes"] == []
    assert all(link["a"]["address"] is None for link in project.fabric()["links"] if link["kind"] == "leaf_spine")

    project.edit(("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}"))
    project.up()
    plan = project.plan()
    assert {plan["devices"][f"lab-spine{number}"]["state"] for number in (1, 2)} == {"unchanged"}
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"] is True


def test_numbered_links_become_unnumbered_and_back(deployed_lab: Any) -> None:
    project = deployed_lab
    numbered = project.intent.read_text()
    for text in (numbered + "addressing: {underlay: unnumbered}\n", numbered):
        project.intent.write_text(text)
        assert project.deploy("--renumber")["result"] == "done"
        assert project.verify()["ok"] is True
        assert project.plan()["changes"] == []
