"""Who shows that the switches above the leaves carry traffic: few switches, by routes of the rendered files."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from frr_routes import Network, routes
from hypothesis import given
from hypothesis import strategies as st
from rollout_shapes import SHAPES

from railweave.api.design.intent import design_text
from railweave.fabric.model import Fabric
from railweave.plan.policy import PolicyLimits, RolloutPolicy
from railweave.plan.waves import WaveGate
from railweave.plan.witness import Witness, witnesses

PODS = (Path(__file__).resolve().parents[3] / "intent" / "lab-pods.yml").read_text(encoding="utf-8")
TEXTS = {"pods": PODS, **{shape.name: shape.intent(shape.base) for shape in SHAPES}}
FABRICS = {name: design_text(text, "shape.yml").fabric for name, text in TEXTS.items()}
ROUTES = {name: routes(fabric) for name, fabric in FABRICS.items()}


def above(fabric: Fabric) -> list[str]:
    return [one.name for one in fabric.switches if not one.tier.attaches_nodes]


def asked(fabric: Fabric, out: Iterable[str] = (), turn: int = 0) -> tuple[Witness, ...]:
    left = [name for name in above(fabric) if name not in {*out}]
    return witnesses(fabric, left, fabric.switch_of.keys() - {*out}, turn=turn)


def used(fabric: Fabric, net: Network, one: Witness) -> set[str]:
    """Return the ports over which a switch sends to the prefix of a witness."""
    sources = {route.source for route in net.ribs[one.device].get(one.prefix, []) if route.source}
    far = {net.ends[one.device, source][0] for source in sources}
    panel = fabric.switch_of[one.device].panel.ports
    links = [link for link in fabric.uplinks_of[one.device] if link.upper in far]
    return {panel[link.lower_port].name for link in links}


@given(name=st.sampled_from(sorted(FABRICS)), turn=st.integers(0, 7), data=st.data())
def test_whoever_is_away_above_the_leaves_is_missed_by_a_witness(name: str, turn: int, data: st.DataObject) -> None:
    fabric = FABRICS[name]
    found = asked(fabric, turn=turn)
    if not above(fabric) or not found:
        return
    assert all(one.ports <= used(fabric, ROUTES[name], one) for one in found)
    gone = data.draw(st.sampled_from(above(fabric)))
    net = routes(fabric, tuple(fabric.fabric_links_of(gone)))
    assert any(not one.ports <= used(fabric, net, one) for one in found)


def test_each_kind_of_fabric_has_witnesses_far_fewer_than_switches() -> None:
    told = {name: (len(asked(fabric)), len(above(fabric))) for name, fabric in FABRICS.items() if above(fabric)}
    assert all(count <= of for count, of in told.values())
    assert sum(bool(count) for count, _ in told.values()) >= len(told) / 2


def test_one_leaf_tells_of_all_spines_and_each_leaf_in_turn() -> None:
    fabric = FABRICS["rails"]
    leaves = [one.name for one in fabric.tier_switches[0]]
    assert [asked(fabric, turn=turn)[0].device for turn in range(len(leaves))] == leaves


def test_nobody_tells_of_a_switch_whose_neighbors_below_do_not_answer() -> None:
    fabric = FABRICS["rails"]
    assert witnesses(fabric, above(fabric), above(fabric)) == ()
    only = fabric.tier_switches[0][0].name
    assert witnesses(fabric, above(fabric), [only]) == (), "there is nobody to send to"


@pytest.mark.parametrize(
    ("policy", "bears"),
    [
        (RolloutPolicy(path_floor=0), True),
        (RolloutPolicy(path_floor=1), False),
        (RolloutPolicy(path_floor=0, uplink_floor_percent=50), False),
    ],
)
def test_single_links_count_where_a_floor_could_be_crossed_by_them(policy: RolloutPolicy, bears: bool) -> None:
    fabric = FABRICS["racks"]
    assert PolicyLimits(fabric, policy).bears_lost_links(()) is bears
    gate = WaveGate(fabric, policy, disruptive=above(fabric))
    assert not gate.witnesses(above(fabric)[:1], (), (), 1), "one path is left, and none is spare"
