"""A rollout whose process is lost at any step is carried on or taken back, and says in words where it cannot be."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from by_night import nightly_except

pytestmark = pytest.mark.e2e

LEAF, SPINE = "lab-leaf1", "lab-spine1"
DEVICES = (LEAF, "lab-leaf2", SPINE, "lab-spine2")
NEW_LEAVES = ("lab-leaf3", "lab-leaf4")
LONG_TIMER_S = 600
"""No switch goes back by itself while a test runs: whatever goes back was taken back."""

POLICY = """\
mtu: {fabric: 9216, hosts: 9000}
bgp: {keepalive: 2, hold: 8}
traffic_classes:
  - {name: roce, role: rdma, dscp: [26], lossless: true, priority: 3, share: 80}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 20}
"""


class Rig:
    """A deployed lab, what its switches held then, and ways to lose the machine that deploys."""

    def __init__(self, project: Any) -> None:
        self.project = project
        project.set_rollout(revert_in=LONG_TIMER_S)
        self.before = self.held(DEVICES)

    def held(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: self.project.running(name) for name in names}

    def change_policy(self) -> None:
        self.project.intent.write_text(self.project.intent.read_text() + POLICY)

    def grow(self) -> None:
        text = re.sub(r"count: 4\b", "count: 8", self.project.intent.read_text(), count=1)
        text = re.sub(r"(\bleaf:.*?)count: 2\b", r"\1count: 4", text, count=1, flags=re.S)
        self.project.intent.write_text(text)
        self.project.up()

    def slow_down(self, device: str) -> None:
        """Let every call of a switch's program take a second, so that what happens to the rollout meets it running."""
        self.project.run("sim", "fault", device, "slow", "--command", "railweave-switch", "--seconds", "1")

    def newest(self) -> Any:
        return self.project.json("rollout", "show")

    def journal(self) -> Path:
        journals: Iterable[Path] = (self.project.folder / ".railweave" / "journal").glob("*.jsonl")
        return max(journals, key=lambda path: path.stat().st_mtime_ns)

    def lose(self, step: str, device: str, *command: str) -> None:
        """Start a command and kill it the moment that its journal tells ``step`` of ``device``."""
        known = set((self.project.folder / ".railweave" / "journal").glob("*.jsonl"))
        process = self.project.start(*(command or ("deploy", "--target", "sim", "--yes", "--provision")))
        try:
            self.project.wait_until(
                lambda: process.poll() is not None or self.told(known, step, device), 60, f"{device} {step}"
            )
            assert process.poll() is None, process.communicate()[0]
        finally:
            self.project.kill(process)

    def told(self, known: set[Path], step: str, device: str) -> bool:
        journals = set((self.project.folder / ".railweave" / "journal").glob("*.jsonl")) - known
        lines = [line for path in journals for line in path.read_text().splitlines()]
        return any(f'"step": "{step}", "device": "{device}"' in line for line in lines)

    def resume(self, *words: str, status: int | None = 0) -> Any:
        return self.project.json("deploy", "--resume", *words, "--target", "sim", "--yes", "--provision", status=status)

    def rollback(self, *words: str, status: int | None = 0) -> Any:
        return self.project.json("rollback", *words, "--target", "sim", "--yes", "--provision", status=status)

    def is_new(self) -> None:
        """Everything is as intended, nothing waits, and nothing is left to resume."""
        plan = self.project.plan()
        assert plan["changes"] == []
        assert not any(device["pending"] for device in plan["devices"].values())
        assert self.project.verify()["ok"] is True
        assert "nothing to resume" in self.resume(status=1)["error"]

    def is_as_before(self) -> None:
        """Every switch runs and boots what it ran before, foreign rows and FRR lines included."""
        for name, running in self.held(DEVICES).items():
            assert running == self.before[name], name
        assert not any(device["pending"] for device in self.project.plan(status=None)["devices"].values())


@pytest.fixture
def rig(deployed_lab: Any) -> Rig:
    return Rig(deployed_lab)


def refusal(answer: Any) -> Any:
    (found,) = answer["diagnostics"]
    return found


@pytest.mark.parametrize(
    ("step", "device"),
    nightly_except(
        [
            ("started", ""),
            ("applying", SPINE),
            ("applied", SPINE),
            ("verifying", "lab-spine2"),
            ("verified", LEAF),
            ("confirmed", LEAF),
            ("outcome", "lab-leaf2"),
        ],
        daily=[("applied", SPINE)],
    ),
)
def test_a_rollout_killed_at_any_step_is_carried_on_without_waiting_for_timers(
    rig: Rig, step: str, device: str
) -> None:
    rig.change_policy()
    rig.slow_down("lab-leaf2")
    rig.lose(step, device)
    lost = rig.newest()
    assert lost["state"] == "interrupted"
    resumed = rig.resume()
    assert resumed["result"] in {"done", "unchanged"}
    assert rig.newest()["rollout"] == lost["rollout"], "it is the same rollout"
    assert {one["outcome"] for one in rig.newest()["devices"].values()} == {"new"}
    rig.is_new()


@pytest.mark.parametrize("step", ["applying", "verified"])
def test_a_growth_killed_in_the_middle_of_a_reload_is_carried_on(rig: Rig, step: str) -> None:
    rig.grow()
    rig.lose(step, "lab-leaf3")
    assert rig.resume()["result"] == "done"
    rig.is_new()


def test_a_resumed_rollout_may_be_killed_and_resumed_again(rig: Rig) -> None:
    rig.change_policy()
    rig.lose("applied", SPINE)
    name = rig.newest()["rollout"]
    process = rig.project.start("deploy", "--resume", "--target", "sim", "--yes")
    rig.project.wait_until(lambda: '"resumed"' in rig.journal().read_text(), 120, "it was never resumed")
    rig.project.kill(process)
    assert rig.resume(name)["result"] == "done"
    assert [line["step"] for line in rig.newest()["steps"]].count("resumed") == 2
    rig.is_new()


def test_a_cut_line_of_the_journal_swallows_nothing(rig: Rig) -> None:
    rig.change_policy()
    rig.lose("confirmed", SPINE)
    with rig.journal().open("ab") as journal:
        journal.write(b'{"at": "2026-01-01T00:00:00", "step": "conf')
    assert rig.newest()["torn"] is True
    assert rig.resume()["result"] == "done"
    told = rig.newest()
    assert (told["torn"], told["unread_lines"]) == (False, 1)
    rig.is_new()


def test_a_plain_deployment_tells_of_a_rollout_that_was_not_finished(rig: Rig) -> None:
    rig.change_policy()
    rig.project.set_rollout(verify_timeout=1, drain_timeout=1, revert_in=31)
    rig.lose("confirmed", SPINE)
    name = rig.newest()["rollout"]
    done = rig.project.run("deploy", "--target", "sim", "--yes")
    assert f"rollout {name} was not finished" in done.stderr
    assert "railweave deploy --resume" in done.stderr
    assert f"railweave rollback {name}" in done.stderr
    assert "was not finished" not in rig.project.run("deploy", "--target", "sim", "--yes").stderr
    rig.is_new()


def test_what_cannot_be_resumed_is_refused_in_words(rig: Rig) -> None:
    rig.change_policy()
    rig.lose("applied", SPINE)
    name = rig.newest()["rollout"]
    text = rig.project.intent.read_text()
    rig.project.intent.write_text(text + "# another intent\n")
    other = refusal(rig.resume(status=1))
    assert other["code"] == "RW534"
    assert f"the intent has changed since rollout {name}" in other["message"]
    assert "check out" in other["fix"]
    rig.project.intent.write_text(text)
    rig.project.on("lab-leaf2", "sudo config interface mtu Ethernet0 4000")
    moved = refusal(rig.resume(status=1))
    assert (moved["code"], moved["devices"]) == ("RW535", ["lab-leaf2"])
    rig.project.deploy()
    assert "nothing to resume" in rig.resume(status=1)["error"]
    later = refusal(rig.resume(name, status=1))
    assert "came after" in later["message"]
    assert rig.project.run("deploy", "--resume", "no-such", "--target", "sim", "--yes", status=64)


def test_a_growth_is_rolled_back_to_the_row(rig: Rig) -> None:
    rig.grow()
    factory = rig.held(NEW_LEAVES)
    rig.project.deploy()
    refused = rig.project.json("rollback", "--target", "sim", "--yes", status=1)
    assert "reload" in refused["error"], "what was provisioned goes back by a reload, which needs a word"
    ended = rig.rollback()
    assert ended["result"] == "done"
    assert {one["outcome"] for one in ended["devices"].values()} == {"new"}
    rig.is_as_before()
    for name, running in rig.held(NEW_LEAVES).items():
        assert running["DEVICE_METADATA"] == factory[name]["DEVICE_METADATA"]
        assert running["INTERFACE"] == factory[name]["INTERFACE"]
    told = rig.newest()
    assert told["kind"] == "rollback"
    assert set(told["waves"][0]) <= set(NEW_LEAVES), "last in, first out"
    assert rig.rollback(told["of"])["result"] == "unchanged"


def test_a_policy_change_is_rolled_back_and_the_rollback_rolled_back(rig: Rig) -> None:
    rig.change_policy()
    rig.project.deploy()
    name = rig.newest()["rollout"]
    assert rig.rollback()["result"] == "done"
    rig.is_as_before()
    assert rig.newest()["of"] == name
    back = rig.newest()["rollout"]
    assert rig.rollback(back)["result"] == "done"
    assert rig.project.plan()["changes"] == []


@pytest.mark.parametrize("step", ["applied", "confirmed"])
def test_a_rollout_that_was_lost_is_taken_back(rig: Rig, step: str) -> None:
    rig.change_policy()
    rig.lose(step, LEAF)
    ended = rig.rollback()
    assert ended["result"] == "done"
    rig.is_as_before()


def test_a_rollout_is_taken_back_without_its_journal(rig: Rig) -> None:
    rig.change_policy()
    rig.project.deploy()
    name = rig.newest()["rollout"]
    for path in (rig.project.folder / ".railweave" / "journal").iterdir():
        path.unlink()
    assert "rollback --last" in refusal(rig.rollback(status=1))["fix"]
    ended = rig.rollback("--last")
    assert (ended["result"], ended["of"]) == ("done", name)
    rig.is_as_before()
    assert refusal(rig.rollback("--last", status=1))["code"] == "RW536", "a rollback is no change to be taken back"


def test_a_lost_rollback_is_carried_on(rig: Rig) -> None:
    rig.change_policy()
    rig.project.deploy()
    rig.lose("applied", "lab-leaf2", "rollback", "--target", "sim", "--yes")
    assert (rig.newest()["kind"], rig.newest()["state"]) == ("rollback", "interrupted")
    assert rig.resume()["result"] == "done"
    rig.is_as_before()


def test_a_device_that_changed_since_is_named_and_nothing_goes_back(rig: Rig) -> None:
    rig.change_policy()
    rig.project.deploy()
    rig.project.on(LEAF, "sudo config interface mtu Ethernet0 4000")
    refused = refusal(rig.rollback(status=1))
    assert (refused["code"], refused["devices"]) == ("RW537", [LEAF])
    assert "deploy the earlier revision of the intent" in refused["fix"]
    assert rig.project.plan()["devices"][SPINE]["state"] == "unchanged"
    rig.project.deploy()
    newer = rig.newest()["rollout"]
    first = [one["rollout"] for one in rig.project.json("rollout", "list")["rollouts"]][1]
    assert rig.rollback(newer)["result"] == "done"
    assert refusal(rig.rollback(first, status=1))["devices"] == [LEAF]


def test_foreign_rows_survive_a_rollback(rig: Rig) -> None:
    rig.change_policy()
    rig.project.deploy()
    row = {"SNMP_COMMUNITY": {"later": {"TYPE": "RO"}}}
    rig.project.on(LEAF, f"echo '{json.dumps(row)}' > /tmp/row.json; sudo config load -y /tmp/row.json")
    assert rig.rollback()["result"] == "done"
    assert "later" in rig.project.running(LEAF)["SNMP_COMMUNITY"]


def test_a_second_deployment_is_told_who_is_at_work_and_the_first_can_be_steered(rig: Rig) -> None:
    rig.change_policy()
    rig.slow_down("lab-spine2")
    process = rig.project.start("deploy", "--target", "sim", "--yes", "--json")
    try:
        rig.project.wait_until(lambda: rig.told(set(), "applying", SPINE), 120, "it never began")
        rig.project.run("rollout", "pause")
        rig.project.wait_until(lambda: rig.newest()["state"] == "paused", 120, "it never paused")
        second = refusal(rig.project.deploy(status=1))
        assert second["code"] == "RW530"
        assert f"process {process.pid} of " in second["message"]
        assert refusal(rig.resume(rig.newest()["rollout"], status=1))["code"] == "RW530"
        assert refusal(rig.rollback(rig.newest()["rollout"], status=1))["code"] == "RW530"
        rig.project.run("rollout", "abort")
        answer, _ = process.communicate(timeout=240)
    finally:
        rig.project.kill(process)
    assert process.returncode == 1
    assert rig.newest()["state"] == "stopped"
    assert "aborted" in answer
    refused = refusal(rig.project.json("rollout", "pause", status=1))
    assert (refused["code"], "is not running" in refused["message"]) == ("RW538", True)
    assert rig.resume()["result"] == "done"
    rig.is_new()


def test_the_audit_log_tells_of_resumes_and_rollbacks(rig: Rig) -> None:
    rig.change_policy()
    rig.lose("confirmed", SPINE)
    name = rig.newest()["rollout"]
    rig.resume()
    rig.rollback()
    commands = [entry["command"] for entry in rig.project.json("audit")["entries"]]
    assert commands[-2:] == [f"deploy --resume {name}", f"rollback {name}"]
