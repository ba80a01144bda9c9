"""Switches that print their running configuration as SONiC's patched FRR 10.3 does, with foreign lines beside ours.

The daemons are Debian's; the node's vtysh adds what the patches add (SONIC_FRR, topologies/lab_node/etc/vtysh).
"""

from typing import Any

import pytest

pytestmark = pytest.mark.e2e

FOREIGN = (
    "zebra nexthop-group keep 1",
    "ip route 192.0.2.0/24 blackhole",
    "ip prefix-list OPERATOR seq 5 permit 192.0.2.0/24",
    "vrf mgmt",
    " ip route 203.0.113.0/24 192.0.2.254 eth0",
    "exit-vrf",
)
SWITCHES = ("frr-leaf1", "frr-leaf2", "frr-spine1", "frr-spine2")
TRACKING = ("ip nht resolve-via-default", "ipv6 nht resolve-via-default")


def shown(rig: Any, switch: str) -> list[str]:
    """Return what a switch prints."""
    return str(rig.on(switch, "vtysh -c 'show running-config'")).splitlines()


def holds_foreign_lines(rig: Any) -> None:
    for switch in SWITCHES:
        lines = shown(rig, switch)
        assert set(FOREIGN) <= set(lines), switch
        start, end = lines.index("vrf mgmt"), lines.index("exit-vrf")
        assert lines[start + 1 : end] == [FOREIGN[4], *(f" {line}" for line in TRACKING)]
        assert [lines.count(line) for line in TRACKING] == [1, 1]
        assert "frr version 10.3" in lines


def test_a_first_deployment_leaves_an_empty_plan_and_foreign_lines(printing: Any, proves: Any) -> None:
    assert "printing as SONiC's 10.3 (simulated)" in printing.on(SWITCHES[0], "show version")
    words = " ".join(f"-c '{line.strip()}'" for line in FOREIGN)
    for switch in SWITCHES:
        printing.on(switch, f"vtysh -c 'configure terminal' {words}")
    assert printing.deploy()["result"] == "done"
    assert printing.plan()["changes"] == []
    assert printing.deploy()["result"] == "unchanged"
    assert printing.json("drift", "--target", "lab")["drift"] is False
    holds_foreign_lines(printing)
    proves(
        "4 switches that print as FRR 10.3 of SONiC provisioned beside a management VRF; the plan afterwards is empty"
    )


def test_a_spine_more_leaves_an_empty_plan_and_foreign_lines(printing: Any, proves: Any) -> None:
    printing.edit(("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}"))
    assert printing.deploy()["result"] == "done"
    printing.as_intended()
    holds_foreign_lines(printing)
    proves("a third spine deployed; the plan is empty, no foreign line touched")


def test_a_change_of_routing_is_rolled_back_beside_foreign_lines(printing: Any, proves: Any) -> None:
    before = {switch: shown(printing, switch) for switch in SWITCHES}
    text = printing.intent.read_text()
    printing.intent.write_text(f"{text}bgp: {{keepalive: 2, hold: 6}}\n")
    try:
        assert printing.deploy()["result"] == "done"
        assert " neighbor SPINES timers 2 6" in shown(printing, SWITCHES[0])
        assert printing.plan()["changes"] == []
        ended = printing.json("rollback", "--target", "lab", "--yes")
    finally:
        printing.intent.write_text(text)
    assert ended["result"] == "done"
    assert {switch: shown(printing, switch) for switch in SWITCHES} == before
    printing.as_intended()
    proves("BGP timers deployed and rolled back: every switch prints what it printed before")
