"""The rendered rules in Prometheus' own promtool: generated tests, and cases written by hand that mutants fail."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from alert_cases import CASES, ROWS, promtool_test
from real_prometheus import promtool_results, unpacked
from reference_intents import ROOT
from telemetry_samples import fabric_of, telemetry_files

from railweave.fabric.telemetry import TelemetryPolicy
from railweave.sonic.render.configure import Configurator
from railweave.telemetry.prometheus import alert_entry
from railweave.telemetry.rules.model import AlertRule
from railweave.telemetry.rules.registry import ALERTS, GROUPS, RECORDING
from railweave.templates import find_templates

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

POLICY = TelemetryPolicy()


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("prometheus"))


def write(folder: Path, name: str, rule: AlertRule, loaded: AlertRule | None) -> None:
    """Write the cases of a rule and a file with ``loaded`` alone in its place; promtool reads JSON, which is YAML."""
    rules: list[Mapping[str, Any]] = []
    if rule in GROUPS["devices"]:
        rules += [{"record": recording.name, "expr": recording.expression} for recording in RECORDING]
    if loaded is not None:
        rules.append(alert_entry(loaded, POLICY))
    groups = [{"name": "rules", "rules": rules}] if rules else []
    tests = {
        "rule_files": [f"{name}.rules.yml"],
        "evaluation_interval": f"{POLICY.scrape_s}s",
        "tests": list(hand_written(rule)),
    }
    (folder / f"{name}.rules.yml").write_text(json.dumps({"groups": groups}), encoding="utf-8")
    (folder / f"{name}.yml").write_text(json.dumps(tests), encoding="utf-8")


def hand_written(rule: AlertRule) -> Iterator[Mapping[str, Any]]:
    for case in CASES:
        if case.alert == rule.name:
            fixed = {"rule": rule.code, "severity": rule.severity.value}
            url = f"docs/runbooks/{rule.code}.md"
            texts = [{"summary": rule.summary.format_map(labels), "runbook_url": url} for labels in case.alerts]
            yield promtool_test(case, fixed, texts)


def mutants(rule: AlertRule) -> Iterator[tuple[str, AlertRule | None]]:
    """Yield what replaces a rule: nothing, the rule without its condition, and with a limit a tenth lower or higher."""
    yield f"{rule.name}-deleted", None
    if rule.condition:
        yield f"{rule.name}-unconditional", rule._replace(condition="")
    if rule.limit.factor:
        for factor in (0.9, 1.1):
            yield f"{rule.name}-{factor}", rule._replace(limit=rule.limit._replace(factor=rule.limit.factor * factor))


def test_the_numbers_of_the_cases_are_rows_of_the_switch() -> None:
    fabric = fabric_of((ROOT / "intent" / "pod-32.yml").read_text(encoding="utf-8"))
    tables = Configurator(fabric, find_templates()).designed(fabric.switch_of["pod1-leaf1"])
    assert {place: int(str(tables[place[0]][place[1]][place[2]])) for place in ROWS} == ROWS


def test_every_alert_fires_and_stays_quiet_as_written_by_hand(programs: Path, tmp_path: Path) -> None:
    assert {case.alert for case in CASES if case.alerts} == {rule.name for rule in ALERTS}
    assert {case.alert for case in CASES if not case.alerts} == {rule.name for rule in ALERTS}
    for rule in ALERTS:
        write(tmp_path, rule.name, rule, rule)
    files = [f"{rule.name}.yml" for rule in ALERTS]
    assert promtool_results(programs, tmp_path, files) == dict.fromkeys(files, True)


def test_no_rule_can_go_and_no_limit_can_move_by_a_tenth(programs: Path, tmp_path: Path) -> None:
    names = []
    for rule in ALERTS:
        for name, loaded in mutants(rule):
            write(tmp_path, name, rule, loaded)
            names.append(f"{name}.yml")
    assert len(names) > len(ALERTS) + 10
    assert promtool_results(programs, tmp_path, names) == dict.fromkeys(names, False)


@pytest.mark.parametrize("scrape_s", [1, 15, 60])
def test_generated_tests_pass_at_every_interval(scrape_s: int, programs: Path, tmp_path: Path) -> None:
    intent = (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")
    fabric = fabric_of(f"{intent}\ntelemetry: {{scrape_s: {scrape_s}}}\n")
    for path, text in telemetry_files(fabric).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    folder = tmp_path / "prometheus"
    files = sorted(f"tests/{path.name}" for path in (folder / "tests").iterdir())
    assert promtool_results(programs, folder, files) == dict.fromkeys(files, True)
