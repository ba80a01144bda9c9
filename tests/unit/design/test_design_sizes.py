"""Sizes computed by hand, or published by a vendor, against those of the design."""

from collections.abc import Callable

import pytest

from railweave.design.build import Design
from railweave.fabric.sizing import Sizing

Designer = Callable[..., Design]
INLINE_64 = "{ports: 64, speed: 400G}"
SN5600 = "{model: nvidia-sn5600}"
EIGHT_NICS = "{count: 8, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}"


def sized(outcome: Design) -> Sizing:
    assert outcome.sizing is not None, outcome.diagnostics
    return outcome.sizing


@pytest.mark.parametrize(
    ("nodes", "leaves", "spines", "pair"), [(31, 8, 4, 8), (63, 16, 8, 4), (95, 24, 16, 2), (127, 32, 16, 2)]
)
def test_scalable_units_get_the_published_leaves_and_spines(
    designed: Designer, nodes: int, leaves: int, spines: int, pair: int
) -> None:
    # NVIDIA DGX SuperPOD H100 reference architecture, compute fabric of 64-port switches: three units need 12 spines
    # by capacity and get 16, because 32 uplinks do not divide by 12.
    found = sized(designed(nodes=nodes, nics=EIGHT_NICS, leaf=INLINE_64, spine=INLINE_64))
    assert (found.leaves, found.spines, found.links.per_leaf_spine_pair) == (leaves, spines, pair)


@pytest.mark.parametrize(
    ("parts", "down", "up", "ratio"),
    [
        ({"workload": "{kind: pretraining}"}, 32, 32, 1.0),
        ({"workload": "{kind: inference}"}, 40, 20, 2.0),
        ({"workload": "{kind: mixed}"}, 36, 24, 1.5),
        ({"workload": "{kind: fine-tuning}"}, 36, 24, 1.5),
        ({"topology": 'oversubscription: "3:1"'}, 48, 16, 3.0),
        # 1.2 × 28 = 33.6: 33 downlinks; 32 uplinks leave room for 32 only.
        ({"topology": 'oversubscription: "1.2:1"'}, 33, 28, 33 / 28),
        # Below 16 ports uplinks come one by one: 1.5 × 5 = 7.5.
        ({"leaf": "{ports: 12, speed: 400G}", "topology": 'oversubscription: "1.5:1"'}, 7, 5, 1.4),
    ],
)
def test_a_leaf_is_split_for_the_most_downlinks_within_the_ratio(
    designed: Designer, parts: dict[str, str], down: int, up: int, ratio: float
) -> None:
    leaf = sized(designed(**parts))
    assert (leaf.leaf.down, leaf.leaf.up) == (down, up)
    assert leaf.oversubscription.leaf == pytest.approx(ratio)


def test_uplinks_of_another_speed_count_by_bandwidth(designed: Designer) -> None:
    # 64 cages of 800G: 32 cages broken out to 64 × 400G down, 32 × 800G up.
    outcome = designed(leaf="{model: nvidia-sn5600, uplink_speed: 800G}", spine=SN5600)
    found = sized(outcome)
    assert (found.leaf.down, found.leaf.up) == (64, 32)
    assert (found.leaf.down_gbps, found.leaf.up_gbps) == (25_600, 25_600)
    assert (found.leaves, found.spines, found.links.per_leaf_spine_pair) == (4, 2, 16)
    assert outcome.fabric is not None
    ports = outcome.fabric.switches[0].panel.ports
    assert [port.speed_gbps for port in ports] == [400] * 64 + [800] * 32


def test_breakout_makes_two_ports_of_a_cage(designed: Designer) -> None:
    found = sized(designed(leaf=SN5600, spine="{model: nvidia-sn5600, count: 4}"))
    assert (found.leaf.down, found.leaf.up, found.leaves) == (64, 64, 4)
    assert found.limits.nodes == 128  # 8 leaves × 16 links fill 128 spine ports: two stripes of 64


def test_racks_hold_whole_nodes_on_one_leaf(designed: Designer) -> None:
    found = sized(designed(shape="rack-aligned", nodes=30))
    assert (found.leaves, found.stripes) == (4, 4)  # ⌊32 ÷ 4⌋ = 8 nodes a leaf
    assert found.links.host_leaf == 120


def test_planes_are_copies_that_share_nothing(designed: Designer) -> None:
    nics = "{count: 4, speed: 200G, ports: 2, model: connectx-7, pcie: gen5x16}"
    outcome = designed(nics=nics, leaf=SN5600, spine=SN5600, topology="planes: 2")
    found = sized(outcome)
    assert (found.planes, found.leaves, found.spines) == (2, 8, 4)
    assert outcome.fabric is not None
    plane_of = {switch.name: switch.plane for switch in outcome.fabric.switches}
    for link in outcome.fabric.links:
        assert plane_of.get(link.lower, link.plane) == plane_of[link.upper] == link.plane


@pytest.mark.parametrize(
    ("speed", "planes", "left"),
    [("400G", 2, "51.2 Tb/s, 50 % of every NIC"), ("200G", 4, "76.8 Tb/s, 75 % of every NIC"),
     ("100G", 8, "89.6 Tb/s, 87.5 % of every NIC")],
)  # fmt: skip
def test_a_lost_plane_takes_its_part_of_every_nic(designed: Designer, speed: str, planes: int, left: str) -> None:
    # 16 nodes × 8 NICs of 800G: 102.4 Tb/s, whichever way a NIC divides its port.
    nics = f"{{count: 8, speed: {speed}, ports: {planes}, model: connectx-8}}"
    found = sized(designed(nodes=16, nics=nics, leaf=SN5600, spine=SN5600, topology=f"planes: {planes}"))
    (step,) = (one for one in found.steps if one.name == "with one plane lost")
    assert (step.formula, step.result) == (f"102.4 Tb/s × {planes - 1} ÷ {planes}", left)


def test_given_links_per_pair_ask_for_the_least_spines_that_meet_the_ratio(designed: Designer) -> None:
    found = sized(designed(topology="links_per_pair: 2"))
    assert (found.spines, found.leaf.up, found.limits.nodes) == (16, 32, 256)  # ⌊64 ÷ 2⌋ = 32 leaves, 8 stripes


def test_a_given_stripe_and_pair_leave_the_uplinks_open_for_spines(designed: Designer) -> None:
    leaf = "{model: sonic-vs, count: 2, downlink_speed: 100G, uplink_speed: 100G}"
    nics = "{count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}"
    topology = 'stripe: 4\nlinks_per_pair: 1\noversubscription: "2:1"\nreserve: {leaves: 4, spines: 4}'
    spine = "{model: sonic-vs, count: 2}"
    found = sized(designed(nodes=4, nics=nics, leaf=leaf, spine=spine, topology=topology))
    assert (found.leaf.down, found.leaf.up) == (4, 2)
    assert (found.oversubscription.leaf, found.oversubscription.after_spine_loss) == (2.0, 4.0)
    assert (found.room.leaves, found.room.spines) == (2, 2)
    assert found.limits.first == "reserve"


def test_a_second_entry_of_nodes_stands_in_its_own_stripes_and_gaps_cost_spine_ports(designed: Designer) -> None:
    more = (
        "  - {name: hpc, count: 20, gpus: 4, first_stripe: 3,"
        " nics: {count: 8, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}\n"
    )
    outcome = designed(more_nodes=more)
    found = sized(outcome)
    # hpc has 2 ports a rail: 16 nodes a stripe, 2 stripes (3 and 4); highest leaf index + 1 = 20, so 10 spines by
    # ports (20 × 32 ÷ 64) and 16 by divisor.
    assert (found.stripes, found.leaves, found.spines, found.gpus) == (3, 12, 16, 336)
    assert outcome.fabric is not None
    assert [switch.number for switch in outcome.fabric.switches][:12] == [0, 1, 2, 3, *range(12, 20)]
    assert outcome.fabric.host_of["hpc17"].stripe == 4


def test_leaves_beyond_the_need_stand_empty_in_the_first_free_stripe(designed: Designer) -> None:
    outcome = designed(leaf="{model: nokia-ixr7220-h4-64d, count: 8}", spine="{model: nokia-ixr7220-h4-64d, count: 4}")
    assert outcome.fabric is not None
    own = outcome.fabric.links_of["pod1-leaf8"]
    assert len(own) == 32
    assert {link.lower for link in own} == {"pod1-leaf8"}


def test_a_single_spine_has_no_ratio_after_its_loss(designed: Designer) -> None:
    from railweave.design.document import size_json

    found = sized(
        designed(
            spine="{model: nokia-ixr7220-h4-64d, count: 1}",
            nodes=8,
            topology="rails: 1",
            nics=("{count: 1, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}"),
        )
    )
    assert size_json(found)["oversubscription"]["after_spine_loss"] is None


@pytest.mark.parametrize(
    ("parts", "nodes", "first"),
    [
        ({"spine": "{model: nokia-ixr7220-h4-64d, count: 4}"}, 64, "spine_ports"),
        ({"spine": "{model: nokia-ixr7220-h4-64d, count: 8}", "topology": "reserve: {leaves: 12}"}, 96, "reserve"),
        (
            {
                "spine": "{model: nokia-ixr7220-h4-64d, count: 4}",
                "topology": "reserve: {leaves: 4}",
                "rest": "addressing: {hosts: 10.32.0.0/23}",
            },
            32,
            "reserve",
        ),
        (
            {"spine": "{model: nokia-ixr7220-h4-64d, count: 4}", "rest": "addressing: {asn: {leaf: 4294967287}}"},
            64,
            "spine_ports",
        ),
    ],
)
def test_the_limit_names_what_ends_first(designed: Designer, parts: dict[str, str], nodes: int, first: str) -> None:
    limits = sized(designed(**parts)).limits
    assert (limits.nodes, limits.first) == (nodes, first)


def test_a_super_spine_that_is_not_needed_is_said_to_be_unused(designed: Designer) -> None:
    outcome = designed(topology="super_spine: {model: nvidia-sn4700}")
    assert outcome.fabric is not None
    assert "RW210" in {one.code for one in outcome.diagnostics}
