"""The registry of rules: every code that railweave uses is declared, and the example of a rule breaks it."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from railweave.checks.intent import check_intent
from railweave.checks.registry import INTENT_CHECKS, LINK_CHECKS, NODE_CHECKS, SWITCH_CHECKS, all_rules, rule
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


def test_a_rule_with_checks_says_why_and_shows_an_example() -> None:
    checked = {code for checks in (INTENT_CHECKS, LINK_CHECKS, SWITCH_CHECKS, NODE_CHECKS) for code, _ in checks}

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
        if CODE.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for code in [CODE.fullmatch(node.value)]
        if code
    }

    assert {one[0] for one in used} == set(all_rules())


def test_a_code_is_declared_once() -> None:
    with pytest.raises(ValueError, match="RW108"):
        rule("RW108", "another rule", None)
