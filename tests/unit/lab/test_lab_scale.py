"""A fabric of one leaf under spines as a lab: a stated count of one leaf would be a switch without spines."""

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.intent.load import load_intent_text
from railweave.lab.scale import scaled

RACK = """\
fabric: rack
workload: {kind: inference}
nodes:
  - {name: gpu, count: 4, gpus: 8, nics: {count: 8, speed: 400G, model: connectx-7}}
topology:
  shape: rack-aligned
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nokia-ixr7220-h4-64d}
  reserve: {leaves: 1}
"""


def test_a_rack_with_one_leaf_keeps_its_spines_in_the_lab() -> None:
    intent = load_intent_text(RACK, "rack.yml")
    fabric = design(intent, load_catalog()).fabric
    assert fabric is not None
    lab = scaled(intent, fabric)
    assert "count" not in lab.keys["topology"]["leaf"]
    assert ("leaves", "1", "1") in lab.mapping
