"""The program under faults at every step: no unconfirmed change stays, and nothing is called reverted that is not.

The cases are seeded (``switch_cases``); ``make faults`` runs ten thousand.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from copy import deepcopy
from functools import partial

import pytest
import switch_cases
from switch_cases import Case, _end, _watch, is_changed, is_restored, new_world, run_case, run_overtaken, transaction
from virtual_switch import STATE, Proc, World

from railweave_switch import confirming, restart, restoring, reverting
from railweave_switch import transaction as transaction_module
from railweave_switch.host import Done
from railweave_switch.steps import StepError, apply_frr

SEEDS = int(os.environ.get("RAILWEAVE_SWITCH_SEEDS", "300"))
BLOCK = 50
FEW = 50
"""How many of the seeds `make test` tries."""


def watched() -> tuple[World, Case]:
    world, case = new_world(), Case(0)
    world.on_write = partial(_watch, world, case=case)
    return world, case


def judged(world: World, case: Case) -> None:
    """Let the deadline pass and judge as after every seeded case."""
    world.advance(2000.0)
    _end(world, transaction(), case)


@pytest.mark.parametrize(
    "block", [pytest.param(one, marks=[pytest.mark.slow] if one >= FEW else []) for one in range(0, SEEDS, BLOCK)]
)
def test_seeded_faults_leave_no_unconfirmed_change(block: int) -> None:
    for seed in range(block, min(block + BLOCK, SEEDS)):
        run_case(seed)


def steps_of_a_commit() -> int:
    world, _ = watched()
    world.send("apply", transaction())
    return world.steps


@pytest.mark.parametrize(
    "block", [pytest.param(one, marks=[pytest.mark.slow] if one >= FEW else []) for one in range(0, SEEDS, BLOCK)]
)
def test_a_client_that_slept_undoes_nothing_of_the_one_that_came_after_it(block: int) -> None:
    done = Counter(run_overtaken(seed) for seed in range(block, min(block + BLOCK, SEEDS)))
    assert sum(done.values()) - done[""] > done.total() // 3, "most successors were confirmed"


def test_without_the_names_of_transactions_those_cases_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (transaction_module, reverting, confirming):
        monkeypatch.setattr(module, "refuse_unless_last", lambda state, named: None)
    with pytest.raises(switch_cases.Broken):
        list(map(run_overtaken, range(BLOCK)))


def test_killed_at_every_step_the_change_is_taken_back_by_the_guard() -> None:
    for step in range(steps_of_a_commit()):
        world, case = watched()
        world.kill_at["worker"] = step
        world.send("apply", transaction())
        judged(world, case)


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert switch_cases.boots_changed(world, transaction())
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


def armed() -> tuple[World, Case]:
    world, case = watched()
    world.send("apply", transaction())
    return world, case


def confirmed() -> tuple[World, Case]:
    world, case = armed()
    world.call("confirm")
    return world, case


CONFIRM, ROLL_BACK = ("confirm",), ("revert", "--commit", transaction()["id"], "--id", switch_cases.ROLLBACK)
ENDINGS = pytest.mark.parametrize(
    ("begin", "words"),
    [
        pytest.param(armed, CONFIRM, id="confirm"),
        pytest.param(confirmed, ROLL_BACK, id="roll back", marks=pytest.mark.slow),
    ],
)


def each_step(begin: Callable[[], tuple[World, Case]], words: tuple[str, ...]) -> Iterator[tuple[World, Case, int]]:
    """Give a world for each step of a call, before the call: copies of one that came so far."""
    begun = begin()
    world, _ = deepcopy(begun)
    first = world.steps
    world.call(*words)
    for step in range(first + 1, world.steps + 1):
        yield *deepcopy(begun), step


@ENDINGS
def test_power_lost_at_any_step_leaves_both_startup_files_old_or_both_new_and_what_runs_is_the_same(
    begin: Callable[[], tuple[World, Case]], words: tuple[str, ...]
) -> None:
    ends = set()
    for world, _, step in each_step(begin, words):
        world.at_step[step] = world.reboot
        world.call(*words)
        status = world.call("status")["status"]
        ends.add(status["status"])
        assert not status["unsaved"], f"step {step}"
        changed = status["status"] == "confirmed"
        assert is_changed(world, transaction()) if changed else is_restored(world), f"step {step}: {status}"
        later = world.send("apply", {**transaction(), "id": "later"})
        assert later.get("code") == ("moved" if changed else None), f"step {step}: {later}"
        assert switch_cases.boots_changed(world, transaction()) == changed != switch_cases.boots_before(world)
    assert ends == {"confirmed", "reverted"}


@ENDINGS
def test_killed_at_any_step_the_guard_or_the_next_call_finishes_what_was_begun(
    begin: Callable[[], tuple[World, Case]], words: tuple[str, ...]
) -> None:
    for guards in (True, False):
        for world, case, step in each_step(begin, words):
            victims = [*world.processes] if not guards else []
            worker = len(world.processes) + 2  # after the one that waits for it

            def kill(world: World = world, worker: int = worker, victims: list[Proc] = victims) -> None:
                for process in [*victims, *world.processes[worker - 1 : worker]]:
                    process.alive = False

            world.at_step[step] = kill
            world.call(*words)
            case.kinds = () if guards else ("kill both",)
            judged(world, case)


def reverted() -> tuple[World, Case]:
    world, case = armed()
    world.call("revert")
    return world, case


def by_hand(begin: Callable[[], tuple[World, Case]]) -> Callable[[], tuple[World, Case]]:
    """Return what gives that world after somebody changed a row and a line that is not saved."""

    def begun() -> tuple[World, Case]:
        world, case = begin()
        world.rows["PORT|Ethernet4"]["mtu"] = "1500"
        world.frr_line(("ip prefix-list BY-HAND seq 5 permit any",))
        return world, case

    return begun


def saves_all_or_nothing(world: World) -> bool:
    """Return whether both startup files have what was done by hand; AssertionError where one of them has it."""
    rows, lines = world.startup()
    found = {rows["PORT|Ethernet4"]["mtu"] == "1500", ("ip prefix-list BY-HAND seq 5 permit any",) in lines}
    assert len(found) == 1
    return found.pop()


SAVE = ("save", "--id", "20261122-000008-eeee", "--frr-ignored", transaction()["frr_ignored"])
BEFORE_A_SAVE = pytest.mark.parametrize("begin", [watched, confirmed, reverted])


@BEFORE_A_SAVE
def test_what_runs_is_saved_and_the_last_commit_is_what_it_was(begin: Callable[[], tuple[World, Case]]) -> None:
    world, _ = by_hand(begin)()
    before = world.call("status")["status"]
    answer = world.call(*SAVE)
    assert (answer["outcome"], answer.get("error")) == ("saved", None)
    assert saves_all_or_nothing(world)
    assert world.call("status")["status"] == before
    assert "/var/lib/railweave/save.json" not in world.files


@BEFORE_A_SAVE
def test_power_lost_at_any_step_of_a_save_leaves_both_startup_files_old_or_both_new(
    begin: Callable[[], tuple[World, Case]],
) -> None:
    ends = set()
    for world, _, step in each_step(by_hand(begin), SAVE):
        world.at_step[step] = world.reboot
        world.call(*SAVE)
        told = world.call("status")["status"]
        assert told["status"] in ("none", "confirmed", "reverted"), f"step {step}: {told}"
        assert not told["unsaved"], f"step {step}"
        ends.add(saves_all_or_nothing(world))
        assert (set(world.lines), world.rows) == (set(world.startup()[1]), world.startup()[0]), f"step {step}"
    assert ends == {True, False}


@BEFORE_A_SAVE
def test_a_save_killed_at_any_step_is_finished_by_the_next_call_or_never_began(
    begin: Callable[[], tuple[World, Case]],
) -> None:
    for world, _, step in each_step(by_hand(begin), SAVE):
        worker = len(world.processes) + 2  # after the one that waits for it

        def kill(world: World = world, worker: int = worker) -> None:
            for process in world.processes[worker - 1 : worker]:
                process.alive = False

        world.at_step[step] = kill
        world.call(*SAVE)
        world.call("status")
        saves_all_or_nothing(world)
        assert world.call(*SAVE)["outcome"] == "saved", f"step {step}"
        assert saves_all_or_nothing(world), f"step {step}"


def test_a_save_is_refused_while_a_commit_waits_and_says_why_where_it_fails() -> None:
    world, _ = armed()
    refused = world.call(*SAVE)
    assert (refused["outcome"], refused["code"]) == ("refused", "pending")
    world.call("confirm")
    world.refuse = lambda words: Done(1, "", "No space left") if list(words[:2]) == ["config", "save"] else None
    assert "it could not be saved: config save" in world.call(*SAVE)["error"]


def test_what_was_to_be_saved_before_it_was_restored_again_is_not_saved_where_the_second_time_fails() -> None:
    """bgpd ends while a rollback is saved, and boots the change: what was prepared holds it, and must not stay."""
    world, _ = confirmed()
    saves = []

    def strike(words: Sequence[str]) -> Done | None:
        if list(words[:2]) != ["config", "save"]:
            return None
        saves.append(words)
        if len(saves) == 2:
            return Done(1, "", "No space left on device")
        world.stop_daemon("bgpd", 5.0)
        return None

    world.refuse = strike
    answer = world.call(*ROLL_BACK)
    assert (answer["outcome"], len(saves)) == ("reverted", 2)
    assert world.call("status")["status"]["unsaved"]
    world.refuse = lambda words: None
    world.call("recover")
    assert is_restored(world)
    assert switch_cases.boots_before(world)


def test_a_change_that_somebody_saved_before_it_was_reverted_does_not_boot_either() -> None:
    world, case = armed()
    world.save()
    judged(world, case)
    assert switch_cases.boots_before(world)


def test_a_warm_restart_keeps_configdb_so_the_change_is_reverted() -> None:
    world, _ = armed()
    world.reboot(warm=True)
    assert world.call("status")["status"]["status"] == "expired"
    refused = world.send("apply", {**transaction(), "id": "later"})
    assert (refused["code"], "railweave-switch revert" in refused["error"]) == ("pending", True)
    assert world.call("revert")["outcome"] == "reverted"
    assert is_restored(world)


@pytest.mark.parametrize("begin", [watched, armed], ids=["apply", "revert"])
def test_a_warm_restart_at_any_step_leaves_no_row_deleted_that_was_to_be_set_again(
    begin: Callable[[], tuple[World, Case]],
) -> None:
    begun = begin()
    ends = deepcopy(begun[0])
    call_or_send(ends, begin)
    for step in range(begun[0].steps + 1, ends.steps + 1):
        world, case = deepcopy(begun)
        world.on_write = partial(_watch, world, case=case)
        world.at_step[step] = partial(world.reboot, warm=True)
        call_or_send(world, begin)
        if world.call("status")["status"]["status"] in ("expired", "failed"):
            world.call("revert")
        assert is_restored(world), f"step {step}"


def call_or_send(world: World, begin: Callable[[], tuple[World, Case]]) -> None:
    """Apply the change where it is still to be made, else revert it."""
    if begin is watched:
        world.send("apply", transaction())
    else:
        world.call("revert")


def test_nothing_of_somebody_elses_is_reverted_after_a_restart() -> None:
    """A row that was changed by hand since is not ours, though the transaction named it."""
    world = new_world()
    world.send("apply", transaction())
    world.reboot()
    world.rows["PORT|Ethernet4"]["mtu"] = "1500"
    assert world.call("status")["status"]["status"] == "reverted"
    assert world.rows["PORT|Ethernet4"]["mtu"] == "1500"


def test_after_a_restart_the_startup_configuration_runs_and_nothing_is_pending() -> None:
    world, _ = watched()
    world.send("apply", transaction())
    world.reboot()
    found = world.call("status")["status"]
    assert (found["status"], found["reason"]) == ("reverted", restart.RESTARTED)
    assert world.call("confirm")["outcome"] == "refused"
    assert is_restored(world)
    assert world.send("apply", {**transaction(), "id": "later"})["outcome"] == "applied"


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


def test_a_refused_line_is_named_once_though_every_process_of_vtysh_names_it() -> None:
    wrong = "line 2: % Unknown command[4]: nosuch line\n"
    failed = "Configuration file[/etc/frr/frr.conf] processing failure: 2\n"
    sends, waits = " sending configuration\n", "Waiting for children to finish applying config...\n"
    out = f"[147|mgmtd]{sends}[154|bgpd]{sends}{waits}"
    world = new_world()
    world.refuse = lambda _: Done(2, out, f"{wrong}[147|mgmtd] {failed}{wrong}[154|bgpd] {failed}")
    with pytest.raises(StepError) as refused:
        apply_frr(world.start("worker"), "nosuch line\n", 10.0, lenient=False)
    assert str(refused.value) == f"vtysh -f: {wrong.strip()}"
