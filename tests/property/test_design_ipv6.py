"""What holds for every fabric whose nodes have IPv6 addresses; its routes are computed from the FRR files."""

from dataclasses import dataclass, replace
from itertools import permutations

from designed_fabrics import built, check_built_or_refused_with_a_fix
from engine_tools import configure_all
from examples import few
from frr_routes import Network, routes
from hypothesis import given
from hypothesis import strategies as st

from railweave.design.renumbering import renumbered
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Ipv6Pool
from railweave.hosts.render import HostRenderer
from railweave.hosts.values import node_of
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.sonic.frr import parse_frr
from railweave.templates import find_templates
from railweave.units import ipv4_text, ipv6_text

POOL = Ipv6Pool(0xFD00_0010 << 96, 48)


@dataclass(frozen=True)
class Wish:
    """The parts of an intent that the design depends on; with ``pods`` it has three tiers."""

    shape: str
    stripes: int
    nodes: int
    nics: int
    planes: int
    pair: int
    pods: int
    spare_stripes: int = 1
    spare_pods: int = 1
    hosts_ipv6: str = str(POOL)
    hosts: str = "10.32.0.0/11"

    def intent(self) -> Intent:
        return load_intent_text(self.text(), "ipv6.yml")

    def text(self) -> str:
        leaves = self.nics if self.shape != "rack-aligned" else 1
        if self.pods > 1:
            tiers = f"  tiers: 3\n  pod: {self.stripes}\n  reserve: {{pods: {self.pods + self.spare_pods}}}\n"
            spines, rails = 2 * self.pods, 1
        else:
            rails = self.nics if self.shape == "rail-only" else 1
            stripes, spines = self.stripes + self.spare_stripes, 2 * rails
            tiers = f"  tiers: 2\n  reserve: {{leaves: {stripes * leaves}, spines: {spines}}}\n"
        top = '  super_spine: {model: sonic-vs, oversubscription: "7:1"}\n' if self.pods > 1 else ""
        family = f"  hosts_ipv6: {self.hosts_ipv6}\n" if self.hosts_ipv6 else ""
        return f"""
fabric: six
workload: {{kind: inference}}
nodes:
  - name: gpu
    count: {self.nodes * self.stripes * self.pods}
    gpus: 8
    nics: {{count: {self.nics}, speed: 100G, ports: {self.planes}, model: connectx-6}}
topology:
  shape: {self.shape}
  planes: {self.planes}
  stripe: {self.nodes}
  links_per_pair: {self.pair}
  oversubscription: "4:1"
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
{top}{tiers}addressing:
  underlay: unnumbered
  hosts: {self.hosts}
{family}"""


wishes = st.builds(
    Wish,
    shape=st.sampled_from(["rail-optimized", "rack-aligned", "rail-only"]),
    stripes=st.integers(1, 2),
    nodes=st.integers(1, 3),
    nics=st.sampled_from([1, 2]),
    planes=st.sampled_from([1, 2]),
    pair=st.sampled_from([1, 2]),
    pods=st.just(1),
    spare_stripes=st.integers(1, 2),
) | st.builds(
    Wish,
    shape=st.sampled_from(["rail-optimized", "rack-aligned"]),
    stripes=st.just(1),
    nodes=st.integers(1, 2),
    nics=st.sampled_from([1, 2]),
    planes=st.just(1),
    pair=st.just(1),
    pods=st.just(2),
)


def ipv6_block(fabric: Fabric, leaf: str) -> str:
    return f"{ipv6_text(fabric.ipv6_blocks[leaf])}/64"


def every_path(network: Network, leaf: str, prefix: str) -> list[tuple[str, ...]]:
    return sorted(network.paths(leaf, prefix))


@given(wishes)
def test_an_intent_with_ipv6_is_either_built_or_refused_with_a_fix(wish: Wish) -> None:
    check_built_or_refused_with_a_fix(wish)


@given(wishes)
def test_every_link_to_a_node_has_a_127_of_its_own_in_its_leafs_64_and_none_is_the_anycast_address(wish: Wish) -> None:
    fabric = built(wish)
    assert len(set(fabric.ipv6_blocks.values())) == len(fabric.ipv6_blocks) == len(fabric.tier_switches[0])
    seen = set()
    for link in fabric.links:
        network = fabric.ipv6_network(link)
        assert (network is not None) == link.is_access
        if network is None:
            continue
        block = fabric.ipv6_blocks[link.upper]
        assert network % 2 == 0
        assert block < network < block + (1 << 64)
        assert POOL.holds(Ipv6Pool(network, 127))
        seen |= {network, network + 1}
    assert len(seen) == 2 * sum(link.is_access for link in fabric.links)


@given(wishes)
@few
def test_ipv6_takes_the_same_equal_paths_as_ipv4_between_all_leaves(wish: Wish) -> None:
    fabric = built(wish)
    ipv4, ipv6 = routes(fabric), routes(fabric, family=6)
    for one, other in permutations(fabric.tier_switches[0], 2):
        block, length = fabric.host_blocks[other.name]
        paths = every_path(ipv6, one.name, ipv6_block(fabric, other.name))
        assert paths == every_path(ipv4, one.name, f"{ipv4_text(block)}/{length}")
        if fabric.network_of(one) != fabric.network_of(other):
            assert paths == []
        elif not fabric.has_pods:
            assert (len(set(paths)), len(paths)) == (2, 2 * wish.pair * wish.pair)


@given(wishes)
@few
def test_a_lost_link_leaves_the_same_paths_to_both_families_and_makes_no_valley(wish: Wish) -> None:
    fabric = built(wish)
    down = fabric.fabric_links[:1]
    ipv4, ipv6 = routes(fabric, down), routes(fabric, down, family=6)
    levels = {one.name: one.tier.level for one in fabric.switches}
    for one, other in permutations(fabric.tier_switches[0], 2):
        block, length = fabric.host_blocks[other.name]
        paths = every_path(ipv6, one.name, ipv6_block(fabric, other.name))
        assert paths == every_path(ipv4, one.name, f"{ipv4_text(block)}/{length}")
        for path in paths:
            heights = [levels[name] for name in path]
            top = heights.index(max(heights))
            assert heights == sorted(heights[:top]) + sorted(heights[top:], reverse=True)


@given(wishes)
@few
def test_growth_changes_no_ipv6_identity_and_no_row_of_a_leaf(wish: Wish) -> None:
    if wish.pods > 1:
        grown = replace(wish, pods=wish.pods + 1, spare_pods=wish.spare_pods - 1)
    else:
        grown = replace(wish, stripes=wish.stripes + 1, spare_stripes=wish.spare_stripes - 1)
    before, after = built(wish), built(grown)
    assert renumbered(before, after) == ()
    assert before.ipv6_blocks.items() <= after.ipv6_blocks.items()
    rows = {config.device: config for config in configure_all(after)}
    for config in configure_all(before):
        if before.switch_of[config.device].tier.attaches_nodes:
            assert config == rows[config.device]


@given(wishes)
@few
def test_without_ipv6_the_same_switches_have_the_same_lines_but_for_that_family(wish: Wish) -> None:
    with_ipv6, without = built(wish), built(replace(wish, hosts_ipv6=""))
    had = {config.device: config for config in configure_all(without)}
    for config in configure_all(with_ipv6):
        fewer = had[config.device]
        of_ipv6 = [row for row in config.rows if row not in fewer.rows]
        assert all(row.table == "INTERFACE" and row.key.endswith("/127") for row in of_ipv6)
        assert [row for row in config.rows if row not in of_ipv6] == list(fewer.rows)
        lines = set(parse_frr(config.frr).entries)
        assert set(parse_frr(fewer.frr).entries) <= lines
        for entry in lines - set(parse_frr(fewer.frr).entries):
            assert any("ipv6" in line or "-V6" in line for line in (*entry.path, entry.line)), entry


@given(wishes)
@few
def test_without_ipv4_for_nodes_no_row_or_line_says_anything_else_and_none_is_of_their_pool(wish: Wish) -> None:
    both, alone = built(wish), built(replace(wish, hosts="none"))
    assert renumbered(both, alone) == renumbered(alone, both) == ()
    assert alone.host_blocks == {}
    had = {config.device: config for config in configure_all(both)}
    for config in configure_all(alone):
        more = had[config.device]
        gone = [row for row in more.rows if row not in config.rows]
        assert all(row.table == "INTERFACE" and "|10.32." in row.key for row in gone)
        assert [row for row in more.rows if row not in gone] == list(config.rows)
        assert "10.32." not in config.frr
        for entry in set(parse_frr(config.frr).entries) - set(parse_frr(more.frr).entries):
            # Half as many prefixes are expected of IPv4, and OWN-PREFIXES begins with the one that is left.
            assert "maximum-prefix" in entry.line or "prefix-list OWN-PREFIXES seq 5" in entry.line, entry


@given(wishes)
@few
def test_ipv6_alone_takes_the_paths_that_it_takes_beside_ipv4_and_loopbacks_keep_theirs(wish: Wish) -> None:
    both, alone = built(wish), built(replace(wish, hosts="none"))
    beside, ipv6, ipv4 = routes(both, family=6), routes(alone, family=6), routes(alone)
    for one, other in permutations(alone.tier_switches[0], 2):
        block = ipv6_block(alone, other.name)
        assert block == ipv6_block(both, other.name)
        paths = every_path(ipv6, one.name, block)
        assert paths == every_path(beside, one.name, block)
        assert paths == every_path(ipv4, one.name, f"{ipv4_text(other.loopback)}/32")


@given(wishes)
@few
def test_a_node_without_ipv4_keeps_every_file_line_of_ipv6_and_has_none_of_ipv4(wish: Wish) -> None:
    both, alone = built(wish), built(replace(wish, hosts="none"))
    for host in alone.hosts[:2]:
        had, has = node_of(both, both.host_of[host.name]).rails, node_of(alone, host).rails
        assert [rail._replace(ipv4=None) for rail in had] == list(has)
        for name, text in HostRenderer(alone, find_templates()).files(host).items():
            if name.startswith(("networkd", "netplan", "rails", "sysctl")):
                assert b"10.32." not in text
                assert b"0.0.0.0" not in text
                assert b"ipv4" not in text
