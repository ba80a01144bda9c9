"""Growth within the reserve of automatic spines moves no cable; the cheapest pods are those of all designs."""

from dataclasses import replace
from typing import NamedTuple

from designed_fabrics import CATALOG
from examples import few
from hypothesis import assume, given
from hypothesis import strategies as st

from railweave.design.build import design
from railweave.design.growth import grown
from railweave.design.renumbering import moved_cables, renumbered
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent


class Wish(NamedTuple):
    """The parts of an intent with automatic spines."""

    nodes: int
    nics: int
    stripes: int
    reserved_stripes: int
    ratio: int

    def intent(self) -> Intent:
        return load_intent_text(
            f"""
fabric: reserved
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {self.nodes * self.stripes}, gpus: 8, nics: {{count: {self.nics}, speed: 100G, model: cx6}}}}
topology:
  oversubscription: "{self.ratio}:1"
  stripe: {self.nodes}
  leaf: {{model: sonic-vs}}
  spine: {{model: sonic-vs}}
  reserve: {{leaves: {(self.stripes + self.reserved_stripes) * self.nics}}}
""".replace("cx6", "connectx-6"),
            "reserved.yml",
        )


wishes = st.builds(
    Wish, st.integers(1, 8), st.integers(1, 2), st.integers(1, 3), st.integers(0, 12), st.sampled_from([1, 2, 3])
)


@given(wishes)
@few
def test_growth_within_the_reserve_moves_no_cable(wish: Wish) -> None:
    before = design(wish.intent(), CATALOG)
    assume(before.fabric is not None)
    assert before.fabric is not None
    if any(diagnostic.code == "G-1" for diagnostic in before.diagnostics):
        # Said only where more leaves are reserved than a spine has ports.
        assert (wish.stripes + wish.reserved_stripes) * wish.nics > 32
        return
    after = design(
        grown(wish.intent(), wish.nodes * (wish.stripes + wish.reserved_stripes), before.fabric), CATALOG
    ).fabric
    assert after is not None
    assert not moved_cables(before.fabric, after)
    assert not renumbered(before.fabric, after)


@given(st.integers(17, 60), st.sampled_from([1, 2, 4]), st.sampled_from([8, 16]))
@few
def test_the_pods_that_cost_least_are_those_of_all_designs(stripes: int, nics: int, ports: int) -> None:
    text = f"""
fabric: core
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {stripes * ports // 2}, gpus: 8, nics: {{count: {nics}, speed: 400G}}}}
topology: {{tiers: 3, leaf: {{ports: {ports}, speed: 400G}}, spine: {{ports: {ports}, speed: 400G}}}}
"""
    intent = load_intent_text(text, "core.yml")
    costs = {}
    for size in (None, *range(1, ports // 2 + 1)):
        found = design(replace(intent, topology=intent.topology.with_values(pod=size)), CATALOG)
        if found.sizing is not None:
            costs[size] = found.sizing.spines + found.sizing.super_spines, found
    assume(None in costs)
    built, automatic = costs.pop(None)
    cheapest = min((cost for cost, _ in costs.values()), default=built)
    fixes = [diagnostic.fix for diagnostic in automatic.diagnostics if diagnostic.code == "RW218"]
    if cheapest == built:
        assert all(fix.startswith("no other size") for fix in fixes)
        return
    [fix] = fixes
    largest = max(size for size, (cost, _) in costs.items() if size and cost == cheapest)
    assert f"use topology.pod: {largest}: " in fix
