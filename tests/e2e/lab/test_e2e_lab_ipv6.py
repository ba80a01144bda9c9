"""Nodes with IPv6 beside IPv4, on real FRR and the kernel's forwarding: a live fabric gets the family and loses it."""

import json
import time
from typing import Any

import pytest

# The simulator's scenarios of the same name run for every change.
pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

LEAVES, SPINES = ("dual-leaf1", "dual-leaf2"), ("dual-spine1", "dual-spine2")
UPLINKS = ("Ethernet116", "Ethernet120")
BLOCKS = {LEAVES[0]: "fd00:10:0:1::/64", LEAVES[1]: "fd00:10::/64"}
"""Of each leaf the /64 behind the other."""

ON_A_RAIL, BETWEEN_RAILS = "-6 -I fd00:10::3 fd00:10::5", "-6 -I fd00:10::3 fd00:10:0:1::5"
DATA = 9000 - 48
LEAF_SESSIONS_S = 30.0
"""The most that the sessions of two leaves may take to come back, one leaf after the other."""

IPV6 = ", hosts_ipv6: fd00:10::/44"


def next_hops(rig: Any, leaf: str) -> set[str]:
    """Return the interfaces by which FRR forwards to the other leaf's /64; all next hops are link-local addresses."""
    told = json.loads(rig.on(leaf, f"vtysh -c 'show ipv6 route {BLOCKS[leaf]} json'"))
    hops = [hop for routes in told.values() for route in routes for hop in route["nexthops"] if hop.get("fib")]
    assert all(hop["ip"].startswith("fe80:") for hop in hops)
    return {hop["interfaceName"] for hop in hops}


def in_kernel(rig: Any, leaf: str) -> set[str]:
    routes = json.loads(rig.on(leaf, f"ip -6 -j route show {BLOCKS[leaf]}") or "[]")
    return {hop["dev"] for route in routes for hop in route.get("nexthops", [route])}


def test_a_live_fabric_gets_ipv6(dual: Any, streams: Any, proves: Any) -> None:
    dual.edit((IPV6, ""))
    assert dual.deploy()["result"] == "done"
    assert next_hops(dual, LEAVES[0]) == set()
    dual.edit(("underlay: unnumbered", f"underlay: unnumbered{IPV6}"))
    running = streams(dual, ("gpu1", "-I 10.32.0.1 10.32.0.67"))
    begun = time.monotonic()
    assert dual.deploy()["result"] == "done"
    seconds = time.monotonic() - begun
    lost = sum(stream.stop()[1] for stream in running) * 0.05
    assert lost <= LEAF_SESSIONS_S
    for leaf in LEAVES:
        dual.wait_until(lambda leaf=leaf: next_hops(dual, leaf) == set(UPLINKS), 60, f"both next hops on {leaf}")
        assert in_kernel(dual, leaf) == set(UPLINKS)
    dual.as_intended()
    proves(f"IPv6 added to a live fabric in {seconds:.0f} s; IPv4 between rails without a path for {lost:.2f} s")


def test_nodes_reach_each_other_over_ipv6_with_the_largest_packet(dual: Any, proves: Any) -> None:
    dual.as_intended()
    for line in (ON_A_RAIL, BETWEEN_RAILS):
        assert dual.pings("gpu1", f"-M do -s {DATA} {line}"), line
    proves("9000 bytes of IPv6 between two nodes, on a rail and between rails, with don't-fragment")


def test_a_drained_spine_carries_neither_family_and_no_packet_is_lost(dual: Any, streams: Any, proves: Any) -> None:
    running = streams(dual, ("gpu1", BETWEEN_RAILS))
    dual.run("drain", SPINES[0], "--target", "lab", "--yes")
    drained = next_hops(dual, LEAVES[0])
    dual.run("undrain", SPINES[0], "--target", "lab", "--yes")
    dual.wait_until(lambda: next_hops(dual, LEAVES[0]) == set(UPLINKS), 60, "both next hops")
    assert drained == {UPLINKS[1]}
    assert sum(stream.stop()[1] for stream in running) == 0
    proves("a spine drained and undrained: IPv6 leaves it and comes back, no packet lost")


def test_a_session_that_lost_ipv6_is_named_and_repaired(dual: Any, proves: Any) -> None:
    words = "-c 'address-family ipv6 unicast' -c 'no neighbor LEAVES activate'"
    dual.on(SPINES[0], f"vtysh -c 'configure terminal' -c 'router bgp 4200001000' {words}")
    dual.wait_until(
        lambda: (
            {(one["device"], one["kind"]) for one in dual.verify(status=None)["checks"] if not one["ok"]}
            == {(SPINES[0], "ipv6"), (LEAVES[0], "ipv6"), (LEAVES[1], "ipv6")}
        ),
        20,
        "only the family is missing, at both ends",
    )
    assert dual.deploy()["result"] == "done"
    dual.as_intended()
    proves("a family turned off by hand on one spine: named at both ends, and repaired by a deployment")


def test_a_live_fabric_loses_ipv6(dual: Any, proves: Any) -> None:
    text = dual.intent.read_text()
    dual.edit((IPV6, ""))
    try:
        assert dual.deploy()["result"] == "done"
        assert dual.deploy()["result"] == "unchanged"
        assert next_hops(dual, LEAVES[0]) == set()
        assert "-V6" not in dual.running(LEAVES[0])["bgpraw"]
        assert "fd00:10" not in dual.on(LEAVES[0], "ip -6 address show")
    finally:
        dual.intent.write_text(text)
    proves("IPv6 taken out again: no line, address or route of it is left")
