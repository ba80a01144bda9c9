"""Labs of rail-only fabrics: the whole reserve, and a small intent of the same tiers."""

import pytest
import yaml

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.lab.scale import scaled, whole_reserve

SMALL = """
fabric: lab
workload: {kind: inference}
nodes: [{name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6}}]
topology:
  shape: rail-only
  leaf: {model: sonic-vs}
"""
LARGE = """
fabric: rails
workload: {kind: pretraining}
nodes: [{name: gpu, count: NODES, gpus: 8, nics: {count: 8, speed: 400G, model: connectx-7}}]
topology:
  shape: rail-only
  leaf: {model: nokia-ixr7220-h4-64d}
"""


def designed(text: str) -> tuple[Intent, Fabric]:
    intent = load_intent_text(text, "rails.yml")
    fabric = design(intent, load_catalog()).fabric
    assert fabric is not None
    return intent, fabric


def test_the_reserve_of_one_switch_a_rail_is_its_nodes() -> None:
    whole = whole_reserve(*designed(SMALL), load_catalog())
    assert (len(whole.tiers), len(whole.switches), len(whole.hosts)) == (1, 2, 32)


@pytest.mark.parametrize(("nodes", "tiers", "spines"), [(32, 1, 0), (100, 2, 16)])
def test_a_small_intent_has_the_tiers_of_the_large_one(nodes: int, tiers: int, spines: int) -> None:
    made = scaled(*designed(LARGE.replace("NODES", str(nodes))), load_catalog())
    _, small = designed(yaml.safe_dump(made.keys))
    assert (small.rail_only, small.rails, len(small.tiers), small.sizing.spines) == (True, 8, tiers, spines)
    assert ("spines" in {what for what, _, _ in made.mapping}) == (tiers > 1)
