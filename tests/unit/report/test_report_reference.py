"""The reference of the intent: the keys that most people write first, then all others."""

import json
import re
from typing import Any

import pytest

from railweave import api
from railweave.intent.first_keys import FIRST_KEYS
from railweave.report.reference import intent_reference


@pytest.fixture(scope="module")
def parts() -> tuple[list[str], list[str]]:
    """Return the keys of the two tables of the page, as they are printed."""
    first, expert = intent_reference(api.schema("intent")).split("## Expert keys")
    return tuple(re.findall(r"^\| `([^`]+)` \|", part, re.M) for part in (first, expert))  # type: ignore[return-value]


def keys_of(node: dict[str, Any], definitions: dict[str, Any], path: str = "") -> set[str]:
    """Return the paths of all keys of a JSON Schema by following every reference in it."""
    keys = set()
    for name, child in node.get("properties", {}).items():
        below = f"{path}{name}"
        keys.add(below)
        for alternative in child.get("anyOf", [child]):
            mark = "[]." if alternative.get("type") == "array" else "."
            for definition in re.findall(r"#/\$defs/(\w+)", json.dumps(alternative)):
                keys |= keys_of(definitions[definition], definitions, below + mark)
    return keys


def test_the_first_part_has_the_keys_that_are_marked_and_about_twenty(parts: tuple[list[str], list[str]]) -> None:
    assert sorted(parts[0]) == sorted(FIRST_KEYS)
    assert 18 <= len(parts[0]) <= 24


def test_every_key_of_the_schema_is_in_one_of_both_parts(parts: tuple[list[str], list[str]]) -> None:
    schema = api.schema("intent")
    listed = [*parts[0], *parts[1]]
    assert len(listed) == len(set(listed))
    # A fabric of several has the keys of the only one, and a group of NICs those of all NICs.
    keys = {key for key in keys_of(schema, schema["$defs"]) if not key.startswith("fabrics.")}
    repeated = {key for key in keys if key.replace("nics[].", "nics.") in keys and "nics[]." in key}
    assert keys - repeated == set(listed)
    assert "nodes[].nics[].fabric" in listed


def test_what_a_sound_intent_needs_is_in_the_first_part_or_a_mapping(parts: tuple[list[str], list[str]]) -> None:
    needed = {"fabric", "workload.kind", "nodes[].name", "nodes[].count", "nodes[].gpus"}
    assert needed | {"nodes[].nics.count", "nodes[].nics.speed"} <= set(parts[0])
