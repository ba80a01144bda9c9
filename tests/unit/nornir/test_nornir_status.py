"""The state of switches between deployments: read beside a rollout, and of those that answer."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator
from napalm.base.exceptions import ConnectionException
from rich.console import Console

from nornir_railweave.target.connect import run_on
from nornir_railweave.tasks.read_status import read_status
from railweave.plan.lineage import generation_document
from railweave.plan.manual_drain import WHOLE
from railweave.plan.model import Generation
from railweave.plan.rollout import Rollout
from railweave.plan.status import FabricStatus, LastAcceptance, SwitchStatus
from railweave.report.documents import named_schema, versioned
from railweave.report.status import status_json, status_view
from railweave.switch_driver import CommitStatus

if TYPE_CHECKING:
    from tests.unit.nornir.conftest import Bench

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RUNNING = Generation(number=3, revision=COMMIT, digest="a" * 64, by="ada")
QUIET = CommitStatus(pending=False, generation={**generation_document(RUNNING), "number": 3, "by": "ada"})


def shown(status: FabricStatus) -> list[str]:
    console = Console(width=110, color_system=None)
    with console.capture() as captured:
        console.print(status_view(status))
    return [" ".join(line.split()) for line in captured.get().splitlines()]


def test_switches_are_read_while_a_commit_is_pending_and_others_do_not_answer(deployed: "Bench") -> None:
    switches = deployed.world.switches
    switches["lab-leaf1"].pending = True
    switches["lab-leaf1"].locked = True
    switches["lab-leaf2"].faults["open"] = ConnectionException("no answer")
    switches["lab-spine1"].drained = WHOLE
    read = run_on(deployed.nornir(), [*switches], read_status)
    assert read["lab-leaf1"].waits_for.startswith("commit")
    assert read["lab-leaf2"].error == "no answer"
    assert read["lab-spine1"].drained == WHOLE
    assert read["lab-spine2"] == SwitchStatus("lab-spine2", commit=read["lab-spine2"].commit)
    assert not read["lab-spine2"].waits_for


def test_the_document_and_the_view_say_what_is_open() -> None:
    armed = replace(QUIET, pending=True, waits_for="commit 7 of ada is armed, reverts in 42 s", remaining_s=42)
    switches = (
        SwitchStatus("leaf1", commit=armed),
        SwitchStatus("leaf2", error="no answer"),
        SwitchStatus("spine1", commit=QUIET, drained=WHOLE),
    )
    rollout = Rollout("20261121T101500Z-pod1-abc123", Path("x.jsonl"), by="ada@host", alive=True)
    status = FabricStatus("pod1", "sim", switches, (rollout,))
    document = status_json(status)
    Draft202012Validator(named_schema("status")).validate(versioned(document))
    assert document["commit"] is None, "a switch that was not read may run another commit"
    assert document["running"] == [
        {"commit": COMMIT, "digest": "a" * 64, "dirty": False, "devices": ["leaf1", "spine1"]}
    ]
    assert document["rollouts"] == [{"id": rollout.name, "state": "running"}]
    assert document["armed"] == [{"device": "leaf1", "deadline_s": 42}]
    assert document["unread"] == {"leaf2": "no answer"}
    assert document["next"] == [f"railweave rollout show {rollout.name}"], "the rollout itself undrains"
    assert shown(status) == [
        "pod1 on sim: 2 switches read, 1 not read",
        "state what",
        shown(status)[2],
        "running commit 0123456789ab: leaf1, spine1 (2)",
        f"rollout {rollout.name}: running, started by ada@host",
        "unconfirmed leaf1: commit 7 of ada is armed, reverts in 42 s",
        "drained spine1: whole switch",
        "unread leaf2: no answer",
        "",
        f"next: railweave rollout show {rollout.name}",
    ]


def test_a_quiet_fabric_names_its_commit_and_the_dry_run() -> None:
    status = FabricStatus("pod1", "sim", (SwitchStatus("leaf1", commit=QUIET),))
    assert status.commit == COMMIT
    assert status.next_steps == ("railweave plan --target sim",)


def test_an_acceptance_is_shown_with_what_has_changed_since() -> None:
    accepted = LastAcceptance("2026-11-21T10:15:00+00:00", "f" * 40, "quick", "passed", outdated=True)
    status = FabricStatus("pod1", "sim", (SwitchStatus("leaf1", commit=QUIET),), accepted=accepted)
    document = status_json(status)
    Draft202012Validator(named_schema("status")).validate(versioned(document))
    assert document["accepted"] == {
        "at": "2026-11-21T10:15:00+00:00",
        "commit": "f" * 40,
        "level": "quick",
        "verdict": "passed",
        "outdated": True,
        "deployed_since": ["leaf1"],
    }
    assert shown(status)[4:6] == [
        "acceptance passed at level quick, judged 2026-11-21T10:15:00+00:00 at commit ffffffffffff; the intent has",
        "changed since; something else runs since on leaf1",
    ]


def test_digests_that_were_recorded_say_what_runs_something_else_since() -> None:
    recorded = {"leaf1": RUNNING.digest, "leaf2": "b" * 64}
    accepted = LastAcceptance("2026-11-21T10:15:00+00:00", "f" * 40, "quick", "passed", running=recorded)
    switches = tuple(SwitchStatus(name, commit=QUIET) for name in ("leaf1", "leaf2"))
    assert FabricStatus("pod1", "sim", switches, accepted=accepted).deployed_since == ("leaf2",)


def test_what_is_damaged_comes_first() -> None:
    damaged = CommitStatus(pending=False, damage="its file is cut off")
    switches = (SwitchStatus("leaf1", commit=damaged), SwitchStatus("leaf2", drained=("10.0.0.1",)))
    assert FabricStatus("pod1", "sim", switches).next_steps == (
        "railweave recover leaf1 --target sim",
        "railweave undrain leaf2 --target sim",
        "railweave plan --target sim",
    )
