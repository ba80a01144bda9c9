"""A switch of which an earlier change ended a daemon is named by all that reads it, without a further command."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from counted_fabric import Counted, deployed_fabric

from railweave.api.maintenance.drain import DrainRequest, drain
from railweave.api.plans import plan
from railweave.api.project import Project
from railweave.api.verification import drift, verify
from railweave.errors import RefusedError
from railweave.plan.document import plan_json
from railweave.plan.model import Plan
from railweave.report.drift import drift_json
from railweave.report.drift import headline as drift_headline
from railweave.report.plan_parts import device_remarks
from railweave_switch import main
from sonic_sim.switch_host import SimulatedHost

pytestmark = pytest.mark.slow

INTENT = Path("intent/lab-4.yml")
COMMAND = "sudo systemctl reset-failed swss && sudo systemctl restart swss"
KILLS: dict[str, Any] = {"DSCP_TO_TC_MAP": {"empty": {}}}


@pytest.fixture
def fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    monkeypatch.chdir(tmp_path)
    with deployed_fabric(tmp_path, INTENT.name) as counted:
        yield counted


def break_orchagent(fabric: Counted, name: str) -> None:
    """Let a change end orchagent so that systemd has given up on it."""
    device = fabric.devices[name]
    device.orchagent.restarts = [device.clock.now()] * 3
    host, part = SimulatedHost(device), {"DSCP_TO_TC_MAP": {"empty": None}}
    last = main.status(host, {})["status"]["id"]
    asked = {
        "verb": "apply", "version": 1, "id": "kills", "last": last, "kind": "commit", "deadline_s": 600.0,
        "steps": [{"kind": "load", "document": KILLS}], "before": part, "after": KILLS,
        "rollback": {"steps": [{"kind": "load", "document": part}], "rows": part},
    }  # fmt: skip
    effects = device.on_effect
    device.on_effect = lambda _device, _effect: None  # its listener runs in another thread
    try:
        assert main.work(host, asked)["status"]["broken"]
    finally:
        device.on_effect = effects


def asked_in(fabric: Counted) -> dict[str, int]:
    return {name: counts["channels"] for name, counts in fabric.asked.items()}


def read_again(fabric: Counted) -> tuple[Plan, dict[str, int]]:
    plan(Project(INTENT), "sim")  # which logs in
    fabric.clear()
    made = plan(Project(INTENT), "sim")
    return made, asked_in(fabric)


def test_plan_drift_and_verify_name_switch_daemon_log_and_command(fabric: Counted) -> None:
    _, before = read_again(fabric)
    names = sorted(fabric.devices)
    leaf = next(name for name in names if "leaf" in name)
    break_orchagent(fabric, leaf)
    made, asked = read_again(fabric)
    assert asked == before
    assert made.broken == (leaf,)
    (remark,) = [one.text for one in device_remarks(made) if one.text.startswith("broken")]
    for words in (leaf, "orchagent", "exited: orchagent", COMMAND):
        assert words in remark
    document = plan_json(made)
    assert f"daemons of {leaf} do not run" in document["headline"]
    assert COMMAND in document["devices"][leaf]["broken"]
    assert all("broken" not in one for name, one in document["devices"].items() if name != leaf)

    found = drift(Project(INTENT), "sim")
    assert f"daemons of {leaf} do not run" in drift_headline(found)
    assert COMMAND in drift_json(found)["devices"][leaf]["broken"]

    (failed,) = [one for one in verify(Project(INTENT), "sim").failed if one.kind.value == "daemons"]
    assert (failed.device, failed.expected) == (leaf, "running")
    assert COMMAND in failed.actual

    device = fabric.devices[leaf]
    device.orchagent.start(device.db)  # what the command does
    assert plan(Project(INTENT), "sim").broken == ()
    assert verify(Project(INTENT), "sim").ok


def test_a_broken_spine_counts_as_out_of_service(fabric: Counted) -> None:
    first, second = sorted(name for name in fabric.devices if "spine" in name)[:2]
    break_orchagent(fabric, first)
    with pytest.raises(RefusedError, match=r"out of service|no other way"):
        drain(Project(INTENT), "sim", DrainRequest((second,), wait_s=0))
