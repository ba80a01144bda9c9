"""Volcano's ``HyperNode`` objects: one for each group, members by their exact names.

Volcano counts tiers from 1 next to the nodes.
"""

from typing import Any

from railweave.export.model import ExportFormat, ExportSource, demand, header, kubernetes_nodes
from railweave.export.names import SUBDOMAIN, name_faults
from railweave.export.topology import TopologyGroup
from railweave.export.yaml_text import yaml_documents

_ABOUT = "HyperNodes of Volcano"


def _write(source: ExportSource) -> str:
    names = [group.name for group in source.topology.groups]
    refused = name_faults(names, SUBDOMAIN, "HyperNode", source.top, "shorten the name of the fabric in the intent")
    demand([*kubernetes_nodes(source), *refused])
    return header(source, _ABOUT) + yaml_documents(_objects(source))


def _objects(source: ExportSource) -> list[dict[str, Any]]:
    return [_hyper_node(source, group) for group in source.topology.groups]


def _hyper_node(source: ExportSource, group: TopologyGroup) -> dict[str, Any]:
    """Return the HyperNode of a group, whose members are its nodes, or the groups below it above tier 0."""
    if group.tier == 0:
        members = [_member("Node", source.node(name)) for name in group.nodes]
    else:
        members = [_member("HyperNode", below.name) for below in group.groups]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": group.name},
        "spec": {"tier": group.tier + 1, "tierName": group.kind, "members": members},
    }


def _member(kind: str, name: str) -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


FORMAT = ExportFormat(
    name="volcano",
    title="Volcano: a HyperNode for each group",
    file="hypernodes.yaml",
    write=_write,
    kind="HyperNode",
    objects=_objects,
)
