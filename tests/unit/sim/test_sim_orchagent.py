"""orchagent dies with the rows that the real one does not survive the deletion of, and takes the ports with it."""

import json
from collections.abc import Callable, Mapping

import pytest

from sonic_sim.clock import Clock
from sonic_sim.device import Device, Fabric
from sonic_sim.kept import device_from_json, device_to_json

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
