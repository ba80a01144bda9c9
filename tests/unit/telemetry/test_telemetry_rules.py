"""The rules: every expression is PromQL, names the metrics that it needs, and has its page."""

import re

import promql_parser
import pytest
from reference_intents import ROOT

from railweave.fabric.node_metrics import ScrapedMetric
from railweave.telemetry import metrics
from railweave.telemetry.rules.model import AlertRule, AlertSeverity
from railweave.telemetry.rules.registry import ALERTS, GROUPS, RECORDING

PAGES = ROOT / "docs" / "runbooks"
NAMES = {metric.name: metric for metric in vars(metrics).values() if isinstance(metric, ScrapedMetric)}
RECORDED = {rule.name: rule.expression for rule in RECORDING}
BY_CODE = {rule.code: rule for rule in ALERTS}


def selected(expression: str) -> set[str]:
    """Return the names of all series that an expression selects, through recorded ones."""
    found = set()
    for name in re.findall(r"[a-zA-Z_:][\w:]*", re.sub(r'"[^"]*"', "", expression)):
        if name in RECORDED:
            found |= selected(RECORDED[name])
        elif name in NAMES:
            found.add(name)
    return found


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule.name)
def test_an_expression_is_promql_and_needs_what_the_rule_says(rule: AlertRule) -> None:
    expression = rule.promql(15)
    promql_parser.parse(expression)
    assert {metric.name for metric in rule.needs} <= selected(expression)
    assert {series.metric.name for series in rule.example} <= {*selected(expression), metrics.LINK.name}


def test_recorded_expressions_are_promql() -> None:
    for expression in RECORDED.values():
        promql_parser.parse(expression)


def test_there_are_at_most_sixty_rules_with_codes_in_order() -> None:
    assert len(ALERTS) + len(RECORDING) <= 60
    assert [rule.code for rule in ALERTS] == [f"AL-{number}" for number in range(1, len(ALERTS) + 1)]
    assert [rule for alerts in GROUPS.values() for rule in alerts] == [*ALERTS]
    assert len({rule.name for rule in ALERTS}) == len(ALERTS)


def test_every_alert_has_its_page_and_every_page_its_alert() -> None:
    pages = {path.stem for path in PAGES.glob("AL-*.md")}
    assert pages == set(BY_CODE)
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    for code, rule in BY_CODE.items():
        text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {code}: {rule.name}\n")
        assert "## What to look at" in text
        assert "## Commands" in text
        assert f"- Severity: {rule.severity}:" in text
        assert {metric.name for metric in rule.needs} <= set(re.findall(r"`(\w+)`", text))
        assert f"runbooks/{code}.md\n" in navigation
        assert f"| [{code}]({code}.md) | {rule.name} | {rule.severity} |" in index


def test_a_summary_names_labels_that_the_alert_has() -> None:
    for rule in ALERTS:
        assert set(re.findall(r"{(\w+)}", rule.summary)) <= set(rule.labels), rule.name
        # What pages somebody says which device, or which plane.
        if rule.severity is not AlertSeverity.NONE:
            assert {"device", "plane"} & set(rule.labels)


def test_a_port_with_one_lossless_class_has_at_most_25_series() -> None:
    of_ports = [metric for metric in metrics.SCRAPED if metric.labels[:1] == ("port",)]
    assert len(of_ports) == 25
    assert len(metrics.SCRAPED) - len(of_ports) <= 30
    assert all((metric.kind == "counter") == metric.name.endswith("_total") for metric in metrics.SCRAPED)
