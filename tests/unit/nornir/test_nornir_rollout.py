"""Rollouts of a fabric in memory: waves kept or undone whole, drains, soaks, and what stops them."""

import _thread
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from by_check import sampled
from napalm.base.exceptions import (
    CommitError,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectTimeoutError,
    LockError,
)

from nornir_railweave.device.restore import apply_delta
from nornir_railweave.events import Step
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.rollouts import rollouts
from nornir_railweave.target.rollout import Floor, Unavailable
from nornir_railweave.tasks import apply_change
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.expectation import expect
from railweave.plan.policy import Share
from railweave.switch_driver import AppliedChange

if TYPE_CHECKING:
    from tests.unit.nornir.conftest import Bench, Switch


WIDE = (("count: 4", "count: 8"), ("count: 2, downlink", "count: 4, downlink"))
MTU = ("workload:", "mtu: {fabric: 9216, hosts: 9000}\nworkload:")
AAA = ("workload:", "overrides: {spine: {AAA: {authentication: {login: local}}}}\nworkload:")
TIMERS = ("workload:", "bgp: {keepalive: 2, hold: 8}\nworkload:")
SPINES, LEAVES = ("lab-spine1", "lab-spine2"), ("lab-leaf1", "lab-leaf2", "lab-leaf3", "lab-leaf4")
TOGETHER = LEAVES[1:]
"""The leaves of the last wave: all but the canary."""


@pytest.fixture
def wide(bench: "Bench", redesign: Callable[..., Fabric], settle: Callable[["Bench"], "Bench"]) -> "Bench":
    """A deployed lab of four leaves whose MTU has changed since, which disturbs nothing."""
    bench.world.grow(redesign(*WIDE))
    settle(bench)
    bench.world.grow(redesign(*WIDE, MTU))
    return bench


@pytest.fixture
def timed(deployed: "Bench", redesign: Callable[..., Fabric]) -> "Bench":
    """A deployed lab whose BGP timers have changed since, which resets sessions: spines are drained for it."""
    deployed.world.grow(redesign(TIMERS))
    return deployed


class Asked:
    """A person who asks for one thing after the other, then for nothing more."""

    def __init__(self, *words: str) -> None:
        self._words = list(words)

    def asked(self) -> str:
        return self._words.pop(0) if self._words else ""


def switch(bench: "Bench", name: str) -> "Switch":
    return bench.world.switches[name]


def set_rollout(bench: "Bench", **settings: Any) -> None:
    bench.rollout = replace(bench.rollout, **settings)


def breaks_bgp(one: "Switch", step: str = "committed") -> None:
    one.faults[step] = lambda: one.faults.update({"bgp-down": True})


def steps(bench: "Bench", name: str) -> list[str]:
    return [event.step.value for event in bench.events if event.device == name]


def texts(bench: "Bench", step: Step) -> list[str]:
    return [event.text for event in bench.events if event.step is step]


def is_old(bench: "Bench", name: str) -> bool:
    return bench.world.row(name, "PORT", "Ethernet0")["mtu"] == "9100" and not switch(bench, name).pending


def is_new(bench: "Bench", name: str) -> bool:
    return bench.world.row(name, "PORT", "Ethernet0")["mtu"] == "9216" and not switch(bench, name).pending


def drain_by_hand(bench: "Bench", name: str, line: str = "bgp graceful-shutdown") -> None:
    """Drain a switch as its operator would: the line stands in what FRR runs."""
    one = switch(bench, name)
    assert one.running.frr is not None
    lines = one.running.frr.splitlines()
    at = next(index for index, text in enumerate(lines) if text.startswith("router bgp"))
    one.running = type(one.running)(one.running.config_db, "\n".join([*lines[: at + 1], f" {line}", *lines[at + 1 :]]))
    one.drained = ("*",)


# Waves


def test_a_failed_gate_takes_the_whole_wave_back_and_stops(wide: "Bench") -> None:
    breaks_bgp(switch(wide, "lab-leaf3"))
    result = wide.deploy()
    assert result.result == "stopped"
    assert wide.outcomes(result) == dict.fromkeys((*SPINES, "lab-leaf1"), "new") | dict.fromkeys(TOGETHER, "old")
    assert all(is_old(wide, name) for name in TOGETHER)
    assert all(is_new(wide, name) for name in (*SPINES, "lab-leaf1"))
    assert result.progress.failed == ("lab-leaf3",)
    assert result.progress.undone == ("lab-leaf2", "lab-leaf4")
    assert (result.progress.waves_done, len(result.progress.waves)) == (3, 4)
    assert "rolled back with its wave: lab-leaf3: verification failed" in result.devices["lab-leaf2"].error
    assert "bgp" in result.devices["lab-leaf3"].error


def test_no_device_of_a_wave_is_kept_before_all_of_it_is_verified(wide: "Bench") -> None:
    wide.deploy()
    wave = [event for event in wide.events if event.device in TOGETHER]
    first_kept = min(at for at, event in enumerate(wave) if event.step is Step.CONFIRMED)
    assert {event.device for event in wave[:first_kept] if event.step is Step.VERIFIED} == set(TOGETHER)


def test_a_wave_that_was_taken_back_is_not_saved(wide: "Bench") -> None:
    breaks_bgp(switch(wide, "lab-leaf3"))
    wide.deploy()
    assert switch(wide, "lab-leaf2").saved == switch(wide, "lab-leaf2").running
    assert "confirm" not in switch(wide, "lab-leaf2").calls


def test_a_tolerated_failure_is_taken_back_alone_and_the_rollout_goes_on(wide: "Bench") -> None:
    set_rollout(wide, max_failures=2)
    breaks_bgp(switch(wide, "lab-spine2"))
    result = wide.deploy()
    assert result.result == "done"
    assert not result.ok
    assert result.progress.failed == ("lab-spine2",)
    assert is_old(wide, "lab-spine2")
    assert all(is_new(wide, name) for name in ("lab-spine1", *LEAVES))


def test_a_tolerated_failure_leaves_the_rest_of_its_wave_new(wide: "Bench") -> None:
    set_rollout(wide, max_failures=2)
    breaks_bgp(switch(wide, "lab-leaf3"))
    result = wide.deploy()
    assert result.result == "done"
    assert is_old(wide, "lab-leaf3")
    assert is_new(wide, "lab-leaf2")
    assert is_new(wide, "lab-leaf4")


def test_failures_count_over_the_whole_rollout(wide: "Bench") -> None:
    set_rollout(wide, max_failures=2)
    breaks_bgp(switch(wide, "lab-spine2"))
    breaks_bgp(switch(wide, "lab-leaf3"))
    result = wide.deploy()
    assert result.result == "stopped"
    assert "2 devices failed, max_failures is 2" in result.stopped_by
    assert all(is_old(wide, name) for name in TOGETHER)


def test_a_device_lost_in_a_wave_takes_the_others_back(wide: "Bench", unreachable: ConnectTimeoutError) -> None:
    lost = switch(wide, "lab-leaf4")

    def vanish() -> None:
        lost.faults["open"] = unreachable
        raise ConnectionClosedException("gone")

    lost.faults["committed"] = vanish
    result = wide.deploy()
    assert wide.outcomes(result)["lab-leaf4"] == "unreachable"
    assert is_old(wide, "lab-leaf2")
    assert is_old(wide, "lab-leaf3")
    assert "reverts a commit" in result.stopped_by


def test_a_device_that_cannot_be_taken_back_with_its_wave_is_told(
    wide: "Bench", unreachable: ConnectTimeoutError
) -> None:
    breaks_bgp(switch(wide, "lab-leaf3"))
    stuck = switch(wide, "lab-leaf2")

    def vanish() -> None:
        stuck.faults["open"] = unreachable
        stuck.step("close-up")

    stuck.faults["rollback"] = vanish
    stuck.faults["close-up"] = ConnectionClosedException("gone")
    result = wide.deploy()
    assert wide.outcomes(result)["lab-leaf2"] == "unreachable"
    assert set(result.progress.failed) == {"lab-leaf2", "lab-leaf3"}
    assert result.progress.undone == ("lab-leaf4",)


def test_a_wave_whose_timers_are_nearly_over_is_taken_back_and_not_raced(wide: "Bench") -> None:
    set_rollout(wide, revert_in_s=2)
    result = wide.deploy()
    assert result.result == "stopped"
    assert "revert timer of 2 s was nearly over" in result.stopped_by
    assert "raise `revert_in`" in result.stopped_by
    assert wide.outcomes(result)["lab-spine1"] == "old"
    assert is_old(wide, "lab-spine1")
    assert "confirm" not in switch(wide, "lab-spine1").calls


def test_an_interrupt_while_a_wave_is_kept_leaves_no_device_of_it_pending(wide: "Bench") -> None:
    set_rollout(wide, workers=1)
    again = threading.Event()

    def interrupt() -> None:
        if not again.is_set():
            again.set()
            _thread.interrupt_main()

    switch(wide, "lab-leaf2").faults["confirm"] = interrupt
    result = wide.deploy()
    assert again.is_set()
    assert result.result == "done"
    assert all(is_new(wide, name) for name in LEAVES)


def test_an_interrupt_while_a_wave_is_brought_keeps_what_is_done_and_starts_no_more(wide: "Bench") -> None:
    set_rollout(wide, workers=1)
    switch(wide, "lab-leaf3").faults["commit"] = _thread.interrupt_main
    result = wide.deploy()
    assert result.stopped_by == "interrupted; the current devices were finished"
    assert wide.outcomes(result)["lab-leaf4"] == "not-attempted"
    assert is_new(wide, "lab-leaf2")
    assert is_new(wide, "lab-leaf3")
    assert result.progress.waves_done == 3


def test_a_rollout_that_nobody_could_resume_does_not_go_on(wide: "Bench") -> None:
    journal = Journal(wide.folder / "journal", "lab", "fake")
    switch(wide, "lab-spine1").faults["confirmed"] = lambda: setattr(journal, "fault", "the disk is full")
    result = wide.deploy(journal=journal)
    assert result.stopped_by == "the disk is full; committed: lab-spine1"
    assert wide.outcomes(result)["lab-spine1"] == "new"
    assert wide.outcomes(result)["lab-spine2"] == "not-attempted"


# Health and losses


def test_a_device_that_gets_fewer_prefixes_afterwards_is_taken_back(wide: "Bench") -> None:
    one = switch(wide, "lab-spine1")
    one.faults["committed"] = lambda: setattr(one, "prefixes", 9)
    result = wide.deploy()
    assert wide.outcomes(result)["lab-spine1"] == "old"
    assert "expected at least 10 prefixes, is 9 prefixes" in result.devices["lab-spine1"].error


def test_prefixes_of_devices_that_are_at_work_beside_it_may_be_missing(wide: "Bench") -> None:
    one = switch(wide, "lab-leaf2")
    one.faults["committed"] = lambda: setattr(one, "prefixes", 6)
    assert wide.deploy().result == "done"


WITHHELD = (
    "lab-spine1 announces 1 prefix to lab-leaf1, expected at least 31: routes of lab-spine1 are not installed"
    " (`vtysh -c 'show bgp ipv4 unicast PREFIX json'` says fibPending), or TSA isolates it; if it does not, restart bgp"
    " there (`systemctl restart bgp`)"
)


def test_a_device_that_withholds_the_routes_of_others_afterwards_is_taken_back(wide: "Bench") -> None:
    one = switch(wide, "lab-spine1")
    one.faults["committed"] = lambda: setattr(one, "announced", 1)
    result = wide.deploy()
    assert wide.outcomes(result)["lab-spine1"] == "old"
    assert "expected at least 31 prefixes announced, is 1 announced" in result.devices["lab-spine1"].error


def test_a_device_that_withheld_routes_before_is_not_blamed_and_the_result_says_it(wide: "Bench") -> None:
    switch(wide, "lab-spine1").announced = 1
    result = wide.deploy()
    assert wide.outcomes(result)["lab-spine1"] == "new"
    assert result.verification is not None
    assert WITHHELD in result.verification.warnings


def looked_until(one: Any, looks: int, attribute: str, first: int, then: int) -> list[int]:
    """Let an attribute have its second value once BGP was looked at so often after the commit; return the looks."""
    seen: list[int] = []

    def look() -> None:
        if one.calls.count("commit"):
            seen.append(1)
            setattr(one, attribute, first if len(seen) < looks else then)

    one.faults["bgp"] = look
    return seen


def test_the_gate_waits_until_a_new_switch_announces_what_it_accepts(bench: "Bench") -> None:
    set_rollout(bench, verify_timeout_s=60, verify_interval_s=2)
    seen = looked_until(switch(bench, "lab-spine1"), 5, "announced", 1, 31)
    assert bench.deploy().result == "done"
    assert len(seen) >= 5


def test_what_neighbors_do_not_announce_is_waited_for_but_stops_nothing(bench: "Bench") -> None:
    set_rollout(bench, verify_timeout_s=600, verify_interval_s=2)
    seen = looked_until(switch(bench, "lab-spine1"), 10**6, "prefixes", 0, 10)
    begun = bench.clock.monotonic()
    result = bench.deploy()
    assert result.result == "done"
    assert result.verification is not None
    assert "lab-spine1 accepts 0 prefixes from lab-leaf1, expected at least 2" in "".join(result.verification.warnings)
    assert len(seen) > 10
    assert bench.clock.monotonic() - begun < 120


def test_a_device_that_loses_packets_afterwards_is_taken_back(wide: "Bench") -> None:
    one = switch(wide, "lab-spine1")
    one.faults["committed"] = lambda: setattr(one, "losing", 50)
    result = wide.deploy()
    assert wide.outcomes(result)["lab-spine1"] == "old"
    assert "errors Ethernet" in result.devices["lab-spine1"].error


def test_a_device_that_lost_packets_before_is_not_blamed_for_it(wide: "Bench") -> None:
    set_rollout(wide, verify_timeout_s=2)
    switch(wide, "lab-spine1").losing = 50
    assert wide.outcomes(wide.deploy())["lab-spine1"] == "new"


# Soak


def test_a_fault_in_the_soak_takes_the_kept_wave_back(wide: "Bench") -> None:
    set_rollout(wide, soak_s=0.1)
    breaks_bgp(switch(wide, "lab-leaf3"), "confirmed")
    result = wide.deploy()
    assert result.result == "stopped"
    assert "in the soak of its wave" in result.stopped_by
    assert all(is_old(wide, name) for name in TOGETHER)
    assert all(switch(wide, name).saved == switch(wide, name).running for name in TOGETHER)
    assert is_new(wide, "lab-leaf1")
    assert result.progress.undone == TOGETHER


@pytest.mark.parametrize("from_step", sampled(["soaking", "soaked", "wave-undone", "rolling-back"], every=2))
def test_a_journal_that_fails_in_a_soak_calls_no_switch_new_that_went_back(
    wide: "Bench", monkeypatch: pytest.MonkeyPatch, from_step: str
) -> None:
    set_rollout(wide, soak_s=0.1)
    breaks_bgp(switch(wide, "lab-leaf3"), "confirmed")
    append, full = Journal._append, False

    def appended(journal: Journal, data: bytes) -> None:
        nonlocal full
        line = json.loads(data)
        full = full or (line["step"] == from_step and "lab-leaf3" in (line["device"], *line.get("devices", ())))
        if full:
            raise OSError(28, "No space left on device")
        append(journal, data)

    monkeypatch.setattr(Journal, "_append", appended)
    result = wide.deploy()
    rollout = next(rollouts(wide.folder / "journal"))
    assert result.result == "stopped"
    for name in TOGETHER:
        told = rollout.devices[name].outcome
        assert told != "new" if is_old(wide, name) else told in ("new", ""), (name, told)
    assert [is_old(wide, name) for name in TOGETHER] == [from_step != "soaking"] * 3
    assert rollout.devices["lab-leaf1"].outcome == "new"


def test_losses_in_the_soak_take_the_wave_back(wide: "Bench") -> None:
    set_rollout(wide, soak_s=0.1)
    one = switch(wide, "lab-spine1")
    one.faults["confirmed"] = lambda: setattr(one, "losing", 1000)
    result = wide.deploy()
    assert "errors Ethernet" in result.stopped_by
    assert is_old(wide, "lab-spine1")


def test_what_is_seen_once_in_a_soak_is_no_fault(wide: "Bench") -> None:
    set_rollout(wide, soak_s=0.1)
    one = switch(wide, "lab-spine1")
    one.faults["confirmed"] = lambda: one.faults.update(bgp=[ConnectionClosedException("gone")])
    result = wide.deploy()
    assert result.result == "done"
    assert result.ok
    assert len(texts(wide, Step.SOAKED)) == 4


def test_a_soak_that_fails_after_somebody_elses_commit_leaves_that_and_names_it(wide: "Bench") -> None:
    set_rollout(wide, soak_s=0.1)
    one = switch(wide, "lab-spine1")

    def somebody_commits() -> None:
        one.commit_id, one.message = "theirs", "another rollout"
        one.faults["bgp-down"] = True

    one.faults["confirmed"] = somebody_commits
    result = wide.deploy()
    assert wide.outcomes(result)["lab-spine1"] == "new"
    error = result.devices["lab-spine1"].error
    assert "somebody else's commit, theirs by another session (another rollout), is on it" in error
    assert not is_old(wide, "lab-spine1")
    assert "rollback" not in one.calls
    assert one.calls.count("commit") == 1


def test_every_session_is_closed_after_soaks_and_waves(wide: "Bench") -> None:
    set_rollout(wide, soak_s=0.05)
    breaks_bgp(switch(wide, "lab-leaf3"))
    wide.deploy()
    for one in wide.world.switches.values():
        assert one.calls.count("open") == one.calls.count("close")


def test_what_a_device_does_not_hold_after_its_commit_is_named(wide: "Bench") -> None:
    one = switch(wide, "lab-spine1")

    def another() -> None:
        tables = dict(one.running.config_db)
        tables["PORT"] = {**tables["PORT"], "Ethernet0": {**tables["PORT"]["Ethernet0"], "mtu": "1500"}}
        one.running = type(one.running)(tables, one.running.frr)

    one.faults["committed"] = [another]
    result = wide.deploy()
    told = "the device does not hold what was committed: PORT|Ethernet0 mtu is 1500, not 9216"
    assert result.devices["lab-spine1"].error == told


def test_a_change_of_who_can_log_in_is_kept_only_where_a_second_login_succeeds(
    deployed: "Bench", redesign: Callable[..., Fabric]
) -> None:
    deployed.world.grow(redesign(AAA))
    deployed.rollout = replace(deployed.rollout, max_failures=2)
    switch(deployed, "lab-spine2").faults["log_in_again"] = ConnectAuthError("lab-spine2: Permission denied")
    result = deployed.deploy(allow_lockout=True)
    assert deployed.outcomes(result)["lab-spine1"] == "new"
    assert result.devices["lab-spine2"].error == "a second login failed: lab-spine2: Permission denied"
    assert deployed.outcomes(result)["lab-spine2"] == "old"
    assert "AAA" not in switch(deployed, "lab-spine2").running.config_db


def test_no_second_login_where_nothing_decides_who_can_log_in(wide: "Bench") -> None:
    wide.deploy()
    assert "log_in_again" not in switch(wide, "lab-spine1").calls


def test_the_switchs_own_error_comes_before_what_follows_from_it(
    wide: "Bench", monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks_bgp(switch(wide, "lab-spine1"))

    def complaining(*arguments: Any, **options: Any) -> AppliedChange:
        return replace(apply_delta(*arguments, **options), complaint="config reload: KeyError: 'profile'")

    monkeypatch.setattr(apply_change, "apply_delta", complaining)
    result = wide.deploy()
    error = result.devices["lab-spine1"].error
    assert error.startswith("config reload: KeyError: 'profile'; verification failed")
    assert "config reload: KeyError: 'profile'" in texts(wide, Step.APPLIED)


def test_all_that_a_device_printed_of_a_fault_is_for_the_journal(wide: "Bench") -> None:
    fault = CommitError("config load: KeyError: 'x'")
    fault.add_note("a long output")
    switch(wide, "lab-spine1").faults["commit"] = [fault]
    wide.deploy()
    lost = [event for event in wide.events if event.step is Step.LOST and event.device == "lab-spine1"]
    assert lost[0].text == "config load: KeyError: 'x'"
    assert lost[0].details == {"said": "a long output"}


def test_an_earlier_commit_is_not_taken_back_for_one_that_never_was(wide: "Bench") -> None:
    one = switch(wide, "lab-spine1")
    one.commit_id, one.before = "earlier", type(one.running)({}, "")

    def half() -> None:
        tables = dict(one.running.config_db)
        tables["PORT"] = {**tables["PORT"], "Ethernet0": {**tables["PORT"]["Ethernet0"], "mtu": "1500"}}
        one.running = type(one.running)(tables, one.running.frr)
        raise CommitError("refused half way")

    one.faults["commit"] = [half]
    result = wide.deploy()
    assert "rollback" not in one.calls
    assert wide.outcomes(result)["lab-spine1"] == "old"
    assert is_old(wide, "lab-spine1")


def test_the_name_of_a_commit_is_told_although_the_answer_to_it_was_lost(wide: "Bench") -> None:
    switch(wide, "lab-spine1").faults["committed"] = [ConnectionClosedException("gone")]
    result = wide.deploy()
    assert result.ok
    told = [event for event in wide.events if event.device == "lab-spine1" and event.step is Step.CONFIRMED]
    assert [event.details["commit_id"] for event in told] == [switch(wide, "lab-spine1").commit_id]


def test_another_commit_that_waits_is_not_confirmed_for_ours(wide: "Bench") -> None:
    one = switch(wide, "lab-spine1")
    breaks = iter([1])

    def replaced() -> None:
        if next(breaks, 0):
            one.commit_id = "theirs"

    one.faults["bgp"] = lambda: replaced() if "committed" in one.calls else None
    result = wide.deploy()
    assert "another commit, theirs, waits" in result.devices["lab-spine1"].error
    assert not {"confirm", "rollback"} & set(one.calls)


def test_a_switch_that_restarted_while_it_was_verified_is_not_taken_for_new(wide: "Bench") -> None:
    one = switch(wide, "lab-spine1")

    def restart() -> None:
        if "committed" in one.calls:
            one.running = one.saved

    one.faults["bgp"] = restart
    result = wide.deploy()
    assert result.devices["lab-spine1"].outcome == "old"
    assert "no longer runs its new configuration" in result.devices["lab-spine1"].error
    assert one.running == one.saved
    assert not one.pending


# Pause, abort, floor


def test_a_paused_rollout_waits_and_goes_on(wide: "Bench") -> None:
    result = wide.deploy(control=Asked("", "pause", "pause", "pause"))
    assert result.result == "done"
    assert texts(wide, Step.PAUSED) == ["paused after wave 1 of 4"]
    assert len(texts(wide, Step.CONTINUED)) == 1


def test_an_aborted_rollout_stops_after_the_wave_at_work(wide: "Bench") -> None:
    result = wide.deploy(control=Asked("", "", "abort"))
    assert result.result == "stopped"
    assert result.stopped_by == "aborted after wave 2 of 4"
    assert wide.outcomes(result) == dict.fromkeys(SPINES, "new") | dict.fromkeys(LEAVES, "not-attempted")


def test_a_paused_rollout_can_be_aborted(wide: "Bench") -> None:
    result = wide.deploy(control=Asked("pause", "pause", "abort"))
    assert result.stopped_by == "aborted after wave 0 of 4"
    assert set(wide.outcomes(result).values()) == {"not-attempted"}


def test_an_abort_in_a_soak_keeps_the_wave_and_stops(wide: "Bench") -> None:
    set_rollout(wide, soak_s=5)
    result = wide.deploy(control=Asked("", "abort", "abort"))
    assert result.stopped_by == "aborted after wave 1 of 4"
    assert is_new(wide, "lab-spine1")


def test_the_file_beside_the_journal_is_asked(wide: "Bench") -> None:
    journal = Journal(wide.folder / "journal", "lab", "fake")
    journal.path.with_suffix(".control").write_text("abort\n")
    assert wide.deploy(journal=journal).stopped_by == "aborted after wave 0 of 4"


def test_a_wave_that_would_cross_the_floor_beside_a_failed_device_is_not_started(timed: "Bench") -> None:
    set_rollout(timed, max_failures=3)
    breaks_bgp(switch(timed, "lab-spine1"))
    result = timed.deploy()
    assert result.result == "stopped"
    assert result.stopped_by.startswith("wave 2 of 4 was not started: ")
    assert timed.outcomes(result)["lab-spine1"] == "old"
    assert timed.outcomes(result)["lab-spine2"] == "not-attempted"


# Drain


def test_a_spine_whose_change_resets_sessions_is_drained_first_and_undrained_before_it_is_kept(timed: "Bench") -> None:
    result = timed.deploy()
    assert result.ok
    told = steps(timed, "lab-spine1")
    told = told[: told.index("confirmed") + 1]
    order = ["draining", "drained", "quiet", "applying", "applied", "verifying", "undrained", "verified", "confirmed"]
    assert [step for step in told if step in order] == order
    assert "draining" not in steps(timed, "lab-leaf1")
    assert all(one.drained == () for one in timed.world.switches.values())


def test_a_spine_that_never_gets_quiet_is_left_as_it_was(timed: "Bench") -> None:
    set_rollout(timed, drain_timeout_s=0.05)
    one = switch(timed, "lab-spine1")
    one.busy, before = True, one.running
    result = timed.deploy()
    assert timed.outcomes(result)["lab-spine1"] == "old"
    assert "packets a second still flow" in result.devices["lab-spine1"].error
    assert (one.drained, one.pending, one.running) == ((), False, before)
    assert "commit" not in one.calls


def test_a_spine_that_somebody_drained_is_left_drained(timed: "Bench") -> None:
    drain_by_hand(timed, "lab-spine1")
    set_rollout(timed, max_unavailable=Unavailable(spines=Share(count=2)), floor=Floor(paths=0))
    result = timed.deploy(timed.plan(rollout_policy=timed.rollout.policy))
    assert timed.outcomes(result)["lab-spine1"] == "new"
    assert switch(timed, "lab-spine1").drained == ("*",)
    assert "drain" not in switch(timed, "lab-spine1").calls
    assert "drain" not in switch(timed, "lab-spine2").calls, "its traffic has no other way"


def test_a_drained_spine_is_no_path_for_the_traffic_of_another(timed: "Bench") -> None:
    drain_by_hand(timed, "lab-spine1")
    with pytest.raises(RefusedError, match="while lab-spine1 is out of service: 2 of the 2 spines") as refused:
        timed.deploy()
    assert {one.code for one in refused.value.diagnostics} == {"RW513"}


@pytest.mark.parametrize("drained", ["lab-spine1", "lab-spine2"])
def test_a_spine_that_is_drained_after_the_plan_stops_the_wave_of_another(timed: "Bench", drained: str) -> None:
    made = timed.plan()
    drain_by_hand(timed, drained)
    result = timed.deploy(made)
    other = {"lab-spine1": "lab-spine2", "lab-spine2": "lab-spine1"}[drained]
    assert f"({drained} without traffic)" in result.stopped_by
    assert not {"drain", "commit"} & {*switch(timed, other).calls}


def test_links_that_are_drained_after_the_plan_count_as_well(timed: "Bench") -> None:
    made = timed.plan()
    leaf = timed.world.fabric.switch_of["lab-leaf1"]
    peer = next(one.peer for one in expect(timed.world.fabric, leaf).sessions if one.device == "lab-spine2")
    switch(timed, "lab-leaf1").drained = (peer,)
    result = timed.deploy(made)
    assert result.stopped_by.startswith("wave 1 of 4 was not started: two leaves keep no path between them")
    assert "commit" not in switch(timed, "lab-spine1").calls


def test_a_spine_that_stopped_answering_since_the_plan_counts_as_out_of_service(
    timed: "Bench", unreachable: Exception
) -> None:
    made = timed.plan()
    switch(timed, "lab-spine2").faults["open"] = unreachable
    assert "(lab-spine2 without traffic)" in timed.deploy(made).stopped_by


def test_a_failing_rollback_of_a_drain_is_told_and_the_switch_undrained(timed: "Bench") -> None:
    one = switch(timed, "lab-spine1")
    breaks_bgp(one)

    def fail() -> None:
        one.pending = False
        assert one.before is not None
        one.running = one.before
        raise CommitError("the drain stays")

    one.faults["rollback"] = fail
    result = timed.deploy()
    assert timed.outcomes(result)["lab-spine1"] == "old"
    assert one.drained == ()
    assert result.progress.drained == ()


def test_a_drain_that_cannot_be_ended_is_told_with_the_way_out(timed: "Bench") -> None:
    one = switch(timed, "lab-spine1")
    breaks_bgp(one)

    def fail() -> None:
        one.pending = False
        assert one.before is not None
        one.running = one.before
        raise CommitError("the drain stays")

    one.faults |= {"rollback": fail, "undrain": CommitError("vtysh says no")}
    result = timed.deploy()
    assert result.progress.drained == ("lab-spine1",)
    assert "`railweave undrain lab-spine1`" in result.devices["lab-spine1"].error


def test_somebody_elses_lock_after_the_drain_ends_the_drain(timed: "Bench") -> None:
    one = switch(timed, "lab-spine1")
    one.faults["commit"] = LockError("held by carol")
    result = timed.deploy()
    assert "held by carol" in result.devices["lab-spine1"].error
    assert (one.drained, one.pending) == ((), False)


def test_what_another_deployment_confirmed_meanwhile_is_left_alone(timed: "Bench") -> None:
    one = switch(timed, "lab-spine1")

    def theirs() -> None:
        tables = dict(one.running.config_db)
        tables["PORT"] = {**tables["PORT"], "Ethernet0": {**tables["PORT"]["Ethernet0"], "mtu": "9216"}}
        frr = timed.world.intended("lab-spine1").frr
        one.running, one.commit_id, one.message = type(one.running)(tables, frr), "theirs", "railweave their-rollout"
        raise CommitError("FRR did not drain: theirs is armed")

    one.faults["drain"] = theirs
    result = timed.deploy()
    assert timed.world.row("lab-spine1", "PORT", "Ethernet0")["mtu"] == "9216"
    assert not {"commit", "rollback", "undrain"} & {*one.calls[one.calls.index("drain") :]}
    assert one.running.frr == timed.world.intended("lab-spine1").frr
    assert timed.outcomes(result)["lab-spine1"] == "old"
    assert (
        "is armed; somebody else's commit, theirs by another session (railweave their-rollout), is on it"
        in result.devices["lab-spine1"].error
    )


@pytest.mark.parametrize(
    "step",
    sampled(
        [
            "observe",
            "counters",
            "drain",
            "drain-set",
            "load",
            "compare",
            "commit",
            "committed",
            "undrain",
            "undrained",
            "confirm",
            "confirmed",
        ],
        every=2,
    ),
)
def test_a_session_lost_at_any_step_leaves_the_spine_old_or_new_and_undrained(timed: "Bench", step: str) -> None:
    one = switch(timed, "lab-spine1")
    old = one.running
    one.faults[step] = [ConnectionClosedException("gone")]
    result = timed.deploy()
    assert step in one.calls
    assert (one.pending, one.drained) == (False, ())
    outcome = timed.outcomes(result)["lab-spine1"]
    assert outcome in ({"old", "unreachable"} if one.running == old else {"new"})


# Saving


def test_a_device_that_runs_what_is_wanted_and_would_boot_something_else_is_saved(deployed: "Bench") -> None:
    one = switch(deployed, "lab-leaf1")
    one.saved = type(one.running)({**one.running.config_db, "PORT": {}}, one.running.frr)
    result = deployed.deploy()
    assert one.saved == one.running
    assert result.progress.saved == ("lab-leaf1",)
    assert result.ok
    assert deployed.deploy().result == "unchanged"


def test_a_device_that_cannot_be_saved_is_told(deployed: "Bench") -> None:
    one = switch(deployed, "lab-leaf1")
    one.saved = type(one.running)({**one.running.config_db, "PORT": {}}, one.running.frr)
    one.faults["save"] = CommitError("no space left")
    result = deployed.deploy()
    assert not result.ok
    assert "could not be saved" in result.devices["lab-leaf1"].error


# The journal


def test_the_journal_holds_what_a_rollback_needs(wide: "Bench") -> None:
    result = wide.deploy()
    lines = [json.loads(line) for line in Path(result.journal).read_text(encoding="utf-8").splitlines()]
    own = {line["step"]: line for line in lines if line["device"] == "lab-leaf2"}
    assert ["link", "Ethernet112"] in own["applying"]["held"] or len(own["applying"]["held"]) > 2
    assert own["applied"]["commit_id"] == own["confirmed"]["commit_id"] == switch(wide, "lab-leaf2").commit_id
    assert len(own["confirmed"]["after_sha256"]) == 64
    assert own["confirmed"]["after_sha256"] == wide.plan().devices["lab-leaf2"].reading.running_sha256
