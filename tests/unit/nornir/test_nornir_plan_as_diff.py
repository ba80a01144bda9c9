"""What `diff` says of two intents, the plan says of switches on which the first one is deployed."""

from collections.abc import Callable
from typing import Any

import pytest
from schema_leaves import PAIRS

from railweave.api.designing import design_text
from railweave.fabric.model import Fabric
from railweave.plan.offline import plan_offline
from railweave.templates import find_templates

SAMPLE = (
    "bgp.bfd",
    "bgp.hold",
    "cabling.leaf_spine.length_m",
    "edge_guard",
    "hosts.manage",
    "mtu.fabric",
    "overrides",
    "pfc_watchdog.enabled",
    "preset",
    "sonic.release",
    "topology.links_per_pair",
    "topology.reserve.spines",
    "topology.spine.count",
    "traffic_classes[].dscp",
    "traffic_classes[].ecn.min_kb",
    "traffic_classes[].lossless",
)


@pytest.mark.parametrize("leaf", SAMPLE)
def test_a_plan_for_switches_says_what_the_diff_says(
    leaf: str, bench_of: Callable[[Fabric], Any], settle: Callable[[Any], Any]
) -> None:
    base, head = (design_text(text, "lab.yml").fabric for text in PAIRS[leaf].texts(leaf))
    bench = settle(bench_of(base))
    bench.world.grow(head)
    plan, told = bench.plan(), plan_offline(base, head, find_templates())
    assert plan.devices.keys() == told.devices.keys()
    running = [name for name in plan.devices if name in base.switch_of]
    for name in running:
        # FRR prints its lines in another order than the file has.
        assert sorted(plan.deltas.get(name, ()), key=repr) == sorted(told.deltas.get(name, ()), key=repr)
    assert plan.disruptive == told.disruptive
