"""What holds for every fabric of three tiers that the design lets pass; its routes are computed from the FRR files."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations

from designed_fabrics import CATALOG, built, check_built_or_refused_with_a_fix, check_nothing_is_given_twice
from engine_tools import configure_all
from examples import few
from frr_routes import routes
from hypothesis import given
from hypothesis import strategies as st

from railweave.design.build import design
from railweave.design.renumbering import moved_cables, renumbered
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.units import ipv4_text


@dataclass(frozen=True)
class Wish:
    """The parts of an intent with pods that the design depends on; counts are of a pod or a group."""

    pods: int
    stripes: int
    nodes: int
    nics: int
    planes: int
    shape: str
    pair: int | None
    spines: int | None
    members: int | None
    ratio: int
    reserved_pods: int | None
    reserved_spines: int
    uplink_speed: str = "auto"

    def intent(self) -> Intent:
        return load_intent_text(self.text(), "pods.yml")

    def text(self) -> str:
        pods, last = self.pods, f"{self.nodes * self.stripes * self.pods - self.nodes // 2}"
        reserve: dict[str, int] = {}
        if self.reserved_pods is not None:
            reserve["pods"] = self.reserved_pods + pods
            if self.spines and self.pair:
                reserve["spines"] = reserve["pods"] * (self.spines + self.reserved_spines)
        counts = {
            "links_per_pair": self.pair,
            "spine": f"{{model: sonic-vs, uplink_speed: {self.uplink_speed}, count: "
            f"{self.spines * pods if self.spines else 'auto'}}}",
            "reserve": "{" + ", ".join(f"{key}: {value}" for key, value in reserve.items()) + "}",
        }
        count = f", count: {self.members * self.spines}" if self.members and self.spines else ""
        return f"""
fabric: pods
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {last}, gpus: 8, nics: {{count: {self.nics}, speed: 100G, ports: {self.planes}, model: {NIC}}}}}
topology:
  tiers: 3
  shape: {self.shape}
  planes: {self.planes}
  stripe: {self.nodes}
  pod: {self.stripes}
  oversubscription: "4:1"
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  super_spine: {{model: sonic-vs, oversubscription: "{self.ratio}:1"{count}}}
""" + "".join(f"  {key}: {value}\n" for key, value in counts.items() if value is not None)


NIC = "connectx-6"

wishes = st.builds(
    Wish,
    pods=st.integers(1, 3),
    stripes=st.integers(1, 2),
    nodes=st.integers(1, 3),
    nics=st.sampled_from([1, 2]),
    planes=st.sampled_from([1, 2]),
    shape=st.sampled_from(["rail-optimized", "rack-aligned"]),
    pair=st.none() | st.sampled_from([1, 2]),
    spines=st.none() | st.sampled_from([2, 4]),
    members=st.none() | st.sampled_from([1, 2, 4]),
    ratio=st.sampled_from([1, 3, 7]),
    reserved_pods=st.none() | st.integers(0, 2),
    reserved_spines=st.integers(0, 1),
    uplink_speed=st.sampled_from(["auto", "50G"]),
)
small = st.builds(
    replace,
    wishes,
    pair=st.sampled_from([1, 2]),
    spines=st.just(2),
    planes=st.just(1),
    pods=st.sampled_from([2, 3]),
    ratio=st.just(7),
)
"""Fabrics with few paths, whose routes are soon computed."""


@given(wishes)
def test_an_intent_with_pods_is_either_built_or_refused_with_a_fix(wish: Wish) -> None:
    check_built_or_refused_with_a_fix(wish)


@given(wishes)
def test_no_name_port_address_or_as_number_is_given_twice(wish: Wish) -> None:
    fabric = built(wish)
    check_nothing_is_given_twice(fabric)
    owners: dict[int, set[object]] = {}
    for one in fabric.switches:
        owner = (one.name, one.pod, one.plane) if one.tier.attaches_nodes else (one.tier.name, one.pod, one.plane)
        owners.setdefault(one.asn, set()).add(owner)
    assert all(len(owner) == 1 for owner in owners.values())
    pools = fabric.policies.addressing
    for link in fabric.fabric_links:
        pool = pools.core if link.level == 2 else pools.links
        assert pool.first <= link.network < pool.first + pool.size


@given(wishes)
def test_links_join_a_pod_or_the_group_of_a_spine_and_both_ends_agree(wish: Wish) -> None:
    fabric = built(wish)
    groups: dict[tuple[int, int], set[int | None]] = {}
    for link in fabric.fabric_links:
        low, high = fabric.switch_of[link.lower], fabric.switch_of[link.upper]
        assert (low.tier.level + 1, low.plane) == (high.tier.level, high.plane) == (link.level, link.plane)
        for switch, port in ((low, link.lower_port), (high, link.upper_port)):
            assert switch.panel.ports[port].speed_gbps == link.speed_gbps
        if link.level == 1:
            assert low.pod == high.pod
            assert link.speed_gbps == 100
        else:
            assert (low.pod is not None, high.pod) == (True, None)
            assert link.speed_gbps == (100 if wish.uplink_speed == "auto" else 50)
            groups.setdefault((high.plane, high.group or 0), set()).add(low.pod)
    pods = {switch.pod for switch in fabric.switches if switch.pod is not None}
    assert all(each == pods for each in groups.values())
    pairs = Counter((link.lower, link.upper) for link in fabric.fabric_links)
    assert {count for (low, _), count in pairs.items() if fabric.switch_of[low].tier.level} == {
        fabric.tiers[1].links_per_pair
    }


@given(wishes)
def test_sizes_are_the_counts_of_the_fabric(wish: Wish) -> None:
    fabric = built(wish)
    sizing, roles = fabric.sizing, Counter(one.tier.name for one in fabric.switches)
    assert (sizing.leaves, sizing.spines, sizing.super_spines) == (roles["leaf"], roles["spine"], roles["super-spine"])
    kinds = Counter(link.kind for link in fabric.links)
    assert sizing.links.spine_super_spine == kinds["spine_super_spine"]
    assert (sizing.links.leaf_spine, sizing.links.host_leaf) == (kinds["leaf_spine"], kinds["host_leaf"])
    assert sizing.limits.nodes >= sizing.nodes


@given(small)
@few
def test_every_pair_of_leaves_has_the_planned_number_of_equal_paths(wish: Wish) -> None:
    fabric = built(wish)
    network, pair = routes(fabric), fabric.lowest.links_per_pair
    spines = fabric.tiers[1]
    members = fabric.top.count // 2
    leaves = fabric.tier_switches[0]
    for one, other in permutations(leaves, 2):
        block, length = fabric.host_blocks[other.name]
        paths = network.paths(one.name, f"{ipv4_text(block)}/{length}")
        if one.pod == other.pod:
            assert (len(set(paths)), len(paths)) == (2, 2 * pair * pair)
            assert {len(path) for path in paths} == {3}
        else:
            up = members * spines.links_per_pair
            assert (len(set(paths)), len(paths)) == (2 * members, 2 * pair * up * spines.links_per_pair * pair)
            assert {len(path) for path in paths} == {5}


@given(small, st.data())
@few
def test_no_path_goes_up_again_and_none_is_lost_while_links_are_down(wish: Wish, data: st.DataObject) -> None:
    fabric = built(wish)
    down = data.draw(st.lists(st.sampled_from(fabric.fabric_links), min_size=1, max_size=2, unique=True))
    network, left = routes(fabric, tuple(down)), set(fabric.fabric_links) - set(down)
    above: dict[str, set[str]] = {}
    for link in left:
        above.setdefault(link.lower, set()).add(link.upper)
    for one, other in permutations(fabric.tier_switches[0], 2):
        block, length = fabric.host_blocks[other.name]
        paths = network.paths(one.name, f"{ipv4_text(block)}/{length}")
        for path in paths:
            levels = [fabric.switch_of[name].tier.level for name in path]
            top = levels.index(max(levels))
            assert levels == [*range(top + 1), *range(top - 1, -1, -1)], path
        ups = {up for spine in above.get(one.name, set()) for up in {spine, *above.get(spine, set())}}
        downs = {up for spine in above.get(other.name, set()) for up in {spine, *above.get(spine, set())}}
        assert bool(paths) == bool(ups & downs), (one.name, other.name)


@given(wishes, st.integers(1, 2))
def test_more_nodes_and_pods_change_no_identity_and_no_row(wish: Wish, more: int) -> None:
    wish = replace(wish, reserved_pods=2, spines=wish.spines or 2, pair=wish.pair or 1)
    before = built(wish)
    after = built(replace(wish, pods=wish.pods + more, reserved_pods=2 - more))
    assert renumbered(before, after) == ()
    assert moved_cables(before, after) == ()
    assert set(before.links) <= set(after.links)
    assert set(before.switches) <= set(after.switches)
    old = {config.device: config for config in configure_all(before)}
    new = {config.device: config for config in configure_all(after)}
    for leaf in before.tier_switches[0]:
        if len(before.nodes_on(leaf.name)) == len(after.nodes_on(leaf.name)):
            assert old[leaf.name] == new[leaf.name]
    for spine in before.tier_switches[1]:
        assert old[spine.name] == new[spine.name]


@given(wishes)
def test_more_spines_of_every_pod_change_no_identity_and_move_no_cable(wish: Wish) -> None:
    wish = replace(wish, reserved_pods=1, reserved_spines=1, spines=2, pair=1, members=None)
    before = built(wish)
    after = built(replace(wish, spines=3, reserved_spines=0))
    assert renumbered(before, after) == ()
    assert moved_cables(before, after) == ()
    assert set(before.switches) <= set(after.switches)


@given(wishes)
def test_more_super_spines_change_no_identity(wish: Wish) -> None:
    wish = replace(wish, spines=2, pair=1, members=1, ratio=7)
    before, after = built(wish), built(replace(wish, members=2))
    assert renumbered(before, after) == ()
    assert set(before.switches) <= set(after.switches)
    moved = moved_cables(before, after)
    assert {one.before.upper for one in moved} <= {one.name for one in before.tier_switches[2]}


@given(st.integers(1, 4), st.sampled_from([None, 1]), st.sampled_from(["auto", "50G"]))
@few
def test_a_third_tier_that_was_reserved_changes_no_leaf(nodes: int, pair: int | None, uplink_speed: str) -> None:
    wish = Wish(1, 1, nodes, 2, 1, "rail-optimized", pair, 2, None, 7, 2, 0, uplink_speed)
    text = wish.text().replace("tiers: 3", "tiers: auto")
    before = design(load_intent_text(text, "two.yml"), CATALOG).fabric
    assert before is not None
    assert len(before.tiers) == 2
    after = built(replace(wish, pods=2, reserved_pods=1))
    assert len(after.tiers) == 3
    assert (renumbered(before, after), moved_cables(before, after)) == ((), ())
    old = {config.device: config for config in configure_all(before)}
    new = {config.device: config for config in configure_all(after)}
    for leaf in before.tier_switches[0]:
        if len(before.nodes_on(leaf.name)) == len(after.nodes_on(leaf.name)):
            assert old[leaf.name] == new[leaf.name]
