"""An acceptance from its plan to its verdict: SSH, Ansible, tools of simulated nodes, counters of switches and NICs."""

import json
import os
import shutil
import signal
from typing import Any

import pytest
from acceptance_rig import planned_acceptance
from json_schemas import Draft202012Validator

from railweave.report.documents import named_schema

CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
pytestmark = [pytest.mark.e2e, pytest.mark.skipif(CANNOT, reason="simulated nodes need root and ip")]

# Everything passes in a tenth of this on an idle machine; tests share theirs with others.
_PATIENCE_S = 600
_RESUMED = 2

NODES = "hosts: {manage: true, frontend: eno1}\nacceptance: {seconds: 3}\n"


class Acceptance:
    """A simulated fabric of 4 nodes that runs its intent, with a plan."""

    def __init__(self, project: Any) -> None:
        self.project = project
        self.folder = planned_acceptance(project, NODES)

    def run(self, *words: str, status: int | None = 0) -> Any:
        return self.project.json("acceptance", "run", str(self.folder), "--target", "sim", *words, status=status)

    def finish(self, *words: str) -> Any:
        """Run, and resume on a machine so busy that some tests did not get their time."""
        result = self.run(*words, status=None)
        for _ in range(_RESUMED):
            if not result["not_run"]:
                break
            result = self.run(*dict.fromkeys([*words, "--resume"]), status=None)
        assert (result["not_run"], result["interrupted"]) == ([], False)
        Draft202012Validator(named_schema("acceptance run")).validate(result)
        return result

    def judge(self, status: int = 0) -> Any:
        return self.project.json("acceptance", "judge", str(self.folder), status=status)

    def journal(self) -> list[Any]:
        return [json.loads(line) for line in (self.folder / "journal.jsonl").read_text().splitlines()]

    def on_node(self, node: str, command: str) -> str:
        done: str = self.project.run("sim", "ssh", node, command, status=None).stdout
        return done

    def left_running(self) -> str:
        """Return what of tests and their supervisors runs on the first node."""
        return self.on_node(
            "gpu1", "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep RAILWEAVE_ACCEPTANCE="
        )


@pytest.fixture
def acceptance(new_project: Any) -> Acceptance:
    return Acceptance(new_project("lab-4.yml"))


def test_a_healthy_fabric_is_accepted_and_a_lossy_cable_is_named(
    acceptance: Acceptance,
) -> None:
    result = acceptance.finish()
    assert result["tests"]["ran"] == result["tests"]["planned"] > 0
    verdict = acceptance.judge()
    assert (verdict["verdict"], verdict["findings"]) == ("passed", [])
    status = acceptance.project.json("status", "--target", "sim")
    digests = {name: state["digest"] for state in status["running"] for name in state["devices"]}
    assert json.loads((acceptance.folder / "running.json").read_text())["switches"] == digests
    rounds = [line["round"] for line in acceptance.journal() if line["event"] == "after"]
    assert len(set(rounds)) == result["rounds"]
    assert acceptance.left_running() == ""
    assert acceptance.on_node("gpu1", "ls -d /var/lib/railweave-acceptance") == ""
    # Nothing is left to do, and nothing is done twice.
    assert acceptance.run("--resume")["not_run"] == []
    assert [line["round"] for line in acceptance.journal() if line["event"] == "after"] == rounds

    acceptance.project.run("sim", "fault", "lab-leaf1", "lossy", "--port", "Ethernet0", "--ratio", "0.001")
    (acceptance.folder / "journal.jsonl").unlink()
    acceptance.finish()
    findings = acceptance.judge(status=1)["findings"]
    assert {cable for finding in findings for cable in finding["cables"]} == {"gpu1 rail0"}


@pytest.mark.nightly
def test_an_interrupted_run_leaves_nothing_running_and_is_resumed(acceptance: Acceptance) -> None:
    running = acceptance.project.start("acceptance", "run", str(acceptance.folder), "--target", "sim", "--json")
    journal = acceptance.folder / "journal.jsonl"

    def two_rounds_are_over() -> bool:
        assert running.poll() is None, running.communicate()
        return journal.exists() and journal.read_text().count('"after"') >= 2

    try:
        acceptance.project.wait_until(two_rounds_are_over, _PATIENCE_S, "two rounds are over")
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=_PATIENCE_S)
    finally:
        if running.poll() is None:
            acceptance.project.kill(running)
    assert running.returncode == 130
    assert acceptance.left_running() == ""
    results = [line["not_run"] for line in acceptance.journal() if line["event"] == "results"]
    # A busy node may not have stored the last round that the controller saw the end of.
    done = {name for not_run in results for name, missing in not_run.items() if not missing}
    assert done

    acceptance.finish("--resume")
    journaled = acceptance.journal()
    repeated = {line["round"] for line in journaled if line["event"] == "repeat"}
    before = [line["round"] for line in journaled if line["event"] == "before"]
    assert all(before.count(name) == 1 for name in done - repeated)
    assert acceptance.judge()["verdict"] == "passed"


@pytest.mark.nightly
def test_settings_are_refused_until_they_are_set_back_and_so_is_a_plan_of_another_intent(
    acceptance: Acceptance,
) -> None:
    acceptance.on_node("gpu2", "ip link set rail0 mtu 1500")
    refused = acceptance.project.run("acceptance", "run", str(acceptance.folder), "--target", "sim", status=1).stderr
    assert "gpu2:rail0 has an MTU of 1500 bytes" in refused
    assert not (acceptance.folder / "results").exists()
    acceptance.on_node("gpu2", "ip link set rail0 mtu 9000")
    acceptance.finish("--limit", "gpu1,gpu2")
    acceptance.project.edit(("acceptance: {seconds: 3}", "acceptance: {seconds: 6}"))
    refused = acceptance.project.run("acceptance", "run", str(acceptance.folder), "--target", "sim", status=1).stderr
    assert "RW961" in refused
