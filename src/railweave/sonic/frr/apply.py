"""A small model of vtysh: the configuration that runs after FRR commands, for comparison and for undoing them."""

import re
from collections.abc import Iterable
from dataclasses import replace

from railweave.sonic.frr.document import IMPLICIT, FrrDocument, is_foreign, normalize
from railweave.sonic.frr.lines import (
    FrrEntry,
    defined_neighbor,
    is_default_on,
    membership,
    neighbor_of,
    slot,
)
from railweave.sonic.frr.reading import read_lines

_ROUTE_MAP_NAME = re.compile(r"route-map \S+$")


def apply_delta(delta: str, running: FrrDocument) -> FrrDocument:
    """Return the configuration that runs after vtysh has carried out the commands of ``delta``."""
    entries = list(running.entries)
    for command in read_lines(delta):
        if is_foreign(command):
            continue
        if command.line.startswith("no "):
            target = FrrEntry(command.context, command.line.removeprefix("no "))
            entries = _after_removal(target, entries)
        elif not IMPLICIT.match(command.line):
            entries = _after_addition(command, entries)
    return replace(running, entries=normalize(entries, running.version))


def _after_addition(command: FrrEntry, entries: list[FrrEntry]) -> list[FrrEntry]:
    """Return the lines after ``command`` is added.

    It removes its own ``no`` form, or else replaces the lines that set the same value.
    """
    negation = FrrEntry(command.context, f"no {command.line}")
    if negation in entries:
        return [entry for entry in entries if entry != negation]
    if command in entries or is_default_on(command.line):
        return entries
    replaced = _replaced_lines(command, entries)
    kept = [_in_block(entry, replaced, command) for entry in entries if entry not in replaced]
    return [*kept, command]


def _replaced_lines(command: FrrEntry, entries: list[FrrEntry]) -> list[FrrEntry]:
    """Return the lines that FRR replaces by ``command``: those that set the same value, such as the AS number."""
    own_slot = slot(command.line)
    return [entry for entry in entries if entry.context == command.context and slot(entry.line) == own_slot]


def _in_block(entry: FrrEntry, replaced: Iterable[FrrEntry], command: FrrEntry) -> FrrEntry:
    """Return a line; if its header is one of the ``replaced`` lines, it is moved under the header ``command``."""
    # FRR keeps the inner lines of a route-map entry whose action changes.
    for header in replaced:
        if not header.context and entry.context == header.line:
            return FrrEntry(command.line, entry.line)
    return entry


def _after_removal(target: FrrEntry, entries: list[FrrEntry]) -> list[FrrEntry]:
    """Return the lines after ``no target``.

    The ``no`` line itself is kept if it turns off a default, or if it removes nothing; ``normalize`` drops those that
    FRR does not print.
    """
    remaining = [entry for entry in entries if not _is_removed(entry, target, entries)]
    removes_nothing = len(remaining) == len(entries)
    if is_default_on(target.line) or removes_nothing:
        return list(dict.fromkeys([*remaining, FrrEntry(target.context, f"no {target.line}")]))
    return remaining


def _is_removed(entry: FrrEntry, target: FrrEntry, entries: list[FrrEntry]) -> bool:
    """Tell whether ``no target`` removes ``entry``, which is one of ``entries``."""
    if _is_whole_neighbor(target.line):
        # All lines of the neighbor go with it, and the members of a peer group with the group.
        name = neighbor_of(target.line)
        is_in_router = entry.path[:1] == target.path[:1]
        return is_in_router and (neighbor_of(entry.line) == name or _is_member(entry, str(name), entries))
    # A block goes with all lines in it.
    block = (*target.path, target.line)
    is_in_block = entry.path[: len(block)] == block
    if is_in_block or _is_part_of_route_map(entry, target.line):
        return True
    if entry.context != target.context:
        return False
    # A shorter form removes a line too, unless the line is there exactly as it is written.
    if target in entries:
        return entry.line == target.line
    return _matches_shortened(entry.line, target.line)


def _matches_shortened(line: str, target: str) -> bool:
    """Tell whether ``no target`` removes ``line``: vtysh accepts it without the value, or with another value."""
    return line.startswith(f"{target} ") or slot(line) in (target, slot(target))


def _is_whole_neighbor(line: str) -> bool:
    """Tell whether the ``no`` form of a line removes a neighbor or group with all of its lines."""
    if defined_neighbor(line) is not None:
        return True
    has_name_alone = len(line.split()) == 2
    return has_name_alone and neighbor_of(line) is not None


def _is_member(entry: FrrEntry, group: str, entries: Iterable[FrrEntry]) -> bool:
    """Tell whether a line is of a neighbor that is a member of ``group`` in the same router."""
    name = neighbor_of(entry.line)
    router = entry.path[:1]
    return any(
        membership(other.line) == group and neighbor_of(other.line) == name and other.path[:1] == router
        for other in entries
    )


def _is_part_of_route_map(entry: FrrEntry, target: str) -> bool:
    """Tell whether ``no route-map NAME`` without a number removes this line too."""
    if not _ROUTE_MAP_NAME.match(target):
        return False
    return (entry.context or entry.line).startswith(f"{target} ")
