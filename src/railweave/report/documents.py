"""The documents that ``--json`` prints: their versions, and the JSON Schema (draft 2020-12) published for each.

The schemas are data, ``schemas/NAME.json``. Definitions that several of them use are in ``schemas/common.json``; each
schema is published with copies of those that it refers to, so that a program needs one file.
"""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from railweave.errors import UsageError

VERSION = 1
"""Version of every document that states none of its own."""

_COMMON = "common.json#/$defs/"
_OWN = "#/$defs/"

_SCHEMA_OF: Mapping[str, str] = {
    "diff": "plan",
    "hosts apply": "hosts",
    "hosts plan": "hosts",
    "hosts rollback": "hosts",
    "lab render": "lab",
    "lab up": "lab",
    "links drain": "drain",
    "links show": "links",
    "links soak": "links",
    "rollback": "deploy",
    "rollout abort": "rollout-control",
    "rollout continue": "rollout-control",
    "rollout pause": "rollout-control",
    "undrain": "drain",
}
"""The schema of a command that shares its document; all others have one of their own name."""

COMMANDS = (
    "acceptance judge",
    "acceptance plan",
    "acceptance read",
    "acceptance run",
    "audit",
    "bom",
    "check",
    "codes",
    "compare",
    "deploy",
    "diff",
    "drain",
    "draw",
    "drift",
    "explain",
    "export",
    "facts collect",
    "failures",
    "health",
    "hosts apply",
    "hosts plan",
    "hosts rollback",
    "lab render",
    "lab up",
    "links drain",
    "links show",
    "links soak",
    "models",
    "phases",
    "plan",
    "recover",
    "rehearse",
    "render",
    "replace",
    "report",
    "retire",
    "rollback",
    "rollout abort",
    "rollout continue",
    "rollout list",
    "rollout pause",
    "rollout show",
    "selftest",
    "sim cable",
    "sim replace",
    "sim status",
    "sim up",
    "size",
    "status",
    "telemetry render",
    "trust",
    "undrain",
    "verify",
)
"""Every command with ``--json``."""

ERROR = "error"
"""The document of any command that was refused or failed."""


def versioned(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with its version first."""
    return {"version": VERSION, **content}


def schema_name(command: str) -> str:
    """Return the name of the schema of what ``command --json`` prints, such as ``rollout-list``."""
    return _SCHEMA_OF.get(command, command.replace(" ", "-"))


def schema_names() -> tuple[str, ...]:
    """Return the names of all schemas in alphabetical order."""
    return tuple(sorted({ERROR, *map(schema_name, COMMANDS)}))


def schema(name: str) -> dict[str, Any]:
    """Return a schema with copies of the common definitions that it needs; KeyError for an unknown name."""
    if name not in schema_names():
        raise KeyError(name)
    own = _read(name)
    common = _read("common")["$defs"]
    needed = _needed_definitions(own, common)
    definitions = {definition: common[definition] for definition in sorted(needed)} | own.get("$defs", {})
    bundled: dict[str, Any] = _within({key: value for key, value in own.items() if key != "$defs"})
    if definitions:
        bundled["$defs"] = _within(definitions)
    return bundled


def _needed_definitions(own: dict[str, Any], common: dict[str, Any]) -> set[str]:
    """Return the names of the common definitions that a schema refers to, directly or by another definition."""
    needed: set[str] = set()
    unvisited = list(_common_names(own))
    while unvisited:
        definition = unvisited.pop()
        if definition not in needed:
            needed.add(definition)
            # Within the common file one definition may refer to another in either form.
            unvisited += [*_common_names(common[definition]), *_own_names(common[definition])]
    return needed


def named_schema(asked: str) -> dict[str, Any]:
    """Return a schema by its own name or by a command; raises UsageError with the most similar name."""
    name = schema_name(asked)
    if name in schema_names():
        return schema(name)
    similar_names = get_close_matches(asked, ("intent", *COMMANDS, ERROR), 1)
    fix = "`railweave schema` lists them"
    if similar_names:
        fix = f"did you mean `{similar_names[0]}`? {fix}"
    raise UsageError(f"no schema is named {asked!r}: {fix}")


def titles() -> dict[str, str]:
    """Return the titles of all published schemas, by their names."""
    return {"intent": "the intent file", **{name: str(_read(name)["title"]) for name in schema_names()}}


@cache
def _read(name: str) -> dict[str, Any]:
    text = files("railweave.report").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def _references(node: object) -> Iterator[str]:
    """Yield every ``$ref`` in a schema, at any depth."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for element in node:
            yield from _references(element)


def _common_names(node: object) -> Iterator[str]:
    """Yield the definitions of the common file that a schema refers to."""
    yield from (path.removeprefix(_COMMON) for path in _references(node) if path.startswith(_COMMON))


def _own_names(node: object) -> Iterator[str]:
    """Yield the definitions of its own file that a schema refers to."""
    yield from (path.removeprefix(_OWN) for path in _references(node) if path.startswith(_OWN))


def _within(node: Any) -> Any:
    """Return ``node`` with its references to the common file turned into references within the document."""
    if isinstance(node, list):
        return [_within(element) for element in node]
    if not isinstance(node, dict):
        return node
    result = {}
    for key, value in node.items():
        if key == "$ref":
            result[key] = value.replace(_COMMON, _OWN)
        else:
            result[key] = _within(value)
    return result
