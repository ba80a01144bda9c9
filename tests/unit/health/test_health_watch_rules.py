"""What `explain` and `codes` say of alerts and of the rules of `health`, and the runbook page of each code."""

import json
import re

import pytest
from json_schemas import Draft202012Validator
from reference_intents import ROOT

from railweave.cli.main import main
from railweave.health.registry import RULES
from railweave.health.watch_rules import watch_rules
from railweave.report.documents import named_schema
from railweave.telemetry.rules.registry import ALERTS

Capture = pytest.CaptureFixture[str]
PAGES = ROOT / "docs" / "runbooks"
OF_HEALTH = [code for code, rule in watch_rules().items() if not rule.alert]


def test_every_code_of_an_alert_or_rule_can_be_explained() -> None:
    assert watch_rules().keys() == {alert.code for alert in ALERTS} | {rule.code for rule in RULES}
    assert [f"F-{number}" for number in range(1, len(OF_HEALTH) + 1)] == OF_HEALTH


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} - {"index"} == set(watch_rules())
    assert all((ROOT / rule.runbook).is_file() for rule in watch_rules().values())


@pytest.mark.parametrize("code", OF_HEALTH)
def test_a_page_of_health_has_its_rule_and_is_listed(code: str) -> None:
    text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    rule = watch_rules()[code].holds
    assert text.lower().startswith(f"# {code}: {rule}\n".lower())
    assert re.findall("^## .*", text, re.MULTILINE) == ["## What to look at", "## Commands"]
    assert f"runbooks/{code}.md\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (PAGES / "index.md", ROOT / "docs" / "how-to" / "slow-fabric.md"):
        assert re.search(rf"^\| \[{code}\]\(\S*{code}\.md\) \|", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_an_alert_is_explained_by_its_limit_and_inputs(capfd: Capture) -> None:
    assert main(["explain", "AL-5"]) == 0
    said = capfd.readouterr().out
    assert "limit: > 0.5 * railweave_headroom_bytes (xoff of the priority group's buffer profile), at once" in said
    assert "counterpoll watermark enable" in said
    assert "docs/runbooks/AL-5.md" in said


@pytest.mark.parametrize("code", ["AL-4", "AL-27", "F-3"])
def test_an_explanation_has_its_schema(code: str, capfd: Capture) -> None:
    assert main(["explain", code, "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    Draft202012Validator(named_schema("explain")).validate(document)
    assert document["watch"]["code"] == code
    # PFC without ECN and marks that never come are rules of `health`; what NICs count is not.
    assert bool(document["watch"]["holds"]) == (code != "AL-27")


def test_codes_are_listed_once_each(capfd: Capture) -> None:
    assert main(["codes", "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    Draft202012Validator(named_schema("codes")).validate(document)
    listed = [*document["codes"], *document["alerts"], *document["health"]]
    assert len(listed) == len(set(listed))
    assert {*document["alerts"], *document["health"]} == set(watch_rules())


def test_a_switch_is_still_explained(capfd: Capture) -> None:
    intent = str(ROOT / "intent" / "lab-4.yml")
    assert main(["explain", "lab-leaf1", "DEVICE_METADATA|localhost|type", "--intent", intent]) == 0
    assert "DEVICE_METADATA" in capfd.readouterr().out
