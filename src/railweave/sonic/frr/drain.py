"""Taking traffic off a switch, or off some of its links, by BGP while all sessions stay up (RFC 8326).

The whole switch: ``bgp graceful-shutdown`` makes FRR announce everything with the community 65535:0, to which receivers
give local preference 0, and give all received routes local preference 0. Some links: a route-map in each direction
that calls the one in force and then adds the same community and preference; the community travels on, so the switches
behind prefer other paths to what is beyond the link. With another path no packet is lost (run on FRR 8.4.4).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from railweave.sonic.frr.document import FrrDocument
from railweave.sonic.frr.drain_lines import WHOLE_LINE, binding, is_drain_line, map_name, replaced_maps
from railweave.sonic.frr.lines import JOIN, FrrEntry, defined_neighbor, is_group, membership, neighbor_of
from railweave.sonic.frr.writing import write_lines
from railweave.wording import natural_key

__all__ = [
    "WHOLE",
    "drain_lines",
    "drain_text",
    "drained_peers",
    "is_drain_line",
    "is_whole",
    "redrained",
    "undo_text",
    "undrain_text",
]

WHOLE = ("*",)
"""The result of ``drained_peers`` for a switch that is drained as a whole."""

_DIRECTIONS = ("in", "out")
_COMMUNITY = "set community graceful-shutdown additive"


def drain_text(document: FrrDocument, peers: Sequence[str] | None) -> str:
    """Return the text for ``vtysh -f`` that drains these BGP peers, or the whole switch for None or ``("*",)``.

    Peers that FRR does not have are skipped. The text is empty if everything is drained already.
    """
    return _text(_missing_lines(document, peers))


def undo_text(document: FrrDocument, peers: Sequence[str] | None) -> str:
    """Return the text that removes exactly what ``drain_text`` with the same arguments adds."""
    return _text(_removals(_missing_lines(document, peers)))


def drain_lines(document: FrrDocument) -> str:
    """Return the lines of ``document`` that drain as a text with their contexts; empty if nothing is drained."""
    return _text(document.drain)


def undrain_text(document: FrrDocument, kept: Collection[FrrEntry] = ()) -> str:
    """Return the text for ``vtysh -f`` that removes all lines that drain except ``kept``; empty if there are none."""
    return _text(_removals(entry for entry in document.drain if entry not in kept))


def redrained(document: FrrDocument, removed: Sequence[FrrEntry], added: Sequence[FrrEntry]) -> FrrDocument | None:
    """Return ``document`` after a change of drain lines.

    None if the change has other lines too, or if it replaces a neighbor's own route-map, which is configuration.
    """
    for entry in (*removed, *added):
        if not is_drain_line(entry.context, entry.line):
            return None
        bound = binding(entry)
        if bound is not None and bound.own:
            return None
    remaining = [entry for entry in document.drain if entry not in removed]
    return replace(document, drain=(*remaining, *added))


def drained_peers(document: FrrDocument) -> tuple[str, ...]:
    """Return the BGP peers that are drained, in natural order; ``("*",)`` for the whole switch, ``()`` for none."""
    if _is_whole_drained(document):
        return WHOLE
    bindings = (binding(entry) for entry in document.drain)
    return tuple(sorted({bound.peer for bound in bindings if bound is not None}, key=natural_key))


def is_whole(peers: Collection[str] | None) -> bool:
    """Tell whether these peers mean the whole switch."""
    return peers is None or "*" in peers


def _text(entries: Iterable[FrrEntry]) -> str:
    return "".join(f"{line}\n" for line in write_lines(entries))


def _is_whole_drained(document: FrrDocument) -> bool:
    """Tell whether BGP graceful shutdown drains the whole switch."""
    return any(entry.line == WHOLE_LINE for entry in document.drain)


def _missing_lines(document: FrrDocument, peers: Sequence[str] | None) -> list[FrrEntry]:
    """Return the lines that ``document`` needs to drain these peers, in an order in which FRR can apply them."""
    if _is_whole_drained(document):
        return []
    if is_whole(peers):
        return [FrrEntry(router, WHOLE_LINE) for router in _routers(document)]
    present = set(document.drain)
    # Each route-map comes before the line that binds it to a neighbor; several neighbors may have the same.
    map_lines: dict[FrrEntry, None] = {}
    bindings: list[FrrEntry] = []
    for new_binding in _new_bindings(document, frozenset(peers or ())):
        if new_binding.entry not in present:
            bindings.append(new_binding.entry)
            map_lines.update(dict.fromkeys(_route_map(new_binding)))
    return [entry for entry in map_lines if entry not in present] + bindings


def _routers(document: FrrDocument) -> list[str]:
    return [entry.line for entry in document.entries if entry.line.startswith("router bgp ")]


class _NewBinding(NamedTuple):
    """A binding that a drain adds, the route-map of ours that it binds, and the one in force until then."""

    entry: FrrEntry
    direction: str
    route_map: str
    # Empty if there is none.
    map_in_force: str


def _route_map(new_binding: _NewBinding) -> Iterator[FrrEntry]:
    """Yield the lines of a binding's route-map: it calls the one in force and marks the routes that this permits."""
    header = f"route-map {new_binding.route_map} permit"
    # SONiC's TSA writes its own entries, up to 40, into the route-maps that it finds.
    yield FrrEntry("", f"{header} 100")
    if new_binding.map_in_force:
        yield FrrEntry(f"{header} 100", f"call {new_binding.map_in_force}")
    yield FrrEntry(f"{header} 100", "on-match next")
    yield FrrEntry("", f"{header} 110")
    yield FrrEntry(f"{header} 110", _COMMUNITY)
    if new_binding.direction == "in":
        yield FrrEntry(f"{header} 110", "set local-preference 0")


def _new_bindings(document: FrrDocument, peers: Collection[str]) -> Iterator[_NewBinding]:
    """Yield the bindings that drain ``peers``, in each address family that a peer uses."""
    for router in _routers(document):
        group_of = _groups_of_neighbors(document, router)
        present_peers = sorted(peers & group_of.keys(), key=natural_key)
        for context in _families(document, router):
            lines = {entry.line for entry in document.entries if entry.context == context}
            is_default_active = _is_active_by_default(document, context)
            for peer in present_peers:
                if is_default_active or _is_active(lines, peer, group_of[peer]):
                    yield from _bindings_of_peer(document, context, lines, peer, group_of[peer])


def _bindings_of_peer(
    document: FrrDocument, context: str, lines: Collection[str], peer: str, group: str
) -> Iterator[_NewBinding]:
    """Yield a binding for each direction of a peer that is not drained yet."""
    drained = replaced_maps(document.drain)
    for direction in _DIRECTIONS:
        if (context, peer, direction) in drained:
            continue
        own = _map_of(lines, peer, direction)
        inherited = _map_of(lines, group, direction)
        route_map = map_name(own, inherited, direction)
        entry = FrrEntry(context, f"neighbor {peer} route-map {route_map} {direction}")
        yield _NewBinding(entry, direction, route_map, map_in_force=own or inherited)


def _groups_of_neighbors(document: FrrDocument, router: str) -> dict[str, str]:
    """Return the neighbors of an instance with their peer groups, empty for a neighbor without one."""
    neighbors: dict[str, str] = {}
    for entry in document.entries:
        if entry.context != router:
            continue
        name = defined_neighbor(entry.line)
        if name and not is_group(entry.line):
            neighbors[name] = membership(entry.line) or neighbors.get(name, "")
    groups = _groups(document)
    return {name: group for name, group in neighbors.items() if name not in groups}


def _groups(document: FrrDocument) -> set[str | None]:
    return {neighbor_of(entry.line) for entry in document.entries if is_group(entry.line)}


def _families(document: FrrDocument, router: str) -> list[str]:
    """Return the contexts of a router's address families; IPv4 unicast if it states none."""
    start = f"{router}{JOIN}address-family "
    contexts = dict.fromkeys(entry.context for entry in document.entries if entry.context.startswith(start))
    return [*contexts] or [f"{start}ipv4 unicast"]


def _is_active(lines: Collection[str], peer: str, group: str) -> bool:
    return f"neighbor {peer} activate" in lines or (bool(group) and f"neighbor {group} activate" in lines)


def _is_active_by_default(document: FrrDocument, context: str) -> bool:
    """Tell whether neighbors are active by default in the address family of a context."""
    router, _, family = context.partition(JOIN)
    if family != "address-family ipv4 unicast":
        return False
    # FRR's ``bgp default ipv4-unicast`` is on.
    return FrrEntry(router, "no bgp default ipv4-unicast") not in document.entries


def _map_of(lines: Iterable[str], name: str, direction: str) -> str:
    """Return the route-map that a neighbor or group has in one direction; empty if it has none."""
    for line in lines:
        match line.split():
            case ["neighbor", peer, "route-map", route_map, *_, last] if peer == name and last == direction:
                return route_map
    return ""


def _removals(entries: Iterable[FrrEntry]) -> list[FrrEntry]:
    """Return the commands that remove these lines: bindings first, then the route-maps, which nothing uses then."""
    commands: list[FrrEntry] = []
    maps: dict[str, None] = {}
    for entry in entries:
        bound = binding(entry)
        if bound is not None and bound.own:
            command = f"neighbor {bound.peer} route-map {bound.own} {bound.direction}"
            commands.append(FrrEntry(entry.context, command))
        elif bound is not None:
            # Without a route-map of its own a member uses its group's.
            commands.append(FrrEntry(entry.context, f"no {entry.line}"))
        elif entry.line == WHOLE_LINE:
            commands.append(FrrEntry(entry.context, f"no {WHOLE_LINE}"))
        elif not entry.context:
            maps[entry.line.split()[1]] = None
    return [*commands, *(FrrEntry("", f"no route-map {name}") for name in maps)]
