"""The routes of one switch, and which of several to a prefix it takes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sonic_sim.bgp.instance import Instance
from sonic_sim.bgp.policy import Policies, Route
from sonic_sim.bgp.sessions import Session

_NOTHING: Mapping[str, Route] = {}


class BestRoute(NamedTuple):
    """The route that a switch takes to a prefix, and the peer that sent it, empty for the switch's own route."""

    route: Route
    peer: str

    @property
    def is_own(self) -> bool:
        """Tell whether the switch announces the prefix itself."""
        return not self.peer


class EqualPath(NamedTuple):
    """One of the equally good paths to a prefix: the peer that sent the route, and the port towards it."""

    peer: str
    port: str


@dataclass(slots=True)
class Rib:
    """The routes of one switch.

    ``received`` has the routes by peer and prefix, ``best`` the best route by prefix, and ``sent`` the numbers of
    routes by peer and IP version. ``order`` numbers the peers as they are configured.
    """

    instance: Instance
    policies: Policies
    sessions: dict[str, Session]
    received: dict[str, dict[str, Route]] = field(default_factory=dict)
    best: dict[str, BestRoute] = field(default_factory=dict)
    sent: dict[tuple[str, int], int] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)


def version_of(prefix: str) -> int:
    """Return the IP version of a prefix."""
    return 6 if ":" in prefix else 4


def equal_paths(rib: Rib, prefixes: Collection[str] | None = None) -> dict[str, list[EqualPath]]:
    """Return the equally good paths to each prefix that peers announce, in the order of the configuration.

    With ``prefixes`` the others are left out.
    """
    ranks = _ranks_of_received(rib, prefixes)
    paths: dict[str, list[EqualPath]] = {prefix: [] for prefix in ranks}
    for peer, session in rib.sessions.items():
        path = EqualPath(peer, session.port)
        received = rib.received.get(peer, _NOTHING)
        for prefix, rank in ranks.items():
            route = received.get(prefix)
            # `_rank` written out: in a large fabric this runs millions of times.
            if route is not None and (-route.local_preference, len(route.path)) == rank:
                paths[prefix].append(path)
    return {prefix: members for prefix, members in paths.items() if members}


def _ranks_of_received(rib: Rib, prefixes: Collection[str] | None) -> dict[str, tuple[int, int]]:
    """Return the rank of the best route to each prefix that is not the switch's own."""
    ranks = {}
    for prefix, best in rib.best.items():
        if not best.is_own and (prefixes is None or prefix in prefixes):
            ranks[prefix] = _rank(best.route)
    return ranks


def choose_again(rib: Rib, prefix: str, peer: str, route: Route | None) -> bool:
    """Choose the best route to a prefix again after ``peer`` has sent another ``route``, or None to withdraw it.

    Returns whether what the switch announces changed.
    """
    old = rib.best.get(prefix)
    if old is None:
        if route is not None:
            rib.best[prefix] = BestRoute(route, peer)
        return route is not None
    if old.is_own:
        # The switch prefers its own route to any other.
        return False
    if old.peer == peer:
        # If the best route got worse (a higher rank) or went away, that of another peer may be better now.
        if route is None or _rank(route) > _rank(old.route):
            return choose(rib, prefix)
    elif route is None or (_rank(route), rib.order[peer]) > (_rank(old.route), rib.order[old.peer]):
        # With equal ranks the route of the peer that is first in the configuration stays the best.
        return False
    best = BestRoute(route, peer)
    rib.best[prefix] = best
    return best != old


def _rank(route: Route) -> tuple[int, int]:
    """Return what routes are compared by: of two routes to a prefix the one with the lower rank is better."""
    return -route.local_preference, len(route.path)


def choose(rib: Rib, prefix: str) -> bool:
    """Choose the best of all received routes to a prefix; return whether what the switch announces changed.

    The switch's own route stays the best.
    """
    old = rib.best.get(prefix)
    if old is not None and old.is_own:
        return False
    best = _best_received(rib, prefix)
    if best == old:
        return False
    if best is None:
        del rib.best[prefix]
    else:
        rib.best[prefix] = best
    return True


def _best_received(rib: Rib, prefix: str) -> BestRoute | None:
    """Return the best route that peers sent to a prefix; None if they sent none.

    Of equal routes the one of the first peer in the configuration counts, whichever came first.
    """
    best: BestRoute | None = None
    for peer in rib.sessions:
        route = rib.received.get(peer, _NOTHING).get(prefix)
        if route is not None and (best is None or _rank(route) < _rank(best.route)):
            best = BestRoute(route, peer)
    return best
