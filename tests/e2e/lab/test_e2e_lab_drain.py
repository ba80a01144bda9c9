"""Draining real FRR under traffic: what is drained carries nothing, nothing is lost, and the node itself undoes it."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

BETWEEN_RAILS = tuple(
    (f"gpu{one + 1}", f"-I 10.32.0.{2 * one + 1} 10.32.0.{65 + 2 * other}")
    for one in range(4)
    for other in range(4)
    if one != other
)
"""Flows of 20 packets a second from rail 0 to rail 1: they cross the spines, each by its own hash."""

CONTROL_PACKETS_PER_S = 8
"""More than BGP, LLDP, ARP and neighbor discovery send on a link, less than a half of one flow."""

KILLED = """
import json, sys, time
from napalm import get_network_driver
address, user, options = json.loads(sys.argv[1])
with get_network_driver("sonic")(address, user, "", optional_args=options) as driver:
    driver.traffic.drain(None, revert_in=6, message="to be killed")
    print("drained", flush=True)
    time.sleep(300)
"""


@pytest.fixture
def fabric(deployed: Any) -> Iterator[Any]:
    """Return the running fabric, and see that the test left it as intended and undrained."""
    yield deployed
    deployed.run("undrain", *switches(deployed), "--target", "lab")
    deployed.as_intended()


def switches(rig: Any) -> list[str]:
    return [f"{rig.name}-{role}{number}" for role in ("leaf", "spine") for number in (1, 2)]


def drained(rig: Any, switch: str) -> bool:
    shown = rig.on(switch, "vtysh -c 'show running-config'")
    return "bgp graceful-shutdown" in shown or "DRAINED-" in shown


def carried(rig: Any, switch: str, seconds: float = 3.0) -> dict[str, float]:
    """Return the packets a second of each fabric port of a switch, the busier way, as its kernel counts them."""

    def counts() -> dict[str, tuple[int, int]]:
        links = json.loads(rig.on(switch, "ip -s -j link show"))
        return {
            link["ifname"]: (link["stats64"]["rx"]["packets"], link["stats64"]["tx"]["packets"])
            for link in links
            if link["ifname"].startswith("Ethernet")
        }

    before, began = counts(), time.monotonic()
    time.sleep(seconds)
    after, took = counts(), time.monotonic() - began
    return {port: max(now - was for now, was in zip(after[port], before[port], strict=True)) / took for port in after}


def is_quiet(rates: dict[str, float]) -> bool:
    return max(rates.values()) < CONTROL_PACKETS_PER_S


def lost(running: list[Any]) -> tuple[int, int]:
    """End the streams; return the packets sent and lost."""
    ended = [stream.stop() for stream in running]
    return sum(sent for sent, _ in ended), sum(gone for _, gone in ended)


def test_a_drained_spine_carries_nothing_and_no_packet_is_lost(fabric: Any, streams: Any, proves: Any) -> None:
    spine, other = f"{fabric.name}-spine1", f"{fabric.name}-spine2"
    running = streams(fabric, *BETWEEN_RAILS)
    time.sleep(1)
    busy = carried(fabric, spine)
    assert not is_quiet(busy), "some flows go by this spine"
    told = fabric.json("drain", spine, "--target", "lab", "--yes", "--wait", "20")
    assert told["devices"][spine] == {
        "before": [], "after": ["*"], "changed": True, "quiet": True, "flows": "", "error": ""
    }  # fmt: skip
    quiet = carried(fabric, spine)
    assert is_quiet(quiet), quiet
    assert len(fabric.bgp(spine)) == 2
    assert all(one["state"] == "Established" for one in fabric.bgp(spine).values())
    assert fabric.plan()["changes"] == [], "a drain is no drift"
    told = fabric.json("drain", other, "--target", "lab", "--yes", "--several", status=1)
    assert [one["code"] for one in told["diagnostics"]] == ["RW522"], "the last spine of the plane"
    fabric.run("undrain", spine, "--target", "lab")
    fabric.wait_until(lambda: not is_quiet(carried(fabric, spine, 1.0)), 60, "traffic is back on the spine")
    sent, gone = lost(running)
    assert gone == 0
    assert not drained(fabric, spine)
    most, least = max(busy.values()), max(quiet.values())
    proves(
        f"spine drained and undrained under {len(running)} flows: {most:.0f} packets/s on its busiest port before, "
        f"{least:.1f} while drained; {gone} of {sent} lost"
    )


def test_a_drained_link_carries_nothing_and_no_packet_is_lost(fabric: Any, streams: Any, proves: Any) -> None:
    leaf, spine = f"{fabric.name}-leaf1", f"{fabric.name}-spine1"
    running = streams(fabric, *BETWEEN_RAILS)
    told = fabric.json("drain", leaf, "--links", spine, "--target", "lab", "--yes", "--wait", "20")
    assert told["devices"][leaf]["quiet"] is True
    (peer,) = told["devices"][leaf]["after"]
    rates = carried(fabric, leaf)
    uplink = next(
        link["a"]["port"]
        for link in fabric.fabric()["links"]
        if (link["a"]["device"], link["b"]["device"]) == (leaf, spine)
    )
    assert rates[uplink] < CONTROL_PACKETS_PER_S
    assert not is_quiet(rates), "the other uplink carries all"
    fabric.run("undrain", leaf, "--target", "lab")
    fabric.wait_until(lambda: carried(fabric, leaf, 1.0)[uplink] > CONTROL_PACKETS_PER_S, 60, "traffic is back")
    sent, gone = lost(running)
    assert gone == 0
    proves(f"{leaf} {uplink} (peer {peer}) drained alone: {rates[uplink]:.1f} packets/s; {gone} of {sent} lost")


def test_a_killed_temporary_drain_is_undone_by_the_node_itself(fabric: Any, streams: Any, proves: Any) -> None:
    spine = f"{fabric.name}-spine2"
    driver = fabric.driver(spine)
    options = {key: value for key, value in there(fabric, spine).items() if key not in ("address", "user")}
    words = json.dumps([driver.hostname, driver.username, options])
    running = streams(fabric, *BETWEEN_RAILS)
    process = subprocess.Popen([sys.executable, "-c", KILLED, words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "drained\n"
    finally:
        process.kill()
        process.communicate(timeout=10)
    assert drained(fabric, spine)
    seconds = fabric.wait_until(lambda: not drained(fabric, spine), 60, "the node undoes the drain")
    fabric.wait_until(lambda: not is_quiet(carried(fabric, spine, 1.0)), 60, "traffic is back on the spine")
    sent, gone = lost(running)
    assert gone == 0
    with driver:
        assert not driver.has_pending_commit()
        assert driver.traffic.drained() == ()
    proves(f"drain killed: the node undid it {seconds:.0f} s later by its own timer; {gone} of {sent} lost")


def there(rig: Any, switch: str) -> dict[str, Any]:
    told = json.loads((rig.folder / ".railweave" / "lab" / rig.name / "endpoints.json").read_text())
    keys = {"use_keys": True, "key_file": told["key_file"], "allow_agent": False}
    hosts = {"ssh_strict": True, "alt_host_keys": True, "alt_key_file": told["known_hosts"]}
    return {"port": told["devices"][switch]["port"], "system_host_keys": False, **keys, **hosts}


def test_a_commit_under_a_drain_and_its_rollback_leave_no_trace(fabric: Any, proves: Any) -> None:
    spine = f"{fabric.name}-spine1"
    before = fabric.running(spine)
    with fabric.driver(spine) as driver:
        driver.traffic.drain(None, revert_in=120, message="for a change")
        driver.load_merge_candidate(config=json.dumps({"PORT": {"Ethernet0": {"description": "changed"}}}))
        driver.commit_config(revert_in=120)
        assert driver.traffic.drained() == ("*",)
        assert fabric.running(spine)["PORT"]["Ethernet0"]["description"] == "changed"
        driver.rollback()
        assert driver.traffic.drained() == ()
    after = fabric.running(spine)
    assert after["PORT"] == before["PORT"]
    assert not drained(fabric, spine)
    proves("a commit under a temporary drain is undone together with it, on real FRR")
