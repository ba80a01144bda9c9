"""A rule of Node Feature Discovery for each group: NFD labels the nodes that the rule names.

``system.name`` is the feature that holds a node's name (NFD documentation, customization guide). NFD labels outside its
own domain only if its master allows the namespace of the key.
"""

from typing import Any

from railweave.export.formats.node_labels import label_faults
from railweave.export.model import ExportFormat, ExportSource, demand, header, kubernetes_nodes
from railweave.export.names import label_value
from railweave.export.topology import TopologyGroup
from railweave.export.yaml_text import yaml_documents

_ABOUT = "NodeFeatureRule of Node Feature Discovery"


def _objects(source: ExportSource) -> list[dict[str, Any]]:
    """Return the object with a rule for each group of nodes."""
    rules = {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeatureRule",
        "metadata": {"name": f"railweave-{source.name}"},
        "spec": {"rules": [_rule(source, group) for group in source.topology.groups]},
    }
    return [rules]


def _rule(source: ExportSource, group: TopologyGroup) -> dict[str, Any]:
    """Return the rule that labels the nodes of a group."""
    nodes = [source.node(name) for name in group.all_nodes]
    feature = {"feature": "system.name", "matchExpressions": {"nodename": {"op": "In", "value": nodes}}}
    return {
        "name": group.name,
        "labels": {source.label_keys[group.tier]: label_value(group.name)},
        "matchFeatures": [feature],
    }


def _write(source: ExportSource) -> str:
    demand([*kubernetes_nodes(source), *label_faults(source)])
    return header(source, _ABOUT) + yaml_documents(_objects(source))


FORMAT = ExportFormat(
    name="nfd-rules",
    title="Kubernetes: a NodeFeatureRule that labels the nodes",
    file="nfd-rules.yaml",
    write=_write,
    kind="NodeFeatureRule",
    objects=_objects,
)
