"""What keeps tests from running is named within its bound, and the verdict is then not ``passed``.

Tools, clocks and disks of simulated nodes, a node that reboots in a round, and a switch that answers late.
"""

import json
import os
import shutil
from typing import Any

import pytest
from acceptance_rig import planned_acceptance

CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.nightly,
    pytest.mark.skipif(CANNOT, reason="simulated nodes need root and ip"),
]

# Everything is over in a tenth of this on an idle machine.
_PATIENCE_S = 1800
_LATE_S = 20

NODES = "hosts: {manage: true, frontend: eno1}\nacceptance: {seconds: 3, collectives: none}\n"
TWO_NODES = ("count: 4\n", "count: 2\n")

# Replaces a tool, which is a link to a program of the simulator.
OTHER_TOOL = """rm /usr/local/bin/ib_write_bw
cat > /usr/local/bin/ib_write_bw <<'END'
#!/bin/sh
case "$*" in *--version*) echo "Version: {version}"; exit;; esac
sleep 0.3
echo "Bandwidth: plenty"
END
chmod 755 /usr/local/bin/ib_write_bw"""
# Python reads this file when it starts, also for Ansible.
CLOCK_AHEAD = """folder=$(python3 -c 'import site; print(site.getsitepackages()[0])')
mkdir -p "$folder"
echo 'import time; time.time = lambda now=time.time: now() + 600' > "$folder/ahead.pth\""""
# /run is a file system of 16 MiB of its own.
FULL_DISK = """mkdir /run/results && ln -s /run/results /var/lib/railweave-acceptance
cat /dev/zero > /run/filled 2>/dev/null"""


class Spoiled:
    """A simulated fabric that runs its intent, with a plan, to be spoiled."""

    def __init__(self, project: Any) -> None:
        self.project = project
        self.folder = planned_acceptance(project, NODES)
        self.words = ("acceptance", "run", str(self.folder), "--target", "sim")

    def on_node(self, node: str, command: str) -> None:
        self.project.run("sim", "ssh", node, command, status=None)

    def verdict(self) -> str:
        verdict: str = self.project.json("acceptance", "judge", str(self.folder), status=1)["verdict"]
        return verdict

    def count(self, event: str) -> int:
        """Return how many lines of an event the journal has."""
        journal = self.folder / "journal.jsonl"
        return journal.read_text(encoding="utf-8").count(f'"event": "{event}"') if journal.exists() else 0


def reasons(result: Any, device: str) -> set[str]:
    """Return why tests did not run because of a device."""
    return {
        entry["reason"].partition(": ")[2] for entry in result["not_run"] if entry["reason"].startswith(f"{device}: ")
    }


def test_tools_clocks_and_disks_that_keep_tests_from_running_are_named(new_project: Any) -> None:
    spoiled = Spoiled(new_project("lab-4.yml"))
    spoiled.on_node("gpu1", "rm /usr/local/bin/ib_write_bw")
    spoiled.on_node("gpu2", OTHER_TOOL.format(version="27.1"))
    spoiled.on_node("gpu3", CLOCK_AHEAD)
    spoiled.on_node("gpu4", FULL_DISK)
    result = spoiled.project.json(*spoiled.words, status=1)
    assert "ib_write_bw is not installed" in reasons(result, "gpu1")
    assert "ib_write_bw Version: 27.1 is not a release whose output is known" in reasons(result, "gpu2")
    problems = {entry["device"]: entry["reason"] for entry in result["problems"]}
    assert problems["gpu3"] == "its clock differs by +600 s: set it (NTP)"
    assert "the disk is full" in problems["gpu4"]
    assert problems.keys() == {"gpu3", "gpu4"}
    assert spoiled.verdict() == "incomplete"


def test_a_node_that_reboots_in_a_round_is_named_and_no_repeat_hides_it(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.edit(TWO_NODES)
    spoiled = Spoiled(project)
    running = project.start(*spoiled.words, "--json")
    try:
        project.wait_until(lambda: spoiled.count("before") == 2, _PATIENCE_S, "the second round began")
        project.run("sim", "fault", "gpu2", "power-cycle")
        printed = running.communicate(timeout=_PATIENCE_S)[0]
    finally:
        if running.poll() is None:
            project.kill(running)
    assert running.returncode == 1, printed
    result = json.loads(printed[printed.index("{") :])
    assert {"device": "gpu2", "reason": "it was rebooted while tests ran"} in result["problems"]
    assert "it was rebooted while tests ran" in reasons(result, "gpu2")
    assert spoiled.verdict() == "incomplete"
    # It came back with its settings, which the next run checks.
    project.run("verify", "--target", "sim", "--wait", "60")
    resumed = project.json(*spoiled.words, "--resume", status=None)
    assert resumed["problems"] == []


def test_an_unknown_output_and_a_switch_that_answers_late_are_named(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.edit(TWO_NODES)
    spoiled = Spoiled(project)
    spoiled.on_node("gpu2", OTHER_TOOL.format(version="24.01.0-0.38"))
    words = ("slow", "--command", "--all-counters", "--seconds", str(_LATE_S), "--times", "0")
    project.run("sim", "fault", "lab-leaf1", *words)
    result = project.json(*spoiled.words, status=1)
    assert "the output of ib_write_bw has no form that is known" in reasons(result, "gpu2")
    problems = {entry["device"]: entry["reason"] for entry in result["problems"]}
    assert problems.keys() == {"lab-leaf1"}
    assert problems["lab-leaf1"].startswith("its counters came after ")
    assert spoiled.verdict() == "incomplete"
