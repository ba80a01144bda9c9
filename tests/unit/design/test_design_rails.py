"""Rail-only: how many tiers a rail gets, and what the sizing says of it."""

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.sizing import Sizing
from railweave.intent.load import load_intent_text


def sized(nodes: int, extra: str = "", growth: str = "") -> Sizing:
    text = f"""
fabric: rails
workload: {{kind: pretraining{growth}}}
nodes: [{{name: gpu, count: {nodes}, gpus: 8, nics: {{count: 8, speed: 400G, model: connectx-7, pcie: gen5x16}}}}]
topology:
  shape: rail-only
  leaf: {{model: nokia-ixr7220-h4-64d}}
{extra}"""
    found = design(load_intent_text(text, "rails.yml"), load_catalog())
    assert found.fabric is not None, found.diagnostics
    assert found.sizing is not None
    return found.sizing


def steps(sizing: Sizing) -> dict[str, tuple[str, str]]:
    return {step.name: (step.formula, step.result) for step in sizing.steps}


def test_a_rail_is_one_switch_while_its_nodes_fit() -> None:
    one = sized(64)
    assert (one.tiers, one.leaves, one.spines, one.links.leaf_spine) == (1, 8, 0, 0)
    found = steps(one)
    assert found["nodes of one switch"] == ("⌊64 ports ÷ 1 port of a node⌋", "64")
    assert found["tiers"] == ("64 nodes ≤ 64 of one switch a rail", "1")
    assert found["leaves"] == ("8 rails × 1 switch", "8")
    assert found["max. nodes without recabling"] == ("1 stripe; leaf ports end first", "64")
    assert one.room.next_step == "room left: 0 leaves, 0 spines; next: tiers: 2, which moves cables"


def test_two_tiers_a_rail_hold_more_nodes_or_the_growth_that_is_stated() -> None:
    for two in (sized(65), sized(32, growth=", growth: {gpus: 520}"), sized(32, "  tiers: 2\n")):
        assert (two.tiers, two.spines) == (2, 16)
    found = steps(sized(100))
    assert found["leaves"] == ("8 rails × ⌈100 nodes ÷ 32⌉", "32")
    assert found["spines of a rail"][1] == "2"
    assert found["spines"] == ("8 rails × 2", "16")
    assert found["ports in use on a spine"] == ("4 leaves × 16 links", "64 of 64")
    more = sized(100).room.next_step
    assert more.endswith("or 32 spines (512 cables move), or spines with 80 ports")


def test_a_spine_that_is_not_built_is_told() -> None:
    found = sized(32, "  spine: {model: nokia-ixr7220-h4-64d}\n").diagnostics
    assert [(one.code, one.message) for one in found] == [("RW210", "one switch a rail is enough: no spine is built")]
