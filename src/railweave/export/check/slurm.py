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
        where = Where(str(path), number, match.start(1) + 1)
        yield SlurmGroup(match[2], where, tuple(members.get("nodes", ())), tuple(members.get("switches", ())))


def is_slurm_yaml(document: PlacedValue) -> bool:
    """Tell whether a document is a ``topology.yaml``: a list of topologies."""
    entries = document.items()
    return bool(entries) and all(entry.at("topology") is not None for entry in entries)


def yaml_groups(document: PlacedValue) -> Iterator[tuple[SlurmGroup, ...]]:
    """Yield the groups of each topology of a ``topology.yaml``; raises ValueError for a damaged host list."""
    for topology in document.items():
        switches = topology.items("tree", "switches")
        blocks = topology.items("block", "blocks")
        groups = [
            SlurmGroup(
                entry.text("switch"),
                entry.where,
                tuple(expanded(entry.text("nodes"))),
                tuple(expanded(entry.text("children"))),
            )
            for entry in switches
        ]
        groups += [
            SlurmGroup(entry.text("block"), entry.where, tuple(expanded(entry.text("nodes")))) for entry in blocks
        ]
        if groups:
            yield tuple(groups)


def compare_groups(source: ExportSource, groups: tuple[SlurmGroup, ...]) -> Iterator[Diagnostic]:
    """Yield each difference between the groups of one topology of a file and those of the intent."""
    place_of: dict[str, SlurmGroup] = {}
    for group in groups:
        for node in group.nodes:
            other = place_of.setdefault(node, group)
            if other is not group:
                message = f"node {node} is below {group.name}, and below {other.name} at {other.where}"
                yield error("RW953", message, group.where, fix=_fix())
    intended = {source.node(name): path[0].name for name, path in source.topology.path_of.items()}
    yield from _nodes(source, groups, place_of, intended)
    yield from _lowest(source, groups, intended)
    yield from _upper(source, groups)


def _nodes(
    source: ExportSource,
    groups: tuple[SlurmGroup, ...],
    place_of: Mapping[str, SlurmGroup],
    intended: Mapping[str, str],
) -> Iterator[Diagnostic]:
    """Yield nodes that one side has and the other does not."""
    strange: dict[str, list[str]] = {}
    for node, group in place_of.items():
        if node not in intended:
            strange.setdefault(group.name, []).append(node)
    for group in groups:
        if group.name in strange:
            message = (
                f"{group.name} has {compact(strange[group.name])}, which the intent ({source.top}) does not export"
            )
            yield error("RW953", message, group.where, fix=_fix())
    missing = [node for node in intended if node not in place_of]
    if missing:
        where = Where(groups[0].where.file)
        yield error("RW953", f"{compact(missing)} of the intent ({source.top}) are missing", where, fix=_fix())


def _lowest(source: ExportSource, groups: tuple[SlurmGroup, ...], intended: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield groups that join nodes of different leaves, and leaves whose nodes are in several groups."""
    holders: dict[str, list[SlurmGroup]] = {}
    for group in groups:
        members: dict[str, list[str]] = {}
        for node in filter(intended.__contains__, group.nodes):
            members.setdefault(intended[node], []).append(node)
        for name in members:
            holders.setdefault(name, []).append(group)
        if len(members) > 1:
            parts = "; ".join(f"{name}: {compact(nodes)}" for name, nodes in members.items())
            message = f"{group.name} joins nodes of several groups of the intent ({source.top}): {parts}"
            yield error("RW953", message, group.where, fix=_fix())
    for name, split in holders.items():
        if len(split) > 1:
            yield _split(source, name, split)


def _split(source: ExportSource, name: str, groups: list[SlurmGroup]) -> Diagnostic:
    names = ", ".join(f"{group.name} ({group.where})" for group in groups)
    message = f"the nodes of {name} of the intent ({source.top}) are in {len(groups)} groups: {names}"
    return error("RW953", message, groups[0].where, fix=_fix())


def _upper(source: ExportSource, groups: tuple[SlurmGroup, ...]) -> Iterator[Diagnostic]:
    """Yield switches above the lowest whose nodes no tier of the intent joins."""
    by_name = {group.name: group for group in groups}
    intended = {frozenset(map(source.node, group.all_nodes)) for group in source.topology.groups}
    for group in groups:
        if group.switches and _below(group, by_name, frozenset()) not in intended:
            message = f"{group.name} joins {', '.join(group.switches)}: no tier of the intent ({source.top}) joins"
            yield error("RW953", f"{message} just these nodes", group.where, fix=_fix())


def _below(group: SlurmGroup, by_name: Mapping[str, SlurmGroup], seen: frozenset[str]) -> frozenset[str]:
    """Return the nodes below a switch; a switch that is below itself adds none."""
    nodes = set(group.nodes)
    for name in group.switches:
        if name in by_name and name not in seen:
            nodes |= _below(by_name[name], by_name, seen | {name})
    return frozenset(nodes)
