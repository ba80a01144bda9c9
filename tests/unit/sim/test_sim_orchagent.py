"""orchagent dies with the rows that the real one does not survive the deletion of, and takes the ports with it."""

import json
import re
from collections.abc import Callable, Mapping

import pytest

from railweave.sonic.taking_again import taken_again_by
from railweave_switch.daemons import unapplied
from railweave_switch.steps import StepError, run_step
from sonic_sim.clock import Clock
from sonic_sim.databases import APPL
from sonic_sim.device import Device, Fabric
from sonic_sim.kept import device_from_json, device_to_json
from sonic_sim.switch_host import SimulatedHost

Run = Callable[..., tuple[int, str, str]]
WATCHDOG = {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"action": "drop", "detection_time": "400"}}


def ports_up(device: Device) -> list[str]:
    network = device.network
    assert network is not None
    return [port for port in network.ports(device) if network.link_up(device, port)]


def load(run: Run, device: Device, rows: Mapping[str, object]) -> None:
    device.files.write("/tmp/rows.json", json.dumps({"PFC_WD": rows}).encode())
    assert run(device, "config load -y /tmp/rows.json")[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        "sonic-db-cli CONFIG_DB DEL 'PFC_WD|GLOBAL'",
        "sonic-db-cli CONFIG_DB HDEL 'PFC_WD|GLOBAL' POLL_INTERVAL",
        "redis-cli -n 4 DEL 'PFC_WD|GLOBAL'",
    ],
)
def test_without_the_watchdog_s_row_for_the_switch_all_ports_go_down(run: Run, fabric: Fabric, command: str) -> None:
    leaf, spine = fabric.devices["leaf1"], fabric.devices["spine1"]
    load(run, leaf, WATCHDOG)
    assert ports_up(leaf) == ["Ethernet0", "Ethernet4"]
    run(leaf, command)
    assert ports_up(leaf) == []
    assert ports_up(spine) == ["Ethernet4"]
    assert "exited: orchagent (terminated by SIGSEGV" in run(leaf, "cat /var/log/syslog")[1]
    load(run, leaf, WATCHDOG)
    assert ports_up(leaf) == [], "writing the row again does not bring them back"
    again = device_from_json(json.loads(json.dumps(device_to_json(leaf))), Clock(0.0))
    assert again.orchagent.crashed
    assert run(leaf, "config save -y")[0] == 0
    assert run(leaf, "config reload -y -f")[0] == 0
    assert ports_up(leaf) == ["Ethernet0", "Ethernet4"]


def test_a_port_s_watchdog_may_go_while_the_port_is_there(run: Run, fabric: Fabric) -> None:
    leaf = fabric.devices["leaf1"]
    load(run, leaf, {**WATCHDOG, "Ethernet999": {"action": "drop", "detection_time": "400"}})
    load(run, leaf, {"GLOBAL": {"POLL_INTERVAL": "100"}, "Ethernet0": None})
    assert ports_up(leaf) == ["Ethernet0", "Ethernet4"]
    load(run, leaf, {"Ethernet999": None})
    assert ports_up(leaf) == []


def test_a_reload_without_the_row_harms_nothing(run: Run, fabric: Fabric) -> None:
    leaf = fabric.devices["leaf1"]
    assert run(leaf, "config save -y")[0] == 0
    load(run, leaf, WATCHDOG)
    assert run(leaf, "config reload -y -f")[0] == 0
    assert "PFC_WD|GLOBAL" not in leaf.db.rows
    assert ports_up(leaf) == ["Ethernet0", "Ethernet4"]


QOS = {
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3", "pfcwd_sw_enable": "3"}},
    "SCHEDULER": {"roce": {"type": "DWRR", "weight": "30"}},
    "WRED_PROFILE": {"roce": {"ecn": "ecn_all"}},
    "BUFFER_POOL": {"pool": {"type": "ingress", "mode": "dynamic", "size": "1000"}},
    "BUFFER_PROFILE": {"lossless": {"pool": "pool", "dynamic_th": "0", "xon_offset": "9"}, "lossy": {"pool": "pool"}},
    "BUFFER_PG": {"Ethernet0|3-4": {"profile": "lossless"}},
    "QUEUE": {"Ethernet0|3": {"scheduler": "roce"}},
    "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0": {"action": "drop", "detection_time": "400"}},
}


@pytest.fixture
def leaf(run: Run, fabric: Fabric) -> Device:
    device = fabric.devices["leaf1"]
    write(run, device, QOS)
    assert device.orchagent.watch_of("Ethernet0") == {"3": "drop"}
    return device


def write(run: Run, device: Device, tables: Mapping[str, object]) -> None:
    device.files.write("/tmp/rows.json", json.dumps(tables).encode())
    assert run(device, "config load -y /tmp/rows.json")[0] == 0


def test_a_removed_field_stays_in_the_asic_until_its_row_goes(run: Run, leaf: Device) -> None:
    run(leaf, "sonic-db-cli CONFIG_DB HDEL 'SCHEDULER|roce' weight")
    run(leaf, "sonic-db-cli CONFIG_DB HDEL 'BUFFER_PROFILE|lossless' xon_offset")
    write(run, leaf, {"BUFFER_PROFILE": {"lossless": {"static_th": "7"}, "lossy": {"pool": "other"}}})
    assert leaf.orchagent.object_of("SCHEDULER|roce") == {"type": "DWRR", "weight": "30"}
    assert run(leaf, "sonic-db-cli APPL_DB HGET BUFFER_PROFILE_TABLE:lossless xon_offset")[1] == "9\n"
    assert leaf.orchagent.object_of("BUFFER_PROFILE|lossless")["dynamic_th"] == "0", "and the mode with it"
    assert leaf.orchagent.object_of("BUFFER_PROFILE|lossy") == {"pool": "pool"}
    write(run, leaf, {"SCHEDULER": {"roce": {"type": "STRICT", "weight": "1"}}})
    assert leaf.orchagent.object_of("SCHEDULER|roce") == {"type": "STRICT", "weight": "1"}
    assert not [key for key in leaf.orchagent.held if key.startswith("SCHEDULER")]


def test_a_row_that_is_named_waits_to_be_removed_and_so_does_what_is_set_meanwhile(run: Run, leaf: Device) -> None:
    write(run, leaf, {"SCHEDULER": {"roce": None}})
    write(run, leaf, {"SCHEDULER": {"roce": {"type": "STRICT"}}})
    assert leaf.orchagent.object_of("SCHEDULER|roce") == {"type": "DWRR", "weight": "30"}
    write(run, leaf, {"QUEUE": {"Ethernet0|3": None}})
    assert leaf.orchagent.object_of("SCHEDULER|roce") == {"type": "STRICT"}


def bound(device: Device, table: str, number_and_field: str) -> str:
    """Return what a group or queue of Ethernet0 has in the ASIC, empty for nothing."""
    return device.orchagent.bindings().get(f"{table}|Ethernet0", {}).get(number_and_field, "")


def test_a_range_that_goes_takes_the_profiles_of_others_along(run: Run, leaf: Device) -> None:
    write(run, leaf, {"BUFFER_PG": {"Ethernet0|4": {"profile": "lossless"}}})
    write(run, leaf, {"BUFFER_PG": {"Ethernet0|3-4": None}})
    assert bound(leaf, "BUFFER_PG", "4 profile") == ""
    again = device_from_json(json.loads(json.dumps(device_to_json(leaf))), Clock(0.0))
    assert bound(again, "BUFFER_PG", "4 profile") == ""
    write(run, leaf, {"BUFFER_PG": {"Ethernet0|4": None}})
    write(run, leaf, {"BUFFER_PG": {"Ethernet0|4": {"profile": "lossless"}}})
    assert bound(leaf, "BUFFER_PG", "4 profile") == "lossless"


def test_the_watchdog_keeps_its_queues_and_action_until_its_row_is_set_anew(run: Run, leaf: Device) -> None:
    write(run, leaf, {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "4", "pfcwd_sw_enable": "4"}}})
    assert leaf.orchagent.watch_of("Ethernet0") == {"3": "drop"}
    write(run, leaf, {"PFC_WD": {"Ethernet0": {"action": "forward"}}})
    assert leaf.orchagent.watch_of("Ethernet0") == {"3": "drop", "4": "forward"}
    write(run, leaf, {"PFC_WD": {"Ethernet0": None}})
    assert leaf.orchagent.watch_of("Ethernet0") == {}
    write(run, leaf, {"PFC_WD": {"Ethernet0": {"action": "forward", "detection_time": "400"}}})
    assert leaf.orchagent.watch_of("Ethernet0") == {"4": "forward"}


def test_the_watchdog_waits_for_queues_and_refuses_times_out_of_range(run: Run, leaf: Device) -> None:
    write(run, leaf, {"PFC_WD": {"Ethernet0": {"detection_time": "50"}}})
    assert leaf.orchagent.watch_of("Ethernet0") == {"3": "drop"}
    write(run, leaf, {"PFC_WD": {"Ethernet0": None}, "PORT_QOS_MAP": {"Ethernet0": {"pfcwd_sw_enable": ""}}})
    write(run, leaf, {"PFC_WD": {"Ethernet0": {"detection_time": "400"}}})
    assert leaf.orchagent.watch_of("Ethernet0") == {}
    write(run, leaf, {"PORT_QOS_MAP": {"Ethernet0": {"pfcwd_sw_enable": "3,4"}}})
    assert leaf.orchagent.watch_of("Ethernet0") == {"3": "drop", "4": "drop"}


def test_a_queue_s_row_that_goes_takes_scheduler_and_marking_of_its_whole_range(run: Run, leaf: Device) -> None:
    def of_queue(queue: int) -> tuple[str, str]:
        return bound(leaf, "QUEUE", f"{queue} scheduler"), bound(leaf, "QUEUE", f"{queue} wred_profile")

    write(run, leaf, {"QUEUE": {"Ethernet0|3": {"wred_profile": "roce"}}})
    write(run, leaf, {"QUEUE": {"Ethernet0|3-4": {"scheduler": "roce"}}})
    assert [of_queue(3), of_queue(4)] == [("roce", "roce"), ("roce", "")]
    write(run, leaf, {"QUEUE": {"Ethernet0|3-4": None}})
    assert [of_queue(3), of_queue(4)] == [("", ""), ("", "")]


def test_a_hash_that_was_refused_half_way_leaves_orchagent_with_a_wrong_belief(run: Run, leaf: Device) -> None:
    def ecmp() -> str:
        return leaf.orchagent.object_of("SWITCH_HASH|GLOBAL").get("ecmp_hash@", "")

    write(run, leaf, {"SWITCH_HASH": {"GLOBAL": {"ecmp_hash": ["DST_IP"], "lag_hash": ["SRC_IP"]}}})
    run(leaf, "sonic-db-cli CONFIG_DB HDEL 'SWITCH_HASH|GLOBAL' lag_hash@")
    write(run, leaf, {"SWITCH_HASH": {"GLOBAL": {"ecmp_hash": ["SRC_IP"]}}})
    assert ecmp() == "SRC_IP"
    write(run, leaf, {"SWITCH_HASH": {"GLOBAL": {"ecmp_hash": ["DST_IP"], "lag_hash": ["SRC_IP"]}}})
    assert ecmp() == "SRC_IP", "it takes DST_IP for set"


@pytest.mark.parametrize(
    "row",
    [
        {"SCHEDULER": {"roce": {"type": "FAIR", "weight": "9"}}},
        {"WRED_PROFILE": {"roce": {"green_min_threshold": "9000", "green_max_threshold": "8000"}}},
        {"WRED_PROFILE": {"roce": {"wred_red_enable": "yes", "ecn": "ecn_none"}}},
    ],
)
def test_a_row_with_a_value_out_of_its_range_is_refused_as_a_whole(
    run: Run, leaf: Device, row: Mapping[str, Mapping[str, object]]
) -> None:
    key = "|".join((next(iter(row)), "roce"))
    before = leaf.orchagent.object_of(key)
    write(run, leaf, row)
    assert leaf.orchagent.object_of(key) == before


def test_the_buffer_manager_takes_a_cable_length_at_the_port_s_next_row(run: Run, leaf: Device) -> None:
    def group() -> str:
        return leaf.db.get("BUFFER_PG|Ethernet0|3").get("profile", "")

    pool = {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "1000"}}
    write(run, leaf, {"BUFFER_POOL": pool, "BUFFER_PG": {"Ethernet0|3-4": None}})
    write(run, leaf, {"CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}}})
    assert not group()
    write(run, leaf, {"PORT": {"Ethernet0": {"speed": "400000", "description": "any change"}}})
    assert group() == "pg_lossless_400000_5m_profile"
    run(leaf, "sonic-db-cli CONFIG_DB HDEL 'PORT_QOS_MAP|Ethernet0' pfc_enable")
    write(run, leaf, {"BUFFER_PG": {"Ethernet0|3": None}})
    write(run, leaf, {"PORT": {"Ethernet0": {"description": "another"}}})
    assert group(), "a priority that is removed goes on"
    write(run, leaf, {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": ""}}, "BUFFER_PG": {"Ethernet0|3": None}})
    write(run, leaf, {"PORT": {"Ethernet0": {"description": "a third"}}})
    assert not group()


def test_a_row_with_a_field_that_nobody_knows_is_refused_as_a_whole(run: Run, leaf: Device) -> None:
    write(run, leaf, {"SCHEDULER": {"roce": {"type": "STRICT", "priority": "1"}}})
    assert leaf.orchagent.object_of("SCHEDULER|roce") == {"type": "DWRR", "weight": "30"}


@pytest.mark.parametrize(
    "row",
    [
        {"WRED_PROFILE": {"roce": {"ecn": "ecn_some"}}},
        {"SCHEDULER": {"roce": {"meter_type": "cells"}}},
        {"DSCP_TO_TC_MAP": {"FABRIC": {"26": "high"}}},
        {"DSCP_TO_TC_MAP": {"FABRIC": {}}},
        {"BUFFER_POOL": {"pool": {"size": ""}}},
        {"SCHEDULER": {"roce": {"weight": "heavy"}}},
        {"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "often"}}},
        {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "x"}}},
    ],
)
def test_a_word_outside_its_lists_ends_orchagent(run: Run, leaf: Device, row: Mapping[str, object]) -> None:
    assert ports_up(leaf)
    write(run, leaf, row)
    assert ports_up(leaf) == []


def test_the_program_on_the_switch_tells_what_daemons_did_not_take(run: Run, leaf: Device) -> None:
    def told() -> list[tuple[str, ...]]:
        host = SimulatedHost(leaf)
        return [*unapplied(host, host.rows("CONFIG_DB"))]

    assert told() == []
    run(leaf, "sonic-db-cli CONFIG_DB HDEL 'BUFFER_PROFILE|lossless' xon_offset")
    write(run, leaf, {"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "4", "pfcwd_sw_enable": "4"}}})
    write(run, leaf, {"PORT": {"Ethernet0": {"fec": "rs"}}})
    run(leaf, "sonic-db-cli CONFIG_DB HDEL 'PORT|Ethernet0' fec")
    assert told() == [
        ("PORT|Ethernet0", "fec", "rs", "none"),
        ("BUFFER_PROFILE|lossless", "xon_offset", "9", "none"),
        ("PFC_WD|Ethernet0", "queues", "3", "4"),
    ]
    write(run, leaf, {"PORT": {"Ethernet0": {"fec": "none"}}, "BUFFER_PROFILE": {"lossless": {"xon_offset": "0"}}})
    step = {
        "kind": "recreate",
        "removed": [["PFC_WD|Ethernet0", []]],
        "rows": {"PFC_WD": {"Ethernet0": {"action": "drop", "detection_time": "400"}}},
    }
    run_step(SimulatedHost(leaf), step, 60)
    assert told() == []


def test_rows_that_daemons_do_not_let_go_of_are_not_set_again(run: Run, leaf: Device) -> None:
    leaf.other[APPL] = {"BUFFER_PG_TABLE:Ethernet0:3-4": {"profile": "lossless"}}  # orchagent is stuck
    step = {"kind": "recreate", "removed": [["BUFFER_PG|Ethernet0|3-4", []]], "rows": {"BUFFER_PG": {}}}
    with pytest.raises(StepError, match=r"did not take the removal of BUFFER_PG\|Ethernet0\|3-4"):
        run_step(SimulatedHost(leaf), step, 60)


UNAPPLIED = [
    "sonic-db-cli CONFIG_DB HDEL 'BUFFER_PROFILE|lossless' xon_offset",
    "sonic-db-cli CONFIG_DB HSET 'PORT_QOS_MAP|Ethernet0' pfc_enable 4 pfcwd_sw_enable 4",
    "sonic-db-cli CONFIG_DB HDEL 'PORT|Ethernet0' fec",
]
"""Commands after which daemons apply other values than CONFIG_DB has."""


@pytest.mark.parametrize("commands", [*([one] for one in UNAPPLIED), UNAPPLIED])
def test_advice_on_what_daemons_did_not_take_is_followed_until_there_is_none(
    run: Run, leaf: Device, commands: list[str]
) -> None:
    write(run, leaf, {"PORT": {"Ethernet0": {"fec": "rs", "mtu": "9100"}, "Ethernet4": {"fec": "rs"}}})
    host = SimulatedHost(leaf)
    for command in commands:
        assert run(leaf, command)[0] == 0
    assert run(leaf, "config save -y")[0] == 0
    differing = unapplied(host, host.rows("CONFIG_DB"))
    assert differing
    for row, field, _, configured in differing:
        remedy = re.findall(r"`([^`]+)`", taken_again_by(row, field, configured))
        for command in remedy:
            assert run(leaf, command)[0] == 0, command
    assert not unapplied(host, host.rows("CONFIG_DB"))
