"""The prefixes of tenants: exact where nodes are, as few as can be, and the same when other nodes come and go."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.api.design.intent import design_text
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Pool, Tenant
from railweave.fabric.tenants import Addresses, Tenancy, aggregated, link_prefixes, tenants_in

POD = """\
fabric: pod
workload: {kind: inference}
nodes: [{name: gpu, count: 16, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6}}]
sonic: {acl_rules: 1024}
topology:
  rails: 2
  stripe: 8
  oversubscription: "8:1"
  leaf: {model: sonic-vs, uplink_speed: 100G, downlink_speed: 100G}
  spine: {model: sonic-vs, count: 4}
"""


@cache
def pod(tenants: str, more: str = "") -> Fabric:
    return design_text(f"{POD}{more}tenants: {tenants}\n", "pod.yml").fabric


def texts(fabric: Fabric, tenant: str) -> list[str]:
    return [str(prefix) for prefix in Tenancy(fabric).prefixes[tenant]]


def test_nodes_side_by_side_share_a_prefix_on_every_leaf() -> None:
    assert texts(pod("[{name: a, nodes: gpu1-4}]"), "a") == ["10.32.0.0/29", "10.32.0.64/29"]


def test_a_node_between_others_splits_the_prefix_of_these() -> None:
    assert texts(pod("[{name: a, nodes: [gpu1, gpu3]}]"), "a") == [
        "10.32.0.0/31",
        "10.32.0.4/31",
        "10.32.0.64/31",
        "10.32.0.68/31",
    ]


def test_reaching_is_symmetric_and_goes_no_further() -> None:
    storage = "{name: store, nodes: gpu9, reaches: [b]}"
    tenancy = Tenancy(pod(f"[{{name: a, nodes: gpu1, reaches: [store]}}, {{name: b, nodes: gpu2}}, {storage}]"))
    assert tenancy.reach == {"a": ("a", "store"), "b": ("b", "store"), "store": ("a", "b", "store")}


def test_a_tenant_of_other_fabrics_keeps_nobody_apart() -> None:
    tenants = (Tenant("a", ("gpu1",), ("storage",)), Tenant("b", ("gpu2",)))
    assert [tenant.name for tenant in tenants_in(tenants, "backend")] == ["b"]
    assert [tenant.name for tenant in tenants_in(tenants, "storage")] == ["a", "b"]


def test_sources_name_the_ports_that_their_prefix_covers() -> None:
    fabric = pod("[{name: a, nodes: [gpu1-2, gpu4]}]")
    (leaf, *_) = fabric.switches
    assert [(str(source.prefix), source.ports) for source in Tenancy(fabric).sources(leaf)["a"]] == [
        ("10.32.0.0/30", (0, 1)),
        ("10.32.0.6/31", (3,)),
    ]


@pytest.mark.parametrize(
    "more", ["", "addressing: {underlay: unnumbered, hosts_ipv6: 'fd00:10::/44'}\n"], ids=["ipv4", "both families"]
)
@given(places=st.sets(st.integers(1, 16), min_size=1))
def test_prefixes_hold_every_address_of_the_nodes_and_none_of_others(more: str, places: set[int]) -> None:
    fabric = pod("[{name: none, nodes: gpu1}]", more)
    tenancy = Tenancy(fabric)
    nodes = {f"gpu{place}" for place in places}
    prefixes = tenancy.prefixes_of(nodes)
    for link in fabric.links:
        if link.is_access:
            for network in link_prefixes(fabric, link):
                holding = [prefix for prefix in prefixes if prefix.meets(network)]
                assert len(holding) == (link.lower in nodes), (link.lower, str(network))
                assert all(prefix.holds(network) for prefix in holding)


@given(st.sets(st.integers(0, 63), min_size=1))
def test_no_two_prefixes_could_be_one(cells: set[int]) -> None:
    used = tuple((2 * cell, 2 * cell + 2) for cell in sorted(cells))
    prefixes = list(aggregated(Addresses(32, used, ())))
    assert sum(prefix.size for prefix in prefixes) == 2 * len(cells)
    firsts = {(prefix.first, prefix.length) for prefix in prefixes}
    for prefix in prefixes:
        sibling = Pool(prefix.first ^ prefix.size, prefix.length)
        assert (sibling.first, sibling.length) not in firsts


def test_what_no_node_can_have_widens_a_prefix_and_makes_none() -> None:
    assert list(map(str, aggregated(Addresses(32, ((0, 64),), ((64, 128), (256, 512)))))) == ["0.0.0.0/25"]
