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


GROWN = (("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}"), ("count: 2\n", "count: 3\n"))


def test_what_does_not_boot_is_removed_from_the_running_lab(sonic_vm: Any, proves: Any) -> None:
    before, text = sonic_vm.started(), sonic_vm.intent.read_text()
    folder = sonic_vm.folder / ".railweave" / "lab" / "vm"
    noted = (folder / "running.json").read_bytes()
    sonic_vm.edit(*GROWN)
    try:
        said = sonic_vm.run("lab", "up", "--wait", "1", status=1).stderr
    finally:
        sonic_vm.intent.write_text(text)
    assert "vm-spine3: not healthy within 1 s; what was added is removed again" in " ".join(said.split())
    assert sonic_vm.started() == before
    assert (folder / "running.json").read_bytes() == noted
    assert not list(folder.glob("more-*")) + list(folder.glob("nodes/vm-spine3"))
    sonic_vm.as_intended()
    proves("a machine that does not boot in time is removed again; the lab runs on untouched")


def test_a_grown_lab_gets_what_it_lacks_and_nothing_that_runs_is_touched(
    sonic_vm: Any, streams: Any, proves: Any
) -> None:
    before = sonic_vm.started()
    sonic_vm.edit(*GROWN)
    running = streams(sonic_vm, ("gpu1", "-I 10.32.0.1 10.32.0.67"))
    assert sonic_vm.json("lab", "up")["added"] == ["vm-spine3", "gpu3"]
    after = sonic_vm.started()
    assert sorted(after.keys() - before.keys()) == ["clab-vm-gpu3", "clab-vm-vm-spine3"]
    assert {name: after[name] for name in before} == before, "none was restarted"
    assert sonic_vm.deploy()["result"] == "done"
    assert sum(stream.stop()[1] for stream in running) == 0
    sonic_vm.as_intended()
    assert sonic_vm.pings("gpu3", "-M do -s 8972 -I 10.32.0.5 10.32.0.67")
    assert sonic_vm.json("lab", "up")["added"] == []
    assert "it is running with everything that the intent has" in sonic_vm.run("lab", "up").stdout
    proves(
        "a spine and a node added to running machines under pings: none restarted, no packet lost, LLDP on new cables"
    )


def test_nodes_that_the_intent_has_no_longer_run_on(sonic_vm: Any, proves: Any) -> None:
    before, text = sonic_vm.started(), sonic_vm.intent.read_text()
    sonic_vm.edit(("count: 3\n", "count: 2\n"))
    try:
        told = sonic_vm.json("lab", "up")
    finally:
        sonic_vm.intent.write_text(text)
    assert (told["added"], told["surplus"]) == ([], ["gpu3"])
    assert sonic_vm.started() == before
    proves("a node that the intent has no longer is named, and runs on")


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
