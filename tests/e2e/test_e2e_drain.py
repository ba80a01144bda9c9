"""Draining by hand on the simulator: what it takes, what it refuses, and that nothing of it is a change."""

import contextlib
import json
from typing import Any

import pytest

from railweave import api
from railweave.api.operator import Operator
from railweave.api.project import open_project

pytestmark = pytest.mark.e2e

SPINE, OTHER, LEAF = "lab-spine1", "lab-spine2", "lab-leaf1"
UPLINK_TO_OTHER = "Ethernet116"


def drain(project: Any, *words: str, status: int = 0) -> Any:
    return project.json("drain", *words, "--yes", "--wait", "2", status=status)


def hops(project: Any, leaf: str) -> set[str]:
    """Return the ports over which a leaf sends to the other leaf's nodes."""
    routes = json.loads(project.on(leaf, "sudo vtysh -c 'show ip route json'"))
    (route,) = [one[0] for prefix, one in routes.items() if one[0]["protocol"] == "bgp" and not prefix.endswith("/32")]
    return {hop["interfaceName"] for hop in route["nexthops"]}


def holds_drain(project: Any, switch: str, command: str = "sudo vtysh -c 'show running-config'") -> bool:
    shown = project.on(switch, command)
    return "graceful-shutdown" in shown or "DRAINED-" in shown


def test_a_spine_is_drained_worked_on_and_brought_back(deployed_lab: Any) -> None:
    project = deployed_lab
    both = hops(project, LEAF)
    assert len(both) == 2
    told = drain(project, SPINE)
    assert told == {
        "version": 1,
        "ok": True,
        "devices": {SPINE: {"before": [], "after": ["*"], "changed": True, "quiet": True, "flows": "", "error": ""}},
    }
    project.wait_until(lambda: len(hops(project, LEAF)) == 1, 60, "the leaf goes by the other spine alone")
    assert project.plan()["changes"] == []
    assert project.verify()["ok"] is True
    assert holds_drain(project, SPINE, "sudo cat /etc/sonic/frr/frr.conf"), "saved"
    project.run("sim", "fault", SPINE, "power-cycle")
    project.wait_until(lambda: project.verify(status=None)["ok"], 60, "the spine is back")
    assert len(hops(project, LEAF)) == 1, "and still drained"
    assert project.json("drain") == {"version": 1, "devices": {SPINE: {"drained": ["*"], "error": ""}}}
    assert f"{SPINE}: drained" in project.run("drain").stdout
    again = drain(project, SPINE)["devices"][SPINE]
    assert (again["changed"], again["quiet"]) == (False, True)
    told = project.json("undrain", SPINE)
    assert told["ok"]
    assert told["devices"][SPINE]["changed"]
    assert told["checks"] > 0
    assert told["failed"] == []
    project.wait_until(lambda: hops(project, LEAF) == both, 60, "both spines carry again")
    assert not holds_drain(project, SPINE, "sudo cat /etc/sonic/frr/frr.conf")
    assert project.json("undrain", SPINE)["devices"][SPINE]["changed"] is False
    assert "nothing is drained on 4 switches" in project.run("drain").stdout
    commands = [(one["command"], one["result"]) for one in project.json("audit")["entries"]]
    assert commands[-4:] == [(f"{verb} {SPINE}", "done") for verb in ("drain", "drain", "undrain", "undrain")]


def test_links_of_a_leaf_are_drained_alone(deployed_lab: Any) -> None:
    project = deployed_lab
    both = hops(project, LEAF)
    told = drain(project, LEAF, "--links", SPINE)["devices"][LEAF]
    assert told["quiet"]
    assert len(told["after"]) == 1
    project.wait_until(lambda: len(hops(project, LEAF)) == 1, 60, "one uplink is left")
    assert project.plan()["changes"] == []
    said = project.run("drain", LEAF, "--links", SPINE, "--yes", "--wait", "1").stdout
    assert f"{LEAF}: 1 link (" in said.replace("\n", " ")
    assert "drained already" in said
    assert f"safe to work on there; undo: railweave undrain {LEAF}" in said.replace("\n", " ")
    project.run("undrain", LEAF)
    project.wait_until(lambda: hops(project, LEAF) == both, 60, "both uplinks carry again")


def test_what_would_leave_no_other_way_is_refused_before_anything_is_done(deployed_lab: Any) -> None:
    project = deployed_lab

    def refused(*words: str) -> list[str]:
        return [one["code"] for one in drain(project, *words, status=1)["diagnostics"]]

    assert refused(LEAF) == ["RW520"]
    assert refused(SPINE, OTHER) == ["RW521", "RW522"]
    drain(project, SPINE)
    assert refused(OTHER) == ["RW521", "RW522"]
    assert refused(OTHER, "--several") == ["RW522"]
    assert refused(LEAF, "--links", OTHER, "--several") == ["RW522"]
    assert not holds_drain(project, OTHER)
    assert not holds_drain(project, LEAF)
    assert "needs --yes" in project.run("drain", SPINE, status=1).stderr
    assert "has no switch lab-spine9" in project.run("drain", "lab-spine9", status=64).stderr
    assert "no fabric link Ethernet0" in project.run("drain", LEAF, "--links", "Ethernet0", status=64).stderr


def test_a_switch_that_still_carries_something_is_not_called_safe(deployed_lab: Any) -> None:
    project = deployed_lab
    project.on(LEAF, f"sudo config interface shutdown {UPLINK_TO_OTHER}")
    project.wait_until(lambda: UPLINK_TO_OTHER not in hops(project, LEAF), 60, "the leaf has one uplink")
    told = drain(project, SPINE, status=1)
    assert not told["ok"]
    assert "packets a second still flow on Ethernet" in told["devices"][SPINE]["flows"]
    assert holds_drain(project, SPINE), "it stays drained"
    said = project.run("drain", SPINE, "--yes", "--wait", "1", status=1).stdout.replace("\n", " ")
    assert "not safe to work on yet" in said
    said = project.run("drain", SPINE, "--yes", "--wait", "0").stdout.replace("\n", " ")
    assert "its counters were not read" in said


def test_a_switch_that_does_not_answer_counts_as_out_of_service(deployed_lab: Any) -> None:
    project = deployed_lab
    project.run("sim", "fault", OTHER, "unreachable")
    told = drain(project, SPINE, status=1)
    assert [one["code"] for one in told["diagnostics"]] == ["RW521", "RW522"]
    assert "without an answer: lab-spine2" in told["diagnostics"][0]["message"]
    assert OTHER in drain(project, OTHER, status=1)["error"]
    told = project.json("undrain", OTHER, SPINE, "--wait", "0", status=1)
    assert told["devices"][OTHER]["error"]
    assert not told["devices"][SPINE]["error"]
    entry = project.json("audit")["entries"][-1]
    assert (entry["result"], entry["devices"][OTHER]["outcome"]) == ("failed", "failed")


def test_errors_of_a_port_are_a_fault_of_the_simulator(deployed_lab: Any) -> None:
    project = deployed_lab
    project.run("sim", "fault", LEAF, "errors", "--port", "Ethernet0", "--rate", "500")

    def lost() -> dict[str, list[str]]:
        rows = json.loads(project.on(LEAF, "show interfaces counters --json"))
        return {port: [row["RX_ERR"], row["TX_DRP"]] for port, row in rows.items()}

    lost()
    found = project.wait_until(lambda: (seen := lost())["Ethernet0"][0] != "0" and seen, 60, "errors are counted")
    assert found["Ethernet0"][1] != "0"
    assert found["Ethernet112"] == ["0", "0"]
    failed = [check for check in project.verify(status=1)["checks"] if not check["ok"]]
    assert [(check["device"], check["kind"], check["subject"]) for check in failed] == [(LEAF, "errors", "Ethernet0")]
    assert failed[0]["expected"] == "links carry frames without errors"
    project.run("sim", "fault", LEAF, "clear")
    assert project.verify()["ok"]


def test_an_undrain_waits_for_nothing_that_traffic_does_not_need(deployed_lab: Any) -> None:
    project = deployed_lab
    project.set_rollout(verify_timeout=300, revert_in=900)
    project.command_seconds = 60
    project.on(SPINE, "sudo config interface mtu Ethernet0 9000")
    drain(project, SPINE)
    told = project.json("undrain", SPINE)
    assert (told["ok"], told["failed"], told["checks"] > 0) == (True, [], True)
    assert {check["kind"] for check in project.verify(status=1)["checks"] if not check["ok"]} == {"mtu"}


def test_a_spine_in_maintenance_is_no_path(deployed_lab: Any) -> None:
    project = deployed_lab
    project.on("lab-spine1", "sudo TSA")
    refused = drain(project, "lab-spine2", status=1)
    assert {one["code"] for one in refused["diagnostics"]} == {"RW521", "RW522"}
    assert not holds_drain(project, "lab-spine2")
    with project.intent.open("a", encoding="utf-8") as file:
        file.write("bgp: {keepalive: 2, hold: 8}\n")
    refused = project.deploy(status=1)
    assert [one["code"] for one in refused["diagnostics"]] == ["RW513"]
    assert "while lab-spine1 is out of service" in refused["diagnostics"][0]["message"]
    project.on("lab-spine1", "sudo TSB")
    assert project.deploy()["result"] == "done"


class Late(Operator):
    """An operator who answers when another one has drained the other spine meanwhile."""

    def __init__(self, project: Any) -> None:
        self._project = project

    def approves_drain(self, *asked: Any) -> bool:
        assert drain(self._project, "lab-spine1")["ok"] is True
        return True


def test_an_answer_that_comes_late_is_checked_again(deployed_lab: Any) -> None:
    project = deployed_lab
    with contextlib.chdir(project.folder):
        found = api.drain(open_project(str(project.intent), Late(project)), "sim", api.DrainRequest(("lab-spine2",)))
    assert found is not None
    (result,) = found
    assert "(drained already: lab-spine1)" in result.error
    assert not holds_drain(project, "lab-spine2")


def test_two_operators_at_once_never_take_both_spines(deployed_lab: Any) -> None:
    project = deployed_lab
    started = [
        project.start("drain", name, "--target", "sim", "--yes", "--json") for name in ("lab-spine1", "lab-spine2")
    ]
    for process in started:
        process.communicate(timeout=120)
    assert sorted(process.returncode for process in started) != [0, 0]
    assert not (holds_drain(project, "lab-spine1") and holds_drain(project, "lab-spine2"))
