"""Intents that are not simply reduced for a lab: one leaf under spines, NICs of many ports, pools without room."""

import pytest
import yaml

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.lab.scale import attempts, scaled

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
    lab = scaled(intent, fabric, load_catalog())
    assert "count" not in lab.keys["topology"]["leaf"]
    assert ("leaves", "1", "1") in lab.mapping


PLANES = """\
fabric: wide
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 8, gpus: 8, nics: {count: 8, speed: SPEED, ports: PORTS, model: connectx-8}}
topology:
  planes: PORTS
  leaf: {model: nvidia-sn5600, downlink_speed: SPEED}
  spine: {model: nvidia-sn5600}
"""
EXACT_POOL = """\
fabric: exact
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 2, gpus: 4, nics: {count: 4, speed: 400G, model: connectx-7}}
topology:
  leaf: {model: nokia-ixr7220-h4-64d, count: 4}
  spine: {model: nokia-ixr7220-h4-64d, count: 2}
  reserve: {leaves: 4}
addressing: {KEY: POOL}
"""


def first_accepted(text: str) -> tuple[int, Fabric]:
    """Return the number of the first attempt that can be designed, and its fabric."""
    catalog = load_catalog()
    intent = load_intent_text(text, "intent.yml")
    fabric = design(intent, catalog).fabric
    assert fabric is not None
    for number, small in enumerate(attempts(intent, fabric, catalog)):
        lab = design(load_intent_text(yaml.safe_dump(small.keys), "lab.yml"), catalog).fabric
        if lab is not None:
            return number, lab
    raise AssertionError("no attempt can be designed")


@pytest.mark.parametrize(("ports", "speed"), [(4, "200G"), (8, "100G")])
def test_nics_of_many_ports_are_in_a_lab_as_well(ports: int, speed: str) -> None:
    number, lab = first_accepted(PLANES.replace("PORTS", str(ports)).replace("SPEED", speed))
    assert (number, lab.sizing.planes) == (0, ports)


@pytest.mark.parametrize(
    ("key", "pool", "attempt"),
    [("loopbacks", "10.255.0.0/16", 0), ("loopbacks", "10.255.0.0/28", 1), ("hosts", "10.32.0.0/22", 0)],
)
def test_a_pool_that_is_just_large_enough_makes_a_smaller_lab(key: str, pool: str, attempt: int) -> None:
    number, _ = first_accepted(EXACT_POOL.replace("KEY", key).replace("POOL", pool))
    assert number == attempt
