"""Rail-only on real FRR: every rail a fabric of its own, with leaves and a spine, and nodes between which no rail meets
another."""

import json
from typing import Any

import pytest

# The simulator's scenarios of the same name run for every change.
pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

OWN, OTHER = "10.32.0.128/26", "10.32.0.64/26"
"""The nodes of leaf 3, on rail 0 as leaf 1, and of leaf 2, on rail 1."""


def routed(rig: Any, switch: str, prefix: str) -> list[str]:
    """Return the neighbors' ports over which FRR sends to a prefix."""
    told = json.loads(rig.on(switch, f"vtysh -c 'show ip route {prefix} json'")).get(prefix, [])
    return [hop["interfaceName"] for route in told if route.get("selected") for hop in route["nexthops"]]


def test_every_rail_is_deployed_as_a_fabric_of_its_own(rails_apart: Any, proves: Any) -> None:
    assert rails_apart.deploy()["result"] == "done"
    rails_apart.as_intended()
    rails_apart.wait_until(lambda: routed(rails_apart, "rails-leaf1", OWN), 60, "leaf 1 reaches its rail")
    assert routed(rails_apart, "rails-leaf1", OTHER) == []
    neighbors = {switch: len(rails_apart.bgp(switch)) for switch in ("rails-leaf1", "rails-spine1", "rails-spine2")}
    assert neighbors == {"rails-leaf1": 1, "rails-spine1": 2, "rails-spine2": 2}
    proves("two rails that share no switch: 4 leaves and 2 spines, no route from one to the other")


def test_nodes_reach_each_other_on_each_rail_and_on_no_other(rails_apart: Any, proves: Any) -> None:
    for own, far in (("10.32.0.1", "10.32.0.129"), ("10.32.0.65", "10.32.0.193")):
        assert rails_apart.pings("gpu1", f"-M do -s 8972 -I {own} {far}"), (own, far)
    assert not rails_apart.pings("gpu1", "-I 10.32.0.1 10.32.0.193")
    proves("9000 bytes with don't-fragment on either rail, across leaf, spine and leaf; nothing between rails")
