"""Small simulated fabrics for the simulator's own tests."""

import asyncio
from collections.abc import Callable

import pytest
from sim_switches import sim_device

import sonic_sim.commands  # noqa: F401  registers the programs
from sonic_sim.bgp.routes import pass_seconds
from sonic_sim.clock import Clock
from sonic_sim.device import Device, Fabric
from sonic_sim.shell.run import Shell
from sonic_sim.shell.streams import Captured
from sonic_sim.spec import SimCable, SimHost

Answer = tuple[int, str, str]
Run = Callable[..., Answer]


def run_on(device: Device, line: str, *, user: str = "root", stdin: str = "") -> Answer:
    """Run a command line when routes have converged; return exit status, output and error output."""
    pass_seconds(device.network, 60.0)
    captured = Captured(stdin)
    shell = Shell(device, user, "/root" if user == "root" else "/home/admin")
    status = asyncio.run(shell.run_line(line, captured.streams))
    return status, captured.stdout, captured.stderr


@pytest.fixture
def run() -> Run:
    """Return the function that runs a command line on a switch."""
    return run_on


@pytest.fixture
def switch() -> Device:
    """Return a switch that has booted from the factory."""
    device = Device(sim_device("leaf1", 1), Clock(0.0))
    device.install()
    Fabric().add_device(device)
    return device


LEAF = """\
router bgp 65001
 bgp router-id 10.255.0.1
 no bgp default ipv4-unicast
 bgp bestpath as-path multipath-relax
 neighbor SPINES peer-group
 neighbor SPINES timers 3 9
 neighbor 10.0.0.0 remote-as 65100
 neighbor 10.0.0.0 peer-group SPINES
 address-family ipv4 unicast
  network 10.255.0.1/32
  neighbor SPINES activate
  neighbor SPINES route-map IN in
  neighbor SPINES route-map OWN out
  maximum-paths 64
 exit-address-family
exit
ip prefix-list OWN seq 5 permit 10.255.0.1/32
route-map IN permit 10
exit
route-map OWN permit 10
 match ip address prefix-list OWN
exit
"""


def leaf_frr(number: int) -> str:
    """Return a leaf's FRR file: one session to the spine, only its own loopback announced."""
    return (
        LEAF.replace("65001", str(65000 + number))
        .replace("255.0.1", f"255.0.{number}")
        .replace("10.0.0.0 ", f"10.0.0.{2 * number - 2} ")
    )


SPINE_FRR = """\
router bgp 65100
 bgp router-id 10.255.1.1
 no bgp default ipv4-unicast
 neighbor LEAVES peer-group
 neighbor 10.0.0.1 remote-as 65001
 neighbor 10.0.0.1 peer-group LEAVES
 neighbor 10.0.0.3 remote-as 65002
 neighbor 10.0.0.3 peer-group LEAVES
 address-family ipv4 unicast
  network 10.255.1.1/32
  neighbor LEAVES activate
  neighbor LEAVES route-map ANY in
  neighbor LEAVES route-map ANY out
 exit-address-family
exit
route-map ANY permit 10
exit
"""


def configure(device: Device, loopback: str, links: dict[str, str], frr: str) -> None:
    """Give a switch addresses and routing, as a deployment leaves it."""
    device.db.delete_table("INTERFACE")
    device.db.delete_table("LOOPBACK_INTERFACE")
    device.db.delete_table("BGP_NEIGHBOR")
    device.db.put("LOOPBACK_INTERFACE|Loopback0", {})
    device.db.put(f"LOOPBACK_INTERFACE|Loopback0|{loopback}/32", {})
    for port, address in links.items():
        device.db.put(f"INTERFACE|{port}", {})
        device.db.put(f"INTERFACE|{port}|{address}/31", {})
    metadata = {"hostname": device.name, "docker_routing_config_mode": "split-unified"}
    device.db.set_fields("DEVICE_METADATA|localhost", metadata)
    device.files.write("/etc/sonic/frr/frr.conf", frr.encode())
    device.react()
    device.start_frr()


@pytest.fixture
def fabric() -> Fabric:
    """Return two leaves and a spine with their sessions up, and a host on leaf1's second port."""
    network, clock = Fabric(), Clock(0.0)
    for number, name in enumerate(("leaf1", "leaf2", "spine1"), start=1):
        device = Device(sim_device(name, number), clock)
        device.install()
        network.add_device(device)
    network.hosts["gpu1"] = SimHost("gpu1", "02:00:00:00:01:01")
    for a, b in (("leaf1:Ethernet0", "spine1:Ethernet0"), ("leaf2:Ethernet0", "spine1:Ethernet4"),
                 ("leaf1:Ethernet4", "gpu1:eth0")):  # fmt: skip
        network.plug(SimCable(a, b))
    devices = network.devices
    configure(devices["leaf1"], "10.255.0.1", {"Ethernet0": "10.0.0.1"}, leaf_frr(1))
    configure(devices["leaf2"], "10.255.0.2", {"Ethernet0": "10.0.0.3"}, leaf_frr(2))
    configure(devices["spine1"], "10.255.1.1", {"Ethernet0": "10.0.0.0", "Ethernet4": "10.0.0.2"}, SPINE_FRR)
    return network
