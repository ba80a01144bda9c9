"""Taking traffic off a switch, or off some of its links, by BGP while all sessions stay up (RFC 8326).

The whole switch: ``bgp graceful-shutdown`` makes FRR announce everything with the community 65535:0, which receivers
answer with local preference 0, and give what it receives local preference 0. Some links: a route-map in each direction
that calls the one in force and then adds the same community and preference; the community travels on, so the switches
behind prefer other ways to what is beyond the link. Both need another way: then nothing is lost (run on FRR 8.4.4).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from railweave.sonic.frr.document import FrrDocument, write_lines
from railweave.sonic.frr.drain_lines import WHOLE_LINE, binding, is_drain_line, map_name
from railweave.sonic.frr.lines import JOIN, FrrEntry, defined_neighbor, is_group, membership, neighbor_of
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
"""What ``drained_peers`` says of a switch that is drained as a whole."""

_WAYS = ("in", "out")
_COMMUNITY = "set community graceful-shutdown additive"


def drain_text(document: FrrDocument, peers: Sequence[str] | None) -> str:
    """Return the text for ``vtysh -f`` that drains these BGP peers; None or ``("*",)`` drains the whole switch.

    Peers that FRR does not have carry nothing and are passed over; empty text: there is nothing left to drain.
    """
    return _text(_missing(document, peers))


def undo_text(document: FrrDocument, peers: Sequence[str] | None) -> str:
    """Return the text that removes exactly what ``drain_text`` with the same arguments adds."""
    return _text(_removals(_missing(document, peers)))


def drain_lines(document: FrrDocument) -> str:
    """Return the lines that drain, in their contexts, as a text; empty where nothing is drained."""
    return _text(document.drain)


def undrain_text(document: FrrDocument, kept: Collection[FrrEntry] = ()) -> str:
    """Return the text for ``vtysh -f`` that removes the lines that drain but ``kept``; empty where there is none."""
    return _text(_removals(entry for entry in document.drain if entry not in kept))


def redrained(document: FrrDocument, removed: Sequence[FrrEntry], added: Sequence[FrrEntry]) -> FrrDocument | None:
    """Return ``document`` after lines that drain went and came; None where others did, too."""
    for entry in (*removed, *added):
        bound = binding(entry)
        if not is_drain_line(entry.context, entry.line) or (bound is not None and bound.own):
            return None
    return replace(document, drain=(*(entry for entry in document.drain if entry not in removed), *added))


def drained_peers(document: FrrDocument) -> tuple[str, ...]:
    """Return the BGP peers that are drained, in natural order; ``("*",)`` for the whole switch, ``()`` for none."""
    if any(entry.line == WHOLE_LINE for entry in document.drain):
        return WHOLE
    bound = (binding(entry) for entry in document.drain)
    return tuple(sorted({one.peer for one in bound if one is not None}, key=natural_key))


def is_whole(peers: Collection[str] | None) -> bool:
    """Tell whether these peers mean the whole switch."""
    return peers is None or "*" in peers


def _text(entries: Iterable[FrrEntry]) -> str:
    lines = list(write_lines(entries))
    return "\n".join([*lines, ""]) if lines else ""


def _missing(document: FrrDocument, peers: Sequence[str] | None) -> list[FrrEntry]:
    """Return the lines that drain and are not there, in an order that can be applied."""
    present = set(document.drain)
    if any(entry.line == WHOLE_LINE for entry in present):
        return []
    if is_whole(peers):
        routers = [entry.line for entry in document.entries if entry.line.startswith("router bgp ")]
        return [FrrEntry(router, WHOLE_LINE) for router in routers]
    bindings = {entry: called for entry, called in _bindings(document, frozenset(peers or ())) if entry not in present}
    maps = dict.fromkeys(line for entry, called in bindings.items() for line in _route_map(entry, called))
    return [*(entry for entry in maps if entry not in present), *bindings]


def _route_map(bound: FrrEntry, called: str) -> Iterator[FrrEntry]:
    """Yield the route-map of a binding, which lets the one in force decide and then marks what it lets through.

    Its entries begin at 100: SONiC's TSA writes its own below into the route-maps that it finds.
    """
    _, _, _, name, way = bound.line.split()
    header = f"route-map {name} permit"
    yield FrrEntry("", f"{header} 100")
    if called:
        yield FrrEntry(f"{header} 100", f"call {called}")
    yield FrrEntry(f"{header} 100", "on-match next")
    yield FrrEntry("", f"{header} 110")
    yield FrrEntry(f"{header} 110", _COMMUNITY)
    if way == "in":
        yield FrrEntry(f"{header} 110", "set local-preference 0")


def _bindings(document: FrrDocument, peers: Collection[str]) -> Iterator[tuple[FrrEntry, str]]:
    """Yield the lines that put our route-maps before those in force, for each address family that a peer talks.

    Each comes with the name of the route-map in force, empty where there is none.
    """
    drained = {(one.context, one.peer, one.way) for one in map(binding, document.drain) if one is not None}
    for router in (entry.line for entry in document.entries if entry.line.startswith("router bgp ")):
        groups = _neighbors(document, router)
        for context in _families(document, router):
            lines = {entry.line for entry in document.entries if entry.context == context}
            for peer in sorted(peers & groups.keys(), key=natural_key):
                if not _talks(lines, peer, groups[peer]) and not _talks_anyway(document, context):
                    continue
                for way in _WAYS:
                    if (context, peer, way) not in drained:
                        own, inherited = _map_of(lines, peer, way), _map_of(lines, groups[peer], way)
                        name = map_name(own, inherited, way)
                        yield FrrEntry(context, f"neighbor {peer} route-map {name} {way}"), own or inherited


def _neighbors(document: FrrDocument, router: str) -> dict[str, str]:
    """Return the neighbors of an instance with their peer groups, empty for none; groups themselves are left out."""
    found: dict[str, str] = {}
    for entry in document.entries:
        name = defined_neighbor(entry.line) if entry.context == router else None
        if name and not is_group(entry.line):
            found[name] = membership(entry.line) or found.get(name, "")
    groups = {neighbor_of(entry.line) for entry in document.entries if is_group(entry.line)}
    return {name: group for name, group in found.items() if name not in groups}


def _families(document: FrrDocument, router: str) -> list[str]:
    start = f"{router}{JOIN}address-family "
    found = dict.fromkeys(entry.context for entry in document.entries if entry.context.startswith(start))
    return [*found] or [f"{start}ipv4 unicast"]


def _talks(lines: Collection[str], peer: str, group: str) -> bool:
    return f"neighbor {peer} activate" in lines or (bool(group) and f"neighbor {group} activate" in lines)


def _talks_anyway(document: FrrDocument, context: str) -> bool:
    """Tell whether neighbors exchange IPv4 routes without being told: FRR's default."""
    router, _, family = context.partition(JOIN)
    return family == "address-family ipv4 unicast" and (
        FrrEntry(router, "no bgp default ipv4-unicast") not in document.entries
    )


def _map_of(lines: Iterable[str], name: str, way: str) -> str:
    for line in lines:
        words = line.split()
        if words[:1] == ["neighbor"] and words[1:3] == [name, "route-map"] and words[-1] == way:
            return words[3]
    return ""


def _removals(entries: Iterable[FrrEntry]) -> list[FrrEntry]:
    """Return the commands that remove these lines: neighbors first, then the route-maps that nobody uses any more."""
    commands: list[FrrEntry] = []
    maps: dict[str, None] = {}
    for entry in entries:
        bound = binding(entry)
        if bound is not None:
            own = f"neighbor {bound.peer} route-map {bound.own} {bound.way}"
            commands.append(FrrEntry(entry.context, own if bound.own else f"no {entry.line}"))
        elif entry.line == WHOLE_LINE:
            commands.append(FrrEntry(entry.context, f"no {WHOLE_LINE}"))
        elif not entry.context:
            maps[entry.line.split()[1]] = None
    return [*commands, *(FrrEntry("", f"no route-map {name}") for name in maps)]
