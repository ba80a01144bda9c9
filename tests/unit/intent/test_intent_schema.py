"""The JSON Schema agrees with what the loader takes, and explains itself to an editor."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from intent_schema import validator
from json_schemas import Draft202012Validator
from reference_intents import REFERENCE_INTENTS

from railweave.errors import RefusedError
from railweave.intent.load import load_intent, load_intent_text
from railweave.intent.positions import read_document
from railweave.intent.schema import SCHEMA_ID, json_schema

PROJECT = Path(__file__).parents[3]
BASE = (PROJECT / "intent" / "pod-32.yml").read_text()


def objects(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    yield from schema["$defs"].values()


def accepts(text: str) -> bool:
    return bool(validator().is_valid(read_document(text, "i.yml").value))


def test_it_is_a_valid_2020_12_schema_with_an_id_of_its_own() -> None:
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == SCHEMA_ID
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("path", REFERENCE_INTENTS, ids=lambda path: path.name)
def test_it_accepts_the_reference_intents(path: Path) -> None:
    assert accepts(path.read_text())


def test_every_key_is_described() -> None:
    for schema in objects(json_schema()):
        for key, form in schema.get("properties", {}).items():
            assert form.get("description"), key


def test_no_mapping_takes_unknown_keys() -> None:
    assert all(schema["additionalProperties"] is False for schema in objects(json_schema()))


def test_every_default_is_a_value_that_may_be_written() -> None:
    schema = json_schema()
    for one in objects(schema):
        for key, form in one.get("properties", {}).items():
            if "default" in form:
                validator = Draft202012Validator({**form, "$defs": schema["$defs"]})
                assert validator.is_valid(form["default"]), (key, form)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("oversubscription", "1.5:1"),
        ("oversubscription", "auto"),
        ("oversubscription", "2"),
        ("planes", "2"),
        ("planes", "0"),
        ("planes", '"2"'),
        ("tiers", "4"),
        ("rails", "auto"),
        ("reserve", "{leaves: 8}"),
        ("reserve", "{leafs: 8}"),
        ("stripe", "yes"),
        ("color", "blue"),
    ],
)
def test_schema_and_loader_take_and_refuse_the_same(key: str, value: Any) -> None:
    text = BASE.replace("  shape: rail-optimized", f"  {key}: {value}\n  shape: rail-optimized")
    try:
        load_intent_text(text, "i.yml")
    except RefusedError:
        assert not accepts(text)
    else:
        assert accepts(text)


def test_the_defaults_of_the_schema_are_those_of_the_loader(tmp_path: Path) -> None:
    schema = json_schema()
    classes = schema["properties"]["traffic_classes"]["default"]
    lines = "".join(f"  - {_flow(one)}\n" for one in classes)
    path = tmp_path / "i.yml"
    path.write_text(BASE + "traffic_classes:\n" + lines)
    stated = load_intent(path).policies
    assert stated == load_intent_text(BASE, "i.yml").policies


def _flow(mapping: dict[str, Any]) -> str:
    return re.sub(r"'|True|False", lambda found: {"'": "", "True": "true", "False": "false"}[found[0]], str(mapping))


def test_spines_may_be_left_out_of_a_rail_only_fabric_alone() -> None:
    text = (PROJECT / "tests/golden/sonic_config/intents/rail-switches.yml").read_text(encoding="utf-8")
    assert accepts(text)
    assert not accepts(text.replace("rail-only", "rack-aligned"))
