"""The safe change from one FRR configuration to another, as text for ``vtysh -f``.

FRR's own reload script is not in SONiC's images, so the difference is computed here: lines are added before the lines
that refer to them, policies change in place, and removals come last and in the opposite order.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from railweave.secrets import is_hidden
from railweave.sonic.frr.activation import QUIET, with_activations
from railweave.sonic.frr.document import FrrDocument, without_implied
from railweave.sonic.frr.lines import (
    CLEARED_FIRST,
    FrrEntry,
    RoutePrefix,
    command_of,
    defined_neighbor,
    is_group,
    is_interface_peer,
    list_entry,
    membership,
    negated,
    neighbor_of,
    rank,
    route_prefix,
    slot,
    taken_along_by,
)
from railweave.sonic.frr.writing import write_lines
from railweave.wording import natural_key


class RouterNeighbor(NamedTuple):
    """A neighbor or peer group: the line of its router, and its name."""

    router: str
    name: str


Slot = tuple[str, str]
"""A context, and the setting that a line makes in it (``lines.slot``)."""


def frr_delta(running: FrrDocument, intended: FrrDocument) -> str:
    """Return the text for ``vtysh -f`` that turns ``running`` into ``intended``; empty when they are equal."""
    return delta_text(*frr_difference(running, intended))


def frr_difference(running: FrrDocument, intended: FrrDocument) -> tuple[tuple[FrrEntry, ...], tuple[FrrEntry, ...]]:
    """Return the lines to remove, in the order of ``running``, and the lines to add, in the order of ``intended``.

    Plans, readings and rollbacks all compare FRR configurations here. Defaults of the running version
    (``document.NEW_DEFAULTS``) never differ, printed or not.
    """
    # A file of ours names no version; commands go to the running one.
    version = running.version or intended.version
    before = without_implied(running.entries, version)
    after = without_implied(intended.entries, version)
    differing = set(before) ^ set(after)
    if not differing:
        return (), ()
    # Where the default activation changes, no neighbor may change silently.
    if any(entry.line == QUIET for entry in differing):
        before, after = with_activations(before, after)
        differing = set(before) ^ set(after)
    # A neighbor that is created in another way is removed and added with all of its lines.
    if any(defined_neighbor(entry.line) for entry in differing):
        differing |= _lines_of_recreated(before, after)
    return _only(before, differing), _only(after, differing)


def _only(entries: Iterable[FrrEntry], chosen: Collection[FrrEntry]) -> tuple[FrrEntry, ...]:
    return tuple(entry for entry in entries if entry in chosen)


def _lines_of_recreated(before: Sequence[FrrEntry], after: Sequence[FrrEntry]) -> set[FrrEntry]:
    """Return all lines of the neighbors that are removed and added as a whole, the unchanged ones too."""
    recreated = _recreated(before, after)
    if not recreated:
        return set()
    return {entry for entry in (*before, *after) if owner(entry) in recreated}


# A change of a switch asks for the owner of each of its lines five to eight times.
@lru_cache(maxsize=8192)
def owner(entry: FrrEntry) -> RouterNeighbor | None:
    """Return the neighbor or peer group that a line belongs to, or None."""
    name = neighbor_of(entry.line)
    if name and entry.context:
        return RouterNeighbor(entry.path[0], name)
    return None


def _definitions(entries: Iterable[FrrEntry]) -> dict[RouterNeighbor, set[str]]:
    """Return the lines that create each neighbor, without values that FRR changes in place."""
    definitions: dict[RouterNeighbor, set[str]] = {}
    for entry in entries:
        neighbor = owner(entry)
        if neighbor and defined_neighbor(entry.line):
            # FRR moves no neighbor from one peer group to another, so its group counts.
            definition = entry.line if membership(entry.line) else slot(entry.line)
            definitions.setdefault(neighbor, set()).add(definition)
    return definitions


def _recreated(running: Iterable[FrrEntry], intended: Iterable[FrrEntry]) -> set[RouterNeighbor]:
    """Return the neighbors to remove and add as a whole.

    These are neighbors that are created in another way, for example by a peer group in place of an AS number, and
    members of a group that is removed.
    """
    before = _definitions(running)
    after = _definitions(intended)
    # A first provisioning has no neighbor in common, and hundreds of lines.
    if before.keys().isdisjoint(after):
        return set()
    recreated = _redefined(before, after)
    removed = (before.keys() - after.keys()) | recreated
    for entry in running:
        group = membership(entry.line)
        neighbor = owner(entry)
        if group is None or neighbor is None or neighbor not in after:
            continue
        # FRR deletes the members of a group together with it.
        if RouterNeighbor(neighbor.router, group) in removed:
            recreated.add(neighbor)
    return recreated


def _redefined(
    before: Mapping[RouterNeighbor, set[str]], after: Mapping[RouterNeighbor, set[str]]
) -> set[RouterNeighbor]:
    """Return the neighbors that exist before and after, and that other lines create after the change."""
    return {neighbor for neighbor in before.keys() & after.keys() if before[neighbor] != after[neighbor]}


class _CommandPhase(IntEnum):
    """The order of a change."""

    # Removes what must be gone before anything is configured.
    CLEAR = 0
    CONFIGURE = 1
    REMOVE = 2


_BEFORE_ADDITION, _ADDITION, _AFTER_ADDITION = -1, 0, 1
"""Whether a command of phase ``CONFIGURE`` adds a line, or removes one right before or after additions of its kind."""


@dataclass(frozen=True, slots=True)
class _Command:
    """One command, with its phase and its sort key within the phase."""

    phase: _CommandPhase
    sort_key: tuple[object, ...]
    entry: FrrEntry


def delta_text(removed: Sequence[FrrEntry], added: Sequence[FrrEntry]) -> str:
    """Return the text for ``vtysh -f`` that removes and adds these lines; empty for no lines.

    Raises ValueError if a line to add has a hidden secret, whose text is needed.
    """
    for entry in added:
        if is_hidden(entry.line):
            raise ValueError(f"{entry.line}: the text of a secret is not in the plan")
    removed, added = _under_new_headers(removed, added)
    commands = [*_additions(added), *_removals(removed, added)]
    commands.sort(key=lambda command: (command.phase, command.sort_key))
    return "".join(f"{line}\n" for line in write_lines(command.entry for command in commands))


def _under_new_headers(
    removed: Sequence[FrrEntry], added: Sequence[FrrEntry]
) -> tuple[Sequence[FrrEntry], Sequence[FrrEntry]]:
    """Return the removed and the added lines, adjusted for route-map entries whose action changes.

    FRR keeps the inner lines of such an entry under its new header. So the old header is left out, inner lines are
    removed under the new header, and lines that the entry has before and after are left out of both.
    """
    new_header_of = _renamed_headers(removed, added)
    if not new_header_of:
        return removed, added
    removed_lines = [entry for entry in removed if entry.line not in new_header_of]
    moved = [FrrEntry(new_header_of.get(entry.context, entry.context), entry.line) for entry in removed_lines]
    new_headers = frozenset(new_header_of.values())
    unchanged = {entry for entry in moved if entry.context in new_headers}.intersection(added)
    return _without(moved, unchanged), _without(added, unchanged)


def _without(entries: Iterable[FrrEntry], left_out: Collection[FrrEntry]) -> list[FrrEntry]:
    return [entry for entry in entries if entry not in left_out]


def _renamed_headers(removed: Iterable[FrrEntry], added: Iterable[FrrEntry]) -> dict[str, str]:
    """Return the headers of route-map entries whose action changes, with their new headers."""
    new_headers = {slot(entry.line): entry.line for entry in added if entry.line.startswith("route-map ")}
    renamed: dict[str, str] = {}
    for entry in removed:
        if entry.line.startswith("route-map ") and slot(entry.line) in new_headers:
            renamed[entry.line] = new_headers[slot(entry.line)]
    return renamed


def _additions(added: Iterable[FrrEntry]) -> Iterator[_Command]:
    for number, entry in enumerate(added):
        yield _Command(_CommandPhase.CONFIGURE, (*_addition_key(entry), _ADDITION, number), entry)


def _removals(removed: Sequence[FrrEntry], added: Sequence[FrrEntry]) -> Iterator[_Command]:
    """Yield the commands that remove whole neighbors, then those for lines that no other command removes."""
    merged = _merged_slots(removed, added)
    removable = _not_overwritten(removed, added, merged)
    removed_blocks = {(*entry.path, entry.line) for entry in removable}
    before = _definitions(removed)
    after = _definitions(added)
    # A neighbor with a line that is both removed and added is recreated as well (`_lines_of_recreated`).
    with_unchanged_lines = {owner(entry) for entry in set(removed) & set(added)}
    recreated = _redefined(before, after) | (before.keys() & after.keys() & with_unchanged_lines)
    leaving = (before.keys() - after.keys()) | recreated
    yield from _neighbor_removals(leaving, recreated, removed, removed_blocks)
    single = [entry for entry in removable if owner(entry) not in leaving and not _is_in_block(entry, removed_blocks)]
    if single:
        yield from _line_removals(single, merged, added)


def _not_overwritten(
    removed: Sequence[FrrEntry], added: Sequence[FrrEntry], merged: Collection[Slot]
) -> list[FrrEntry]:
    """Return the removed lines that need a command.

    These are the lines that no added line replaces and that FRR does not remove together with another one. FRR merges
    the lines of ``merged`` slots, so there no line replaces another.
    """
    overwritten = {(entry.context, slot(entry.line)) for entry in added}.difference(merged)
    removable = [entry for entry in removed if (entry.context, slot(entry.line)) not in overwritten]
    lines = set(removable)
    return [entry for entry in removable if not _is_taken_along(entry, lines)]


def _is_taken_along(entry: FrrEntry, removed: Collection[FrrEntry]) -> bool:
    """Tell whether FRR removes a line together with another one of ``removed``."""
    line = taken_along_by(entry.line)
    return bool(line) and FrrEntry(entry.context, line) in removed


def _merged_slots(removed: Iterable[FrrEntry], added: Iterable[FrrEntry]) -> set[Slot]:
    """Return the slots whose lines FRR merges: a new one does not replace the old one."""
    lines = chain(removed, added)
    return {(entry.context, slot(entry.line)) for entry in lines if CLEARED_FIRST.match(entry.line)}


def _line_removals(
    entries: Iterable[FrrEntry], merged: Collection[Slot], added: Sequence[FrrEntry]
) -> Iterator[_Command]:
    """Yield a command for each line, in the phase in which FRR can remove it."""
    is_in_the_way = _in_the_way_of(added, merged)
    adds_router = any(entry.line.startswith("router bgp ") for entry in added)
    for number, entry in enumerate(entries):
        is_router = entry.line.startswith("router bgp ")
        # FRR keeps the default instance as long as instances of VRFs need it, so it is removed last.
        is_default_instance = is_router and " vrf " not in entry.line
        removal = FrrEntry(entry.context, negated(entry.line))
        # FRR has one BGP instance, and refuses another one with a new AS number while the old one runs.
        if is_router and adds_router:
            yield _Command(_CommandPhase.CLEAR, (0, (), is_default_instance, number), removal)
        elif is_in_the_way(entry):
            yield _Command(_CommandPhase.CONFIGURE, (*_addition_key(entry), _BEFORE_ADDITION, number), removal)
        # Policies change in place: what a route-map entry loses is removed beside what it gets.
        elif entry.context.startswith("route-map "):
            yield _Command(_CommandPhase.CONFIGURE, (*_addition_key(entry), _AFTER_ADDITION, number), removal)
        else:
            yield _Command(_CommandPhase.REMOVE, (*_removal_key(entry), is_default_instance, number), removal)


def _neighbor_removals(
    leaving: Iterable[RouterNeighbor],
    recreated: Iterable[RouterNeighbor],
    removed: Sequence[FrrEntry],
    removed_blocks: set[tuple[str, ...]],
) -> Iterator[_Command]:
    """Yield one command for each neighbor or group to remove; members are removed before their group."""
    # FRR removes the neighbors of a router together with it.
    neighbors = [neighbor for neighbor in leaving if (neighbor.router,) not in removed_blocks]
    if not neighbors:
        return
    defining_lines = _defining_lines(removed)
    # To add a group again, all of its members must have been removed before.
    routers_to_clear = {neighbor.router for neighbor in recreated}
    for neighbor in neighbors:
        router, name = neighbor
        definitions = defining_lines[neighbor]
        is_peer_group = any(is_group(line) for line in definitions)
        removal = FrrEntry(router, _no_neighbor(name, definitions, is_peer_group=is_peer_group))
        if router in routers_to_clear:
            # Routers are cleared first (0), then neighbors (1), members before groups.
            yield _Command(_CommandPhase.CLEAR, (1, natural_key(router), is_peer_group, natural_key(name)), removal)
        else:
            definition = FrrEntry(router, _definition_of(name, is_peer_group=is_peer_group))
            # Whole neighbors (-1) are removed before single lines of the same kind.
            yield _Command(_CommandPhase.REMOVE, (*_removal_key(definition), -1, natural_key(name)), removal)


def _defining_lines(entries: Iterable[FrrEntry]) -> Mapping[RouterNeighbor, list[str]]:
    """Return the lines that define each neighbor or group."""
    lines: dict[RouterNeighbor, list[str]] = {}
    for entry in entries:
        neighbor = owner(entry)
        if neighbor and defined_neighbor(entry.line):
            lines.setdefault(neighbor, []).append(entry.line)
    return lines


def _definition_of(name: str, *, is_peer_group: bool) -> str:
    """Return a line of the kind that defines a neighbor or group; removals are sorted by it."""
    if is_peer_group:
        return f"neighbor {name} peer-group"
    return f"neighbor {name} remote-as 1"


def _no_neighbor(name: str, definitions: Iterable[str], *, is_peer_group: bool) -> str:
    """Return the command that removes a neighbor or group, which these lines define."""
    if is_peer_group:
        return f"no neighbor {name} peer-group"
    if any(is_interface_peer(line) for line in definitions):
        return f"no neighbor {name} interface"
    return f"no neighbor {name}"


def _in_the_way_of(added: Sequence[FrrEntry], merged: Collection[Slot]) -> Callable[[FrrEntry], bool]:
    """Return a function that tells whether a line to remove is in the way of a line to add.

    FRR would keep or prefer such a line over the added one, so it is removed right before the addition.
    """
    slots = {(entry.context, slot(entry.line)) for entry in added}.intersection(merged)
    list_entries = {list_entry(entry.line) for entry in added} - {None}
    routes = {(entry.context, route_prefix(entry.line)) for entry in added}
    neighbor_settings = {(entry.context, _without_name(entry.line)) for entry in added}
    commands = {(entry.context, command_of(entry.line)) for entry in added if command_of(entry.line)}

    def is_in_the_way(entry: FrrEntry) -> bool:
        """Tell whether FRR would keep or prefer this line over one of the added lines."""
        # A list line under a used number keeps parts of the old one.
        is_merged = (entry.context, slot(entry.line)) in slots
        # FRR's ``no`` may remove all values of a command, also the added one.
        is_of_added_command = (entry.context, command_of(entry.line)) in commands
        if is_merged or is_of_added_command:
            return True
        # A list line that the list has under another number is ignored (FRR 8.4).
        if list_entry(entry.line) in list_entries:
            return True
        # If a peer group loses a line, its members lose it too, even one that is added to a member itself.
        if _is_of_group(entry.line) and (entry.context, _without_name(entry.line)) in neighbor_settings:
            return True
        route = route_prefix(entry.line)
        if route is None:
            return False
        # FRR refuses a blackhole beside a next hop, and a next hop beside a blackhole.
        opposite_route = RoutePrefix(route.prefix, drops=not route.drops)
        if (entry.context, opposite_route) in routes:
            return True
        # `reject` and `blackhole` are one route.
        return route.drops and (entry.context, route) in routes

    return is_in_the_way


_GROUP_NAME = re.compile(r"neighbor [A-Za-z][^.: ]* ")


def _is_of_group(line: str) -> bool:
    """Tell whether a line is of a neighbor that is named rather than given by its address, as peer groups are."""
    return _GROUP_NAME.match(line) is not None


def _without_name(line: str) -> str:
    """Return a neighbor's line without the neighbor, empty for another line."""
    words = line.split(" ", 2)
    if words[0] != "neighbor" or len(words) < 3:
        return ""
    return words[2]


def _is_in_block(entry: FrrEntry, removed_blocks: set[tuple[str, ...]]) -> bool:
    """Tell whether a line is removed together with one of its contexts."""
    path = entry.path
    return any(path[:depth] in removed_blocks for depth in range(1, len(path) + 1))


def _addition_key(entry: FrrEntry) -> tuple[object, ...]:
    """Return the sort key of an added line.

    Additions are sorted by kind and by the name of their block. In a block plain lines come before inner contexts, and
    lines before the lines that refer to them.
    """
    kind, depth, meaning = rank(entry)
    return kind, natural_key(_block_name(entry)), depth, natural_key(entry.context), meaning


def _block_name(entry: FrrEntry) -> str:
    """Return the name by which the block of a line is sorted.

    Lines at the top level that belong to one list or route, or that exclude each other, have one name.
    """
    if entry.context:
        return entry.path[0]
    numbered = list_entry(entry.line)
    if numbered:
        return numbered.name
    route = route_prefix(entry.line)
    if route:
        return route.prefix
    if entry.line.startswith("route-map "):
        return entry.line
    return command_of(entry.line) or slot(entry.line)


def _removal_key(entry: FrrEntry) -> tuple[object, ...]:
    """Return the sort key of a removed line: kinds, depths and meanings in the opposite order of additions."""
    kind, depth, meaning = rank(entry)
    block = natural_key(entry.path[0]) if entry.context else ()
    return -kind, block, -depth, natural_key(entry.context), -meaning
