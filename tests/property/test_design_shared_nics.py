"""What holds for every fabric whose leaves share NICs (dual-ToR); its routes are computed from the FRR files."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from designed_fabrics import built, check_built_or_refused_with_a_fix, check_nothing_is_given_twice, outcome
from engine_tools import configure_all, plan_waves
from examples import few
from frr_routes import Network, routes
from hypothesis import assume, given
from hypothesis import strategies as st

from railweave.design.renumbering import moved_cables, renumbered
from railweave.fabric.devices import Host, Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.analysis import single_failures
from railweave.hosts.values import Rail, node_of
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.plan.capacity import rails_out
from railweave.plan.policy import RolloutPolicy, Share
from railweave.units import ipv4_text

NICS = {2: "connectx-6", 4: "amd-pollara-400", 8: "broadcom-thor-ultra"}
"""A NIC with so many ports of 100G."""


@dataclass(frozen=True)
class Wish:
    """The parts of an intent that these properties depend on: ``ports`` of a NIC on each leaf of each plane."""

    stripes: int
    nodes: int
    nics: int
    rails: int
    leaves: int
    planes: int
    ports: int
    shape: str
    pods: bool = False
    spare: int = 0

    def intent(self) -> Intent:
        count = self.nodes * self.stripes - self.nodes // 2
        ports = self.leaves * self.planes * self.ports
        nic = NICS[ports]
        pods = self.pods and self.shape != "rail-only"
        three = "  tiers: 3\n  pod: 1\n  super_spine: {model: sonic-vs, oversubscription: '7:1'}\n" if pods else ""
        leaves = self.leaves * (1 if self.shape == "rack-aligned" else self.rails) * (self.stripes + self.spare)
        reserve = "" if pods else f"  reserve: {{leaves: {leaves}, spines: 4}}\n"
        tiers = "  tiers: 2\n" if self.shape == "rail-only" else ""
        networks = self.rails if self.shape == "rail-only" else 1
        if networks > 1:
            reserve = reserve.replace("spines: 4", f"spines: {4 * networks}")
        return load_intent_text(
            f"""
fabric: dual
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {count}, gpus: 8, nics: {{count: {self.nics}, speed: 100G, ports: {ports}, model: {nic}}}}}
topology:
  shape: {self.shape}
  rails: {self.rails}
  planes: {self.planes}
  leaves_per_nic: {self.leaves}
  stripe: {self.nodes}
  links_per_pair: 1
  oversubscription: "8:1"
  leaf: {{model: sonic-vs}}
  spine: {{model: sonic-vs, count: {2 * (self.stripes if pods else networks)}}}
{tiers}{three}{reserve}""",
            "dual.yml",
        )


wishes = st.builds(
    Wish,
    stripes=st.integers(1, 3),
    nodes=st.integers(1, 3),
    nics=st.sampled_from([2, 4]),
    rails=st.sampled_from([1, 2]),
    leaves=st.sampled_from([2, 2, 4]),
    planes=st.sampled_from([1, 1, 2]),
    ports=st.just(1),
    shape=st.sampled_from(["rail-optimized", "rail-optimized", "rack-aligned", "rail-only"]),
)
small = st.builds(
    replace,
    wishes,
    stripes=st.just(2),
    nics=st.just(2),
    leaves=st.just(2),
    planes=st.just(1),
    ports=st.sampled_from([1, 2]),
    pods=st.sampled_from([False, False, True]),
)
"""Fabrics with few paths, whose routes are soon computed; some of two pods of one stripe."""


def _ends(fabric: Fabric, host: Host) -> dict[int, list[Link]]:
    """Return the links of a node by the address of their NIC."""
    found: dict[int, list[Link]] = {}
    for link in fabric.uplinks_of[host.name]:
        address = fabric.nic_address(link)
        assert address is not None
        found.setdefault(address, []).append(link)
    return found


def _pairs(fabric: Fabric) -> Iterator[tuple[list[Link], list[Link], int]]:
    """Yield the links of every two nodes in a plane and rail, with the address of the second's NIC."""
    for one, other in permutations(fabric.hosts, 2):
        near = {
            (links[0].plane, fabric.host_of[one.name].ports[links[0].lower_port].nic): links
            for links in _ends(fabric, one).values()
        }
        for address, far in _ends(fabric, other).items():
            yield near[far[0].plane, fabric.host_of[other.name].ports[far[0].lower_port].nic], far, address


def _connected(network: Network, near: list[Link], far: list[Link], address: int) -> bool:
    """Tell whether a node reaches the other's NIC from each of its own ports with a link, and only over leaves that
    have one to it."""
    ends = {link.upper for link in far}
    ways = [network.paths(link.upper, f"{ipv4_text(address)}/32") for link in near]
    return all(ways) and all(path[-1] in ends for paths in ways for path in paths)


@given(wishes)
def test_an_intent_with_shared_nics_is_either_built_or_refused_with_a_fix(wish: Wish) -> None:
    check_built_or_refused_with_a_fix(wish)


@given(wishes)
def test_no_name_port_address_or_as_number_is_given_twice(wish: Wish) -> None:
    fabric = built(wish)
    check_nothing_is_given_twice(fabric)
    leaves = fabric.tier_switches[0]
    assert len({leaf.asn for leaf in leaves}) == len(leaves)
    pool = fabric.policies.addressing.nics
    owners: dict[int, tuple[str, int, int]] = {}
    for host in fabric.hosts:
        for link in fabric.uplinks_of[host.name]:
            address = fabric.nic_address(link)
            assert address is not None
            assert pool.first <= address < pool.first + pool.size
            owner = host.name, host.ports[link.lower_port].nic, link.plane
            assert owners.setdefault(address, owner) == owner


@given(wishes)
def test_each_nic_has_as_many_ports_on_each_of_its_leaves_which_serve_one_rail(wish: Wish) -> None:
    fabric = built(wish)
    for host in fabric.hosts:
        for links in _ends(fabric, host).values():
            counts = Counter(link.upper for link in links)
            assert (len(counts), set(counts.values())) == (wish.leaves, {wish.ports})
            switches = [fabric.switch_of[name] for name in counts]
            assert {(one.plane, one.stripe, one.rail) for one in switches} == {
                (links[0].plane, host.stripe, None if wish.shape == "rack-aligned" else links[0].rail)
            }
    for link in fabric.links:
        ports = fabric.ports_of[link.lower][link.lower_port], fabric.ports_of[link.upper][link.upper_port]
        assert {port.speed_gbps for port in ports} == {link.speed_gbps}


@given(wishes)
def test_sizes_are_the_counts_of_the_fabric(wish: Wish) -> None:
    fabric = built(wish)
    sizing, roles = fabric.sizing, Counter(one.tier.name for one in fabric.switches)
    assert (sizing.leaves, sizing.spines) == (roles["leaf"], roles["spine"])
    assert sizing.links.host_leaf == sum(link.is_access for link in fabric.links)
    columns = 1 if wish.shape == "rack-aligned" else wish.rails
    assert sizing.leaves == sizing.stripes * columns * wish.leaves * wish.planes
    assert sizing.limits.nodes >= sizing.nodes


@given(small)
@few
def test_every_pair_of_nodes_has_the_planned_number_of_equal_paths(wish: Wish) -> None:
    fabric = built(wish)
    network = routes(fabric)
    for near, far, address in _pairs(fabric):
        leaves = {link.upper for link in far}
        for link in near:
            paths = network.paths(link.upper, f"{ipv4_text(address)}/32")
            if link.upper in leaves:
                assert paths == [(link.upper,)]
            else:
                assert {path[-1] for path in paths} == leaves
                spines = sum(one.name in {path[1] for path in paths} for one in fabric.tier_switches[1])
                assert spines == 2
                assert set(Counter(path[-1] for path in paths).values()) == {len(paths) // len(leaves)}


@given(small, st.data())
@few
def test_a_failed_leaf_or_access_link_keeps_every_pair_of_nodes_connected(wish: Wish, data: st.DataObject) -> None:
    fabric = built(wish)
    access = tuple(link for link in fabric.links if link.is_access)
    single: list[Switch | Link] = [*fabric.tier_switches[0], *access]
    failed = data.draw(st.sampled_from(single))
    lost = (failed,) if isinstance(failed, Link) else fabric.links_of[failed.name]
    network = routes(fabric, lost)
    for near, far, address in _pairs(fabric):
        ways, ends = ([link for link in links if link not in lost] for links in (near, far))
        assert ways, failed
        assert ends, failed
        assert _connected(network, ways, ends, address), failed


@given(small, st.data())
@few
def test_no_path_goes_up_again_while_an_access_link_is_down(wish: Wish, data: st.DataObject) -> None:
    fabric = built(wish)
    link = data.draw(st.sampled_from([link for link in fabric.links if link.is_access]))
    address = fabric.nic_address(link)
    network = routes(fabric, (link,))
    for leaf in fabric.tier_switches[0]:
        for path in network.paths(leaf.name, f"{ipv4_text(address or 0)}/32"):
            levels = [fabric.switch_of[name].tier.level for name in path]
            top = levels.index(max(levels))
            assert levels == [*range(top + 1), *range(top - 1, -1, -1)], path


@given(wishes)
def test_no_failure_of_one_leaf_takes_a_rail_from_a_node(wish: Wish) -> None:
    fabric = built(wish)
    assert not any(rails_out(fabric, (leaf.name,)) for leaf in fabric.tier_switches[0])


@given(small)
@few
def test_the_worst_two_nodes_keep_their_share_when_one_component_fails(wish: Wish) -> None:
    fabric = built(wish)
    assume(len(fabric.hosts) > 1)
    for one in single_failures(fabric):
        left = one.cost.node_pair_percent
        if one.example[0].kind == "leaf":
            assert (one.cost.nodes_cut_off, one.cost.rails_out) == (0, 0)
            assert left is not None
            assert left > 0
        if one.example[0].kind == "host_leaf":
            ports = len(fabric.uplinks_of[fabric.hosts[0].name])
            assert left is not None
            assert abs(left - 100 * (ports - 1) / ports) < 1e-6


@given(wishes)
def test_leaves_that_share_nics_are_never_in_one_wave_of_disruptive_changes(wish: Wish) -> None:
    fabric = built(wish)
    names = [leaf.name for leaf in fabric.tier_switches[0]]
    policy = RolloutPolicy(leaves=Share(percent=100), path_floor=0)
    for wave in plan_waves(fabric, names, names, policy):
        leaves = [fabric.switch_of[name] for name in wave]
        assert len({(leaf.plane, leaf.stripe, leaf.rail) for leaf in leaves}) == len(leaves)


@given(wishes)
def test_a_node_tries_its_ports_one_after_the_other_and_nodes_begin_with_different_ones(wish: Wish) -> None:
    fabric = built(wish)
    firsts: Counter[str] = Counter()
    for host in fabric.hosts:
        rails = node_of(fabric, host).rails
        priorities = [one.nic.rule_priority for one in rails if one.nic]
        assert len(set(priorities)) == len(rails)
        assert len({one.metric for one in rails}) == len(rails)
        by_nic: dict[int, list[Rail]] = {}
        for one in rails:
            assert one.nic is not None
            by_nic.setdefault(one.nic.address, []).append(one)
        for ports in by_nic.values():
            ordered = sorted(ports, key=lambda one: one.nic.rule_priority if one.nic else 0)
            assert {one.nic.tables for one in ports if one.nic} == {tuple(one.table for one in ordered)}
            firsts[ordered[0].switch] += 1
    if wish.nodes == 2 and wish.nics == wish.rails and wish.leaves == 2 and wish.ports == 1:
        full = {host.stripe for host in fabric.hosts if host.place == 1}
        assert {firsts[leaf.name] for leaf in fabric.tier_switches[0] if leaf.stripe in full} <= {1, wish.nics}


def test_another_pool_of_nics_renumbers_the_leaves_that_announce_them() -> None:
    before = outcome(Wish(1, 1, 2, 2, 2, 1, 1, "rail-optimized")).fabric
    assert before is not None
    pool = before.policies.addressing.nics._replace(first=before.policies.addressing.nics.first + (1 << 21))
    blocks = {name: block._replace(first=block.first + (1 << 21)) for name, block in before.nic_blocks.items()}
    addressing = before.policies.addressing._replace(nics=pool)
    after = replace(before, policies=before.policies._replace(addressing=addressing), nic_blocks=blocks)
    assert [str(one) for one in renumbered(before, after)][:2] == [
        "dual-leaf1: block of NICs 10.64.0.0/27 would become 10.96.0.0/27",
        "dual-leaf2: block of NICs 10.64.0.32/27 would become 10.96.0.32/27",
    ]


@given(wishes, st.integers(1, 2))
@few
def test_more_stripes_change_no_identity_and_no_row(wish: Wish, more: int) -> None:
    before = built(replace(wish, spare=2))
    after = built(replace(wish, stripes=wish.stripes + more, spare=2 - more))
    assert (renumbered(before, after), moved_cables(before, after)) == ((), ())
    assert set(before.links) <= set(after.links)
    assert set(before.switches) <= set(after.switches)
    old = {config.device: config for config in configure_all(before)}
    new = {config.device: config for config in configure_all(after)}
    for leaf in before.tier_switches[0]:
        if len(before.nodes_on(leaf.name)) == len(after.nodes_on(leaf.name)):
            assert old[leaf.name] == new[leaf.name]
    for host in before.hosts:
        assert node_of(before, host) == node_of(after, after.host_of[host.name])
