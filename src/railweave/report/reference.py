"""The reference pages that follow from the code: the keys of the intent and the codes of findings, as markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

from railweave.names import natural_key

_KINDS = {"object": "mapping", "array": "list", "string": "text", "integer": "number", "boolean": "true or false"}


def intent_reference(schema: Mapping[str, Any]) -> str:
    """Return a markdown page of all keys of the intent's JSON Schema: path, value, default and meaning."""
    lines = [
        "# The intent, key by key",
        "",
        "Made by `railweave schema --markdown`; `railweave schema` prints the JSON Schema for editors.",
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
        return ", ".join(f"`{value}`" for value in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(_kind(schema, _resolved(schema, one)) for one in node["anyOf"]))
    return _KINDS.get(node.get("type", ""), "value")


def _default(node: Mapping[str, Any]) -> str:
    default = node.get("default")
    if default is None or isinstance(default, list | dict):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


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
