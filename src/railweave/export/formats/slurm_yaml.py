"""Slurm's ``topology.yaml`` (Slurm 25.05 or newer, topology.yaml(5)): a tree and a block topology in one file.

A partition chooses one of them by ``Topology=``; the tree is the cluster's default.
"""

from typing import Any

from railweave.export.formats.slurm_block import block_sizes
from railweave.export.formats.slurm_tree import slurm_names
from railweave.export.hostlist import hostlist
from railweave.export.model import ExportFormat, ExportSource, demand, header
from railweave.export.topology import TopologyGroup
from railweave.export.yaml_text import yaml_text

_ABOUT = "topology.yaml of Slurm 25.05 or newer"


def _write(source: ExportSource) -> str:
    """Return the file with a tree and a block topology; raises RefusedError for names that Slurm refuses."""
    demand(slurm_names(source))
    topology = source.topology
    blocks = [{"block": group.name, "nodes": hostlist(map(source.node, group.nodes))} for group in topology.lowest]
    tree = {
        "topology": "tree",
        "cluster_default": True,
        "tree": {"switches": [_switch(source, group) for group in topology.groups]},
    }
    block = {
        "topology": "block",
        "cluster_default": False,
        "block": {"block_sizes": block_sizes(topology), "blocks": blocks},
    }
    return header(source, _ABOUT) + yaml_text([tree, block])


def _switch(source: ExportSource, group: TopologyGroup) -> dict[str, Any]:
    if group.tier == 0:
        return {"switch": group.name, "nodes": hostlist(map(source.node, group.nodes))}
    return {"switch": group.name, "children": hostlist(below.name for below in group.groups)}


FORMAT = ExportFormat("slurm-yaml", "Slurm: topology.yaml with a tree and blocks", "topology.yaml", _write)
