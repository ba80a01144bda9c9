"""A daemon that ends on a change takes the change back; one that stays away makes the switch broken, in words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_switches import sim_device

import sonic_sim.commands  # noqa: F401  which makes them known
from railweave_switch import main
from railweave_switch.lasting import ENDS_S, RETURNS_S
from railweave_switch.machine import Machine
from sonic_sim.clock import Clock
from sonic_sim.device import Device
from sonic_sim.switch_host import SimulatedHost

KILLS: Mapping[str, Any] = {"DSCP_TO_TC_MAP": {"empty": {}}}
"""The models take a map without an entry; orchagent reads SONiC's placeholder of it as a number, and aborts."""


@pytest.fixture
def device() -> Device:
    return made_device()


def made_device() -> Device:
    made = Device(sim_device("leaf1", 1), Clock(0.0))
    made.install()
    return made


def change(device: Device, *, lasting: bool = False) -> dict[str, Any]:
    part = {"DSCP_TO_TC_MAP": {"empty": None}}
    asked = {
        "verb": "apply", "version": 1, "id": "1", "last": "", "kind": "commit", "deadline_s": 600.0,
        "lasting": lasting, "check": True,
        "steps": [{"kind": "load", "document": KILLS}], "before": part, "after": KILLS,
        "rollback": {"steps": [{"kind": "load", "document": part}], "rows": part},
    }  # fmt: skip
    return main.work(SimulatedHost(device), asked)


@pytest.mark.parametrize("lasting", [False, True])
def test_a_daemon_that_ends_on_a_change_takes_it_back_and_is_waited_for(device: Device, lasting: bool) -> None:
    answer = change(device, lasting=lasting)
    assert answer["outcome"] == "reverted"
    assert answer["error"] == "buffermgrd, intfmgrd, orchagent, portmgrd ended after the change was written"
    assert "DSCP_TO_TC_MAP|empty" not in device.db.rows
    assert answer["status"]["broken"] == {}, "systemd has started it again with the earlier rows"
    assert not device.orchagent.crashed


def test_a_daemon_that_stays_away_is_named_with_its_log_and_the_command(device: Device) -> None:
    device.orchagent.restarts = [device.clock.now()] * 3
    host = SimulatedHost(device)
    answer = change(device)
    assert answer["outcome"] == "reverted"
    broken = answer["status"]["broken"]
    assert "orchagent" in broken["daemons"]
    assert any("exited: orchagent" in line for line in broken["lines"])
    assert broken["command"] == "sudo systemctl reset-failed swss && sudo systemctl restart swss"
    assert broken["waited_s"] == RETURNS_S
    device.orchagent.start(device.db)  # what the command does
    assert main.status(host, {})["status"]["broken"] == {}


def test_a_commit_that_ended_a_daemon_later_is_not_confirmed(device: Device) -> None:
    part = {"DSCP_TO_TC_MAP": {"good": None}}
    good = {"DSCP_TO_TC_MAP": {"good": {"3": "3"}}}
    asked = {
        "verb": "apply", "version": 1, "id": "2", "last": "", "kind": "commit", "deadline_s": 600.0,
        "steps": [{"kind": "load", "document": good}], "before": part, "after": good,
        "rollback": {"steps": [{"kind": "load", "document": part}], "rows": part},
    }  # fmt: skip
    assert main.work(SimulatedHost(device), asked)["outcome"] == "applied"
    device.db.set_fields("DSCP_TO_TC_MAP|theirs", {"NULL": "NULL"})
    device.react()
    answer = main.work(SimulatedHost(device), {"verb": "confirm", "id": "2"})
    assert (answer["outcome"], answer["code"]) == ("refused", "broken")
    assert "ended since the change was written" in answer["error"]
    assert ENDS_S < RETURNS_S


def test_a_process_may_name_itself_by_any_octets() -> None:
    name = Path("/proc/self/comm")
    before = name.read_bytes()
    name.write_bytes(b"d\xc3")  # the kernel cuts a name to 15 octets, also inside a character
    try:
        assert "d\ufffd" in Machine().daemons()
    finally:
        name.write_bytes(before.rstrip(b"\n"))


def carried_out(device: Device, what: str, name: str, last: str) -> str:
    """Carry a harmless transaction out and end it so; return the id of the last one."""
    part, good = {"DSCP_TO_TC_MAP": {name: None}}, {"DSCP_TO_TC_MAP": {name: {"3": "3"}}}
    host = SimulatedHost(device)
    asked = {
        "verb": "apply", "version": 1, "id": name, "last": last, "kind": "drain" if what == "drain" else "commit",
        "deadline_s": 600.0, "steps": [{"kind": "load", "document": good}], "before": part, "after": good,
        "rollback": {"steps": [{"kind": "load", "document": part}], "rows": part},
    }  # fmt: skip
    assert main.work(host, asked)["outcome"] == "applied"
    if what in ("reverted", "drain"):
        assert main.work(host, {"verb": "revert", "id": name})["outcome"] == "reverted"
        return name
    assert main.work(host, {"verb": "confirm", "id": name})["outcome"] == "confirmed"
    if what == "confirmed":
        return name
    back = {"verb": "revert", "commit": name, "last": name, "id": f"{name}-back"}
    assert main.work(host, back)["outcome"] == "reverted"
    return f"{name}-back"


LATER = ("confirmed", "reverted", "rolled back", "drain")
"""How a later transaction ends."""


@settings(deadline=None)
@given(st.lists(st.sampled_from(LATER), max_size=4), st.booleans())
def test_a_daemon_that_stays_away_is_named_until_it_runs_whatever_comes_after(later: list[str], reboots: bool) -> None:
    device = made_device()
    device.orchagent.restarts = [device.clock.now()] * 3
    host = SimulatedHost(device)
    first = change(device)["status"]["broken"]
    last = "1"
    for number, what in enumerate(later, start=2):
        last = carried_out(device, what, str(number), last)
        told = main.status(host, {})["status"]["broken"]
        assert (told["daemons"], told["command"]) == (first["daemons"], first["command"])
        assert any("orchagent" in line for line in told["lines"])
    if reboots:
        device.times.booted += 1
        assert main.status(host, {})["status"]["broken"]["daemons"] == first["daemons"]
    device.orchagent.start(device.db)  # what the command does
    assert main.status(host, {})["status"]["broken"] == {}


def test_a_daemon_that_ends_after_its_commit_was_confirmed_is_named_until_the_feature_is_off(device: Device) -> None:
    host = SimulatedHost(device)
    carried_out(device, "confirmed", "1", "")
    assert main.status(host, {})["status"]["broken"] == {}
    device.orchagent.restarts = [device.clock.now()] * 3
    device.db.set_fields("DSCP_TO_TC_MAP|theirs", {"NULL": "NULL"})
    device.react()
    broken = main.status(host, {})["status"]["broken"]
    assert "orchagent" in broken["daemons"]
    assert broken["waited_s"] == 0.0
    device.db.set_fields("FEATURE|swss", {"state": "disabled"})
    assert main.status(host, {})["status"]["broken"] == {}
