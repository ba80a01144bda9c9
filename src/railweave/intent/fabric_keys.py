"""The JSON Schema of a file with several fabrics, derived from that of one: ``fabrics``, and groups of NICs."""

from collections.abc import Mapping
from typing import Any

_KEYS_OF_FILE = ("fabrics", "nodes", "tenants")
_SECTION = (
    "The keys of one of several fabrics; those at the top level hold where it does not state them. Pools and AS numbers"
    " that it does not state are free beside those of the fabrics above."
)
_FABRIC = {
    "description": "the fabric of these NICs, a key of fabrics; or a list: port p of a NIC is in fabric p modulo their"
    " number",
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
    ],
}
_MAPPING = {"type": "object", "additionalProperties": False}


def with_fabrics(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a file with one or several fabrics, given that of a file with one."""
    keys = schema["properties"]
    definitions = schema["$defs"]
    fabric_keys = {
        **_MAPPING,
        "title": "FabricKeys",
        "description": _SECTION,
        "properties": {name: subschema for name, subschema in keys.items() if name not in _KEYS_OF_FILE},
        "required": ["topology"],
    }
    fabrics = {
        "type": "object",
        "description": "several fabrics by name, in place of topology and addressing; nics is then a list of groups",
        "additionalProperties": {"$ref": "#/$defs/FabricKeys"},
        "minProperties": 1,
    }
    new_definitions = {
        "Nodes": _nodes_with_groups(definitions["Nodes"]),
        "FabricKeys": fabric_keys,
        "NicGroup": _nic_group(definitions["Nics"], definitions["Nodes"]),
    }
    # A file has the keys of one fabric at its top level, or those of several below `fabrics`.
    return {
        **schema,
        "properties": {**keys, "fabrics": fabrics},
        "required": [key for key in schema["required"] if key != "topology"],
        "oneOf": [{"required": ["topology"]}, {"required": ["fabrics"]}],
        "$defs": {**definitions, **new_definitions},
    }


def _nic_group(nics: Mapping[str, Any], nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a group of NICs: the keys of NICs, the fabric, and the place of the nodes in that fabric."""
    place_keys = {key: nodes["properties"][key] for key in ("first_stripe", "stripe", "share_leaves", "leaf")}
    return {
        **nics,
        "title": "NicGroup",
        "description": "The NICs of a node in one of several fabrics.",
        "properties": {"fabric": _FABRIC, **nics["properties"], **place_keys},
        "required": ["fabric", *nics["required"]],
    }


def _nodes_with_groups(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an entry of nodes whose NICs may be a list of groups."""
    groups = {"type": "array", "items": {"$ref": "#/$defs/NicGroup"}, "minItems": 1}
    nics_or_groups = {
        "description": nodes["properties"]["nics"]["description"],
        "anyOf": [{"$ref": "#/$defs/Nics"}, groups],
    }
    return {**nodes, "properties": {**nodes["properties"], "nics": nics_or_groups}}
