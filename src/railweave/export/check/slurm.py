"""A topology of Slurm that a cluster has, compared with the intent by the nodes that its switches join.

Names of switches do not matter to Slurm, so the groups of nodes are compared and not their names.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from railweave.diagnostics import Diagnostic, Where, error
from railweave.export.check.placed import PlacedValue
from railweave.export.hostlist import expanded
from railweave.export.model import ExportSource
from railweave.wording import command_line, compact

_ENTRY = re.compile(r"^\s*(SwitchName|BlockName)=(\S+)", re.IGNORECASE)
_MEMBERS = re.compile(r"\b(Nodes|Switches)=(\S+)", re.IGNORECASE)


def _fix() -> str:
    written = command_line("export", "slurm-tree")
    return f"write it anew with `{written}`, slurm-block or slurm-yaml, or correct the intent"


class SlurmGroup(NamedTuple):
    """A switch or block of a file: the nodes it names itself, or the switches below it."""

    name: str
    where: Where
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


def is_slurm_conf(text: str) -> bool:
    """Tell whether a text is a ``topology.conf``."""
    return any(_ENTRY.match(line) for line in text.splitlines())


def conf_groups(path: Path, text: str) -> Iterator[SlurmGroup]:
    """Yield the switches and blocks of a ``topology.conf``; raises ValueError for a damaged host list."""
    for number, line in enumerate(text.splitlines(), 1):
        statement = line.partition("#")[0]
        match = _ENTRY.match(statement)
        if match is None:
            continue
        members = {key.lower(): expanded(names) for key, names in _MEMBERS.findall(statement)}
        _, name = match.groups()
        where = Where(str(path), number, match.start(1) + 1)
        yield SlurmGroup(name, where, tuple(members.get("nodes", ())), tuple(members.get("switches", ())))


def is_slurm_yaml(document: PlacedValue) -> bool:
    """Tell whether a document is a ``topology.yaml``: a list of topologies."""
    entries = document.items()
    return bool(entries) and all(entry.at("topology") is not None for entry in entries)


def yaml_groups(document: PlacedValue) -> Iterator[tuple[SlurmGroup, ...]]:
    """Yield the groups of each topology of a ``topology.yaml``; raises ValueError for a damaged host list."""
    for topology in document.items():
        groups = []
        for switch in topology.items("tree", "switches"):
            nodes = tuple(expanded(switch.text("nodes")))
            children = tuple(expanded(switch.text("children")))
            groups.append(SlurmGroup(switch.text("switch"), switch.where, nodes, children))
        for block in topology.items("block", "blocks"):
            nodes = tuple(expanded(block.text("nodes")))
            groups.append(SlurmGroup(block.text("block"), block.where, nodes))
        if groups:
            yield tuple(groups)


def compare_groups(source: ExportSource, groups: tuple[SlurmGroup, ...]) -> Iterator[Diagnostic]:
    """Yield an error for each difference between the groups of one topology of a file and those of the intent."""
    group_of: dict[str, SlurmGroup] = {}
    for group in groups:
        for node in group.nodes:
            first_group = group_of.setdefault(node, group)
            if first_group is not group:
                message = f"node {node} is below {group.name}, and below {first_group.name} at {first_group.where}"
                yield error("RW953", message, group.where, fix=_fix())
    # The name of the intended group of each node in tier 0.
    intended = {source.node(name): path[0].name for name, path in source.topology.path_of.items()}
    yield from _nodes(source, groups, group_of, intended)
    yield from _lowest(source, groups, intended)
    yield from _upper(source, groups)


def _nodes(
    source: ExportSource,
    groups: tuple[SlurmGroup, ...],
    group_of: Mapping[str, SlurmGroup],
    intended: Mapping[str, str],
) -> Iterator[Diagnostic]:
    """Yield an error for the nodes of each group that the intent does not export, and one for those that are missing.

    ``group_of`` has the groups of nodes in the file, ``intended`` the names of their groups in the intent.
    """
    unknown_nodes: dict[str, list[str]] = {}
    for node, group in group_of.items():
        if node not in intended:
            unknown_nodes.setdefault(group.name, []).append(node)
    for group in groups:
        if group.name in unknown_nodes:
            nodes = compact(unknown_nodes[group.name])
            message = f"{group.name} has {nodes}, which the intent ({source.top}) does not export"
            yield error("RW953", message, group.where, fix=_fix())
    missing = [node for node in intended if node not in group_of]
    if missing:
        where = Where(groups[0].where.file)
        yield error("RW953", f"{compact(missing)} of the intent ({source.top}) are missing", where, fix=_fix())


def _lowest(source: ExportSource, groups: tuple[SlurmGroup, ...], intended: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield an error for each group that joins nodes of several groups of the intent, then for each that is split.

    ``intended`` has the names of the lowest groups of the intent by node.
    """
    groups_by_intended: dict[str, list[SlurmGroup]] = {}
    for group in groups:
        nodes_by_intended: dict[str, list[str]] = {}
        for node in group.nodes:
            if node in intended:
                nodes_by_intended.setdefault(intended[node], []).append(node)
        for name in nodes_by_intended:
            groups_by_intended.setdefault(name, []).append(group)
        if len(nodes_by_intended) > 1:
            parts = "; ".join(f"{name}: {compact(nodes)}" for name, nodes in nodes_by_intended.items())
            message = f"{group.name} joins nodes of several groups of the intent ({source.top}): {parts}"
            yield error("RW953", message, group.where, fix=_fix())
    for name, holders in groups_by_intended.items():
        if len(holders) > 1:
            yield _split(source, name, holders)


def _split(source: ExportSource, name: str, groups: list[SlurmGroup]) -> Diagnostic:
    names = ", ".join(f"{group.name} ({group.where})" for group in groups)
    message = f"the nodes of {name} of the intent ({source.top}) are in {len(groups)} groups: {names}"
    return error("RW953", message, groups[0].where, fix=_fix())


def _upper(source: ExportSource, groups: tuple[SlurmGroup, ...]) -> Iterator[Diagnostic]:
    """Yield an error for each switch above others if no tier of the intent joins just the nodes below it."""
    by_name = {group.name: group for group in groups}
    intended = {frozenset(map(source.node, group.all_nodes)) for group in source.topology.groups}
    for group in groups:
        if group.switches and _below(group, by_name, frozenset()) not in intended:
            message = f"{group.name} joins {', '.join(group.switches)}: no tier of the intent ({source.top}) joins"
            yield error("RW953", f"{message} just these nodes", group.where, fix=_fix())


def _below(group: SlurmGroup, by_name: Mapping[str, SlurmGroup], visited: frozenset[str]) -> frozenset[str]:
    """Return the nodes below a switch; the ``visited`` switches on the way to it add none."""
    nodes = set(group.nodes)
    for name in group.switches:
        # A damaged file may name a switch that it lacks, or have one below itself.
        if name in by_name and name not in visited:
            nodes |= _below(by_name[name], by_name, visited | {name})
    return frozenset(nodes)
