"""What holds for every fabric of several node kinds, each on leaves of its own model and speed."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import permutations

from designed_fabrics import built, check_built_or_refused_with_a_fix, check_nothing_is_given_twice
from engine_tools import configure_all
from examples import few
from frr_routes import routes
from hypothesis import assume, given
from hypothesis import strategies as st

from railweave.checks.rules.rw305_fixed_ends import fixed_ends
from railweave.design.renumbering import moved_cables, renumbered
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.units import ipv4_text

LOSSY = "traffic_classes: [{name: rest, role: bulk, dscp: default, priority: 0, share: 100}]"


@dataclass(frozen=True)
class Kind:
    """An entry of nodes; ``model`` is that of its own leaves, None for those of all. ``shares`` those of the first."""

    nodes: int
    gbps: int
    model: str | None
    shares: bool = False


@dataclass(frozen=True)
class Wish:
    """The parts of an intent with several node kinds that the design depends on."""

    kinds: tuple[Kind, ...]
    nics: int
    stripe: int | None
    pair: int | None
    spines: int | None
    ratio: int = 4

    def intent(self) -> Intent:
        entries = []
        for index, kind in enumerate(self.kinds):
            nics = f"{{count: {self.nics}, speed: {kind.gbps}G, model: connectx-7}}"
            # Without a stripe all nodes of a kind have room in few, and few spines ports for both kinds.
            leaf = f", first_stripe: {(20 if self.stripe else 4) * index}"
            if kind.shares:
                leaf = f", share_leaves: true, stripe: {self.stripe or 2}"
            elif index and kind.model:
                leaf += f", leaf: {{model: {kind.model}}}"
            entries.append(f"  - {{name: kind{'abc'[index]}, count: {kind.nodes}, gpus: 4, nics: {nics}{leaf}}}")
        topology = {
            "stripe": self.stripe,
            "links_per_pair": self.pair,
            "spine": f"{{model: nvidia-sn5600, count: {self.spines or 'auto'}}}",
            "leaf": "{model: nvidia-sn5600, uplink_speed: 400G}",
            "oversubscription": f'"{self.ratio}:1"',
            "tiers": 2,
        }
        keys = "".join(f"  {key}: {value}\n" for key, value in topology.items() if value is not None)
        text = "\n".join(["fabric: mixed", "workload: {kind: inference}", "nodes:", *entries, "topology:", keys, LOSSY])
        return load_intent_text(text, "mixed.yml")


first = st.builds(Kind, st.integers(1, 12), st.sampled_from([200, 400]), st.none())
others = st.builds(
    Kind,
    st.integers(1, 12),
    st.sampled_from([100, 200, 400]),
    st.sampled_from(["nvidia-sn4700", "nvidia-sn5600", "nokia-ixr7220-h4-64d"]),
)
sharers = st.builds(Kind, st.integers(1, 12), st.sampled_from([100, 200, 400]), st.none(), st.just(value=True))
wishes = st.builds(
    Wish,
    kinds=st.builds(lambda one, more: (one, *more), first, st.lists(others | sharers, min_size=1, max_size=2)),
    nics=st.sampled_from([1, 2]),
    stripe=st.none() | st.integers(1, 6),
    pair=st.none() | st.sampled_from([1, 2]),
    spines=st.none() | st.sampled_from([2, 4]),
    # At 1:1 the first kind has more uplinks than a switch of 32 ports has room for.
    ratio=st.sampled_from([4, 1]),
)


@given(wishes)
def test_an_intent_of_several_kinds_is_either_built_or_refused_with_a_fix(wish: Wish) -> None:
    check_built_or_refused_with_a_fix(wish)


@given(wishes)
def test_nothing_is_given_twice_and_both_ends_run_at_the_speed_of_their_link(wish: Wish) -> None:
    fabric = built(wish)
    check_nothing_is_given_twice(fabric)
    kinds = {f"kind{'abc'[index]}": kind for index, kind in enumerate(wish.kinds)}
    for link in fabric.links:
        upper = fabric.switch_of[link.upper]
        assert upper.panel.ports[link.upper_port].speed_gbps == link.speed_gbps
        if link.is_access:
            node = fabric.host_of[link.lower]
            assert node.ports[link.lower_port].speed_gbps == link.speed_gbps == kinds[node.kind].gbps
            assert upper.panel.model == (kinds[node.kind].model or "nvidia-sn5600")
        else:
            assert fabric.switch_of[link.lower].panel.ports[link.lower_port].speed_gbps == link.speed_gbps == 400


@given(wishes)
def test_every_leaf_has_equal_links_to_all_spines_and_keeps_the_ratio(wish: Wish) -> None:
    fabric = built(wish)
    for leaf in fabric.tier_switches[0]:
        # A leaf with too few ports for the uplinks of the first class has fewer.
        pair = leaf.tier.links_per_pair
        assert leaf.tier.entry or pair == fabric.lowest.links_per_pair
        assert Counter(link.upper for link in fabric.uplinks_of[leaf.name]) == {
            spine.name: pair for spine in fabric.tier_switches[1]
        }
        up = sum(link.speed_gbps for link in fabric.uplinks_of[leaf.name])
        assert sum(link.speed_gbps for link in fabric.downlinks_of[leaf.name]) <= 4 * up


@given(wishes)
def test_cages_of_every_class_stay_together_wherever_the_links_of_a_pair_divide_by_their_ports(wish: Wish) -> None:
    fabric = built(replace(wish, pair=None))
    for leaf in fabric.tier_switches[0]:
        pair = leaf.tier.links_per_pair
        sizes = Counter(port.panel for port in leaf.panel.ports)
        spines_of: defaultdict[int, set[str]] = defaultdict(set)
        cages_of: defaultdict[str, set[int]] = defaultdict(set)
        for link in fabric.uplinks_of[leaf.name]:
            spines_of[leaf.panel.ports[link.lower_port].panel].add(link.upper)
            cages_of[link.upper].add(fabric.switch_of[link.upper].panel.ports[link.upper_port].panel)
        for cage, spines in spines_of.items():
            assert len(spines) == 1 or pair % sizes[cage]
        # A spine has 2 ports in a cage.
        for cages in cages_of.values():
            assert len(cages) == pair // 2 or pair % 2


@given(wishes)
def test_no_cable_with_fixed_ends_is_chosen_where_cages_are_shared_crosswise(wish: Wish) -> None:
    fabric = built(wish)
    assert not [*fixed_ends(fabric)]


@given(wishes)
@few
def test_leaves_of_all_kinds_reach_each_other_over_every_spine(wish: Wish) -> None:
    fabric = built(replace(wish, pair=1, stripe=4, spines=4))
    network, leaves = routes(fabric), fabric.tier_switches[0]
    # Kinds that share leaves may need one leaf only.
    assume(len(leaves) > 1)
    for source, target in permutations((leaves[0], leaves[-1]), 2):
        block, length = fabric.host_blocks[target.name]
        paths = network.paths(source.name, f"{ipv4_text(block)}/{length}")
        assert (len(paths), {len(path) for path in paths}) == (4, {3})


@given(wishes, st.integers(1, 12))
def test_more_nodes_of_the_last_kind_and_a_kind_more_change_no_identity_and_no_row(wish: Wish, more: int) -> None:
    last = wish.kinds[-1]
    before = built(replace(wish, kinds=wish.kinds[:-1], pair=1, stripe=wish.stripe or 2, spines=4))
    after = built(replace(wish, kinds=(*wish.kinds[:-1], last), pair=1, stripe=wish.stripe or 2, spines=4))
    grown = replace(wish, kinds=(*wish.kinds[:-1], replace(last, nodes=last.nodes + more)))
    much = built(replace(grown, pair=1, stripe=wish.stripe or 2, spines=4))
    # Leaves that two speeds share have other ports than with the first alone; growth moves none of them.
    steps = ((after, much),) if last.shares else ((before, after), (after, much))
    for old, new in steps:
        assert (renumbered(old, new), moved_cables(old, new)) == ((), ())
        assert set(old.links) <= set(new.links)
        assert set(old.switches) <= set(new.switches)
        rows = {config.device: config for config in configure_all(new)}
        for config in configure_all(old):
            leaf = old.switch_of[config.device].tier.attaches_nodes
            if leaf and old.nodes_on(config.device) == new.nodes_on(config.device):
                assert config == rows[config.device]
