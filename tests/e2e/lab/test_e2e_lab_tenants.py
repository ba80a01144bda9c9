"""Tenants on real forwarding: nodes reach their own tenant and the storage, nothing else, also in growth and moves."""

from typing import Any

import pytest

# The simulator's scenarios of the same name run for every change.
pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

GPU1, GPU2, GPU3 = "10.32.0.1", "10.32.0.3", "10.32.0.5"
GPU4, GPU5, STORE = "10.32.0.129", "10.32.0.131", "10.32.0.133"
GPU7, GPU8 = "10.32.1.1", "10.32.1.3"
LEAF1, LEAF3_LOOPBACK = "teams-leaf1", "10.255.0.3"
NAME = "RAILWEAVE_TENANTS"
REACHED = (("gpu1", GPU1, GPU4), ("gpu2", GPU2, GPU5), ("gpu1", GPU1, STORE), ("gpu5", GPU5, STORE))
APART = (
    ("gpu1", GPU1, GPU2),
    ("gpu1", GPU1, GPU5),
    ("gpu2", GPU2, GPU4),
    ("gpu3", GPU3, GPU1),
    ("gpu3", GPU3, STORE),
    ("gpu6", STORE, GPU3),
    ("gpu1", GPU1, LEAF3_LOOPBACK),
)


OTHERS = (("gpu1", f"-I {GPU1} {GPU4}"), ("gpu4", f"-I {GPU4} {STORE}"), ("gpu5", f"-I {GPU5} {STORE}"))
"""Traffic within a tenant, and of two tenants to the storage."""


def reaches(rig: Any, node: str, own: str, far: str) -> bool:
    return "1 received" in rig.on(node, f"ping -c1 -w3 -I {own} {far}", status=None)


def test_tenants_reach_their_own_nodes_and_the_storage_alone(teams: Any, proves: Any) -> None:
    teams.as_intended()
    for way in REACHED:
        teams.wait_until(lambda way=way: reaches(teams, *way), 60, f"{way} is answered")
    for way in APART:
        assert not reaches(teams, *way), way
    proves("three tenants over four leaves: traffic within each and to the storage of two, none between")


def lost_of(running: Any) -> tuple[int, int]:
    """End streams; return the packets that they sent and lost."""
    counts = [stream.stop() for stream in running]
    return sum(sent for sent, _ in counts), sum(lost for _, lost in counts)


def test_a_stripe_of_three_tenants_comes_without_a_lost_packet(teams: Any, streams: Any, proves: Any) -> None:
    running = streams(teams, *OTHERS)
    teams.edit(
        ("count: 6\n", "count: 9\n"),
        ("[gpu1, gpu4]", "[gpu1, gpu4, gpu7]"),
        ("[gpu2, gpu5]", "[gpu2, gpu5, gpu9]"),
        ("[gpu3]", "[gpu3, gpu8]"),
    )
    assert teams.deploy()["result"] == "done"
    sent, lost = lost_of(running)
    assert lost == 0
    teams.as_intended()
    for way in (*REACHED, ("gpu7", GPU7, GPU1), ("gpu7", GPU7, STORE), ("gpu8", GPU8, GPU3)):
        teams.wait_until(lambda way=way: reaches(teams, *way), 60, f"{way} is answered")
    for way in (*APART, ("gpu7", GPU7, GPU8), ("gpu7", GPU7, GPU2), ("gpu8", GPU8, STORE), ("gpu1", GPU1, GPU8)):
        assert not reaches(teams, *way), way
    proves(f"2 leaves and 3 nodes more, one of each tenant: {sent} packets of the tenants, none lost, still apart")


def test_a_node_moves_without_a_lost_packet_of_the_others(teams: Any, streams: Any, proves: Any) -> None:
    running = streams(teams, *OTHERS)
    teams.edit(("nodes: [gpu2, gpu5, gpu9]", "nodes: [gpu5, gpu9]"), ("nodes: [gpu3, gpu8]", "nodes: [gpu2-3, gpu8]"))
    plan = teams.plan()
    assert {change["table"] for change in plan["changes"]} == {"ACL_RULE"}
    tenants = {tuple(change["key"].split(".")[1:3]) for change in plan["changes"]}
    assert all({"b", "c"} & {*pair} for pair in tenants), tenants
    assert teams.deploy()["result"] == "done"
    sent, lost = lost_of(running)
    assert lost == 0
    assert reaches(teams, "gpu2", GPU2, GPU3)
    assert not reaches(teams, "gpu2", GPU2, GPU5)
    assert not reaches(teams, "gpu2", GPU2, STORE)
    teams.as_intended()
    proves(f"a node moved to another tenant: {sent} packets of the others, none lost")


def test_a_leak_that_somebody_planted_is_found_by_name(teams: Any, proves: Any) -> None:
    teams.on(LEAF1, f"sonic-db-cli CONFIG_DB DEL 'ACL_RULE|{NAME}|deny'")
    teams.wait_until(lambda: reaches(teams, "gpu1", GPU1, GPU3), 20, "the leak is real")
    checks = [one for one in teams.verify(status=None)["checks"] if not one["ok"]]
    assert {(one["device"], one["kind"]) for one in checks} == {(LEAF1, "tenants")}
    assert any(one["actual"].startswith("nodes of a reach nodes of b") for one in checks)
    drift = teams.json("drift", "--target", "lab", status=None)
    assert any(one["code"] == "RW142" and one["devices"] == [LEAF1] for one in drift["diagnostics"])
    assert teams.deploy()["result"] == "done"
    teams.wait_until(lambda: not reaches(teams, "gpu1", GPU1, GPU3), 20, "the leak is closed")
    teams.as_intended()
    proves("a rule taken away by hand: verify and drift name the leaf and the tenants, a deployment closes the path")
