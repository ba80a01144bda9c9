"""A switch whose transaction state is damaged: named by plan and deploy with the command that repairs it."""

import json
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

LEAF = "lab-leaf1"
STATE = "/var/lib/railweave/transaction.json"


def test_plan_and_deploy_name_a_damaged_state_and_recover_repairs_it(deployed_lab: Any) -> None:
    deployed_lab.on(LEAF, f"sudo sh -c 'echo > {STATE}'")
    for words in (("plan",), ("deploy", "--yes")):
        refused = " ".join(deployed_lab.run(*words, "--target", "sim", status=1).stderr.split())
        assert f"{LEAF}: its transaction state is damaged: {STATE}" in refused
        assert f"railweave recover {LEAF}" in refused
    refused = deployed_lab.run("recover", LEAF, "--target", "sim", status=1).stdout
    assert "without a rollback document nothing can be restored" in " ".join(refused.split())
    done = deployed_lab.run("recover", LEAF, "--accept-running", "--target", "sim").stdout
    assert "running configuration kept" in done
    assert deployed_lab.plan()["devices"][LEAF]["state"] == "unchanged"
    assert deployed_lab.deploy()["result"] == "unchanged"


def test_recover_restores_what_an_unfinished_change_left(deployed_lab: Any) -> None:
    """The guard dies with the restart of the switch, and somebody had saved the change."""
    deployed_lab.set_rollout(verify_timeout=1, drain_timeout=1, revert_in=60)
    deployed_lab.intent.write_text(deployed_lab.intent.read_text() + "bgp: {keepalive: 5, hold: 15}\n")
    deployed_lab.run("sim", "fault", LEAF, "slow", "--command", "railweave-switch confirm", "--seconds", "90")
    process = deployed_lab.start("deploy", "--target", "sim", "--yes")
    armed = lambda: '"armed"' in deployed_lab.on(LEAF, f"sudo cat {STATE}")  # noqa: E731
    deployed_lab.wait_until(armed, 150, "the leaf never took the change")
    deployed_lab.kill(process)
    deployed_lab.on(LEAF, "sudo vtysh -c 'write memory'")
    deployed_lab.run("sim", "fault", LEAF, "power-cycle")
    deployed_lab.run("sim", "fault", LEAF, "clear")
    deployed_lab.wait_until(
        lambda: "SPINES timers" in deployed_lab.on(LEAF, "sudo vtysh -c 'show running-config'"), 90, "FRR"
    )
    found = json.loads(deployed_lab.run("recover", LEAF, "--target", "sim", "--json").stdout)["devices"][LEAF]
    assert (found["found"], found["outcome"], found["missing"]) == ("expired", "restored", [])
    assert any("SPINES timers 3 9" in line for line in found["restored"])
    assert "SPINES timers 3 9" in deployed_lab.on(LEAF, "sudo cat /etc/sonic/frr/frr.conf")


def test_an_unknown_switch_and_a_healthy_one(deployed_lab: Any) -> None:
    assert "has no switch lab-leaf9" in deployed_lab.run("recover", "lab-leaf9", "--target", "sim", status=64).stderr
    assert "nothing to repair" in deployed_lab.run("recover", LEAF, "--target", "sim").stdout
