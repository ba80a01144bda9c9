"""What holds for every rail-only fabric that the design lets pass; its routes are computed from the FRR files."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations

from designed_fabrics import built, check_built_or_refused_with_a_fix, check_nothing_is_given_twice
from engine_tools import configure_all
from examples import few
from frr_routes import routes
from hypothesis import given
from hypothesis import strategies as st

from railweave.design.renumbering import moved_cables, renumbered
from railweave.hosts.values import node_of
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.units import ipv4_text


@dataclass(frozen=True)
class Wish:
    """The parts of a rail-only intent that the design depends on; ``spines`` are of a rail, None for one switch."""

    stripes: int
    nodes: int
    rails: int
    planes: int
    spines: int | None
    pair: int
    spare_stripes: int = 0
    spare_spines: int = 0
    short: int = 0

    def intent(self) -> Intent:
        return load_intent_text(self.text(), "rails.yml")

    def text(self) -> str:
        count = max(1, self.nodes * self.stripes - self.short)
        if self.spines is None:
            rest = "  tiers: 1\n"
        else:
            reserve = (
                f"{{leaves: {(self.stripes + self.spare_stripes) * self.rails},"
                f" spines: {(self.spines + self.spare_spines) * self.rails}}}"
            )
            rest = (
                f"  tiers: 2\n  links_per_pair: {self.pair}\n  reserve: {reserve}\n"
                f"  spine: {{model: sonic-vs, count: {self.spines * self.rails}}}\n  stripe: {self.nodes}\n"
            )
        nics = f"{{count: {self.rails}, speed: 100G, ports: {self.planes}, model: connectx-6}}"
        return f"""
fabric: rails
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {count}, gpus: 8, nics: {nics}}}
topology:
  shape: rail-only
  planes: {self.planes}
  oversubscription: "4:1"
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
{rest}"""


wishes = st.builds(
    Wish,
    stripes=st.integers(1, 3),
    nodes=st.integers(1, 4),
    rails=st.sampled_from([1, 2, 4]),
    planes=st.sampled_from([1, 2]),
    spines=st.none() | st.integers(1, 4),
    pair=st.sampled_from([1, 2]),
    spare_stripes=st.integers(0, 2),
    spare_spines=st.integers(0, 2),
    short=st.integers(0, 2),
)
in_two_tiers = st.builds(replace, wishes, spines=st.integers(2, 3), stripes=st.sampled_from([2, 3]))


@given(wishes)
def test_a_rail_only_intent_is_either_built_or_refused_with_a_fix(wish: Wish) -> None:
    check_built_or_refused_with_a_fix(wish)


@given(wishes)
def test_no_name_port_or_address_is_given_twice_and_no_cable_joins_rails(wish: Wish) -> None:
    fabric = built(wish)
    check_nothing_is_given_twice(fabric)
    for link in fabric.links:
        high = fabric.switch_of[link.upper]
        low = fabric.switch_of.get(link.lower)
        assert (link.plane, link.rail if low is None else low.rail) == (high.plane, high.rail)
        assert low is None or low.plane == high.plane


@given(wishes)
def test_numbers_follow_rail_and_plane_and_sizes_are_the_counts(wish: Wish) -> None:
    fabric = built(wish)
    for switch in fabric.switches:
        index, rest = divmod(switch.number, fabric.rails * fabric.planes)
        assert rest == (switch.rail or 0) * fabric.planes + switch.plane
        assert switch.stripe in (None, index)
    sizing, roles = fabric.sizing, Counter(one.tier.name for one in fabric.switches)
    assert (sizing.leaves, sizing.spines) == (roles["leaf"], roles["spine"])
    kinds = Counter(link.kind for link in fabric.links)
    assert (sizing.links.leaf_spine, sizing.links.host_leaf) == (kinds["leaf_spine"], kinds["host_leaf"])
    assert sizing.limits.nodes >= sizing.nodes


@given(wishes)
@few
def test_leaves_of_a_rail_have_equal_paths_and_rails_have_none(wish: Wish) -> None:
    fabric = built(wish)
    network = routes(fabric)
    for one, other in permutations(fabric.tier_switches[0], 2):
        block, length = fabric.host_blocks[other.name]
        paths = network.paths(one.name, f"{ipv4_text(block)}/{length}")
        if fabric.network_of(one) == fabric.network_of(other):
            pair = fabric.lowest.links_per_pair
            assert (len(set(paths)), len(paths)) == (wish.spines, (wish.spines or 0) * pair * pair)
            assert {len(path) for path in paths} == {3}
        else:
            assert paths == []


@given(wishes)
def test_a_node_has_routes_to_its_own_rail_alone(wish: Wish) -> None:
    fabric = built(wish)
    blocks = {one.name: fabric.network_of(one) for one in fabric.tier_switches[0]}
    for rail in node_of(fabric, fabric.hosts[0]).rails:
        assert rail.ipv4 is not None
        reached = {(one.first, one.length) for one in rail.ipv4.reached}
        own = blocks[rail.switch]
        for name, network in blocks.items():
            assert (fabric.host_blocks[name] in reached) == (network == own)


@given(in_two_tiers, st.integers(1, 2))
@few
def test_more_stripes_change_no_identity_no_row_and_no_node(wish: Wish, more: int) -> None:
    wish = replace(wish, short=0, spare_stripes=2)
    before = built(wish)
    after = built(replace(wish, stripes=wish.stripes + more, spare_stripes=2 - more))
    assert renumbered(before, after) == ()
    assert moved_cables(before, after) == ()
    assert set(before.switches) <= set(after.switches)
    assert set(before.links) <= set(after.links)
    new = {config.device: config for config in configure_all(after)}
    for config in configure_all(before):
        if before.switch_of[config.device].tier.attaches_nodes:
            assert config == new[config.device]
    assert node_of(before, before.hosts[0]) == node_of(after, after.hosts[0])


@given(in_two_tiers)
@few
def test_more_spines_change_no_identity_and_move_no_cable(wish: Wish) -> None:
    wish = replace(wish, spare_spines=1)
    before, after = built(wish), built(replace(wish, spines=(wish.spines or 0) + 1, spare_spines=0))
    assert renumbered(before, after) == ()
    assert moved_cables(before, after) == ()
    assert set(before.switches) <= set(after.switches)


@given(st.integers(1, 4), st.sampled_from([1, 2]))
@few
def test_a_second_tier_under_a_kept_stripe_renumbers_nothing(nodes: int, planes: int) -> None:
    one = Wish(1, nodes, 2, planes, None, 1)
    before = built(one)
    after = built(replace(one, stripes=2, spines=2))
    assert renumbered(before, after) == ()
    assert moved_cables(before, after) == ()
