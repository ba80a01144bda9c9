"""Routes of every switch: announcements travel session by session through the policies until nothing changes."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from sonic_sim.bgp.instance import FAMILIES, Exchange, Instance, Neighbor
from sonic_sim.bgp.opened import longest_hold_s
from sonic_sim.bgp.policy import GRACEFUL_SHUTDOWN, PREFERENCE, Policies, Route, network
from sonic_sim.bgp.sessions import Session, bgp_of, policies_of, sessions_of
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind

# A new calculation waits for so many times the length of the last: convergence takes time in large fabrics.
_REST = 4.0


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


@dataclass(slots=True)
class _Calculated:
    signature: object = None
    ribs: dict[str, Rib] = field(default_factory=dict)
    took_s: float = 0.0
    at: float = 0.0


_NOTHING: Mapping[str, Route] = {}
# Stands for the result of filters on a route that they have not seen.
_UNSEEN = Route("")

_memories: WeakKeyDictionary[Fabric, _Calculated] = WeakKeyDictionary()


def ribs_of(net: Fabric) -> dict[str, Rib]:
    """Return the routes of all switches, calculated again only when something changed."""
    memory = _memories.setdefault(net, _Calculated())
    signature = _signature(net)
    if not net.devices:
        return {}
    clock = next(iter(net.devices.values())).clock
    now = clock.monotonic()
    if memory.signature != signature and now >= memory.at + _REST * memory.took_s:
        # A new mapping: what others derive from routes is kept by it.
        memory.ribs = dict(memory.ribs)
        _converge(net, memory.ribs)
        memory.signature = signature
        memory.at = clock.monotonic()
        memory.took_s = memory.at - now
    return memory.ribs


def forget_routes(net: Fabric) -> None:
    """Calculate all routes afresh when they are asked for next."""
    _memories.pop(net, None)


def pass_seconds(net: Fabric, seconds: float) -> None:
    """Let routes converge as if so many seconds had passed."""
    if net in _memories:
        _memories[net].at -= seconds


def _signature(net: Fabric) -> object:
    """Return a value that changes with everything that routes depend on."""
    devices = net.devices.values()
    parts = []
    settling_s = 0.0
    for device in devices:
        frr_is_up = device.times.frr_up <= device.clock.now()
        parts.append((_underlay(net, device), device.frr.version, device.frr.running, frr_is_up, device.faults.version))
        # While sessions are still coming up every look differs from the one before.
        settling_s = max(settling_s, _begun(device) + device.clock.real_s(6.0) - device.clock.now())
    return (net.version, tuple(parts), settling_s, tuple(map(_unnoticed, devices)))


def _begun(device: Device) -> float:
    """Return when sessions of a switch last began to open: FRR started, or they were cleared."""
    return max(device.times.frr_up, *device.frr.cleared.values(), 0.0)


def _unnoticed(device: Device) -> float:
    """Return for how long a switch that is silent may have neighbors that did not notice it yet."""
    since = device.faults.since(FaultKind.SILENT)
    instance = bgp_of(device)
    if since is None or instance is None:
        return -1.0
    hold_times = {peer: neighbor.hold_s for peer, neighbor in instance.neighbors.items()}
    longest = longest_hold_s(device.network, device, hold_times)
    return max(0.0, since + device.clock.real_s(longest) - device.clock.now())


def _underlay(net: Fabric, device: Device) -> int:
    """Return a number that changes with the addresses and links of a switch, but not with its other rows."""

    def fingerprint() -> int:
        ports = net.ports(device).values()
        links = [(port.name, port.admin_up, port.speed_mbps, port.fec, port.autoneg) for port in ports]
        return hash((tuple(links), tuple(device.addresses())))

    return net.kept(device, "underlay", (device.db.version, net.version), fingerprint)


def _converge(net: Fabric, ribs: dict[str, Rib]) -> None:
    """Bring the routes of all switches up to date with configurations and connections.

    Only what changed travels: the routes of a wave of a thousand switches take a hundredth of what all routes take.
    """
    speaking = {name: device for name, device in net.devices.items() if _speaks(device)}
    for name in ribs.keys() - speaking.keys():
        del ribs[name]
    # What changed at a switch since it last announced: a spine then announces the prefixes of all its leaves at once.
    waiting: dict[str, set[str]] = {}
    opened: dict[str, set[str]] = {}
    for name, device in speaking.items():
        changed, peers = _adapt(ribs, device)
        if changed:
            waiting[name] = changed
        for peer in peers:
            session = ribs[name].sessions[peer]
            opened.setdefault(name, set()).add(peer)
            # A session that is new at one end is new at the other one too.
            opened.setdefault(session.remote, set()).add(session.remote_peer)
    touched = waiting.keys() | opened.keys()
    for name in opened.keys() & ribs.keys():
        _spread(waiting, _announce(ribs, name, _all_prefixes(ribs, name, opened[name]), opened[name]))
    while waiting:
        name = next(iter(waiting))
        touched.add(name)
        _spread(waiting, _announce(ribs, name, waiting.pop(name), ribs[name].sessions.keys()))
    for name, rib in ribs.items():
        if name in touched or {peer for peer, _ in rib.sent} != rib.sessions.keys():
            _count_sent(rib)


def _speaks(device: Device) -> bool:
    return bgp_of(device) is not None and device.frr.running


def _spread(waiting: dict[str, set[str]], changed: dict[str, set[str]]) -> None:
    for name, prefixes in changed.items():
        waiting.setdefault(name, set()).update(prefixes)


def _adapt(ribs: dict[str, Rib], device: Device) -> tuple[set[str], set[str]]:
    """Give a switch its instance, filters, sessions and own prefixes of now; return the prefixes that changed by that,
    and the peers whose sessions are new or exchange all routes once more."""
    instance = bgp_of(device)
    policies = policies_of(device)
    assert instance is not None, device.name  # noqa: S101
    sessions = {peer: session for peer, session in sessions_of(device).items() if session.established}
    rib = ribs.setdefault(device.name, Rib(instance, policies, {}))
    # With another configuration every route may pass the filters in another way.
    is_reconfigured = rib.instance is not instance or rib.policies is not policies
    peers = {peer for peer, session in sessions.items() if is_reconfigured or rib.sessions.get(peer) != session}
    before = [peer for peer in rib.sessions if peer in sessions]
    after = [peer for peer in sessions if peer in rib.sessions]
    rib.instance = instance
    rib.policies = policies
    rib.sessions = sessions
    rib.order = {peer: place for place, peer in enumerate(sessions)}
    changed: set[str] = set()
    for peer in rib.received.keys() - sessions.keys():
        changed.update(prefix for prefix in rib.received.pop(peer) if _choose(rib, prefix))
    if before != after:
        # Among equal routes the first peer of the configuration wins.
        changed.update(prefix for prefix in tuple(rib.best) if _choose(rib, prefix))
    return changed | _adapt_own(rib, originated(device, instance)), peers


def _adapt_own(rib: Rib, prefixes: Iterable[str]) -> set[str]:
    """Announce exactly these prefixes as the switch's own; return those that changed."""
    changed: set[str] = set()
    own = dict.fromkeys(prefixes)
    for prefix in [prefix for prefix, (_, source) in rib.best.items() if not source and prefix not in own]:
        del rib.best[prefix]
        _choose(rib, prefix)
        changed.add(prefix)
    for prefix in own:
        if rib.best.get(prefix, (None, None))[1] != "":
            rib.best[prefix] = (Route(prefix), "")
            changed.add(prefix)
    return changed


def _all_prefixes(ribs: dict[str, Rib], name: str, peers: set[str]) -> set[str]:
    """Return all prefixes that a switch has routes to, and those that these peers still have from it."""
    rib = ribs[name]
    prefixes = set(rib.best)
    for peer in peers & rib.sessions.keys():
        session = rib.sessions[peer]
        if session.remote in ribs:
            prefixes.update(ribs[session.remote].received.get(session.remote_peer, ()))
    return prefixes


def originated(device: Device, instance: Instance) -> list[str]:
    """Return the prefixes that a switch announces itself: ``network`` lines that are in its routing table."""
    routes = local_routes(device)
    own = [prefix for prefix in instance.networks if prefix in routes or not instance.import_check]
    for version, kind in instance.redistribute:
        own += [prefix for prefix, source in routes.items() if source == kind and version_of(prefix) == version]
    return list(dict.fromkeys(own))


def local_routes(device: Device) -> dict[str, str]:
    """Return connected and static routes: prefix -> ``connected`` or ``static``."""
    routes: dict[str, str] = {}
    for line in device.frr.root.lines.values():
        if line.startswith(("ip route ", "ipv6 route ")) and static_is_active(device, line.split()):
            routes[line.split()[2]] = "static"
    # A connected route wins over a static one by its distance.
    for address in device.addresses():
        if device.link_up(address.interface):
            routes[str(network(f"{address.address}/{address.length}"))] = "connected"
    return routes


def static_is_active(device: Device, words: Sequence[str]) -> bool:
    """Tell whether zebra uses a static route."""
    if len(words) < 5 or words[4] not in device.network.ports(device):
        return True
    # While the link of the interface after the gateway is down, staticd takes the route away, and ``network``
    # announces it no longer (FRR 8.4, measured).
    return device.link_up(words[4])


def _announce(ribs: dict[str, Rib], name: str, prefixes: set[str], peers: Collection[str]) -> dict[str, set[str]]:
    """Send changed prefixes over sessions of a switch; return which prefixes changed at whom."""
    rib = ribs[name]
    changed: dict[str, set[str]] = {}
    # Peers with the same export get the same routes, which are calculated once.
    outgoing: dict[Export, dict[str, Route]] = {}
    families = _by_version(prefixes)
    for peer in peers:
        session = rib.sessions.get(peer)
        remote = ribs.get(session.remote) if session is not None else None
        back = remote.sessions.get(session.remote_peer) if session is not None and remote is not None else None
        if session is None or remote is None or back is None:
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
        if _choose_again(remote, prefix, remote_peer, route):
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
    # Without a policy FRR sends no routes to another AS (RFC 8212).
    if not active or (external and rib.instance.policy_required and not (map_out or list_out)):
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
        if route is not None:
            sent[prefix] = _sent(rib, route, number) if external else route
    return sent


def _sent(rib: Rib, route: Route, number: int) -> Route:
    """Return a route as it leaves to another AS: our number in front, no preference, marked while we are drained."""
    shut_down = {GRACEFUL_SHUTDOWN} if rib.instance.graceful_shutdown else frozenset()
    return route._replace(
        path=(number, *route.path), local_preference=PREFERENCE, communities=route.communities | shut_down
    )


def equal_paths(rib: Rib, prefixes: Collection[str] | None = None) -> dict[str, list[tuple[str, str]]]:
    """Return the equally good peers of every received prefix, in the order of the configuration: (peer, port). With
    ``prefixes`` only those are looked at."""
    ranks: dict[str, tuple[int, int]] = {}
    for prefix, (best, source) in rib.best.items():
        if source and (prefixes is None or prefix in prefixes):
            ranks[prefix] = (best.local_preference, len(best.path))
    hops: dict[str, list[tuple[str, str]]] = {}
    for peer, session in rib.sessions.items():
        received = rib.received.get(peer, _NOTHING)
        for prefix, rank in ranks.items():
            route = received.get(prefix)
            if route is not None and (route.local_preference, len(route.path)) == rank:
                hops.setdefault(prefix, []).append((peer, session.port))
    # In the order of the best routes, whatever session has a prefix first.
    return {prefix: hops[prefix] for prefix in ranks if prefix in hops}


def _count_sent(rib: Rib) -> None:
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


def _choose_again(rib: Rib, prefix: str, peer: str, route: Route | None) -> bool:
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
    if route is None:
        return source == peer and _choose(rib, prefix)
    rank = (-route.local_preference, len(route.path))
    best_rank = (-best.local_preference, len(best.path))
    # All others are looked at only where the best one became worse.
    if source == peer and rank > best_rank:
        return _choose(rib, prefix)
    if source != peer and (rank, rib.order[peer]) > (best_rank, rib.order[source]):
        return False
    rib.best[prefix] = (route, peer)
    return old != rib.best[prefix]


def _choose(rib: Rib, prefix: str) -> bool:
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
        if best is None or (-route.local_preference, len(route.path)) < (-best[0].local_preference, len(best[0].path)):
            best = (route, peer)
    if best == old:
        return False
    if best is None:
        del rib.best[prefix]
    else:
        rib.best[prefix] = best
    return True
