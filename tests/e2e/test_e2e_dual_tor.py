"""Two leaves share each NIC: a fabric on the simulator that loses a link to a node, and one that grows by a stripe."""

import json
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

NIC = "10.64.0.0/32"
"""The address of the first NIC of gpu1, which lab-leaf1 and lab-leaf3 announce."""


def hops(project: Any, device: str, prefix: str = NIC) -> list[tuple[str, str]]:
    """Return protocol and interface of the equal next hops by which a switch forwards to a prefix."""
    found = json.loads(project.on(device, "sudo vtysh -c 'show ip route json'"))
    return sorted((one["protocol"], hop["interfaceName"]) for one in found.get(prefix, []) for hop in one["nexthops"])


def verified(project: Any) -> tuple[bool, list[str]]:
    """Return whether all checks hold, and the warnings."""
    found = project.verify()
    return found["ok"], found.get("warnings", [])


@pytest.fixture
def dual(new_project: Any) -> Any:
    project = new_project("lab-4.yml")
    project.edit(
        ("ports: 1", "ports: 2"),
        ("  rails: 2", "  rails: 2\n  leaves_per_nic: 2"),
        ("sonic-vs, count: 2, downlink", "sonic-vs, count: 4, downlink"),
        ("reserve: {leaves: 4, spines: 4}", "reserve: {leaves: 8, spines: 4}"),
    )
    project.up()
    assert project.deploy()["result"] == "done"
    assert project.plan()["changes"] == []
    return project


def test_a_link_to_a_node_is_lost_and_the_other_leaf_has_its_nic(dual: Any) -> None:
    assert verified(dual) == (True, [])
    assert hops(dual, "lab-leaf1") == [("static", "Ethernet0")]
    assert hops(dual, "lab-spine1") == [("bgp", "Ethernet0"), ("bgp", "Ethernet8")]

    dual.run("sim", "fault", "lab-leaf1", "link-down", "--port", "Ethernet0")
    assert hops(dual, "lab-spine1") == [("bgp", "Ethernet8")]
    assert hops(dual, "lab-leaf1") == [("bgp", "Ethernet112"), ("bgp", "Ethernet116")]
    assert hops(dual, "lab-leaf3") == [("static", "Ethernet0")]
    half = (
        "gpu1 rail0p0 has no link to lab-leaf1 Ethernet0, which does not announce the NIC (10.64.0.0), while rail0p1 of"
        " the same NIC has one to lab-leaf3: look at the cable and the port of the NIC"
    )
    assert verified(dual) == (True, [half])

    dual.run("sim", "fault", "lab-leaf1", "clear")
    assert hops(dual, "lab-leaf1") == [("static", "Ethernet0")]
    assert verified(dual) == (True, [])
    # A node that is off has no link at all, and is nothing to look at.
    dual.run("sim", "power-off", "gpu1")
    assert (hops(dual, "lab-spine1"), verified(dual)) == ([], (True, []))


def test_a_stripe_more_touches_no_leaf_of_today(dual: Any) -> None:
    dual.edit(("count: 4\n", "count: 8\n"), ("sonic-vs, count: 4, downlink", "sonic-vs, count: 8, downlink"))
    dual.up()
    devices = dual.plan()["devices"]
    assert {devices[f"lab-leaf{number}"]["state"] for number in range(1, 5)} == {"unchanged"}
    assert dual.deploy()["result"] == "done"
    assert hops(dual, "lab-leaf1", "10.64.0.64/32") == [("bgp", "Ethernet112"), ("bgp", "Ethernet116")]
    assert verified(dual) == (True, [])
