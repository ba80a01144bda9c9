"""Routes of every switch: announcements travel session by session through the policies until nothing changes."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sonic_sim.bgp.announcements import announce, count_sent
from sonic_sim.bgp.opened import longest_hold_s
from sonic_sim.bgp.origins import originated
from sonic_sim.bgp.policy import Route
from sonic_sim.bgp.rib import BestRoute, Rib, choose
from sonic_sim.bgp.sessions import Session, bgp_of, policies_of, sessions_of
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind

# A new calculation waits for so many times the length of the last: convergence takes time in large fabrics.
_REST = 4.0


# Sessions are open so long after FRR started or somebody cleared them.
_SETTLES_S = 6.0


@dataclass(slots=True)
class _Calculation:
    """The last calculation of routes, which took ``took_s`` and ended ``at`` (s, steady clock).

    ``signature`` is the value of ``_signature`` for which it was made.
    """

    signature: object = None
    ribs: dict[str, Rib] = field(default_factory=dict)
    took_s: float = 0.0
    at: float = 0.0


_memories: WeakKeyDictionary[Fabric, _Calculation] = WeakKeyDictionary()


def ribs_of(net: Fabric) -> dict[str, Rib]:
    """Return the routes of all switches by name; they are calculated again only when something changed."""
    last = _memories.setdefault(net, _Calculation())
    signature = _signature(net)
    if not net.devices:
        return {}
    clock = next(iter(net.devices.values())).clock
    now = clock.monotonic()
    has_rested = now >= last.at + _REST * last.took_s
    if last.signature != signature and has_rested:
        # A new mapping, by which others notice that they must derive their values again.
        last.ribs = dict(last.ribs)
        _converge(net, last.ribs)
        last.signature = signature
        last.at = clock.monotonic()
        last.took_s = last.at - now
    return last.ribs


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
        settled_at = _opening_since(device) + device.clock.real_s(_SETTLES_S)
        # While sessions are still coming up, this differs at every call.
        settling_s = max(settling_s, settled_at - device.clock.now())
    return (net.version, tuple(parts), settling_s, tuple(map(_unnoticed_s, devices)))


def _opening_since(device: Device) -> float:
    """Return the time at which sessions of a switch last began to open: FRR started, or they were cleared."""
    return max(device.times.frr_up, *device.frr.cleared.values(), 0.0)


def _unnoticed_s(device: Device) -> float:
    """Return the seconds for which neighbors may still not notice that a switch is silent; -1 if it is not."""
    since = device.faults.since(FaultKind.SILENT)
    instance = bgp_of(device)
    if since is None or instance is None:
        return -1.0
    hold_times_s = {peer: neighbor.hold_s for peer, neighbor in instance.neighbors.items()}
    hold_s = longest_hold_s(device.network, device, hold_times_s)
    return max(0.0, since + device.clock.real_s(hold_s) - device.clock.now())


def _underlay(net: Fabric, device: Device) -> int:
    """Return a number that changes with the addresses and links of a switch, and with nothing else."""

    def fingerprint() -> int:
        ports = net.ports(device).values()
        links = [(port.name, port.admin_up, port.speed_mbps, port.fec, port.autoneg) for port in ports]
        return hash((tuple(links), tuple(device.addresses())))

    return net.kept(device, "underlay", (device.db.version, net.version), fingerprint)


def _converge(net: Fabric, ribs: dict[str, Rib]) -> None:
    """Bring ``ribs`` up to date with configurations and connections.

    Only what changed travels: the routes of a wave of a thousand switches take a hundredth of what all routes take.
    """
    speaking = {name: device for name, device in net.devices.items() if _speaks(device)}
    for name in ribs.keys() - speaking.keys():
        del ribs[name]
    waiting, new_peers = _update_all(ribs, speaking)
    touched = waiting.keys() | new_peers.keys()
    # A new session carries all routes.
    for name in new_peers.keys() & ribs.keys():
        prefixes = _all_prefixes(ribs, name, new_peers[name])
        _add_waiting(waiting, announce(ribs, name, prefixes, new_peers[name]))
    # What is announced may change best routes of others, which they announce in turn.
    while waiting:
        name = next(iter(waiting))
        touched.add(name)
        _add_waiting(waiting, announce(ribs, name, waiting.pop(name), ribs[name].sessions.keys()))
    _count_all_sent(ribs, touched)


def _count_all_sent(ribs: Mapping[str, Rib], touched: Container[str]) -> None:
    """Count the routes sent by switches that were ``touched``, and by those whose sessions changed since a count."""
    for name, rib in ribs.items():
        counted_peers = {peer for peer, _ in rib.sent}
        if name in touched or counted_peers != rib.sessions.keys():
            count_sent(rib)


def _update_all(
    ribs: dict[str, Rib], speaking: Mapping[str, Device]
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Update every switch; return the prefixes that it has to announce, and the peers that get all of its routes.

    Both are by switch. A spine announces the prefixes of all its leaves at once, so the changed ones are gathered.
    """
    waiting: dict[str, set[str]] = {}
    new_peers: defaultdict[str, set[str]] = defaultdict(set)
    for name, device in speaking.items():
        update = _update(ribs, device)
        if update.prefixes:
            waiting[name] = update.prefixes
        for peer in update.peers:
            session = ribs[name].sessions[peer]
            new_peers[name].add(peer)
            # A session that is new at one end is new at the other one too.
            new_peers[session.remote].add(session.remote_peer)
    return waiting, new_peers


def _speaks(device: Device) -> bool:
    """Tell whether BGP runs on a switch."""
    return bgp_of(device) is not None and device.frr.running


def _add_waiting(waiting: dict[str, set[str]], changed: dict[str, set[str]]) -> None:
    """Add ``changed`` prefixes, by switch, to those that are waiting to be announced."""
    for name, prefixes in changed.items():
        waiting.setdefault(name, set()).update(prefixes)


class _RouteUpdate(NamedTuple):
    """What a switch has to announce after an update: the prefixes that changed, and the peers that get all routes."""

    prefixes: set[str]
    peers: set[str]


def _update(ribs: dict[str, Rib], device: Device) -> _RouteUpdate:
    """Bring the instance, filters, sessions and own prefixes of a switch up to date; return what it has to announce.

    Peers with a new session get all routes; if the configuration changed, every peer does.
    """
    instance = bgp_of(device)
    policies = policies_of(device)
    assert instance is not None, device.name  # noqa: S101
    sessions = {peer: session for peer, session in sessions_of(device).items() if session.established}
    rib = ribs.setdefault(device.name, Rib(instance, policies, {}))
    if rib.instance is instance and rib.policies is policies:
        peers = {peer for peer in sessions if rib.sessions.get(peer) != sessions[peer]}
    else:
        # With another configuration every route may pass the filters in another way.
        peers = set(sessions)
    rib.instance = instance
    rib.policies = policies
    changed = _replace_sessions(rib, sessions) | _update_own(rib, originated(device, instance))
    return _RouteUpdate(changed, peers)


def _replace_sessions(rib: Rib, sessions: dict[str, Session]) -> set[str]:
    """Replace the sessions of a switch, and drop the routes of those that ended; return the prefixes that changed."""
    is_reordered = _common(rib.sessions, sessions) != _common(sessions, rib.sessions)
    rib.sessions = sessions
    rib.order = {peer: number for number, peer in enumerate(sessions)}
    changed: set[str] = set()
    for peer in rib.received.keys() - sessions.keys():
        changed |= _choose_all(rib, rib.received.pop(peer))
    if is_reordered:
        # Among equal routes the first peer of the configuration wins.
        changed |= _choose_all(rib, tuple(rib.best))
    return changed


def _choose_all(rib: Rib, prefixes: Iterable[str]) -> set[str]:
    """Choose the best routes again; return the prefixes whose announcement changed."""
    return {prefix for prefix in prefixes if choose(rib, prefix)}


def _common(peers: Iterable[str], other_peers: Container[str]) -> list[str]:
    """Return those of ``peers`` that are also in ``other_peers``, in the order of ``peers``."""
    return [peer for peer in peers if peer in other_peers]


def _update_own(rib: Rib, prefixes: Iterable[str]) -> set[str]:
    """Make exactly these prefixes the switch's own; return those that were added or removed."""
    own = dict.fromkeys(prefixes)
    removed = [prefix for prefix, best in rib.best.items() if best.is_own and prefix not in own]
    for prefix in removed:
        del rib.best[prefix]
        choose(rib, prefix)
    added = [prefix for prefix in own if prefix not in rib.best or not rib.best[prefix].is_own]
    for prefix in added:
        rib.best[prefix] = BestRoute(Route(prefix), "")
    return {*removed, *added}


def _all_prefixes(ribs: dict[str, Rib], name: str, peers: set[str]) -> set[str]:
    """Return all prefixes that a switch has routes to, and those to which ``peers`` still have routes from it."""
    rib = ribs[name]
    prefixes = set(rib.best)
    for peer in peers & rib.sessions.keys():
        session = rib.sessions[peer]
        if session.remote in ribs:
            prefixes.update(ribs[session.remote].received.get(session.remote_peer, ()))
    return prefixes
