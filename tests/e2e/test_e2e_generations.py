"""Links of several speeds on the simulator: spines with ports of two, nodes of three on leaves of two models."""

import json
from collections import Counter
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

SPINE, FAR = "generations-spine1", "10.32.1.0/25"


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
