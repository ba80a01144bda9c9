"""The same fabric without addresses between switches: IPv4 routes over IPv6 link-local next hops (RFC 8950)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

LEAVES, SPINES = ("bare-leaf1", "bare-leaf2"), ("bare-spine1", "bare-spine2")
DATA = 9000 - 28


@pytest.fixture(scope="module")
def unnumbered(start_lab: Any) -> Iterator[Any]:
    """Start a lab of its own: the small fabric, unnumbered, without reserve."""

    def write(folder: Path) -> str:
        text = (folder / "intent" / "lab-4.yml").read_text()
        for old, new in (("fabric: lab\n", "fabric: bare\n"), ("{leaves: 4, spines: 4}", "{leaves: 2, spines: 2}")):
            assert old in text
            text = text.replace(old, new)
        (folder / "intent" / "bare.yml").write_text(text + "addressing: {underlay: unnumbered}\n")
        return "bare.yml"

    with start_lab(write) as rig:
        yield rig


def test_an_unnumbered_fabric_is_deployed_from_bare(unnumbered: Any, proves: Any) -> None:
    assert unnumbered.deploy()["result"] == "done"
    for switch in (*LEAVES, *SPINES):
        peers = unnumbered.bgp(switch)
        assert {one["state"] for one in peers.values()} == {"Established"}
        assert all(peer.startswith("Ethernet") for peer in peers), peers
        assert len(peers) == 2
    unnumbered.as_intended()
    proves("8 sessions over interfaces established; a second plan finds nothing to do")


def test_ipv4_routes_have_ipv6_next_hops_on_every_uplink(unnumbered: Any, proves: Any) -> None:
    for leaf, block in zip(LEAVES, ("10.32.0.64/26", "10.32.0.0/26"), strict=True):
        ((route,),) = json.loads(unnumbered.on(leaf, f"vtysh -c 'show ip route {block} json'")).values()
        hops = {hop["interfaceName"]: hop["afi"] for hop in route["nexthops"] if hop.get("fib")}
        assert hops == {"Ethernet120": "ipv6", "Ethernet124": "ipv6"}
        (kernel,) = json.loads(unnumbered.on(leaf, f"ip -j route show {block}"))
        assert {hop["dev"] for hop in kernel["nexthops"]} == set(hops)
    proves("2 IPv6 next hops for the far leaf's IPv4 block, on both leaves, in FRR and in the kernel")


def test_hosts_reach_each_other_with_the_largest_packet(unnumbered: Any, proves: Any) -> None:
    for far in ("10.32.0.3", "10.32.0.67"):
        assert unnumbered.pings("gpu1", f"-M do -s {DATA} -I 10.32.0.1 {far}"), far
    link_locals = unnumbered.on(LEAVES[0], "ip -6 neigh show dev Ethernet120").split()
    assert unnumbered.pings(LEAVES[0], f"-6 -M do -s {9100 - 48} {link_locals[0]}%Ethernet120"), "the fabric's MTU"
    proves("9000 bytes between hosts of both leaves, 9100 between leaf and spine, with don't-fragment")
