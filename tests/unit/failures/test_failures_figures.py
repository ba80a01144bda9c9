"""Figures of three tiers with one super-spine a group, by hand, and what null and `infinite` mean in the JSON."""

from typing import Any

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.failures.analysis import failures
from railweave.intent.load import load_intent_text
from railweave.report.failures import failures_json

PODS = """
fabric: small
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: 8, gpus: 8, nics: {{count: 2, speed: 100G, model: connectx-6}}}}
topology:
  stripe: 2
  links_per_pair: 1
  oversubscription: "8:1"
  leaf: {{model: sonic-vs}}
  spine: {{model: sonic-vs, count: {spines}}}
  tiers: 3
  pod: 2
  super_spine: {{model: sonic-vs, count: {supers}, oversubscription: "8:1"}}
"""
ONE_TIER = """
fabric: rails
workload: {kind: inference}
nodes:
  - {name: gpu, count: 2, gpus: 8, nics: {count: 2, speed: 100G, model: connectx-6}}
topology: {shape: rail-only, leaf: {model: sonic-vs}}
"""


def figures(text: str, *example: str) -> dict[str, Any]:
    fabric = design(load_intent_text(text, "small.yml"), load_catalog()).fabric
    assert fabric is not None
    classes = failures_json(failures(fabric))["classes"]
    [found] = [one for one in classes if one["components"] == list(example)]
    return {key: found[key] for key in ("uplink_percent", "oversubscription", "pair_percent", "node_pair_percent")}


@pytest.mark.parametrize(
    ("example", "by_hand"),
    [
        # Two spines a pod, one super-spine above each: without it every leaf reaches other pods by one spine of two.
        (("super-spine",), (50.0, 2.0, 50.0, 50.0)),
        # Four nodes of the other pod remain, and reach each other below the lost super-spine.
        (("super-spine", "pod"), (100, 1.0, 100, 100.0)),
        (("pod", "pod"), (100, None, None, None)),
    ],
)
def test_a_spine_without_ways_up_is_out_of_service_for_traffic_between_pods(
    example: tuple[str, ...], by_hand: tuple[float | None, ...]
) -> None:
    found = figures(PODS.format(spines=4, supers=2), *example)
    assert tuple(found.values()) == by_hand


def test_the_last_way_up_costs_an_infinite_ratio_and_never_null() -> None:
    found = figures(PODS.format(spines=2, supers=1), "super-spine")
    assert tuple(found.values()) == (0.0, "infinite", 0.0, 0.0)


def test_null_is_what_one_tier_has_nothing_to_measure_on() -> None:
    found = figures(ONE_TIER, "leaf")
    assert (found["oversubscription"], found["pair_percent"]) == (None, None)
