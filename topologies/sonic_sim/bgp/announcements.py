"""Announcements from switch to switch: what a session's filters let out at one end, and in at the other."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from sonic_sim.bgp.instance import FAMILIES, Exchange, Neighbor
from sonic_sim.bgp.policy import GRACEFUL_SHUTDOWN, PREFERENCE, Route
from sonic_sim.bgp.rib import Rib, choose_again, version_of

# Stands for the result of filters on a route that they have not seen.
_UNSEEN = Route("")


def announce(ribs: dict[str, Rib], name: str, prefixes: set[str], peers: Collection[str]) -> dict[str, set[str]]:
    """Send these prefixes to peers of the switch ``name``; return, by switch, those whose best route changed."""
    rib = ribs[name]
    changed: defaultdict[str, set[str]] = defaultdict(set)
    # Peers with the same export get the same routes, which are calculated once.
    outgoing: dict[Export, dict[str, Route]] = {}
    prefixes_by_version = _by_version(prefixes)
    for peer in peers:
        session = rib.sessions.get(peer)
        # The daemons of the far end may have ended since the session was established.
        if session is None or session.remote not in ribs:
            continue
        remote = ribs[session.remote]
        remote_session = remote.sessions.get(session.remote_peer)
        if remote_session is None:
            continue
        for version, sent_prefixes in prefixes_by_version.items():
            export = _export(rib, session.neighbor, version)
            if export not in outgoing:
                outgoing[export] = _outgoing(rib, export, sent_prefixes)
            keep = _import_filter(remote, rib, remote_session.neighbor.exchanges[version])
            new_best = _deliver(rib, peer, remote, session.remote_peer, sent_prefixes, outgoing[export], keep)
            if new_best:
                changed[session.remote] |= new_best
    return changed


def _deliver(
    rib: Rib, peer: str, remote: Rib, remote_peer: str, prefixes: Iterable[str], offers: Mapping[str, Route],
    keep: Callable[[Route], Route | None],
) -> set[str]:  # fmt: skip
    """Replace the far end's routes to ``prefixes`` by those of ``offers``; return those whose best route changed.

    ``rib`` and ``peer`` are the sender and its name of the far end, ``remote`` and ``remote_peer`` the far end and its
    name of the sender. ``keep`` filters a route as the far end does; a prefix without an offer is withdrawn.
    """
    table = remote.received.setdefault(remote_peer, {})
    changed: set[str] = set()
    for prefix in prefixes:
        offer = offers.get(prefix)
        # A route is not sent back to where it came from.
        if offer is None or rib.best[prefix].peer == peer:
            route = None
        else:
            route = keep(offer)
        if table.get(prefix) == route:
            continue
        if route is None:
            del table[prefix]
        else:
            table[prefix] = route
        if choose_again(remote, prefix, remote_peer, route):
            changed.add(prefix)
    return changed


def _by_version(prefixes: Iterable[str]) -> dict[int, list[str]]:
    """Return prefixes by IP version."""
    versions: dict[int, list[str]] = {}
    for prefix in prefixes:
        versions.setdefault(version_of(prefix), []).append(prefix)
    return versions


def _import_filter(remote: Rib, sender: Rib, exchange: Exchange) -> Callable[[Route], Route | None]:
    """Return the function by which ``remote`` filters the routes of ``sender``.

    It returns a route as it is kept, or None for a route to drop.
    """
    instance = remote.instance
    own_as = instance.asn
    is_external = own_as != sender.instance.asn
    # Without a policy FRR takes no routes of another AS (RFC 8212, ``bgp ebgp-requires-policy``).
    lacks_policy = is_external and instance.policy_required and not (exchange.map_in or exchange.list_in)
    if not exchange.active or lacks_policy:
        return lambda _: None
    results = remote.policies.results(exchange.map_in, exchange.list_in)
    most_times = exchange.allow_own_as

    def keep(route: Route) -> Route | None:
        # A path with the own AS number is a loop; ``allowas-in`` lets it pass so many times.
        if own_as in route.path and route.path.count(own_as) > most_times:
            return None
        filtered = results.get(route, _UNSEEN)
        if filtered is _UNSEEN:
            filtered = remote.policies.through(exchange.map_in, exchange.list_in, route)
        if filtered is None or not is_external:
            return filtered
        return _shut_down(remote, filtered)

    return keep


def _shut_down(remote: Rib, route: Route) -> Route:
    """Return a route of another AS; if either end is being shut down, without any preference (RFC 8326)."""
    if remote.instance.graceful_shutdown:
        route = route._replace(communities=route.communities | {GRACEFUL_SHUTDOWN})
    if GRACEFUL_SHUTDOWN in route.communities:
        return route._replace(local_preference=0)
    return route


class Export(NamedTuple):
    """What decides how routes of an IP version leave to a neighbor; ``own_as`` is put in front of their paths."""

    version: int
    is_active: bool
    is_external: bool
    route_map: str
    prefix_list: str
    own_as: int


def _export(rib: Rib, neighbor: Neighbor, version: int) -> Export:
    """Return how routes of an IP version leave to a neighbor."""
    exchange = neighbor.exchanges[version]
    return Export(
        version,
        is_active=exchange.active,
        is_external=neighbor.remote_as not in ("internal", str(rib.instance.asn)),
        route_map=exchange.map_out,
        prefix_list=exchange.list_out,
        own_as=neighbor.local_as or rib.instance.asn,
    )


def _outgoing(rib: Rib, export: Export, prefixes: Iterable[str]) -> dict[str, Route]:
    """Return, by prefix, the best routes to these prefixes as they leave; those that do not leave are left out."""
    if not export.is_active or _lacks_policy(rib, export):
        return {}
    # Well-known communities (RFC 1997).
    communities_kept = {"no-advertise", "no-export"} if export.is_external else {"no-advertise"}
    outgoing = {}
    for prefix in prefixes:
        best = rib.best.get(prefix)
        if best is None or communities_kept & best.route.communities:
            continue
        route = rib.policies.through(export.route_map, export.prefix_list, best.route)
        if route is None:
            continue
        if export.is_external:
            route = _to_other_as(rib, route, export.own_as)
        outgoing[prefix] = route
    return outgoing


def _lacks_policy(rib: Rib, export: Export) -> bool:
    """Tell whether no route may leave because a policy is missing: FRR then sends none to another AS (RFC 8212)."""
    has_policy = bool(export.route_map or export.prefix_list)
    return export.is_external and rib.instance.policy_required and not has_policy


def _to_other_as(rib: Rib, route: Route, own_as: int) -> Route:
    """Return a route as it leaves to another AS.

    The path has the own AS number in front, the preference is the usual one, and a drained switch adds its community.
    """
    communities = route.communities
    if rib.instance.graceful_shutdown:
        communities |= {GRACEFUL_SHUTDOWN}
    return route._replace(path=(own_as, *route.path), local_preference=PREFERENCE, communities=communities)


def count_sent(rib: Rib) -> None:
    """Set ``rib.sent`` to the numbers of routes sent to each peer, by IP version."""
    exports: dict[tuple[str, int], Export] = {}
    for peer, session in rib.sessions.items():
        for version in FAMILIES:
            exports[peer, version] = _export(rib, session.neighbor, version)
    group_sizes = Counter(exports.values())
    prefixes = _by_version(rib.best)
    outgoing = {export: _outgoing(rib, export, prefixes.get(export.version, ())) for export in group_sizes}
    prefixes_from = _best_by_peer(rib)
    rib.sent = {}
    for (peer, version), export in exports.items():
        routes = outgoing[export]
        count = len(routes)
        # FRR builds its updates for all peers of one outbound policy at once: it keeps a route from the peer that it
        # came from only where that peer is alone in its update group. Elsewhere the peer gets its own routes back, and
        # drops them by its AS number (seen on 8.4).
        if group_sizes[export] == 1:
            count -= sum(1 for prefix in prefixes_from[peer] if prefix in routes)
        rib.sent[peer, version] = count


def _best_by_peer(rib: Rib) -> defaultdict[str, list[str]]:
    """Return the prefixes whose best route each peer sent."""
    prefixes: defaultdict[str, list[str]] = defaultdict(list)
    for prefix, best in rib.best.items():
        prefixes[best.peer].append(prefix)
    return prefixes
