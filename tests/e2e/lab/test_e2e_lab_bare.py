"""A fabric on real FRR, Redis, kernel and SSH: deployed from bare nodes, what it carries, and drift by hand."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

HOSTS_MTU, FABRIC_MTU, ICMP_BYTES = 9000, 9100, 28
LEAVES, SPINES = ("lab-leaf1", "lab-leaf2"), ("lab-spine1", "lab-spine2")
NODES = ("gpu1", "gpu2", "gpu3", "gpu4")
UPLINKS = {"lab-spine1": "Ethernet112", "lab-spine2": "Ethernet116"}


def address(node: int, rail: int) -> str:
    """Return the address of rail ``rail`` of GPU node ``node`` of the first stripe (both from 0)."""
    return f"10.32.{(rail * 64) // 256}.{(rail * 64) % 256 + 2 * node + 1}"


def block(rail: int, stripe: int = 0) -> str:
    return f"10.32.0.{64 * (2 * stripe + rail)}/26"


def next_hops(rig: Any, switch: str, prefix: str) -> set[str]:
    """Return the next hops of a route in the switch's kernel."""
    routes = json.loads(rig.on(switch, f"ip -j route show {prefix}") or "[]")
    return {hop["gateway"] for route in routes for hop in route.get("nexthops", [route])}


def test_bare_nodes_are_deployed_and_every_session_is_established(rig: Any, proves: Any) -> None:
    begun = time.monotonic()
    result = rig.deploy()
    assert result["result"] == "done"
    assert {one["outcome"] for one in result["devices"].values()} == {"new"}
    peers = {switch: rig.bgp(switch) for switch in (*LEAVES, *SPINES)}
    assert {switch: len(seen) for switch, seen in peers.items()} == dict.fromkeys((*LEAVES, *SPINES), 2)
    assert {one["state"] for seen in peers.values() for one in seen.values()} == {"Established"}
    assert rig.verify()["ok"] is True
    proves(f"4 switches from bare to verified in {time.monotonic() - begun:.0f} s; FRR says 8 sessions established")


def test_every_host_reaches_every_host_with_the_largest_packet(rig: Any, proves: Any) -> None:
    data = HOSTS_MTU - ICMP_BYTES
    pairs = [
        (one, rail, address(other, far))
        for one in range(4)
        for rail in (0, 1)
        for other in range(4)
        for far in (0, 1)
        if one != other
    ]
    for one in range(4):
        lines = [
            f"ping -c1 -W2 -M do -s {data} -I {address(one, rail)} {far} >/dev/null || echo {rail} to {far}"
            for source, rail, far in pairs
            if source == one
        ]
        assert rig.on(NODES[one], "; ".join(lines)) == ""
    too_large = f"-M do -s {data + 1} -I {address(0, 0)} {address(1, 0)}"
    assert not rig.pings("gpu1", too_large), "a packet above the hosts' MTU must not fit"
    proves(f"{len(pairs)} host pairs, both rails, {HOSTS_MTU} bytes with don't-fragment")


def test_leaf_and_spine_carry_the_fabric_mtu(rig: Any, proves: Any) -> None:
    links = [link for link in rig.fabric()["links"] if link["kind"] == "leaf_spine"]
    for link in links:
        far = link["b"]["address"].partition("/")[0]
        whole = f"-M do -s {FABRIC_MTU - ICMP_BYTES} {far}"
        assert rig.pings(link["a"]["device"], whole), link
        assert not rig.pings(link["a"]["device"], f"-M do -s {FABRIC_MTU - ICMP_BYTES + 1} {far}"), link
    proves(f"{len(links)} leaf-spine links carry {FABRIC_MTU} bytes and not one more")


def test_a_packet_between_rails_passes_leaf_spine_leaf(rig: Any, proves: Any) -> None:
    told = rig.on("gpu1", f"traceroute -n -q1 -w2 -s {address(0, 0)} {address(1, 1)}")
    hops = re.findall(r"^ *\d+  (\S+)", told, re.MULTILINE)
    loopbacks = {one["loopback"].partition("/")[0]: one["name"] for one in rig.fabric()["devices"] if one["loopback"]}
    ends = {
        link[end]["address"].partition("/")[0]: link[end]["device"]
        for link in rig.fabric()["links"]
        for end in ("a", "b")
    }
    path = [loopbacks.get(hop, ends.get(hop, hop)) for hop in hops]
    assert [re.sub(r"\d+$", "", one) for one in path] == ["lab-leaf", "lab-spine", "lab-leaf", "gpu"], told
    assert path[0] == "lab-leaf1", told
    assert path[2:] == ["lab-leaf2", "gpu2"], told
    proves(" -> ".join(["gpu1", *path]))


def test_every_uplink_carries_an_equal_path(rig: Any, proves: Any) -> None:
    for leaf, far in zip(LEAVES, (1, 0), strict=True):
        hops = next_hops(rig, leaf, block(far))
        assert len(hops) == len(SPINES), f"{leaf}: {hops}"
    before = {port: transmitted(rig, LEAVES[0], port) for port in UPLINKS.values()}
    rig.on(
        "gpu1",
        'python3 -c "import socket\nfor port in range(20001, 20257):\n'
        " one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f" one.bind(('{address(0, 0)}', 0)); one.sendto(b'x', ('{address(1, 1)}', port)); one.close()\"",
    )
    sent = {port: transmitted(rig, LEAVES[0], port) - before[port] for port in UPLINKS.values()}
    assert all(count >= 64 for count in sent.values()), sent
    proves(f"{len(SPINES)} next hops in the kernel; 256 flows spread as {sorted(sent.values())} packets")


def transmitted(rig: Any, switch: str, port: str) -> int:
    return int(rig.on(switch, f"cat /sys/class/net/{port}/statistics/tx_packets"))


def test_what_runs_is_what_was_rendered(rig: Any, proves: Any) -> None:
    rows = 0
    out = rig.rendered()
    for switch in (*LEAVES, *SPINES):
        running = rig.running(switch)
        wanted = json.loads((out / "switches" / switch / "config_db.json").read_text())
        for table, keys in wanted.items():
            for key, fields in keys.items():
                held = running[table][key]
                assert {name: held.get(name) for name in fields} == fields, f"{switch} {table}|{key}"
                rows += 1
        frr_agrees(out / "switches" / switch / "frr.conf", running["bgpraw"])
        saved = json.loads(rig.on(switch, "cat /etc/sonic/config_db.json"))
        assert saved["INTERFACE"] == running["INTERFACE"], f"{switch}: what boots is not what runs"
    proves(f"{rows} rows of CONFIG_DB and FRR's running configuration equal the rendered files")


def frr_agrees(rendered: Path, running: str) -> None:
    from railweave.sonic.frr import frr_delta, parse_frr

    assert frr_delta(parse_frr(running), parse_frr(rendered.read_text())) == ""


def test_the_driver_reads_neighbors_and_pings_from_a_switch(rig: Any, proves: Any) -> None:
    driver = rig.driver(LEAVES[0])
    driver.open()
    try:
        told = driver.ping("10.192.0.56", count=2)["success"]
        table = {(one["interface"], one["ip"]) for one in driver.get_arp_table()}
        environment = driver.get_environment()
        learned = driver.get_mac_address_table()
    finally:
        driver.close()
    assert (told["probes_sent"], told["packet_loss"]) == (2, 0)
    assert {("Ethernet112", "10.192.0.56"), ("Ethernet116", "10.192.0.58"), ("Ethernet0", "10.32.0.1")} <= table
    assert environment["memory"]["available_ram"] > environment["memory"]["used_ram"] > 0
    assert learned == [], "a routed fabric learns no MAC addresses"
    proves(f"ARP ({len(table)} entries), environment and ping by the driver, from a real kernel")


def test_a_second_deployment_changes_nothing(rig: Any, proves: Any) -> None:
    assert rig.deploy()["result"] == "unchanged"
    proves("no change planned, none made")


def test_drift_by_hand_is_planned_and_mended(rig: Any, proves: Any) -> None:
    qos_map = next(iter(rig.running(SPINES[1])["DSCP_TO_TC_MAP"]))
    by_hand = {
        LEAVES[0]: ("MTU", "sudo config interface mtu Ethernet112 1500"),
        LEAVES[1]: ("address", "sudo sonic-db-cli CONFIG_DB DEL 'INTERFACE|Ethernet112|10.192.0.121/31'"),
        SPINES[0]: (
            "AS number",
            "vtysh -c 'conf t' -c 'router bgp 4200001000' -c 'neighbor 10.192.0.57 remote-as 65000'",
        ),
        SPINES[1]: ("QoS map", f"sonic-db-cli CONFIG_DB HSET 'DSCP_TO_TC_MAP|{qos_map}' 26 0"),
    }
    for switch, (_, command) in by_hand.items():
        rig.on(switch, command)
    changes = rig.plan()["changes"]
    assert {(one["device"], one["table"]) for one in changes} == {
        (LEAVES[0], "PORT"),
        (LEAVES[1], "INTERFACE"),
        (SPINES[0], "frr"),
        (SPINES[1], "DSCP_TO_TC_MAP"),
    }
    assert rig.deploy()["result"] == "done"
    rig.as_intended()
    proves(f"{', '.join(what for what, _ in by_hand.values())} changed by hand on one switch each: planned and fixed")


def test_a_node_says_what_it_is(rig: Any, proves: Any) -> None:
    (version,) = re.findall(r"^SONiC Software Version: (.*)$", rig.on(LEAVES[0], "show version"), re.MULTILINE)
    assert re.fullmatch(r"railweave lab node, FRR \d+\.\d+\S*, Debian \d+\S*", version), version
    proves(version)
