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
    """Return the lines of both configurations, with every activation stated in routers whose default changes.

    Only routers count that both configurations have.
    """
    changing_routers = _quiet_routers(running) ^ _quiet_routers(intended)
    # All lines of a router that is added or removed are in the difference anyway.
    changing_routers &= _top_lines(running) & _top_lines(intended)
    if not changing_routers:
        return running, intended
    return (
        tuple(_with_stated_activations(running, changing_routers)),
        tuple(_with_stated_activations(intended, changing_routers)),
    )


def _quiet_routers(entries: _Entries) -> set[str]:
    return {entry.context for entry in entries if entry.line == QUIET}


def _top_lines(entries: _Entries) -> set[str]:
    return {entry.line for entry in entries if not entry.context}


def _with_stated_activations(entries: _Entries, routers: set[str]) -> Iterator[FrrEntry]:
    """Yield the lines, with an ``activate`` for each neighbor of ``routers`` that is active by default.

    In routers where that is the default, the ``no`` forms of inactive neighbors are left out: the absence of
    ``activate`` says the same.
    """
    active_by_default = routers - _quiet_routers(entries)
    family_of_router = {router: f"{router}{JOIN}{FIRST_FAMILY}" for router in active_by_default}
    families = frozenset(family_of_router.values())
    inactive: set[tuple[str, str | None]] = set()
    for entry in entries:
        is_inactivation = _says_inactive(entry)
        if is_inactivation:
            inactive.add((entry.context, neighbor_of(entry.line)))
        if not is_inactivation or entry.context not in families:
            yield entry
    for router, family in family_of_router.items():
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
