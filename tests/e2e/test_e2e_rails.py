"""Rail-only on the simulator: two tiers a rail, and one switch a rail."""

import json
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

LEAF = "lab-leaf1"
OWN_RAIL, OTHER_RAIL = "10.32.0.128/26", "10.32.0.64/26"


RAILS_APART = (
    ("shape: rail-optimized", "shape: rail-only\n  tiers: 2"),
    ("stripe: 4 ", "stripe: 2 "),
    ("sonic-vs, count: 2, down", "sonic-vs, down"),
    ("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 4}"),
    ("reserve: {leaves: 4, spines: 4}", "reserve: {leaves: 6, spines: 8}"),
)


def deployed(project: Any) -> dict[str, Any]:
    """Deploy and verify a project; return the routes of the first leaf."""
    project.up()
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]
    routes: dict[str, Any] = json.loads(project.on(LEAF, "sudo vtysh -c 'show ip route json'"))
    return routes


def test_the_leaves_of_a_rail_reach_each_other_and_no_other_rail(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.edit(*RAILS_APART)
    routes = deployed(project)
    assert len({hop["interfaceName"] for hop in routes[OWN_RAIL][0]["nexthops"]}) == 2
    assert OTHER_RAIL not in routes
    project.edit(("count: 4\n", "count: 6\n"))
    project.up()
    grown = {name for name, one in project.plan()["devices"].items() if one["state"] == "changed"}
    assert grown == {"lab-leaf5", "lab-leaf6", *(f"lab-spine{number}" for number in range(1, 5))}
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]


def test_one_switch_a_rail_is_deployed_without_a_neighbor(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.edit(
        ("shape: rail-optimized", "shape: rail-only\n  tiers: 1"),
        ("  links_per_pair: 1          # one cable from each leaf to each spine\n", ""),
        ("  spine: {model: sonic-vs, count: 2}\n  reserve: {leaves: 4, spines: 4}\n", ""),
    )
    assert not {OWN_RAIL, OTHER_RAIL} & deployed(project).keys()
    assert set(project.plan()["devices"]) == {LEAF, "lab-leaf2"}
