"""Whoever was overtaken does nothing: apply, confirm, undrain and restore name the transaction that they were planned
on, and the switch compares that under its lock with its last one."""

import json
from typing import Any

import pytest
from switch_cases import ROLLBACK, is_changed, is_restored, new_world, transaction
from virtual_switch import STATE, World

FIRST = str(transaction()["id"])
SECOND = "20261122-000005-bbbb"


def applied(world: World, name: str = FIRST, **changes: Any) -> dict[str, Any]:
    asked = {**transaction(by="ann@one", message="deploy one"), "id": name, **changes}
    return world.send("apply", asked)


def only_mtu(name: str) -> dict[str, Any]:
    """Return another change, made for a switch on which ``transaction`` was confirmed or not."""
    before, after = ({"PORT": {"Ethernet4": {"mtu": mtu}}} for mtu in ("9100", "1500"))
    step = {"kind": "load", "document": after}
    back = {"steps": [{"kind": "load", "document": before}], "rows": before, "undo": before}
    return {**transaction(by="bob@two", message="deploy two"), "id": name, "before": {}, "after": after,
            "steps": [step], "rollback": back}  # fmt: skip


@pytest.fixture
def overtaken() -> World:
    """A switch on which one commit was reverted by its timer, and another session's came and was confirmed."""
    world = new_world()
    assert applied(world)["outcome"] == "applied"
    world.advance(100.0)
    assert world.call("status")["status"]["status"] == "reverted"
    assert world.send("apply", only_mtu(SECOND))["outcome"] == "applied"
    assert world.call("confirm", "--id", SECOND)["outcome"] == "confirmed"
    return world


def test_an_apply_that_was_planned_on_an_earlier_transaction_is_refused_and_names_who_came(overtaken: World) -> None:
    kept = dict(overtaken.rows)
    for last in ("", FIRST, "20261122-000004-0000"):
        refused = applied(overtaken, "20261122-000006-cccc", last=last, before={})
        assert (refused["outcome"], refused["code"]) == ("refused", "moved")
        assert f"commit {SECOND} by bob@two (deploy two) came since this was planned" in refused["error"]
        assert "plan again" in refused["error"]
    assert overtaken.rows == kept
    assert applied(overtaken, "20261122-000006-cccc", last=SECOND, before={})["outcome"] == "applied"


def test_an_apply_that_names_no_last_transaction_at_all_is_none(overtaken: World) -> None:
    refused = applied(overtaken, "20261122-000006-cccc", last=None)
    assert (refused["outcome"], refused["error"]) == ("refused", "not a transaction: last")


@pytest.mark.parametrize(
    "words",
    [
        ("confirm", "--id", FIRST),
        ("undrain", "--id", FIRST),
        ("revert", "--commit", SECOND, "--last", FIRST, "--id", ROLLBACK),
        ("revert", "--commit", FIRST, "--last", FIRST, "--id", ROLLBACK),
    ],
)
def test_whoever_was_overtaken_neither_confirms_nor_restores(overtaken: World, words: tuple[str, ...]) -> None:
    before = overtaken.files[STATE]
    refused = overtaken.call(*words)
    assert (refused["outcome"], refused["code"]) == ("refused", "moved")
    assert f"commit {SECOND} by bob@two (deploy two)" in refused["error"]
    assert overtaken.files[STATE] == before


def test_a_revert_that_came_too_late_for_its_own_is_not_called_reverted_by_another_ones() -> None:
    world = new_world()
    applied(world)
    world.call("revert")
    world.send("apply", only_mtu(SECOND))
    world.call("revert", "--id", SECOND)
    assert world.call("revert", "--id", SECOND)["outcome"] == "reverted"
    assert world.call("revert", "--id", FIRST)["code"] == "moved"


def test_somebody_on_the_switch_needs_no_names_and_the_next_apply_names_what_was_done(overtaken: World) -> None:
    assert overtaken.call("revert", "--commit", SECOND)["outcome"] == "reverted"
    last = overtaken.call("status")["status"]["id"]
    assert last not in ("", FIRST, SECOND)
    assert applied(overtaken, "20261122-000006-cccc", last=SECOND)["code"] == "moved"
    assert applied(overtaken, "20261122-000006-cccc", last=last)["outcome"] == "applied"
    assert overtaken.call("confirm")["outcome"] == "confirmed"
    assert is_changed(overtaken, transaction())


def test_after_a_recovery_the_next_apply_names_what_the_switch_says_then() -> None:
    world = new_world()
    applied(world)
    world.files[STATE] = b"{"
    assert world.call("recover")["outcome"] == "reverted"
    assert is_restored(world)
    last = world.call("status")["status"]["id"]
    assert applied(world, SECOND, last="")["code"] == "moved"
    assert applied(world, SECOND, last=last)["outcome"] == "applied"


def test_a_state_of_the_version_before_is_named_by_its_transaction_or_by_none() -> None:
    """That version wrote the same names, and one that only took over a generation wrote none."""
    world = new_world()
    state = {"id": "", "kind": "commit", "status": "confirmed", "version": 1, "generation": {"number": 4}}
    world.files[STATE] = json.dumps(state).encode()
    assert applied(world, last=FIRST)["code"] == "moved"
    assert applied(world, last="")["outcome"] == "applied"
