"""The program under faults at every step: no unconfirmed change stays, and nothing is called reverted that is not.

The cases are seeded (``switch_cases``); ``make faults`` runs ten thousand.
"""

import os
from contextlib import nullcontext

import pytest
import switch_cases
from switch_cases import Case, _end, _watch, is_changed, is_restored, new_world, run_case, transaction
from virtual_switch import STATE, World

from railweave_switch import restoring
from railweave_switch.host import Done
from railweave_switch.steps import StepError, apply_frr

SEEDS = int(os.environ.get("RAILWEAVE_SWITCH_SEEDS", "300"))
BLOCK = 50


def watched() -> tuple[World, Case]:
    world, case = new_world(), Case(0)
    world.on_write = lambda path, data: _watch(world, path, data, case)
    world.boot_rows = {key: dict(row) for key, row in world.rows.items()}  # type: ignore[attr-defined]
    return world, case


def judged(world: World, case: Case) -> None:
    """Let the deadline pass and judge as after every seeded case."""
    world.advance(2000.0)
    _end(world, transaction(), case)


@pytest.mark.parametrize("block", range(0, SEEDS, BLOCK))
def test_seeded_faults_leave_no_unconfirmed_change(block: int) -> None:
    for seed in range(block, min(block + BLOCK, SEEDS)):
        run_case(seed)


def steps_of_a_commit() -> int:
    world, _ = watched()
    world.send("apply", transaction())
    return world.steps


def test_killed_at_every_step_the_change_is_taken_back_by_the_guard() -> None:
    for step in range(steps_of_a_commit()):
        world, case = watched()
        world.kill_at["worker"] = step
        world.send("apply", transaction())
        judged(world, case)


def test_a_disk_that_is_full_from_any_write_on_leaves_no_change() -> None:
    world, _ = watched()
    world.send("apply", transaction())
    for write in range(1, world.writes + 2):
        for reserve_helps in (True, False):
            world, case = watched()
            world.full_from_write, world.reserve_helps = write, reserve_helps
            world.send("apply", transaction())
            world.advance(100.0)
            assert is_restored(world), f"write {write}"
            judged(world, case)


@pytest.mark.parametrize("damage", switch_cases.DAMAGES)
def test_a_state_file_damaged_at_any_step_is_never_called_none_and_ends_in_the_earlier_configuration(
    damage: bytes | None,
) -> None:
    for step in range(1, steps_of_a_commit() + 40, 6):
        world, case = watched()

        def strike(world: World = world) -> None:
            if STATE in world.files:
                del world.files[STATE]
                if damage is not None:
                    world.files[STATE] = damage

        world.at_step[step] = strike
        world.send("apply", transaction())
        world.advance(0.0)
        told = world.call("status")["status"]
        assert told["status"] != "none" or is_restored(world), f"step {step}"
        assert told["repair"] == "railweave-switch recover" or told["status"] != "damaged"
        judged(world, case)


def test_a_confirmed_change_stays_and_is_saved() -> None:
    world, _ = watched()
    assert world.send("apply", transaction())["outcome"] == "applied"
    assert world.call("confirm")["outcome"] == "confirmed"
    world.advance(1000.0)
    assert is_changed(world, transaction())
    assert "config save -y" in world.commands
    assert world.call("confirm")["outcome"] == "refused"


def test_a_deadline_is_kept_whatever_the_wall_clock_does() -> None:
    for jump in (-1e7, 1e7):
        world, _ = watched()
        world.send("apply", transaction(deadline_s=30.0))
        world.wall += jump
        world.advance(20.0)
        assert world.call("status")["status"]["status"] == "armed"
        world.advance(30.0)
        assert world.call("status")["status"]["status"] == "reverted"


def test_after_a_reboot_the_state_is_expired_and_a_revert_ends_it() -> None:
    world, _ = watched()
    world.send("apply", transaction())
    world.reboot()
    assert world.call("status")["status"]["status"] == "expired"
    assert world.call("confirm")["outcome"] == "refused"
    assert world.call("revert")["outcome"] == "reverted"
    assert is_restored(world)


def test_a_revert_that_leaves_something_out_says_what_and_how_to_repair_it() -> None:
    world, _ = watched()
    world.send("apply", transaction(deadline_s=5.0))
    world.redis_up_at = 1e9
    world.advance(3000.0)
    told = world.call("status")["status"]
    assert told["status"] == "failed"
    assert any("CONFIG_DB" in one for one in told["missing"])
    assert told["repair"] == "railweave-switch revert"
    world.redis_up_at = 0.0
    assert world.call("revert")["outcome"] == "reverted"
    assert is_restored(world)


def test_frr_that_lost_everything_is_restored_line_by_line() -> None:
    world, _ = watched()
    world.send("apply", transaction())
    world.lines.clear()
    assert world.call("revert")["outcome"] == "reverted"
    assert is_restored(world)


def test_defaults_that_frr_prints_in_a_new_vrf_are_neither_left_over_nor_removed() -> None:
    """SONiC's FRR prints them in the block of every VRF, and keeps the block while somebody's route is in it."""
    world = new_world()
    world.send("apply", transaction())
    vrf = [("vrf mgmt",), *(("vrf mgmt", f"{ip} nht resolve-via-default") for ip in ("ip", "ipv6"))]
    world.lines += vrf
    assert world.call("revert")["outcome"] == "reverted"
    assert set(vrf) <= set(world.lines)


def test_what_changed_since_it_was_read_is_named_and_nothing_is_done() -> None:
    world, _ = watched()
    world.rows["PORT|Ethernet4"]["mtu"] = "1500"
    answer = world.send("apply", transaction())
    assert (answer["outcome"], answer["code"]) == ("refused", "moved")
    assert "PORT|Ethernet4" in answer["error"]
    assert "PORT|Ethernet0" not in answer["error"]
    assert world.commands == ["vtysh -c show running-config"]


def test_a_second_transaction_is_refused_with_the_first_ones_name() -> None:
    world, _ = watched()
    world.send("apply", transaction(by="ann"))
    answer = world.send("apply", {**transaction(), "id": "other"})
    assert (answer["outcome"], answer["code"]) == ("refused", "pending")
    assert "20261122-000000-aaaa by ann is armed" in answer["error"]


@pytest.mark.parametrize(
    ("said", "fails"),
    [
        ("line 2: Failure to communicate[13] to bgpd, line: no neighbor 10.0.0.9 route-map DRAINED-IN in\n", False),
        ("% Specify remote-as or peer-group commands first\n", False),
        ("Exiting: failed to connect to any daemons.\n", True),
        ("bgpd is not running\n", True),
    ],
)
def test_on_the_way_back_a_line_that_frr_refuses_is_no_failure_and_a_silent_frr_is(said: str, fails: bool) -> None:
    """A drain ends after the commit that removed its neighbor: FRR refuses the lines, which are gone anyway."""
    world, _ = watched()
    world.refuse = lambda words: Done(13, "", said) if list(words[:2]) == ["vtysh", "-f"] else None
    host = world.start("worker")
    with pytest.raises(StepError) if fails else nullcontext():
        apply_frr(host, "no router bgp 65001\n", 10.0, lenient=True)
    with pytest.raises(StepError):
        apply_frr(host, "no router bgp 65001\n", 10.0, lenient=False)


def test_without_the_check_of_what_was_restored_the_cases_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring, "missing_of", lambda *arguments: [])
    with pytest.raises(switch_cases.Broken):
        list(map(run_case, range(200)))
