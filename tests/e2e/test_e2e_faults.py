"""Whatever fails, every device ends on the old or the new configuration, and the next plan tells the truth."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from by_night import nightly_except

pytestmark = pytest.mark.e2e

LEAF, SPINE = "lab-leaf1", "lab-spine1"
DEVICES = (LEAF, "lab-leaf2", SPINE, "lab-spine2")
TABLES = ("DEVICE_NEIGHBOR", "DSCP_TO_TC_MAP", "INTERFACE", "PFC_WD", "PORT_QOS_MAP", "QUEUE")

# One change for every method that an ordinary change takes: PORT and maps are written, timers go to FRR.
POLICY = """\
mtu: {fabric: 9216, hosts: 9000}
bgp: {keepalive: 2, hold: 8}
traffic_classes:
  - {name: roce, role: rdma, dscp: [24, 26], lossless: true, priority: 3, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""


class Rig:
    """A deployed small fabric, what each switch held then, and an intent that has moved on."""

    def __init__(self, project: Any) -> None:
        self.project = project
        self.before = {name: held(project, name) for name in DEVICES}

    def change_policy(self) -> None:
        self.project.intent.write_text(self.project.intent.read_text() + POLICY)

    def grow_by_a_stripe(self) -> None:
        text = re.sub(r"count: 4\b", "count: 8", self.project.intent.read_text(), count=1)
        text = re.sub(r"(\bleaf:.*?)count: 2\b", r"\1count: 4", text, count=1, flags=re.S)
        self.project.intent.write_text(text)
        self.project.up()

    def fault(self, device: str, kind: str, *details: str) -> None:
        self.project.run("sim", "fault", device, kind, *details)

    def struck(self, device: str) -> bool:
        return bool(self.project.json("sim", "status")["devices"][device]["faults"] == [])

    def standing(self, device: str) -> str:
        """Return old or new, by the switch's own configuration; anything between fails."""
        seen = held(self.project, device)
        if seen == self.before[device]:
            return "old"
        wanted = rendered(self.project, device)
        differing = {table for table in (*TABLES, "mtu") if seen[table] != wanted[table]}
        assert not differing, f"{device} is neither old nor new: {sorted(differing)} differ"
        return "new"

    def agrees(self) -> None:
        """The next plan says of each switch what the switch is."""
        plan = self.project.plan()
        for name in DEVICES:
            state = "unchanged" if self.standing(name) == "new" else "changed"
            assert plan["devices"][name]["state"] in {state, "unchanged"}, name
            assert plan["devices"][name]["state"] == state or self.before[name] == held(self.project, name), name

    def recovers(self) -> None:
        for name in DEVICES:
            self.fault(name, "clear")
        assert self.project.deploy()["result"] in {"done", "unchanged"}
        assert self.project.verify()["ok"] is True
        assert self.project.plan()["changes"] == []


def held(project: Any, device: str) -> dict[str, Any]:
    document = project.running(device)
    mtus = {name: row["mtu"] for name, row in document["PORT"].items()}
    return {table: document[table] for table in TABLES} | {"mtu": mtus, "bgpraw": document["bgpraw"]}


def rendered(project: Any, device: str) -> dict[str, Any]:
    out = project.folder / "rendered"
    project.run("render", "--out", str(out))
    document = json.loads((out / "switches" / device / "config_db.json").read_text())
    mtus = {name: row["mtu"] for name, row in document["PORT"].items()}
    return {table: document[table] for table in TABLES} | {"mtu": mtus}


@pytest.fixture
def rig(deployed_lab: Any) -> Rig:
    return Rig(deployed_lab)


def test_an_unreachable_device_stops_the_deployment_before_anything_changes(rig: Rig) -> None:
    rig.change_policy()
    rig.fault(LEAF, "unreachable")
    assert rig.project.plan(status=1)["devices"][LEAF]["state"] == "unreachable"
    stopped = rig.project.deploy(status=1)
    assert stopped["result"] == "stopped"
    assert stopped["devices"][LEAF]["outcome"] == "unreachable"
    assert {one["outcome"] for name, one in stopped["devices"].items() if name != LEAF} == {"not-attempted"}
    rig.fault(LEAF, "clear")
    assert {rig.standing(name) for name in DEVICES} == {"old"}
    rig.recovers()


def test_the_reachable_devices_are_deployed_when_that_is_asked_for(rig: Rig) -> None:
    rig.change_policy()
    rig.fault(LEAF, "unreachable")
    partial = rig.project.deploy("--skip-unreachable", status=None)
    assert partial["devices"][LEAF]["outcome"] == "unreachable"
    assert {one["outcome"] for name, one in partial["devices"].items() if name != LEAF} == {"new"}
    rig.fault(LEAF, "clear")
    rig.agrees()
    rig.recovers()


def test_a_leaf_whose_links_are_down_too_keeps_the_other_leaf_of_its_stripe_in_service(rig: Rig) -> None:
    uplinks = ("Ethernet112", "Ethernet116")
    for port in uplinks:
        rig.project.on(LEAF, f"sudo config interface shutdown {port}")
    rig.change_policy()
    rig.fault(LEAF, "unreachable")
    words = ("deploy", "--target", "sim", "--yes", "--provision", "--skip-unreachable")
    refused = rig.project.run(*words, status=1)
    assert f"cannot be met while {LEAF} is out of service" in " ".join(refused.stderr.split())
    assert {rig.standing(name) for name in DEVICES if name != LEAF} == {"old"}


@pytest.mark.parametrize("command", ["config load", "vtysh -f", "config save"])
def test_a_device_that_refuses_a_commit_ends_as_it_is_said_to(rig: Rig, command: str) -> None:
    rig.change_policy()
    rig.fault(LEAF, "refuse-commit", "--command", command)
    ended = rig.project.deploy(status=None)
    assert rig.struck(LEAF)
    assert rig.standing(LEAF) == ended["devices"][LEAF]["outcome"]
    rig.agrees()
    rig.recovers()


def test_a_refused_patch_leaves_the_spine_as_it_was(rig: Rig) -> None:
    rig.grow_by_a_stripe()
    assert "patch" in {change["method"] for change in rig.project.plan()["changes"] if change["device"] == SPINE}
    rig.fault(SPINE, "refuse-commit", "--command", "config apply-patch")
    stopped = rig.project.deploy(status=1)
    assert rig.struck(SPINE)
    assert stopped["devices"][SPINE]["outcome"] == "old"
    assert {stopped["devices"][f"lab-leaf{number}"]["outcome"] for number in (3, 4)} == {"not-attempted"}
    assert rig.standing(SPINE) == "old"
    rig.recovers()


def test_a_device_whose_bgp_does_not_come_up_is_rolled_back_and_the_rollout_stops(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.up()
    project.set_rollout(verify_timeout=2, revert_in=60)
    project.run("sim", "fault", LEAF, "bgp-down")
    stopped = project.deploy(status=1)
    assert stopped["result"] == "stopped"
    assert stopped["devices"][LEAF]["outcome"] == "old"
    assert "bgp" in stopped["devices"][LEAF]["error"].lower()
    assert stopped["devices"]["lab-leaf2"]["outcome"] == "not-attempted"
    assert project.running(LEAF)["DEVICE_METADATA"]["localhost"]["hostname"] != LEAF
    assert project.plan()["devices"][LEAF]["state"] == "changed"
    project.run("sim", "fault", LEAF, "clear")
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"] is True


@pytest.mark.parametrize("moment", nightly_except(["before", "during", "after"], daily=["during"]))
@pytest.mark.parametrize("command", ["config load", "vtysh -f", "railweave-switch apply", "railweave-switch confirm"])
def test_a_session_lost_at_any_step_leaves_old_or_new(rig: Rig, command: str, moment: str) -> None:
    rig.change_policy()
    rig.fault(LEAF, "drop-session", "--command", command, "--moment", moment)
    ended = rig.project.deploy(status=None)
    assert rig.struck(LEAF)
    assert rig.standing(LEAF) == ended["devices"][LEAF]["outcome"]
    rig.agrees()
    rig.recovers()


@pytest.mark.parametrize("moment", ["during", "after"])
def test_a_session_lost_in_a_patch_leaves_old_or_new(rig: Rig, moment: str) -> None:
    rig.grow_by_a_stripe()
    rig.fault(SPINE, "drop-session", "--command", "config apply-patch", "--moment", moment)
    ended = rig.project.deploy(status=None)
    assert rig.struck(SPINE)
    assert rig.standing(SPINE) == ended["devices"][SPINE]["outcome"]
    rig.recovers()


def test_a_killed_deployment_is_undone_by_the_switches_own_timers(rig: Rig) -> None:
    rig.change_policy()
    rig.project.set_rollout(verify_timeout=1, drain_timeout=1, revert_in=31)
    # The leaf never hears the confirmation: the deployment hangs there, verified and not confirmed, and dies.
    rig.fault(LEAF, "slow", "--command", "railweave-switch confirm", "--seconds", "90")
    process = rig.project.start("deploy", "--target", "sim", "--yes")
    rig.project.wait_until(lambda: rig.standing(LEAF) == "new", 150, "the leaf never took the change")
    rig.project.kill(process)
    rig.fault(LEAF, "clear")
    assert rig.project.plan(status=1)["devices"][LEAF]["pending"] is True
    rig.project.wait_until(lambda: rig.standing(LEAF) == "old", 120, "the switch did not go back by itself")
    rig.agrees()
    rig.recovers()


def test_a_switch_that_lost_power_before_the_confirmation_boots_its_old_configuration(rig: Rig) -> None:
    rig.change_policy()
    rig.project.set_rollout(verify_timeout=1, drain_timeout=1, revert_in=31)
    rig.fault(LEAF, "slow", "--command", "railweave-switch confirm", "--seconds", "90")
    process = rig.project.start("deploy", "--target", "sim", "--yes")
    rig.project.wait_until(lambda: rig.standing(LEAF) == "new", 150, "the leaf never took the change")
    rig.project.kill(process)
    rig.fault(LEAF, "power-cycle")
    rig.fault(LEAF, "clear")
    assert rig.standing(LEAF) == "old"
    rig.recovers()


def test_a_switch_that_lost_its_configuration_is_found_and_provisioned_again(rig: Rig) -> None:
    rig.fault(LEAF, "lose-config")
    verified = rig.project.verify(status=1)
    assert any(check["device"] == LEAF and not check["ok"] for check in verified["checks"])
    assert rig.project.plan()["devices"][LEAF]["unprovisioned"] is True
    rig.recovers()


def test_a_cable_that_was_plugged_elsewhere_is_named_in_a_sentence(rig: Rig) -> None:
    links = [link for link in rig.project.fabric()["links"] if link["kind"] == "leaf_spine"]
    first, second = links[0], next(link for link in links if link["b"]["device"] != links[0]["b"]["device"])
    a, x, y = (f"{end['device']}:{end['port']}" for end in (first["a"], first["b"], second["b"]))
    rig.project.run("sim", "cable", a, y)
    (sentence,) = rig.project.verify(status=1)["advice"]
    told = f"the cable of {a} goes to {y} instead of {x}: plug it back from {y} into {x}"
    assert sentence == told.replace(":Ethernet", " Ethernet")
    rig.project.run("sim", "cable", a, x)
    rig.project.run("sim", "cable", f"{second['a']['device']}:{second['a']['port']}", y)
    assert rig.project.verify()["ok"] is True


def test_swapped_cables_are_named_by_the_verification(rig: Rig) -> None:
    links = [link for link in rig.project.fabric()["links"] if link["kind"] == "leaf_spine"]
    first, second = links[0], next(link for link in links if link["b"]["device"] != links[0]["b"]["device"])
    a, b = (f"{link['a']['device']}:{link['a']['port']}" for link in (first, second))
    x, y = (f"{link['b']['device']}:{link['b']['port']}" for link in (first, second))
    rig.project.run("sim", "cable", a, y)
    rig.project.run("sim", "cable", b, x)
    failed = [check for check in rig.project.verify(status=1)["checks"] if not check["ok"]]
    assert {"lldp", "bgp"} <= {check["kind"] for check in failed}
    assert first["a"]["port"] in {check["subject"] for check in failed if check["kind"] == "lldp"}
    rig.project.run("sim", "cable", a, x)
    rig.project.run("sim", "cable", b, y)
    assert rig.project.verify()["ok"] is True


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        ("sudo config interface mtu Ethernet112 1500", {"mtu"}),
        ("sudo config interface shutdown Ethernet112", {"link", "bgp"}),
        ("sudo config interface ip remove Ethernet112 10.192.0.57/31", {"address", "bgp"}),
        (
            "sudo vtysh -c 'configure terminal' -c 'router bgp 4210000000' -c 'neighbor 10.192.0.56 remote-as 65000'",
            {"bgp"},
        ),
    ],
    ids=["mtu", "shutdown", "address", "remote-as"],
)
def test_what_a_hand_changed_is_seen_by_verify_planned_and_mended(rig: Rig, command: str, kinds: set[str]) -> None:
    rig.project.on(LEAF, command)
    failed = {check["kind"] for check in rig.project.verify(status=1)["checks"] if not check["ok"]}
    assert kinds <= failed
    assert rig.project.plan()["devices"][LEAF]["state"] == "changed"
    rig.recovers()


def test_a_foreign_row_on_a_fabric_port_is_refused_and_taken_only_when_asked(rig: Rig) -> None:
    row = {"VLAN": {"Vlan100": {"vlanid": "100"}}, "VLAN_MEMBER": {"Vlan100|Ethernet0": {"tagging_mode": "untagged"}}}
    rig.project.on(LEAF, f"echo '{json.dumps(row)}' > /tmp/vlan.json; sudo config load -y /tmp/vlan.json")
    refused = rig.project.run("plan", "--target", "sim", status=1)
    assert "VLAN_MEMBER|Vlan100|Ethernet0" in refused.stdout + refused.stderr
    assert "--remove-conflicting" in refused.stdout + refused.stderr
    assert rig.project.run("deploy", "--target", "sim", "--yes", status=1)
    taken = rig.project.plan("--remove-conflicting")
    assert [(change["table"], change["op"]) for change in taken["changes"]] == [("VLAN_MEMBER", "remove")]
    assert rig.project.deploy("--remove-conflicting")["result"] == "done"
    assert "VLAN_MEMBER" not in rig.project.running(LEAF)
    assert "Vlan100" in rig.project.running(LEAF)["VLAN"]


def test_a_plan_file_is_refused_when_a_device_moved_and_deployed_when_not(rig: Rig, tmp_path: Path) -> None:
    rig.change_policy()
    file = tmp_path / "plan.json"
    rig.project.run("plan", "--target", "sim", "-o", str(file))
    rig.project.on(LEAF, "sudo config interface mtu Ethernet0 4000")
    moved = rig.project.run("deploy", str(file), "--target", "sim", status=1)
    assert LEAF in moved.stderr
    assert {rig.standing(name) for name in DEVICES if name != LEAF} == {"old"}
    rig.project.run("plan", "--target", "sim", "-o", str(file))
    rig.project.run("deploy", str(file), "--target", "sim")
    assert {rig.standing(name) for name in DEVICES} == {"new"}


def test_without_a_terminal_a_deployment_needs_consent(rig: Rig) -> None:
    rig.change_policy()
    asked = rig.project.run("deploy", "--target", "sim", status=1)
    assert "--yes" in asked.stderr
    assert {rig.standing(name) for name in DEVICES} == {"old"}
