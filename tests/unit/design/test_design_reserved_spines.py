"""Spines for the leaves of a reserve, and the price of pods: figures by hand, from 64 ports a switch."""

from collections.abc import Callable

import pytest

from railweave.design.build import Design
from railweave.diagnostics import Diagnostic

Designer = Callable[..., Design]
COUNTED = "{{model: nokia-ixr7220-h4-64d, count: {}}}"
# A scalable unit of GB300 NVL72 is 8 racks of 18 trays: 144 nodes of 4 GPUs, a NIC of 2 × 400G each.
UNIT_NODES = 144
SN5600 = "{model: nvidia-sn5600}"
TWIN = "{count: 4, speed: 400G, ports: 2, model: connectx-8}"


def of_code(found: Design, code: str) -> list[Diagnostic]:
    return [diagnostic for diagnostic in found.diagnostics if diagnostic.code == code]


@pytest.mark.parametrize(
    ("reserved", "spines", "links"),
    [
        # 32 uplinks of each leaf: 16 × 32 ÷ 64 ports of a spine = 8 spines, 17 × 32 ÷ 64 = 8.5, so 16.
        (4, 2, 16),
        (16, 8, 4),
        (17, 16, 2),
        (32, 16, 2),
        (64, 32, 1),
    ],
)
def test_automatic_spines_have_ports_for_every_leaf_of_the_reserve(
    designed: Designer, reserved: int, spines: int, links: int
) -> None:
    found = designed(topology=f"reserve: {{leaves: {reserved}}}")
    assert found.sizing is not None
    assert (found.sizing.leaves, found.sizing.spines, found.sizing.links.per_leaf_spine_pair) == (4, spines, links)
    assert not of_code(found, "G-1")
    kept = [diagnostic.fix for diagnostic in of_code(found, "RW217")]
    line = "a running fabric of 2 spines keeps its cables by topology.spine.count: 2"
    assert kept == ([line] if spines > 2 else [])


def test_each_rail_has_spines_for_its_part_of_the_reserve(designed: Designer) -> None:
    # 16 leaves of each of 4 rails, as above.
    found = designed(nodes=64, shape="rail-only", topology="tiers: 2\nreserve: {leaves: 64}")
    assert found.sizing is not None
    assert (found.sizing.leaves, found.sizing.spines) == (8, 32)


@pytest.mark.parametrize(
    ("spine", "reserved", "message", "fix"),
    [
        (
            COUNTED.format(4),
            32,
            "the reserve of 32 leaves × 8 links needs 256 ports on every spine; a spine has 64",
            "use topology.spine.count: 16, which moves cables of an existing fabric, or reserve at most 8 leaves, or"
            " use tiers: 3, or use spines with 256 ports",
        ),
        (
            "{model: nokia-ixr7220-h4-64d}",
            100,
            "the reserve of 100 leaves × 16 links needs 1600 ports on every spine; a spine has 64",
            "reserve at most 64 leaves, or use tiers: 3, or use spines with 1600 ports",
        ),
    ],
)
def test_a_reserve_that_spines_have_no_ports_for_is_said(
    designed: Designer, spine: str, reserved: int, message: str, fix: str
) -> None:
    found = designed(spine=spine, topology=f"reserve: {{leaves: {reserved}}}")
    [said] = of_code(found, "G-1")
    assert (said.message, said.fix, said.where.path) == (message, fix, "topology.reserve.leaves")
    assert found.fabric is not None


@pytest.mark.parametrize(
    ("pod", "spines", "message", "fix"),
    [
        # 36 stripes of 64 nodes in each of 2 planes, 4 leaves each with 64 uplinks: 144 × 64 ÷ 64 = 144 spines, and
        # 144 × 64 ÷ 128 = 72 super-spines. Pods of 16 stripes have 64 spines, the third pod's are for 4 stripes.
        (
            "",
            384,
            "384 spines and 256 super-spines are built, and cables take the ports of 288 spines and 144 super-spines",
            "in a fabric that is not built yet, use topology.pod: 4: 288 spines and 256 super-spines in 9 pods; pods of"
            " a running one keep their size",
        ),
        (
            "pod: 4",
            288,
            "288 spines and 256 super-spines are built, and cables take the ports of 288 spines and 144 super-spines",
            "no other size of pods costs less: uplinks are divided evenly, and every pod has as many spines",
        ),
    ],
)
def test_sixteen_units_of_gb300_say_what_their_pods_cost(
    designed: Designer, pod: str, spines: int, message: str, fix: str
) -> None:
    found = designed(nodes=16 * UNIT_NODES, gpus=4, nics=TWIN, leaf=SN5600, spine=SN5600, topology=f"planes: 2\n{pod}")
    assert found.sizing is not None
    assert (found.sizing.leaves, found.sizing.spines) == (288, spines)
    [said] = of_code(found, "RW218")
    assert (said.message, said.fix) == (message, fix)


def test_a_core_whose_ports_are_all_in_use_says_nothing(designed: Designer) -> None:
    found = designed(nodes=512, nics="{count: 8, speed: 400G, model: connectx-7}")
    assert found.sizing is not None
    assert (found.sizing.leaves, found.sizing.spines, found.sizing.super_spines) == (128, 128, 64)
    assert not of_code(found, "RW218")
