"""Announcements from switch to switch: what a session's filters let out at one end, and in at the other."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from sonic_sim.bgp.instance import FAMILIES, Exchange, Neighbor
from sonic_sim.bgp.policy import GRACEFUL_SHUTDOWN, PREFERENCE, Route
from sonic_sim.bgp.rib import Rib, choose_again, version_of

# Stands for the result of filters on a route that they have not seen.
_UNSEEN = Route("")


def announce(ribs: dict[str, Rib], name: str, prefixes: set[str], peers: Collection[str]) -> dict[str, set[str]]:
    """Send changed prefixes over sessions of a switch; return which prefixes changed at whom."""
    rib = ribs[name]
    changed: dict[str, set[str]] = {}
    # Peers with the same export get the same routes, which are calculated once.
    outgoing: dict[Export, dict[str, Route]] = {}
    families = _by_version(prefixes)
    for peer in peers:
        session = rib.sessions.get(peer)
        # The far end may have stopped to speak since the session was established.
        if session is None or session.remote not in ribs:
            continue
        remote = ribs[session.remote]
        back = remote.sessions.get(session.remote_peer)
        if back is None:
            continue
        for version, own in families.items():
            export = _export(rib, session.neighbor, version)
            if export not in outgoing:
                outgoing[export] = _outgoing(rib, export, own)
            keep = _taking(remote, rib, back.neighbor.exchanges[version])
            moved = _deliver(rib, peer, remote, session.remote_peer, own, outgoing[export], keep)
            if moved:
                changed.setdefault(session.remote, set()).update(moved)
    return changed


def _deliver(
    rib: Rib, peer: str, remote: Rib, remote_peer: str, prefixes: Iterable[str], offers: Mapping[str, Route],
    keep: Callable[[Route], Route | None],
) -> set[str]:  # fmt: skip
    """Put offered routes into the far end's table; return the prefixes whose best route changed."""
    table = remote.received.setdefault(remote_peer, {})
    changed: set[str] = set()
    for prefix in prefixes:
        offer = offers.get(prefix)
        # A route is not sent back to where it came from.
        if offer is None or rib.best[prefix][1] == peer:
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
    families: dict[int, list[str]] = {}
    for prefix in prefixes:
        families.setdefault(version_of(prefix), []).append(prefix)
    return families


def _taking(remote: Rib, sender: Rib, back: Exchange) -> Callable[[Route], Route | None]:
    """Return a function that returns a route as the far end keeps it, None where it does not keep it."""
    instance = remote.instance
    own = instance.asn
    external = own != sender.instance.asn
    # Without a policy FRR takes no routes of another AS (RFC 8212, ``bgp ebgp-requires-policy``).
    lacks_policy = external and instance.policy_required and not (back.map_in or back.list_in)
    if not back.active or lacks_policy:
        return lambda _: None
    judged = remote.policies.judged(back.map_in, back.list_in)
    allowed = back.allow_own_as

    def keep(route: Route) -> Route | None:
        # A path with the own AS number is a loop, but for as often as ``allowas-in`` lets it pass.
        if own in route.path and route.path.count(own) > allowed:
            return None
        kept = judged.get(route, _UNSEEN)
        if kept is _UNSEEN:
            kept = remote.policies.through(back.map_in, back.list_in, route)
        if kept is None or not external:
            return kept
        return _shut_down(remote, kept)

    return keep


def _shut_down(remote: Rib, route: Route) -> Route:
    """Return a route of another AS as the last choice where either end is being shut down (RFC 8326)."""
    if remote.instance.graceful_shutdown:
        route = route._replace(communities=route.communities | {GRACEFUL_SHUTDOWN})
    if GRACEFUL_SHUTDOWN in route.communities:
        return route._replace(local_preference=0)
    return route


# What decides how routes leave: IP version, active, external, route-map, prefix list, the AS number put in front.
Export = tuple[int, bool, bool, str, str, int]


def _export(rib: Rib, neighbor: Neighbor, version: int) -> Export:
    external = neighbor.remote_as != "internal" and neighbor.remote_as != str(rib.instance.asn)
    own = neighbor.exchanges[version]
    number = neighbor.local_as or rib.instance.asn
    return (version, own.active, external, own.map_out, own.list_out, number)


def _outgoing(rib: Rib, export: Export, prefixes: Iterable[str]) -> dict[str, Route]:
    """Return the best routes of these prefixes as they leave."""
    _, active, external, map_out, list_out, number = export
    if not active or _lacks_policy(rib, export):
        return {}
    held_back = {"no-advertise"}
    if external:
        held_back.add("no-export")
    sent = {}
    for prefix in prefixes:
        best = rib.best.get(prefix)
        if best is None or held_back & best[0].communities:
            continue
        route = rib.policies.through(map_out, list_out, best[0])
        if route is None:
            continue
        if external:
            route = _sent(rib, route, number)
        sent[prefix] = route
    return sent


def _lacks_policy(rib: Rib, export: Export) -> bool:
    """Tell whether no route may leave: without a policy FRR sends none to another AS (RFC 8212)."""
    _, _, external, map_out, list_out, _ = export
    return external and rib.instance.policy_required and not (map_out or list_out)


def _sent(rib: Rib, route: Route, number: int) -> Route:
    """Return a route as it leaves to another AS: our number in front, no preference, marked while we are drained."""
    shut_down = {GRACEFUL_SHUTDOWN} if rib.instance.graceful_shutdown else frozenset()
    return route._replace(
        path=(number, *route.path), local_preference=PREFERENCE, communities=route.communities | shut_down
    )


def count_sent(rib: Rib) -> None:
    """Count the routes sent to each peer."""
    rib.sent = {}
    leaving: dict[Export, dict[str, Route]] = {}
    came_from: dict[str, list[str]] = {}
    for prefix, (_, source) in rib.best.items():
        came_from.setdefault(source, []).append(prefix)
    best = _by_version(rib.best)
    exports: dict[tuple[str, int], Export] = {}
    for peer, session in rib.sessions.items():
        for version in FAMILIES:
            exports[peer, version] = _export(rib, session.neighbor, version)
    members = Counter(exports.values())
    for (peer, version), export in exports.items():
        if export not in leaving:
            leaving[export] = _outgoing(rib, export, best.get(version, ()))
        count = len(leaving[export])
        # FRR builds its updates for all peers of one outbound policy at once: it keeps a route from the peer that it
        # came from only where that peer is alone in its update group. Elsewhere the peer gets its own routes back, and
        # drops them by its AS number (seen on 8.4).
        if members[export] == 1:
            count -= sum(1 for prefix in came_from.get(peer, ()) if prefix in leaving[export])
        rib.sent[peer, version] = count
