"""A model of topograph: switches with the switches below them, and the nodes of each lowest one.

topograph's providers for tests and simulations read it (topograph, docs/modeling.md).
"""

from railweave.export.hostlist import hostlist_parts
from railweave.export.model import ExportFormat, ExportSource, header
from railweave.export.yaml_text import yaml_text

_ABOUT = "model of topograph 1.0 or newer"


def _write(source: ExportSource) -> str:
    """Return the model: the upper switches with those below them, and a block of nodes for each lowest one."""
    groups = source.topology.groups
    upper = {group.name: {"switches": [below.name for below in group.groups]} for group in groups if group.tier}
    # The nodes of the lowest ones are in their blocks.
    lowest: dict[str, dict[str, list[str]]] = {group.name: {} for group in source.topology.lowest}
    blocks = [
        {"switch": group.name, "nodes": hostlist_parts(map(source.node, group.nodes))}
        for group in source.topology.lowest
    ]
    return header(source, _ABOUT) + yaml_text({"switches": {**upper, **lowest}, "blocks": blocks})


FORMAT = ExportFormat("topograph", "topograph: a model of switches and nodes", "topograph-model.yaml", _write)
