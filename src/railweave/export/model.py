"""What an export format gets, and what it returns: fabrics and options in, the text of one file out."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from railweave.diagnostics import Diagnostic, Where, error, has_errors
from railweave.errors import RefusedError
from railweave.export.names import SUBDOMAIN, key_fault, name_faults
from railweave.export.topology import ClusterTopology, cluster_topology
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.hosts.values import NodeSettings, node_of

RELEASES = ("26.1", "26.4", "26.7", "26.10")
"""Releases of NVIDIA's network operator whose custom resources are known, the oldest first."""

TIER = "{tier}"
LABEL_KEY = f"fabric.topograph.run/tier-{TIER}"
"""The key of a tier's label since topograph 1.0.0; tier 0 is the switch next to the node, and there is no last one."""


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What a consumer's site decides beside the intent."""

    # One key with `{tier}`, or one for each tier from the nodes up.
    label_keys: tuple[str, ...] = (LABEL_KEY,)
    # Behind the names of nodes where the consumer knows them by longer ones: `.cluster.example`.
    node_suffix: str = ""
    # Of custom resources that have one.
    namespace: str = "nvidia-network-operator"
    # Of the network operator that reads the resources.
    release: str = RELEASES[-1]
    # The name of the DNS zone; empty for FABRIC.internal.
    zone: str = ""
    # Of the zone's SOA record; a later file needs a higher one.
    serial: int = 1


@dataclass(frozen=True)
class ExportSource:
    """The fabrics of an intent, designed and checked, with what is out of service."""

    fabrics: tuple[Fabric, ...]
    options: ExportOptions = ExportOptions()
    # Switches that forward nothing, with the reason in words.
    out_of_service: Mapping[str, str] = field(default_factory=dict)
    # The place of a path of the intent of a fabric.
    places: Mapping[str, Callable[[str], Where]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the first fabric, after which single objects are named."""
        return self.fabrics[0].name

    @cached_property
    def topology(self) -> ClusterTopology:
        """Return the tree of groups that schedulers see."""
        return cluster_topology(self.fabrics, self.out_of_service)

    def where(self, fabric: Fabric, path: str) -> Where:
        """Return the place of a path in the intent of a fabric."""
        place = self.places.get(fabric.name)
        if place is None:
            return Where(path=path)
        return place(path)

    @property
    def top(self) -> Where:
        """Return the place of the whole intent."""
        return self.where(self.fabrics[0], "fabric")

    def node(self, name: str) -> str:
        """Return the name by which consumers know a node."""
        return f"{name}{self.options.node_suffix}"

    def settings(self, fabric: Fabric, host: Host) -> NodeSettings:
        """Return the settings of a node in a fabric.

        They are computed once, because several formats need those of all nodes.
        """
        key = fabric.name, host.name
        if key not in self._settings:
            self._settings[key] = node_of(fabric, host)
        return self._settings[key]

    @cached_property
    def _settings(self) -> dict[tuple[str, str], NodeSettings]:
        return {}

    @cached_property
    def label_keys(self) -> tuple[str, ...]:
        """Return the key of each tier's label from the nodes up; raises RefusedError for invalid or too few keys."""
        keys = self.options.label_keys
        tiers = max(self.topology.tiers, 1)
        if len(keys) == 1 and TIER in keys[0]:
            keys = tuple(keys[0].replace(TIER, str(tier)) for tier in range(tiers))
        demand(_key_faults(keys, tiers))
        return keys[:tiers]


def _key_faults(keys: tuple[str, ...], tiers: int) -> Iterator[Diagnostic]:
    """Yield an error for each invalid key of a label, and one if keys are repeated or too few for the tiers."""
    for key in keys:
        fault = key_fault(key)
        if fault:
            yield error("RW950", f"label key {key!r}: {fault}", fix="give another key with --label-key")
    key_count = len(set(keys))
    has_duplicates = key_count < len(keys)
    if has_duplicates or len(keys) < tiers:
        message = f"{key_count} label keys for {tiers} tiers"
        fix = f"give --label-key once with `{TIER}` in it, or once for each tier from the nodes up"
        yield error("RW951", message, fix=fix)


def _no_objects(_: ExportSource) -> tuple[Mapping[str, Any], ...]:
    return ()


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format: how a file of a consumer is written."""

    name: str
    # The consumer and what it gets, for `export --list`.
    title: str
    # The name of the file as the consumer knows it.
    file: str
    # Returns the text; raises RefusedError with everything that the consumer would refuse.
    write: Callable[[ExportSource], str]
    # Of custom resources: their kind, and the objects as the intent gives them.
    kind: str = ""
    objects: Callable[[ExportSource], Iterable[Mapping[str, Any]]] = _no_objects


@dataclass(frozen=True, slots=True)
class Exported:
    """What was exported: the text of each file, and what is not in them."""

    fabric: str
    # By format: the file's name and its text.
    files: Mapping[str, tuple[str, str]]
    # Nodes that no scheduler should use, with the reason.
    left_out: Mapping[str, str]
    # Formats of `all` that the intent has nothing for, with the reason.
    without: Mapping[str, str]
    # Sentences about switches that could not be read.
    warnings: tuple[str, ...] = ()


def demand(diagnostics: Iterable[Diagnostic]) -> None:
    """Raise RefusedError with all of the diagnostics if one is an error."""
    gathered = tuple(diagnostics)
    if has_errors(gathered):
        raise RefusedError(gathered)


def kubernetes_nodes(source: ExportSource) -> Iterator[Diagnostic]:
    """Yield an error for each name of a node that Kubernetes refuses."""
    nodes = [source.node(host.name) for fabric in source.fabrics for host in fabric.hosts]
    fix = "give another --node-suffix, or rename the entry in `nodes`"
    yield from name_faults(nodes, SUBDOMAIN, "node", source.top, fix)


def header(source: ExportSource, text: str) -> str:
    """Return the comment at the top of a file: what wrote it, and which nodes are left out and why."""
    names = ", ".join(fabric.name for fabric in source.fabrics)
    lines = [f"# {names}: {text}", "# Written by `railweave export`; change the intent, not this file."]
    nodes_by_reason: dict[str, list[str]] = {}
    for node, why in source.topology.left_out.items():
        nodes_by_reason.setdefault(why, []).append(source.node(node))
    for why, nodes in sorted(nodes_by_reason.items()):
        lines.append(f"# Left out, because {why}: {', '.join(nodes)}")
    return "\n".join(lines) + "\n"
