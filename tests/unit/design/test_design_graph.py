"""A fabric as a graph of tiers: what is asked of it, on the worked example with its links counted by hand."""

from collections.abc import Callable

import pytest

from railweave.design.build import Design
from railweave.fabric.model import Fabric

Designer = Callable[..., Design]


@pytest.fixture
def pod(designed: Designer) -> Fabric:
    fabric = designed(leaf="{model: nokia-ixr7220-h4-64d, count: 4}", spine="{model: nvidia-sn4700, count: 4}").fabric
    assert fabric is not None
    return fabric


def test_tiers_count_from_the_gpu_nodes_upwards(pod: Fabric) -> None:
    assert [(tier.name, tier.level, tier.count) for tier in pod.tiers] == [("leaf", 0, 4), ("spine", 1, 4)]
    assert (pod.lowest.attaches_nodes, pod.top.attaches_nodes) == (True, False)
    assert [[switch.name for switch in switches] for switches in pod.tier_switches] == [
        [f"pod1-leaf{number}" for number in range(1, 5)],
        [f"pod1-spine{number}" for number in range(1, 5)],
    ]


def test_a_tier_tells_its_ports_of_each_direction_and_the_links_of_a_pair(pod: Fabric) -> None:
    low, top = pod.tiers
    assert (low.ports_down, low.down_gbps, low.ports_up, low.up_gbps, low.links_per_pair) == (32, 400, 32, 400, 8)
    assert (top.ports_down, top.down_gbps, top.ports_up, top.links_per_pair) == (32, 400, 0, 0)


def test_a_tier_is_the_same_in_a_larger_design(pod: Fabric, designed: Designer) -> None:
    grown = designed(
        leaf="{model: nokia-ixr7220-h4-64d, count: 4}", spine="{model: nokia-ixr7220-h4-64d, count: 8}"
    ).fabric
    assert grown is not None
    assert grown.top.count == 8
    assert grown.tiers == pod.tiers


def test_every_link_is_an_uplink_of_its_lower_and_a_downlink_of_its_upper_end(pod: Fabric) -> None:
    for name in (*pod.switch_of, *pod.host_of):
        up, down = pod.uplinks_of[name], pod.downlinks_of[name]
        assert {link.lower for link in up} <= {name}
        assert {link.upper for link in down} <= {name}
        assert pod.links_of[name] == down + up
    assert sum(map(len, pod.uplinks_of.values())) == sum(map(len, pod.downlinks_of.values())) == len(pod.links)


def test_the_neighbors_above_and_below_come_once_however_many_links_there_are(pod: Fabric) -> None:
    assert pod.above("gpu1") == tuple(f"pod1-leaf{rail}" for rail in range(1, 5))
    assert pod.above("pod1-leaf1") == tuple(f"pod1-spine{number}" for number in range(1, 5))
    assert pod.below("pod1-leaf1") == ()
    assert pod.above("pod1-spine1") == ()
    assert pod.below("pod1-spine1") == tuple(f"pod1-leaf{rail}" for rail in range(1, 5))


def test_a_switch_knows_the_nodes_on_it_and_its_links_to_other_switches(pod: Fabric) -> None:
    assert pod.nodes_on("pod1-leaf3") == tuple(host.name for host in pod.hosts)
    assert pod.nodes_on("pod1-spine1") == pod.nodes_on("nobody") == ()
    assert len(pod.fabric_links_of("pod1-leaf3")) == len(pod.fabric_links_of("pod1-spine1")) == 32
    assert not any(link.is_access for link in pod.fabric_links)


def test_a_link_tells_each_end_from_the_device_that_asks(pod: Fabric) -> None:
    link = pod.uplinks_of["pod1-leaf2"][0]
    assert (link.far("pod1-leaf2"), link.far("pod1-spine1")) == ("pod1-spine1", "pod1-leaf2")
    assert (link.port_of("pod1-leaf2"), link.port_of("pod1-spine1")) == (32, 1)
    assert (link.address_of("pod1-leaf2"), link.address_of("pod1-spine1")) == (link.network + 1, link.network)
    assert pod.ports_of["pod1-leaf2"][32].name == pod.switch_of["pod1-leaf2"].panel.ports[32].name
    assert pod.ports_of["gpu1"][3].name == "rail3"


def test_only_links_between_switches_lack_addresses_on_an_unnumbered_underlay(designed: Designer) -> None:
    fabric = designed(rest="addressing: {underlay: unnumbered}\n").fabric
    assert fabric is not None
    assert all(fabric.is_numbered(link) == link.is_access for link in fabric.links)


def test_nodes_that_are_named_like_switches_give_no_graph(designed: Designer) -> None:
    more = (
        "  - {name: pod1-spine, count: 2, gpus: 8, first_stripe: 1, nics: {count: 4, speed: 400G, model: connectx-7}}\n"
    )
    assert designed(nodes=4, more_nodes=more).fabric is None
    assert designed(nodes=4, more_nodes=more.replace("pod1-spine", "store")).fabric is not None
