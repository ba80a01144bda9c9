"""Traffic of a simulated fabric without nodes: every node talks to every other, over all equally good paths.

Traffic goes between the switches that announce networks of hosts and have a host that is on, hop by hop by the routes
that BGP chose. A port on such a path carries ``USED_PACKETS_PER_S`` each way, any other that is up its keepalives
alone. Counters follow on the clock from one reading to the next: a change between two readings counts from the later
one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from sonic_sim.bgp import routes
from sonic_sim.bgp.policy import network
from sonic_sim.bgp.rib import Rib, equal_paths
from sonic_sim.bgp.routes import ribs_of
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind

USED_PACKETS_PER_S = 1000
USED_PACKET_BYTES = 1000

Used = dict[str, frozenset[str]]
"""Device -> its ports that carry traffic."""


@dataclass(slots=True)
class Counted:
    """The packets and errors of one port since the simulator started, and its rates a second."""

    packets: float = 0.0
    errors: float = 0.0
    packets_per_s: float = 0.0
    errors_per_s: float = 0.0


@dataclass(slots=True)
class _Meter:
    at: float = 0.0
    ports: dict[str, Counted] = field(default_factory=dict)


_meters: WeakKeyDictionary[Device, _Meter] = WeakKeyDictionary()
_used: WeakKeyDictionary[Fabric, tuple[dict[str, Rib], Used]] = WeakKeyDictionary()


def counted(device: Device, net: Fabric) -> dict[str, Counted]:
    """Return the counts of the ports of a switch until now."""
    now = device.clock.monotonic()
    meter = _meters.setdefault(device, _Meter(now))
    seconds = now - meter.at
    meter.at = now
    used = used_ports(net).get(device.name, frozenset())
    for port in net.ports(device):
        count = meter.ports.setdefault(port, Counted())
        # Until now each port carried as much as when it was last looked at.
        count.packets += count.packets_per_s * seconds
        count.errors += count.errors_per_s * seconds
        up = net.link_up(device, port)
        carries = up and port in used and net.invents_traffic
        count.packets_per_s = USED_PACKETS_PER_S if carries else 0.0
        count.errors_per_s = _errors_per_s(device, port) if up else 0.0
    return meter.ports


def pass_seconds(device: Device, seconds: float) -> None:
    """Count the traffic of the ports of a switch for so many seconds, once routes have converged."""
    net = device.network
    if device in _meters:
        routes.pass_seconds(net, seconds)
        counted(device, net)
        _meters[device].at -= seconds


def _errors_per_s(device: Device, port: str) -> float:
    rates = [fault.rate for fault in device.faults.armed if fault.kind is FaultKind.ERRORS and fault.port in ("", port)]
    return sum(rates)


def used_ports(net: Fabric) -> Used:
    """Return the ports that carry traffic, calculated again only when routes changed."""
    ribs = ribs_of(net)
    if net in _used:
        source, used = _used[net]
        # Other routes are another mapping.
        if source is ribs:
            return used
    used = _follow(net, ribs)
    _used[net] = (ribs, used)
    return used


def _follow(net: Fabric, ribs: dict[str, Rib]) -> Used:
    """Follow the traffic to each switch with hosts from all others."""
    targets: dict[str, str] = {}
    for name, rib in ribs.items():
        prefix = _host_network(rib)
        if prefix and _host_ports(net, name):
            targets[name] = prefix
    prefixes = frozenset(targets.values())
    paths = {name: _paths(net, rib, prefixes, ribs) for name, rib in ribs.items()}
    taken: set[_Hops] = set()
    for target, prefix in targets.items():
        taken |= _hops_towards(prefix, targets.keys() - {target}, paths)
    used: dict[str, set[str]] = {name: set() for name in ribs}
    for hops in taken:
        for name, port in hops.ends:
            used[name].add(port)
    for name in targets:
        if used[name]:
            used[name] |= _host_ports(net, name)
    return {name: frozenset(ports) for name, ports in used.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Hops:
    """Equal paths of a switch: the ports at both ends, and the next switches."""

    # All prefixes with the same paths share one object, as most have in a large fabric, so it is compared by identity.
    ends: tuple[tuple[str, str], ...]
    remotes: frozenset[str]


def _hops_towards(prefix: str, starts: Iterable[str], paths: Mapping[str, Mapping[str, _Hops]]) -> set[_Hops]:
    """Return the hops that traffic to a prefix takes from the switches where it starts."""
    taken: set[_Hops] = set()
    seen = set(starts)
    ahead = list(seen)
    while ahead:
        hops = paths[ahead.pop()].get(prefix)
        if hops is not None:
            taken.add(hops)
            further = hops.remotes - seen
            seen |= further
            ahead += further
    return taken


def _paths(net: Fabric, rib: Rib, prefixes: frozenset[str], ribs: dict[str, Rib]) -> dict[str, _Hops]:
    """Return the paths of a switch to prefixes."""
    made: dict[tuple[tuple[str, str], ...], _Hops] = {}
    paths = {}
    for prefix, hops in equal_paths(rib, prefixes).items():
        key = tuple(hops)
        if key not in made:
            made[key] = _hops(net, rib, key, ribs)
        paths[prefix] = made[key]
    return paths


def _hops(net: Fabric, rib: Rib, hops: tuple[tuple[str, str], ...], ribs: dict[str, Rib]) -> _Hops:
    ends: list[tuple[str, str]] = []
    remotes: set[str] = set()
    for peer, port in hops:
        session = rib.sessions[peer]
        ends.append((session.device, port))
        far = net.far_end(net.devices[session.device], port)
        if session.remote in ribs:
            remotes.add(session.remote)
            if far is not None:
                ends.append((session.remote, far.port))
    return _Hops(tuple(ends), frozenset(remotes))


def _host_network(rib: Rib) -> str:
    """Return the first network of hosts that a switch announces itself, in place of all of them."""
    for prefix, (_, source) in rib.best.items():
        if not source and network(prefix).num_addresses > 1:
            return prefix
    return ""


def _host_ports(net: Fabric, name: str) -> set[str]:
    device = net.devices[name]
    ports = set()
    for port in net.ports(device):
        far = net.far_end(device, port)
        if far is not None and far.node in net.hosts and net.hosts[far.node].powered:
            ports.add(port)
    return ports
