"""What breaks on the running fabric: links, a spine, cables, deployments that fail or lose their session."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from command_rig import own_template

pytestmark = pytest.mark.e2e

LEAF, SPINE, UPLINK, OTHER_UPLINK = "lab-leaf1", "lab-spine1", "Ethernet112", "Ethernet116"
BETWEEN_RAILS = tuple(
    (f"gpu{one + 1}", f"-I 10.32.0.{2 * one + 1} 10.32.0.{65 + 2 * other}")
    for one in range(4)
    for other in range(4)
    if one != other
)
"""From rail 0 of every node to rail 1 of every other: flows that cross the spines, each by its own hash."""
LINK_S, HOLD_S, BFD_S = 2.0, 12.0, 2.0
"""Longest outages: a link that goes down is seen at once; a silent spine when the hold time of 9 s is over, or when BFD
missed three packets (0.9 s)."""

SWAP = """
ip link set {a} down; ip link set {b} down
ip link set {a} name swapping; ip link set {b} name {a}; ip link set swapping name {b}
ip link set {a} up; ip link set {b} up
redis-cli -n 4 hset 'PORT|{a}' mtu 9100 >/dev/null
"""

CUT = """#!/bin/sh
rm "$0"
supervisorctl stop sshd; pkill -KILL sshd
exec /usr/local/bin/config "$@"
"""
"""Stands before the leaf's `config` and cuts the management network in the middle of a change: no new session, and the
old ones die. Who watches from beside comes too late: a verified change is confirmed at once."""


@pytest.fixture
def fabric(deployed: Any) -> Iterator[Any]:
    """Return the running fabric, and see that the test left it as intended."""
    yield deployed
    deployed.mend()


def outage_s(running: list[Any]) -> float:
    """Return how long the worst of the ping streams was without an answer; packets go every 50 ms."""
    return float(max(lost for _, lost in (stream.stop() for stream in running)) * 0.05)


def failed(rig: Any) -> list[dict[str, Any]]:
    return [check for check in rig.verify(status=1)["checks"] if not check["ok"]]


def test_traffic_goes_on_when_a_link_goes_down_and_the_verification_names_it(
    fabric: Any, streams: Any, proves: Any
) -> None:
    running = streams(fabric, *BETWEEN_RAILS)
    time.sleep(1)
    fabric.on(LEAF, f"ip link set {UPLINK} down")
    try:
        time.sleep(LINK_S + 0.5)
        seconds = outage_s(running)
        faults = failed(fabric)
    finally:
        fabric.on(LEAF, f"ip link set {UPLINK} up")
    named = {(check["device"], check["kind"], check["subject"]) for check in faults}
    assert (LEAF, "link", UPLINK) in named
    assert (SPINE, "link", "Ethernet0") in named, "the far end of the cable"
    lldp = [check["expected"] for check in faults if check["kind"] == "lldp" and check["device"] == LEAF]
    assert lldp == [f"{SPINE} Ethernet0"]
    assert seconds <= LINK_S
    proves(f"link down: traffic back after {seconds:.2f} s; the verification names {LEAF} {UPLINK} - {SPINE} Ethernet0")


def outage_of_a_silent_spine(fabric: Any, streams: Any) -> tuple[float, list[dict[str, Any]]]:
    """Return for how many seconds flows were lost while a spine was silent, and what the verification said then."""
    running = streams(fabric, *BETWEEN_RAILS)
    time.sleep(1)
    # Its processes stop and its kernel drops what passes, without a word to anybody.
    fabric.on(SPINE, "sysctl -qw net.ipv4.ip_forward=0")
    try:
        with fabric.frozen(SPINE):
            fabric.wait_until(lambda: established(fabric, LEAF) == 1, 60, "one session left")
            time.sleep(1)
            seconds = outage_s(running)
            faults = failed(fabric)
    finally:
        fabric.on(SPINE, "sysctl -qw net.ipv4.ip_forward=1")
    assert (SPINE, "reachable") in {(check["device"], check["kind"]) for check in faults}
    assert LEAF in {check["device"] for check in faults if check["kind"] == "bgp"}
    return seconds, faults


def test_traffic_goes_on_when_a_spine_stops(fabric: Any, streams: Any, proves: Any) -> None:
    seconds, _ = outage_of_a_silent_spine(fabric, streams)
    assert 1 < seconds <= HOLD_S, "some flows went through this spine"
    proves(f"spine stopped without a word: traffic back after {seconds:.1f} s (hold time 9 s)")


def test_bfd_notices_a_spine_that_stops_in_a_second(fabric: Any, streams: Any, proves: Any) -> None:
    text = fabric.intent.read_text()
    fabric.intent.write_text(f"{text}bgp: {{bfd: true}}\n")
    try:
        assert fabric.deploy()["result"] == "done"
        assert fabric.plan()["changes"] == [], "what FRR prints is what was asked for"
        checks = fabric.verify("--wait", "30")["checks"]
        assert len({check["subject"] for check in checks if check["kind"] == "bfd"}) == 8
        seconds, faults = outage_of_a_silent_spine(fabric, streams)
        assert 0.3 < seconds <= BFD_S
        assert {check["actual"] for check in faults if check["kind"] == "bfd"} == {"down"}
        assert fabric.verify("--wait", "60")["ok"] is True
    finally:
        fabric.intent.write_text(text)
        fabric.mend()
        for switch in ("lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2"):
            fabric.on(switch, "sonic-db-cli CONFIG_DB DEL 'SYSTEM_DEFAULTS|software_bfd'; supervisorctl stop bfdd")
    proves(f"the same with BFD: traffic back after {seconds:.2f} s (3 packets, 300 ms apart)")


def established(rig: Any, switch: str) -> int:
    return sum(one["state"] == "Established" for one in rig.bgp(switch).values())


def test_two_swapped_cables_are_named_with_the_way_to_put_it_right(fabric: Any, proves: Any) -> None:
    swap = SWAP.format(a=UPLINK, b=OTHER_UPLINK)
    fabric.on(LEAF, swap)
    try:
        fabric.wait_until(lambda: fabric.verify(status=None).get("advice"), 60, "the swap is seen")
        advice = fabric.verify(status=1)["advice"]
    finally:
        fabric.on(LEAF, swap)
    assert advice == [
        f"the cables {LEAF} {UPLINK} - {SPINE} Ethernet0 and {LEAF} {OTHER_UPLINK} - lab-spine2 Ethernet0 are swapped: "
        f"at {LEAF}, exchange the plugs of {UPLINK} and {OTHER_UPLINK}"
    ]
    proves(advice[0])


def held(rig: Any, switch: str) -> Any:
    document = rig.running(switch)
    return {table: document[table] for table in ("PORT", "INTERFACE", "DSCP_TO_TC_MAP", "bgpraw")}


@pytest.fixture
def impatient(fabric: Any) -> Iterator[Any]:
    """Return the fabric with short times and files that a test may change; all is put back."""
    files = [fabric.intent, fabric.folder / "inventory" / "lab.yml", own_template(fabric.folder)]
    texts = [file.read_text() for file in files]
    fabric.set_rollout(verify_timeout=4, drain_timeout=4, revert_in=34, verify_interval=1)
    yield fabric
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)


def test_a_deployment_that_ends_in_a_dead_session_is_rolled_back(impatient: Any, proves: Any) -> None:
    before = {switch: held(impatient, switch) for switch in (LEAF, SPINE)}
    template = own_template(impatient.folder)
    wrong = "remote-as {{ remote_asn + 5 if attaches_nodes and loop.first else remote_asn }}"
    assert "remote-as {{ remote_asn }}" in template.read_text()
    template.write_text(template.read_text().replace("remote-as {{ remote_asn }}", wrong))
    stopped = impatient.deploy_apart(status=1)
    assert stopped["result"] == "stopped"
    assert {name: one["outcome"] for name, one in stopped["devices"].items() if one["error"]} == {LEAF: "old"}
    assert "bgp" in stopped["devices"][LEAF]["error"].lower()
    assert {switch: held(impatient, switch) for switch in before} == before
    proves(f"wrong AS number on purpose: {LEAF} did not come up, went back, and the rollout stopped")


def test_a_switch_whose_session_is_cut_goes_back_by_its_own_timer(impatient: Any, streams: Any, proves: Any) -> None:
    before = held(impatient, LEAF)
    untouched = streams(impatient, ("gpu3", "-I 10.32.0.69 10.32.0.71"), ("gpu4", "-I 10.32.0.71 10.32.0.65"))
    impatient.intent.write_text(impatient.intent.read_text() + "mtu: {fabric: 9216, hosts: 9000}\n")
    impatient.on(LEAF, f"printf '%s' '{CUT}' >/usr/local/sbin/config; chmod 755 /usr/local/sbin/config")
    process = impatient.start("deploy", "--target", "lab", "--yes")
    try:
        impatient.wait_until(lambda: mtu(impatient) == "9216", 120, "the change is in the kernel")
        seconds = impatient.wait_until(
            lambda: status(impatient) == ("reverted", "nobody confirmed it in time"), 70, lambda: history(impatient)
        )
        assert held(impatient, LEAF) == before
        assert mtu(impatient) == "9100"
        lost = sum(stream.stop()[1] for stream in untouched)
        assert lost == 0, "within the other leaf"
    finally:
        process.kill()
        process.communicate(timeout=20)
        impatient.on(LEAF, "rm -f /usr/local/sbin/config; supervisorctl start sshd", status=None)
    proves(
        f"session cut inside a change: {LEAF} went back by its own timer after {seconds:.0f} s; elsewhere lost {lost}"
    )


def history(rig: Any) -> str:
    """Return what the leaf knows of its transaction: for the message of a revert that did not end."""
    seen = (
        "railweave-switch status; date +%s; cat /proc/uptime; cd /var/lib/railweave; ls -la --time-style=+%s;"
        " cat transaction.json guard.json; ps -eo pid,ppid,lstart,stat,args"
    )
    return f"the leaf goes back by itself:\n{rig.on(LEAF, seen, status=None)}"


def status(rig: Any) -> tuple[str, str]:
    """Return how far the leaf's transaction is, and why it was reverted."""
    told = json.loads(rig.on(LEAF, "railweave-switch status"))["status"]
    return told["status"], told["reason"]


def mtu(rig: Any) -> str:
    seen = re.search(r"mtu (\d+)", rig.on(LEAF, f"ip link show {UPLINK}"))
    return seen[1] if seen else ""
