"""Three tiers: when they are built, what a pod holds, and the identities of the rules, checked by hand."""

from collections.abc import Callable

import pytest

from railweave.design.build import Design
from railweave.design.renumbering import moved_cables
from railweave.fabric.model import Fabric
from railweave.fabric.sizing import Sizing
from railweave.units import ipv4_text

Designer = Callable[..., Design]

H4 = "{model: nokia-ixr7220-h4-64d}"
SPINES_32 = "{model: nvidia-sn4700}"


def sizing_of(outcome: Design) -> Sizing:
    assert outcome.sizing is not None, outcome.diagnostics
    return outcome.sizing


def step(sizing: Sizing, name: str) -> tuple[str, str]:
    return next((one.formula, one.result) for one in sizing.steps if one.name == name)


@pytest.mark.parametrize(("nodes", "tiers"), [(256, 2), (257, 3)])
def test_two_tiers_are_built_where_they_hold_all_nodes(designed: Designer, nodes: int, tiers: int) -> None:
    # A spine of 32 ports holds 32 leaves with one link each: 8 stripes of 4 rails, 32 nodes in each.
    sizing = sizing_of(designed(nodes=nodes, spine=SPINES_32))
    assert sizing.tiers == tiers
    if tiers == 3:
        assert step(sizing, "tiers") == ("36 leaves > 32 ports of a spine: two tiers are too few", "3")


@pytest.mark.parametrize(("gpus", "tiers"), [(2048, 2), (2056, 3)])
def test_growth_that_two_tiers_cannot_hold_asks_for_three(designed: Designer, gpus: int, tiers: int) -> None:
    workload = f"{{kind: pretraining, growth: {{gpus: {gpus}}}}}"
    sizing = sizing_of(designed(spine=SPINES_32, workload=workload))
    assert sizing.tiers == tiers
    if tiers == 3:
        assert "workload.growth" in step(sizing, "tiers")[0]


def test_growth_in_three_tiers_asks_for_the_pods_that_it_needs(designed: Designer) -> None:
    workload = "{kind: pretraining, growth: {gpus: 4096}}"
    refused = designed(spine=SPINES_32, workload=workload)
    (fault,) = [one for one in refused.diagnostics if one.code == "T-8"]
    assert fault.fix == "state reserve.pods: 4, which super-spines, pools and AS numbers are then laid out for"
    # 4,096 GPUs are 512 nodes in 16 stripes: 4 pods of 4 stripes.
    assert sizing_of(designed(spine=SPINES_32, workload=workload, topology="reserve: {pods: 4}")).limits.nodes >= 512


def test_a_pod_holds_as_many_stripes_as_the_down_ports_of_its_spines(designed: Designer) -> None:
    sizing = sizing_of(designed(nodes=512))
    assert sizing.tiers == 2
    three = sizing_of(designed(nodes=512, topology="tiers: 3"))
    assert step(three, "stripes of a pod") == ("⌊32 ports down ÷ (4 leaves × 1 link)⌋", "8, 32 leaves")
    assert step(three, "pods") == ("⌈16 stripes ÷ 8⌉", "2")


def test_a_pod_follows_a_given_number_of_spines(designed: Designer) -> None:
    # 16 stripes in 2 pods would have 64 spines each, more than the 32 uplinks of a leaf; in 4 pods 32.
    sizing = sizing_of(designed(nodes=512, spine="{model: nokia-ixr7220-h4-64d, count: 128}", topology="tiers: 3"))
    assert (step(sizing, "pods")[1], sizing.spines, sizing.links.per_leaf_spine_pair) == ("4", 128, 1)
    formula = "the most up to ⌊32 ports down ÷ (4 leaves × 1 link)⌋ with 128 spines shared out evenly"
    assert step(sizing, "stripes of a pod") == (formula, "5, 20 leaves")


def test_reserved_pods_keep_the_ports_of_spines_free_in_two_tiers(designed: Designer) -> None:
    outcome = designed(nodes=64, topology="reserve: {pods: 4}")
    sizing = sizing_of(outcome)
    assert (sizing.tiers, sizing.super_spines) == (2, 0)
    assert step(sizing, "split of a spine")[1] == "32 down + 32 up"
    assert outcome.fabric is not None
    ports = {link.upper_port for link in outcome.fabric.fabric_links}
    assert max(ports) < 32
    # A pod holds 8 stripes of 32 nodes; the third tier, which joins 4 of them, moves no cable.
    assert (sizing.limits.nodes, sizing.limits.first) == (1024, "reserve")


def test_the_next_step_of_a_full_fabric_counts_the_cables_that_move(designed: Designer) -> None:
    nics = "{count: 8, speed: 400G, model: connectx-7}"
    sizing = sizing_of(designed(nodes=512, nics=nics, leaf=H4, spine=H4))
    # Twice the super-spines keep every second uplink of 128 spines.
    assert sizing.room.next_step.endswith("next: 128 super-spines (2,048 cables move), or super-spines with 80 ports")
    assert sizing.limits == (512, "spine_ports")


def test_the_next_step_of_two_full_tiers_is_a_third_that_phases_lead_to(designed: Designer) -> None:
    two = designed(nodes=256, spine=SPINES_32)
    step = "next: tiers: 3 with reserve.pods: 3 (512 cables move), or spines with 36 ports"
    assert sizing_of(two).room.next_step.endswith(step)
    given = sizing_of(designed(nodes=256, spine="{model: nvidia-sn4700, count: 32}")).room.next_step
    assert "next: tiers: 3 without spine.count with reserve.pods: 3 (512 cables move)" in given
    three = designed(nodes=257, spine=SPINES_32, topology="tiers: 3\nreserve: {pods: 3}")
    assert two.fabric is not None
    assert three.fabric is not None
    assert len(moved_cables(two.fabric, three.fabric)) == 512


@pytest.fixture
def pods(designed: Designer) -> Fabric:
    nics = "{count: 2, speed: 200G, ports: 2, model: connectx-7, pcie: gen5x16}"
    model = "{model: nvidia-sn4700}"
    topology = "tiers: 3\nplanes: 2\nstripe: 2\npod: 1\nlinks_per_pair: 2\nsuper_spine: {model: nvidia-sn4700}"
    fabric = designed(nodes=4, nics=nics, leaf=model, spine=model, topology=topology).fabric
    assert fabric is not None
    return fabric


def test_names_and_numbers_follow_from_pod_index_and_plane(pods: Fabric) -> None:
    """A leaf has 64 ports of 200G, 2 of them down: spines of a pod have 62 numbers. A spine has 32 down: super-spines
    of a group have 32. Both count for each of two planes."""
    assert [switch.name for switch in pods.tier_switches[0]] == [f"pod1-leaf{number}" for number in range(1, 9)]
    spines, supers = pods.tier_switches[1:]
    assert [switch.name for switch in spines] == ["pod1-spine1", "pod1-spine2", "pod1-spine125", "pod1-spine126"]
    assert [(one.pod, one.group, one.plane) for one in spines] == [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)]
    assert [switch.name for switch in supers] == ["pod1-superspine1", "pod1-superspine2"]
    assert [(one.pod, one.group, one.plane) for one in supers] == [(None, 0, 0), (None, 0, 1)]


def test_as_numbers_and_loopbacks_follow_from_pod_and_number(pods: Fabric) -> None:
    spines, supers = pods.tier_switches[1:]
    assert [one.asn for one in spines] == [4_200_001_000, 4_200_002_000, 4_200_001_001, 4_200_002_001]
    assert [one.asn for one in supers] == [4_200_000_000, 4_200_000_001]
    assert [ipv4_text(one.loopback) for one in spines] == [
        "10.255.128.0", "10.255.128.1", "10.255.128.124", "10.255.128.125",
    ]  # fmt: skip
    assert [ipv4_text(one.loopback) for one in supers] == ["10.255.255.255", "10.255.255.254"]


def test_uplinks_of_spines_have_addresses_of_the_core_pool_and_go_to_their_group(pods: Fabric) -> None:
    links = pods.uplinks_of["pod1-spine126"]
    # Number 125 × 64 ports + port 32, two addresses each, from 10.224.0.0.
    assert (links[0].lower_port, ipv4_text(links[0].network)) == (32, "10.224.62.192")
    assert {link.upper for link in links} == {"pod1-superspine2"}
    # One member of the group, cages of two ports: the cage p div 2 meets the cage (p div 2) × 2 + pod.
    assert [link.upper_port for link in links] == [port // 2 * 4 + 2 + port % 2 for port in range(32)]
    assert {link.length_m for link in links} == {100}


SN5600 = "{model: nvidia-sn5600, uplink_speed: 800G}"
FASTER = 'tiers: 3\nstripe: 4\npod: 1\nlinks_per_pair: 1\nsuper_spine: {model: nvidia-sn5600, oversubscription: "4:1"}'


def test_uplinks_of_spines_run_at_their_own_speed(designed: Designer) -> None:
    outcome = designed(nodes=8, nics="{count: 2, speed: 400G, model: connectx-7}", spine=SN5600, topology=FASTER)
    sizing, fabric = sizing_of(outcome), outcome.fabric
    # 64 cages of two 400G or one 800G: 48 for 96 down, 12 for 12 up are the most at 4:1.
    assert step(sizing, "split of a spine") == ("down × 400G ÷ (up × 800G) ≤ 4:1 in 64 cages", "96 down + 12 up")
    assert step(sizing, "spine ports") == ("48 cages × 2 × 400G + 16 cages × 1 × 800G", "112 ports, 51.2 Tb/s")
    assert step(sizing, "super-spine ports") == ("64 cages × 1 × 800G", "64 ports, 51.2 Tb/s")
    assert fabric is not None
    assert {(link.level, link.speed_gbps) for link in fabric.fabric_links} == {(1, 400), (2, 800)}
    first = fabric.uplinks_of["pod1-spine1"][0]
    assert (first.lower_port, fabric.switch_of["pod1-spine1"].panel.ports[96].panel) == (96, 49)
    # The /31s of the next spine begin after its 112 ports.
    assert fabric.uplinks_of["pod1-spine2"][0].network - first.network == 2 * 112


def test_an_uplink_speed_without_super_spines_is_reported(designed: Designer) -> None:
    found = [one for one in designed(spine=SN5600).diagnostics if one.code == "RW210"]
    assert [(one.message, one.fix, one.where.path) for one in found] == [
        (
            "spines have no uplinks: no super-spine is above them",
            "leave uplink_speed out",
            "topology.spine.uplink_speed",
        )
    ]
    reserved = designed(spine=SN5600, topology="reserve: {pods: 2}")
    assert [one for one in reserved.diagnostics if one.code == "RW210"] == []
