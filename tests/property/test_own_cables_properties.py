"""What a switch is configured with follows from its own cables: those of others leave its files as they are."""

from dataclasses import replace
from functools import cache

from examples import few
from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.offline import plan_offline
from railweave.report.artifacts import blocks_json
from railweave.sonic.ownership import MADE_BY_SONIC
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

INTENT = """
fabric: lab
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: 8, gpus: 2, nics: {{count: 2, speed: {speed}, ports: 1, model: {nic}}}}}
topology:
  shape: rail-optimized
  rails: 2
  stripe: 4
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {{model: {model}, count: 4, downlink_speed: {speed}, uplink_speed: {speed}}}
  spine: {{model: {model}, count: 2}}
  reserve: {{leaves: 8, spines: 4}}
"""
MODELS = (
    ("sonic-vs", "100G", "connectx-6"),
    ("nokia-ixr7220-h4-64d", "400G", "connectx-7"),
    ("nvidia-sn4700", "400G", "connectx-7"),
)
"""With published headroom, with another chip's, and of a switch that computes it."""
LENGTHS_M = (1, 3, 5, 10, 30, 40, 45, 120, 300)


@cache
def fabric(model: str, speed: str, nic: str) -> Fabric:
    text = INTENT.format(model=model, speed=speed, nic=nic)
    found = design(load_intent_text(text, "lab.yml"), load_catalog())
    assert found.fabric is not None, found.diagnostics
    return found.fabric


def files(made: Fabric) -> dict[str, tuple[bytes, str]]:
    configurator = Configurator(made, find_templates())
    return {one.name: (blocks_json(configurator.blocks(one)), configurator.frr(one)) for one in made.switches}


@few
@given(st.data())
def test_the_cables_of_others_change_no_file_of_a_switch(data: st.DataObject) -> None:
    base = fabric(*data.draw(st.sampled_from(MODELS)))
    numbers = st.integers(0, len(base.links) - 1)
    lengths_m = data.draw(st.dictionaries(numbers, st.sampled_from(LENGTHS_M), max_size=6))
    links = tuple(
        link._replace(length_m=lengths_m.get(number, link.length_m)) for number, link in enumerate(base.links)
    )
    head = replace(base, links=links)
    met = {name for number in lengths_m for name in (base.links[number].lower, base.links[number].upper)}
    before, after = files(base), files(head)
    assert {name for name in before if before[name] != after[name]} <= met
    configurator = Configurator(head, find_templates())
    for switch in head.switches:
        tables = configurator.device(switch).config_db()
        made = {name for name in tables["BUFFER_PROFILE"] if name.startswith(MADE_BY_SONIC)}
        assert made <= {row["profile"] for row in tables["BUFFER_PG"].values()}, (
            "no profile without a port that uses it"
        )
    plan = plan_offline(base, head, find_templates())
    assert plan.deltas.keys() == {name for name in before if before[name] != after[name]}


def test_one_long_cable_of_a_new_node_adds_no_profile_to_the_leaves_of_others() -> None:
    base = fabric(*MODELS[0])
    (first, *_) = [number for number, link in enumerate(base.links) if link.upper == "lab-leaf3"]
    longer = base.links[first]._replace(length_m=45)
    head = replace(base, links=(*base.links[:first], longer, *base.links[first + 1 :]))
    plan = plan_offline(base, head, find_templates())
    assert list(plan.deltas) == ["lab-leaf3"]
    (profile,) = [change.key for change in plan.deltas["lab-leaf3"] if change.table == "BUFFER_PROFILE"]
    assert profile == "pg_lossless_100000_300m_profile"
