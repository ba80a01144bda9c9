"""Custom resources checked as the API server does: by their definition, unknown keys refused, and by its CEL rules."""

import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from json_schemas import Draft202012Validator

DEFINITIONS = Path(__file__).resolve().parents[1] / "unit" / "export" / "crds"
SINCE_26_7 = ("cableLen", "ecn", "pauseFrames")
"""Keys of `qos` that the operator's branch 26.7 has and 26.4 has not; so has `roceMode` beside them."""


@cache
def schemas() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the schema of each (apiVersion, kind)."""
    found = {}
    for file in sorted(DEFINITIONS.glob("*.yaml")):
        spec = yaml.safe_load(file.read_text(encoding="utf-8"))["spec"]
        for version in spec["versions"]:
            name = f"{spec['group']}/{version['name']}"
            found[name, spec["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return found


def schema_of(resource: dict[str, Any], release: str = "26.10") -> dict[str, Any]:
    """Return the schema of a resource; an operator before 26.7 lacks some keys."""
    schema = copy.deepcopy(schemas()[resource["apiVersion"], resource["kind"]])
    if release in ("26.1", "26.4") and resource["kind"] == "NicConfigurationTemplate":
        roce = schema["properties"]["spec"]["properties"]["template"]["properties"]["roceOptimized"]["properties"]
        del roce["roceMode"]
        for key in SINCE_26_7:
            del roce["qos"]["properties"][key]
    return schema


def closed(schema: Any) -> Any:
    """Return a schema whose objects take no other keys than those that they list."""
    if isinstance(schema, list):
        return [closed(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(member) for key, member in schema.items()}
    if inner.get("type") == "object" and "properties" in schema:
        inner.setdefault("additionalProperties", False)
    return inner


def faults(resource: dict[str, Any], release: str = "26.10") -> list[str]:
    """Return what the API server would refuse, without the CEL rules."""
    validator = Draft202012Validator(closed(schema_of(resource, release)))
    names = {"name", "namespace"}
    others = [f"metadata.{key}" for key in resource["metadata"] if key not in names]
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(resource)] + others


def rules(schema: dict[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the rules of a schema with the values that they are about."""
    for rule in schema.get("x-kubernetes-validations", ()):
        yield rule["rule"], value
    if isinstance(value, dict):
        for key, member in value.items():
            inner = schema.get("properties", {}).get(key)
            if inner:
                yield from rules(inner, member)
    elif isinstance(value, list):
        for member in value:
            yield from rules(schema.get("items", {}), member)


def broken_rules(resource: dict[str, Any]) -> tuple[int, list[str]]:
    """Return how many CEL rules were evaluated, and those that do not hold; nothing changes, so the old is the new."""
    # Imported late: the parser of CEL takes a second.
    import celpy
    from celpy.adapter import json_to_cel

    environment = celpy.Environment()
    count = 0
    broken = []
    for rule, value in rules(schema_of(resource), resource):
        # Kubernetes' rules use RE2 classes that this parser takes only without the escaped form.
        program = environment.program(environment.compile(re.sub(r"\s+", " ", rule)))
        if not program.evaluate({"self": json_to_cel(value), "oldSelf": json_to_cel(value)}):
            broken.append(rule)
        count += 1
    return count, broken
