"""A given stripe caps the split of a leaf: the ports and switches of small fabrics, counted by hand."""

import pytest

from railweave.api.design.intent import design_text
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.diagnostics import Diagnostic
from railweave.fabric.sizing import Sizing
from railweave.intent.load import load_intent_text

FOUR_NODES = """
fabric: pod1
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 4, gpus: 8, nics: {count: 8, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nokia-ixr7220-h4-64d}
"""
B300 = """
fabric: b300
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 16, gpus: 8, nics: {count: 8, speed: 400G, ports: 2, model: connectx-8}}
topology:
  planes: 2
  leaf: {model: nokia-ixr7220-h5-64d, downlink_speed: 400G, uplink_speed: 400G}
  spine: {model: nokia-ixr7220-h5-64d}
"""
NVL72 = """
fabric: pod1
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 108, gpus: 4, nics: {count: 4, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  leaf: {model: nokia-ixr7220-h5-64d, downlink_speed: 400G, uplink_speed: 400G}
  spine: {model: nokia-ixr7220-h5-64d}
"""
MIXED = """
fabric: pod1
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 4, gpus: 8, nics: {count: 4, speed: 400G, model: connectx-7}}
  - name: store
    count: 4
    gpus: 0
    role: storage
    first_stripe: 4
    nics: {count: 4, speed: 200G, ports: 4, model: connectx-7}
    leaf: {model: nvidia-sn4700, uplink_speed: 400G}
topology:
  stripe: 4
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nokia-ixr7220-h4-64d}
"""


def sized(text: str, *keys: str) -> Sizing:
    """Return the sizes of an intent with more keys of topology."""
    lines = "".join(f"  {key}\n" for key in keys)
    outcome = design(load_intent_text(text.replace("topology:\n", f"topology:\n{lines}"), "f.yml"), load_catalog())
    assert outcome.sizing is not None, outcome.diagnostics
    return outcome.sizing


def counts(sizing: Sizing) -> tuple[int, int, int, int, int]:
    return sizing.leaf.down, sizing.leaf.up, sizing.leaves, sizing.spines, sizing.links.leaf_spine


def advice(sizing: Sizing) -> Diagnostic | None:
    return next((diagnostic for diagnostic in sizing.diagnostics if diagnostic.code == "RW216"), None)


def test_a_stripe_of_four_nodes_buys_the_uplinks_of_four_nodes() -> None:
    # One port of each node on each of 8 leaves: 4 down, 4 up. 8 leaves × 4 uplinks fit one spine, 2 are the fewest.
    assert counts(sized(FOUR_NODES, "stripe: 4")) == (4, 4, 8, 2, 32)
    # 64 ports in halves: 8 leaves × 32 uplinks on spines of 64 ports.
    assert counts(sized(FOUR_NODES)) == (32, 32, 8, 4, 256)
    assert counts(sized(FOUR_NODES, "stripe: 4", "split: panel")) == (32, 32, 8, 4, 256)


def test_two_planes_of_sixteen_nodes() -> None:
    # A plane: 8 leaves of 16 down and 16 up, 128 uplinks on spines of 128 ports, 2 are the fewest.
    assert counts(sized(B300, "stripe: 16")) == (16, 16, 16, 4, 256)
    # 64 down and 64 up: 8 × 64 uplinks ÷ 128 ports are 4 spines a plane; 24 switches.
    assert counts(sized(B300)) == (64, 64, 16, 8, 1024)


def test_uplinks_come_in_fours_and_are_within_the_ratio() -> None:
    # 54 down ask for 54 up, 56 is the next multiple of 4; 8 leaves × 56 uplinks on 128 ports: 4 spines of 14 links.
    nvl72 = sized(NVL72, "stripe: 54")
    assert counts(nvl72) == (54, 56, 8, 4, 448)
    assert nvl72.links.per_leaf_spine_pair == 14
    # At 3:1 54 down ask for 18 up, 20 is the next multiple of 4.
    assert counts(sized(NVL72, "stripe: 54", 'oversubscription: "3:1"'))[:2] == (54, 20)


def test_a_stripe_that_fills_a_leaf_changes_nothing() -> None:
    full, automatic = sized(FOUR_NODES, "stripe: 32"), sized(FOUR_NODES)
    assert counts(full) == counts(automatic)


def test_the_uplinks_serve_the_leaf_class_with_most_bandwidth() -> None:
    """A stripe of 4 nodes has 4 × 400G on a leaf of GPU nodes, and 4 nodes × 4 ports × 200G on one of storage."""
    sizing = sized(MIXED)
    # 3.2 Tb/s of storage ask for 8 × 400G at 1:1; GPU nodes alone asked for 4.
    assert (sizing.leaf.down, sizing.leaf.up) == (4, 8)
    split = {step.name: step.result for step in sizing.steps}
    assert split["leaf port split of store"] == "16 down + 8 up"


def test_the_ratio_of_connected_ports_is_stated_beside_that_of_the_split() -> None:
    steps = {step.name: (step.formula, step.result) for step in sized(FOUR_NODES).steps}
    assert steps["oversubscription"] == ("12.8 Tb/s down ÷ 12.8 Tb/s up", "1:1")
    assert steps["oversubscription of connected ports"] == ("1.6 Tb/s down ÷ 12.8 Tb/s up", "0.125:1")
    # Where all ports of the split are connected there is one ratio.
    assert "oversubscription of connected ports" not in {step.name for step in sized(FOUR_NODES, "stripe: 4").steps}


@pytest.mark.parametrize(
    ("keys", "message", "fix"),
    [
        (
            (),
            "a leaf has 32 uplinks for 4 connected ports, 0.125:1; 1:1 asks for 4",
            "write topology.stripe: 4, or the nodes that share a set of leaves later on; or keep it for nodes that come"
            " later",
        ),
        (
            ("stripe: 4", "split: panel"),
            "a leaf has 32 uplinks for 4 connected ports, 0.125:1; 1:1 asks for 4",
            "leave `split: panel` out, which moves the cables of a running fabric, or keep it",
        ),
        (
            ("stripe: 4", "links_per_pair: 1", "spine: {model: nokia-ixr7220-h4-64d, count: 16}"),
            "a leaf has 16 uplinks for 4 connected ports, 0.25:1; 1:1 asks for 4",
            "use 4 spines, or keep it for nodes that come later",
        ),
    ],
    ids=["automatic stripe", "split of the panel", "given links of a pair"],
)
def test_far_more_uplinks_than_the_ratio_asks_for_are_told(keys: tuple[str, ...], message: str, fix: str) -> None:
    text = FOUR_NODES
    if any(key.startswith("spine") for key in keys):
        text = text.replace("  spine: {model: nokia-ixr7220-h4-64d}\n", "")
    found = advice(sized(text, *keys))
    assert found is not None
    assert (found.severity.value, found.message, found.fix) == ("info", message, fix)


def test_twice_the_uplinks_are_room_for_growth() -> None:
    # 16 nodes on leaves of 32 down and 32 up: twice what 16 ask for.
    assert advice(sized(FOUR_NODES.replace("count: 4,", "count: 16,"))) is None
    assert advice(sized(FOUR_NODES, "stripe: 4")) is None


def test_a_block_of_uplinks_begins_with_a_cage() -> None:
    """27 downlinks leave half of cage 14 free, and 28 uplinks fill 14 cages behind it."""
    fabric = design_text(NVL72.replace("topology:\n", "topology:\n  stripe: 27\n"), "f.yml").fabric
    uplinks = fabric.uplinks_of["pod1-leaf1"]
    assert [link.lower_port for link in uplinks] == list(range(28, 56))
    # The /31 of a link is at leaf number × 128 ports + port.
    assert uplinks[0].network == fabric.policies.addressing.links.first + 2 * 28
