"""Routes of every switch: announcements travel session by session through the policies until nothing changes."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from sonic_sim.bgp.announcements import announce, count_sent
from sonic_sim.bgp.opened import longest_hold_s
from sonic_sim.bgp.origins import originated
from sonic_sim.bgp.policy import Route
from sonic_sim.bgp.rib import Rib, choose
from sonic_sim.bgp.sessions import Session, bgp_of, policies_of, sessions_of
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind

# A new calculation waits for so many times the length of the last: convergence takes time in large fabrics.
_REST = 4.0


@dataclass(slots=True)
class _Calculated:
    signature: object = None
    ribs: dict[str, Rib] = field(default_factory=dict)
    took_s: float = 0.0
    at: float = 0.0


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
    waiting, opened = _adapt_all(ribs, speaking)
    touched = waiting.keys() | opened.keys()
    for name in opened.keys() & ribs.keys():
        _spread(waiting, announce(ribs, name, _all_prefixes(ribs, name, opened[name]), opened[name]))
    while waiting:
        name = next(iter(waiting))
        touched.add(name)
        _spread(waiting, announce(ribs, name, waiting.pop(name), ribs[name].sessions.keys()))
    _count_all_sent(ribs, touched)


def _count_all_sent(ribs: Mapping[str, Rib], touched: Container[str]) -> None:
    """Count the routes sent by switches that were ``touched``, and by those of which a session went."""
    for name, rib in ribs.items():
        if name in touched or {peer for peer, _ in rib.sent} != rib.sessions.keys():
            count_sent(rib)


def _adapt_all(ribs: dict[str, Rib], speaking: Mapping[str, Device]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Adapt every switch; return the prefixes to announce and the peers of new sessions, both by switch.

    A spine announces the prefixes of all its leaves at once: what changed at a switch since it last announced is kept.
    """
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
    return waiting, opened


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
    sessions = _established(device)
    rib = ribs.setdefault(device.name, Rib(instance, policies, {}))
    # With another configuration every route may pass the filters in another way.
    is_reconfigured = rib.instance is not instance or rib.policies is not policies
    peers = set(sessions)
    if not is_reconfigured:
        peers = {peer for peer in sessions if rib.sessions.get(peer) != sessions[peer]}
    is_reordered = _common(rib.sessions, sessions) != _common(sessions, rib.sessions)
    rib.instance = instance
    rib.policies = policies
    rib.sessions = sessions
    rib.order = {peer: place for place, peer in enumerate(sessions)}
    changed: set[str] = set()
    for peer in rib.received.keys() - sessions.keys():
        changed |= _chosen_anew(rib, rib.received.pop(peer))
    if is_reordered:
        # Among equal routes the first peer of the configuration wins.
        changed |= _chosen_anew(rib, tuple(rib.best))
    return changed | _adapt_own(rib, originated(device, instance)), peers


def _established(device: Device) -> dict[str, Session]:
    return {peer: session for peer, session in sessions_of(device).items() if session.established}


def _chosen_anew(rib: Rib, prefixes: Iterable[str]) -> set[str]:
    """Choose the best routes again; return the prefixes whose announcement changed."""
    return {prefix for prefix in prefixes if choose(rib, prefix)}


# The order of peers decides among equal routes, so only those that both have are compared.
def _common(peers: Iterable[str], others: Container[str]) -> list[str]:
    return [peer for peer in peers if peer in others]


def _adapt_own(rib: Rib, prefixes: Iterable[str]) -> set[str]:
    """Announce exactly these prefixes as the switch's own; return those that changed."""
    changed: set[str] = set()
    own = dict.fromkeys(prefixes)
    for prefix in [prefix for prefix, (_, source) in rib.best.items() if not source and prefix not in own]:
        del rib.best[prefix]
        choose(rib, prefix)
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
