"""What `diff` says of two intents, the plan says of switches on which the first one is deployed."""

from collections.abc import Callable
from typing import Any

import pytest
from by_check import sampled
from schema_leaves import PAIRS

from railweave.api.design.intent import design_text
from railweave.fabric.model import Fabric
from railweave.plan.offline import plan_offline
from railweave.templates import find_templates

SAMPLE = (
    "bgp.bfd",
    "cabling.leaf_spine.length_m",
    "edge_guard",
    "mtu.fabric",
    "overrides",
    "sonic.release",
    "topology.links_per_pair",
    "topology.spine.count",
    "traffic_classes[].dscp",
    "traffic_classes[].lossless",
)
"""What is compared in each run; all others are among the slow tests."""
MODELS = tuple(leaf for leaf in sorted(PAIRS) if leaf.endswith(("leaf.model", "spine.model")))
"""Another model is another switch: what runs on the one that is there cannot be brought to it."""
OTHERS = sorted(PAIRS.keys() - {*SAMPLE, *MODELS})


def fabrics_of(leaf: str) -> tuple[Fabric, Fabric]:
    pair = PAIRS[leaf]
    base, head = (design_text(text, pair.file, lambda name: (name, pair.beside[name])) for text in pair.texts(leaf))
    return base.fabric, head.fabric


@pytest.mark.parametrize("leaf", [*SAMPLE, *(pytest.param(leaf, marks=pytest.mark.slow) for leaf in OTHERS)])
def test_a_plan_for_switches_says_what_the_diff_says(
    leaf: str, bench_of: Callable[[Fabric], Any], settle: Callable[[Any], Any]
) -> None:
    base, head = fabrics_of(leaf)
    bench = settle(bench_of(base))
    bench.world.grow(head)
    plan, told = bench.plan(), plan_offline(base, head, find_templates(), renumber=True)
    assert plan.devices.keys() == told.devices.keys()
    running = [name for name in plan.devices if name in base.switch_of]
    for name in running:
        # FRR prints its lines in another order than the file has.
        assert sorted(plan.deltas.get(name, ()), key=repr) == sorted(told.deltas.get(name, ()), key=repr)
    assert plan.disruptive == told.disruptive


@pytest.mark.parametrize("leaf", sampled(MODELS, every=4))
def test_a_plan_for_switches_of_another_model_changes_none_and_says_why(
    leaf: str, bench_of: Callable[[Fabric], Any], settle: Callable[[Any], Any]
) -> None:
    base, head = fabrics_of(leaf)
    bench = settle(bench_of(base))
    bench.world.grow(head)
    plan, told = bench.plan(), plan_offline(base, head, find_templates(), renumber=True)
    models = {one.name: one.panel.model for one in base.switches}
    others = {one.name for one in head.switches if models.get(one.name, one.panel.model) != one.panel.model}
    assert others
    assert others <= told.deltas.keys()
    for name in others:
        assert not plan.deltas.get(name)
        assert plan.devices[name].difference.blockers or plan.devices[name].error
