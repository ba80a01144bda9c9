"""GPU nodes of a lab set up through Ansible, and the fabric carrying their packets afterwards."""

from functools import partial
from itertools import product
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

DATA = 9000 - 28
NODES = ("gpu1", "gpu2")
ADDRESSES = {"gpu1": ("10.32.0.1", "10.32.0.65"), "gpu2": ("10.32.0.3", "10.32.0.67")}


def changes(run: Any, node: str) -> set[tuple[str, str]]:
    return {(one["subject"], one["what"]) for one in run["hosts"][node]["changes"]}


def test_nodes_are_set_up_and_reach_each_other_on_every_rail(unnumbered: Any, proves: Any) -> None:
    for node in NODES:
        # As a node comes from its installer: links down, no address, no rule.
        unnumbered.on(
            node, "for rail in rail0 rail1; do ip addr flush dev $rail; ip link set $rail down mtu 1500; done"
        )
        unnumbered.on(node, "ip rule flush; ip rule add lookup main prio 32766; ip route flush table 100", status=None)
    assert not unnumbered.pings("gpu1", "-I 10.32.0.1 10.32.0.3")
    applied = unnumbered.json("hosts", "apply", "--target", "lab", "--yes")
    assert (applied["result"], applied["summary"]["changed"]) == ("done", 2)
    assert unnumbered.json("hosts", "apply", "--target", "lab", "--yes")["result"] == "unchanged"
    # Changed files were loaded once, by the run that changed them.
    assert unnumbered.on("gpu1", "sort /tmp/calls").splitlines() == ["networkctl reload", "systemctl daemon-reload"]
    for own, far in product(ADDRESSES["gpu1"], ADDRESSES["gpu2"]):
        ping = partial(unnumbered.pings, "gpu1", f"-M do -s {DATA} -I {own} {far}")
        unnumbered.wait_until(ping, 60, f"{own} to {far}")
    unnumbered.as_intended()
    proves("2 nodes set up once; 9000 bytes from each rail to each rail, across leaves and spines, with don't-fragment")


def test_a_node_changed_by_hand_is_found_and_fixed(managed: Any, proves: Any) -> None:
    managed.on("gpu1", "ip link set rail1 mtu 1500 && ip route del default table 100 && rm /etc/nccl.conf")
    assert not managed.pings("gpu1", f"-M do -s {DATA} -I 10.32.0.65 10.32.0.67")
    planned = managed.json("hosts", "plan", "--target", "lab", "--exit-code", status=2)
    wanted = {("rail1", "mtu"), ("rail0", "route default table 100"), ("/etc/nccl.conf", "content")}
    assert changes(planned, "gpu1") == wanted
    assert changes(planned, "gpu2") == set()
    assert changes(managed.json("hosts", "apply", "--target", "lab", "--yes"), "gpu1") == wanted
    assert managed.pings("gpu1", f"-M do -s {DATA} -I 10.32.0.65 10.32.0.67")
    assert managed.json("hosts", "plan", "--target", "lab")["summary"]["unchanged"] == 2
    proves("a wrong MTU, a lost route and a lost file found on one node and fixed, and the other left alone")


def test_a_node_comes_back_from_a_flap_of_its_nic(managed: Any, proves: Any) -> None:
    shown = "ip route show table 100; ip route show dev rail0; ip addr show rail0 | grep 'scope global'"
    before = managed.on("gpu1", shown)
    assert "default via 10.32.0.0" in before
    managed.on("gpu1", "ip link set rail0 down")
    assert not managed.pings("gpu1", "-I 10.32.0.1 10.32.0.3")
    managed.on("gpu1", "ip link set rail0 up")
    ping = partial(managed.pings, "gpu1", f"-M do -s {DATA} -I 10.32.0.1 10.32.0.3")
    managed.wait_until(ping, 30, "gpu1 on rail0")
    now = partial(managed.on, "gpu1", shown)
    managed.wait_until(lambda: now() == before, 30, lambda: f"{before}\n{now()}")
    managed.as_intended()
    proves("a NIC of a node down and up: addresses and routes are back by themselves")
