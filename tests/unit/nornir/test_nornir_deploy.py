"""Deployments of a fabric in memory: what every device ends with, and what the result says of it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from napalm.base.exceptions import CommitError, ConnectionClosedException, ConnectTimeoutError, LockError
from reading_driver import ReadingDriver, reading_driver

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.jobs import DeployJob, config_state
from nornir_railweave.device.reading import Comparer
from nornir_railweave.events import Step
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.expectation import expect
from railweave.plan.model import DeviceState
from railweave.plan.outcome import ConfigState
from railweave.sonic.delta.delta import Sharing
from railweave.sonic.document import RunningConfig, json_tables

if TYPE_CHECKING:
    from tests.unit.nornir.conftest import Bench, Switch


RECONFIGURED = (
    ("oversubscription:", "oversubscription:"),
    ("workload:", "mtu: {fabric: 9216, hosts: 9000}\nworkload:"),
)
ALL = ("lab-spine1", "lab-spine2", "lab-leaf1", "lab-leaf2")


@pytest.fixture
def changed(deployed: "Bench", redesign: Callable[..., Fabric]) -> "Bench":
    """A deployed lab whose intent has since changed its MTU."""
    deployed.world.grow(redesign(*RECONFIGURED))
    return deployed


def running(bench: "Bench", name: str) -> RunningConfig:
    return bench.world.switches[name].running


def breaks_bgp(switch: "Switch") -> None:
    """Let the sessions of a switch go down with its next commit."""
    switch.faults["committed"] = lambda: switch.faults.update({"bgp-down": True})


def test_a_new_fabric_is_deployed_and_verified(bench: "Bench") -> None:
    result = bench.deploy()
    assert result.result == "done"
    assert result.ok
    assert set(bench.outcomes(result).values()) == {"new"}
    assert result.verification is not None
    kinds = {check.kind.value for check in result.verification.checks}
    assert kinds == {"link", "mtu", "address", "lldp", "bgp"}


def test_a_second_deployment_changes_nothing_and_says_so(deployed: "Bench") -> None:
    result = deployed.deploy()
    assert result.result == "unchanged"
    assert result.ok
    assert all("commit" not in switch.calls for switch in deployed.world.switches.values())


def test_rows_that_are_not_ours_survive(deployed: "Bench") -> None:
    for name in ALL:
        assert running(deployed, name).config_db["SNMP_COMMUNITY"] == {"public": {"TYPE": "RO"}}
        assert "MGMT_INTERFACE" in running(deployed, name).config_db
    unmanaged = deployed.plan().devices["lab-leaf1"].difference.unmanaged
    assert unmanaged is not None
    assert unmanaged["SNMP_COMMUNITY"] == 1


def test_waves_run_the_canary_spine_first_and_leaves_last(bench: "Bench") -> None:
    bench.deploy()
    waves = [event.details["devices"] for event in bench.events if event.step is Step.WAVE]
    assert waves == [["lab-spine1"], ["lab-spine2"], ["lab-leaf1"], ["lab-leaf2"]]


def test_provisioning_needs_consent_and_nothing_is_done_without_it(bench: "Bench") -> None:
    with pytest.raises(RefusedError, match="reloads"):
        bench.deploy(provision=False)
    assert all("commit" not in switch.calls for switch in bench.world.switches.values())
    assert not (bench.folder / "journal").exists()


def test_an_unreachable_device_stops_everything_before_it_begins(
    changed: "Bench", unreachable: ConnectTimeoutError
) -> None:
    changed.world.switches["lab-leaf2"].faults["open"] = unreachable
    result = changed.deploy()
    assert result.result == "stopped"
    assert changed.outcomes(result) == {
        "lab-leaf1": "not-attempted",
        "lab-leaf2": "unreachable",
        "lab-spine1": "not-attempted",
        "lab-spine2": "not-attempted",
    }
    assert "no route to host" in result.devices["lab-leaf2"].error
    assert all("commit" not in switch.calls for switch in changed.world.switches.values())


def test_an_unreachable_device_may_be_skipped(changed: "Bench", unreachable: ConnectTimeoutError) -> None:
    changed.world.switches["lab-leaf2"].faults["open"] = unreachable
    result = changed.deploy(skip_unreachable=True)
    assert result.result == "done"
    assert changed.outcomes(result)["lab-leaf2"] == "unreachable"
    assert changed.outcomes(result)["lab-leaf1"] == "new"
    assert result.verification is not None
    assert "lab-leaf2" not in {check.device for check in result.verification.checks}


def test_a_device_lost_between_plan_and_wave_stops_the_rollout(
    changed: "Bench", unreachable: ConnectTimeoutError
) -> None:
    made = changed.plan()
    changed.world.switches["lab-spine2"].faults["open"] = unreachable
    result = changed.deploy(made)
    assert result.result == "stopped"
    assert changed.outcomes(result) == {
        "lab-leaf1": "not-attempted",
        "lab-leaf2": "not-attempted",
        "lab-spine1": "new",
        "lab-spine2": "unreachable",
    }


def test_a_refused_commit_leaves_the_old_configuration(changed: "Bench") -> None:
    before = running(changed, "lab-leaf1")
    changed.world.switches["lab-leaf1"].faults["commit"] = CommitError("the device said no")
    result = changed.deploy()
    assert result.result == "stopped"
    assert changed.outcomes(result)["lab-leaf1"] == "old"
    assert "the device said no" in result.devices["lab-leaf1"].error
    assert running(changed, "lab-leaf1") == before
    assert changed.outcomes(result)["lab-leaf2"] == "not-attempted"
    assert changed.plan().names(DeviceState.CHANGED) == ("lab-leaf1", "lab-leaf2")


def test_a_device_whose_bgp_does_not_come_up_is_rolled_back(changed: "Bench") -> None:
    before = running(changed, "lab-spine2")
    breaks_bgp(changed.world.switches["lab-spine2"])
    result = changed.deploy()
    assert changed.outcomes(result) == {
        "lab-leaf1": "not-attempted",
        "lab-leaf2": "not-attempted",
        "lab-spine1": "new",
        "lab-spine2": "old",
    }
    assert "bgp 10.192." in result.devices["lab-spine2"].error
    assert running(changed, "lab-spine2") == before
    assert not changed.world.switches["lab-spine2"].pending


def test_sessions_that_cannot_come_up_yet_are_not_waited_for(bench: "Bench") -> None:
    # The first spine has no deployed neighbor: its gate must not expect one.
    result = bench.deploy()
    assert result.devices["lab-spine1"].outcome == "new"


def test_a_session_that_is_down_already_is_judged_where_both_ends_are_done(changed: "Bench") -> None:
    # Its leaves still run the old MTU when the spine is done, so the spine is not to blame yet.
    changed.world.switches["lab-spine2"].faults["bgp-down"] = True
    changed.world.switches["lab-leaf1"].faults["bgp-down"] = True
    result = changed.deploy()
    assert changed.outcomes(result) == {
        "lab-leaf1": "old",
        "lab-leaf2": "not-attempted",
        "lab-spine1": "new",
        "lab-spine2": "new",
    }


def test_a_swapped_cable_stops_the_first_device_that_sees_it(bench: "Bench") -> None:
    ports = [port for _, port, far, _, _ in bench.world.ends("lab-leaf1") if far.startswith("lab-spine")]
    bench.world.swapped[("lab-leaf1", ports[0])] = ("lab-spine2", "Ethernet0")
    result = bench.deploy()
    assert result.devices["lab-leaf1"].outcome == "old"
    assert "lldp" in result.devices["lab-leaf1"].error
    assert bench.world.hostname("lab-leaf1") == "sonic"


def test_a_session_that_drops_after_the_commit_is_found_again_and_the_rollout_goes_on(changed: "Bench") -> None:
    changed.world.switches["lab-spine1"].faults["committed"] = [ConnectionClosedException("gone")]
    result = changed.deploy()
    assert result.result == "done"
    assert result.ok
    assert not changed.world.switches["lab-spine1"].pending
    assert changed.world.switches["lab-spine1"].calls.count("open") > 2


def test_a_session_that_drops_before_the_commit_took_effect_leaves_the_old_configuration(changed: "Bench") -> None:
    before = running(changed, "lab-spine1")
    changed.world.switches["lab-spine1"].faults["commit"] = [ConnectionClosedException("gone")]
    result = changed.deploy()
    assert changed.outcomes(result)["lab-spine1"] == "old"
    assert running(changed, "lab-spine1") == before


def test_a_device_that_never_comes_back_is_unreachable_and_its_timer_is_named(
    changed: "Bench", unreachable: ConnectTimeoutError
) -> None:
    switch = changed.world.switches["lab-spine1"]

    def vanish() -> None:
        switch.faults["open"] = unreachable
        raise ConnectionClosedException("gone")

    switch.faults["committed"] = vanish
    result = changed.deploy()
    assert changed.outcomes(result)["lab-spine1"] == "unreachable"
    assert "reverts a commit" in result.devices["lab-spine1"].error
    assert switch.pending


def test_a_lost_answer_to_the_confirmation_is_replaced_by_asking_the_device(changed: "Bench") -> None:
    changed.world.switches["lab-spine1"].faults["confirmed"] = [ConnectionClosedException("gone")]
    result = changed.deploy()
    assert result.result == "done"
    assert not changed.world.switches["lab-spine1"].pending
    assert changed.world.switches["lab-spine1"].saved == running(changed, "lab-spine1")


def test_a_configuration_that_could_not_be_saved_is_told(changed: "Bench") -> None:
    switch = changed.world.switches["lab-spine1"]
    switch.faults |= {"confirmed": [CommitError("could not be saved")], "save": CommitError("no space left")}
    result = changed.deploy()
    assert result.result == "stopped"
    assert changed.outcomes(result)["lab-spine1"] == "new"
    assert "could not be saved" in result.devices["lab-spine1"].error


def test_a_confirmation_that_fails_twice_rolls_the_device_back(changed: "Bench") -> None:
    before = running(changed, "lab-spine1")
    changed.world.switches["lab-spine1"].faults["confirm"] = CommitError("too late")
    result = changed.deploy()
    assert changed.outcomes(result)["lab-spine1"] == "old"
    assert "could not be confirmed" in result.devices["lab-spine1"].error
    assert running(changed, "lab-spine1") == before


def test_a_rollback_that_fails_is_replaced_by_restoring_the_rows(changed: "Bench") -> None:
    switch = changed.world.switches["lab-spine1"]
    before = json_tables(running(changed, "lab-spine1").config_db)

    def fail() -> None:
        switch.pending = False
        raise CommitError("rollback failed")

    breaks_bgp(switch)
    switch.faults["rollback"] = fail
    result = changed.deploy()
    assert changed.outcomes(result)["lab-spine1"] == "old"
    assert json_tables(running(changed, "lab-spine1").config_db) == before


def test_a_device_that_changed_after_the_plan_is_left_alone(changed: "Bench") -> None:
    made = changed.plan()
    tables = {name: dict(rows) for name, rows in running(changed, "lab-spine1").config_db.items()}
    tables["PORT"]["Ethernet0"] = {**tables["PORT"]["Ethernet0"], "mtu": "1500"}
    moved = type(running(changed, "lab-spine1"))(tables, running(changed, "lab-spine1").frr)
    changed.world.switches["lab-spine1"].running = moved
    result = changed.deploy(made)
    assert changed.outcomes(result)["lab-spine1"] == "old"
    assert "since the plan was made" in result.devices["lab-spine1"].error
    assert running(changed, "lab-spine1") is moved


def test_a_device_whose_frr_does_not_answer_is_not_taken_for_one_that_is_done(changed: "Bench") -> None:
    made = changed.plan().devices["lab-spine1"]
    silent = RunningConfig(running(changed, "lab-spine1").config_db, None)
    driver = reading_driver(silent)
    compare = Comparer(changed.world.fabric, changed.world.intended)
    job = DeployJob(compare, expect(changed.world.fabric, changed.world.fabric.switch_of["lab-spine1"]), made)
    found = job.read(driver)
    assert not found.delta, "nothing can be planned"
    assert config_state(found, job) is ConfigState.PARTIAL


def test_a_session_keeps_the_delta_that_the_devices_of_a_plan_share(changed: "Bench") -> None:
    known = RunningConfig(running(changed, "lab-leaf1").config_db, running(changed, "lab-leaf1").frr)
    switch = ReadingDriver(known)
    driver = CheckedDriver(switch, "ReadingDriver")
    plain = Comparer(changed.world.fabric, changed.world.intended)
    delta = plain(driver, "lab-leaf1").difference.delta
    assert delta
    switch.running = replace(known)
    compare = Comparer(changed.world.fabric, changed.world.intended, sharing=Sharing([delta]))
    for _ in range(2):
        assert compare(driver, "lab-leaf1").difference.delta is delta


def test_somebody_elses_lock_is_respected(changed: "Bench") -> None:
    switch = changed.world.switches["lab-spine1"]
    switch.faults["commit"] = LockError("held by carol")
    result = changed.deploy()
    assert changed.outcomes(result)["lab-spine1"] == "old"
    assert "held by carol" in result.devices["lab-spine1"].error
    assert "rollback" not in switch.calls


def test_a_pending_commit_of_an_interrupted_deployment_is_refused(changed: "Bench") -> None:
    changed.world.switches["lab-leaf1"].pending = True
    with pytest.raises(RefusedError, match="awaits confirmation on lab-leaf1"):
        changed.deploy()
    assert changed.world.switches["lab-leaf1"].pending


def test_planning_can_wait_for_the_timer_of_an_interrupted_deployment(changed: "Bench") -> None:
    switch = changed.world.switches["lab-leaf1"]
    switch.pending = True
    answers = iter((True, False))
    switch.faults["has_pending"] = lambda: setattr(switch, "pending", next(answers, False))
    assert not changed.plan(pending_wait_s=5).devices["lab-leaf1"].reading.pending


def test_a_mistake_of_a_driver_in_one_task_is_told_and_the_device_is_read(changed: "Bench") -> None:
    def blunder() -> None:
        raise KeyError("a mistake")

    changed.world.switches["lab-spine1"].faults["observe"] = blunder
    result = changed.deploy()
    assert result.result == "stopped"
    assert "KeyError" in result.devices["lab-spine1"].error
    assert changed.outcomes(result)["lab-spine2"] == "not-attempted"


def test_a_change_that_a_mistake_of_a_driver_left_unverified_is_rolled_back_and_the_mistake_named(
    changed: "Bench",
) -> None:
    switch = changed.world.switches["lab-spine1"]
    before = switch.running

    def blunder() -> None:
        if switch.pending:
            raise KeyError("a mistake")

    switch.faults["observe"] = blunder
    result = changed.deploy()
    device = result.devices["lab-spine1"]
    assert device.outcome == "old"
    assert device.error.endswith("what it shows cannot be read (KeyError: 'a mistake')")
    assert (switch.running, switch.pending) == (before, False)


def test_a_rollback_in_which_the_driver_fails_is_tried_by_rows_and_the_driver_named(changed: "Bench") -> None:
    switch = changed.world.switches["lab-spine1"]
    switch.faults["committed"] = lambda: switch.faults.update({"bgp-down": True})
    switch.faults["rollback"] = TypeError("a mistake")
    device = changed.deploy().devices["lab-spine1"]
    assert device.outcome == "unreachable"
    assert "the earlier configuration could not be restored, missing: " in device.error
    lost = [event.text for event in changed.events if event.step is Step.LOST and event.device == "lab-spine1"]
    assert "the driver RailweavefakeDriver failed in `revert`: TypeError: a mistake" in lost


class BrokenProcessor:
    def __getattr__(self, name: str) -> Callable[..., None]:
        def broken(*_: object) -> NoReturn:
            raise RuntimeError(f"{name} is broken")

        return broken


def test_a_broken_processor_disturbs_nothing(bench: "Bench") -> None:
    bench.processors = (BrokenProcessor(),)
    result = bench.deploy()
    assert result.ok
    assert len(result.devices) == 4


def test_a_broken_listener_disturbs_nothing(bench: "Bench") -> None:
    def broken(_: object) -> NoReturn:
        raise RuntimeError("the screen is broken")

    bench.events = type("Listener", (), {"append": staticmethod(broken)})()
    assert bench.deploy().ok


def test_the_journal_tells_every_step(changed: "Bench") -> None:
    result = changed.deploy()
    lines = [json.loads(line) for line in Path(result.journal).read_text(encoding="utf-8").splitlines()]
    assert lines[0]["step"] == "started"
    assert lines[-1] == {**lines[-1], "step": "ended", "result": "done", "ok": True}
    steps = [line["step"] for line in lines if line["device"] == "lab-leaf1"]
    assert steps[:6] == ["applying", "applied", "verifying", "verified", "confirmed", "outcome"]


def test_growth_touches_only_new_devices_and_the_ports_that_meet_them(
    deployed: "Bench", redesign: Callable[..., Fabric]
) -> None:
    deployed.world.grow(redesign(("count: 4", "count: 8"), ("count: 2, downlink", "count: 4, downlink")))
    made = deployed.plan()
    assert made.names(DeviceState.UNCHANGED) == ("lab-leaf1", "lab-leaf2")
    assert {change.disruption.value for name, change in made.changes() if "spine" in name} == {"none"}
    result = deployed.deploy(made)
    assert result.result == "done"
    assert result.ok


def with_row(bench: "Bench", name: str, table: str, key: str, fields: dict[str, str]) -> None:
    config = bench.world.switches[name].running
    tables = {**config.config_db, table: {**config.config_db.get(table, {}), key: fields}}
    bench.world.switches[name].running = type(config)(tables, config.frr)


def test_a_row_that_holds_our_port_stops_the_plan_or_is_planned_away(deployed: "Bench") -> None:
    with_row(deployed, "lab-leaf1", "VLAN_MEMBER", "Vlan7|Ethernet0", {"tagging_mode": "untagged"})
    made = deployed.plan()
    assert [one.key for one in made.devices["lab-leaf1"].difference.conflicts] == ["Vlan7|Ethernet0"]
    with pytest.raises(RefusedError, match="Ethernet0 is a member of Vlan7"):
        deployed.deploy(made)
    result = deployed.deploy(remove_conflicting=True)
    assert result.ok
    assert "VLAN_MEMBER" not in running(deployed, "lab-leaf1").config_db


def test_a_taken_row_comes_back_with_the_rollback(changed: "Bench") -> None:
    with_row(changed, "lab-spine1", "VLAN_MEMBER", "Vlan7|Ethernet0", {"tagging_mode": "untagged"})
    breaks_bgp(changed.world.switches["lab-spine1"])
    result = changed.deploy(remove_conflicting=True)
    assert changed.outcomes(result)["lab-spine1"] == "old"
    assert running(changed, "lab-spine1").config_db["VLAN_MEMBER"] == {"Vlan7|Ethernet0": {"tagging_mode": "untagged"}}


def test_a_switch_of_another_platform_is_refused(deployed: "Bench") -> None:
    row = deployed.world.row("lab-leaf1", "DEVICE_METADATA", "localhost")
    with_row(deployed, "lab-leaf1", "DEVICE_METADATA", "localhost", {**row, "platform": "x86_64-other-r0"})
    made = deployed.plan()
    assert made.devices["lab-leaf1"].state == "unreachable"
    with pytest.raises(RefusedError, match="x86_64-other-r0"):
        deployed.deploy(made)


def test_a_switch_whose_routing_does_not_answer_is_not_planned(deployed: "Bench") -> None:
    switch = deployed.world.switches["lab-leaf1"]
    switch.running = type(switch.running)(switch.running.config_db, "")
    made = deployed.plan()
    assert made.devices["lab-leaf1"].state == "unreachable"
    assert "FRR" in made.devices["lab-leaf1"].error


def test_a_drift_of_ours_is_planned_back_and_rows_of_others_are_not(deployed: "Bench") -> None:
    row = deployed.world.row("lab-leaf1", "PORT", "Ethernet0")
    with_row(deployed, "lab-leaf1", "PORT", "Ethernet0", {**row, "mtu": "1500", "tpid": "0x9100"})
    made = deployed.plan()
    assert [(one.field, one.before, one.after) for _, one in made.changes()] == [("mtu", "1500", "9100")]
    assert deployed.deploy(made).ok
    assert deployed.world.row("lab-leaf1", "PORT", "Ethernet0")["tpid"] == "0x9100"


def test_verification_tells_which_device_does_not_answer(deployed: "Bench", unreachable: ConnectTimeoutError) -> None:
    deployed.world.switches["lab-spine1"].faults["open"] = unreachable
    result = deployed.verify()
    assert [(one.device, one.kind.value) for one in result.failed] == [("lab-spine1", "reachable")]


def test_verification_shows_a_wrong_mtu(deployed: "Bench") -> None:
    row = deployed.world.row("lab-leaf1", "PORT", "Ethernet0")
    with_row(deployed, "lab-leaf1", "PORT", "Ethernet0", {**row, "mtu": "1500"})
    (wrong,) = deployed.verify().failed
    assert (wrong.device, wrong.subject, wrong.expected, wrong.actual) == ("lab-leaf1", "Ethernet0", "9100", "1500")


def test_every_connection_is_closed(deployed: "Bench") -> None:
    deployed.deploy()
    for switch in deployed.world.switches.values():
        assert switch.calls.count("open") == switch.calls.count("close")
