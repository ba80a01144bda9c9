"""A rule of Node Feature Discovery for each group: NFD labels the nodes that the rule names.

``system.name`` is the feature that holds a node's name (NFD documentation, customization guide). NFD labels outside its
own domain only if its master allows the namespace of the key.
"""

from typing import Any

from railweave.export.formats.node_labels import label_faults
from railweave.export.model import ExportFormat, ExportSource, demand, header, kubernetes_nodes
from railweave.export.names import label_value
from railweave.export.yaml_text import yaml_documents

_ABOUT = "NodeFeatureRule of Node Feature Discovery"


def _objects(source: ExportSource) -> list[dict[str, Any]]:
    keys = source.label_keys
    rules = [
        {
            "name": group.name,
            "labels": {keys[group.tier]: label_value(group.name)},
            "matchFeatures": [
                {
                    "feature": "system.name",
                    "matchExpressions": {
                        "nodename": {"op": "In", "value": [source.node(name) for name in group.all_nodes]}
                    },
                }
            ],
        }
        for group in source.topology.groups
    ]
    rule = {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeatureRule",
        "metadata": {"name": f"railweave-{source.name}"},
        "spec": {"rules": rules},
    }
    return [rule]


def _write(source: ExportSource) -> str:
    demand([*kubernetes_nodes(source), *label_faults(source)])
    return header(source, _ABOUT) + yaml_documents(_objects(source))


FORMAT = ExportFormat(
    "nfd-rules",
    "Kubernetes: a NodeFeatureRule that labels the nodes",
    "nfd-rules.yaml",
    _write,
    "NodeFeatureRule",
    _objects,
)
