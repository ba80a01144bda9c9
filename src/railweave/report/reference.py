"""The reference pages that follow from the code: intent, JSON documents and codes of findings, as markdown."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from railweave.names import natural_key

_KINDS = {
    "array": "list",
    "boolean": "true or false",
    "integer": "number",
    "null": "null",
    "number": "number",
    "object": "mapping",
    "string": "text",
}


def intent_reference(schema: Mapping[str, Any]) -> str:
    """Return a markdown page of all keys of the intent's JSON Schema: path, value, default and meaning."""
    lines = [
        "# The intent, key by key",
        "",
        "Made by `railweave schema intent --markdown`; `railweave schema intent` prints the JSON Schema for editors.",
        "`[]` stands for each entry of a list.",
        "",
        "| key | value | default | meaning |",
        "|---|---|---|---|",
    ]
    lines += [_row(*one) for one in _keys(schema, schema, "")]
    return "\n".join(lines) + "\n"


def _row(path: str, kind: str, default: str, meaning: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (f"`{path}`", kind, default, meaning)) + " |"


def _keys(schema: Mapping[str, Any], node: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (path, kind, default, meaning) of every key below ``node``."""
    inner = _resolved(schema, node)
    items = _resolved(schema, inner.get("items", {}))
    below, prefix = (items, f"{path}[].") if "properties" in items else (inner, f"{path}." if path else "")
    for name, child in below.get("properties", {}).items():
        own = _resolved(schema, child)
        default = "required" if name in below.get("required", ()) else _default(child)
        yield prefix + name, _kind(schema, own), default, child.get("description") or own.get("description", "")
        yield from _keys(schema, child, prefix + name)


def _resolved(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references; of alternatives take the mapping where there is one."""
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    for one in node.get("anyOf", ()):
        if "$ref" in one or "properties" in one:
            return _resolved(schema, one)
    return node


def _kind(schema: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    if "enum" in node:
        return ", ".join("null" if value is None else f"`{value}`" for value in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(_kind(schema, _resolved(schema, one)) for one in node["anyOf"]))
    kinds = node.get("type", "")
    names = [_KINDS.get(kind, "value") for kind in (kinds if isinstance(kinds, list) else [kinds])]
    return " or ".join(names)


def _default(node: Mapping[str, Any]) -> str:
    default = node.get("default")
    if default is None or isinstance(default, list | dict):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def documents_reference(schemas: Iterable[Mapping[str, Any]]) -> str:
    """Return a markdown page of what JSON documents hold, from their bundled schemas."""
    lines = [
        "# What `--json` prints",
        "",
        "Made by `railweave schema --markdown`. `railweave schema NAME` prints a JSON Schema (draft 2020-12),",
        "`railweave schema` lists them. Every document has its `version`, which rises when a key goes or changes its",
        "meaning. `[]` stands for each entry of a list, `*` for each name of a mapping.",
    ]
    for schema in schemas:
        lines += ["", f"## {schema['title']}", "", *([schema["description"], ""] if "description" in schema else [])]
        lines += ["| key | value | meaning |", "|---|---|---|"]
        lines += dict.fromkeys(_line(*one) for one in _members(schema, schema, ""))
    return "\n".join(lines) + "\n"


def _line(*cells: str) -> str:
    path, *others = (cell.replace("|", "\\|") for cell in cells)
    return f"| `{path}` | {' | '.join(others)} |"


def _members(schema: Mapping[str, Any], node: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Yield (path, kind, meaning) of every key below ``node``, those of its alternatives one after the other."""
    whole = _merged(schema, node)
    required = whole.get("required", ())
    for name, stated in whole.get("properties", {}).items():
        if stated is False:
            continue
        child, place = _merged(schema, stated), f"{path}.{name}" if path else name
        optional = "" if name in required else " (optional)"
        yield place, _kind(schema, child) + optional, child.get("description", "")
        yield from _members(schema, child, place)
    for inner, mark in ((whole.get("items"), "[]"), (whole.get("additionalProperties"), ".*")):
        if isinstance(inner, Mapping):
            yield from _members(schema, inner, path + mark)
    for one in (*whole.get("anyOf", ()), *whole.get("oneOf", ())):
        yield from _members(schema, one, path)


def _merged(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``node`` with what it refers to; its own words win, the keys of both count."""
    if "$ref" not in node:
        return node
    base = _merged(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
    own = {key: value for key, value in node.items() if key != "$ref"}
    both = {
        "properties": {**own.get("properties", {}), **base.get("properties", {})},
        "required": [*own.get("required", ()), *base.get("required", ())],
    }
    return {**base, **own, **{key: value for key, value in both.items() if value}}


def codes_reference(titles: Mapping[str, str]) -> str:
    """Return a markdown page of the codes of findings: id and the rule that it stands for."""
    lines = [
        "# The codes of findings",
        "",
        "Made by `railweave codes`. A code is never given a second meaning. The title is the rule that holds",
        "where nothing is found.",
        "",
        "| code | rule |",
        "|---|---|",
    ]
    lines += [f"| `{code}` | {titles[code]} |" for code in sorted(titles, key=natural_key)]
    return "\n".join(lines) + "\n"
