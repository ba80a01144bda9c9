"""Expected bandwidth and time without a link against every state of small fabrics, weighed by its probability."""

from itertools import product
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from railweave.api.design.intent import gather_text
from railweave.fabric.model import Fabric
from railweave.failures.analysis import failures
from railweave.failures.availability import availability
from railweave.failures.components import Component, components
from railweave.failures.rates import HOURS_A_YEAR, KINDS, Rate, Rates

INTENT = """
fabric: tiny
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 1, nics: {{count: {nics}, speed: 100G, ports: {planes}, model: connectx-6}}}}
topology:
  shape: {shape}
  planes: {planes}
  stripe: {nodes}
  links_per_pair: 1
  oversubscription: "8:1"
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: 1}}
"""
MOST_COMPONENTS = 13


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    text = INTENT.format(
        nodes=draw(st.integers(1, 2)),
        nics=draw(st.integers(1, 2)),
        planes=draw(st.integers(1, 2)),
        shape=draw(st.sampled_from(("rail-optimized", "rack-aligned"))),
    )
    found = gather_text(text, "tiny.yml").fabric
    assume(found is not None)
    assert found is not None
    assume(len(components(found)) <= MOST_COMPONENTS)
    return found


@st.composite
def rates(draw: st.DrawFn) -> Rates:
    kinds = draw(st.lists(st.sampled_from(KINDS), max_size=4, unique=True))
    return Rates({kind: Rate(draw(st.integers(0, 50)), draw(st.integers(1, 300))) for kind in kinds})


def brute_force(fabric: Fabric, given_rates: Rates) -> tuple[float, float]:
    """Return the expected part of the bandwidth of node ports, and of nodes without a link, over all states."""
    found = components(fabric)
    down = [given_rates.rate(one.kind).unavailability for one in found]
    access = [link for link in fabric.links if link.is_access]
    whole = sum(link.speed_gbps for link in access)
    bandwidth = cut_off = 0.0
    for state in product((False, True), repeat=len(found)):
        weight = prod(q if failed else 1 - q for q, failed in zip(down, state, strict=True))
        if not weight:
            continue
        failed_ones: list[Component] = [one for one, failed in zip(found, state, strict=True) if failed]
        out = {name for one in failed_ones for name in one.out}
        lost = {link for one in failed_ones for link in one.down}
        left = [link for link in access if link not in lost and link.upper not in out]
        bandwidth += weight * sum(link.speed_gbps for link in left)
        cut_off += weight * (len(fabric.hosts) - len({link.lower for link in left}))
    return 100 * bandwidth / whole, cut_off


@given(fabric=fabrics(), given_rates=rates())
def test_expectations_are_those_of_all_states(fabric: Fabric, given_rates: Rates) -> None:
    found = availability(fabric, failures(fabric), given_rates)
    ports, nodes = brute_force(fabric, given_rates)
    assert found.ports_percent == pytest.approx(ports)
    assert found.node_hours_out == pytest.approx(HOURS_A_YEAR * nodes)


@given(fabric=fabrics(), given_rates=rates())
def test_hours_of_classes_are_those_of_their_failures(fabric: Fabric, given_rates: Rates) -> None:
    found = availability(fabric, failures(fabric), given_rates)
    every = components(fabric)
    down = [given_rates.rate(one.kind).unavailability for one in every]
    assert sum(one.hours_per_year for one in found.singles) == pytest.approx(HOURS_A_YEAR * sum(down))
    pairs = sum(one * other for place, one in enumerate(down) for other in down[place + 1 :])
    assert sum(one.hours_per_year for one in found.pairs) == pytest.approx(HOURS_A_YEAR * pairs)
    assert sum(one.mean_down for one in found.kinds) == pytest.approx(sum(down))
