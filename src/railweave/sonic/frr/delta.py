"""The safe way from one FRR configuration to another, as text for ``vtysh -f``.

FRR's own reload script is not in SONiC's images, so the difference is made here: what is referred to is configured
before what refers to it, policies change in place, and what goes, goes last and in the opposite order.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from railweave.secrets import is_hidden
from railweave.sonic.frr.activation import QUIET, with_activations
from railweave.sonic.frr.document import FrrDocument, without_implied, write_lines
from railweave.sonic.frr.lines import (
    CLEARED_FIRST,
    FrrEntry,
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
from railweave.wording import natural_key

Owner = tuple[str, str]
"""A router's line and a neighbor's or peer group's name."""


def frr_delta(running: FrrDocument, intended: FrrDocument) -> str:
    """Return the text for ``vtysh -f`` that turns ``running`` into ``intended``; empty when they are equal."""
    return delta_text(*frr_difference(running, intended))


def frr_difference(running: FrrDocument, intended: FrrDocument) -> tuple[tuple[FrrEntry, ...], tuple[FrrEntry, ...]]:
    """Return the lines that go and the lines that come, each in the order of its document.

    This is the one comparison of FRR configurations: for plans, for what is read back, for a rollback. What the
    running version does without being told (``frr_document.NEW_DEFAULTS``) is no difference, printed or not.
    A neighbor that is created in another way (by AS number before, by a peer group now) goes and comes as a whole,
    and so do the members of a group that goes: FRR deletes them with it.
    """
    # A file of ours names no version; commands go to the running one.
    version = running.version or intended.version
    had, wants = without_implied(running.entries, version), without_implied(intended.entries, version)
    there, then = set(had), set(wants)
    differing = there ^ then
    if not differing:
        return (), ()
    if any(entry.line == QUIET for entry in differing):
        had, wants = with_activations(had, wants)
        there, then = set(had), set(wants)
        differing = there ^ then
    # Only lines that define neighbors and groups can make one anew.
    renewed = _renewed(had, wants) if any(defined_neighbor(entry.line) for entry in differing) else set()
    return (
        tuple(entry for entry in had if entry not in then or (renewed and owner(entry) in renewed)),
        tuple(entry for entry in wants if entry not in there or (renewed and owner(entry) in renewed)),
    )


def owner(entry: FrrEntry) -> Owner | None:
    """Return the router and neighbor that a line belongs to, or None."""
    name = neighbor_of(entry.line)
    return (entry.path[0], name) if name and entry.context else None


def _definitions(entries: Iterable[FrrEntry]) -> dict[Owner, set[str]]:
    """Return what creates each neighbor: FRR moves none from one peer group to another."""
    found: dict[Owner, set[str]] = {}
    for entry in entries:
        who = owner(entry)
        if who and defined_neighbor(entry.line):
            found.setdefault(who, set()).add(entry.line if membership(entry.line) else slot(entry.line))
    return found


def _renewed(running: Iterable[FrrEntry], intended: Iterable[FrrEntry]) -> set[Owner | None]:
    before, after = _definitions(running), _definitions(intended)
    renewed: set[Owner | None] = {who for who in before.keys() & after.keys() if before[who] != after[who]}
    gone = before.keys() - after.keys() | renewed
    for entry in running:
        group = membership(entry.line)
        who = owner(entry)
        if group and who and who in after and (who[0], group) in gone:
            renewed.add(who)
    return renewed


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
    lines = list(write_lines(command.entry for command in commands))
    return "\n".join([*lines, ""]) if lines else ""


def _in_new_context(
    removed: Sequence[FrrEntry], added: Sequence[FrrEntry]
) -> tuple[Sequence[FrrEntry], Sequence[FrrEntry]]:
    """Follow route-map entries whose action changes: FRR keeps their inner lines, so these stay or go one by one."""
    headers = {slot(entry.line): entry.line for entry in added if entry.line.startswith("route-map ")}
    renamed = {
        entry.line: headers[slot(entry.line)]
        for entry in removed
        if entry.line.startswith("route-map ") and slot(entry.line) in headers
    }
    if not renamed:
        return removed, added
    moved = [
        FrrEntry(renamed.get(entry.context, entry.context), entry.line)
        for entry in removed
        if entry.line not in renamed
    ]
    stays = {entry for entry in moved if entry.context in renamed.values()} & set(added)
    return [entry for entry in moved if entry not in stays], [entry for entry in added if entry not in stays]


def _additions(added: Iterable[FrrEntry]) -> Iterator[_Command]:
    for number, entry in enumerate(added):
        yield _Command(1, (*_forward(entry), 0, number), entry)


def _removals(removed: Sequence[FrrEntry], added: Sequence[FrrEntry]) -> Iterator[_Command]:
    merged = {(one.context, slot(one.line)) for one in (*removed, *added) if CLEARED_FIRST.match(one.line)}
    overwritten = {(entry.context, slot(entry.line)) for entry in added} - merged
    going = [entry for entry in removed if (entry.context, slot(entry.line)) not in overwritten]
    gone = set(going)
    going = [entry for entry in going if FrrEntry(entry.context, taken_along_by(entry.line)) not in gone]
    headers = {(*entry.path, entry.line) for entry in going}
    before, after = _definitions(removed), _definitions(added)
    again = {owner(entry) for entry in set(removed) & set(added)}
    renewed = {who for who in before.keys() & after.keys() if before[who] != after[who] or who in again}
    leaving = (before.keys() - after.keys()) | renewed
    yield from _neighbors(leaving, renewed, removed, headers)
    in_the_way = _lines_in_the_way(removed, added)
    new_router = any(entry.line.startswith("router bgp ") for entry in added)
    for number, entry in enumerate(going):
        if _is_covered(entry, headers) or owner(entry) in leaving:
            continue
        # FRR removes no default instance while those of VRFs are there that need it.
        last = entry.line.startswith("router bgp ") and " vrf " not in entry.line
        if entry.line.startswith("router bgp ") and new_router:
            yield _Command(0, (0, (), last, number), _no(entry))
        elif in_the_way(entry):
            yield _Command(1, (*_forward(entry), -1, number), _no(entry))
        elif entry.context.startswith("route-map "):
            yield _Command(1, (*_forward(entry), 1, number), _no(entry))
        else:
            yield _Command(2, (*_backward(entry), last, number), _no(entry))


def _neighbors(
    leaving: Iterable[Owner], renewed: Iterable[Owner], removed: Sequence[FrrEntry], headers: set[tuple[str, ...]]
) -> Iterator[_Command]:
    """Yield one command for each neighbor or group that goes; members go before their group."""
    lines: dict[Owner, list[str]] = {}
    for entry in removed:
        who = owner(entry)
        if who and defined_neighbor(entry.line):
            lines.setdefault(who, []).append(entry.line)
    # A group that comes again takes its members along, so all of them go before it.
    early = {router for router, _ in renewed}
    for router, name in leaving:
        if (router,) in headers:
            continue
        definitions = lines[router, name]
        group = any(is_group(line) for line in definitions)
        command = FrrEntry(router, _no_neighbor(name, definitions, group=group))
        place = (1, natural_key(router), group, natural_key(name))
        if router in early:
            yield _Command(0, place, command)
        else:
            definition = f"neighbor {name} peer-group" if group else f"neighbor {name} remote-as 1"
            yield _Command(2, (*_backward(FrrEntry(router, definition)), -1, natural_key(name)), command)


def _no_neighbor(name: str, definitions: Iterable[str], *, group: bool) -> str:
    if group:
        return f"no neighbor {name} peer-group"
    if any(is_interface_peer(line) for line in definitions):
        return f"no neighbor {name} interface"
    return f"no neighbor {name}"


def _lines_in_the_way(removed: Iterable[FrrEntry], added: Sequence[FrrEntry]) -> Callable[[FrrEntry], bool]:
    """Return a test for lines that FRR would keep or prefer instead of a line to add.

    A list line under a taken number keeps parts of the old one, and one that the list has under another number is
    ignored (FRR 8.4); a route to nowhere is refused beside a nexthop, and the other way; what a group loses its members
    lose, also what they are to have themselves. Such lines go right before.
    """
    merged = {(one.context, slot(one.line)) for one in (*removed, *added) if CLEARED_FIRST.match(one.line)}
    slots = {(entry.context, slot(entry.line)) for entry in added} & merged
    contents = {(parts.name, parts.content) for parts in (list_entry(entry.line) for entry in added) if parts}
    routes = {(entry.context, route_prefix(entry.line)) for entry in added}
    of_peers = {(entry.context, _without_name(entry.line)) for entry in added}

    def in_the_way(entry: FrrEntry) -> bool:
        parts, route = list_entry(entry.line), route_prefix(entry.line)
        same_content = parts is not None and (parts.name, parts.content) in contents
        excludes = route is not None and (entry.context, (route[0], not route[1])) in routes
        inherited = _of_group(entry.line) and (entry.context, _without_name(entry.line)) in of_peers
        return same_content or excludes or inherited or (entry.context, slot(entry.line)) in slots

    return in_the_way


_GROUP_NAME = re.compile(r"neighbor [A-Za-z][^.: ]* ")


def _of_group(line: str) -> bool:
    return _GROUP_NAME.match(line) is not None


def _without_name(line: str) -> str:
    """Return a neighbor's line without the neighbor, empty for another line."""
    return line.split(" ", 2)[2] if line.startswith("neighbor ") and line.count(" ") > 1 else ""


def _is_covered(entry: FrrEntry, headers: set[tuple[str, ...]]) -> bool:
    """Tell whether a line goes with a context that goes."""
    path = entry.path
    return any(path[:depth] in headers for depth in range(1, len(path) + 1))


def _no(entry: FrrEntry) -> FrrEntry:
    return FrrEntry(entry.context, negated(entry.line))


def _forward(entry: FrrEntry) -> tuple[object, ...]:
    """Order what comes: kinds, then blocks by name, plain lines before inner contexts, then by meaning."""
    kind, depth, meaning = rank(entry)
    numbered = list_entry(entry.line)
    block = natural_key(numbered.name if numbered else (*entry.path, entry.line)[0])
    return kind, block, depth, natural_key(entry.context), meaning


def _backward(entry: FrrEntry) -> tuple[object, ...]:
    """Order what goes: the opposite of what comes."""
    kind, depth, meaning = rank(entry)
    block = natural_key(entry.path[0]) if entry.context else ()
    return -kind, block, -depth, natural_key(entry.context), -meaning
