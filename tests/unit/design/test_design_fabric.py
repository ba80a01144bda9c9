"""The expanded fabric: names, ports and addresses as the rules give them, checked by hand on small fabrics."""

from collections.abc import Callable

import pytest

from railweave.design.build import Design
from railweave.design.document import fabric_json
from railweave.fabric.model import Fabric
from railweave.units import ipv4_text

Designer = Callable[..., Design]


def fabric_of(outcome: Design) -> Fabric:
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


def ends(fabric: Fabric, device: str) -> list[tuple[int, str, int]]:
    """Return (own port, far device, far port) of a device's links."""
    return [
        (link.lower_port, link.upper, link.upper_port)
        if link.lower == device
        else (link.upper_port, link.lower, link.lower_port)
        for link in fabric.links_of[device]
    ]


@pytest.fixture
def pod(designed: Designer) -> Fabric:
    return fabric_of(designed(leaf="{model: nokia-ixr7220-h4-64d, count: 4}", spine="{model: nvidia-sn4700, count: 4}"))


def test_devices_are_named_and_numbered_from_their_places(pod: Fabric) -> None:
    assert [switch.name for switch in pod.switches] == [
        *(f"pod1-leaf{n}" for n in range(1, 5)),
        *(f"pod1-spine{n}" for n in range(1, 5)),
    ]
    assert [switch.asn for switch in pod.switches] == [*range(4_210_000_000, 4_210_000_004), *[4_200_001_000] * 4]
    assert [ipv4_text(switch.loopback) for switch in pod.switches] == [
        "10.255.0.1", "10.255.0.2", "10.255.0.3", "10.255.0.4",
        "10.255.128.0", "10.255.128.1", "10.255.128.2", "10.255.128.3",
    ]  # fmt: skip


def test_a_rail_has_one_leaf_of_the_stripe(pod: Fabric) -> None:
    for host in pod.hosts:
        assert ends(pod, host.name) == [(rail, f"pod1-leaf{rail + 1}", host.place) for rail in range(4)]


def test_uplinks_are_dealt_to_the_spines_in_turn(pod: Fabric) -> None:
    # Rule: uplink p goes to spine p mod 4, at its port (p div 4) × ⌊32 ÷ 8⌋ + leaf.
    assert ends(pod, "pod1-leaf2")[32:38] == [
        (32, "pod1-spine1", 1),
        (33, "pod1-spine2", 1),
        (34, "pod1-spine3", 1),
        (35, "pod1-spine4", 1),
        (36, "pod1-spine1", 5),
        (37, "pod1-spine2", 5),
    ]
    assert [port for port, _, _ in ends(pod, "pod1-spine1")] == list(range(32))


def test_addresses_follow_from_leaf_and_port(pod: Fabric) -> None:
    leaf = pod.links_of["pod1-leaf2"]
    # Host block of leaf number 1: 2 × 64 addresses from 10.32.0.128; port 3 has the pair 6 above.
    assert pod.host_blocks["pod1-leaf2"] == (0x0A200080, 25)
    assert ipv4_text(leaf[3].network) == "10.32.0.134"
    # Link number 1 × 64 + 40, two addresses each, from 10.192.0.0.
    assert ipv4_text(leaf[40].network) == "10.192.0.208"


def test_given_links_per_pair_give_each_spine_its_run_of_ports(designed: Designer) -> None:
    fabric = fabric_of(designed(topology="links_per_pair: 2\nreserve: {spines: 16}"))
    assert ends(fabric, "pod1-leaf3")[32:36] == [
        (32, "pod1-spine1", 4),
        (33, "pod1-spine1", 5),
        (34, "pod1-spine2", 4),
        (35, "pod1-spine2", 5),
    ]


def test_a_reserve_of_spines_puts_their_uplinks_at_the_top_of_the_panel(designed: Designer) -> None:
    topology = "links_per_pair: 2\nstripe: 8\nreserve: {spines: 8}"
    fabric = fabric_of(designed(nodes=8, topology=topology, spine="{model: nvidia-sn4700, count: 4}"))
    assert [port for port, _, _ in ends(fabric, "pod1-leaf1")] == [*range(8), *range(48, 56)]


def test_nodes_with_several_ports_a_leaf_take_neighboring_ports(designed: Designer) -> None:
    fabric = fabric_of(designed(nodes=3, topology="rails: 2"))
    assert ends(fabric, "gpu2") == [
        (0, "pod1-leaf1", 2),
        (1, "pod1-leaf1", 3),
        (2, "pod1-leaf2", 2),
        (3, "pod1-leaf2", 3),
    ]


def test_a_nic_with_two_ports_reaches_two_planes_on_one_rail(designed: Designer) -> None:
    nics = "{count: 2, speed: 200G, ports: 2, model: connectx-7, pcie: gen5x16}"
    model = "{model: nvidia-sn5600}"
    fabric = fabric_of(designed(nodes=2, nics=nics, leaf=model, spine=model, topology="planes: 2"))
    ports = fabric.host_of["gpu2"].ports
    assert [(port.name, port.rail, port.plane) for port in ports] == [
        ("rail0p0", 0, 0),
        ("rail0p1", 0, 1),
        ("rail1p0", 1, 0),
        ("rail1p1", 1, 1),
    ]
    # Leaf number = rail × planes + plane.
    assert ends(fabric, "gpu2") == [
        (0, "pod1-leaf1", 1),
        (1, "pod1-leaf2", 1),
        (2, "pod1-leaf3", 1),
        (3, "pod1-leaf4", 1),
    ]
    spines = [switch for switch in fabric.switches if not switch.tier.attaches_nodes]
    assert {switch.asn for switch in spines if switch.plane == 1} == {4_200_002_000}


def test_racks_have_all_ports_of_a_node_on_one_leaf(designed: Designer) -> None:
    fabric = fabric_of(designed(nodes=9, shape="rack-aligned"))
    assert ends(fabric, "gpu9") == [(nic, "pod1-leaf2", nic) for nic in range(4)]
    assert [switch.rail for switch in fabric.switches if switch.tier.attaches_nodes] == [None, None]


def test_an_unnumbered_underlay_has_addresses_on_host_links_only(designed: Designer) -> None:
    fabric = fabric_of(designed(nodes=4, rest="addressing: {underlay: unnumbered}"))
    assert {link.network for link in fabric.links if not link.is_access} == {0}
    document = fabric_json(fabric)
    assert {
        end["address"] for link in document["links"] if link["kind"] == "leaf_spine" for end in (link["a"], link["b"])
    } == {None}
    assert all(link["a"]["address"] for link in document["links"] if link["kind"] == "host_leaf")


def test_the_fabric_document_names_ports_and_addresses(pod: Fabric) -> None:
    document = fabric_json(pod)
    assert document["leaves"] == 4
    assert len(document["devices"]) == 8 + 32
    assert document["devices"][0] == {
        "name": "pod1-leaf1", "role": "leaf", "plane": 0, "stripe": 0, "rail": 0, "index": 0, "asn": 4_210_000_000,
        "loopback": "10.255.0.1", "model": "nokia-ixr7220-h4-64d", "hwsku": "Nokia-IXR7220-H4-64D",
    }  # fmt: skip
    assert document["devices"][8] == {
        "name": "gpu1", "role": "host", "plane": None, "stripe": 0, "rail": None, "index": 0, "asn": None,
        "loopback": None, "model": "connectx-7", "hwsku": None,
    }  # fmt: skip
    first = document["links"][0]
    assert first == {
        "a": {"device": "gpu1", "port": "rail0", "address": "10.32.0.1"},
        "b": {"device": "pod1-leaf1", "port": "Ethernet0", "address": "10.32.0.0"},
        "kind": "host_leaf", "plane": 0, "speed_gbps": 400,
    }  # fmt: skip


def test_panels_and_ports_are_shared_between_devices(pod: Fabric) -> None:
    assert len({id(switch.panel) for switch in pod.switches}) == 2
    assert len({id(host.ports) for host in pod.hosts}) == 1


def test_an_inline_model_is_sized_and_not_built(designed: Designer) -> None:
    outcome = designed(leaf="{ports: 64, speed: 400G}", spine="{ports: 32, speed: 400G}")
    assert outcome.fabric is None
    assert outcome.sizing is not None
    assert (outcome.sizing.leaves, outcome.sizing.spines) == (4, 4)
