"""Graceful shutdown and SONiC's TSA in the simulated fabric, as on FRR 8.4, and the counters that tell of a drain."""

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from by_check import sampled
from sim_switches import sim_device

from sonic_sim.bgp.routes import forget_routes, pass_seconds, ribs_of
from sonic_sim.clock import Clock
from sonic_sim.device import Device, Fabric
from sonic_sim.spec import SimCable, SimHost
from sonic_sim.traffic import USED_PACKETS_PER_S

Run = Callable[..., tuple[int, str, str]]

LEAF = """\
ip route 10.32.{n}.0/25 blackhole 250
router bgp 6500{n}
 bgp router-id 10.255.0.{n}
 no bgp default ipv4-unicast
 bgp bestpath as-path multipath-relax
 neighbor SPINES peer-group
 neighbor 10.0.{n}.0 remote-as 65100
 neighbor 10.0.{n}.0 peer-group SPINES
 neighbor 10.0.{n}.2 remote-as 65100
 neighbor 10.0.{n}.2 peer-group SPINES
 address-family ipv4 unicast
  network 10.32.{n}.0/25
  neighbor SPINES activate
  neighbor SPINES route-map FROM-SPINES in
  neighbor SPINES route-map TO-SPINES-V4 out
  maximum-paths 64
 exit-address-family
exit
bgp community-list standard LEARNED seq 5 permit 64512:1
ip prefix-list OWN seq 5 permit 10.32.{n}.0/25
route-map FROM-SPINES permit 10
 set community 64512:1 additive
exit
route-map TO-SPINES-V4 deny 100
 match community LEARNED
exit
route-map TO-SPINES-V4 permit 110
 match ip address prefix-list OWN
exit
"""
SPINE = """\
router bgp 65100
 bgp router-id 10.255.1.{n}
 no bgp default ipv4-unicast
 bgp bestpath as-path multipath-relax
 neighbor LEAVES peer-group
 neighbor 10.0.1.{far} remote-as 65001
 neighbor 10.0.1.{far} peer-group LEAVES
 neighbor 10.0.2.{far} remote-as 65002
 neighbor 10.0.2.{far} peer-group LEAVES
 address-family ipv4 unicast
  network 10.255.1.{n}/32
  neighbor LEAVES activate
  neighbor LEAVES route-map ANY in
  neighbor LEAVES route-map TO-LEAVES-V4 out
 exit-address-family
exit
ip prefix-list PL_LoopbackV4 seq 5 permit 10.255.1.{n}/32
route-map ANY permit 10
exit
route-map TO-LEAVES-V4 permit 100
exit
"""
DRAIN_LINK = """\
route-map DRAINED-{group} permit 10
 call {base}
 on-match next
exit
route-map DRAINED-{group} permit 20
 set community 65535:0 additive
 set local-preference 0
exit
"""


@pytest.fixture
def clos() -> Fabric:
    """Two leaves with a node each, two spines, all sessions up."""
    net, clock = Fabric(), Clock(0.0)
    for number, name in enumerate(("leaf1", "leaf2", "spine1", "spine2"), start=1):
        device = Device(sim_device(name, number), clock)
        device.install()
        net.add_device(device)
    for leaf in (1, 2):
        net.hosts[f"gpu{leaf}"] = SimHost(f"gpu{leaf}", f"02:00:00:00:00:0{leaf}")
        net.plug(SimCable(f"leaf{leaf}:Ethernet8", f"gpu{leaf}:eth0"))
        for spine in (1, 2):
            net.plug(SimCable(f"leaf{leaf}:Ethernet{4 * spine - 4}", f"spine{spine}:Ethernet{4 * leaf - 4}"))
    for n in (1, 2):
        links = {"Ethernet0": f"10.0.{n}.1", "Ethernet4": f"10.0.{n}.3", "Ethernet8": f"10.32.{n}.0"}
        give(net.devices[f"leaf{n}"], links, LEAF.format(n=n))
        downlinks = {"Ethernet0": f"10.0.1.{2 * n - 2}", "Ethernet4": f"10.0.2.{2 * n - 2}"}
        give(net.devices[f"spine{n}"], downlinks, SPINE.format(n=n, far=2 * n - 1))
    return net


def give(device: Device, links: dict[str, str], frr: str) -> None:
    for table in ("INTERFACE", "LOOPBACK_INTERFACE", "BGP_NEIGHBOR"):
        device.db.delete_table(table)
    for port, address in links.items():
        device.db.put(f"INTERFACE|{port}", {})
        device.db.put(f"INTERFACE|{port}|{address}/31", {})
    device.db.set_fields(
        "DEVICE_METADATA|localhost", {"hostname": device.name, "docker_routing_config_mode": "split-unified"}
    )
    device.files.write("/etc/sonic/frr/frr.conf", frr.encode())
    device.react()
    device.start_frr()


def configure(run: Run, device: Device, text: str) -> None:
    device.files.write("/etc/sonic/frr/railweave.conf", text.encode())
    assert run(device, "vtysh -f /etc/frr/railweave.conf")[0] == 0


def hops(run: Run, net: Fabric, name: str, prefix: str) -> set[str]:
    routes = json.loads(run(net.devices[name], "vtysh -c 'show ip route json'")[1])
    return {hop["interfaceName"] for hop in routes[prefix][0]["nexthops"]}


def settled(run: Run, net: Fabric, name: str, prefix: str, ports: set[str]) -> None:
    """Let the time pass in which BGP converges on these ports."""
    net.devices[name].clock.advance(60.0)
    assert hops(run, net, name, prefix) == ports


def paths(run: Run, net: Fabric, name: str, prefix: str) -> dict[str, Any]:
    shown = json.loads(run(net.devices[name], f"vtysh -c 'show bgp ipv4 unicast {prefix} json'")[1])
    return {path["peerId"]: path for path in shown["paths"]}


SHUTDOWN = "vtysh -c 'conf t' -c 'router bgp 65100' -c '{}bgp graceful-shutdown'"


def test_a_drained_spine_stays_in_the_table_and_leaves_the_forwarding(run: Run, clos: Fabric) -> None:
    settled(run, clos, "leaf1", "10.32.2.0/25", {"Ethernet0", "Ethernet4"})
    assert run(clos.devices["spine1"], SHUTDOWN.format("")) == (0, "", "")
    settled(run, clos, "leaf1", "10.32.2.0/25", {"Ethernet4"})
    found = paths(run, clos, "leaf1", "10.32.2.0/25")
    assert found["10.0.1.0"]["locPrf"] == 0
    assert found["10.0.1.0"]["community"]["list"] == ["64512:1", "gracefulShutdown"]
    assert "locPrf" not in found["10.0.1.2"]
    assert found["10.0.1.2"]["bestpath"]
    assert "     0      0 65100 65002 i" in run(clos.devices["leaf1"], "vtysh -c 'show ip bgp'")[1]
    # the spine itself still forwards what reaches it
    settled(run, clos, "spine1", "10.32.2.0/25", {"Ethernet4"})
    assert run(clos.devices["spine1"], SHUTDOWN.format("no "))[0] == 0
    settled(run, clos, "leaf1", "10.32.2.0/25", {"Ethernet0", "Ethernet4"})


@pytest.mark.parametrize("shown", [" bgp graceful-shutdown", "bgp graceful-shutdown"])
def test_a_saved_drain_survives_a_restart_and_an_unsaved_one_does_not(run: Run, clos: Fabric, shown: str) -> None:
    spine = clos.devices["spine1"]
    assert run(spine, "config save -y")[0] == 0
    whole = shown[0] != " "
    configure(run, spine, "bgp graceful-shutdown\n" if whole else "router bgp 65100\n bgp graceful-shutdown\n")
    assert shown in run(spine, "vtysh -c 'show running-config'")[1].splitlines()
    spine.boot()
    settled(run, clos, "leaf1", "10.32.2.0/25", {"Ethernet0", "Ethernet4"})
    configure(run, spine, "bgp graceful-shutdown\n" if whole else "router bgp 65100\n bgp graceful-shutdown\n")
    assert run(spine, "vtysh -c 'write memory'")[0] == 0
    spine.boot()
    settled(run, clos, "leaf1", "10.32.2.0/25", {"Ethernet4"})


@pytest.mark.parametrize(("name", "peer"), [("spine1", "10.0.1.1"), ("leaf1", "10.0.1.0")])
def test_one_link_is_drained_both_ways_from_either_end(run: Run, clos: Fabric, name: str, peer: str) -> None:
    ways = ("ANY", "TO-LEAVES-V4") if name == "spine1" else ("FROM-SPINES", "TO-SPINES-V4")
    number = "65100" if name == "spine1" else "65001"
    maps = "".join(DRAIN_LINK.format(group=base, base=base) for base in dict.fromkeys(ways))
    bound = "".join(
        f"  neighbor {peer} route-map DRAINED-{base} {way}\n" for base, way in zip(ways, ("in", "out"), strict=True)
    )
    start = f"router bgp {number}\n address-family ipv4 unicast\n"
    configure(run, clos.devices[name], f"{maps}{start}{bound}")
    settled(run, clos, "leaf1", "10.32.2.0/25", {"Ethernet4"})
    settled(run, clos, "leaf2", "10.32.1.0/25", {"Ethernet4"})
    received = json.loads(run(clos.devices["spine1"], "vtysh -c 'show bgp summary json'")[1])
    assert received["ipv4Unicast"]["peers"]["10.0.1.1"]["pfxRcd"] == 1, "a leaf announces what is its own alone"
    configure(run, clos.devices[name], start + bound.replace("  neighbor", "  no neighbor"))
    settled(run, clos, "leaf1", "10.32.2.0/25", {"Ethernet0", "Ethernet4"})


SAVE = "Please execute 'sudo config save' to preserve System mode in {} after reboot or config reload\n"
LOOPBACK, FAR = "10.255.1.1/32", "10.32.2.0/25"


def mode(run: Run, device: Device) -> str:
    return run(device, "sudo TSC no-stats")[1].removeprefix("System Mode: ").strip()


def test_tsa_takes_a_spine_out_of_traffic_and_tsb_brings_it_back(run: Run, clos: Fabric) -> None:
    spine = clos.devices["spine1"]
    spine.db.put(f"LOOPBACK_INTERFACE|Loopback0|{LOOPBACK}", {})
    settled(run, clos, "leaf1", FAR, {"Ethernet0", "Ethernet4"})
    before = spine.frr.text()
    assert mode(run, spine) == "Normal"
    assert run(spine, "TSA") == (0, "System Mode: Normal -> Maintenance\n" + SAVE.format("Maintenance"), "")
    assert run(spine, "TSA")[1].startswith("System is already in Maintenance\n")
    assert mode(run, spine) == "Maintenance"
    settled(run, clos, "leaf1", FAR, {"Ethernet4"})
    # All that it still announces is itself, marked.
    kept = paths(run, clos, "leaf1", LOOPBACK)["10.0.1.0"]
    assert kept["community"]["list"] == ["12345:12345", "64512:1"]
    assert set(paths(run, clos, "leaf1", FAR)) == {"10.0.1.2"}
    assert run(spine, "TSB") == (0, "System Mode: Maintenance -> Normal\n" + SAVE.format("Normal state"), "")
    assert run(spine, "TSB")[1].startswith("System is already in Normal mode\n")
    settled(run, clos, "leaf1", FAR, {"Ethernet0", "Ethernet4"})
    assert spine.frr.text() == before
    assert "IFACE" in run(spine, "TSC")[1]


def test_tsa_needs_root_and_route_maps_of_its_names(run: Run, clos: Fabric) -> None:
    leaf = clos.devices["leaf1"]
    for command in ("TSA", "TSB", "TSC"):
        assert run(leaf, command, user="admin") == (1, "Root priveleges are needed for this operation\n", "")
    named = leaf.frr.text().replace("TO-SPINES-V4", "TO-SPINES")
    leaf.frr.start(named, "leaf1")
    assert mode(run, leaf) == "No external neighbors"
    run(leaf, "TSA")
    assert leaf.frr.text() == named, "nothing is isolated"


def test_tsa_that_config_db_holds_comes_again_when_the_container_starts(run: Run, clos: Fabric) -> None:
    spine = clos.devices["spine1"]
    run(spine, "TSA")
    run(spine, "config save -y")
    spine.boot()
    spine.clock.advance(60.0)
    assert mode(run, spine) == "Maintenance"


def packets(run: Run, device: Device) -> dict[str, tuple[int, int, int]]:
    """Return received packets, errors and discards of each port."""
    names = json.loads(run(device, "sonic-db-dump -n COUNTERS_DB -y -k COUNTERS_PORT_NAME_MAP")[1])
    rows = json.loads(run(device, "sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS:oid:0x1????????????'")[1])
    found = {}
    for port, oid in names["COUNTERS_PORT_NAME_MAP"]["value"].items():
        row = rows[f"COUNTERS:{oid}"]["value"]
        kinds = ("IN_UCAST_PKTS", "IN_ERRORS", "OUT_DISCARDS")
        found[port] = tuple(int(row[f"SAI_PORT_STAT_IF_{kind}"]) for kind in kinds)
    return found  # type: ignore[return-value]


def rates(run: Run, device: Device, elapsed: Callable[[float], None], place: int = 0) -> dict[str, float]:
    started_s = time.monotonic()
    # Only `elapsed` moves the clock: rates are of ten seconds exactly, however long the commands take.
    with pytest.MonkeyPatch.context() as still:
        still.setattr(Clock, "monotonic", lambda clock: started_s + clock.ahead_s)
        packets(run, device)
        before = packets(run, device)
        elapsed(10.0)
        after = packets(run, device)
    return {port: (after[port][place] - before[port][place]) / 10.0 for port in after}


@pytest.fixture
def elapsed(clos: Fabric) -> Callable[[float], None]:
    """Return a function that lets time pass on all switches."""
    return clos.devices["leaf1"].clock.advance


def test_used_ports_carry_traffic_and_drained_ones_their_keepalives(
    run: Run, clos: Fabric, elapsed: Callable[[float], None]
) -> None:
    def used(name: str) -> set[str]:
        found = rates(run, clos.devices[name], elapsed)
        assert all(rate < 10 or abs(rate - USED_PACKETS_PER_S) < 50 for rate in found.values())
        return {port for port, rate in found.items() if rate > 10}

    assert used("leaf1") == {"Ethernet0", "Ethernet4", "Ethernet8"}
    assert used("spine1") == {"Ethernet0", "Ethernet4"}
    run(clos.devices["spine1"], SHUTDOWN.format(""))
    settled(run, clos, "leaf1", "10.32.2.0/25", {"Ethernet4"})
    assert used("spine1") == set()
    assert used("leaf1") == {"Ethernet4", "Ethernet8"}
    assert used("spine2") == {"Ethernet0", "Ethernet4"}
    run(clos.devices["spine1"], SHUTDOWN.format("no "))
    settled(run, clos, "leaf1", "10.32.2.0/25", {"Ethernet0", "Ethernet4"})
    assert used("spine1") == {"Ethernet0", "Ethernet4"}


def test_a_port_with_errors_counts_them_until_the_fault_is_cleared(
    run: Run, clos: Fabric, elapsed: Callable[[float], None]
) -> None:
    leaf = clos.devices["leaf1"]
    assert set(rates(run, leaf, elapsed, 1).values()) == {0.0}
    leaf.faults.add("errors", port="Ethernet0", rate=50.0)
    for place in (1, 2):
        found = rates(run, leaf, elapsed, place)
        assert abs(found["Ethernet0"] - 50) < 1
        assert found["Ethernet4"] == 0
    leaf.faults.clear("errors")
    assert set(rates(run, leaf, elapsed, 1).values()) == {0.0}
    assert packets(run, leaf)["Ethernet0"][1] >= 1000
    leaf.faults.add("errors")
    assert {port for port, rate in rates(run, leaf, elapsed, 1).items() if rate} == {
        "Ethernet0", "Ethernet4", "Ethernet8"
    }, "all ports that are up"  # fmt: skip


# Routes that follow each change are those that a fresh start brings


def _vtysh(*lines: str) -> str:
    return "vtysh " + " ".join(f"-c '{line}'" for line in ("configure terminal", *lines))


def _changes() -> list[tuple[str, str]]:
    """Return changes and what takes them back, as (switch, command line)."""
    leaves = [(f"leaf{n}", _vtysh(f"router bgp 6500{n}", line.format(n=n))) for n in (1, 2) for line in (
        "neighbor 10.0.{n}.0 shutdown", "no neighbor 10.0.{n}.0 shutdown", "bgp graceful-shutdown",
        "no bgp graceful-shutdown",
    )]  # fmt: skip
    networks = [
        (f"leaf{n}", _vtysh(f"router bgp 6500{n}", "address-family ipv4 unicast", f"{no}network 10.32.{n}.0/25"))
        for n in (1, 2)
        for no in ("", "no ")
    ]
    filters = [
        ("leaf1", _vtysh("route-map FROM-SPINES permit 10", f"{no}set local-preference 50")) for no in ("", "no ")
    ]
    ports = [
        (name, f"config interface {way} Ethernet{port}")
        for name in ("leaf1", "spine2")
        for way in ("shutdown", "startup")
        for port in (0, 4)
    ]
    restarts = [("spine1", "systemctl restart bgp"), ("leaf2", "systemctl restart bgp")]
    return [*leaves, *networks, *filters, *ports, *restarts]


def _routes_of(net: Fabric) -> dict[str, Any]:
    pass_seconds(net, 60.0)
    ribs = ribs_of(net)
    return {
        name: (rib.best, {peer: table for peer, table in rib.received.items() if table}, rib.sent)
        for name, rib in sorted(ribs.items())
    }


@pytest.mark.parametrize("seed", sampled(range(6), every=3))
def test_routes_after_many_changes_are_those_of_a_fresh_start(
    seed: int, run: Run, clos: Fabric, elapsed: Callable[[float], None]
) -> None:
    chosen = random.Random(seed)
    changes, different = _changes(), set()
    for _ in range(30):
        name, line = chosen.choice(changes)
        run(clos.devices[name], line)
        elapsed(chosen.choice((0.0, 1.0, 30.0)))
        step_by_step = _routes_of(clos)
        forget_routes(clos)
        assert _routes_of(clos) == step_by_step, (name, line)
        different.add(str(step_by_step))
    assert len(different) > 5, "the changes reach the routes"
