"""Kueue's ``Topology``: the keys of the labels by tier, the farthest first; KAI Scheduler reads the same object."""

from typing import Any

from railweave.export.model import ExportFormat, ExportSource, header
from railweave.export.yaml_text import yaml_documents

_ABOUT = "Topology of Kueue; the nodes need the labels of `railweave export node-labels`"
HOSTNAME = "kubernetes.io/hostname"
"""The key of the lowest level: a single node."""


def levels(source: ExportSource) -> list[str]:
    """Return the keys of the levels, the farthest from the node first."""
    return [*reversed(source.label_keys), HOSTNAME]


def _objects(source: ExportSource) -> list[dict[str, Any]]:
    """Return the object with the levels of the topology."""
    topology = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Topology",
        "metadata": {"name": source.name},
        "spec": {"levels": [{"nodeLabel": key} for key in levels(source)]},
    }
    return [topology]


def _write(source: ExportSource) -> str:
    return header(source, _ABOUT) + yaml_documents(_objects(source))


FORMAT = ExportFormat(
    name="kueue",
    title="Kueue and KAI: a Topology over the labels of the nodes",
    file="kueue-topology.yaml",
    write=_write,
    kind="Topology",
    objects=_objects,
)
