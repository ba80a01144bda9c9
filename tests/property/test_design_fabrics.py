"""What holds for every fabric that the design lets pass."""

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from designed_fabrics import built, check_built_or_refused_with_a_fix, check_nothing_is_given_twice, outcome
from hypothesis import assume, example, given
from hypothesis import strategies as st

from railweave.design.renumbering import moved_cables, renumbered
from railweave.fabric.policy import Pool
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent, Reserve, Shape

BASE = load_intent_text(
    """
fabric: pod1
workload: {kind: inference}
nodes:
  - {name: gpu, count: 8, gpus: 8, nics: {count: 4, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-optimized
  oversubscription: "4:1"
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nokia-ixr7220-h4-64d}
""",
    "base.yml",
)
SPEEDS = {1: 400, 2: 200}
MODELS = ("nokia-ixr7220-h4-64d", "nvidia-sn5600", "nvidia-sn4700")


@dataclass(frozen=True)
class Wish:
    """The parts of an intent that the design depends on."""

    nodes: int
    nics: int
    planes: int
    shape: Shape
    leaf: str
    spine: str
    uplink_gbps: int | None
    stripe: int | None
    pair: int | None
    spines: int | None
    reserve: Reserve

    def intent(self) -> Intent:
        topology, nodes = BASE.topology, BASE.nodes[0]
        nics = nodes.nics.with_values(count=self.nics, ports=self.planes, speed_gbps=SPEEDS[self.planes])
        return replace(
            BASE,
            nodes=(nodes.with_values(count=self.nodes, nics=nics),),
            topology=topology.with_values(
                tiers=2,
                shape=self.shape,
                planes=self.planes,
                stripe=self.stripe,
                links_per_pair=self.pair,
                leaf=topology.leaf.with_values(model=self.leaf, uplink_gbps=self.uplink_gbps),
                spine=topology.spine.with_values(model=self.spine, count=self.spines),
                reserve=self.reserve,
            ),
        )


ALONE = Wish(
    nodes=1,
    nics=1,
    planes=1,
    shape=Shape.RAIL_OPTIMIZED,
    leaf="nokia-ixr7220-h4-64d",
    spine="nokia-ixr7220-h4-64d",
    uplink_gbps=200,
    stripe=1,
    pair=1,
    spines=None,
    reserve=Reserve(),
)
wishes = st.builds(
    Wish,
    nodes=st.integers(1, 70),
    nics=st.sampled_from([1, 2, 4, 8]),
    planes=st.sampled_from([1, 2]),
    shape=st.sampled_from([Shape.RAIL_OPTIMIZED, Shape.RACK_ALIGNED]),
    leaf=st.sampled_from(MODELS),
    spine=st.sampled_from(MODELS),
    uplink_gbps=st.none() | st.sampled_from([200, 400]),
    stripe=st.none() | st.integers(1, 16),
    pair=st.none() | st.sampled_from([1, 2, 4]),
    spines=st.none() | st.sampled_from([2, 4, 8]),
    reserve=st.builds(Reserve().with_values, leaves=st.none(), spines=st.none() | st.integers(2, 12)),
)


def within(address: int, pool: Pool) -> bool:
    return pool.first <= address < pool.first + pool.size


@given(wishes)
def test_an_intent_is_either_built_or_refused_with_a_fix(wish: Wish) -> None:
    check_built_or_refused_with_a_fix(wish)


@given(wishes)
def test_no_name_port_or_identity_is_given_twice(wish: Wish) -> None:
    fabric = built(wish)
    check_nothing_is_given_twice(fabric)
    asns = Counter(switch.asn for switch in fabric.switches if switch.tier.attaches_nodes)
    assert set(asns.values()) == {1}
    spines = {(switch.asn, switch.plane) for switch in fabric.switches if not switch.tier.attaches_nodes}
    assert len(spines) == fabric.planes
    assert not {asn for asn, _ in spines} & asns.keys()


@given(wishes)
def test_addresses_stay_inside_their_pools_and_host_links_inside_their_leafs_block(wish: Wish) -> None:
    fabric = built(wish)
    addressing = fabric.policies.addressing
    assert addressing.hosts is not None
    assert all(within(switch.loopback, addressing.loopbacks) for switch in fabric.switches)
    for link in fabric.links:
        if not link.is_access:
            assert within(link.network + 1, addressing.links)
        else:
            first, length = fabric.host_blocks[link.upper]
            assert within(link.network + 1, Pool(first, length))
            assert first % (1 << (32 - length)) == 0
    assert all(within(first, addressing.hosts) for first, _ in fabric.host_blocks.values())


@given(wishes)
def test_both_ends_of_a_link_exist_and_run_at_its_speed_in_its_plane(wish: Wish) -> None:
    fabric = built(wish)
    for link in fabric.links:
        upper = fabric.switch_of[link.upper]
        assert upper.panel.ports[link.upper_port].speed_gbps == link.speed_gbps
        assert upper.plane == link.plane
        if not link.is_access:
            lower = fabric.switch_of[link.lower]
            assert (lower.tier.level, upper.tier.level, lower.plane) == (0, 1, link.plane)
            assert lower.panel.ports[link.lower_port].speed_gbps == link.speed_gbps
        else:
            port = fabric.host_of[link.lower].ports[link.lower_port]
            assert (port.speed_gbps, port.plane, port.rail) == (link.speed_gbps, link.plane, link.rail)
            assert upper.stripe == fabric.host_of[link.lower].stripe
            assert upper.rail in (None, port.rail)


@given(wishes)
def test_every_leaf_spine_pair_of_a_plane_has_the_same_number_of_links(wish: Wish) -> None:
    fabric = built(wish)
    pairs = Counter((link.lower, link.upper) for link in fabric.links if not link.is_access)
    leaves = [switch for switch in fabric.switches if switch.tier.attaches_nodes]
    spines = [switch for switch in fabric.switches if not switch.tier.attaches_nodes]
    for leaf in leaves:
        for spine in spines:
            expected = fabric.lowest.links_per_pair if leaf.plane == spine.plane else 0
            assert pairs[leaf.name, spine.name] == expected


@given(wishes)
def test_a_cage_leads_to_one_switch_wherever_the_links_of_a_pair_divide_by_its_ports(wish: Wish) -> None:
    fabric = built(wish)
    pair = fabric.lowest.links_per_pair
    far_ends: dict[tuple[str, int], set[str]] = {}
    ports_of_cage: Counter[tuple[str, int]] = Counter()
    for switch in fabric.switches:
        ports_of_cage.update((switch.name, port.panel) for port in switch.panel.ports)
    for link in fabric.links:
        if link.is_access:
            continue
        for near, port, far in ((link.lower, link.lower_port, link.upper), (link.upper, link.upper_port, link.lower)):
            cage = near, fabric.switch_of[near].panel.ports[port].panel
            far_ends.setdefault(cage, set()).add(far)
    for cage, switches in far_ends.items():
        assert len(switches) == 1 or pair % ports_of_cage[cage]


@given(wishes)
def test_a_given_stripe_has_its_own_ports_and_the_fewest_uplinks_within_the_ratio(wish: Wish) -> None:
    assume(wish.stripe is not None and wish.pair is None)
    fabric = built(wish)
    leaf, intent = fabric.sizing.leaf, wish.intent()
    nics = intent.nodes[0].nics
    # Port p of a NIC is in plane p, so a plane has one port of each; of a rail a leaf has one.
    per_leaf = 1 if wish.shape is Shape.RAIL_OPTIMIZED else nics.count
    assert leaf.down == (wish.stripe or 0) * per_leaf
    needed = max(2, ceil(Fraction(leaf.down * nics.speed_gbps, 4 * (wish.uplink_gbps or nics.speed_gbps))))
    # All of these models have more than 16 ports, so that uplinks come in fours.
    assert leaf.up == (needed + 3) // 4 * 4


@given(wishes)
def test_sizes_are_the_counts_of_the_fabric(wish: Wish) -> None:
    fabric = built(wish)
    sizing = fabric.sizing
    roles = Counter(switch.tier.name for switch in fabric.switches)
    kinds = Counter(link.kind for link in fabric.links)
    assert (sizing.leaves, sizing.spines, sizing.nodes) == (roles["leaf"], roles["spine"], len(fabric.hosts))
    assert sizing.links.host_leaf == kinds["host_leaf"] == wish.nodes * wish.nics * wish.planes
    assert sizing.links.leaf_spine == kinds["leaf_spine"]
    for leaf in (switch for switch in fabric.switches if switch.tier.attaches_nodes):
        own = Counter(link.kind for link in fabric.links_of[leaf.name])
        assert own["leaf_spine"] == sizing.leaf.up
        assert own["host_leaf"] <= sizing.leaf.down
    assert sizing.oversubscription.leaf <= sizing.oversubscription.target
    assert sizing.limits.nodes >= sizing.nodes


@given(wishes)
def test_links_of_a_device_come_in_the_order_of_its_own_ports(wish: Wish) -> None:
    fabric = built(wish)
    seen = Counter[str]()
    for name, links in fabric.links_of.items():
        ports = [link.lower_port if link.lower == name else link.upper_port for link in links]
        assert ports == sorted(set(ports))
        seen[name] = len(links)
    assert sum(seen.values()) == 2 * len(fabric.links)


@given(wishes, st.integers(1, 40))
def test_more_nodes_and_leaves_renumber_nothing_and_move_no_cable(wish: Wish, more: int) -> None:
    before = built(wish)
    # The number of spines stays: with automatic links per pair, other spines are other cables.
    spines = before.sizing.spines // before.planes
    after = built(replace(wish, nodes=wish.nodes + more, spines=spines))
    assert renumbered(before, after) == ()
    assert moved_cables(before, after) == ()
    assert set(before.links) <= set(after.links)
    assert set(before.switches) <= set(after.switches)
    for host in before.hosts:
        assert after.host_of[host.name] == host


# One spine: the other port of the uplink's cage is free until there is another.
@example(ALONE, 1)
@given(wishes, st.integers(1, 4))
def test_more_spines_move_no_cable_where_links_per_pair_are_given(wish: Wish, more: int) -> None:
    assume(wish.pair is not None)
    before = built(wish)
    after = built(replace(wish, spines=before.sizing.spines // before.planes + more))
    assert renumbered(before, after) == ()
    assert moved_cables(before, after) == ()
    assert set(before.links) <= set(after.links)


@given(wishes)
def test_twice_the_spines_keep_half_of_the_cables_where_the_layers_double(wish: Wish) -> None:
    wish = replace(wish, pair=None, spines=None, reserve=Reserve())
    before = built(wish)
    pair, spine_ports = before.lowest.links_per_pair, len(before.switches[-1].panel.ports)
    assume(pair % 2 == 0 and spine_ports // (pair // 2) == 2 * (spine_ports // pair))
    after = built(replace(wish, spines=2 * before.sizing.spines // before.planes))
    moves = moved_cables(before, after)
    assert len(moves) == before.sizing.links.leaf_spine // 2
    assert renumbered(before, after) == ()


@given(wishes)
def test_the_room_left_is_really_there(wish: Wish) -> None:
    found = outcome(wish)
    assume(found.fabric is not None)
    assert found.sizing is not None
    sizing = found.sizing
    full = built(replace(wish, nodes=sizing.limits.nodes, spines=sizing.spines // sizing.planes))
    assert full.sizing.room.leaves == 0
    assert full.sizing.limits == sizing.limits
    assert full.sizing.leaves == sizing.leaves + sizing.room.leaves * sizing.planes
    beyond = outcome(replace(wish, nodes=sizing.limits.nodes + 1, spines=sizing.spines // sizing.planes))
    assert beyond.fabric is None or full.sizing.limits.first == "reserve"
