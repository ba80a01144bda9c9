"""The nodes of an export with their settings, and the kinds that share a template."""

from collections.abc import Iterator
from typing import NamedTuple

from railweave.export.model import ExportSource
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.hosts.values import NodeSettings

KIND_LABEL = "railweave/kind"
"""The label that tells nodes of several entries of the intent apart; of one entry nothing selects nodes."""


class NodeKind(NamedTuple):
    """The nodes of an entry of the intent in one fabric; all have the same NICs."""

    fabric: Fabric
    name: str
    # The first of its nodes.
    host: Host
    settings: NodeSettings
    # The longest cable at any of its NICs in meters.
    cable_m: int


def node_kinds(source: ExportSource) -> tuple[NodeKind, ...]:
    """Return the kinds of nodes of every fabric."""
    return tuple(kind for fabric in source.fabrics for kind in _kinds_of(source, fabric))


def _kinds_of(source: ExportSource, fabric: Fabric) -> Iterator[NodeKind]:
    """Yield the kinds of nodes of a fabric, with the first node and the longest cable of each."""
    first_hosts: dict[str, Host] = {}
    longest_m: dict[str, int] = {}
    for host in fabric.hosts:
        first_hosts.setdefault(host.kind, host)
        lengths_m = [link.length_m for link in fabric.uplinks_of[host.name]]
        longest_m[host.kind] = max(longest_m.get(host.kind, 0), *lengths_m)
    for name, host in first_hosts.items():
        yield NodeKind(fabric, name, host, source.settings(fabric, host), longest_m[name])


def kind_labels(source: ExportSource) -> dict[str, str]:
    """Return the kind of each node by its name; empty if there is only one kind, so that no template has to select."""
    kinds = {host.name: host.kind for fabric in source.fabrics for host in fabric.hosts}
    if len(set(kinds.values())) < 2:
        return {}
    return kinds


def node_selector(source: ExportSource, kind: str) -> dict[str, dict[str, str]]:
    """Return the selector of a template for one kind; empty where all nodes are of one."""
    if not kind_labels(source):
        return {}
    return {"nodeSelector": {KIND_LABEL: kind}}
