"""The published schemas: one for every command with ``--json``, whole, and in step with the code."""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import typer
from by_check import sampled
from json_schemas import Draft202012Validator

from railweave.cli.main import app, main
from railweave.diagnostics import Severity
from railweave.errors import UsageError
from railweave.hosts.outcome import ChangeKind, HostState
from railweave.plan.lifecycle import WorkProgress
from railweave.plan.model import PLAN_VERSION, DeviceState
from railweave.plan.outcome import CheckKind, Outcome, Result
from railweave.plan.phases.planning import PhaseKind
from railweave.plan.rollout import RolloutKind
from railweave.report.documents import COMMANDS, VERSION, named_schema, schema, schema_name, schema_names, titles
from railweave.sonic.delta.change import Disruption, Method, Op
from sonic_sim.faults import FaultKind

SCHEMAS = pytest.mark.parametrize("name", schema_names())


def commands_with_json() -> Iterator[str]:
    """Yield every command that takes ``--json``, as it is typed."""

    def below(command: Any, words: tuple[str, ...]) -> Iterator[str]:
        for name, inner in getattr(command, "commands", {}).items():
            yield from below(inner, (*words, name))
        if any("--json" in option.opts for option in command.params):
            yield " ".join(words)

    yield from below(typer.main.get_command(app), ())


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from nodes(value)
    elif isinstance(node, list):
        for one in node:
            yield from nodes(one)


def test_every_command_with_json_has_a_schema_and_no_other() -> None:
    assert sorted(commands_with_json()) == sorted(COMMANDS)
    assert {schema_name(command) for command in COMMANDS} < set(schema_names())


@pytest.mark.parametrize("name", sampled(schema_names(), every=4))
def test_a_schema_is_one_of_its_draft_and_needs_no_other_file(name: str) -> None:
    found = schema(name)
    Draft202012Validator.check_schema(found)
    assert found["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert found["$id"].startswith(f"urn:railweave:{name}:")
    references = {node["$ref"] for node in nodes(found) if "$ref" in node}
    assert references == {f"#/$defs/{one}" for one in found.get("$defs", {})}


@SCHEMAS
def test_a_schema_states_the_version_that_documents_carry(name: str) -> None:
    stated = schema(name)["properties"]["version"]["const"]
    assert stated == (PLAN_VERSION if name == "plan" else VERSION)
    assert "version" in schema(name)["required"]


@SCHEMAS
def test_every_key_of_a_schema_is_explained(name: str) -> None:
    found = schema(name)
    silent = [
        key
        for node in nodes(found)
        for key, child in node.get("properties", {}).items()
        if isinstance(child, dict) and not described(found, child)
    ]
    assert not silent


def described(whole: Any, node: Any) -> bool:
    return "description" in node or ("$ref" in node and described(whole, whole["$defs"][node["$ref"].split("/")[-1]]))


def at(name: str, *path: str) -> list[Any]:
    node = schema(name)
    for key in path:
        node = node[key]
    words: list[Any] = node["enum"]
    return [one for one in words if one is not None]


NAMED = ("properties", "devices", "additionalProperties", "properties")
CHANGE = ("plan", "$defs", "change", "properties")
DEPLOYMENT = ("deploy", "$defs", "deployment", "properties")
NODE = ("hosts", "$defs", "host_run", "properties", "hosts", "additionalProperties", "properties")


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (Op, (*CHANGE, "op")),
        (Disruption, (*CHANGE, "disruption")),
        (Method, (*CHANGE, "method")),
        (DeviceState, ("plan", *NAMED, "state")),
        # A drift is of all switches: no limit leaves any behind.
        ([state for state in DeviceState if state is not DeviceState.BEHIND], ("drift", *NAMED, "state")),
        (Severity, ("check", "$defs", "diagnostic", "properties", "severity")),
        (Result, (*DEPLOYMENT, "result")),
        (Outcome, (*DEPLOYMENT, "devices", "additionalProperties", "properties", "outcome")),
        (Outcome, ("rollout-show", *NAMED, "outcome")),
        (CheckKind, ("verify", "$defs", "verify_check", "properties", "kind")),
        (PhaseKind, ("phases", "$defs", "phase_kind")),
        (RolloutKind, ("rollout-list", "$defs", "rollout", "properties", "kind")),
        (WorkProgress, ("replace", "properties", "steps", "items", "properties", "progress")),
        (HostState, (*NODE, "state")),
        (ChangeKind, (*NODE, "changes", "items", "properties", "kind")),
        (FaultKind, ("sim-status", "$defs", "fault", "properties", "kind")),
    ],
)
def test_words_of_a_schema_are_those_of_the_code(words: Iterable[StrEnum], place: tuple[str, ...]) -> None:
    assert at(*place) == [one.value for one in words]


def test_the_list_names_every_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == ["intent", *schema_names()] == list(titles())


@pytest.mark.parametrize("command", ["diff", "plan", "rollout list", "rollout-list", "undrain", "error"])
def test_a_schema_is_found_by_its_command(command: str) -> None:
    assert named_schema(command) == schema(schema_name(command))


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean `verify`"):
        named_schema("vrify")


def test_the_slow_tests_run_every_command_for_its_document() -> None:
    """They are left out of `make test`, where a new command would go unnoticed."""
    source = (Path(__file__).parent / "test_documents_printed.py").read_text(encoding="utf-8")
    quoted = set(re.findall(r'"([a-z -]+)"', source))
    assert not {*COMMANDS} - quoted
