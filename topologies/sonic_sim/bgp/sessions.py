"""Which BGP sessions come up: from both ends' FRR configuration, their addresses and the cable between them."""

import re
from dataclasses import dataclass

from sonic_sim.bgp.instance import Instance, Neighbor, instance_of
from sonic_sim.bgp.opened import Offer, Timers, forget, opened
from sonic_sim.bgp.policy import Policies, network
from sonic_sim.device import Device
from sonic_sim.faults import FaultKind

_CONVERGENCE_S = 5.0
# How long a session that is cleared is away (1.9 s on FRR 8.4, both ends on one machine).
_OPENS_AGAIN_S = 2.0
# FRR's defaults: three packets, 300 ms apart.
BFD_DETECTS_S = 0.9


@dataclass(frozen=True, slots=True)
class Session:
    """One session seen from one end. ``state`` as FRR names it; ``active`` are the IP versions of either end, this one
    first, where they meet; ``timers`` are those in force, None where it is not established."""

    device: str
    neighbor: Neighbor
    state: str
    port: str = ""
    remote: str = ""
    remote_peer: str = ""
    bfd_up: bool = False
    active: tuple[tuple[int, ...], ...] = ()
    timers: Timers | None = None

    @property
    def established(self) -> bool:
        """Whether routes are exchanged."""
        return self.state == "Established"

    def agrees_on(self, version: int) -> bool:
        """Tell whether routes of a family are exchanged: both ends have it active."""
        return self.established and all(version in versions for versions in self.active)


def bgp_of(device: Device) -> Instance | None:
    """Return the BGP instance of a switch."""
    return device.network.kept(device, "bgp", device.frr.version, lambda: instance_of(device.frr.of_bgpd))


def policies_of(device: Device) -> Policies:
    """Return the filters of a switch."""
    return device.network.kept(device, "policies", device.frr.version, lambda: Policies(device.frr.of_bgpd))


def sessions_of(device: Device) -> dict[str, Session]:
    """Return the sessions of a switch by peer."""
    instance = bgp_of(device)
    if instance is None:
        return {}
    return {peer: session_with(device, instance, neighbor) for peer, neighbor in instance.neighbors.items()}


def remember_timers(device: Device, lines: str) -> None:
    """Note the timers in force before ``lines`` change those that are configured: open sessions keep theirs."""
    if "timers" in lines:
        sessions_of(device)


# A session carries all families: to clear it for one clears it for all.
_FAMILY_WORDS = frozenset(("ipv4", "ipv6", "unicast"))


def clear_sessions(device: Device, words: list[str]) -> str:
    """Carry out ``clear bgp WORDS``; return FRR's output. Soft forms send routes again, which changes nothing here."""
    instance = bgp_of(device)
    plain = [word for word in words if word not in _FAMILY_WORDS]
    if plain[:1] == ["vrf"]:
        vrf = "".join(plain[1:2])
        plain = plain[2:]
        # Only the default VRF has an instance.
        if vrf != "default" or instance is None:
            return f"Can't find BGP instance {vrf}\n"
    is_soft = plain[-1:] in (["in"], ["out"], ["soft"])
    if instance is None or not plain or is_soft:
        return ""
    return _clear(device, instance, plain[0])


def _clear(device: Device, instance: Instance, peer: str) -> str:
    """Clear the session with a peer, or all for ``*``; return FRR's output."""
    peers = [peer]
    if peer == "*":
        peers = list(instance.neighbors)
    elif peer not in instance.neighbors:
        return _unknown_neighbor(peer)
    device.frr.cleared.update(dict.fromkeys(peers, device.clock.now()))
    device.frr.changed()
    return ""


def _unknown_neighbor(name: str) -> str:
    if re.match(r"[0-9a-f]*[.:]", name):
        return f'% BGP: Unknown neighbor - "{name}"\n'
    return f"Malformed address or name: {name}\n"


def session_with(device: Device, instance: Instance, neighbor: Neighbor) -> Session:
    """Return the state of the session with one neighbor."""
    session = _session(device, instance, neighbor)
    if not session.established:
        forget(device.network, (device.name, neighbor.peer))
    return session


@dataclass(frozen=True, slots=True)
class _Way:
    """Where a neighbor is: our port, the switch and port at the other end of its cable."""

    port: str
    remote: Device
    remote_port: str


def _session(device: Device, instance: Instance, neighbor: Neighbor) -> Session:
    if neighbor.shutdown:
        return Session(device.name, neighbor, "Idle")
    if device.faults.has(FaultKind.BGP_DOWN):
        return Session(device.name, neighbor, "Active")
    way = _way(device, neighbor)
    if isinstance(way, Session):
        return way
    remote_instance = bgp_of(way.remote)
    back = _entry_for(device, way, remote_instance, neighbor)
    here = _Side(device, instance, neighbor)
    if remote_instance is None or back is None or not _meet(here, _Side(way.remote, remote_instance, back)):
        return Session(device.name, neighbor, "Active", way.port, way.remote.name)
    return _met(way, here, _Side(way.remote, remote_instance, back))


def _met(way: _Way, here: "_Side", there: "_Side") -> Session:
    """Return the session of two ends that come together: it opens, is open, or an end that is silent lost it."""
    device = here.device
    neighbor = here.neighbor
    back = there.neighbor
    active = (neighbor.active_versions, back.active_versions)
    if device.clock.now() < _ready_at(here, there):
        return Session(device.name, neighbor, "Connect", way.port, way.remote.name, back.peer, active=active)
    timers = opened(device.network, _offer(here), _offer(there)).timers[device.name, neighbor.peer]
    watched = neighbor.bfd and back.bfd and device.bfdd and way.remote.bfdd
    if _lost(device, way.remote, BFD_DETECTS_S if watched else timers.hold_s):
        return Session(device.name, neighbor, "Active", way.port, way.remote.name)
    return Session(device.name, neighbor, "Established", way.port, way.remote.name, back.peer, watched, active, timers)


def _ready_at(here: "_Side", there: "_Side") -> float:
    """Return when a session is open again after FRR started, or somebody cleared it, at either end."""
    clock = here.device.clock
    sides = (here, there)
    started = max(side.device.times.frr_up for side in sides)
    cleared = max(side.device.frr.cleared.get(side.neighbor.peer, 0.0) for side in sides)
    return max(started + clock.real_s(_CONVERGENCE_S), cleared + clock.real_s(_OPENS_AGAIN_S))


def _offer(side: "_Side") -> Offer:
    """Return the timers of an end, and the values whose change resets the session."""
    neighbor = side.neighbor
    resets = (
        side.device.times.frr_up,
        side.device.frr.cleared.get(neighbor.peer, 0.0),
        side.instance.asn,
        side.instance.router_id,
        neighbor.active_versions,
        tuple(neighbor.resets),
    )
    return Offer((side.device.name, neighbor.peer), Timers(neighbor.keepalive_s, neighbor.hold_s), resets)


def _lost(device: Device, remote: Device, detected_after_s: float) -> bool:
    """Tell whether an end has been silent for so long that the other noticed."""
    for end in (device, remote):
        since = end.faults.since(FaultKind.SILENT)
        if since is not None and device.clock.now() >= since + device.clock.real_s(detected_after_s):
            return True
    return False


def _way(device: Device, neighbor: Neighbor) -> _Way | Session:
    """Return the way to a neighbor, or the session that has none."""
    net = device.network
    port = _port_towards(device, neighbor)
    if not port:
        return Session(device.name, neighbor, "Active")
    if not device.link_up(port):
        return Session(device.name, neighbor, "Idle", port)
    far = net.far_end(device, port)
    remote = net.devices.get(far.node) if far is not None else None
    if remote is None or far is None:
        # Nobody refuses the connection, so it is still being tried.
        return Session(device.name, neighbor, "Connect", port)
    return _Way(port, remote, far.port)


def _port_towards(device: Device, neighbor: Neighbor) -> str:
    """Return the interface on whose network a neighbor is."""
    if neighbor.interface:
        return neighbor.peer
    return _connected(device).get(neighbor.peer, "")


def _connected(device: Device) -> dict[str, str]:
    """Return the interface for every address next to a point-to-point interface of the switch."""
    net = device.network
    return net.kept(device, "connected", (device.db.version, net.version), lambda: _far_addresses(device))


def _far_addresses(device: Device) -> dict[str, str]:
    interfaces: dict[str, str] = {}
    for own in device.addresses():
        subnet = network(f"{own.address}/{own.length}")
        # Larger networks are those of nodes, which speak no BGP.
        if subnet.num_addresses <= 256:
            interfaces.update({str(address): own.interface for address in subnet if str(address) != own.address})
    return interfaces


def _own_address(device: Device, port: str, peer: str) -> str:
    for own in device.addresses():
        if own.interface == port and network(f"{peer}/{own.length}") == network(f"{own.address}/{own.length}"):
            return own.address
    return ""


def _entry_for(device: Device, way: _Way, instance: Instance | None, neighbor: Neighbor) -> Neighbor | None:
    """Return the remote end's entry for us, where it has our address and the one that we expect."""
    remote = way.remote
    if instance is None:
        return None
    if neighbor.interface:
        routed = f"INTERFACE|{way.remote_port}" in remote.db.rows
        return instance.neighbors.get(way.remote_port) if routed else None
    for address in device.network.addresses(remote):
        if address.interface == way.remote_port and address.address == neighbor.peer:
            return instance.neighbors.get(_own_address(device, way.port, neighbor.peer))
    return None


@dataclass(frozen=True, slots=True)
class _Side:
    """One end of a configured session."""

    device: Device
    instance: Instance
    neighbor: Neighbor


def _meet(here: _Side, there: _Side) -> bool:
    """Tell whether two ends that know each other come together."""
    if not there.device.frr.running or there.neighbor.shutdown or there.device.faults.has(FaultKind.BGP_DOWN):
        return False
    # bgpd refuses an OPEN with its own router id (RFC 4271 section 6.2).
    same_router_id = bool(here.instance.router_id) and here.instance.router_id == there.instance.router_id
    return _accepts(here, there) and _accepts(there, here) and not same_router_id


def _accepts(side: _Side, other: _Side) -> bool:
    """Tell whether one end takes the AS number that the other shows it."""
    own = side.instance.asn
    shown = other.neighbor.local_as or other.instance.asn
    if side.neighbor.remote_as == "external":
        return shown != own
    if side.neighbor.remote_as == "internal":
        return shown == own
    return side.neighbor.remote_as == str(shown)
