"""Waves of several switches: kept whole or taken back whole, watched in their soak, saved where that was missed."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

SPINES = ("lab-spine1", "lab-spine2")
CANARY, TOGETHER = "lab-leaf1", ("lab-leaf2", "lab-leaf3", "lab-leaf4")
MTU = "mtu: {fabric: 9216, hosts: 9000}\n"
TIMERS = "bgp: {keepalive: 2, hold: 8}\n"


def _wide(folder: Path) -> str:
    """Write the lab's intent with two stripes: a change that disturbs nothing puts three leaves into one wave."""
    text = (folder / "intent" / "lab-4.yml").read_text(encoding="utf-8")
    text = re.sub(r"count: 4\b", "count: 8", text, count=1)
    text = re.sub(r"(\bleaf:.*?)count: 2\b", r"\1count: 4", text, count=1, flags=re.S)
    (folder / "intent" / "wide.yml").write_text(text, encoding="utf-8")
    return "wide.yml"


@pytest.fixture(scope="session")
def kept_wide(deployed_once: Callable[[Any], Path]) -> Path:
    return deployed_once(_wide)


@pytest.fixture
def wide(new_project: Any, kept_wide: Path) -> Any:
    """A project whose fabric of four leaves runs what is intended."""
    project = new_project(_wide)
    project.bring_back(kept_wide)
    project.set_rollout(verify_timeout=4, drain_timeout=4, revert_in=90)
    return project


def change(project: Any, text: str) -> None:
    project.intent.write_text(project.intent.read_text(encoding="utf-8") + text, encoding="utf-8")


def mtus(project: Any) -> dict[str, str]:
    names = (*SPINES, CANARY, *TOGETHER)
    return {name: project.running(name)["PORT"]["Ethernet0"]["mtu"] for name in names}


def boots(project: Any, device: str) -> Any:
    return json.loads(project.on(device, "sudo cat /etc/sonic/config_db.json"))


def journal(project: Any) -> list[dict[str, Any]]:
    """Return the lines of the newest journal, none where there is no journal yet."""
    files = (project.folder / ".railweave" / "journal").glob("*.jsonl")
    newest = max(files, key=lambda path: path.stat().st_mtime_ns, default=None)
    whole = [] if newest is None else newest.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in whole if line.endswith("\n")]


def test_a_failed_gate_takes_a_whole_wave_back(wide: Any) -> None:
    change(wide, MTU)
    wide.run("sim", "fault", "lab-leaf3", "bgp-down")
    stopped = wide.deploy(status=1)
    assert stopped["result"] == "stopped"
    assert {name: one["outcome"] for name, one in stopped["devices"].items()} == {
        **dict.fromkeys((*SPINES, CANARY), "new"),
        **dict.fromkeys(TOGETHER, "old"),
    }
    assert stopped["failed"] == ["lab-leaf3"]
    assert stopped["undone"] == ["lab-leaf2", "lab-leaf4"]
    assert mtus(wide) == {**dict.fromkeys((*SPINES, CANARY), "9216"), **dict.fromkeys(TOGETHER, "9100")}
    assert all(boots(wide, name)["PORT"]["Ethernet0"]["mtu"] == "9100" for name in TOGETHER)
    assert not any(device["pending"] for device in wide.plan()["devices"].values())
    wide.run("sim", "fault", "lab-leaf3", "clear")
    assert wide.deploy()["result"] == "done"
    assert set(mtus(wide).values()) == {"9216"}


def test_a_tolerated_failure_is_taken_back_alone(wide: Any) -> None:
    change(wide, MTU)
    wide.set_rollout(max_failures=2)
    wide.run("sim", "fault", "lab-leaf3", "bgp-down")
    done = wide.deploy(status=1)
    assert (done["result"], done["failed"]) == ("done", ["lab-leaf3"])
    assert mtus(wide) == {**dict.fromkeys((*SPINES, CANARY, *TOGETHER), "9216"), "lab-leaf3": "9100"}


def test_a_fault_in_the_soak_takes_back_what_was_kept_already(wide: Any) -> None:
    change(wide, TIMERS)
    wide.set_rollout(soak=20)
    process = wide.start("deploy", "--target", "sim", "--yes")
    wide.wait_until(lambda: any(line["step"] == "soaking" for line in journal(wide)), 120, "no wave was soaked")
    wide.run("sim", "fault", "lab-spine1", "bgp-down")
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 1, out
    assert "in the soak of its wave" in " ".join(out.split())
    outcomes = {line["device"]: line["outcome"] for line in journal(wide) if line["step"] == "outcome"}
    assert outcomes == {"lab-spine1": "old"}
    assert "timers 3 9" in wide.running("lab-spine1")["bgpraw"]
    assert "timers 3 9" in wide.on("lab-spine1", "sudo cat /etc/sonic/frr/frr.conf")
    wide.run("sim", "fault", "lab-spine1", "clear")
    wide.set_rollout(soak=0)
    assert wide.deploy()["result"] == "done"


def test_a_drained_spine_carries_nothing_when_it_is_changed_and_everything_afterwards(wide: Any) -> None:
    change(wide, TIMERS)
    done = wide.deploy()
    assert done["result"] == "done"
    steps = [line["step"] for line in journal(wide) if line["device"] == "lab-spine1"]
    order = ["draining", "drained", "quiet", "applying", "applied", "undrained", "verified", "confirmed"]
    assert [step for step in steps[: steps.index("confirmed") + 1] if step in order] == order
    assert not any("graceful-shutdown" in wide.running(name)["bgpraw"] for name in SPINES)
    assert wide.verify()["ok"] is True


def test_a_switch_that_was_confirmed_and_never_saved_is_saved_by_the_next_deployment(wide: Any) -> None:
    wide.on("lab-leaf1", "sudo config interface mtu Ethernet0 1500")
    wide.on("lab-leaf1", "sudo config save -y")
    wide.on("lab-leaf1", "sudo config interface mtu Ethernet0 9100")
    assert wide.plan()["changes"] == []
    assert wide.deploy()["result"] == "done"
    assert boots(wide, "lab-leaf1")["PORT"]["Ethernet0"]["mtu"] == "9100"
    assert wide.deploy()["result"] == "unchanged"
