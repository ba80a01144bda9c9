"""Leaf classes and what attaches to them: figures by hand, from the ports of a 64-port switch at 400G."""

from collections.abc import Callable

import pytest

from railweave.design.build import Design
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
