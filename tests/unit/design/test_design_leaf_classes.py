"""Leaf classes and what attaches to them: figures by hand, from the ports of a 64-port switch at 400G."""

from collections import Counter
from collections.abc import Callable

import pytest

from railweave.design.build import Design
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric

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
    small = [leaf for leaf in fabric.tier_switches[0] if leaf.stripe in (2, 3)]
    assert {leaf.panel.model for leaf in small} == {"nvidia-sn4700"}
    for leaf in small:
        uplinks = fabric.uplinks_of[leaf.name]
        assert [link.lower_port for link in uplinks] == list(range(16, 32))
        assert Counter(link.upper for link in uplinks) == {f"pod1-spine{number}": 2 for number in range(1, 9)}
        # Uplink p meets port (p ÷ 8) × 16 + leaf index of spine p mod 8, as those of every leaf.
        assert [link.upper_port for link in uplinks] == [port // 8 * 16 + leaf.place for port in range(16)]
    assert (small[0].tier.ports_down, small[0].tier.ports_up, small[0].tier.links_per_pair) == (16, 16, 2)


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
