"""railweave-confirm on a simulated switch: the verbs, the deadline, and what a failing step leaves."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sonic_sim.confirm import STATE_FILE, deadline_of, fire
from sonic_sim.device import Device

Run = Callable[..., tuple[int, str, str]]
ROLLBACK = "/var/lib/railweave/one.rollback.json"


def prepare(switch: Device, steps: list[dict[str, Any]], deadline_s: float = 60.0) -> None:
    """Write state and rollback file as a driver does, and put the program there."""
    if not switch.files.exists("/var/lib/railweave"):
        switch.files.make_directory("/var/lib/railweave", mode=0o700)
    switch.files.write("/usr/local/bin/railweave-confirm", b"#!/usr/bin/python3\n", mode=0o755)
    switch.files.write(ROLLBACK, json.dumps({"version": 1, "steps": steps}).encode())
    state = {"version": 1, "id": "one", "deadline_s": deadline_s, "rollback": ROLLBACK, "status": "prepared"}
    switch.files.write(STATE_FILE, json.dumps(state).encode())


def verb(run: Run, switch: Device, name: str) -> tuple[int, dict[str, Any]]:
    status, out, _ = run(switch, f"/usr/local/bin/railweave-confirm {name} {STATE_FILE}")
    return status, json.loads(out)


def saved(switch: Device) -> dict[str, Any]:
    return dict(json.loads(switch.files.read(STATE_FILE)))


MTU_BACK = {"kind": "load", "document": {"PORT": {"Ethernet0": {"mtu": "9100"}}}}


def test_the_program_is_not_there_before_it_is_installed(run: Run, switch: Device) -> None:
    assert run(switch, "/usr/local/bin/railweave-confirm status x")[0] == 127


def test_a_confirmed_change_stays(run: Run, switch: Device) -> None:
    prepare(switch, [MTU_BACK])
    run(switch, "config interface mtu Ethernet0 9000")
    status, line = verb(run, switch, "arm")
    assert (status, line["status"]) == (0, "armed")
    assert 58 < line["remaining_s"] <= 60
    assert verb(run, switch, "confirm")[1]["status"] == "confirmed"
    assert deadline_of(switch) is None
    assert verb(run, switch, "revert")[0] == 3
    assert switch.db.get("PORT|Ethernet0")["mtu"] == "9000"


def test_an_unconfirmed_change_is_taken_back_at_the_deadline(run: Run, switch: Device) -> None:
    prepare(switch, [MTU_BACK], deadline_s=60)
    run(switch, "config interface mtu Ethernet0 9000")
    verb(run, switch, "arm")
    switch.clock.advance(60)
    assert verb(run, switch, "status")[1]["status"] == "expired"
    assert verb(run, switch, "confirm")[0] == 3
    fire(switch)
    assert saved(switch)["status"] == "reverted"
    assert switch.db.get("PORT|Ethernet0")["mtu"] == "9100"
    switch.db.set_fields("PORT|Ethernet0", {"mtu": "8000"})
    fire(switch)
    assert switch.db.get("PORT|Ethernet0")["mtu"] == "8000", "the timer strikes once"


def test_a_timer_does_not_survive_a_boot(run: Run, switch: Device) -> None:
    prepare(switch, [MTU_BACK], deadline_s=60)
    verb(run, switch, "arm")
    switch.boot()
    switch.clock.advance(60)
    fire(switch)
    assert verb(run, switch, "status")[1]["status"] == "expired"
    assert verb(run, switch, "revert")[1]["status"] == "reverted"


def test_every_kind_of_step_is_put_back(run: Run, switch: Device) -> None:
    whole = json.loads(json.dumps(switch.db.document()))
    whole["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] = "split-unified"
    steps: list[dict[str, Any]] = [
        {"kind": "load", "document": {"VLAN": {"Vlan7": {"vlanid": "7"}}}},
        {"kind": "hdel", "key": "PORT|Ethernet0", "fields": ["description"]},
        {"kind": "vtysh", "text": "ip prefix-list BACK seq 5 permit 10.0.0.0/8\n"},
        {"kind": "reload", "config_db": whole, "frr": "ip prefix-list FILE seq 5 permit 10.0.0.0/8\n"},
        {"kind": "save"},
    ]
    prepare(switch, steps)
    run(switch, "sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet0' description x")
    assert verb(run, switch, "revert") == (0, verb(run, switch, "status")[1])
    assert saved(switch)["status"] == "reverted"
    assert "prefix-list FILE" in switch.frr.text()
    assert "description" not in switch.db.get("PORT|Ethernet0")


def test_a_failing_step_says_so_and_may_be_tried_again(run: Run, switch: Device) -> None:
    prepare(switch, [MTU_BACK])
    switch.faults.add("refuse-commit", command="config load")
    status, line = verb(run, switch, "revert")
    assert (status, line["status"]) == (1, "failed")
    assert "redis.exceptions.ConnectionError" in line["error"]
    assert verb(run, switch, "revert")[1]["status"] == "reverted"


@pytest.mark.parametrize(("name", "status"), [("status", 0), ("arm", 3), ("confirm", 3), ("revert", 3)])
def test_without_a_state_there_is_nothing_to_do(run: Run, switch: Device, name: str, status: int) -> None:
    prepare(switch, [])
    switch.files.remove(STATE_FILE)
    assert verb(run, switch, name)[0] == status
    assert verb(run, switch, name)[1]["status"] == "none"


def test_what_is_armed_is_not_armed_again(run: Run, switch: Device) -> None:
    prepare(switch, [MTU_BACK])
    verb(run, switch, "arm")
    assert verb(run, switch, "arm")[0] == 3
