"""Neighbors that are active in IPv4 unicast without a line that says so.

With ``bgp default ipv4-unicast``, which is on, FRR prints only the neighbors that are not active; without it only those
that are. Where a change turns it, every neighbor's line is stated on both sides, so that no neighbor changes silently.
"""

from collections.abc import Iterable, Iterator

from railweave.sonic.frr.lines import JOIN, FrrEntry, defined_neighbor, membership, neighbor_of

QUIET = "no bgp default ipv4-unicast"
FIRST_FAMILY = "address-family ipv4 unicast"

_Entries = tuple[FrrEntry, ...]


def with_activations(running: _Entries, intended: _Entries) -> tuple[_Entries, _Entries]:
    """Return the lines of two configurations, with the activations of the routers that turn the default."""
    turned = _quiet_routers(running) ^ _quiet_routers(intended)
    # A router that comes or goes has all of its lines in the difference anyway.
    turned &= _top_lines(running) & _top_lines(intended)
    if not turned:
        return running, intended
    return tuple(_stated(running, turned)), tuple(_stated(intended, turned))


def _quiet_routers(entries: _Entries) -> set[str]:
    return {entry.context for entry in entries if entry.line == QUIET}


def _top_lines(entries: _Entries) -> set[str]:
    return {entry.line for entry in entries if not entry.context}


def _stated(entries: _Entries, routers: set[str]) -> Iterator[FrrEntry]:
    """Yield the lines with ``activate`` for the neighbors of ``routers`` that are active by default."""
    families = {router: f"{router}{JOIN}{FIRST_FAMILY}" for router in routers - _quiet_routers(entries)}
    inactive: set[tuple[str, str | None]] = set()
    for entry in entries:
        if not _says_inactive(entry):
            yield entry
            continue
        inactive.add((entry.context, neighbor_of(entry.line)))
        if entry.context not in families.values():
            yield entry
    for router, family in families.items():
        for name in _neighbors_without_group(entries, router):
            if (family, name) not in inactive:
                yield FrrEntry(family, f"neighbor {name} activate")


def _neighbors_without_group(entries: _Entries, router: str) -> Iterable[str]:
    """Return the neighbors and groups of a router; members follow their group's activation."""
    lines = [entry.line for entry in entries if entry.context == router]
    members = {neighbor_of(line) for line in lines if membership(line)}
    names = dict.fromkeys(map(defined_neighbor, lines))
    return [name for name in names if name is not None and name not in members]


def _says_inactive(entry: FrrEntry) -> bool:
    return entry.line.startswith("no neighbor ") and entry.line.endswith(" activate")
