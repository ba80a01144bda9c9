"""The JSON of topograph's graph engine: each node with its switches, the closest first (docs/engines/graph.md)."""

import json

from railweave.export.model import ExportFormat, ExportSource


def _write(source: ExportSource) -> str:
    instances = [
        {"id": source.node(node), "network_layers": [group.name for group in path], "labels": {}}
        for node, path in source.topology.path_of.items()
    ]
    return json.dumps({"instances": instances}, indent=2) + "\n"


FORMAT = ExportFormat("topograph-graph", "topograph: the graph of nodes and their switches", "graph.json", _write)
