"""Three tiers on real FRR: sessions, equal paths, no valley, a super-spine drained and a pod added under traffic."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

SUPER, OTHER = "labpods-superspine1", "labpods-superspine5"
SPINES = ("labpods-spine1", "labpods-spine2", "labpods-spine29", "labpods-spine30")
NEAR, FAR, NEW = "10.32.0.64/26", "10.32.0.128/26", "10.32.1.0/26"
"""The nodes of leaf 2 in leaf 1's own pod, of leaf 3 in the other pod, and of leaf 5 in the third."""
STREAMS = tuple(
    (f"gpu{one}", f"-I 10.32.0.{2 * one - 1} 10.32.0.{first + 2 * other}")
    for one in (1, 2)
    for first in (65, 129, 193)
    for other in (0, 1)
)
"""From two nodes of leaf 1 to nodes of leaves 2, 3 and 4: within the pod and into the other one."""


def three_pods(folder: Path) -> str:
    """Reserve one pod more than there is: a lab boots all that is reserved."""
    intent = folder / "intent" / "lab-pods.yml"
    text, changed = re.subn(r"reserve: \{.*\}", "reserve: {leaves: 6, spines: 6, pods: 3}", intent.read_text())
    assert changed == 1
    intent.write_text(text)
    return intent.name


@pytest.fixture(scope="module")
def pods(start_lab: Any) -> Any:
    rig = start_lab(three_pods)
    assert rig.deploy()["result"] == "done"
    rig.as_intended()
    rig.wait_until(
        lambda: ways(rig, "labpods-leaf1", FAR) == ways(rig, "labpods-leaf4", "10.32.0.0/26") == 2, 30, "routes"
    )
    return rig


def ways(rig: Any, switch: str, prefix: str) -> int:
    """Return the equal paths over which FRR sends to a prefix, as it installed them."""
    told = json.loads(rig.on(switch, f"vtysh -c 'show ip route {prefix} json'")).get(prefix, [])
    return sum(bool(hop.get("fib")) for route in told if route.get("selected") for hop in route["nexthops"])


def lost(running: Any) -> int:
    return sum(stream.stop()[1] for stream in running)


def test_every_pair_of_leaves_has_its_equal_paths(pods: Any, proves: Any) -> None:
    assert {switch: len(pods.bgp(switch)) for switch in ("labpods-leaf1", *SPINES, SUPER, OTHER)} == {
        "labpods-leaf1": 2, **dict.fromkeys(SPINES, 6), SUPER: 8, OTHER: 8,
    }  # fmt: skip
    # A spine has 4 links to the super-spine of its group, which has 4 to the same spine of every pod.
    counted = {
        (switch, prefix): ways(pods, switch, prefix)
        for switch, prefix in (
            ("labpods-leaf1", NEAR), ("labpods-leaf1", FAR), (SPINES[0], NEAR), (SPINES[0], FAR), (SUPER, FAR),
        )
    }  # fmt: skip
    assert [*counted.values()] == [2, 2, 1, 4, 4]
    proves("three tiers: 24 sessions; leaf-leaf 2 equal paths in a pod and between pods, spine-super-spine 4")


def test_a_drained_super_spine_carries_nothing_and_loses_nothing(pods: Any, streams: Any, proves: Any) -> None:
    running = streams(pods, *STREAMS)
    told = pods.json("drain", SUPER, "--target", "lab", "--yes")["devices"][SUPER]
    assert told["quiet"], told["flows"]
    pods.wait_until(lambda: ways(pods, "labpods-leaf1", FAR) == 1, 60, "leaf 1 leaves its pod by spine 2 alone")
    assert ways(pods, "labpods-leaf1", NEAR) == 2, "and crosses it by both"
    pods.run("undrain", SUPER, "--target", "lab")
    pods.wait_until(lambda: ways(pods, "labpods-leaf1", FAR) == 2, 60, "both groups carry again")
    gone = lost(running)
    assert gone == 0
    proves(f"a super-spine drained and undrained under {20 * len(STREAMS)} packets/s: lost {gone}")


def test_no_path_leads_up_again(pods: Any, proves: Any) -> None:
    # Spine 1 without leaf 1, spine 2 without its super-spine: up, down and up again would join leaf 1 and leaf 3.
    cut = [("labpods-leaf1", "1"), ("labpods-spine2", "3")]
    links = [one for one in pods.fabric()["links"] if one["kind"] != "host_leaf"]
    ends = [
        (one["a"]["device"], one["a"]["port"])
        for one in links
        if (one["a"]["device"], one["b"]["device"]) in {("labpods-leaf1", SPINES[0]), (SPINES[1], OTHER)}
    ]
    assert len(ends) == 5, cut
    for device, port in ends:
        pods.on(device, f"ip link set {port} down")
    try:
        # Each switch learns of it by itself: what leaf 1 has dropped, leaf 2 may still be told.
        for switch, prefix, left, meaning in (
            ("labpods-leaf1", FAR, 0, "leaf 1 has no path out of its pod"),
            ("labpods-leaf3", "10.32.0.0/26", 0, "and leaf 3 none to it"),
            (SPINES[0], "10.32.0.0/26", 0, "spine 1 learns leaf 1 from no other leaf"),
            ("labpods-leaf2", FAR, 1, "leaf 2 has its own"),
            ("labpods-leaf1", NEAR, 1, "leaf 1 still crosses its pod"),
        ):
            pods.wait_until(lambda at=switch, to=prefix, to_be=left: ways(pods, at, to) == to_be, 60, meaning)
        assert [ways(pods, "labpods-leaf1", FAR), ways(pods, SPINES[0], "10.32.0.0/26")] == [0, 0], "and it stays so"
    finally:
        for device, port in ends:
            pods.on(device, f"ip link set {port} up")
        pods.as_intended()
    proves("links cut in two tiers: leaf 1 is reached over no leaf and no super-spine twice")


def test_a_pod_is_added_without_a_lost_packet(pods: Any, streams: Any, proves: Any) -> None:
    running = streams(pods, *STREAMS)
    pods.edit(
        ("    count: 8\n", "    count: 12\n"),
        ("leaf:  {model: sonic-vs, count: 4,", "leaf:  {model: sonic-vs, count: 6,"),
        ("spine: {model: sonic-vs, count: 4}", "spine: {model: sonic-vs, count: 6}"),
    )
    changed = {name for name, one in pods.plan()["devices"].items() if one["state"] == "changed"}
    assert changed == {SUPER, OTHER, *(f"labpods-{name}" for name in ("leaf5", "leaf6", "spine57", "spine58"))}
    assert pods.deploy()["result"] == "done"
    assert pods.verify("--wait", "60")["ok"]
    assert ways(pods, "labpods-leaf1", NEW) == 2
    gone = lost(running)
    assert gone == 0
    proves(f"a third pod under {20 * len(STREAMS)} packets/s: lost {gone}")
