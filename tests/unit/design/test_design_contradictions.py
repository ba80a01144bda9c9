"""Keys of the topology that contradict each other: all that take part are named, with one set that is accepted."""

import re

import pytest
import yaml

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, has_errors
from railweave.intent.load import load_intent_text

# A leaf of 64 ports has 32 for nodes at 1:1, one for each node of a rail; 64 nodes are 2 stripes of 4 leaves.
BASE = """
fabric: c
workload: {kind: pretraining}
nodes: [{name: gpu, count: 64, gpus: 8, nics: {count: 4, speed: 400G, model: connectx-7}}]
topology:
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nokia-ixr7220-h4-64d}
"""
NAMED = re.compile(r"; these contradict each other: (?P<keys>.*?)(; consistent is (?P<agreeing>.*))?$")
KEY = re.compile(r'topology\.([a-z_.]+): ("[^"]+"|\S+?)(?=, topology| and topology|$)')


def intent_with(changes: dict[str, object]) -> str:
    intent = yaml.safe_load(BASE)
    for key, value in changes.items():
        part, _, field = key.rpartition(".")
        holder = intent["topology"].setdefault(part, {}) if part else intent["topology"]
        holder[field] = value
    return yaml.safe_dump(intent)


def refusals(changes: dict[str, object]) -> tuple[Diagnostic, ...]:
    intent = load_intent_text(intent_with(changes), "c.yml")
    return tuple(found for found in design(intent, load_catalog()).diagnostics if has_errors([found]))


CASES: dict[str, tuple[dict[str, object], set[str]]] = {
    "a stripe and the ratio": ({"stripe": 40, "oversubscription": "1:1"}, {"stripe", "oversubscription"}),
    "a count and a stripe": ({"stripe": 8, "leaf.count": 8}, {"stripe", "leaf.count"}),
    "spines and their links": (
        {"links_per_pair": 20, "spine.count": 4, "oversubscription": "1:1"},
        {"links_per_pair", "spine.count"},
    ),
    "spines, their links and the ratio": (
        {"links_per_pair": 2, "spine.count": 4},
        {"links_per_pair", "spine.count", "oversubscription"},
    ),
    "spines and their reserve": ({"spine.count": 8, "reserve.spines": 4}, {"spine.count", "reserve.spines"}),
    "counts and reserves of a small stripe": (
        {"stripe": 8, "leaf.count": 8, "spine.count": 4, "reserve.leaves": 4, "reserve.spines": 2},
        {"stripe", "leaf.count"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_all_keys_that_take_part_are_named_with_values_that_are_accepted(case: str) -> None:
    changes, keys = CASES[case]
    (named,) = filter(None, (NAMED.search(refused.fix) for refused in refusals(changes)))
    assert {key for key, _ in KEY.findall(named["keys"])} == keys
    agreeing = {key: yaml.safe_load(value) for key, value in KEY.findall(named["agreeing"])}
    assert keys <= agreeing.keys() <= keys | changes.keys()
    assert refusals(changes | agreeing) == ()


@pytest.mark.parametrize("changes", [{"stripe": 40}, {"spine.count": 6}, {"leaf.count": 6}])
def test_one_key_alone_contradicts_no_other(changes: dict[str, object]) -> None:
    (refused,) = refusals(changes)
    assert NAMED.search(refused.fix) is None


@pytest.mark.parametrize(
    ("reserve", "first", "fix"),
    [
        (
            "",
            2,
            "these contradict each other: topology.stripe: 16 and nodes[1].first_stripe: 2;"
            " consistent is topology.stripe: 32 and nodes[1].first_stripe: 2",
        ),
        (
            "\n  reserve: {leaves: 8}",
            4,
            "these contradict each other: topology.reserve.leaves: 8 and nodes[1].first_stripe: 4;"
            " consistent is topology.stripe: 32, topology.reserve.leaves: 32 and nodes[1].first_stripe: 4",
        ),
    ],
    ids=["stripe", "reserve"],
)
def test_keys_of_nodes_take_part_as_well(reserve: str, first: int, fix: str) -> None:
    text = BASE.replace("connectx-7}}]", f"connectx-7}}}}, {{name: b, first_stripe: {first}, NODES]")
    nodes = "count: 8, gpus: 0, role: storage, nics: {count: 4, speed: 400G, model: connectx-7}}"
    text = text.replace("NODES", nodes).replace("topology:", f"topology:\n  stripe: 16{reserve}")
    (refusal,) = (found for found in design(load_intent_text(text, "c.yml"), load_catalog()).diagnostics if found.fix)
    assert refusal.fix.endswith(fix)
