"""A fabric of sonic-vm: SONIC_VM_IMAGE, else containers that boot as vrnetlab's launch and the machine in it do.

Their sshd answers before its first password is changed, the host name comes late, Docker calls them healthy last. The
commands are those of docs/how-to/lab.md.
"""

import json
import os
import subprocess
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

LEAVES, SPINES = ("vm-leaf1", "vm-leaf2"), ("vm-spine1", "vm-spine2")
STAND_IN = not os.environ.get("SONIC_VM_IMAGE")


def test_a_lab_is_up_when_password_name_and_start_up_configuration_are_there(sonic_vm: Any, proves: Any) -> None:
    told = subprocess.run(["docker", "ps", "--format", "{{.Names}}"], capture_output=True, text=True, check=True).stdout
    switches = sorted(name for name in told.split() if name.startswith("clab-vm-vm-"))
    assert switches == [f"clab-vm-{name}" for name in (*LEAVES, *SPINES)], "not the reserve: 4 GiB each"
    for switch in (*LEAVES, *SPINES):
        status = ["docker", "inspect", "--format", "{{.State.Health.Status}}", f"clab-vm-{switch}"]
        assert subprocess.run(status, capture_output=True, text=True, check=True).stdout == "healthy\n"
    if STAND_IN:
        log = ["docker", "logs", "clab-vm-vm-leaf1"]
        said = subprocess.run(log, capture_output=True, text=True, check=True).stdout
        early, late = said.index("sshd answers as sonic, with the first"), said.index("completed bootstrap")
        assert early < late
        for switch in (*LEAVES, *SPINES):
            assert sonic_vm.on(switch, "hostname") == f"{switch}\n"
            metadata = sonic_vm.running(switch)["DEVICE_METADATA"]["localhost"]
            assert (metadata["hostname"], metadata["hwsku"]) == (switch, "Force10-S6000"), "loaded over its own"
    proves("4 machines up: sshd answered with the first password, the lab was ready once Docker called them healthy")


def test_machines_are_provisioned_over_ssh_with_the_inventorys_login(sonic_vm: Any, proves: Any) -> None:
    assert sonic_vm.deploy()["result"] == "done"
    sonic_vm.as_intended()
    assert sonic_vm.json("drift", "--target", "lab")["drift"] is False
    assert sonic_vm.pings("gpu1", "-M do -s 8972 -I 10.32.0.1 10.32.0.67")
    proves("machines provisioned with the login of the inventory; hosts reach each other, no drift")


@pytest.mark.skipif(not STAND_IN, reason="a real machine boots")
def test_a_machine_that_is_never_healthy_is_named_and_nothing_is_left(stuck_machine: Any, proves: Any) -> None:
    said = stuck_machine.run("lab", "up", "--wait", "8", status=1).stderr
    assert "stuck-leaf1, stuck-leaf2, stuck-spine1, stuck-spine2: not healthy within 8 s" in " ".join(said.split())
    assert "no login prompt" in said
    for kind in ("container", "network"):
        left = subprocess.run(
            ["docker", kind, "ls", "--format", "{{json .}}"], capture_output=True, text=True, check=True
        )
        assert not [one for one in map(json.loads, left.stdout.splitlines()) if "stuck" in json.dumps(one)]
    proves("a machine that never gets healthy: named with its log after --wait, no container and network left")
