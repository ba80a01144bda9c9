"""The getters of learned addresses and of the environment, and ping, on simulated switches."""

from collections.abc import Iterator

import pytest

from napalm_sonic.driver import SonicDriver
from sonic_sim import control
from sonic_sim.factory import factory_config
from sonic_sim.spec import SimCable, SimDevice, SimHost, SimSpec

MACS = ("52:54:00:00:00:01", "52:54:00:00:00:02")


def switch(name: str, mac: str, interfaces: dict[str, str]) -> SimDevice:
    """Return a switch that boots with these addresses, and a VLAN on its last port."""
    ports = {
        f"Ethernet{4 * n}": {"lanes": ",".join(str(4 * n + lane) for lane in range(4)), "speed": "100000"}
        for n in range(3)
    }
    factory = factory_config(ports, hwsku="Force10-S6000", platform="x86_64-kvm_x86_64-r0", mac=mac)
    factory["INTERFACE"] = {}
    factory.pop("BGP_NEIGHBOR", None)
    for port, address in interfaces.items():
        factory["INTERFACE"] |= {port: {}, f"{port}|{address}/31": {}}
    factory["VLAN"] = {"Vlan7": {"vlanid": "7"}}
    factory["VLAN_MEMBER"] = {"Vlan7|Ethernet8": {"tagging_mode": "untagged"}}
    return SimDevice(name, factory, "SN1", mac)


@pytest.fixture(scope="module")
def leaf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SonicDriver]:
    """A session to a leaf with a spine, a node on a routed port and a node in a VLAN."""
    folder = tmp_path_factory.mktemp("sim")
    devices = (
        switch("leaf1", MACS[0], {"Ethernet0": "10.192.0.1", "Ethernet4": "10.32.0.0"}),
        switch("spine1", MACS[1], {"Ethernet0": "10.192.0.0"}),
    )
    hosts = (SimHost("gpu1", "02:00:00:00:00:11"), SimHost("gpu2", "02:00:00:00:00:12"))
    cables = (
        SimCable("leaf1:Ethernet0", "spine1:Ethernet0"),
        SimCable("leaf1:Ethernet4", "gpu1:eth0"),
        SimCable("leaf1:Ethernet8", "gpu2:eth0"),
    )
    ends = control.up(folder, SimSpec("getters", devices, hosts, cables))
    arguments = {"port": ends.devices["leaf1"].port, "key_file": ends.key_file, "allow_agent": False}
    arguments |= {"alt_key_file": ends.known_hosts, "system_host_keys": False}
    with SonicDriver(ends.devices["leaf1"].address, ends.username, "", 300, arguments) as driver:
        yield driver
    control.down(folder)


def test_the_arp_table_names_the_far_ends_of_routed_ports(leaf: SonicDriver) -> None:
    assert leaf.get_arp_table() == [
        {"interface": "Ethernet0", "mac": MACS[1], "ip": "10.192.0.0", "age": -1.0},
        {"interface": "Ethernet4", "mac": "02:00:00:00:00:11", "ip": "10.32.0.1", "age": -1.0},
    ]


def test_the_mac_address_table_names_who_is_behind_a_vlans_ports(leaf: SonicDriver) -> None:
    (entry,) = leaf.get_mac_address_table()
    assert (entry["mac"], entry["interface"], entry["vlan"]) == ("02:00:00:00:00:12", "Ethernet8", 7)
    assert not entry["static"]


@pytest.mark.slow
def test_the_environment_has_load_and_memory_and_no_fans(leaf: SonicDriver) -> None:
    found = leaf.get_environment()
    assert found["cpu"] == {0: {"%usage": 6.5}}
    assert found["memory"]["available_ram"] > found["memory"]["used_ram"] > 0
    assert found["fans"] == found["power"] == found["temperature"] == {}


@pytest.mark.slow
def test_ping_is_answered_by_the_neighbor_and_by_nobody_else(leaf: SonicDriver) -> None:
    answered = leaf.ping("10.192.0.0", count=3)["success"]
    assert (answered["probes_sent"], answered["packet_loss"], len(answered["results"])) == (3, 0, 3)
    assert 0 < answered["rtt_min"] <= answered["rtt_avg"] <= answered["rtt_max"] < 5
    assert leaf.ping("10.32.0.1", count=1)["success"]["packet_loss"] == 0
    lost = leaf.ping("10.99.0.1", count=2, timeout=1)["success"]
    assert (lost["probes_sent"], lost["packet_loss"], lost["results"]) == (2, 2, [])
    assert "not known" in leaf.ping("nowhere")["error"]
