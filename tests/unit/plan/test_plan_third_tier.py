"""A third tier for a live fabric of two: in one step where its ports were reserved, else in phases that move cables,
with every leaf reaching every other one in each of them."""

from collections.abc import Iterable
from itertools import permutations

import pytest
from by_check import sampled
from engine_tools import configure_all
from frr_routes import routes

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.renumbering import moved_cables, renumbered
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.phases.planning import Phase, PhaseKind, phases
from railweave.units import ipv4_text

INTENT = """
fabric: lab
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 2, nics: {{count: 2, speed: 100G, model: connectx-6, pcie: gen4x16}}}}
topology:
  stripe: 2
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {{model: sonic-vs}}
  spine: {{model: sonic-vs, count: {spines}}}
  reserve: {{{reserve}}}
{pods}"""
PODS = "  pod: {pod}\n  super_spine: {{model: sonic-vs}}\n"


def fabric(nodes: int, spines: int, reserve: str = "spines: 4", pod: int = 0) -> Fabric:
    pods = PODS.format(pod=pod) if pod else ""
    text = INTENT.format(nodes=nodes, spines=spines, reserve=reserve, pods=pods)
    found = design(load_intent_text(text, "lab.yml"), load_catalog()).fabric
    assert found is not None
    return found


def test_a_reserved_third_tier_comes_in_one_step_and_touches_no_leaf() -> None:
    reserve = "pods: 3, spines: 6"
    two, three = fabric(4, 2, reserve), fabric(8, 4, reserve, pod=2)
    assert (len(two.tiers), len(three.tiers)) == (2, 3)
    assert (renumbered(two, three), moved_cables(two, three)) == ((), ())
    (whole,) = phases(two, three)
    assert (whole.kind, whole.fabric) == (PhaseKind.SWITCHES, three)


@pytest.mark.parametrize(
    ("nodes", "more", "pod", "spines"), sampled([(8, 8, 2, 2), (32, 32, 8, 2), (32, 36, 8, 4)], every=3)
)
def test_an_unreserved_third_tier_joins_pods_before_a_leaf_leaves_its_last_old_spine(
    nodes: int, more: int, pod: int, spines: int
) -> None:
    two = fabric(nodes, spines)
    pods = -(-more // 2 // pod)
    three = fabric(more, spines * pods, f"pods: {pods}, spines: {4 * pods}", pod=pod)
    found = phases(two, three)
    assert found[-1].fabric is three
    assert [phase for phase in found if phase.cables]
    leaves = {leaf.name for leaf in two.tier_switches[0]}
    before = two
    for phase in found:
        for links in states(before, phase):
            assert all(leaves <= reached(leaf, links) for leaf in leaves), phase.title
        assert renumbered(two, phase.fabric) == ()
        before = phase.fabric
    configured = {config.device: config for config in configure_all(found[-2].fabric)}
    final = {config.device: config for config in configure_all(three)}
    if nodes == more:  # nothing is left for the last phase but what joins the last spines
        assert all(configured[leaf].rows == final[leaf].rows for leaf in leaves)


def states(before: Fabric, phase: Phase) -> list[set[Link]]:
    """Return the links that carry traffic while a phase goes on, and after it. Cables that move are away meanwhile."""
    after = set(phase.fabric.fabric_links)
    return [set(before.fabric_links) & after - set(phase.pending), after]


def reached(leaf: str, links: Iterable[Link]) -> set[str]:
    """Return the leaves that a leaf reaches by links that lead up and then down."""
    rising, falling = [leaf], []
    seen_up, seen_down = {leaf}, {leaf}
    above: dict[str, set[str]] = {}
    below: dict[str, set[str]] = {}
    for link in links:
        above.setdefault(link.lower, set()).add(link.upper)
        below.setdefault(link.upper, set()).add(link.lower)
    while rising:
        here = rising.pop()
        falling.append(here)
        for there in above.get(here, set()) - seen_up:
            seen_up.add(there)
            rising.append(there)
    while falling:
        for there in below.get(falling.pop(), set()) - seen_down:
            seen_down.add(there)
            falling.append(there)
    return seen_down


def test_the_rendered_routes_of_every_phase_lead_from_every_leaf_to_every_other() -> None:
    two, three = fabric(8, 2), fabric(8, 4, "pods: 2, spines: 8", pod=2)
    found = phases(two, three)
    assert [phase.kind.value for phase in found] == ["provision", "switches", "cables", "cables", "cleanup"]
    for phase in found:
        network = routes(phase.fabric, phase.pending)
        for one, other in permutations(phase.fabric.tier_switches[0], 2):
            block, length = phase.fabric.host_blocks[other.name]
            assert network.paths(one.name, f"{ipv4_text(block)}/{length}"), (phase.title, one.name, other.name)
