"""topology.yaml has the keys and values that Slurm's manual page topology.yaml(5) names, and nothing else."""

from itertools import pairwise
from typing import Any

import pytest
from exported import TWO_CLUSTERS, cluster, documents, source_of
from jsonschema import Draft202012Validator

from railweave.export.hostlist import expanded
from railweave.export.model import ExportSource

NAME = {"type": "string", "pattern": r"^[A-Za-z0-9._-]{1,64}$"}
HOSTLIST = {"type": "string", "minLength": 1}
SWITCH = {
    "type": "object",
    "properties": {"switch": NAME, "children": HOSTLIST, "nodes": HOSTLIST},
    "required": ["switch"],
    "additionalProperties": False,
    # A switch has switches below it or nodes, never both.
    "oneOf": [{"required": ["children"]}, {"required": ["nodes"]}],
}
TREE = {
    "type": "object",
    "properties": {"switches": {"type": "array", "items": SWITCH, "minItems": 1}},
    "required": ["switches"],
    "additionalProperties": False,
}
BLOCK = {
    "type": "object",
    "properties": {
        "block_sizes": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
        "blocks": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"block": NAME, "nodes": HOSTLIST},
                "required": ["block", "nodes"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["block_sizes", "blocks"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"topology": NAME, "cluster_default": {"type": "boolean"}, "tree": TREE, "block": BLOCK},
        "required": ["topology", "cluster_default"],
        "additionalProperties": False,
        "oneOf": [{"required": ["tree"]}, {"required": ["block"]}],
    },
}


def topologies(source: ExportSource) -> Any:
    (document,) = documents(source, "slurm-yaml")
    return document


@pytest.mark.parametrize("source", [cluster(), source_of(TWO_CLUSTERS, "blue", "green")], ids=["pods", "two"])
def test_the_file_has_only_keys_and_values_of_the_manual_page(source: ExportSource) -> None:
    document = topologies(source)
    Draft202012Validator(SCHEMA).validate(document)
    assert [topology["cluster_default"] for topology in document].count(True) == 1
    for topology in document:
        if "tree" in topology:
            assert_whole_tree(topology["tree"]["switches"])
        else:
            sizes = topology["block"]["block_sizes"]
            assert all(larger == 2 * size for size, larger in pairwise(sizes))


def assert_whole_tree(switches: list[dict[str, str]]) -> None:
    """Every switch is below one other or a root, and every node below one switch."""
    names = [switch["switch"] for switch in switches]
    children = [name for switch in switches if "children" in switch for name in expanded(switch["children"])]
    nodes = [name for switch in switches if "nodes" in switch for name in expanded(switch["nodes"])]
    assert len(names) == len(set(names))
    assert len(children) == len(set(children))
    assert set(children) <= set(names)
    assert len(nodes) == len(set(nodes))


def test_the_schema_finds_another_key() -> None:
    document = topologies(cluster())
    document[0]["tree"]["switches"][0]["speed"] = 400
    assert list(Draft202012Validator(SCHEMA).iter_errors(document))
