"""Several kinds of nodes on leaves of their own, checked by hand."""

from collections.abc import Callable

from railweave.design.build import Design
from railweave.units import ipv4_text

Designer = Callable[..., Design]

OLD = (
    "  - {name: old, count: 40, gpus: 4, first_stripe: 1, nics: {count: 4, speed: 200G, model: connectx-6},"
    " leaf: {model: nvidia-sn4700}}\n"
)
STORE = (
    "  - {name: store, role: storage, count: 4, gpus: 0, first_stripe: 3,"
    " nics: {count: 4, speed: 100G, model: connectx-6}, leaf: {downlink_speed: 100G}}\n"
)


def test_a_leaf_of_another_speed_has_as_many_downlinks_as_its_uplinks_carry(designed: Designer) -> None:
    sizing = designed(nodes=8, workload="{kind: inference}", leaf="{model: nvidia-sn4700}", more_nodes=OLD).sizing
    assert sizing is not None
    steps = {step.name: (step.formula, step.result) for step in sizing.steps}
    # 32 cages: 20 × 400G down and 12 up at 2:1. 40 × 200G carry as much and have room in 20 cages; a leaf has addresses
    # for the nodes on 32 ports.
    assert steps["leaf port split"][1] == "20 down + 12 up"
    assert steps["leaf port split of old"][1] == "32 down + 12 up"
    assert steps["nodes in a stripe of old"] == ("⌊32 downlinks ÷ 1 port of a node⌋", "32")
    assert steps["bandwidth of all nodes"] == ("32 × 400G + 160 × 200G", "44.8 Tb/s")
    assert (sizing.leaves, sizing.gpus) == (4 * (1 + 2), 8 * 8 + 40 * 4)


def test_uplinks_of_all_leaves_have_the_addresses_of_the_same_uplinks(designed: Designer) -> None:
    fabric = designed(
        nodes=4,
        workload="{kind: inference}",
        spine="{model: nvidia-sn5600, count: 2}",
        more_nodes=OLD.replace("count: 40", "count: 4") + STORE,
        topology="stripe: 4\nlinks_per_pair: 1\nreserve: {spines: 4}",
    ).fabric
    assert fabric is not None
    names = ("pod1-leaf1", "pod1-leaf5", "pod1-leaf13")
    first = [fabric.uplinks_of[name][0] for name in names]
    # Four uplinks are reserved at the end of each panel: of 64 cages, of 28 with two ports and 4 with one, of 60 with
    # four and 4 with one.
    assert [link.lower_port for link in first] == [60, 56, 240]
    # Leaf number × 64 ports + port 60 of topology.leaf, two addresses each, from 10.192.0.0.
    assert [ipv4_text(link.network) for link in first] == ["10.192.0.120", "10.192.2.120", "10.192.6.120"]
    assert [fabric.switch_of[name].panel.model for name in names] == [
        "nokia-ixr7220-h4-64d", "nvidia-sn4700", "nokia-ixr7220-h4-64d",
    ]  # fmt: skip
    assert [fabric.downlinks_of[name][0].speed_gbps for name in names] == [400, 200, 100]
    assert {link.upper_port for name in names for link in fabric.uplinks_of[name]} == {0, 4, 12}
