"""The routes of one switch, and which of several to a prefix it takes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sonic_sim.bgp.instance import Instance
from sonic_sim.bgp.policy import Policies, Route
from sonic_sim.bgp.sessions import Session

_NOTHING: Mapping[str, Route] = {}


@dataclass(slots=True)
class Rib:
    """The routes of one switch: received ones by peer, the best by prefix with the peer (empty: own). ``sent`` counts
    routes by peer and IP version, ``order`` is the place of each peer in the configuration."""

    instance: Instance
    policies: Policies
    sessions: dict[str, Session]
    received: dict[str, dict[str, Route]] = field(default_factory=dict)
    best: dict[str, tuple[Route, str]] = field(default_factory=dict)
    sent: dict[tuple[str, int], int] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)


def version_of(prefix: str) -> int:
    """Return the IP version of a prefix."""
    return 6 if ":" in prefix else 4


def equal_paths(rib: Rib, prefixes: Collection[str] | None = None) -> dict[str, list[tuple[str, str]]]:
    """Return the equally good peers of every received prefix, in the order of the configuration: (peer, port).

    With ``prefixes`` only those are looked at.
    """
    ranks = _ranks_of_received(rib, prefixes)
    hops: dict[str, list[tuple[str, str]]] = {}
    for peer, session in rib.sessions.items():
        received = rib.received.get(peer, _NOTHING)
        for prefix, rank in ranks.items():
            route = received.get(prefix)
            if route is not None and (route.local_preference, len(route.path)) == rank:
                hops.setdefault(prefix, []).append((peer, session.port))
    # In the order of the best routes, whatever session has a prefix first.
    return {prefix: hops[prefix] for prefix in ranks if prefix in hops}


def _ranks_of_received(rib: Rib, prefixes: Collection[str] | None) -> dict[str, tuple[int, int]]:
    """Return preference and length of path of the best route to each prefix that is not the switch's own."""
    ranks = {}
    for prefix, (best, source) in rib.best.items():
        if source and (prefixes is None or prefix in prefixes):
            ranks[prefix] = (best.local_preference, len(best.path))
    return ranks


def choose_again(rib: Rib, prefix: str, peer: str, route: Route | None) -> bool:
    """Choose the best route again after ``route`` came from ``peer`` (None: it withdrew its own); return whether what
    is announced changed."""
    old = rib.best.get(prefix)
    if old is None:
        if route is not None:
            rib.best[prefix] = (route, peer)
        return route is not None
    best, source = old
    if source == "":
        return False
    if source == peer:
        # All others are looked at only where the best one became worse.
        if route is None or _rank(route) > _rank(best):
            return choose(rib, prefix)
    elif route is None or (_rank(route), rib.order[peer]) > (_rank(best), rib.order[source]):
        return False
    rib.best[prefix] = (route, peer)
    return old != rib.best[prefix]


def _rank(route: Route) -> tuple[int, int]:
    """Return what a route is chosen by, the best first."""
    return -route.local_preference, len(route.path)


def choose(rib: Rib, prefix: str) -> bool:
    """Choose the best route again among all; return whether the announcement changed."""
    old = rib.best.get(prefix)
    if old is not None and old[1] == "":
        return False
    best: tuple[Route, str] | None = None
    # In the order of the configuration, so that the choice among equals does not depend on what came first.
    for peer in rib.sessions:
        route = rib.received.get(peer, _NOTHING).get(prefix)
        if route is None:
            continue
        if best is None or _rank(route) < _rank(best[0]):
            best = (route, peer)
    if best == old:
        return False
    if best is None:
        del rib.best[prefix]
    else:
        rib.best[prefix] = best
    return True
