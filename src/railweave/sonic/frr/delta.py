"""The safe change from one FRR configuration to another, as text for ``vtysh -f``.

FRR's own reload script is not in SONiC's images, so the difference is computed here: lines are added before the lines
that refer to them, policies change in place, and removals come last and in the opposite order.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from railweave.secrets import is_hidden
from railweave.sonic.frr.activation import QUIET, with_activations
from railweave.sonic.frr.document import FrrDocument, without_implied
from railweave.sonic.frr.lines import (
    CLEARED_FIRST,
    FrrEntry,
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

Owner = tuple[str, str]
"""A router's line and a neighbor's or peer group's name."""
Slot = tuple[str, str]
"""A context, and what of a line says which setting it is (``lines.slot``)."""


def frr_delta(running: FrrDocument, intended: FrrDocument) -> str:
    """Return the text for ``vtysh -f`` that turns ``running`` into ``intended``; empty when they are equal."""
    return delta_text(*frr_difference(running, intended))


def frr_difference(running: FrrDocument, intended: FrrDocument) -> tuple[tuple[FrrEntry, ...], tuple[FrrEntry, ...]]:
    """Return the lines to remove and the lines to add, each in the order of its document.

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
    if any(entry.line == QUIET for entry in differing):
        before, after = with_activations(before, after)
        differing = set(before) ^ set(after)
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
def owner(entry: FrrEntry) -> Owner | None:
    """Return the router and neighbor that a line belongs to, or None."""
    name = neighbor_of(entry.line)
    if name and entry.context:
        return entry.path[0], name
    return None


def _definitions(entries: Iterable[FrrEntry]) -> dict[Owner, set[str]]:
    """Return the lines that create each neighbor, without values that FRR changes in place."""
    definitions: dict[Owner, set[str]] = {}
    for entry in entries:
        neighbor = owner(entry)
        if neighbor and defined_neighbor(entry.line):
            # FRR moves no neighbor from one peer group to another, so its group counts.
            definition = entry.line if membership(entry.line) else slot(entry.line)
            definitions.setdefault(neighbor, set()).add(definition)
    return definitions


def _recreated(running: Iterable[FrrEntry], intended: Iterable[FrrEntry]) -> set[Owner]:
    """Return the neighbors to remove and add as a whole: those that are created in another way, for example by a peer
    group in place of an AS number, and the members of a group that is removed."""
    before = _definitions(running)
    after = _definitions(intended)
    # A first provisioning has no neighbor in common, and hundreds of lines.
    if before.keys().isdisjoint(after):
        return set()
    recreated = _redefined(before, after)
    removed = before.keys() - after.keys() | recreated
    for entry in running:
        group = membership(entry.line)
        neighbor = owner(entry)
        # FRR deletes the members of a group together with it.
        if group and neighbor in after and (entry.path[0], group) in removed:
            recreated.add(neighbor)
    return recreated


def _redefined(before: Mapping[Owner, set[str]], after: Mapping[Owner, set[str]]) -> set[Owner]:
    return {neighbor for neighbor in before.keys() & after.keys() if before[neighbor] != after[neighbor]}


@dataclass(frozen=True, slots=True)
class _Command:
    """One command: ``phase`` 0 clears the way, 1 configures, 2 removes."""

    phase: int
    place: tuple[object, ...]
    entry: FrrEntry


def delta_text(removed: Sequence[FrrEntry], added: Sequence[FrrEntry]) -> str:
    """Return the text for ``vtysh -f`` that removes and adds these lines; empty for no lines.

    Raises ValueError where a line to add is the shown form of a secret.
    """
    for entry in added:
        if is_hidden(entry.line):
            raise ValueError(f"{entry.line}: the text of a secret is not in the plan")
    removed, added = _in_new_context(removed, added)
    commands = [*_additions(added), *_removals(removed, added)]
    commands.sort(key=lambda command: (command.phase, command.place))
    return "".join(f"{line}\n" for line in write_lines(command.entry for command in commands))


def _in_new_context(
    removed: Sequence[FrrEntry], added: Sequence[FrrEntry]
) -> tuple[Sequence[FrrEntry], Sequence[FrrEntry]]:
    """Return the lines with those inside route-map entries whose action changes under the new header.

    FRR keeps the inner lines of such an entry, so they are kept, removed or added one by one.
    """
    renamed = _renamed_headers(removed, added)
    if not renamed:
        return removed, added
    others = [entry for entry in removed if entry.line not in renamed]
    moved = [FrrEntry(renamed.get(entry.context, entry.context), entry.line) for entry in others]
    kept = {entry for entry in moved if entry.context in renamed.values()} & set(added)
    return _without(moved, kept), _without(added, kept)


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
        yield _Command(1, (*_forward(entry), 0, number), entry)


def _removals(removed: Sequence[FrrEntry], added: Sequence[FrrEntry]) -> Iterator[_Command]:
    merged = _merged_slots(removed, added)
    removable = _not_overwritten(removed, added, merged)
    headers = {(*entry.path, entry.line) for entry in removable}
    before = _definitions(removed)
    after = _definitions(added)
    # A line that is removed and added alike belongs to a neighbor that is created anew.
    recreated = _redefined(before, after)
    unchanged = {owner(entry) for entry in set(removed) & set(added)}
    recreated |= {neighbor for neighbor in before.keys() & after.keys() if neighbor in unchanged}
    leaving = (before.keys() - after.keys()) | recreated
    yield from _neighbors(leaving, recreated, removed, headers)
    single = [entry for entry in removable if owner(entry) not in leaving and not _is_covered(entry, headers)]
    if single:
        yield from _line_removals(single, merged, added)


def _not_overwritten(
    removed: Sequence[FrrEntry], added: Sequence[FrrEntry], merged: Collection[Slot]
) -> list[FrrEntry]:
    """Return the removed lines that need a command: no added line replaces them, nor does another removal.

    Lines of ``merged`` slots are not replaced.
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
    in_the_way = _lines_in_the_way(merged, added)
    new_router = any(entry.line.startswith("router bgp ") for entry in added)
    for number, entry in enumerate(entries):
        is_router = entry.line.startswith("router bgp ")
        # FRR keeps the default instance as long as instances of VRFs need it.
        last = is_router and " vrf " not in entry.line
        if is_router and new_router:
            yield _Command(0, (0, (), last, number), _no(entry))
        elif in_the_way(entry):
            yield _Command(1, (*_forward(entry), -1, number), _no(entry))
        elif entry.context.startswith("route-map "):
            yield _Command(1, (*_forward(entry), 1, number), _no(entry))
        else:
            yield _Command(2, (*_backward(entry), last, number), _no(entry))


def _neighbors(
    leaving: Iterable[Owner], recreated: Iterable[Owner], removed: Sequence[FrrEntry], headers: set[tuple[str, ...]]
) -> Iterator[_Command]:
    """Yield one command for each neighbor or group to remove; members are removed before their group."""
    # A router that is removed takes its neighbors along.
    leaving = [neighbor for neighbor in leaving if (neighbor[0],) not in headers]
    if not leaving:
        return
    lines = _defining_lines(removed)
    # Adding a group again needs all of its members removed before it.
    early = {router for router, _ in recreated}
    for router, name in leaving:
        definitions = lines[router, name]
        group = any(is_group(line) for line in definitions)
        command = FrrEntry(router, _no_neighbor(name, definitions, group=group))
        if router in early:
            yield _Command(0, (1, natural_key(router), group, natural_key(name)), command)
        else:
            definition = FrrEntry(router, _definition_of(name, group=group))
            yield _Command(2, (*_backward(definition), -1, natural_key(name)), command)


def _defining_lines(entries: Iterable[FrrEntry]) -> Mapping[Owner, list[str]]:
    """Return the lines that define a neighbor or group, by their neighbor or group."""
    lines: dict[Owner, list[str]] = {}
    for entry in entries:
        neighbor = owner(entry)
        if neighbor and defined_neighbor(entry.line):
            lines.setdefault(neighbor, []).append(entry.line)
    return lines


def _definition_of(name: str, *, group: bool) -> str:
    """Return a line that defines a neighbor or group, by which its removal is sorted."""
    if group:
        return f"neighbor {name} peer-group"
    return f"neighbor {name} remote-as 1"


def _no_neighbor(name: str, definitions: Iterable[str], *, group: bool) -> str:
    if group:
        return f"no neighbor {name} peer-group"
    if any(is_interface_peer(line) for line in definitions):
        return f"no neighbor {name} interface"
    return f"no neighbor {name}"


def _lines_in_the_way(merged: Collection[Slot], added: Sequence[FrrEntry]) -> Callable[[FrrEntry], bool]:
    """Return a test for lines that FRR would keep or prefer over a line to add; they are removed right before it."""
    slots = {(entry.context, slot(entry.line)) for entry in added}.intersection(merged)
    list_entries = {list_entry(entry.line) for entry in added} - {None}
    routes = {(entry.context, route_prefix(entry.line)) for entry in added}
    of_neighbors = {(entry.context, _without_name(entry.line)) for entry in added}
    commands = {(entry.context, command_of(entry.line)) for entry in added if command_of(entry.line)}

    def in_the_way(entry: FrrEntry) -> bool:
        # A list line under a taken number keeps parts of the old one.
        if (entry.context, slot(entry.line)) in slots or (entry.context, command_of(entry.line)) in commands:
            return True
        # A list line that the list has under another number is ignored (FRR 8.4).
        if list_entry(entry.line) in list_entries:
            return True
        # With a line of a peer group its members lose that line, even one that they are to have themselves.
        if _of_group(entry.line) and (entry.context, _without_name(entry.line)) in of_neighbors:
            return True
        route = route_prefix(entry.line)
        if route is None:
            return False
        # A blackhole is refused beside a next hop, and a next hop beside a blackhole; `reject` and `blackhole` are
        # one route.
        prefix, drops = route
        return (entry.context, (prefix, not drops)) in routes or (drops and (entry.context, route) in routes)

    return in_the_way


_GROUP_NAME = re.compile(r"neighbor [A-Za-z][^.: ]* ")


def _of_group(line: str) -> bool:
    return _GROUP_NAME.match(line) is not None


def _without_name(line: str) -> str:
    """Return a neighbor's line without the neighbor, empty for another line."""
    words = line.split(" ", 2)
    if words[0] != "neighbor" or len(words) < 3:
        return ""
    return words[2]


def _is_covered(entry: FrrEntry, headers: set[tuple[str, ...]]) -> bool:
    """Tell whether a line is removed together with one of its contexts."""
    path = entry.path
    return any(path[:depth] in headers for depth in range(1, len(path) + 1))


def _no(entry: FrrEntry) -> FrrEntry:
    return FrrEntry(entry.context, negated(entry.line))


def _forward(entry: FrrEntry) -> tuple[object, ...]:
    """Order additions: kinds, then blocks by name, plain lines before inner contexts, then by meaning."""
    kind, depth, meaning = rank(entry)
    return kind, natural_key(_block(entry)), depth, natural_key(entry.context), meaning


def _block(entry: FrrEntry) -> str:
    """Return the name of the block of a line; one for all lines of which FRR keeps one, or that exclude each other."""
    if entry.context:
        return entry.path[0]
    numbered = list_entry(entry.line)
    if numbered:
        return numbered.name
    route = route_prefix(entry.line)
    if route:
        return route[0]
    if entry.line.startswith("route-map "):
        return entry.line
    return command_of(entry.line) or slot(entry.line)


def _backward(entry: FrrEntry) -> tuple[object, ...]:
    """Order removals: the opposite of additions."""
    kind, depth, meaning = rank(entry)
    block = natural_key(entry.path[0]) if entry.context else ()
    return -kind, block, -depth, natural_key(entry.context), -meaning
