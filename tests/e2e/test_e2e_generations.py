"""Links of several speeds on the simulator: spines with ports of two, nodes of three on leaves of two models."""

import json
from collections import Counter
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

SPINE, FAR = "generations-spine1", "10.32.1.0/25"


@pytest.mark.nightly
def test_spines_with_ports_of_two_speeds_are_deployed_and_grow_by_a_pod(new_project: Any) -> None:
    project = new_project("generations.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]
    ports = json.loads(project.on(SPINE, "sonic-db-dump -n CONFIG_DB -y -k 'PORT|*'"))
    cabled = [one["value"]["speed"] for one in ports.values() if "generations-" in one["value"].get("description", "")]
    assert sorted(cabled) == ["400000"] * 2 + ["800000"] * 12
    routes = json.loads(project.on(SPINE, "sudo vtysh -c 'show ip route json'"))
    assert len(routes[FAR][0]["nexthops"]) == 12

    project.edit(("count: 8, gpus", "count: 12, gpus"), ("h4-64d, count: 4", "h4-64d, count: 6"),
                 ("sn5600, count: 4, up", "sn5600, count: 6, up"))  # fmt: skip
    project.up()
    changed = {name for name, one in project.plan()["devices"].items() if one["state"] == "changed"}
    assert changed == {
        "generations-superspine1", "generations-superspine17", "generations-leaf5", "generations-leaf6",
        "generations-spine121", "generations-spine122",
    }  # fmt: skip
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]


def test_three_kinds_of_nodes_are_deployed_and_one_grows(new_project: Any) -> None:
    project = new_project("mixed-nodes.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]
    for leaf, speed, nodes in (("mixed-leaf1", 400, 4), ("mixed-leaf9", 200, 4), ("mixed-leaf25", 100, 4)):
        ports = json.loads(project.on(leaf, "sonic-db-dump -n CONFIG_DB -y -k 'PORT|*'")).values()
        used = Counter(one["value"]["speed"] for one in ports if ":" in one["value"].get("description", ""))
        assert used == Counter([f"{speed}000"] * nodes + ["400000"] * 2)
        routes = json.loads(project.on(leaf, "sudo vtysh -c 'show ip route json'"))
        assert {len(routes[prefix][0]["nexthops"]) for prefix in routes if prefix.endswith("/25")} >= {2}

    project.edit(("name: old\n    count: 8", "name: old\n    count: 12"))
    project.up()
    changed = {name for name, one in project.plan()["devices"].items() if one["state"] == "changed"}
    assert changed == {"mixed-spine1", "mixed-spine2", *(f"mixed-leaf{number}" for number in range(17, 21))}
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]


NEW = """  - name: new
    count: 4
    gpus: 4
    first_stripe: 7
    nics: {count: 4, speed: 400G, model: connectx-7, pcie: gen5x16}
    leaf: {model: nvidia-sn5600, uplink_speed: 800G, reserve: 8}
topology:
"""


@pytest.mark.nightly
def test_a_generation_with_faster_uplinks_comes_under_the_spines_of_the_others_and_grows(new_project: Any) -> None:
    project = new_project("mixed-nodes.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    spine, cabled = "mixed-spine1", [f"Ethernet{4 * number}" for number in range(8)]
    before = project.running(spine)

    project.edit(("topology:\n", NEW))
    project.up()
    plan = project.plan()
    # A spine with ports of two speeds has another HWSKU: one spine after the other is loaded anew.
    new = {f"mixed-leaf{number}" for number in range(29, 33)}
    reloaded = {one["device"] for one in plan["changes"] if one["disruption"] == "reload"}
    assert reloaded == {spine, "mixed-spine2", *new}
    # Other leaves learn the spines' HWSKU, and nothing else.
    others = [one for one in plan["changes"] if one["device"] not in reloaded]
    assert {(one["table"], one["disruption"]) for one in others} == {("DEVICE_NEIGHBOR_METADATA", "none")}
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]
    after = project.running(spine)
    assert {port: after["PORT"][port] for port in cabled} == {port: before["PORT"][port] for port in cabled}
    used = Counter(one["speed"] for one in after["PORT"].values() if "mixed-leaf" in one.get("description", ""))
    assert used == Counter({"400000": 20, "800000": 4})
    routes = json.loads(project.on("mixed-leaf29", "sudo vtysh -c 'show ip route json'"))
    assert {len(routes[prefix][0]["nexthops"]) for prefix in routes if prefix.endswith("/25")} >= {2}

    project.edit(("- name: new\n    count: 4", "- name: new\n    count: 8"))
    project.up()
    plan = project.plan()
    changed = {name for name, one in plan["devices"].items() if one["state"] == "changed"}
    assert changed == {spine, "mixed-spine2", *(f"mixed-leaf{number}" for number in range(33, 37))}
    assert not [one for one in plan["changes"] if one["device"] == spine and one["disruption"] == "reload"]
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]
