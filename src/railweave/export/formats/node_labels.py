"""Labels of Kubernetes nodes, one a tier, with the keys of topograph 1.0 or any other.

The objects hold nothing but labels, for ``kubectl apply --server-side``: a node that is left out keeps its object with
no label, so that the labels of an earlier file go.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from railweave.diagnostics import Diagnostic
from railweave.export.model import ExportFormat, ExportSource, demand, header, kubernetes_nodes
from railweave.export.names import LABEL_VALUE, collisions, label_value, name_faults
from railweave.export.nodes import KIND_LABEL, kind_labels
from railweave.export.yaml_text import yaml_documents

_ABOUT = "labels of Kubernetes nodes; `kubectl apply --server-side --field-manager railweave -f FILE`"
_SHORTEN = "shorten the name of the fabric in the intent"


def label_faults(source: ExportSource) -> Iterator[Diagnostic]:
    """Yield an error for each value of a label that Kubernetes refuses, and for names that shortening makes equal."""
    values = [(group.name, label_value(group.name)) for group in source.topology.groups]
    yield from name_faults((value for _, value in values), LABEL_VALUE, "label", source.top, _SHORTEN)
    yield from collisions(values, "the groups", source.top, _SHORTEN)


def node_labels(source: ExportSource) -> Mapping[str, Mapping[str, str]]:
    """Return the labels of every node by the name that consumers know; a node that is left out has no tier's label."""
    keys = source.label_keys
    kinds = kind_labels(source)
    labels: dict[str, dict[str, str]] = {}
    for fabric in source.fabrics:
        for host in fabric.hosts:
            path = source.topology.path_of.get(host.name, ())
            labels_of_node = {keys[group.tier]: label_value(group.name) for group in path}
            if host.name in kinds:
                labels_of_node[KIND_LABEL] = kinds[host.name]
            labels[source.node(host.name)] = labels_of_node
    return labels


def _write(source: ExportSource) -> str:
    demand([*kubernetes_nodes(source), *label_faults(source)])
    return header(source, _ABOUT) + yaml_documents(map(_node, node_labels(source).items()))


def _node(entry: tuple[str, Mapping[str, str]]) -> dict[str, Any]:
    name, labels = entry
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


FORMAT = ExportFormat("node-labels", "Kubernetes: labels of the nodes, a tier each", "node-labels.yaml", _write)
