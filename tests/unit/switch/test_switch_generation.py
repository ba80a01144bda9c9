"""The generation of the intent that a switch runs: kept with the confirmation, and checked before a change."""

from typing import Any

import pytest
from switch_cases import ROLLBACK, is_changed, new_world, transaction
from virtual_switch import World

FIRST = {"revision": "a" * 40, "digest": "1" * 64, "dirty": False}
SECOND = {"revision": "b" * 40, "digest": "2" * 64, "dirty": False}


def generation(world: World) -> dict[str, Any]:
    found: dict[str, Any] = world.call("status")["status"]["generation"]
    return {name: value for name, value in found.items() if name not in ("by", "at")}


def send(world: World, now: dict[str, Any], was: int, **changes: Any) -> dict[str, Any]:
    return world.send("apply", transaction(by="jo@laptop", generation={"was": was, "now": now}, **changes))


@pytest.fixture
def world() -> World:
    """A switch whose state says that it runs FIRST, after other deployments."""
    made = new_world()
    send(made, FIRST, 0)
    made.call("confirm")
    made.call("revert", "--commit", transaction()["id"], "--id", ROLLBACK)
    return made


def test_the_generation_is_kept_with_the_confirmation_and_not_before() -> None:
    world = new_world()
    assert send(world, FIRST, 0)["outcome"] == "applied"
    assert generation(world) == {}
    assert world.call("confirm")["status"]["generation"]["by"] == "jo@laptop"
    assert generation(world) == {**FIRST, "number": 1}
    assert world.call("read")["status"]["generation"]["number"] == 1


def test_a_commit_that_reverts_leaves_the_generation() -> None:
    world = new_world()
    send(world, FIRST, 0)
    world.advance(1000.0)
    assert (world.call("status")["status"]["status"], generation(world)) == ("reverted", {})


def test_the_rollback_of_a_commit_brings_the_earlier_generation_back_under_a_new_number(world: World) -> None:
    assert generation(world) == {"number": 2}
    assert send(world, SECOND, 2)["outcome"] == "applied"
    world.call("confirm")
    assert generation(world) == {**SECOND, "number": 3}


@pytest.mark.parametrize("was", [0, 1, 3])
def test_a_change_planned_for_another_generation_is_refused_under_the_lock(world: World, was: int) -> None:
    before = dict(world.rows)
    refused = send(world, SECOND, was)
    assert (refused["outcome"], refused["code"]) == ("refused", "moved")
    assert f"the switch is at generation 2 (by somebody), the plan saw {was}" in refused["error"]
    assert (world.rows, generation(world)) == (before, {"number": 2})


def test_a_commit_that_says_nothing_of_an_intent_leaves_the_generation(world: World) -> None:
    world.send("apply", transaction())
    world.call("confirm")
    assert generation(world) == {"number": 2}


def test_the_document_of_a_commit_tells_the_generation_before_it(world: World) -> None:
    send(world, SECOND, 2)
    world.call("confirm")
    assert world.call("read", "--rollback", transaction()["id"])["earlier"] == {"number": 2}


@pytest.mark.parametrize("odd", [[], "x", {"now": 1, "was": 0}, {"now": {}}])
def test_a_transaction_with_an_odd_generation_is_refused(odd: Any) -> None:
    answer = new_world().send("apply", transaction(generation=odd))
    assert answer["outcome"] == ("applied" if odd == [] else "refused")


def test_a_restart_at_any_step_of_a_confirmation_leaves_the_generation_of_what_boots() -> None:
    whole = new_world()
    send(whole, FIRST, 0)
    begun = whole.steps
    whole.call("confirm")
    ends = set()
    for step in range(begun + 1, whole.steps + 1):
        world = new_world()
        send(world, FIRST, 0)
        world.at_step[step] = world.reboot
        world.call("confirm")
        world.advance(60.0)
        world.call("read")
        assert ("digest" in generation(world)) == is_changed(world, transaction()), f"step {step}"
        ends.add("digest" in generation(world))
    assert ends == {True, False}


def test_a_damaged_state_gets_its_generation_from_the_kept_documents() -> None:
    world = new_world()
    send(world, FIRST, 0)
    world.call("confirm")
    world.files["/var/lib/railweave/transaction.json"] = b""
    assert world.call("recover", "--accept-running")["outcome"] in ("accepted", "healthy")
    assert generation(world) == {**FIRST, "number": 1}
