"""A fabric without addresses between switches: IPv4 routes over IPv6 link-local next hops (RFC 8950).

Its switches are reached by ``docker exec`` instead of SSH, as docker-sonic-vs must be.
"""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from command_rig import own_template
from sim_beside_lab import beside, compared

pytestmark = pytest.mark.e2e

LEAVES, SPINES = ("bare-leaf1", "bare-leaf2"), ("bare-spine1", "bare-spine2")
UPLINKS = ("Ethernet116", "Ethernet120")
NEW_UPLINK = "Ethernet124"
BLOCKS = {LEAVES[0]: "10.32.0.64/26", LEAVES[1]: "10.32.0.0/26"}
"""Of each leaf the host block behind the other."""

DATA = 9000 - 28
BETWEEN_RAILS = tuple(
    (node, f"-I {near} {far}")
    for node, near, far in (
        ("gpu1", "10.32.0.1", "10.32.0.67"),
        ("gpu1", "10.32.0.65", "10.32.0.3"),
        ("gpu2", "10.32.0.3", "10.32.0.65"),
        ("gpu2", "10.32.0.67", "10.32.0.1"),
    )
)
LINK_S = 2.0


def next_hops(rig: Any, leaf: str) -> dict[str, str]:
    """Return interface and address family of FRR's installed next hops to the other leaf's host block."""
    ((route,),) = json.loads(rig.on(leaf, f"vtysh -c 'show ip route {BLOCKS[leaf]} json'")).values()
    return {hop["interfaceName"]: hop["afi"] for hop in route["nexthops"] if hop.get("fib")}


def in_kernel(rig: Any, leaf: str) -> set[str]:
    (route,) = json.loads(rig.on(leaf, f"ip -j route show {BLOCKS[leaf]}"))
    return {hop["dev"] for hop in route.get("nexthops", [route])}


def test_an_unnumbered_fabric_is_deployed_from_bare_over_docker_exec(bare_unnumbered: Any, proves: Any) -> None:
    unnumbered = bare_unnumbered
    begun = time.monotonic()
    assert unnumbered.deploy()["result"] == "done"
    for switch in (*LEAVES, *SPINES):
        peers = unnumbered.bgp(switch)
        assert {one["state"] for one in peers.values()} == {"Established"}
        assert all(peer.startswith("Ethernet") for peer in peers), peers
        assert len(peers) == 2
    assert unnumbered.deploy()["result"] == "unchanged"
    told = json.loads((unnumbered.folder / ".railweave" / "lab" / "bare" / "endpoints.json").read_text())
    assert told["options"] == {"transport": "docker"}
    seconds = time.monotonic() - begun
    proves(
        f"4 switches without SSH in {seconds:.0f} s; 8 sessions over interfaces; a second deployment changes nothing"
    )


def test_ipv4_routes_have_ipv6_next_hops_on_every_uplink(unnumbered: Any, proves: Any) -> None:
    for leaf in LEAVES:
        assert next_hops(unnumbered, leaf) == dict.fromkeys(UPLINKS, "ipv6")
        assert in_kernel(unnumbered, leaf) == set(UPLINKS)
    proves("2 IPv6 next hops for the far leaf's IPv4 block, on both leaves, in FRR and in the kernel")


def test_hosts_reach_each_other_with_the_largest_packet(unnumbered: Any, proves: Any) -> None:
    for far in ("10.32.0.3", "10.32.0.67"):
        assert unnumbered.pings("gpu1", f"-M do -s {DATA} -I 10.32.0.1 {far}"), far
    link_locals = unnumbered.on(LEAVES[0], f"ip -6 neigh show dev {UPLINKS[0]}").split()
    assert unnumbered.pings(LEAVES[0], f"-6 -M do -s {9100 - 48} {link_locals[0]}%{UPLINKS[0]}"), "the fabric's MTU"
    proves("9000 bytes between hosts of both leaves, 9100 between leaf and spine, with don't-fragment")


def test_traffic_goes_on_when_a_link_goes_down(unnumbered: Any, streams: Any, proves: Any) -> None:
    running = streams(unnumbered, *BETWEEN_RAILS)
    time.sleep(1)
    unnumbered.on(LEAVES[0], f"ip link set {UPLINKS[0]} down")
    try:
        time.sleep(LINK_S + 0.5)
        seconds = max(lost for _, lost in (stream.stop() for stream in running)) * 0.05
        assert next_hops(unnumbered, LEAVES[0]) == {UPLINKS[1]: "ipv6"}
        faults = [check for check in unnumbered.verify(status=1)["checks"] if not check["ok"]]
    finally:
        unnumbered.on(LEAVES[0], f"ip link set {UPLINKS[0]} up")
    named = {(check["device"], check["kind"], check["subject"]) for check in faults}
    assert {(LEAVES[0], "link", UPLINKS[0]), (SPINES[0], "link", "Ethernet0")} <= named
    assert seconds <= LINK_S
    unnumbered.as_intended()
    # A session is there before the routes that it brings.
    both = dict.fromkeys(UPLINKS, "ipv6")
    unnumbered.wait_until(lambda: next_hops(unnumbered, LEAVES[0]) == both, 60, "both next hops")
    proves(f"unnumbered link down: traffic back after {seconds:.2f} s, the cable named; up again: both next hops back")


def test_a_deployment_that_ends_in_a_dead_session_is_rolled_back(unnumbered: Any, proves: Any) -> None:
    template = own_template(unnumbered.folder)
    inventory = unnumbered.folder / "inventory" / "lab.yml"
    texts = {file: file.read_text() for file in (template, inventory)}
    assert "remote-as {{ remote_asn }}" in texts[template]
    before = unnumbered.running(LEAVES[0])["bgpraw"]
    try:
        wrong = "remote-as {{ remote_asn + 5 if attaches_nodes and loop.first else remote_asn }}"
        template.write_text(texts[template].replace("remote-as {{ remote_asn }}", wrong))
        unnumbered.set_rollout(verify_timeout=4, drain_timeout=4, revert_in=34, verify_interval=1)
        stopped = unnumbered.deploy_apart(status=1)
    finally:
        restore(texts)
    assert stopped["result"] == "stopped"
    assert {name: one["outcome"] for name, one in stopped["devices"].items() if one["error"]} == {LEAVES[0]: "old"}
    assert unnumbered.running(LEAVES[0])["bgpraw"] == before
    unnumbered.as_intended()
    proves(f"wrong AS number on purpose, over docker exec: {LEAVES[0]} went back, and the rollout stopped")


def restore(texts: dict[Path, str]) -> None:
    for file, text in texts.items():
        file.write_text(text)


def test_one_spine_more_loses_no_packet(unnumbered: Any, streams: Any, proves: Any) -> None:
    unnumbered.edit(("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}"))
    running = streams(unnumbered, *BETWEEN_RAILS)
    result = unnumbered.deploy()
    lost = sum(stream.stop()[1] for stream in running)
    assert result["result"] == "done"
    assert lost == 0
    for leaf in LEAVES:
        assert next_hops(unnumbered, leaf) == dict.fromkeys((*UPLINKS, NEW_UPLINK), "ipv6")
        assert in_kernel(unnumbered, leaf) == {*UPLINKS, NEW_UPLINK}
    unnumbered.as_intended()
    proves("a third spine without an address on its links: no packet lost, 3 IPv6 next hops on both leaves")


def test_the_simulator_shows_what_the_unnumbered_lab_shows(unnumbered: Any, proves: Any) -> None:
    with beside(unnumbered):
        proves(f"unnumbered: {compared(unnumbered)}")
