"""What a verification requires sessions to carry is never more than what routing brings, whichever links are down."""

from functools import cache
from pathlib import Path

import pytest
from by_check import sampled
from frr_routes import routes
from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent
from railweave.plan.expectation import expect
from railweave.plan.observation import Observation, ObservedSession
from railweave.plan.routes import session_routes

INTENTS = Path(__file__).parents[2] / "intent"
DUAL_TOR = "../tests/golden/sonic_config/intents/dual-tor.yml"
"""Leaves that share NICs announce the same addresses, which the bound counts once and leaves out where links fail."""


@cache
def fabric_of(name: str) -> Fabric:
    fabric = design(load_intent(INTENTS / name), load_catalog()).fabric
    assert fabric is not None
    return fabric


@pytest.mark.parametrize("name", sampled(["lab-4.yml", "lab-pods.yml", "mixed-nodes.yml", DUAL_TOR], every=3))
@given(data=st.data())
def test_no_session_of_a_converged_fabric_lacks_routes(name: str, data: st.DataObject) -> None:
    fabric = fabric_of(name)
    links = fabric.links if name == DUAL_TOR else fabric.fabric_links
    down = data.draw(st.lists(st.sampled_from(links), max_size=3, unique=True))
    network = routes(fabric, tuple(down))
    lost = set(network.down)
    tight = 0
    for switch in fabric.switches:
        expectation = expect(fabric, switch)
        up = [
            one
            for one in expectation.sessions
            if not {(switch.name, one.peer), network.ends[switch.name, one.peer]} & lost
        ]
        counts = {one.peer: network.counts(switch.name, one.peer) for one in up}
        seen = Observation(bgp={one.peer: ObservedSession(one.remote_asn, True, -1, *counts[one.peer]) for one in up})
        found = session_routes(expectation, seen)
        assert [one for one in found if not one.ok] == []
        tight += sum(one.actual == one.least for one in found)
        # a session that announces nothing, or the own prefixes alone where there are others, is found
        empty = Observation(
            bgp={one.peer: ObservedSession(one.remote_asn, True, -1, counts[one.peer][0], 0) for one in up}
        )
        assert sum(not one.ok for one in session_routes(expectation, empty)) == len(up)
    assert down or tight or name == DUAL_TOR, "the bound is reached where all is well"
