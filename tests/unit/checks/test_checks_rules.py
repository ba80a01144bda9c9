"""The registry of rules: every code that railweave uses is declared, and the example of a rule breaks it."""

import ast
import re
from pathlib import Path

import pytest
import yaml
from config_checks import check_config
from reference_intents import REFERENCE_INTENTS
from sources import nodes_of

from railweave.acceptance.judge.registry import judge_rules
from railweave.catalog.load import load_catalog
from railweave.checks.intent import check_intent
from railweave.checks.registry import (
    FABRIC_CHECKS,
    INTENT_CHECKS,
    LINK_CHECKS,
    NODE_CHECKS,
    SWITCH_CHECKS,
    all_rules,
    rule,
)
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.health.registry import RULES as HEALTH_RULES
from railweave.intent.load import load_intent_text

PROJECT = Path(__file__).resolve().parents[3]
BASE = yaml.safe_load((PROJECT / "intent" / "pod-32.yml").read_text())
CODE = re.compile(r"RW[0-9]{3}|[A-Z]-(?:[0-9]+|budget|headroom|pools)")


def overlaid(base: object, example: object) -> object:
    """Return ``base`` with what an example says: its mappings key by key, its lists of nodes entry by entry."""
    if isinstance(base, dict) and isinstance(example, dict):
        kept = {key: value for key, value in base.items() if not (key == "model" and "ports" in example)}
        return kept | {key: overlaid(base.get(key), value) for key, value in example.items()}
    if isinstance(base, list) and isinstance(example, list) and all(isinstance(one, dict) for one in example):
        if "priority" in example[0]:
            return example
        return [overlaid(base[min(index, len(base) - 1)], one) for index, one in enumerate(example)]
    return example


@pytest.mark.parametrize("code", sorted({code for code, _ in INTENT_CHECKS}))
def test_the_example_of_a_rule_breaks_it(code: str) -> None:
    text = yaml.safe_dump(overlaid(BASE, yaml.safe_load(all_rules()[code].example)))

    found = check_intent(load_intent_text(text, "test.yml"))

    assert code in {one.code for one in found}


def found_in(changes: str) -> dict[str, Diagnostic]:
    """Return what is found in the reference intent with these changes, by code."""
    intent = load_intent_text(yaml.safe_dump(overlaid(BASE, yaml.safe_load(changes))), "test.yml")
    outcome = design(intent, load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return {one.code: one for one in check_config(outcome.fabric, intent.where)}


ADVICE = {
    "RW110": (
        "error: overrides for `pod1-leaf9`, which the fabric does not have",
        "overrides.pod1-leaf9",
    ),
    "T-9": (
        "warning: pod1-leaf1 is the only switch of its GPU nodes (gpu1…32): its failure cuts 32 nodes off",
        "nodes",
    ),
    "T-10": (
        "warning: no traffic takes pod1-spine1…4: a spine joins leaves, and fewer than two leaves with nodes are below"
        " it",
        "topology.spine",
    ),
    "T-11": (
        "warning: 512 links of 200G join leaves and spines, where 128 of 800G would carry as much",
        "topology.leaf.uplink_speed",
    ),
    "T-12": (
        "info: no path joins the 4 rails in the network: traffic between rails takes the GPU links of a node"
        " (NCCL_PXN_DISABLE=0)",
        "topology.shape",
    ),
    "T-13": (
        "error: without pod1-spine1 75 % of the uplinks of the worst switch is left, failures.single.uplinks asks for"
        " 90 %; 3 failures more leave too little",
        "failures.single.uplinks",
    ),
    "T-14": (
        "info: 2 leaves share each NIC, and each port of it is an RDMA device of its own: when a link or switch fails,"
        " the queue pairs of that port end, and sockets bound to the NIC's address move to another port",
        "topology.leaves_per_nic",
    ),
    "RW118": (
        "error: SONiC 202505 takes ports of up to 800G, and spines have ports of 1600G",
        "topology.spine",
    ),
    "RW126": (
        "info: a chassis of line cards, each with a SONiC of its own: the fabric can be sized, not configured",
        "topology.spine.model",
    ),
    "RW305": (
        "warning: 64 groups of leaf-spine links by aoc share cages at both ends in different ways: no cable with fixed"
        " ends joins these",
        "cabling.leaf_spine.media",
    ),
    "RW141": (
        "error: the tenants need 69 rules on pod1-leaf1, of 16 that an ACL table holds (4 leaves over it:"
        " pod1-leaf1…4)",
        "tenants",
    ),
    "RW143": (
        "info: SONiC 202411 does not poll WRED_ECN_PORT (telemetry.counters.wred_port), so its row is not rendered",
        "telemetry",
    ),
    "RW146": (
        "warning: telemetry.gnmi states no certificate: where the switch has none, gNMI is served without TLS",
        "telemetry.gnmi",
    ),
    "RW144": (
        "warning: a switch of 32 ports reads 383 objects a second for its counters, 4.0 times the 95 of SONiC's own"
        " intervals, 3 at most: 256 queues every 1000 ms, 256 queues every 10000 ms, 32 ports every 1000 ms, the other"
        " groups as SONiC has them",
        "telemetry.counters.queue",
    ),
    "L-4": (
        "info: leaves spread flows over 15 uplinks, an odd count: the load stays uneven",
        "topology.spine.count",
    ),
}


@pytest.mark.parametrize("code", sorted({code for code, _ in FABRIC_CHECKS}))
def test_the_example_of_a_rule_of_fabrics_is_advised_against(code: str) -> None:
    found = found_in(all_rules()[code].example)[code]
    assert (f"{found.severity.value}: {found.message}", found.where.path) == ADVICE[code]


@pytest.mark.parametrize("intent", REFERENCE_INTENTS, ids=lambda path: path.stem)
def test_the_reference_intents_need_none_of_this_advice(intent: Path) -> None:
    outcome = design(load_intent_text(intent.read_text(encoding="utf-8"), intent.name), load_catalog())
    assert outcome.fabric is not None
    assert ADVICE.keys().isdisjoint(one.code for one in check_config(outcome.fabric))


def test_faster_uplinks_are_advised_only_where_they_save_links() -> None:
    both = "leaf: {model: nvidia-sn5600}, spine: {model: nvidia-sn5600}"
    twin = found_in(f"topology: {{{both}}}")["T-11"]
    # Two links of 400G leave a cage of 800G by one module: merging them saves no optics.
    assert (twin.severity.value, twin.message) == (
        "info",
        "256 links of 400G join leaves and spines, where 128 of 800G would carry as much",
    )
    assert twin.fix == "write topology.leaf.uplink_speed: 800G"
    # With one link to each spine there is nothing to merge.
    assert "T-11" not in found_in(
        "topology: {leaf: {model: nvidia-sn5600}, links_per_pair: 1, spine: {model: nvidia-sn5600, count: 64}}"
    )


def test_leaves_that_each_are_the_only_switch_of_their_nodes_are_told_once() -> None:
    found = found_in("{nodes: [{count: 64, nics: {count: 1}}]}")["T-9"]
    assert found.message == (
        "pod1-leaf1, pod1-leaf2 are each the only switch of their GPU nodes (gpu1…64): one failure cuts these off"
    )
    assert (found.severity, found.devices) == (Severity.WARNING, ("pod1-leaf1", "pod1-leaf2"))
    racks = found_in("{nodes: [{count: 64, nics: {count: 1}}], topology: {shape: rack-aligned}}")["T-9"]
    assert racks.severity is Severity.INFO


def test_ports_of_1600g_are_for_releases_that_take_them_and_advised_only_there() -> None:
    text = all_rules()["RW118"].example
    assert "RW118" not in found_in(text.replace("{nodes", "{sonic: {release: 202511}, nodes"))
    slower = text.replace(", uplink_speed: 1600G", "")
    assert found_in(text)["RW118"].fix == "run SONiC 202511 or later (sonic.release)"
    assert "T-11" not in found_in(slower)
    assert "1600G" in found_in(slower.replace("{nodes", "{sonic: {release: 202511}, nodes"))["T-11"].fix


def test_a_rule_with_checks_says_why_and_shows_an_example() -> None:
    checked = {
        code for checks in (FABRIC_CHECKS, INTENT_CHECKS, LINK_CHECKS, SWITCH_CHECKS, NODE_CHECKS) for code, _ in checks
    }

    assert [code for code in checked if not (all_rules()[code].explanation and all_rules()[code].example)] == []


def test_every_rule_says_why_and_how_it_is_kept() -> None:
    """A rule with checks shows an example, and its diagnostics name the fix; all others state the fix themselves."""
    lacking = [code for code, one in all_rules().items() if not one.explanation or bool(one.example) == bool(one.fix)]

    assert lacking == []


def test_every_code_that_is_used_has_a_rule_and_every_rule_is_used() -> None:
    used = {
        code
        for folder in ("src/railweave", "tasks")
        for path in (PROJECT / folder).rglob("*.py")
        if CODE.search(path.read_text())
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for code in [CODE.fullmatch(node.value)]
        if code
    }

    # The judge of acceptance tests and `health` have rules of their own; some of the latter are those of alerts.
    judged = {judge_rule.code for judge_rule in judge_rules()}
    judged |= {health_rule.code for health_rule in HEALTH_RULES if CODE.fullmatch(health_rule.code)}
    assert {one[0] for one in used} == all_rules().keys() | judged
    assert not all_rules().keys() & judged


def test_a_code_is_declared_once() -> None:
    with pytest.raises(ValueError, match="RW108"):
        rule("RW108", "another rule", None)


@pytest.mark.parametrize("rdma", [True, False])
def test_a_leaf_without_uplinks_is_told_of_wherever_leaves_share_nics(rdma: bool) -> None:
    example = all_rules()["T-14"].example
    classes = ", traffic_classes: [{name: best-effort, role: bulk, dscp: default, priority: 0, share: 100}]}"
    intent = load_intent_text(
        yaml.safe_dump(overlaid(BASE, yaml.safe_load(example if rdma else f"{example[:-1]}{classes}"))), "test.yml"
    )
    outcome = design(intent, load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    found = [one.message for one in check_config(outcome.fabric, intent.where) if one.code == "T-14"]
    assert len(found) == 1 + rdma
    assert "loses all of its uplinks keeps its ports to nodes up" in found[0]
