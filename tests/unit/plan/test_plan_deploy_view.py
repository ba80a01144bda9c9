"""The end of a rollout as a person and a program read it: what was done, what was not, what is next."""

import io
import json

from rich.console import Console

from railweave.plan.outcome import DeployResult, DeviceOutcome, Outcome, Progress, Result
from railweave.report.deployment import deploy_json, deploy_view, next_steps

WAVES = (("spine1",), ("leaf1", "leaf2", "leaf3"), ("leaf4",))
WHY = "leaf2: bgp is down"
TOGETHER = f"rolled back with its wave: {WHY}"
DEVICES = {
    "spine1": DeviceOutcome(Outcome.NEW),
    "leaf1": DeviceOutcome(Outcome.OLD, TOGETHER),
    "leaf2": DeviceOutcome(Outcome.OLD, "bgp is down"),
    "leaf3": DeviceOutcome(Outcome.OLD, TOGETHER, drained=True),
    "leaf4": DeviceOutcome(Outcome.NOT_ATTEMPTED),
}
PROGRESS = Progress(waves_done=1, waves=WAVES, undone=("leaf1", "leaf3"), failed=("leaf2",), drained=("leaf3",))
STOPPED = DeployResult(
    Result.STOPPED, DEVICES, WHY, journal="a/20261121T101500Z-pod1-abc123.jsonl", target="sim", progress=PROGRESS
)


def lines(result: DeployResult) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=140).print(deploy_view(result))
    return text.getvalue().splitlines()


def line_of(result: DeployResult, start: str) -> str:
    return next(" ".join(line.split()) for line in lines(result) if line.startswith(start))


def test_a_stop_says_how_far_the_rollout_came() -> None:
    assert line_of(STOPPED, "✗").startswith(f"✗ stopped after 1 of 3 waves: {WHY}")


def test_every_wave_says_what_came_of_it() -> None:
    assert line_of(STOPPED, "1 ") == "1 spine1 (1) 1 committed"
    assert line_of(STOPPED, "2 ") == "2 leaf1…3 (3) 2 rolled back with its wave, 1 not committed"
    assert line_of(STOPPED, "3 ") == "3 leaf4 (1) 1 not started"


def test_devices_with_the_same_error_share_a_line() -> None:
    assert sum("rolled back with its wave: leaf2" in line for line in lines(STOPPED)) == 1


def test_the_next_steps_are_commands() -> None:
    steps = next_steps(STOPPED)
    assert [step.partition("`:")[0].split("` ")[0].strip("`") for step in steps] == [
        "railweave undrain leaf3 --target sim",
        "railweave deploy --resume --target sim",
        "railweave rollback 20261121T101500Z-pod1-abc123 --target sim",
        "railweave plan --target sim",
    ]


def test_a_rollout_that_changed_nothing_has_nothing_to_roll_back() -> None:
    untouched = dict.fromkeys(DEVICES, DeviceOutcome(Outcome.NOT_ATTEMPTED))
    untouched["leaf9"] = DeviceOutcome(Outcome.NEW)
    result = DeployResult(Result.STOPPED, untouched, "aborted", journal="a/b.jsonl", progress=Progress(waves=WAVES))
    assert not any("rollback" in step for step in next_steps(result))


def test_a_rollout_that_went_through_needs_no_next_step() -> None:
    done = DeployResult(Result.DONE, {"leaf1": DeviceOutcome(Outcome.NEW)}, progress=Progress(1, (("leaf1",),)))
    assert next_steps(done) == []
    assert done.ok
    assert not any(line.startswith("next") for line in lines(done))


def test_a_tolerated_failure_is_no_success() -> None:
    devices = {"leaf1": DeviceOutcome(Outcome.NEW), "leaf2": DeviceOutcome(Outcome.OLD, "no")}
    result = DeployResult(Result.DONE, devices, progress=Progress(1, (("leaf1", "leaf2"),), failed=("leaf2",)))
    assert not result.ok
    assert line_of(result, "✗") == "✗ done: 1 committed, 1 not committed"


def test_only_what_the_rollout_changed_is_committed_or_rolled_back() -> None:
    devices = dict.fromkeys(("leaf1", "leaf2", "leaf3"), DeviceOutcome(Outcome.NEW))
    result = DeployResult(Result.DONE, devices, progress=Progress(1, (("leaf2",),)))
    assert line_of(result, "✓") == "✓ done: 1 committed, 2 already as intended"
    assert line_of(result, "committed") == "committed leaf2 (1)"
    assert line_of(result, "already") == "already as intended leaf1, leaf3 (2)"
    rollback = DeployResult(
        Result.DONE, devices, progress=Progress(1, (("leaf2",),)), of="20261121T101500Z-pod1-abc123"
    )
    assert line_of(rollback, "✓") == "✓ done: 1 rolled back, 2 already as before"


def test_what_was_saved_is_told() -> None:
    result = DeployResult(Result.DONE, {"leaf1": DeviceOutcome(Outcome.NEW)}, progress=Progress(saved=("leaf1",)))
    assert "saved the running configuration of leaf1" in line_of(result, "✓")


def test_the_json_says_the_same() -> None:
    told = json.loads(json.dumps(deploy_json(STOPPED)))
    assert told["result"] == "stopped"
    assert told["devices"]["spine1"] == {"outcome": "new", "error": None}
    assert told["rollout"] == "20261121T101500Z-pod1-abc123"
    assert told["waves"] == {"done": 1, "of": 3}
    assert (told["undone"], told["failed"], told["drained"]) == (["leaf1", "leaf3"], ["leaf2"], ["leaf3"])
    assert len(told["next"]) == 4
