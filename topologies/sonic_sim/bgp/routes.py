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

_REST = 4.0
"""A new calculation waits for so many times the length of the last: convergence takes time in large fabrics."""


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
class _Memory:
    signature: object = None
    ribs: dict[str, Rib] = field(default_factory=dict)
    took_s: float = 0.0
    at: float = 0.0


_NOTHING: Mapping[str, Route] = {}
_UNSEEN = Route("")
"""Stands for what filters made of a route that they have not seen."""

_memories: WeakKeyDictionary[Fabric, _Memory] = WeakKeyDictionary()


def ribs_of(net: Fabric) -> dict[str, Rib]:
    """Return the routes of all switches, calculated again only when something changed."""
    memory = _memories.setdefault(net, _Memory())
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
    devices = net.devices.values()
    parts = [
        (_underlay(net, one), one.frr.version, one.frr.running, one.times.frr_up <= one.clock.now(), one.faults.version)
        for one in devices
    ]
    # While sessions are still coming up every look differs from the one before.
    settling = max((_begun(one) + one.clock.real_s(6.0) - one.clock.now() for one in devices), default=0.0)
    return (net.version, tuple(parts), max(0.0, settling), tuple(map(_unnoticed, devices)))


def _begun(device: Device) -> float:
    """Return when sessions of a switch last began to open: FRR started, or they were cleared."""
    return max(device.times.frr_up, *device.frr.cleared.values()) if device.frr.cleared else device.times.frr_up


def _unnoticed(device: Device) -> float:
    """Return for how long a switch that is silent may have neighbors that did not notice it yet."""
    since = device.faults.since(FaultKind.SILENT)
    instance = bgp_of(device)
    if since is None or instance is None:
        return -1.0
    longest = longest_hold_s(device.network, device, {peer: one.hold_s for peer, one in instance.neighbors.items()})
    return max(0.0, since + device.clock.real_s(longest) - device.clock.now())


def _underlay(net: Fabric, device: Device) -> int:
    """Return a number that changes with the addresses and links of a switch, but not with its other rows."""

    def fingerprint() -> int:
        links = [(p.name, p.admin_up, p.speed_mbps, p.fec, p.autoneg) for p in net.ports(device).values()]
        return hash((tuple(links), tuple(device.addresses())))

    return net.kept(device, "underlay", (device.db.version, net.version), fingerprint)


def _converge(net: Fabric, ribs: dict[str, Rib]) -> None:
    """Let the routes of all switches follow what they are configured for and how they are connected now.

    Only what changed travels: the routes of a wave of a thousand switches take a hundredth of what all routes take.
    """
    speaking = {name: one for name, one in net.devices.items() if bgp_of(one) is not None and one.frr.running}
    for name in ribs.keys() - speaking.keys():
        del ribs[name]
    # What changed at a switch since it last announced: a spine then announces the prefixes of all its leaves at once.
    waiting: dict[str, set[str]] = {}
    opened: dict[str, set[str]] = {}
    for name, device in speaking.items():
        changed, peers = _adapt(ribs, device)
        if changed:
            waiting[name] = changed
        if peers:
            opened.setdefault(name, set()).update(peers)
            for peer in peers:
                one = ribs[name].sessions[peer]
                opened.setdefault(one.remote, set()).add(one.remote_peer)
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


def _spread(waiting: dict[str, set[str]], changed: dict[str, set[str]]) -> None:
    for name, prefixes in changed.items():
        waiting.setdefault(name, set()).update(prefixes)


def _adapt(ribs: dict[str, Rib], device: Device) -> tuple[set[str], set[str]]:
    """Give a switch its instance, filters, sessions and own prefixes of now; return the prefixes that changed by that,
    and the peers whose sessions are new or exchange all routes once more."""
    instance = bgp_of(device)
    policies = policies_of(device)
    assert instance is not None, device.name  # noqa: S101
    sessions = {peer: one for peer, one in sessions_of(device).items() if one.established}
    rib = ribs.setdefault(device.name, Rib(instance, policies, {}))
    known = rib.instance is instance and rib.policies is policies
    peers = {peer for peer, one in sessions.items() if not known or rib.sessions.get(peer) != one}
    moved = [peer for peer in rib.sessions if peer in sessions] != [peer for peer in sessions if peer in rib.sessions]
    rib.instance = instance
    rib.policies = policies
    rib.sessions = sessions
    rib.order = {peer: place for place, peer in enumerate(sessions)}
    changed = {
        prefix
        for peer in rib.received.keys() - sessions.keys()
        for prefix in rib.received.pop(peer)
        if _choose(rib, prefix)
    }
    if moved:
        changed |= {prefix for prefix in tuple(rib.best) if _choose(rib, prefix)}
    own = dict.fromkeys(originated(device, instance))
    for prefix in [prefix for prefix, (_, source) in rib.best.items() if not source and prefix not in own]:
        del rib.best[prefix]
        _choose(rib, prefix)
        changed.add(prefix)
    for prefix in own:
        if rib.best.get(prefix, (None, None))[1] != "":
            rib.best[prefix] = (Route(prefix), "")
            changed.add(prefix)
    return changed, peers


def _all_prefixes(ribs: dict[str, Rib], name: str, peers: set[str]) -> set[str]:
    """Return all prefixes that a switch has routes to, and those that these peers still have from it."""
    rib = ribs[name]
    prefixes = set(ribs[name].best)
    for peer in peers & rib.sessions.keys():
        one = rib.sessions[peer]
        if one.remote in ribs:
            prefixes.update(ribs[one.remote].received.get(one.remote_peer, ()))
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
    routes |= {
        str(network(f"{one.address}/{one.length}")): "connected"
        for one in device.addresses()
        if device.link_up(one.interface)
    }
    return routes


def static_is_active(device: Device, words: Sequence[str]) -> bool:
    """Tell whether zebra uses a static route: not while the link of the interface that it names after its gateway is
    down (FRR 8.4, measured: staticd takes it away, and ``network`` announces it no longer)."""
    return len(words) < 5 or words[4] not in device.network.ports(device) or device.link_up(words[4])


def _announce(ribs: dict[str, Rib], name: str, prefixes: set[str], peers: Collection[str]) -> dict[str, set[str]]:
    """Send changed prefixes over sessions of a switch; return which prefixes changed at whom."""
    rib = ribs[name]
    changed: dict[str, set[str]] = {}
    sent: dict[Export, dict[str, Route]] = {}
    families = _by_version(prefixes)
    for peer in peers:
        one = rib.sessions.get(peer)
        remote = ribs.get(one.remote) if one is not None else None
        back = remote.sessions.get(one.remote_peer) if one is not None and remote is not None else None
        if one is None or remote is None or back is None:
            continue
        table = remote.received.setdefault(one.remote_peer, {})
        for version, own in families.items():
            export = _export(rib, one.neighbor, version)
            taking = back.neighbor.exchanges[version]
            if export not in sent:
                sent[export] = _outgoing(rib, export, own)
            offers = sent[export]
            taken = _taking(remote, rib, taking)
            for prefix in own:
                offered = offers.get(prefix)
                # a route is not sent back to where it came from
                came_back = offered is not None and rib.best[prefix][1] == peer
                route = None if offered is None or came_back else taken(offered)
                if table.get(prefix) == route:
                    continue
                if route is None:
                    del table[prefix]
                else:
                    table[prefix] = route
                if _choose_again(remote, prefix, one.remote_peer, route):
                    changed.setdefault(one.remote, set()).add(prefix)
    return changed


def _by_version(prefixes: Iterable[str]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for prefix in prefixes:
        found.setdefault(version_of(prefix), []).append(prefix)
    return found


def _taking(remote: Rib, sender: Rib, back: Exchange) -> Callable[[Route], Route | None]:
    """Return what makes of a route what the far end keeps, None where it does not keep it."""
    own = remote.instance.asn
    instance = remote.instance
    external = own != sender.instance.asn
    if not back.active or (external and instance.policy_required and not (back.map_in or back.list_in)):
        return lambda _: None
    judged = remote.policies.judged(back.map_in, back.list_in)
    allowed = back.allow_own_as

    def taken(route: Route) -> Route | None:
        if own in route.path and route.path.count(own) > allowed:
            return None
        kept = judged.get(route, _UNSEEN)
        if kept is _UNSEEN:
            kept = remote.policies.through(back.map_in, back.list_in, route)
        return kept if kept is None or not external else _shut_down(remote, kept)

    return taken


def _shut_down(remote: Rib, route: Route) -> Route:
    """Return a route of another AS as RFC 8326 wants it: the last choice where either end is being shut down."""
    if remote.instance.graceful_shutdown:
        route = route._replace(communities=route.communities | {GRACEFUL_SHUTDOWN})
    return route._replace(local_preference=0) if GRACEFUL_SHUTDOWN in route.communities else route


Export = tuple[int, bool, bool, str, str, int]
"""What decides how routes leave: IP version, active, external, route-map, prefix list, the AS number that is put in
front."""


def _export(rib: Rib, neighbor: Neighbor, version: int) -> Export:
    external = neighbor.remote_as != "internal" and neighbor.remote_as != str(rib.instance.asn)
    own = neighbor.exchanges[version]
    number = neighbor.local_as or rib.instance.asn
    return (version, own.active, external, own.map_out, own.list_out, number)


def _outgoing(rib: Rib, export: Export, prefixes: Iterable[str]) -> dict[str, Route]:
    """Return the best routes of these prefixes as they leave."""
    _, active, external, map_out, list_out, number = export
    if not active or (external and rib.instance.policy_required and not (map_out or list_out)):
        return {}
    held_back = {"no-advertise", "no-export"} if external else {"no-advertise"}
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
    wanted = {
        prefix: (best.local_preference, len(best.path))
        for prefix, (best, source) in rib.best.items()
        if source and (prefixes is None or prefix in prefixes)
    }
    hops: dict[str, list[tuple[str, str]]] = {prefix: [] for prefix in wanted}
    for peer, one in rib.sessions.items():
        received = rib.received.get(peer, _NOTHING)
        for prefix, rank in wanted.items():
            route = received.get(prefix)
            if route is not None and (route.local_preference, len(route.path)) == rank:
                hops[prefix].append((peer, one.port))
    return {prefix: paths for prefix, paths in hops.items() if paths}


def _count_sent(rib: Rib) -> None:
    """Count what is sent to each peer.

    FRR builds its updates for all peers of one outbound policy at once: it keeps a route from the peer that it came
    from only where that peer is alone in its update group. Elsewhere the peer gets its own routes back, and drops them
    by its AS number (seen on 8.4).
    """
    rib.sent = {}
    leaving: dict[Export, dict[str, Route]] = {}
    came_from: dict[str, list[str]] = {}
    for prefix, (_, source) in rib.best.items():
        came_from.setdefault(source, []).append(prefix)
    best = _by_version(rib.best)
    exports = {
        (peer, version): _export(rib, one.neighbor, version)
        for peer, one in rib.sessions.items()
        for version in FAMILIES
    }
    members = Counter(exports.values())
    for (peer, version), export in exports.items():
        if export not in leaving:
            leaving[export] = _outgoing(rib, export, best.get(version, ()))
        alone = came_from.get(peer, ()) if members[export] == 1 else ()
        rib.sent[peer, version] = len(leaving[export]) - sum(1 for prefix in alone if prefix in leaving[export])


def _choose_again(rib: Rib, prefix: str, peer: str, route: Route | None) -> bool:
    """Choose the best route again after ``route`` came from ``peer`` (None: it withdrew its own); return whether what
    is announced changed. All others are looked at only where the best one may have become worse."""
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
    rank = -route.local_preference, len(route.path)
    best_rank = -best.local_preference, len(best.path)
    if source == peer and rank > best_rank:
        return _choose(rib, prefix)
    if source != peer and (rank, rib.order[peer]) > (best_rank, rib.order[source]):
        return False
    rib.best[prefix] = (route, peer)
    return old != rib.best[prefix]


def _choose(rib: Rib, prefix: str) -> bool:
    """Choose the best route among all again; return whether what is announced changed."""
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
