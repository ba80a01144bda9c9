"""What holds for every fabric whose spines have ports of several speeds, because leaves of some entries of nodes have
uplinks of another speed or number."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations, product

from designed_fabrics import built, check_built_or_refused_with_a_fix, check_nothing_is_given_twice
from engine_tools import configure_all
from examples import few
from frr_routes import routes
from hypothesis import given
from hypothesis import strategies as st

from railweave.design.renumbering import moved_cables, renumbered
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.sonic.rows import DeviceConfig
from railweave.units import ipv4_text

LOSSY = "traffic_classes: [{name: rest, role: bulk, dscp: default, priority: 0, share: 100}]"
RATIO = 8
STRIPES_OF_A_KIND = 6


@dataclass(frozen=True)
class Kind:
    """An entry of nodes on leaves with uplinks of its own; ``room`` are the stripes of its reserve."""

    nodes: int
    gbps: int
    uplink_gbps: int
    pair: int
    room: int


@dataclass(frozen=True)
class Wish:
    """The parts of an intent with uplinks of several speeds that the design depends on. Common leaves have 400G."""

    nodes: int
    kinds: tuple[Kind, ...]
    shape: str
    rails: int
    planes: int
    spines: int
    pair: int

    def intent(self) -> Intent:
        each = self.rails if self.shape != "rack-aligned" else 1
        apart = self.rails if self.shape == "rail-only" else 1
        entries = [f"  - {{name: kind, count: {self.nodes}, gpus: 4, nics: {self._nics(400)}}}"]
        for index, kind in enumerate(self.kinds):
            leaf = f"uplink_speed: {kind.uplink_gbps}G, links_per_pair: {kind.pair}, reserve: {kind.room * each}"
            entries.append(
                f"  - {{name: kind{'abc'[index]}, count: {kind.nodes}, gpus: 4,"
                f" first_stripe: {STRIPES_OF_A_KIND * (index + 1)}, nics: {self._nics(kind.gbps)},"
                f" leaf: {{model: nvidia-sn5600, {leaf}}}}}"
            )
        topology = {
            "shape": self.shape,
            "planes": self.planes,
            "stripe": 2,
            "links_per_pair": self.pair,
            "spine": f"{{model: nvidia-sn5600, count: {self.spines * apart}}}",
            "leaf": "{model: nvidia-sn5600, uplink_speed: 400G}",
            "oversubscription": f'"{RATIO}:1"',
            "tiers": 2,
            "reserve": f"{{leaves: {24 * each}, spines: {4 * apart}}}",
        }
        keys = "".join(f"  {key}: {value}\n" for key, value in topology.items())
        text = "\n".join(["fabric: ages", "workload: {kind: inference}", "nodes:", *entries, "topology:", keys, LOSSY])
        return load_intent_text(text, "ages.yml")

    def _nics(self, gbps: int) -> str:
        # Of the two models, only the later one has two ports of 400G.
        model = "connectx-8" if (self.planes, gbps) == (2, 400) else "connectx-7"
        return f"{{count: {self.rails}, speed: {gbps}G, ports: {self.planes}, model: {model}}}"

    def kind_of(self, fabric: Fabric, leaf: Switch) -> Kind:
        """Return the kind of a leaf by the nodes on it; a leaf of all has the common pair of 400G."""
        (name,) = {fabric.host_of[node].kind for node in fabric.nodes_on(leaf.name)}
        return Kind(0, 400, 400, self.pair, 0) if name == "kind" else self.kinds["abc".index(name[-1])]


kinds = st.builds(
    Kind,
    nodes=st.integers(1, 4),
    gbps=st.sampled_from([100, 200, 400]),
    uplink_gbps=st.sampled_from([100, 200, 400, 800]),
    pair=st.sampled_from([1, 2, 3, 4]),
    room=st.integers(2, 4),
)
wishes = st.builds(
    Wish,
    nodes=st.integers(1, 5),
    kinds=st.lists(kinds, min_size=1, max_size=3).map(tuple),
    shape=st.sampled_from(["rail-optimized", "rack-aligned", "rail-only"]),
    rails=st.sampled_from([1, 2, 3]),
    planes=st.sampled_from([1, 2]),
    spines=st.sampled_from([2, 3, 4]),
    pair=st.sampled_from([1, 2]),
)


@given(wishes)
def test_an_intent_of_several_uplink_speeds_is_either_built_or_refused_with_a_fix(wish: Wish) -> None:
    check_built_or_refused_with_a_fix(wish)


@given(wishes)
def test_nothing_is_given_twice_and_both_ends_run_at_the_speed_of_their_link(wish: Wish) -> None:
    fabric = built(wish)
    check_nothing_is_given_twice(fabric)
    assert len({leaf.asn for leaf in fabric.tier_switches[0]}) == len(fabric.tier_switches[0])
    cages: dict[tuple[str, int], set[int]] = {}
    for link in fabric.links:
        upper, lower = fabric.switch_of[link.upper], fabric.ports_of[link.lower][link.lower_port]
        port = upper.panel.ports[link.upper_port]
        assert port.speed_gbps == lower.speed_gbps == link.speed_gbps
        cages.setdefault((upper.name, port.panel), set()).add(link.speed_gbps)
    assert all(len(speeds) == 1 for speeds in cages.values())


@given(wishes)
def test_every_leaf_has_the_links_of_its_kind_to_every_spine_and_keeps_the_ratio(wish: Wish) -> None:
    fabric = built(wish)
    for leaf in fabric.tier_switches[0]:
        kind, uplinks = wish.kind_of(fabric, leaf), fabric.uplinks_of[leaf.name]
        spines = [one.name for one in fabric.tier_switches[1] if fabric.network_of(one) == fabric.network_of(leaf)]
        assert len(spines) == wish.spines
        assert Counter(link.upper for link in uplinks) == dict.fromkeys(spines, kind.pair)
        assert {link.speed_gbps for link in uplinks} == {kind.uplink_gbps}
        up_gbps = sum(link.speed_gbps for link in uplinks)
        assert sum(link.speed_gbps for link in fabric.downlinks_of[leaf.name]) <= RATIO * up_gbps
        assert (leaf.tier.ports_up, leaf.tier.up_gbps) == (len(uplinks), kind.uplink_gbps)
    assert fabric.sizing.links.leaf_spine == len(fabric.fabric_links)


@given(wishes)
@few
def test_leaves_of_all_kinds_reach_each_other_on_the_planned_number_of_equal_paths(wish: Wish) -> None:
    fabric = built(replace(wish, nodes=1, kinds=tuple(replace(kind, nodes=1) for kind in wish.kinds)))
    network = routes(fabric)
    leaves = [leaf for leaf in fabric.tier_switches[0] if leaf.plane == 0 and leaf.rail in (None, 0)]
    for one, other in permutations(leaves, 2):
        block, length = fabric.host_blocks[other.name]
        paths = network.paths(one.name, f"{ipv4_text(block)}/{length}")
        planned = wish.spines * wish.kind_of(fabric, one).pair * wish.kind_of(fabric, other).pair
        assert (len(paths), {len(path) for path in paths}) == (planned, {3})


@given(wishes, st.integers(0, 4), st.integers(0, 4), kinds, st.integers(0, 2))
@few
def test_growth_of_every_kind_and_spines_and_a_later_kind_change_no_identity_and_no_row(
    wish: Wish, more: int, more_of_last: int, later: Kind, spines: int
) -> None:
    """Nodes within the reserves, spines within theirs and leaves of a later generation may come in any combination."""
    last = wish.kinds[-1]
    grown = replace(
        wish,
        nodes=wish.nodes + more,
        kinds=(*wish.kinds[:-1], replace(last, nodes=min(2 * last.room, last.nodes + more_of_last))),
    )
    old, new = built(wish), built(grown)
    _check_growth(old, new)
    _check_growth(new, built(replace(grown, kinds=(*grown.kinds, later)[:3])))
    _check_growth(new, built(replace(grown, spines=min(4, wish.spines + spines))))


def _check_growth(old: Fabric, new: Fabric) -> None:
    assert (renumbered(old, new), moved_cables(old, new)) == ((), ())
    assert set(old.hosts) <= set(new.hosts)
    rows = {config.device: config for config in configure_all(new)}
    for config in configure_all(old):
        mine, now = old.switch_of[config.device], rows[config.device]
        if mine.tier.attaches_nodes:
            if _neighbors(old, mine) == _neighbors(new, mine):
                assert config.frr == now.frr
                assert _rows(config) == _rows(now)
            continue
        # A spine gets ports; those that were cabled keep every row.
        cabled = [mine.panel.ports[link.upper_port].name for link in old.downlinks_of[mine.name]]
        before, after = config.config_db(), now.config_db()
        for table, port in product(("PORT", "INTERFACE", "PORT_QOS_MAP", "DEVICE_NEIGHBOR"), cabled):
            assert _rows_of(before, table, port) == _rows_of(after, table, port)
        assert set(config.frr.splitlines()) <= set(now.frr.splitlines())


def _rows(config: DeviceConfig) -> list[tuple[str, str, dict[str, object]]]:
    """Return the rows without the HWSKU of spines, which is another where their ports first have several speeds."""
    return [
        (row.table, row.key, {key: value for key, value in row.fields.items() if key != "hwsku"}) for row in config.rows
    ]


def _neighbors(fabric: Fabric, switch: Switch) -> set[str]:
    return {link.far(switch.name) for link in fabric.links_of[switch.name]}


def _rows_of(document: Mapping[str, Mapping[str, object]], table: str, port: str) -> dict[str, object]:
    rows = document.get(table, {})
    return {key: fields for key, fields in rows.items() if key.split("|")[0] == port}
