"""BGP timers on the simulator: configured is not yet in force, and a change makes them act."""

import json
import re
from typing import Any

import pytest
from by_night import nightly_except

pytestmark = pytest.mark.e2e

SPINE, LEAF = "lab-spine1", "lab-leaf1"


def timers(project: Any) -> set[str]:
    """Return what the sessions run, as verification reads it."""
    return {one["actual"] for one in project.verify(status=None)["checks"] if one["kind"] == "timers"}


def opened(project: Any) -> int:
    """Return how often the sessions of a spine have opened."""
    shown = json.loads(project.on(SPINE, "sudo vtysh -c 'show bgp neighbors json'"))
    return sum(one["connectionsEstablished"] for one in shown.values())


@pytest.mark.parametrize(("keepalive", "hold"), nightly_except([(1, 3), (10, 30), (1, 9)], daily=[(1, 3), (10, 30)]))
def test_other_timers_are_in_force_after_the_deployment_and_again_after_its_rollback(
    deployed_lab: Any, keepalive: int, hold: int
) -> None:
    project = deployed_lab
    assert timers(project) == {"keepalive 3 s, hold 9 s"}
    before = opened(project)
    project.edit(("workload:", f"bgp: {{keepalive: {keepalive}, hold: {hold}}}\nworkload:"))
    assert {one["disruption"] for one in project.plan()["changes"]} == {"session"}
    assert project.deploy()["result"] == "done"
    assert timers(project) == {f"keepalive {keepalive} s, hold {hold} s"}
    assert opened(project) > before, "sessions were reset, as the plan says"
    assert project.plan()["changes"] == []
    project.run("rollback", "--target", "sim", "--yes")
    project.edit((f"bgp: {{keepalive: {keepalive}, hold: {hold}}}\n", ""))
    assert timers(project) == {"keepalive 3 s, hold 9 s"}


def test_timers_that_a_session_has_not_taken_are_found_and_the_advice_makes_them_act(deployed_lab: Any) -> None:
    project = deployed_lab
    number = re.search(r"router bgp (\d+)", project.on(LEAF, "sudo vtysh -c 'show running-config'"))
    assert number
    there = f"sudo vtysh -c 'conf t' -c 'router bgp {number[1]}' -c"
    # As a restart of bgpd leaves it, whose neighbors are configured otherwise at that moment.
    project.on(LEAF, f"{there} 'neighbor SPINES timers 1 3'")
    for line in json.loads(project.on(LEAF, "sudo vtysh -c 'show bgp neighbors json'")):
        project.on(LEAF, f"sudo vtysh -c 'clear bgp {line}'")
    project.on(LEAF, f"{there} 'neighbor SPINES timers 3 9'")
    assert project.plan()["changes"] == [], "what is configured is as intended"
    found = project.verify(status=1)
    assert {one["actual"] for one in found["checks"] if not one["ok"]} == {"keepalive 1 s, hold 3 s"}
    for device, command in re.findall(r"on ([\w-]+), `(sudo vtysh [^`]+)`", " ".join(found["advice"])):
        project.on(device, command)
    project.wait_until(lambda: project.verify(status=None)["ok"], 60, "the timers of the intent are in force")


def test_a_mtu_and_an_address_set_in_the_kernel_alone_are_found_and_the_advice_removes_them(deployed_lab: Any) -> None:
    project = deployed_lab
    project.on(LEAF, "sudo ip link set dev Ethernet0 mtu 1500")
    project.on(LEAF, "sudo ip addr add 10.9.9.1/24 dev Ethernet0")
    assert project.plan()["changes"] == []
    found = project.verify(status=1)
    assert {one["kind"] for one in found["checks"] if not one["ok"]} == {"mtu", "address"}
    for device, command in re.findall(r"on ([\w-]+),[^`]*`(sudo [^`]+)`", " ".join(found["advice"])):
        project.on(device, command)
    assert project.verify()["ok"]


def test_a_node_that_is_off_leaves_the_count_of_checks_as_it_was(deployed_lab: Any) -> None:
    project = deployed_lab
    before = project.verify()["checks"]
    project.run("sim", "power-off", "gpu1")
    after = project.verify()["checks"]
    assert len(after) == len(before)
    skipped = [one for one in after if "skipped" in one]
    assert {one["kind"] for one in skipped} == {"lldp"}
    assert all(one["expected"].startswith("gpu1 ") for one in skipped)
