"""What keeps a rollout from being carried on or taken back, in the words that a person reads."""

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.fabric.model import Fabric
from railweave.plan.model import DevicePlan, DeviceState, Plan
from railweave.plan.outcome import ConfigState
from railweave.plan.resumption import (
    came_after,
    changes_sha256,
    check_resume,
    differing,
    found_done,
    in_journaled_order,
    left_of,
    nothing_to_resume,
    still_running,
)
from railweave.plan.rollback_checks import (
    DeviceReading,
    changed_nothing,
    config_state,
    nothing_to_roll_back,
    rollback_refusals,
)
from railweave.plan.rollout import DeviceRecord, Rollout, RolloutKind, RolloutMetadata
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op
from railweave.sonic.delta.snapshot import Snapshot
from railweave.sonic.document import RunningConfig
from railweave.sonic.rows import DeviceConfig

NAME = "20261121T101500Z-pod1-abcdef"
NEWER = "20261122T101500Z-pod1-123456"
MTU = Change(Op.UPDATE, "PORT", "Ethernet0", "mtu", "9100", "9000", Disruption.NONE, Method.WRITE, "mtu")
RECORD = DeviceRecord(
    1, "before", changes_sha256([MTU]), after_sha256="after", step="outcome", outcome="new", commit_ids=("c1",)
)
ROLLOUT = Rollout(
    NAME,
    Path(f".railweave/journal/{NAME}.jsonl"),
    fabric="pod1",
    target="production",
    metadata=RolloutMetadata(intent="intent/pod1.yml"),
    intent_sha256="a" * 64,
    by="ada@deploy1",
    waves=(("spine1",), ("leaf1", "leaf2")),
    devices={"leaf1": RECORD},
)


def said(found: tuple[object, ...]) -> list[tuple[str, str, str]]:
    return [(one.code, one.message, one.fix) for one in found]  # type: ignore[attr-defined]


def plan(*changes: Change, device: str = "leaf1", unchanged: tuple[str, ...] = ()) -> Plan:
    devices = {name: DevicePlan(DeviceState.UNCHANGED) for name in unchanged}
    if changes:
        devices[device] = DevicePlan(DeviceState.CHANGED)
    deltas = {device: Delta(changes)} if changes else {}
    return Plan("pod1", "production", "a" * 64, devices, (tuple(deltas),)).with_deltas(deltas)


def test_an_unfinished_rollout_of_the_same_intent_may_be_carried_on() -> None:
    for rollout in (ROLLOUT, replace(ROLLOUT, stopped=True, stopped_by="leaf1: no")):
        assert check_resume(rollout, "pod1", "production", "a" * 64) == ()


@pytest.mark.parametrize(
    ("rollout", "at_hand", "expected"),
    [
        (
            replace(ROLLOUT, finished=True, result="done"),
            ("pod1", "production", "a" * 64),
            ("RW532", f"nothing to resume: rollout {NAME} is done", "`railweave deploy` makes a new plan"),
        ),
        (
            replace(ROLLOUT, alive=True),
            ("pod1", "production", "a" * 64),
            (
                "RW530",
                f"rollout {NAME} is running: ada@deploy1 runs it",
                f"wait for it to end, or abort it: `railweave rollout abort {NAME}`",
            ),
        ),
        (
            replace(ROLLOUT, devices={}),
            ("pod1", "production", "a" * 64),
            (
                "RW532",
                f"nothing to resume: the journal of rollout {NAME} does not say what was planned",
                "`railweave deploy` makes a new plan",
            ),
        ),
        (
            replace(ROLLOUT, stopped=True, devices={"leaf1": DeviceRecord(1, "before")}),
            ("pod1", "production", "a" * 64),
            (
                "RW532",
                f"nothing to resume: rollout {NAME} stopped before any device was started",
                "`railweave deploy` makes a new plan",
            ),
        ),
        (
            ROLLOUT,
            ("pod1", "sim", "a" * 64),
            (
                "RW533",
                f"rollout {NAME} is of pod1 on production, not of pod1 on sim",
                f"`railweave deploy --resume {NAME} --intent intent/pod1.yml --target production`",
            ),
        ),
        (
            ROLLOUT,
            ("pod1", "production", "b" * 64),
            (
                "RW534",
                f"the intent has changed since rollout {NAME} (now bbbbbbbb, then aaaaaaaa)",
                "check out the rollout's revision of intent/pod1.yml and run this again, or deploy the intent as it is "
                "now: `railweave deploy` makes a new plan",
            ),
        ),
    ],
    ids=["finished", "alive", "nothing planned", "nothing begun", "another target", "another intent"],
)
def test_what_cannot_be_carried_on_is_refused_with_the_way_out(
    rollout: Rollout, at_hand: tuple[str, str, str], expected: tuple[str, str, str]
) -> None:
    assert said(check_resume(rollout, *at_hand)) == [expected]


def test_nothing_unfinished_and_something_newer_are_said_so() -> None:
    assert nothing_to_resume("pod1", "sim").message == (
        "nothing to resume: no rollout of pod1 on sim was left unfinished"
    )
    newer = replace(ROLLOUT, name=NEWER, metadata=RolloutMetadata(RolloutKind.ROLLBACK), finished=True, result="done")
    assert came_after(ROLLOUT, newer).message == f"rollout {NEWER} (rollback, done) came after {NAME}"
    assert still_running(replace(ROLLOUT, by="")).message == f"rollout {NAME} is running: another process runs it"


def test_what_is_left_must_be_what_was_planned() -> None:
    assert differing(ROLLOUT, plan(MTU)) == ()
    assert differing(ROLLOUT, plan(replace(MTU, reason="another word", disruption=Disruption.FLAP))) == ()
    assert differing(ROLLOUT, plan(unchanged=("leaf1",))) == ()
    for other in (plan(replace(MTU, after="8000")), plan(MTU, device="leaf9"), plan(replace(MTU, method=Method.PATCH))):
        (found,) = differing(ROLLOUT, other)
        assert (found.code, found.devices) == ("RW535", tuple(other.deltas))
        assert found.message == (
            f"{next(iter(other.deltas))}: the remaining changes differ from what rollout {NAME} planned; "
            "the configuration or the version of railweave has changed since"
        )


def test_what_is_left_keeps_the_order_of_the_rollout(lab: Fabric) -> None:
    rollout = replace(ROLLOUT, waves=(("lab-spine1",), ("lab-leaf1", "lab-leaf2")))
    left = replace(
        plan(),
        devices=dict.fromkeys(("lab-leaf2", "lab-spine1"), DevicePlan(DeviceState.CHANGED)),
    ).with_deltas(dict.fromkeys(("lab-leaf2", "lab-spine1"), Delta((MTU,))))
    assert in_journaled_order(lab, rollout, left).waves == (("lab-spine1",), ("lab-leaf2",))
    assert left_of((("a",), ("b", "c")), ("c",)) == (("c",),)


def test_a_device_cut_off_in_the_middle_and_found_unchanged_is_done() -> None:
    rollout = replace(
        ROLLOUT,
        devices={
            "leaf1": replace(RECORD, outcome=""),
            "leaf2": RECORD,
            "leaf3": replace(RECORD, outcome=""),
            "leaf4": DeviceRecord(),
        },
    )
    states = dict.fromkeys(rollout.devices, DeviceState.UNCHANGED) | {"leaf3": DeviceState.CHANGED}
    assert found_done(rollout, states) == ("leaf1",)


RUNNING = RunningConfig({}, "frr version 10.3\n")
SNAPSHOT = Snapshot({}, RUNNING.frr_document, DeviceConfig("leaf1", (), ""))


def seen(sha256: str, *, committed: bool, snapshot: Snapshot | None = SNAPSHOT, gone: str = "") -> DeviceReading:
    return DeviceReading(RUNNING, sha256, commit_id="c1" if committed else "", snapshot=snapshot, gone=gone)


@pytest.mark.parametrize(
    ("record", "reading", "expected"),
    [
        (RECORD, seen("before", committed=True), ConfigState.BEFORE),
        (RECORD, seen("after", committed=False), ConfigState.AFTER),
        (RECORD, seen("else", committed=True), ConfigState.PARTIAL),
        (RECORD, replace(seen("after", committed=True), pending=True), ConfigState.PARTIAL),
        (RECORD, replace(seen("after", committed=True), running=None), ConfigState.PARTIAL),
        (replace(RECORD, after_sha256=""), seen("after", committed=True), ConfigState.AFTER),
        (replace(RECORD, after_sha256=""), seen("after", committed=False), ConfigState.PARTIAL),
    ],
)
def test_the_device_tells_what_it_holds(record: DeviceRecord, reading: DeviceReading, expected: ConfigState) -> None:
    assert config_state(record, reading) is expected


@pytest.mark.parametrize(
    ("reading", "newer", "expected"),
    [
        (seen("after", committed=True), (), []),
        (seen("before", committed=False), (), []),
        (replace(seen("else", committed=True), pending=True), (), []),
        (DeviceReading(error="no route to host"), (), []),
        (
            seen("else", committed=True),
            (),
            [
                (
                    "RW537",
                    f"leaf1: changed since rollout {NAME}",
                    "deploy the earlier revision of the intent: `railweave deploy` plans what that takes",
                )
            ],
        ),
        (
            seen("else", committed=True),
            (replace(ROLLOUT, name=NEWER),),
            [
                (
                    "RW535",
                    f"leaf1: changed by a newer rollout, {NEWER}",
                    f"roll that back first: `railweave rollback {NEWER}`",
                )
            ],
        ),
        (
            seen("after", committed=True, snapshot=None, gone="the file is gone"),
            (),
            [
                (
                    "RW539",
                    "leaf1: its rollback document is gone: the file is gone",
                    "deploy the earlier revision of the intent: `railweave deploy` plans what that takes",
                )
            ],
        ),
        (
            seen("after", committed=True, snapshot=replace(SNAPSHOT, sha256="another")),
            (),
            [
                (
                    "RW539",
                    f"leaf1: its rollback document does not restore what it ran before rollout {NAME}",
                    "deploy the earlier revision of the intent: `railweave deploy` plans what that takes",
                )
            ],
        ),
    ],
    ids=["new", "old", "pending", "unreadable", "drifted", "newer rollout", "file gone", "leads elsewhere"],
)
def test_what_cannot_go_back_is_refused_by_name(
    reading: DeviceReading, newer: tuple[Rollout, ...], expected: list[tuple[str, str, str]]
) -> None:
    assert said(rollback_refusals(ROLLOUT, {"leaf1": reading}, newer)) == expected


def test_devices_with_the_same_fault_are_told_together() -> None:
    names = [f"leaf{number}" for number in range(1, 12)]
    rollout = replace(ROLLOUT, devices=dict.fromkeys(names, RECORD))
    (found,) = rollback_refusals(rollout, dict.fromkeys(names, seen("else", committed=True)), ())
    assert found.message == f"{', '.join(names[:8])} and 3 more: changed since rollout {NAME}"
    assert found.devices == tuple(names)


def test_nothing_to_roll_back_is_said_with_where_to_look() -> None:
    assert nothing_to_roll_back("pod1", "sim").fix == (
        "name a rollout of `railweave rollout list`; without its journal: `railweave rollback --last`"
    )
    assert changed_nothing(ROLLOUT).message == f"nothing to roll back: rollout {NAME} left no device changed"
