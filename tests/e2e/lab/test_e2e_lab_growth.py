"""Day 2 on the running fabric: a spine more, then a stripe, under traffic; and no leaf ever in transit."""

import json
import re
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

DATA = 9000 - 28
WITHIN_LEAVES = (("gpu1", "-I 10.32.0.1 10.32.0.3"), ("gpu3", "-I 10.32.0.69 10.32.0.71"))
ACROSS_SPINES = (("gpu1", "-I 10.32.0.1 10.32.0.67"), ("gpu2", "-I 10.32.0.3 10.32.0.69"))


def established_at(rig: Any, switch: str) -> dict[str, int]:
    """Return when each session of a switch came up, by neighbor."""
    told = json.loads(rig.on(switch, "vtysh -c 'show bgp neighbors json'"))
    return {
        peer: one["bgpTimerUpEstablishedEpoch"] for peer, one in told.items() if one.get("bgpState") == "Established"
    }


def set_count(rig: Any, part: str, old: int, new: int) -> None:
    """Change a count of the intent: of ``leaf``, ``spine`` or ``name: gpu`` (the nodes)."""
    text = rig.intent.read_text()
    changed, times = re.subn(rf"({part}.*?count: ){old}\b", rf"\g<1>{new}", text, count=1, flags=re.DOTALL)
    assert times == 1
    rig.intent.write_text(changed)


def grow(rig: Any, streams: Any, old: tuple[str, ...]) -> tuple[Any, dict[str, int]]:
    """Deploy the grown intent under traffic; return the result and the packets lost, by kind of path.

    No session between switches that were there before may be reset.
    """
    before = {switch: established_at(rig, switch) for switch in old}
    within, across = streams(rig, *WITHIN_LEAVES), streams(rig, *ACROSS_SPINES)
    result = rig.deploy()
    lost = {
        kind: sum(stream.stop()[1] for stream in running) for kind, running in (("within", within), ("across", across))
    }
    for switch, sessions in before.items():
        now = established_at(rig, switch)
        # The epochs are computed from an uptime in whole seconds.
        moved = {peer: (then, now.get(peer)) for peer, then in sessions.items() if abs(now.get(peer, 0) - then) > 1}
        assert not moved, f"{switch}: sessions of old pairs were reset"
    return result, lost


def test_one_spine_more_loses_no_packet_and_resets_no_session(grown: Any, streams: Any, proves: Any) -> None:
    set_count(grown, "spine:", 2, 3)
    plan = grown.plan()
    states = {name: one["state"] for name, one in plan["devices"].items()}
    assert states == dict.fromkeys(("grow-leaf1", "grow-leaf2", "grow-spine3"), "changed") | dict.fromkeys(
        ("grow-spine1", "grow-spine2"), "unchanged"
    )
    result, lost = grow(grown, streams, ("grow-leaf1", "grow-leaf2", "grow-spine1", "grow-spine2"))
    assert result["result"] == "done"
    assert lost["within"] == 0
    assert lost["across"] == 0
    assert {len(grown.bgp(leaf)) for leaf in ("grow-leaf1", "grow-leaf2")} == {3}
    grown.as_intended()
    proves(f"a third spine under 20 packets/s a path: lost {lost}; no session of an old pair reset")


def test_a_stripe_more_touches_no_old_leaf_and_loses_no_packet(grown: Any, streams: Any, proves: Any) -> None:
    set_count(grown, "name: gpu", 4, 8)
    set_count(grown, "leaf:", 2, 4)
    plan = grown.plan()
    assert {name for name, one in plan["devices"].items() if one["state"] == "unchanged"} == {
        "grow-leaf1",
        "grow-leaf2",
    }
    old = ("grow-leaf1", "grow-leaf2", "grow-spine1", "grow-spine2", "grow-spine3")
    result, lost = grow(grown, streams, old)
    assert result["result"] == "done"
    assert lost == {"within": 0, "across": 0}
    assert {switch: len(grown.bgp(switch)) for switch in ("grow-leaf4", "grow-spine3")} == {
        "grow-leaf4": 3,
        "grow-spine3": 4,
    }
    grown.as_intended()
    proves(f"2 leaves and 4 nodes more under traffic: lost {lost}; no session of an old pair reset")


def test_a_rail_spans_stripes_through_the_spines(grown: Any, proves: Any) -> None:
    for rail in (0, 1):
        near, far = f"10.32.0.{64 * rail + 1}", f"10.32.0.{128 + 64 * rail + 1}"
        assert grown.pings("gpu1", f"-M do -s {DATA} -I {near} {far}"), f"rail {rail}"
    told = grown.on("gpu1", "traceroute -n -q1 -w2 -s 10.32.0.1 10.32.0.129")
    assert len(re.findall(r"^ *\d+  \d", told, re.MULTILINE)) == 4, told
    proves("gpu1 reaches gpu5 on both rails with 9000 bytes, by leaf, spine, leaf")


def test_a_wave_of_which_one_gate_fails_goes_back_whole(grown: Any, streams: Any, proves: Any) -> None:
    texts = {file: file.read_text() for file in (grown.intent, grown.folder / "inventory" / "lab.yml")}
    grown.intent.write_text(texts[grown.intent] + "overrides: {leaf: {SYSLOG_SERVER: {10.9.9.77: {}}}}\n")
    grown.set_rollout(verify_timeout=6, drain_timeout=6, revert_in=60, verify_interval=1)
    running = streams(grown, *WITHIN_LEAVES)
    process = grown.start("deploy", "--target", "lab", "--yes")
    try:
        grown.wait_until(lambda: "applying" in steps(grown).get("grow-leaf3", ()), 120, "leaf 3 takes the change")
        # at the spine, which the deployment does not touch: a leaf would put its own port right with the change
        grown.on("grow-spine1", "ip link set Ethernet8 down")
        said, _ = process.communicate(timeout=180)
    finally:
        process.kill()
        grown.on("grow-spine1", "ip link set Ethernet8 up")
        for file, text in texts.items():
            file.write_text(text)
    assert process.returncode == 1, said
    outcomes = {one["device"]: one["outcome"] for one in journal(grown) if one["step"] == "outcome"}
    assert outcomes == {"grow-leaf1": "new", "grow-leaf2": "old", "grow-leaf3": "old", "grow-leaf4": "old"}, said
    undone = [one["devices"] for one in journal(grown) if one["step"] == "wave-undone"]
    assert undone == [["grow-leaf2", "grow-leaf4"]], "beside the one whose gate failed"
    assert {leaf for leaf in outcomes if "10.9.9.77" in grown.running(leaf)["SYSLOG_SERVER"]} == {"grow-leaf1"}
    lost = sum(stream.stop()[1] for stream in running)
    assert lost == 0
    grown.mend()
    proves("a link cut while 3 leaves took a change: one gate failed, all 3 went back, the canary stays; lost 0")


def journal(rig: Any) -> list[dict[str, Any]]:
    """Return the lines of the youngest rollout's journal."""
    youngest = max((rig.folder / ".railweave" / "journal").glob("*.jsonl"))
    return [json.loads(line) for line in youngest.read_text().splitlines() if line.endswith("}")]


def steps(rig: Any) -> dict[str, list[str]]:
    """Return the steps of each device in the youngest rollout."""
    taken: dict[str, list[str]] = {}
    for one in journal(rig):
        taken.setdefault(one["device"], []).append(one["step"])
    return taken


def test_a_leaf_is_never_transit(grown: Any, proves: Any) -> None:
    links = [link for link in grown.fabric()["links"] if link["kind"] == "leaf_spine"]
    keeps = {"grow-leaf1": "grow-spine1", "grow-leaf2": "grow-spine2"}
    cut = [
        (link["a"]["device"], link["a"]["port"])
        for link in links
        if link["a"]["device"] in keeps and link["b"]["device"] != keeps[link["a"]["device"]]
    ]
    assert len(cut) == 4
    for device, port in cut:
        grown.on(device, f"ip link set {port} down")
    try:
        # Leaves 3 and 4 still meet both spines: as transit they would join leaf 1 and leaf 2.
        grown.wait_until(lambda: grown.pings("gpu1", "-I 10.32.0.1 10.32.0.129"), 60, "leaf 1 still reaches leaf 3")
        grown.wait_until(lambda: not route(grown, "grow-leaf1", "10.32.0.64/26"), 60, "leaf 1 has no way to leaf 2")
        assert route(grown, "grow-leaf3", "10.32.0.0/26"), "leaf 3 has a way to leaf 1"
        assert route(grown, "grow-leaf3", "10.32.0.64/26"), "and one to leaf 2"
        assert not route(grown, "grow-spine1", "10.32.0.64/26"), "but no spine learns leaf 2 from leaf 3"
        assert not grown.pings("gpu1", "-I 10.32.0.1 10.32.0.67")
    finally:
        for device, port in cut:
            grown.on(device, f"ip link set {port} up")
    grown.as_intended()
    proves("with leaf 1 on spine 1 and leaf 2 on spine 2 alone, no packet goes by leaf 3 or 4")


def route(rig: Any, switch: str, prefix: str) -> bool:
    """Tell whether the switch's kernel has a route of BGP for the prefix."""
    return "proto bgp" in rig.on(switch, f"ip route show {prefix}")
