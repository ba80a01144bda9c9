"""Rollouts resumed and rolled back over drivers in memory that keep the rollback documents of their commits."""

import itertools
import json
import os
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from napalm.base.exceptions import CommitError, ConnectTimeoutError

from nornir_railweave.events import Announcer, Step
from nornir_railweave.rollout.journal import Journal
from nornir_railweave.rollout.last_rollout import last_rollout
from nornir_railweave.rollout.resuming import newer_change, newest_unfinished, revert_pending, write_down_done
from nornir_railweave.rollout.rolling_back import newer_than, newest_change, plan_rollback, roll_back
from nornir_railweave.rollout.rollouts import read_rollout, rollouts
from nornir_railweave.target.policy import Policy
from railweave.errors import RefusedError
from railweave.plan.consent import DeployOptions
from railweave.plan.outcome import Result
from railweave.plan.resumption import differing, in_journaled_order
from railweave.plan.rollout import Rollout, RolloutKind, RolloutMetadata
from railweave.sonic.delta.delta import inverse
from railweave.sonic.delta.merge import delta_of, merge_document
from railweave.sonic.document import RunningConfig

MTU = ("reserve: {leaves: 4, spines: 4}", "reserve: {leaves: 4, spines: 4}\nmtu: {fabric: 9200, hosts: 9000}")


@dataclass
class Kept:
    """One commit of which a switch keeps the rollback document."""

    commit_id: str
    message: str
    document: dict[str, Any]


@dataclass
class Timer:
    """What a switch reports about its last commit."""

    driver: Any

    @property
    def commit_id(self) -> str:
        return self.driver.kept[-1].commit_id if self.driver.kept else ""

    @property
    def pending(self) -> bool:
        return bool(self.driver.switch.pending)

    @property
    def overdue(self) -> bool:
        return False

    def status(self) -> "Timer":
        return self

    @property
    def message(self) -> str:
        return self.driver.kept[-1].message if self.driver.kept else ""

    @property
    def last(self) -> str:
        return "" if self.pending else self.commit_id


@dataclass
class Keepers:
    """The kept commits of every switch, and how many were ever made."""

    commits: dict[str, list[Kept]] = field(default_factory=dict)
    made: int = 0


@pytest.fixture
def bench(deployed: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A deployed lab whose drivers keep the rollback documents of their commits."""
    driver = sys.modules["custom_napalm.railweavefake"].RailweavefakeDriver
    keepers = Keepers()
    made, commit, rollback = driver.__init__, driver.commit_config, driver.rollback

    def with_timer(self: Any, *arguments: Any, **options: Any) -> None:
        made(self, *arguments, **options)
        self.revert_timer = Timer(self)

    def commit_config(self: Any, message: str = "", revert_in: int | None = None) -> None:
        undo = merge_document(inverse(delta_of(self.candidate, self.switch.running)))
        keepers.made += 1
        self.kept.append(Kept(self.next_id, message, undo))
        commit(self, message, revert_in)

    def roll_back(self: Any) -> None:
        rollback(self)
        self.kept.pop()

    def document(self: Any, commit_id: str) -> dict[str, Any]:
        for one in self.kept:
            if one.commit_id == commit_id:
                return dict(one.document)
        raise CommitError(f"the rollback file of commit {commit_id} is not on the switch")

    monkeypatch.setattr(driver, "kept", property(lambda self: keepers.commits.setdefault(self.name, [])), raising=False)
    monkeypatch.setattr(driver, "__init__", with_timer)
    monkeypatch.setattr(driver, "commit_config", commit_config)
    monkeypatch.setattr(driver, "rollback", roll_back)
    monkeypatch.setattr(driver, "rollback_document", document, raising=False)
    deployed.keepers = keepers
    return deployed


@pytest.fixture
def changed(bench: Any, redesign: Callable[..., Any]) -> Any:
    """The lab with another MTU rolled out, and what every switch ran before."""
    bench.before = {name: switch.running for name, switch in bench.world.switches.items()}
    bench.world.grow(redesign(MTU))
    assert bench.deploy().result is Result.DONE
    return bench


def folder(bench: Any) -> Path:
    return Path(bench.folder) / "journal"


def newest(bench: Any) -> Rollout:
    return next(rollouts(folder(bench)))


def policy(bench: Any) -> Policy:
    return Policy(
        consent=DeployOptions(provision=True),
        rollout=bench.rollout,
        reconnect_s=0.05,
        journal_dir=folder(bench),
        clock=bench.clock,
    )


def cut(bench: Any, step: Step, device: str) -> Rollout:
    """Forget what the newest journal tells after ``step`` of a device, as if the process had been lost there."""
    path = newest(bench).path
    lines = path.read_bytes().splitlines(keepends=True)
    told = [json.loads(line) for line in lines]
    last = next(n for n, one in enumerate(told) if (one["step"], one["device"]) == (step.value, device))
    path.write_bytes(b"".join(lines[: last + 1]))
    return read_rollout(path)


def take_to(bench: Any, running: dict[str, RunningConfig], *names: str) -> None:
    """Put switches back to what they ran, with nothing kept, as if the rollout had not come to them."""
    for name in names:
        bench.world.switches[name].running = bench.world.switches[name].saved = running[name]
        bench.keepers.commits[name] = []


def rolled_back(bench: Any, rollout: Rollout) -> Any:
    nr = bench.nornir()
    fabric = bench.world.fabric
    planned = plan_rollback(nr, fabric, bench.world.intended, rollout, policy(bench), bench.events.append)
    journal = Journal(folder(bench), fabric.name, "fake", RolloutMetadata(RolloutKind.ROLLBACK, rollout.name))
    with closing(journal):
        return roll_back(nr, fabric, planned, policy=policy(bench), events=bench.events.append, journal=journal)


def refused(bench: Any, rollout: Rollout) -> list[tuple[str, tuple[str, ...]]]:
    with pytest.raises(RefusedError) as caught:
        rolled_back(bench, rollout)
    return [(one.code, one.devices) for one in caught.value.diagnostics]


def test_a_change_is_taken_back_in_reverse_to_the_row(changed: Any) -> None:
    rollout = newest(changed)
    result = rolled_back(changed, rollout)
    assert (result.result, result.ok, result.of) == (Result.DONE, True, rollout.name)
    for name, switch in changed.world.switches.items():
        assert switch.running.config_db == changed.before[name].config_db
        assert switch.saved.config_db == changed.before[name].config_db
    back = newest(changed)
    assert (back.metadata.kind, back.metadata.of, back.state) == (RolloutKind.ROLLBACK, rollout.name, "done")
    assert back.waves == tuple(reversed(rollout.waves))
    assert newest_change(folder(changed), "lab", "fake") is None, "both are dealt with"
    assert rolled_back(changed, rollout).result is Result.UNCHANGED


def test_a_spine_that_somebody_drained_goes_back_first_and_the_other_one_waits(changed: Any) -> None:
    rollout, switches = newest(changed), changed.world.switches
    one, other = switches["lab-spine1"], switches["lab-spine2"]
    drain = " bgp graceful-shutdown\n"
    lines = (one.running.frr or "").splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if line.startswith("router bgp "))
    one.running = replace(one.running, frr="".join([*lines[: place + 1], drain, *lines[place + 1 :]]))
    one.drained = ("*",)
    planned = plan_rollback(
        changed.nornir(), changed.world.fabric, changed.world.intended, rollout, policy(changed), changed.events.append
    )
    assert planned.plan.violations == ()
    assert planned.plan.waves[0] == ("lab-spine1",)
    result = rolled_back(changed, rollout)
    assert "was not started" in result.stopped_by
    assert "(lab-spine1 without traffic)" in result.stopped_by
    assert one.running.config_db == changed.before["lab-spine1"].config_db
    assert other.running.config_db != changed.before["lab-spine2"].config_db
    assert one.drained == ("*",), "the operator's drain stays"
    one.drained = ()
    one.running = replace(one.running, frr=(one.running.frr or "").replace(drain, ""))
    assert rolled_back(changed, rollout).result is Result.DONE
    assert other.running.config_db == changed.before["lab-spine2"].config_db


def test_a_device_that_went_back_and_was_not_saved_is_saved(changed: Any) -> None:
    rollout = newest(changed)
    rolled_back(changed, rollout)
    switch = changed.world.switches["lab-leaf1"]
    switch.saved = RunningConfig({**switch.saved.config_db, "PORT": {}}, switch.saved.frr)
    result = rolled_back(changed, rollout)
    assert (result.result, result.progress.saved) == (Result.DONE, ("lab-leaf1",))
    assert switch.saved.config_db == changed.before["lab-leaf1"].config_db


def test_a_rollback_is_taken_back_as_any_rollout(changed: Any) -> None:
    rolled_back(changed, newest(changed))
    assert rolled_back(changed, newest(changed)).result is Result.DONE
    assert changed.plan().deltas == {}


def test_what_was_healthy_before_must_be_healthy_again(changed: Any) -> None:
    rollout = newest(changed)
    last = rollout.waves[-1][0]
    changed.world.switches[last].faults["bgp-down"] = True
    result = rolled_back(changed, rollout)
    assert result.result is Result.STOPPED
    assert result.stopped_by.startswith(f"{last}: verification failed: bgp ")
    assert changed.plan().deltas == {}, "the device that failed was put back to where it was"


def test_devices_that_changed_since_or_lost_their_way_back_are_named_together(changed: Any) -> None:
    rollout = newest(changed)
    drifted, forgetful = changed.world.switches["lab-leaf1"], "lab-spine1"
    ports = drifted.running.config_db["PORT"]
    drifted.running = RunningConfig(
        {**drifted.running.config_db, "PORT": {**ports, "Ethernet0": {**ports["Ethernet0"], "mtu": "4000"}}},
        drifted.running.frr,
    )
    changed.keepers.commits[forgetful] = []
    assert refused(changed, rollout) == [("RW537", ("lab-leaf1",)), ("RW539", (forgetful,))]


def test_a_newer_rollout_goes_back_first(changed: Any, redesign: Callable[..., Any]) -> None:
    rollout = newest(changed)
    changed.world.grow(redesign((MTU[0], MTU[1].replace("9200", "9216"))))
    changed.deploy()
    codes = refused(changed, rollout)
    assert [code for code, _ in codes] == ["RW535"]
    assert [one.name for one in newer_than(folder(changed), rollout)] == [newest(changed).name]
    found = newer_change(folder(changed), rollout)
    assert found is not None
    assert found.name == newest(changed).name


def test_an_unreachable_device_stops_a_rollback_before_anything_changes(
    changed: Any, unreachable: ConnectTimeoutError
) -> None:
    held = {name: switch.running for name, switch in changed.world.switches.items()}
    changed.world.switches["lab-leaf2"].faults["open"] = unreachable
    result = rolled_back(changed, newest(changed))
    assert result.stopped_by == "lab-leaf2 could not be reached; nothing was changed"
    assert {name: switch.running for name, switch in changed.world.switches.items()} == held


@pytest.mark.parametrize("step", [Step.APPLYING, Step.APPLIED, Step.VERIFIED])
def test_a_lost_rollout_is_freed_and_carried_on(changed: Any, step: Step) -> None:
    last = newest(changed).waves[-1][-1]
    changed.world.switches[last].pending = True
    lost = cut(changed, step, last)
    assert newest_unfinished(folder(changed), "lab", "fake") == lost
    nr = changed.nornir()
    with closing(Journal.reopen(lost.path, "lab", "fake", RolloutMetadata())) as journal:
        announce = Announcer([journal])
        assert revert_pending(nr, lost, changed.world.intended, reconnect_s=0.05, announce=announce) == {}
        assert changed.world.switches[last].running.config_db == changed.before[last].config_db
        plan = changed.plan()
        assert differing(lost, plan) == ()
        plan = in_journaled_order(changed.world.fabric, lost, plan)
        assert plan.waves == ((last,),)
        write_down_done(lost, plan, announce)
        result = changed.deploy(plan, journal=journal)
    assert result.result is Result.DONE
    told = newest(changed)
    assert (told.name, told.state) == (lost.name, "done")
    assert {record.outcome for record in told.devices.values()} == {"new"}
    assert newest_unfinished(folder(changed), "lab", "fake") is None


def test_a_device_confirmed_in_the_last_moment_is_written_down_and_can_go_back(changed: Any) -> None:
    last = newest(changed).waves[-1][-1]
    lost = cut(changed, Step.APPLIED, last)
    plan = changed.plan()
    with closing(Journal.reopen(lost.path, "lab", "fake", RolloutMetadata())) as journal:
        write_down_done(lost, plan, journal)
        changed.deploy(plan, journal=journal)
    record = newest(changed).devices[last]
    assert (record.outcome, record.after_sha256) == ("new", plan.devices[last].reading.running_sha256)
    assert rolled_back(changed, newest(changed)).result is Result.DONE
    assert changed.world.switches[last].running.config_db == changed.before[last].config_db


def test_a_lost_rollout_goes_back_where_it_came_to(changed: Any) -> None:
    last = newest(changed).waves[-1][-1]
    lost = cut(changed, Step.APPLYING, last)
    take_to(changed, changed.before, last)
    result = rolled_back(changed, lost)
    assert result.result is Result.DONE
    for name, switch in changed.world.switches.items():
        assert switch.running.config_db == changed.before[name].config_db


@pytest.mark.slow
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_whichever_call_of_the_journal_fails_a_rollback_finds_all_that_was_committed(
    changed: Any, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    two = ("lab-spine1", "lab-leaf2")
    take_to(changed, changed.before, *two)
    planned, real = changed.plan(), getattr(os, call)
    committed: set[int] = set()
    for number in itertools.count(2):  # at the first call nothing is deployed
        calls = itertools.count(1)

        def failing(*arguments: Any, calls: Any = calls, number: int = number) -> Any:
            if next(calls) >= number:
                raise OSError(28, "No space left on device")
            return real(*arguments)

        with Journal(folder(changed), "lab", "fake") as journal, monkeypatch.context() as patched:
            patched.setattr(f"nornir_railweave.rollout.journal.os.{call}", failing)
            result = changed.deploy(planned, journal=journal)
            fault = journal.fault
        if not fault:
            break
        running = {name: changed.world.switches[name].running.config_db for name in two}
        old = {name for name in two if running[name] == changed.before[name].config_db}
        assert not any(changed.world.switches[name].pending for name in two)
        rollout = newest(changed)
        for name, record in rollout.devices.items():
            assert name not in two or record.in_doubt or (record.outcome == "new") is (name not in old), number
        told = ", ".join(sorted({*two} - old)) or "no device"
        assert fault in result.stopped_by
        assert result.stopped_by.endswith(f"; committed: {told}")
        committed.add(len(two) - len(old))
        if old != {*two}:
            assert rolled_back(changed, rollout).result is Result.DONE
        for name in two:
            assert changed.world.switches[name].running.config_db == changed.before[name].config_db, number
        take_to(changed, changed.before, *two)
    assert committed == {0, 1, 2}


def test_a_commit_of_somebody_else_is_left_alone(changed: Any) -> None:
    last = newest(changed).waves[-1][-1]
    lost = cut(changed, Step.APPLYING, last)
    switch = changed.world.switches[last]
    switch.pending = True
    changed.keepers.commits[last][-1] = Kept("foreign", "by hand", {})
    held = switch.running
    revert_pending(changed.nornir(), lost, changed.world.intended, reconnect_s=0.05, announce=changed.events.append)
    assert (switch.pending, switch.running) == (True, held)


def test_a_device_that_cannot_be_freed_is_named(changed: Any, unreachable: ConnectTimeoutError) -> None:
    last = newest(changed).waves[-1][-1]
    lost = cut(changed, Step.APPLYING, last)
    for switch in changed.world.switches.values():
        switch.faults["open"] = unreachable
    failed = revert_pending(
        changed.nornir(), lost, changed.world.intended, reconnect_s=0.05, announce=changed.events.append
    )
    assert failed == {last: "no route to host"}, "those that ended new need nothing"


def test_switches_tell_the_last_rollout_without_a_journal(changed: Any) -> None:
    name = newest(changed).name
    for path in folder(changed).iterdir():
        path.unlink()
    ask = {"target": "fake", "intent_sha256": "0" * 64, "announce": changed.events.append}
    told = last_rollout(changed.nornir(), changed.world.fabric, **ask)
    assert (told.name, set(told.devices)) == (name, set(changed.world.switches))
    assert rolled_back(changed, told).result is Result.DONE
    for device, switch in changed.world.switches.items():
        assert switch.running.config_db == changed.before[device].config_db
    with pytest.raises(RefusedError, match="nothing to roll back: no switch of lab on fake"):
        last_rollout(changed.nornir(), changed.world.fabric, **ask)
    changed.world.switches["lab-leaf1"].faults["open"] = ConnectTimeoutError("no route to host")
    with pytest.raises(RefusedError, match="lab-leaf1 could not be asked"):
        last_rollout(changed.nornir(), changed.world.fabric, **ask)
