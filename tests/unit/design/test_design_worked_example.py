"""A worked example: 32 nodes with 4 × 400G on leaves of 64 and spines of 32 ports."""

from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.document import size_json
from railweave.fabric.sizing import LeafSplit, Limits, LinkCounts, Sizing
from railweave.intent.load import load_intent_text

POD_32 = Path(__file__).resolve().parents[3] / "intent" / "pod-32.yml"


@pytest.fixture(scope="module")
def sizing() -> Sizing:
    outcome = design(load_intent_text(POD_32.read_text(encoding="utf-8"), "intent/pod-32.yml"), load_catalog())
    assert outcome.sizing is not None
    return outcome.sizing


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("node ports", "128 × 400G"),
        ("bandwidth of a node", "1.6 Tb/s"),
        ("bandwidth of all nodes", "51.2 Tb/s"),
        ("leaf ports", "64 ports, 25.6 Tb/s"),
        ("leaf port split", "32 down + 32 up"),
        ("leaves", "4"),
        ("uplink of a leaf", "12.8 Tb/s"),
        ("uplink of all leaves", "51.2 Tb/s"),
        ("spine ports", "32 ports, 12.8 Tb/s"),
        ("spines", "4"),
        ("links of a leaf-spine pair", "8"),
        ("ports in use on a spine", "32 of 32"),
        ("oversubscription", "1:1"),
        ("with one spine lost", "1.33:1"),
    ],
)
def test_the_worked_example_is_reproduced_step_by_step(sizing: Sizing, name: str, result: str) -> None:
    steps = {step.name: step for step in sizing.steps}
    assert steps[name].result == result
    assert steps[name].formula


def test_the_worked_example_has_the_published_counts(sizing: Sizing) -> None:
    assert (sizing.leaves, sizing.spines, sizing.nodes, sizing.gpus, sizing.stripes) == (4, 4, 32, 256, 1)
    assert sizing.leaf == LeafSplit(down=32, up=32, down_gbps=12_800, up_gbps=12_800)
    assert sizing.links == LinkCounts(host_leaf=128, leaf_spine=128, spine_super_spine=0, per_leaf_spine_pair=8)
    assert sizing.oversubscription.leaf == 1.0
    assert sizing.oversubscription.after_spine_loss == pytest.approx(4 / 3)


def test_the_worked_example_has_no_room_and_says_what_would_make_some(sizing: Sizing) -> None:
    assert sizing.limits == Limits(nodes=32, first="spine_ports")
    assert (
        sizing.room.next_step
        == "room left: 0 leaves, 0 spines; next: 8 spines (64 cables move), or spines with 64 ports"
    )


def test_the_size_document_has_the_keys_of_the_contract(sizing: Sizing) -> None:
    document = size_json(sizing)
    assert {
        "fabric", "tiers", "planes", "rails", "stripes", "nodes", "gpus", "leaves", "spines", "super_spines", "leaf",
        "links", "oversubscription", "limits", "steps", "diagnostics",
    } <= document.keys()  # fmt: skip
    assert document["leaf"].keys() == {"down", "up", "down_gbps", "up_gbps"}
    assert document["links"].keys() == {"host_leaf", "leaf_spine", "spine_super_spine", "per_leaf_spine_pair"}
    assert document["oversubscription"].keys() == {"target", "leaf", "after_spine_loss"}
    assert document["limits"] == {"nodes": 32, "first": "spine_ports"}
    assert document["steps"][0].keys() == {"name", "formula", "result"}
