"""The ECMP hash of a simulated switch: what its ASIC takes, what orchagent refuses, and SONiC's own commands."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from sim_switches import sim_device

from railweave_switch.daemons import Unapplied, unapplied
from sonic_sim.clock import Clock
from sonic_sim.databases import ASIC, rows_of_database
from sonic_sim.device import Device, Fabric
from sonic_sim.switch_host import SimulatedHost

Run = Callable[..., tuple[int, str, str]]
SET = "config switch-hash global ecmp-hash DST_IP SRC_IP L4_SRC_PORT"
HELD = "3:SAI_NATIVE_HASH_FIELD_DST_IP,SAI_NATIVE_HASH_FIELD_SRC_IP,SAI_NATIVE_HASH_FIELD_L4_SRC_PORT"
SHOWN = """\
+--------+--------------------------------+
| Hash   | Configuration                  |
+========+================================+
| ECMP   | +--------------+-------------+ |
|        | | Hash Field   | Algorithm   | |
|        | |--------------+-------------| |
|        | | DST_IP       | N/A         | |
|        | | SRC_IP       |             | |
|        | | L4_SRC_PORT  |             | |
|        | +--------------+-------------+ |
+--------+--------------------------------+
| LAG    | +--------------+-------------+ |
|        | | Hash Field   | Algorithm   | |
|        | |--------------+-------------| |
|        | | N/A          | N/A         | |
|        | +--------------+-------------+ |
+--------+--------------------------------+
"""


def of_asic(asic: str) -> Device:
    device = Device(replace(sim_device("leaf1", 1), asic=asic), Clock(0.0))
    device.install()
    Fabric().add_device(device)
    return device


def in_asic(device: Device) -> str:
    found = [row for key, row in rows_of_database(device, ASIC).items() if "OBJECT_TYPE_HASH" in key]
    return found[0]["SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST"] if found else ""


def not_taken(device: Device) -> list[Unapplied]:
    host = SimulatedHost(device)
    return [one for one in unapplied(host, host.rows("CONFIG_DB")) if one[0].startswith("SWITCH_HASH")]


def test_fields_are_set_and_shown_as_sonic_does(run: Run) -> None:
    switch = of_asic("nvidia")
    assert run(switch, "show switch-hash global") == (0, "No configuration is present in CONFIG DB\n", "")
    assert run(switch, SET) == (0, "", "")
    assert switch.db.get("SWITCH_HASH|GLOBAL") == {"ecmp_hash@": "DST_IP,SRC_IP,L4_SRC_PORT"}
    assert run(switch, "show switch-hash global") == (0, SHOWN, "")
    assert json.loads(run(switch, "show switch-hash global -j")[1])["ecmp"]["hash_field"] == [
        "DST_IP",
        "SRC_IP",
        "L4_SRC_PORT",
    ]
    assert in_asic(switch) == HELD
    assert not_taken(switch) == []


@pytest.mark.parametrize(
    "command",
    ["sonic-db-cli CONFIG_DB DEL 'SWITCH_HASH|GLOBAL'", "sonic-db-cli CONFIG_DB HDEL 'SWITCH_HASH|GLOBAL' ecmp_hash@"],
)
def test_orchagent_removes_no_field_until_it_starts_again(run: Run, command: str) -> None:
    switch = of_asic("sonic")
    run(switch, SET)
    assert run(switch, command)[0] == 0
    assert in_asic(switch) == HELD
    switch.orchagent.start(switch.db)
    assert in_asic(switch) == ""


def test_an_asic_whose_sai_sets_no_fields_ignores_them(run: Run) -> None:
    switch = of_asic("broadcom")
    status, _, refused = run(switch, SET)
    assert status == 2
    assert 'Failed to configure "ECMP_HASH...": operation is not supported' in refused
    assert "not supported" in run(switch, "show switch-hash capabilities")[1]
    run(switch, "sonic-db-cli CONFIG_DB HSET 'SWITCH_HASH|GLOBAL' ecmp_hash@ DST_IP,SRC_IP")
    assert in_asic(switch) == ""
    assert not_taken(switch) == [("SWITCH_HASH|GLOBAL", "ecmp_hash", "the ASIC's own", "DST_IP,SRC_IP")]


def test_a_field_that_the_asic_lacks_is_not_taken(run: Run) -> None:
    switch = of_asic("nvidia")
    assert run(switch, f"{SET} IPV6_FLOW_LABEL")[0] == 2
    run(switch, "sonic-db-cli CONFIG_DB HSET 'SWITCH_HASH|GLOBAL' ecmp_hash@ SRC_IP,IPV6_FLOW_LABEL")
    assert in_asic(switch) == ""
    ((row, field, has, configured),) = not_taken(switch)
    assert (row, field, configured) == ("SWITCH_HASH|GLOBAL", "ecmp_hash", "SRC_IP,IPV6_FLOW_LABEL")
    assert has.startswith("fields of IN_PORT,")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("ecmp-hash SRC_IP SRC_IP", "SRC_IP, SRC_IP has a duplicate hash field(s) SRC_IP"),
        ("lag-hash NO_FIELD", "invalid choice: NO_FIELD"),
        ("ecmp-hash-algorithm XOR", "invalid choice: XOR. (choose from CRC, CRC_CCITT)"),
    ],
)
def test_what_sonic_refuses_is_refused(run: Run, words: str, reason: str) -> None:
    status, _, refused = run(of_asic("nvidia"), f"config switch-hash global {words}")
    assert status == 2
    assert reason in refused
