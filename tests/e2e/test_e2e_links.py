"""Poor cables on the simulator: graded with their cause at the right cable, soaked before they return."""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e

LEAF, SPINE = "lab-leaf1", "lab-spine1"
UPLINK = "lab-leaf1 Ethernet112"


def graded(project: Any, *words: str, status: int | None = None) -> dict[str, Any]:
    """Return the cables of `links` by label."""
    report = project.json("links", *words, "--target", "sim", "--seconds", "2", status=status)
    assert report["unread"] == {}
    assert report["without_optics"] == {}
    return {cable["cable"]: cable for cable in report["links"]}


def fault(project: Any, *words: str) -> None:
    project.run("sim", "fault", *words)


def test_a_dirty_fiber_is_graded_at_its_cable_and_soaked_once_it_is_clean(deployed_lab: Any) -> None:
    project = deployed_lab
    cables = graded(project)
    assert {cable["grade"] for cable in cables.values()} == {"A"}
    assert all(len(cable["serials"]) == 1 for cable in cables.values()), "one cable with fixed ends each"
    fault(project, LEAF, "dirty-fiber", "--port", "Ethernet112", "--lane", "2", "--ber", "2e-5", "--db", "12")
    cables = graded(project)
    assert [name for name, cable in cables.items() if cable["grade"] != "A"] == [UPLINK]
    poor = cables[UPLINK]
    assert poor["grade"] == "C"
    assert poor["suspect"] == f"fiber or connector towards {LEAF}:Ethernet112"
    assert poor["bit_error_rate"] == pytest.approx(5e-6, rel=0.1)
    assert any("receives" in reason and "on lane 3" in reason for reason in poor["reasons"])
    assert list(cables)[-1] != UPLINK, "an uplink is not the cable whose loss harms least"
    refused = graded(project, "soak", UPLINK, "--readings", "2", status=1)
    assert refused[UPLINK]["grade"] == "C"
    fault(project, LEAF, "clear")
    # Counters are polled every second.
    project.wait_until(lambda: graded(project)[UPLINK]["grade"] == "A", 60, "the cable is clean")
    soaked = graded(project, "soak", UPLINK, "--readings", "2", status=0)
    assert {name: cable["grade"] for name, cable in soaked.items()} == {UPLINK: "A"}


@pytest.mark.nightly
def test_a_dying_laser_and_a_hot_cage_are_told_apart(deployed_lab: Any) -> None:
    project = deployed_lab
    fault(project, SPINE, "dying-laser", "--port", "Ethernet0", "--ber", "2e-5")
    fault(project, "lab-leaf2", "hot-cage", "--port", "Ethernet4", "--ber", "1e-5", "--celsius", "79")
    cables = graded(project)
    poor = {name: cable["suspect"] for name, cable in cables.items() if cable["grade"] != "A"}
    assert poor.pop(UPLINK) == f"laser of the module of {SPINE}:Ethernet0"
    # The module and the one beside it: both cables go to nodes.
    assert sorted(poor.values()) == ["cooling at lab-leaf2:Ethernet0", "cooling at lab-leaf2:Ethernet4"]


@pytest.mark.nightly
def test_a_bad_copper_cable_flaps_until_it_is_drained(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    text = project.intent.read_text(encoding="utf-8")
    # Three meters are passive copper.
    project.intent.write_text(f"{text}\ncabling: {{leaf_spine: {{length_m: 3}}}}\n", encoding="utf-8")
    project.up()
    project.deploy()
    fault(project, LEAF, "bad-copper", "--port", "Ethernet112", "--ber", "1e-6", "--flaps", "7200")
    cables = graded(project)
    assert cables[UPLINK]["grade"] in ("C", "D")
    poor = graded(project)[UPLINK]
    assert poor["grade"] == "D"
    assert poor["suspect"] == "copper cable"
    assert any(reason.startswith("went down") for reason in poor["reasons"])
