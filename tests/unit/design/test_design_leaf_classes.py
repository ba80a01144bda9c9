"""Leaf classes and what attaches to them: figures by hand, from the ports of a 64-port switch at 400G."""

from collections import Counter
from collections.abc import Callable

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import Design, design
from railweave.design.growth import with_first_stripes
from railweave.design.renumbering import renumbered
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.report.sizing import sizing_rows
from railweave.units import ipv4_text

Designer = Callable[..., Design]

NICS = "nics: {count: 4, speed: 400G, model: connectx-7}"
STORE = f"  - {{name: store, role: storage, count: 4, gpus: 0, {NICS}}}\n"
CPU = f"  - {{name: cpu, role: cpu, count: 40, gpus: 0, {NICS}}}\n"


def built(outcome: Design) -> Fabric:
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


def stripes(fabric: Fabric, kind: str) -> list[int]:
    return sorted({host.stripe for host in fabric.hosts if host.kind == kind})


# 64 ports at 1:1 hold 32 nodes with a port on each of 4 rails: so many stripes of the first kind.
@pytest.mark.parametrize(
    ("nodes", "first_stripe"),
    [
        (32, 4),  # 1 stripe, 2 × 1 = 2: the next power of two above is 4.
        (33, 8),  # 2 stripes, above 4
        (96, 8),  # 3 stripes, above 6
    ],
)
def test_a_second_kind_leaves_the_first_room_to_double(designed: Designer, nodes: int, first_stripe: int) -> None:
    fabric = built(designed(nodes=nodes, more_nodes=STORE))
    assert stripes(fabric, "store") == [first_stripe]
    leaves = [leaf.number for leaf in fabric.tier_switches[0] if leaf.stripe == first_stripe]
    assert leaves == [4 * first_stripe, 4 * first_stripe + 1, 4 * first_stripe + 2, 4 * first_stripe + 3]
    assert fabric.automatic_stripes == ("store",)


def test_a_third_kind_begins_at_the_next_multiple_behind_the_second(designed: Designer) -> None:
    # 1 stripe of GPU nodes: multiples of 4. 40 CPU nodes have 2 stripes, 4 and 5, so that storage begins in 8.
    fabric = built(designed(nodes=32, more_nodes=CPU + STORE))
    assert (stripes(fabric, "cpu"), stripes(fabric, "store")) == ([4, 5], [8])


def test_a_second_kind_begins_behind_the_reserved_stripes_of_the_first(designed: Designer) -> None:
    # 24 leaves ÷ 4 rails are 6 stripes. The kind behind them makes the fabric one of 7 stripes, 28 leaves.
    fabric = built(designed(nodes=32, more_nodes=STORE, topology="reserve: {leaves: 24}"))
    assert stripes(fabric, "store") == [6]
    assert fabric.lowest.reserve == 28


def test_growth_within_the_room_moves_nothing(designed: Designer) -> None:
    before = built(designed(nodes=33, more_nodes=STORE))
    after = built(designed(nodes=96, more_nodes=STORE))
    assert set(before.links) < set(after.links)
    assert set(before.switches) < set(after.switches)


def test_size_says_where_a_kind_begins_and_why(designed: Designer) -> None:
    sizing = designed(nodes=70, more_nodes=STORE).sizing
    assert sizing is not None
    steps = {step.name: (step.formula, step.result) for step in sizing.steps}
    assert steps["first stripe of store"] == (
        "the next multiple of 8: the next power of two above 2 × 3 stripes of gpu",
        "8",
    )


SMALL = (
    "  - {name: old, count: 20, gpus: 8, first_stripe: 2, nics: {count: 4, speed: 400G, model: connectx-7},"
    " leaf: {model: nvidia-sn4700}}\n"
)


def test_a_leaf_with_fewer_ports_is_split_by_itself(designed: Designer) -> None:
    outcome = designed(nodes=60, more_nodes=SMALL)
    fabric, sizing = built(outcome), outcome.sizing
    assert sizing is not None
    # 64 ports are 32 down and 32 up; 32 ports are 16 and 16. Two stripes of each on 4 rails: 8 + 8 leaves. 16 leaf
    # indexes × 32 uplinks ÷ 64 ports are 8 spines: 4 links of a pair, and 2 from a small leaf.
    assert (sizing.leaves, sizing.spines) == (16, 8)
    assert sizing.links.leaf_spine == 8 * 32 + 8 * 16
    steps = {step.name: (step.formula, step.result) for step in sizing.steps}
    assert steps["ports in use on a spine"] == ("8 leaves × 4 links + 8 leaves of old × 2 links", "48 of 64")
    small = [leaf for leaf in fabric.tier_switches[0] if leaf.stripe in (2, 3)]
    assert {leaf.panel.model for leaf in small} == {"nvidia-sn4700"}
    for leaf in small:
        uplinks = fabric.uplinks_of[leaf.name]
        assert [link.lower_port for link in uplinks] == list(range(16, 32))
        assert Counter(link.upper for link in uplinks) == {f"pod1-spine{number}": 2 for number in range(1, 9)}
        # Uplink p meets port (p ÷ 8) × 16 + leaf index of spine p mod 8, as those of every leaf.
        assert [link.upper_port for link in uplinks] == [port // 8 * 16 + leaf.place for port in range(16)]
    assert (small[0].tier.ports_down, small[0].tier.ports_up, small[0].tier.links_per_pair) == (16, 16, 2)


def test_the_uplinks_of_a_small_leaf_meet_whole_cages_of_a_spine(designed: Designer) -> None:
    # Spines of 64 cages with 2 × 400G. 64 uplinks and 16 of a small leaf: 8 spines, 8 and 2 links of a pair.
    twin = "{model: nvidia-sn5600}"
    fabric = built(designed(nodes=8, leaf=twin, spine=twin, more_nodes=SMALL))
    small = [leaf for leaf in fabric.tier_switches[0] if leaf.panel.model == "nvidia-sn4700"]
    for leaf in small:
        cages: dict[str, list[int]] = {}
        for link in fabric.uplinks_of[leaf.name]:
            cages.setdefault(link.upper, []).append(fabric.switch_of[link.upper].panel.ports[link.upper_port].panel)
        # The first of the 4 cages that a leaf index has, one in each quarter of the panel.
        assert cages == {f"pod1-spine{number}": [leaf.place + 1] * 2 for number in range(1, 9)}


def test_spines_divide_the_uplinks_of_every_class(designed: Designer) -> None:
    # 32 and 16 uplinks: 32 spines divide the first alone.
    outcome = designed(nodes=60, more_nodes=SMALL, spine="{model: nokia-ixr7220-h4-64d, count: 32}")
    (fault,) = (found for found in outcome.diagnostics if found.severity is Severity.ERROR)
    assert fault.message == "32 spines cannot share the 16 uplinks of a leaf evenly: 16 ÷ 32 is not whole"
    assert fault.fix == "use 8 or 16 spines"


def test_a_small_leaf_class_limits_the_number_of_leaves(designed: Designer) -> None:
    outcome = designed(nodes=60, more_nodes=SMALL.replace("first_stripe: 2", "first_stripe: 7"))
    (fault,) = (found for found in outcome.diagnostics if found.severity is Severity.ERROR)
    # Stripes up to 8 are 36 leaf indexes; the 16 uplinks of a small leaf go to 16 spines at most.
    assert fault.message == (
        "leaf classes of different uplinks share at most 16 spines: 36 leaves × 2 links need 72 ports on every spine;"
        " a spine has 64"
    )


SHARED = "  - {{name: store, role: storage, count: {nodes}, gpus: 0, share_leaves: true{keys}, nics: {nics}}}\n"
ALIKE = "{count: 4, speed: 400G, model: connectx-7}"
SLOWER = "{count: 4, speed: 100G, model: connectx-6}"


def access(fabric: Fabric, leaf: str) -> dict[str, tuple[int, int]]:
    return {link.lower: (link.lower_port, link.upper_port) for link in fabric.downlinks_of[leaf]}


def test_storage_on_the_leaves_of_gpu_nodes_has_the_ports_behind_their_stripe(designed: Designer) -> None:
    more = SHARED.format(nodes=6, keys=", stripe: 4", nics=ALIKE)
    outcome = designed(nodes=20, more_nodes=more, topology="stripe: 16")
    fabric, sizing = built(outcome), outcome.sizing
    assert sizing is not None
    # 16 + 4 nodes ≤ 32 ports. 20 ÷ 16 GPU nodes are 2 stripes, as are 6 ÷ 4 storage nodes: 8 leaves on 4 rails.
    assert (sizing.leaves, sizing.stripes, sizing.nodes) == (8, 2, 26)
    assert access(fabric, "pod1-leaf1")["gpu16"] == (0, 15)
    assert [access(fabric, "pod1-leaf1")[f"store{number}"] for number in (1, 4)] == [(0, 16), (0, 19)]
    # Leaf 6 serves rail 1 in stripe 1: gpu17 is its first GPU node, store5 the first storage node.
    assert [access(fabric, "pod1-leaf6")[name] for name in ("gpu17", "store5")] == [(1, 0), (1, 16)]
    # A node's address is that of its port: leaf 6 is number 5, 256 addresses each from 10.32.0.0.
    (link,) = (link for link in fabric.downlinks_of["pod1-leaf6"] if link.lower == "store5")
    assert ipv4_text(link.network) == "10.32.2.160"  # 5 × 128 + 2 × 16 = 672
    assert {(host.stripe, host.place) for host in fabric.hosts if host.kind == "store"} == {
        (0, 16), (0, 17), (0, 18), (0, 19), (1, 16), (1, 17),
    }  # fmt: skip


def test_nodes_of_two_speeds_share_a_leaf_in_cages_of_each(designed: Designer) -> None:
    more = SHARED.format(nodes=6, keys=", stripe: 6", nics=SLOWER)
    fabric = built(designed(nodes=16, more_nodes=more))
    # 6 × 100G need 2 cages of 4 ports, so that of 32 cages for nodes 30 are left for 400G. Uplinks stay in cages 33 on.
    leaf = fabric.switch_of["pod1-leaf1"]
    speeds = [port.speed_gbps for port in leaf.panel.ports]
    assert speeds == [400] * 30 + [100] * 8 + [400] * 32
    assert fabric.stripe_nodes == {"gpu": 30, "store": 6}
    assert [access(fabric, leaf.name)[f"store{number}"][1] for number in range(1, 7)] == [30, 31, 32, 33, 34, 35]
    assert [leaf.panel.place_of(link.lower_port) for link in fabric.uplinks_of[leaf.name]] == [
        (cage, 1) for cage in range(32, 64)
    ]
    for link in fabric.links:
        assert fabric.switch_of[link.upper].panel.ports[link.upper_port].speed_gbps == link.speed_gbps
    alone = built(designed(nodes=16))
    # A leaf has the addresses of one with ports of 400G alone.
    assert [link.network for link in fabric.uplinks_of[leaf.name]] == [
        link.network for link in alone.uplinks_of[leaf.name]
    ]


# 32 ports for nodes; the stripe of storage is what it needs in as many stripes, rounded up to a power of two.
@pytest.mark.parametrize(
    ("nodes", "stores", "stripe_nodes"),
    [
        (20, 5, {"gpu": 24, "store": 8}),  # 1 stripe: 20 + 5 ≤ 32; 8 for storage leave 24
        (34, 5, {"gpu": 24, "store": 8}),  # 2 stripes of GPU nodes hold them with 8 for storage, too
        (60, 3, {"gpu": 30, "store": 2}),  # 2 stripes: 30 + 2; with 4 for storage there would be 3
        (64, 1, {"gpu": 31, "store": 1}),  # 32 + 1 > 32 in 2 stripes; 22 + 1 in 3
    ],
)
def test_an_automatic_stripe_leaves_room_for_those_that_share_it(
    designed: Designer, nodes: int, stores: int, stripe_nodes: dict[str, int]
) -> None:
    fabric = built(designed(nodes=nodes, more_nodes=SHARED.format(nodes=stores, keys="", nics=ALIKE)))
    assert fabric.stripe_nodes == stripe_nodes


def test_growth_of_both_kinds_on_shared_leaves_moves_nothing(designed: Designer) -> None:
    def of(nodes: int, stores: int) -> Fabric:
        more = SHARED.format(nodes=stores, keys=", stripe: 4", nics=SLOWER)
        spine = "{model: nokia-ixr7220-h4-64d, count: 10}"  # 20 uplinks of a leaf
        return built(designed(nodes=nodes, more_nodes=more, topology="stripe: 16", spine=spine))

    before, after = of(20, 3), of(60, 15)
    assert set(before.links) < set(after.links)
    assert set(before.switches) < set(after.switches)
    assert {host.name: host for host in before.hosts}.items() <= {host.name: host for host in after.hosts}.items()


def test_a_second_kind_has_a_stripe_of_its_own(designed: Designer) -> None:
    fabric = built(designed(nodes=32, more_nodes=CPU.replace("gpus: 0", "gpus: 0, stripe: 8")))
    # 40 nodes ÷ 8 are 5 stripes from 4 on.
    assert stripes(fabric, "cpu") == [4, 5, 6, 7, 8]
    assert fabric.stripe_nodes == {"gpu": 32, "cpu": 8}


def test_nodes_without_shared_leaves_keep_the_ports_of_one_speed(designed: Designer) -> None:
    fabric = built(designed(nodes=16, more_nodes=SHARED.format(nodes=6, keys="", nics=SLOWER) + CPU))
    (leaf,) = (leaf for leaf in fabric.tier_switches[0] if leaf.stripe == 4 and leaf.rail == 0)
    assert {port.speed_gbps for port in leaf.panel.ports} == {400}
    assert [link.upper_port for link in fabric.downlinks_of[leaf.name]] == list(range(32))


PLANES = """\
fabric: pod1
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: 4, speed: 200G, ports: {planes}, model: connectx-8}}}}
  - name: store
    role: storage
    count: {stores}
    gpus: 0
    share_leaves: true
    nics: {{count: 4, speed: {speed}, ports: {planes}, model: {model}}}
  - name: cpu
    role: cpu
    count: 3
    gpus: 0
    share_leaves: true
    nics: {{count: 4, speed: 200G, ports: {planes}, model: connectx-8}}
topology:
  planes: {planes}
  leaf: {{model: nvidia-sn5600}}
  spine: {{model: nvidia-sn5600, count: 8}}
"""
STORE_NICS = {
    (2, "200G"): "connectx-8",
    (4, "200G"): "connectx-8",
    (2, "100G"): "connectx-6",
    (4, "100G"): "amd-pollara-400",
}


def in_planes(planes: int, nodes: int, stores: int, speed: str, *stated: tuple[str, str]) -> Fabric:
    model = STORE_NICS[planes, speed]
    text = PLANES.format(planes=planes, nodes=nodes, stores=stores, speed=speed, model=model)
    for old, new in stated:
        assert old in text
        text = text.replace(old, new, 1)
    return built(design(load_intent_text(text, "planes.yml"), load_catalog()))


# 64 cages × 4 ports of 200G, or of 100G, are 128 down. 6 storage nodes have 8 places in 2 cages and 3 CPU nodes 4 in 1,
# behind 116 GPU nodes in 29.
@pytest.mark.parametrize("planes", [2, 4])
@pytest.mark.parametrize("speed", ["200G", "100G"])
def test_nodes_share_a_leaf_of_each_rail_and_plane(planes: int, speed: str) -> None:
    fabric = in_planes(planes, 20, 6, speed)
    first_ports = {"gpu": 0, "store": 116, "cpu": 124}
    assert fabric.stripe_nodes == {"gpu": 116, "store": 8, "cpu": 4}
    assert len(fabric.tier_switches[0]) == 4 * planes
    for leaf in fabric.tier_switches[0]:
        nodes = {link.lower: link for link in fabric.downlinks_of[leaf.name]}
        assert len(nodes) == 20 + 6 + 3
        for kind, first in first_ports.items():
            link = nodes[f"{kind}1"]
            port = fabric.host_of[link.lower].ports[link.lower_port]
            assert (port.plane, port.rail, port.nic, port.port) == (leaf.plane, leaf.rail, leaf.rail, leaf.plane)
            assert link.upper_port == first
            assert leaf.panel.ports[first].speed_gbps == link.speed_gbps == port.speed_gbps
            assert link.network == fabric.host_blocks[leaf.name][0] + 2 * first


@pytest.mark.parametrize("planes", [2, 4])
def test_growth_of_shared_leaves_in_planes_moves_nothing(planes: int) -> None:
    stated = (("gpus: 8,", "gpus: 8, stripe: 8,"), ("gpus: 0\n", "gpus: 0\n    stripe: 4\n"))
    before, after = in_planes(planes, 6, 3, "100G", *stated), in_planes(planes, 20, 9, "100G", *stated)
    assert set(before.links) < set(after.links)
    assert set(before.switches) < set(after.switches)


ONE = """\
fabric: pod1
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: 8, speed: 400G, model: connectx-7}}}}
{more}topology:
  {shape}leaf: {{model: nokia-ixr7220-h4-64d, count: {leaves}}}
{rest}"""
SPINE = "  spine: {model: nokia-ixr7220-h4-64d}\n"


def one_stripe(nodes: int, leaves: int, rest: str = "", more: str = "", shape: str = "") -> Design:
    text = ONE.format(nodes=nodes, leaves=leaves, rest=rest, more=more, shape=shape)
    return design(load_intent_text(text, "one.yml"), load_catalog())


def test_one_switch_holds_nodes_and_storage_without_a_spine() -> None:
    more = (
        "  - {name: store, role: storage, count: 3, gpus: 0, share_leaves: true,"
        " nics: {count: 2, speed: 100G, model: connectx-6}}\n"
    )
    outcome = one_stripe(7, 1, more=more)
    fabric, sizing = built(outcome), outcome.sizing
    assert sizing is not None
    assert (sizing.tiers, sizing.leaves, sizing.spines, sizing.nodes) == (1, 1, 0, 10)
    # 7 × 8 ports of 400G in as many cages; 4 × 2 ports of 100G in 2 cages; 6 cages of 400G are free.
    (switch,) = fabric.switches
    assert [port.speed_gbps for port in switch.panel.ports] == [400] * 56 + [100] * 8 + [400] * 6
    assert switch.rail is None
    ports = [(link.lower, link.upper_port) for link in fabric.downlinks_of[switch.name]]
    nodes = [(f"gpu{node + 1}", node * 8 + nic) for node in range(7) for nic in range(8)]
    assert ports == nodes + [(f"store{node + 1}", 56 + node * 2 + nic) for node in range(3) for nic in range(2)]
    assert fabric.uplinks_of[switch.name] == ()


# What a reader of `size` learns of rails: 8 NICs on one switch, on a leaf of each rack, on two leaves, on one each.
@pytest.mark.parametrize(
    ("leaves", "rest", "shape", "row", "step"),
    [
        (
            1,
            "",
            "",
            "1 tier, rack-aligned (no rails)",
            ("rails", "rack-aligned: all ports of a node on one leaf", "none"),
        ),
        (
            2,
            SPINE,
            "shape: rack-aligned\n  ",
            "2 tiers, rack-aligned (no rails)",
            ("rails", "rack-aligned: all ports of a node on one leaf", "none"),
        ),
        (2, SPINE, "", "2 tiers, 2 rails", ("rails", "8 NICs of a node on 2 rails", "2")),
        (8, SPINE, "", "2 tiers, 8 rails", None),
    ],
)
def test_size_says_whether_there_are_rails(
    leaves: int, rest: str, shape: str, row: str, step: tuple[str, str, str] | None
) -> None:
    sizing = one_stripe(4, leaves, rest, shape=shape).sizing
    assert sizing is not None
    assert dict(sizing_rows(sizing))["shape"] == row
    assert [found for found in sizing.steps if found.name == "rails"] == ([] if step is None else [step])


def test_stripes_that_are_stated_for_growth_change_no_cable() -> None:
    # 3 × 8 ports and 2 cages are 26 of 32 ports for nodes: a stated stripe alone would ask for 28 uplinks, not 32.
    more = (
        "  - {name: store, role: storage, count: 3, gpus: 0, share_leaves: true,"
        " nics: {count: 2, speed: 100G, model: connectx-6}}\n"
    )
    text = ONE.format(nodes=9, leaves="auto", more=more, shape="shape: rack-aligned\n  ", rest=SPINE)
    intent = load_intent_text(text, "racks.yml")
    fabric = built(design(intent, load_catalog()))
    assert built(design(with_first_stripes(intent, fabric), load_catalog())).links == fabric.links


def test_one_switch_grows_into_two_tiers_and_keeps_its_identity() -> None:
    # 4 nodes × 8 ports are the 32 ports for nodes of a leaf with spines above.
    before = built(one_stripe(4, 1))
    after = built(one_stripe(6, 2, SPINE, shape="shape: rack-aligned\n  "))
    third = built(one_stripe(6, 2, SPINE + "  tiers: 3\n", shape="shape: rack-aligned\n  "))
    (switch,) = before.switches
    for grown in (after, third):
        leaf = grown.switch_of[switch.name]
        assert (leaf.asn, leaf.loopback, leaf.number) == (switch.asn, switch.loopback, switch.number)
        assert grown.host_blocks[leaf.name] == before.host_blocks[leaf.name]
        assert {link[:8] for link in before.links} <= {link[:8] for link in grown.links}
        assert renumbered(before, grown) == ()


@pytest.mark.parametrize("leaves", [2, 4])
def test_leaves_that_divide_the_nics_are_as_many_rails(leaves: int) -> None:
    # 8 NICs on 2 leaves are 4 ports of a node on each, on 4 leaves 2: 32 ports for nodes hold 8 and 16 nodes.
    outcome = one_stripe(8, leaves, SPINE)
    fabric, sizing = built(outcome), outcome.sizing
    assert sizing is not None
    assert (sizing.rails, sizing.leaves, sizing.stripes) == (leaves, leaves, 1)
    first = [link.upper for link in fabric.uplinks_of["gpu1"]]
    assert first == [f"pod1-leaf{nic * leaves // 8 + 1}" for nic in range(8)]
