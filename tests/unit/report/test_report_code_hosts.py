"""Diagnostics for code hosts: at the lines of the intent, in the forms that these import."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from json_schemas import Draft202012Validator, validator_for

from railweave.cli.main import main
from railweave.diagnostics import Where, error, info, warning
from railweave.report.code_hosts import CODE_HOSTS, github_commands, gitlab_report, sarif

Capture = pytest.CaptureFixture[str]
HERE = Path(__file__).resolve().parents[3]
DIAGNOSTICS = (
    info("L-3", "flows: 100 %, spread"),
    error("T-3", "too few\nports", Where("intent/a,b.yml", 7, 3, "topology.spine"), fix="use more spines"),
    warning("RW999", "unknown", Where("intent/a,b.yml", 7, 0, "topology"), fix=""),
)

# A Go module with OASIS's schema of SARIF 2.1.0, which is on no other package index; CI downloads it.
SARIF_MODULE = "github.com/owenrumney/go-sarif/v3@*/pkg/report/v210/sarif/schema.go"
# What GitHub reads of SARIF 2.1.0 (sections 3.13 to 3.30), unknown keys refused.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
REGION = {
    "type": "object",
    "required": ["startLine"],
    "additionalProperties": False,
    "properties": {name: {"type": "integer", "minimum": 1} for name in ("startLine", "startColumn")},
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": TEXT,
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "locations": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "physicalLocation": {
                        "type": "object",
                        "required": ["artifactLocation", "region"],
                        "properties": {"region": REGION},
                    }
                },
            },
        },
    },
}
RULE = {
    "type": "object",
    "required": ["id"],
    "additionalProperties": False,
    "properties": {"id": {"type": "string"}, "shortDescription": TEXT, "fullDescription": TEXT, "help": TEXT},
}
# docs.gitlab.com, code quality report format.
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/]"},
                    "lines": {"type": "object", "required": ["begin"]},
                },
            },
        },
    },
}


def faults(schema: Any, document: Any) -> list[str]:
    return [fault.message for fault in Draft202012Validator(schema).iter_errors(document)]


def sarif_schemas() -> list[Path]:
    modules = Path(os.environ.get("GOMODCACHE", Path.home() / "go" / "pkg" / "mod"))
    return sorted(modules.glob(SARIF_MODULE))


@pytest.mark.skipif(not sarif_schemas(), reason="the Go module with the schema of SARIF is not on this machine")
@pytest.mark.parametrize("diagnostics", [DIAGNOSTICS, DIAGNOSTICS[1:2], ()])
def test_sarif_passes_its_published_schema(diagnostics: tuple[Any, ...]) -> None:
    literal = sarif_schemas()[-1].read_text(encoding="utf-8").split("`")[1]
    schema = json.loads(literal)
    assert schema["id"].endswith("/sarif-schema-2.1.0.json")
    log = json.loads(sarif(diagnostics, "intent/fabric.yml"))
    validator = validator_for(schema)(schema)
    assert [fault.message for fault in validator.iter_errors(log)] == []
    log["runs"][0]["tool"]["driver"]["vendor"] = "unknown"
    assert [fault.validator for fault in validator.iter_errors(log)] == ["additionalProperties"]


def test_sarif_has_each_finding_at_its_line_with_its_rule() -> None:
    log = json.loads(sarif(DIAGNOSTICS, "intent/fabric.yml"))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert faults({"type": "array", "items": RESULT}, run["results"]) == []
    assert faults({"type": "array", "items": RULE}, run["tool"]["driver"]["rules"]) == []
    first = run["results"][0]
    place = first["locations"][0]["physicalLocation"]
    assert (first["ruleId"], first["level"]) == ("T-3", "error")
    assert first["message"]["text"] == "too few\nports\nfix: use more spines"
    assert place["artifactLocation"]["uri"] == "intent/a,b.yml"
    assert place["region"] == {"startLine": 7, "startColumn": 3}
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_finding_without_a_place_is_at_the_first_line_of_the_intent() -> None:
    result = json.loads(sarif(DIAGNOSTICS, "intent/fabric.yml"))["runs"][0]["results"][-1]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]) == ("intent/fabric.yml", {"startLine": 1})


def test_fingerprints_stay_when_lines_move() -> None:
    moved = [one._replace(where=one.where._replace(line=one.where.line + 4)) for one in DIAGNOSTICS]
    before, after = (json.loads(gitlab_report(given, "intent/fabric.yml")) for given in (DIAGNOSTICS, moved))
    assert [one["fingerprint"] for one in before] == [one["fingerprint"] for one in after]
    assert len({one["fingerprint"] for one in before}) == 3


def test_no_text_can_begin_another_workflow_command() -> None:
    assert github_commands(DIAGNOSTICS, "intent/fabric.yml") == (
        "::error file=intent/a%2Cb.yml,line=7,title=T-3,col=3::too few%0Aports%0Afix: use more spines\n"
        "::warning file=intent/a%2Cb.yml,line=7,title=RW999::unknown\n"
        "::notice file=intent/fabric.yml,line=1,title=L-3::flows: 100 %25, spread\n"
    )


def test_gitlab_gets_its_own_report() -> None:
    report = json.loads(gitlab_report(DIAGNOSTICS, "intent/fabric.yml"))
    assert faults(GITLAB, report) == []
    assert [(one["severity"], one["location"]["lines"]["begin"]) for one in report] == [
        ("critical", 7),
        ("minor", 7),
        ("info", 1),
    ]


@pytest.mark.parametrize("form", CODE_HOSTS)
@pytest.mark.parametrize("good", [True, False])
def test_check_prints_the_form_alone_and_exits_by_the_findings(
    form: str, good: bool, capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("intent").mkdir()
    text = (HERE / "intent/lab-4.yml").read_text(encoding="utf-8")
    Path("intent/lab.yml").write_text(text if good else text.replace("rails: 2", "raisl: 2"), encoding="utf-8")
    assert main(["check", "--format", form]) == (0 if good else 1)
    printed = capfd.readouterr()
    assert printed.err == ""
    assert "intent/lab.yml" in printed.out
    assert str(tmp_path) not in printed.out
    if form != "github":
        json.loads(printed.out)


def test_an_unknown_form_is_named(capfd: Capture) -> None:
    assert main(["check", str(HERE / "intent/lab-4.yml"), "--format", "junit"]) == 64
    assert "--format junit: it is one of sarif, github or gitlab" in capfd.readouterr().err
