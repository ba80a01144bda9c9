"""Rings of buffers that wait for each other: none in a Clos, one as soon as two leaves are in transit."""

from collections.abc import Callable
from functools import cache

import pytest
from examples import few
from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.qos.deadlock import Channel, find_deadlock, find_ring, waits_for

INTENT = """
fabric: pod
workload: {{kind: mixed}}
nodes:
  - {{name: gpu, count: {leaves}, gpus: 1, nics: {{count: 1, speed: 100G, model: connectx-6}}}}
topology:
  rails: 1
  stripe: 1
  planes: 1
  links_per_pair: {pairs}
  oversubscription: "8:1"
  leaf: {{model: sonic-vs, count: {leaves}}}
  spine: {{model: sonic-vs, count: {spines}}}
"""


@cache
def pod(leaves: int, spines: int, pairs: int = 1) -> Fabric:
    outcome = design(
        load_intent_text(INTENT.format(leaves=leaves, spines=spines, pairs=pairs), "pod.yml"), load_catalog()
    )
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


def every_channel(fabric: Fabric) -> list[Channel]:
    """Return every way between two devices, those of GPU nodes too."""
    return [ends for link in fabric.links for ends in ((link.lower, link.upper), (link.upper, link.lower))
            if ends[1] in fabric.switch_of]  # fmt: skip


def after(fabric: Fabric, transits: dict[str, frozenset[str]]) -> Callable[[Channel], list[Channel]]:
    return lambda channel: list(waits_for(fabric, channel, transits))


@few
@given(leaves=st.integers(2, 5), spines=st.integers(2, 4), pairs=st.integers(1, 2))
def test_the_whole_graph_of_a_clos_holds_no_ring(leaves: int, spines: int, pairs: int) -> None:
    fabric = pod(leaves, spines, pairs)
    assert find_ring(every_channel(fabric), after(fabric, {})) == ()
    assert find_deadlock(fabric, {}) == ()


@few
@given(leaves=st.integers(2, 4), spines=st.integers(2, 4), data=st.data())
def test_the_search_from_switches_in_transit_finds_a_ring_where_the_whole_graph_has_one(
    leaves: int, spines: int, data: st.DataObject
) -> None:
    fabric = pod(leaves, spines)
    low = [one.name for one in fabric.switches if fabric.above(one.name)]
    chosen = data.draw(st.sets(st.sampled_from(low)))
    transits = {name: frozenset(data.draw(st.sets(st.sampled_from(fabric.above(name))))) for name in chosen}
    whole = find_ring(every_channel(fabric), after(fabric, transits))
    assert bool(find_deadlock(fabric, transits)) is bool(whole)


def test_one_leaf_in_transit_is_a_valley_and_no_ring_yet() -> None:
    assert find_deadlock(pod(3, 2), {"pod-leaf1": frozenset({"pod-spine1", "pod-spine2"})}) == ()


def test_two_leaves_in_transit_between_two_spines_close_a_ring() -> None:
    spines = frozenset({"pod-spine1", "pod-spine2"})
    ring = find_deadlock(pod(3, 2), {"pod-leaf1": spines, "pod-leaf2": spines})
    assert sorted(ring) == ["pod-leaf1", "pod-leaf2", "pod-spine1", "pod-spine2"]


@pytest.mark.parametrize(
    ("edges", "ring"),
    [
        ({"a": "b", "b": "c", "c": ""}, ""),
        ({"a": "b", "b": "c", "c": "b"}, "bc"),
        ({"a": "bc", "b": "c", "c": "a"}, "abc"),
        ({"a": "a"}, "a"),
    ],
)
def test_a_ring_is_what_leads_back_to_itself(edges: dict[str, str], ring: str) -> None:
    ways = {name: [(far, "") for far in ends] for name, ends in edges.items()}
    found = find_ring([("a", "")], lambda channel: ways[channel[0]])
    assert "".join(name for name, _ in found) == ring
