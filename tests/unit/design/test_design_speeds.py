"""Spines with ports of several speeds, because leaves of some entries have uplinks of their own, checked by hand."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import Design, design
from railweave.design.growth import grown, most_growing
from railweave.design.renumbering import moved_cables, renumbered
from railweave.fabric.model import Fabric
from railweave.failures.bandwidth import PairBandwidth, Paths, Wiring
from railweave.intent.load import load_intent_text
from railweave.lab.scale import whole_reserve
from railweave.units import ipv4_text

Designer = Callable[..., Design]

NEW = (
    "  - {name: new, count: 4, gpus: 8, first_stripe: 2, nics: {count: 4, speed: 400G, model: connectx-7},"
    " leaf: {model: nvidia-sn5600, uplink_speed: 800G, reserve: 16}}\n"
)
OLD = (
    "  - {name: old, count: 4, gpus: 4, first_stripe: 8, nics: {count: 4, speed: 100G, model: connectx-6},"
    " leaf: {model: nvidia-sn4700, uplink_speed: 100G, links_per_pair: 2, reserve: 8}}\n"
)
RESERVE = "stripe: 4\nlinks_per_pair: 1\nreserve: {leaves: 48, spines: 4}"


@pytest.fixture
def made(designed: Designer) -> Callable[..., Fabric]:
    """Make a fabric of 4 nodes of 400G, with more entries of nodes."""

    def make(more_nodes: str = "", nodes: int = 4, spines: int = 2, topology: str = RESERVE, **keys: Any) -> Fabric:
        fabric = designed(
            nodes=nodes,
            workload="{kind: inference}",
            spine=f"{{model: nvidia-sn5600, count: {spines}}}",
            more_nodes=more_nodes,
            topology=topology,
            **keys,
        ).fabric
        assert fabric is not None
        return fabric

    return make


def ports(fabric: Fabric, leaves: Sequence[str]) -> list[tuple[str, str, int]]:
    """Return spine, its port and the speed of the uplinks of some leaves."""
    return [
        (link.upper, fabric.switch_of[link.upper].panel.ports[link.upper_port].name, link.speed_gbps)
        for leaf in leaves
        for link in fabric.uplinks_of[leaf]
    ]


def test_blocks_of_ports_lie_at_the_end_of_a_spine_the_later_one_before(made: Callable[..., Fabric]) -> None:
    fabric = made(NEW + OLD)
    spine = fabric.switch_of["pod1-spine1"].panel
    # 64 cages: the last 16 are for 16 leaves of one link of 800G, the 4 before them for 8 leaves of two links of 100G.
    cages = {(port.panel, port.speed_gbps) for port in spine.ports}
    assert dict(cages) == (
        dict.fromkeys(range(1, 45), 400) | dict.fromkeys(range(45, 49), 100) | dict.fromkeys(range(49, 65), 800)
    )
    assert ports(fabric, ["pod1-leaf1", "pod1-leaf2"]) == [
        ("pod1-spine1", "Ethernet0", 400), ("pod1-spine2", "Ethernet0", 400),
        ("pod1-spine1", "Ethernet4", 400), ("pod1-spine2", "Ethernet4", 400),
    ]  # fmt: skip
    assert ports(fabric, ["pod1-leaf9", "pod1-leaf10"]) == [
        ("pod1-spine1", "Ethernet384", 800), ("pod1-spine2", "Ethernet384", 800),
        ("pod1-spine1", "Ethernet392", 800), ("pod1-spine2", "Ethernet392", 800),
    ]  # fmt: skip
    assert ports(fabric, ["pod1-leaf33", "pod1-leaf34"]) == [
        ("pod1-spine1", "Ethernet352", 100), ("pod1-spine1", "Ethernet354", 100),
        ("pod1-spine2", "Ethernet352", 100), ("pod1-spine2", "Ethernet354", 100),
        ("pod1-spine1", "Ethernet356", 100), ("pod1-spine1", "Ethernet358", 100),
        ("pod1-spine2", "Ethernet356", 100), ("pod1-spine2", "Ethernet358", 100),
    ]  # fmt: skip


def test_uplinks_of_their_own_have_the_first_addresses_of_their_leaf(made: Callable[..., Fabric]) -> None:
    fabric = made(NEW + OLD)
    # Leaf number × 64 ports of topology.leaf, two addresses each, from 10.192.0.0; leaf 9 has number 8.
    assert [ipv4_text(link.network) for link in fabric.uplinks_of["pod1-leaf9"]] == ["10.192.4.0", "10.192.4.2"]
    assert [ipv4_text(link.network) for link in fabric.uplinks_of["pod1-leaf33"]] == [
        "10.192.16.0", "10.192.16.2", "10.192.16.4", "10.192.16.6",
    ]  # fmt: skip
    # Four spines are reserved: with two links to each the last 8 ports of a leaf of 100G, of 32 cages × 4.
    assert [link.lower_port for link in fabric.uplinks_of["pod1-leaf33"]] == [120, 121, 122, 123]


def test_a_generation_added_to_spines_of_one_speed_moves_and_renumbers_nothing(made: Callable[..., Fabric]) -> None:
    one, two, three = made(), made(NEW), made(NEW + OLD)
    for old, new in ((one, two), (two, three)):
        assert (renumbered(old, new), moved_cables(old, new)) == ((), ())
    # The block of the third generation has more ports a cage, so that ports behind it count differently.
    first, second = (fabric.uplinks_of["pod1-leaf9"][0].upper_port for fabric in (two, three))
    assert (first, second) == (96, 104)


def test_a_larger_reserve_moves_the_cables_of_its_leaves_alone(made: Callable[..., Fabric]) -> None:
    moved = moved_cables(made(NEW), made(NEW.replace("reserve: 16", "reserve: 20")))
    assert {move.before.lower for move in moved} == {f"pod1-leaf{number}" for number in range(9, 13)}


def test_the_sizing_counts_links_by_kind_and_states_what_equal_paths_carry(designed: Designer) -> None:
    sizing = designed(
        nodes=4,
        workload="{kind: inference}",
        spine="{model: nvidia-sn5600, count: 2}",
        more_nodes=NEW + OLD,
        topology=RESERVE,
    ).sizing
    assert sizing is not None
    steps = {step.name: (step.formula, step.result) for step in sizing.steps}
    assert steps["spine ports"] == (
        "44 cages × 2 × 400G + 4 cages × 4 × 100G + 16 cages × 1 × 800G", "120 ports, 49.6 Tb/s",
    )  # fmt: skip
    assert steps["leaf-spine cables"] == (
        "4 leaves × 2 uplinks + 4 leaves × 2 uplinks + 4 leaves × 4 uplinks", "32",
    )  # fmt: skip
    assert steps["uplink of all leaves"] == ("4 × 800 Gb/s + 4 × 1.6 Tb/s + 4 × 400 Gb/s", "11.2 Tb/s")
    assert steps["ports of a spine for leaves of old"] == (
        "8 leaves of the reserve × 2 links", "ports 89 to 104, 4 cages × 4 × 100G",
    )  # fmt: skip
    assert steps["oversubscription of a leaf of new"] == ("1.6 Tb/s down ÷ 1.6 Tb/s up", "1:1")
    assert steps["between a leaf of old and one of topology.leaf"] == (
        "2 spines × the lesser of 1 × 400G and 2 × 100G, on paths of equal cost", "400 Gb/s",
    )  # fmt: skip
    assert sizing.links.leaf_spine == 32
    assert [one.message for one in sizing.diagnostics if one.code == "RW215"] == [
        f"spines have 800 Gb/s to a leaf of topology.leaf and {own} to a leaf of {name!r}: between the two the lesser"
        " is the limit on paths of equal cost, and what comes faster waits in spines or is paused"
        for name, own in (("new", "1.6 Tb/s"), ("old", "400 Gb/s"))
    ]


def test_growth_ends_with_the_reserve_of_the_entry_that_grows(designed: Designer) -> None:
    full = NEW.replace("count: 4, gpus: 8", "count: 16, gpus: 8")
    sizing = designed(
        nodes=4,
        workload="{kind: inference}",
        spine="{model: nvidia-sn5600, count: 2}",
        more_nodes=full,
        topology=RESERVE,
    ).sizing
    assert sizing is not None
    # Stripes 0 to 5: one of 4 nodes is free before those of the entry, which fills its four.
    assert sizing.limits == (24, "spine_ports")
    assert sizing.room.leaves == 4
    whole = designed(
        nodes=8,
        workload="{kind: inference}",
        spine="{model: nvidia-sn5600, count: 2}",
        more_nodes=full,
        topology=RESERVE,
    ).sizing
    assert whole is not None
    assert whole.room.next_step == (
        "room left: 0 leaves, 2 spines; next: 2 spines more, which give 1:1 (no cable moves), or nodes[1].leaf.reserve:"
        " 20, which moves the cables of these leaves at the spines"
    )


@pytest.mark.parametrize(("more", "most"), [(NEW, 16), (NEW + OLD, 8)])
def test_the_entry_that_grows_does_so_up_to_its_reserve(more: str, most: int) -> None:
    text = f"""
fabric: pod1
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: 4, gpus: 8, nics: {{count: 4, speed: 400G, model: connectx-7}}}}
{more}topology:
  leaf: {{model: nokia-ixr7220-h4-64d}}
  spine: {{model: nvidia-sn5600, count: 2}}
  stripe: 4
  links_per_pair: 1
  reserve: {{leaves: 48, spines: 4}}
"""
    intent, catalog = load_intent_text(text, "growing.yml"), load_catalog()
    today = design(intent, catalog).fabric
    assert today is not None
    # Reserves of 16 leaves on 4 rails hold 4 stripes of 4 nodes, those of 8 leaves 2.
    assert most_growing(intent, today) == most
    assert design(grown(intent, most, today), catalog).fabric is not None
    assert design(grown(intent, most + 1, today), catalog).fabric is None


def carried(fabric: Fabric, one: str, other: str, lost: str, links: slice) -> PairBandwidth:
    """Return what is left between two leaves without some uplinks of one."""
    return Paths(Wiring(fabric), down=fabric.uplinks_of[lost][links]).between(one, other)


def test_between_leaves_of_two_kinds_the_slower_is_the_limit_whatever_fails(made: Callable[..., Fabric]) -> None:
    fabric = made(NEW.replace("reserve: 16", "links_per_pair: 2, reserve: 16"))
    new, common = "pod1-leaf9", "pod1-leaf1"
    none = slice(0, 0)
    assert carried(fabric, new, common, new, none) == (800, 800)
    assert carried(fabric, new, "pod1-leaf10", new, none) == (3200, 3200)
    # One of two links of 800G to a spine still carries all that the other leaf takes from there. Packets go evenly over
    # the three links that are left: two thirds meet the spine that hands on 400G, so that 600G is what gets through.
    assert carried(fabric, new, common, new, slice(0, 1)) == (800, 600)
    # The one link of 400G that a spine has to the slower leaf is half of what it takes.
    assert carried(fabric, new, common, common, slice(0, 1)) == (400, 400)


def test_the_lab_of_the_whole_reserve_has_the_leaves_that_spines_keep_ports_for() -> None:
    intent = load_intent_text(
        """
fabric: lab
workload: {kind: inference}
nodes:
  - {name: gpu, count: 2, gpus: 1, nics: {count: 1, speed: 100G, model: connectx-6}}
  - name: old
    count: 2
    gpus: 1
    first_stripe: 2
    nics: {count: 1, speed: 100G, model: connectx-6}
    leaf: {uplink_speed: 50G, links_per_pair: 2, reserve: 3}
topology:
  stripe: 2
  links_per_pair: 1
  leaf: {model: sonic-vs}
  spine: {model: sonic-vs, count: 2}
  reserve: {leaves: 8, spines: 3}
""",
        "lab.yml",
    )
    catalog = load_catalog()
    today = design(intent, catalog).fabric
    assert today is not None
    whole = whole_reserve(intent, today, catalog)
    # Two stripes of the first entry, three of the second: stripes 5 to 7 have no ports on spines.
    assert [switch.name for switch in whole.tier_switches[0]] == [f"lab-leaf{number}" for number in range(1, 6)]
    assert (len(whole.tier_switches[1]), len(whole.hosts)) == (3, 10)
