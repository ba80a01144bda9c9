"""Whatever fails, every device ends on the old or the new configuration, and the next plan tells the truth."""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e

VICTIM = "lab-leaf1"


@pytest.fixture
def deployed(new_project: Any) -> Any:
    """The small fabric, deployed, with a change of all ports' MTU waiting in the intent."""
    project = new_project("lab-4.yml")
    project.up()
    project.deploy()
    project.intent.write_text(project.intent.read_text() + "mtu: {fabric: 9000, hosts: 8900}\n")
    return project


def mtus(project: Any, device: str) -> set[str]:
    return {row["mtu"] for row in project.running(device)["PORT"].values()}


def states(project: Any) -> dict[str, str]:
    """Return old or new for each switch, by its own configuration; anything between fails."""
    found = {}
    for name in ("lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2"):
        seen = mtus(project, name)
        assert seen in ({"9100"}, {"9000"}), f"{name} is neither old nor new: {seen}"
        found[name] = "new" if seen == {"9000"} else "old"
    return found


def agrees(project: Any) -> None:
    """The next plan says of each switch what the switch is."""
    plan = project.plan()
    for name, state in states(project).items():
        assert plan["devices"][name]["state"] == ("unchanged" if state == "new" else "changed"), name


def recovers(project: Any) -> None:
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"] is True
    assert project.plan()["changes"] == []


def test_an_unreachable_device_stops_the_deployment_before_anything_changes(deployed: Any) -> None:
    deployed.run("sim", "fault", VICTIM, "unreachable")
    assert deployed.plan(status=1)["devices"][VICTIM]["state"] == "unreachable"
    stopped = deployed.deploy(status=1)
    assert stopped["result"] == "stopped"
    assert stopped["devices"][VICTIM]["outcome"] == "unreachable"
    assert {one["outcome"] for name, one in stopped["devices"].items() if name != VICTIM} == {"not-attempted"}
    deployed.run("sim", "fault", VICTIM, "clear")
    assert set(states(deployed).values()) == {"old"}
    recovers(deployed)


def test_the_reachable_devices_are_deployed_when_that_is_asked_for(deployed: Any) -> None:
    deployed.run("sim", "fault", VICTIM, "unreachable")
    partial = deployed.deploy("--skip-unreachable", status=None)
    assert partial["devices"][VICTIM]["outcome"] == "unreachable"
    assert {one["outcome"] for name, one in partial["devices"].items() if name != VICTIM} == {"new"}
    deployed.run("sim", "fault", VICTIM, "clear")
    agrees(deployed)
    recovers(deployed)


@pytest.mark.parametrize("command", ["config load", "config apply-patch", "config save"])
def test_a_device_that_refuses_a_commit_keeps_its_old_configuration(deployed: Any, command: str) -> None:
    deployed.run("sim", "fault", VICTIM, "refuse-commit", "--command", command)
    ended = deployed.deploy(status=None)
    assert ended["devices"][VICTIM]["outcome"] in {"old", "new"}
    assert states(deployed)[VICTIM] == ended["devices"][VICTIM]["outcome"]
    agrees(deployed)
    deployed.run("sim", "fault", VICTIM, "clear")
    recovers(deployed)


def test_a_device_whose_bgp_does_not_come_up_is_rolled_back_and_the_rollout_stops(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.up()
    project.run("sim", "fault", VICTIM, "bgp-down")
    stopped = project.json("deploy", "--target", "sim", "--yes", "--provision", "--verify-timeout", "3", status=1)
    assert stopped["result"] == "stopped"
    assert stopped["devices"][VICTIM]["outcome"] == "old"
    assert "bgp" in stopped["devices"][VICTIM]["error"].lower()
    assert stopped["devices"]["lab-leaf2"]["outcome"] == "not-attempted"
    assert project.running(VICTIM)["DEVICE_METADATA"]["localhost"]["hostname"] != VICTIM
    assert project.plan()["devices"][VICTIM]["state"] == "changed"
    project.run("sim", "fault", VICTIM, "clear")
    recovers(project)


@pytest.mark.parametrize("moment", ["before", "during", "after"])
@pytest.mark.parametrize(
    "command", ["config load", "config apply-patch", "railweave-confirm arm", "railweave-confirm confirm"]
)
def test_a_session_lost_at_any_step_leaves_old_or_new(deployed: Any, command: str, moment: str) -> None:
    deployed.run("sim", "fault", VICTIM, "drop-session", "--command", command, "--moment", moment)
    ended = deployed.deploy(status=None)
    outcome = ended["devices"][VICTIM]["outcome"]
    assert outcome in {"old", "new"}
    assert states(deployed)[VICTIM] == outcome
    agrees(deployed)
    deployed.run("sim", "fault", VICTIM, "clear")
    recovers(deployed)


def test_a_killed_deployment_is_undone_by_the_switches_own_timers(deployed: Any) -> None:
    deployed.set_rollout(verify_timeout=2, revert_in=35)
    # The victim answers slowly while it is verified, so that the deployment dies between commit and confirmation.
    deployed.run("sim", "fault", VICTIM, "slow", "--command", "sonic-db-dump", "--seconds", "20")
    process = deployed.start("deploy", "--target", "sim", "--yes")
    deployed.wait_until(lambda: mtus(deployed, VICTIM) == {"9000"}, 60, "the victim never took the change")
    deployed.kill(process)
    deployed.run("sim", "fault", VICTIM, "clear")
    plan = deployed.plan()
    assert plan["devices"][VICTIM]["pending"] is True
    deployed.wait_until(lambda: mtus(deployed, VICTIM) == {"9100"}, 30, "the switch did not go back by itself")
    agrees(deployed)
    recovers(deployed)


def test_a_switch_that_lost_its_configuration_is_found_and_provisioned_again(deployed: Any) -> None:
    recovers(deployed)
    deployed.run("sim", "fault", VICTIM, "lose-config")
    verified = deployed.verify(status=1)
    assert any(check["device"] == VICTIM and not check["ok"] for check in verified["checks"])
    recovers(deployed)


def test_swapped_cables_are_named_by_the_verification(deployed: Any) -> None:
    recovers(deployed)
    links = [link for link in deployed.fabric()["links"] if link["kind"] == "leaf_spine"]
    first, second = links[0], next(link for link in links if link["b"]["device"] != links[0]["b"]["device"])
    a, b = (f"{link['a']['device']}:{link['a']['port']}" for link in (first, second))
    x, y = (f"{link['b']['device']}:{link['b']['port']}" for link in (first, second))
    deployed.run("sim", "cable", a, y)
    deployed.run("sim", "cable", b, x)
    failed = [check for check in deployed.verify(status=1)["checks"] if not check["ok"]]
    assert {"lldp", "bgp"} <= {check["kind"] for check in failed}
    assert first["a"]["port"] in {check["subject"] for check in failed if check["kind"] == "lldp"}
    deployed.run("sim", "cable", a, x)
    deployed.run("sim", "cable", b, y)
    assert deployed.verify()["ok"] is True


def test_a_foreign_row_on_a_fabric_port_is_refused_and_taken_only_when_asked(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.up()
    project.on(
        VICTIM,
        "sudo config vlan add 100 && sudo config interface ip remove Ethernet0 10.0.0.0/31; sudo config vlan member add -u 100 Ethernet0",
    )
    refused = project.run("plan", "--target", "sim", status=1)
    assert "VLAN_MEMBER" in refused.stdout + refused.stderr
    taken = project.plan("--take-ports")
    assert any(change["table"] == "VLAN_MEMBER" and change["op"] == "remove" for change in taken["changes"])
