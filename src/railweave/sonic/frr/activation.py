"""Which neighbors are active in IPv4 unicast without a line that says so.

With ``bgp default ipv4-unicast``, which is on, FRR prints only the neighbors that are not active; without it only those
that are. Where a change turns it, every neighbor's line is stated on both sides, so that none changes by the way.
"""

from collections.abc import Iterable, Iterator

from railweave.sonic.frr.lines import JOIN, FrrEntry, defined_neighbor, membership, neighbor_of

QUIET = "no bgp default ipv4-unicast"
FIRST_FAMILY = "address-family ipv4 unicast"

_Entries = tuple[FrrEntry, ...]


def with_activations(had: _Entries, wants: _Entries) -> tuple[_Entries, _Entries]:
    """Return the lines of two configurations, with the activations of the routers that turn the default."""
    turned = {one.context for one in had if one.line == QUIET} ^ {one.context for one in wants if one.line == QUIET}
    turned &= {one.line for one in had if not one.context} & {one.line for one in wants if not one.context}
    if not turned:
        return had, wants
    return tuple(_stated(had, turned)), tuple(_stated(wants, turned))


def _stated(entries: _Entries, routers: Iterable[str]) -> Iterator[FrrEntry]:
    routers = frozenset(routers)
    quiet = {entry.context for entry in entries if entry.line == QUIET}
    loud = {router: f"{router}{JOIN}{FIRST_FAMILY}" for router in routers - quiet}
    inactive = {(one.context, neighbor_of(one.line)) for one in entries if _says_inactive(one)}
    members = {(one.context, neighbor_of(one.line)) for one in entries if membership(one.line)}
    for entry in entries:
        if not (_says_inactive(entry) and entry.context in loud.values()):
            yield entry
    for router, family in loud.items():
        names = dict.fromkeys(defined_neighbor(one.line) for one in entries if one.context == router)
        for name in names:
            if name is not None and (family, name) not in inactive and (router, name) not in members:
                yield FrrEntry(family, f"neighbor {name} activate")


def _says_inactive(entry: FrrEntry) -> bool:
    return entry.line.startswith("no neighbor ") and entry.line.endswith(" activate")
