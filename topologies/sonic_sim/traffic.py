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
from sonic_sim.bgp.rib import EqualPath, Rib, equal_paths
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
    """The counts of the ports of a switch, and when they were last brought up to date (s, steady clock)."""

    at: float = 0.0
    ports: dict[str, Counted] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Traffic:
    """The ports that carry traffic, and the routes from which they were calculated."""

    ribs: dict[str, Rib]
    ports: Used


_meters: WeakKeyDictionary[Device, _Meter] = WeakKeyDictionary()
_traffic: WeakKeyDictionary[Fabric, _Traffic] = WeakKeyDictionary()


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
        count.packets_per_s = 0.0
        count.errors_per_s = 0.0
        if net.link_up(device, port):
            count.errors_per_s = _errors_per_s(device, port)
            if net.invents_traffic and port in used:
                count.packets_per_s = USED_PACKETS_PER_S
    return meter.ports


def pass_seconds(device: Device, seconds: float) -> None:
    """Count the traffic of a switch's ports for further ``seconds``, once routes have converged."""
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
    traffic = _traffic.get(net)
    # Changed routes are another mapping.
    if traffic is None or traffic.ribs is not ribs:
        traffic = _Traffic(ribs, _ports_with_traffic(net, ribs))
        _traffic[net] = traffic
    return traffic.ports


def _ports_with_traffic(net: Fabric, ribs: dict[str, Rib]) -> Used:
    """Return the ports that carry the traffic of every switch with hosts to all others."""
    prefix_of: dict[str, str] = {}
    for name, rib in ribs.items():
        prefix = _host_network(rib)
        if prefix and _host_ports(net, name):
            prefix_of[name] = prefix
    prefixes = frozenset(prefix_of.values())
    paths = {name: _paths(net, rib, prefixes, ribs) for name, rib in ribs.items()}
    hops_taken: set[_Hops] = set()
    for target, prefix in prefix_of.items():
        hops_taken |= _hops_towards(prefix, prefix_of.keys() - {target}, paths)
    used: dict[str, set[str]] = {name: set() for name in ribs}
    for hops in hops_taken:
        for name, port in hops.ends:
            used[name].add(port)
    for name in prefix_of:
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
    """Return the hops that traffic to a prefix takes from the switches ``starts``."""
    hops_taken: set[_Hops] = set()
    reached = set(starts)
    to_visit = list(reached)
    while to_visit:
        hops = paths[to_visit.pop()].get(prefix)
        if hops is not None:
            hops_taken.add(hops)
            new_switches = hops.remotes - reached
            reached |= new_switches
            to_visit += new_switches
    return hops_taken


def _paths(net: Fabric, rib: Rib, prefixes: frozenset[str], ribs: dict[str, Rib]) -> dict[str, _Hops]:
    """Return the paths of a switch to each of ``prefixes`` that it has a route to."""
    hops_of: dict[tuple[EqualPath, ...], _Hops] = {}
    hops_by_prefix = {}
    for prefix, paths in equal_paths(rib, prefixes).items():
        key = tuple(paths)
        if key not in hops_of:
            hops_of[key] = _hops(net, rib, key, ribs)
        hops_by_prefix[prefix] = hops_of[key]
    return hops_by_prefix


def _hops(net: Fabric, rib: Rib, paths: Iterable[EqualPath], ribs: dict[str, Rib]) -> _Hops:
    """Return the ports at both ends of equal paths, and the next switches; ends that run no BGP are left out."""
    ends: list[tuple[str, str]] = []
    remotes: set[str] = set()
    for path in paths:
        session = rib.sessions[path.peer]
        ends.append((session.device, path.port))
        far = net.far_end(net.devices[session.device], path.port)
        if session.remote in ribs:
            remotes.add(session.remote)
            if far is not None:
                ends.append((session.remote, far.port))
    return _Hops(tuple(ends), frozenset(remotes))


def _host_network(rib: Rib) -> str:
    """Return the first network of hosts that a switch announces itself, which stands for all; empty for none."""
    for prefix, best in rib.best.items():
        if best.is_own and network(prefix).num_addresses > 1:
            return prefix
    return ""


def _host_ports(net: Fabric, name: str) -> set[str]:
    """Return the ports of a switch with cables to nodes that are switched on."""
    device = net.devices[name]
    ports = set()
    for port in net.ports(device):
        far = net.far_end(device, port)
        if far is not None and far.node in net.hosts and net.hosts[far.node].powered:
            ports.add(port)
    return ports
