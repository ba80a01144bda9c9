"""Which BGP sessions come up: from both ends' FRR configuration, their addresses and the cable between them."""

import re
from dataclasses import dataclass

from sonic_sim.bgp.instance import Instance, Neighbor, instance_of
from sonic_sim.bgp.opened import Offer, SessionEnd, Timers, establish, forget
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
    """One session as one end sees it.

    ``state`` is FRR's word. ``active`` are the active IP versions of this end, then those of the far end; empty if the
    ends do not reach each other. ``timers`` are those in force, None if the session is not established.
    """

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
        """Tell whether the session is open, so that routes are exchanged."""
        return self.state == "Established"

    def agrees_on(self, version: int) -> bool:
        """Tell whether routes of a family are exchanged: both ends have it active."""
        return self.established and all(version in versions for versions in self.active)


def bgp_of(device: Device) -> Instance | None:
    """Return the BGP instance of a switch; None if it has none."""
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
    """Note the timers in force before ``lines`` change the configured ones: open sessions keep theirs."""
    if "timers" in lines:
        # To calculate the sessions is to note their timers.
        sessions_of(device)


# A session carries all families: to clear it for one clears it for all.
_FAMILY_WORDS = frozenset(("ipv4", "ipv6", "unicast"))


def clear_sessions(device: Device, words: list[str]) -> str:
    """Carry out ``clear bgp`` with these words; return FRR's output.

    Soft forms send routes again, which changes nothing here.
    """
    instance = bgp_of(device)
    arguments = [word for word in words if word not in _FAMILY_WORDS]
    if arguments[:1] == ["vrf"]:
        vrf = "".join(arguments[1:2])
        arguments = arguments[2:]
        # Only the default VRF has an instance.
        if vrf != "default" or instance is None:
            return f"Can't find BGP instance {vrf}\n"
    is_soft = arguments[-1:] in (["in"], ["out"], ["soft"])
    if instance is None or not arguments or is_soft:
        return ""
    return _clear(device, instance, arguments[0])


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
    """Return FRR's answer for a neighbor that it does not have."""
    if re.match(r"[0-9a-f]*[.:]", name):
        return f'% BGP: Unknown neighbor - "{name}"\n'
    return f"Malformed address or name: {name}\n"


def session_with(device: Device, instance: Instance, neighbor: Neighbor) -> Session:
    """Return the session with one neighbor. If it is not established, the timers of its last opening are forgotten."""
    session = _session(device, instance, neighbor)
    if not session.established:
        forget(device.network, SessionEnd(device.name, neighbor.peer))
    return session


@dataclass(frozen=True, slots=True)
class _FarEnd:
    """Where a neighbor is: our port, and the switch and port at the other end of its cable."""

    port: str
    remote: Device
    remote_port: str


def _session(device: Device, instance: Instance, neighbor: Neighbor) -> Session:
    """Return the session with one neighbor, as configurations, cable and faults allow it."""
    if neighbor.shutdown:
        return Session(device.name, neighbor, "Idle")
    if device.faults.has(FaultKind.BGP_DOWN):
        return Session(device.name, neighbor, "Active")
    far = _far_end(device, neighbor)
    # No switch can be reached, which shows in the session.
    if isinstance(far, Session):
        return far
    remote_instance = bgp_of(far.remote)
    remote_neighbor = _entry_for(device, far, remote_instance, neighbor)
    if remote_instance is not None and remote_neighbor is not None:
        here = _Side(device, instance, neighbor)
        there = _Side(far.remote, remote_instance, remote_neighbor)
        if _can_connect(here, there):
            return _connected_session(far, here, there)
    return Session(device.name, neighbor, "Active", far.port, far.remote.name)


def _connected_session(far: _FarEnd, here: "_Side", there: "_Side") -> Session:
    """Return the session of two ends that can connect: it is opening, open, or lost because an end is silent."""
    device = here.device
    remote = there.device
    neighbor = here.neighbor
    remote_peer = there.neighbor.peer
    active = (neighbor.active_versions, there.neighbor.active_versions)
    if device.clock.now() < _ready_at(here, there):
        return Session(device.name, neighbor, "Connect", far.port, remote.name, remote_peer, active=active)
    offer = _offer(here)
    timers = establish(device.network, offer, _offer(there)).timers[offer.end]
    bfd_up = neighbor.bfd and there.neighbor.bfd and device.bfdd and remote.bfdd
    detected_after_s = BFD_DETECTS_S if bfd_up else timers.hold_s
    if _lost(device, remote, detected_after_s):
        return Session(device.name, neighbor, "Active", far.port, remote.name)
    return Session(device.name, neighbor, "Established", far.port, remote.name, remote_peer, bfd_up, active, timers)


def _ready_at(here: "_Side", there: "_Side") -> float:
    """Return the time at which a session is open again after FRR started, or was cleared, at either end."""
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
    end = SessionEnd(side.device.name, neighbor.peer)
    return Offer(end, Timers(neighbor.keepalive_s, neighbor.hold_s), resets)


def _lost(device: Device, remote: Device, detected_after_s: float) -> bool:
    """Tell whether one of two ends has been silent for so long that the other one has noticed."""
    for end in (device, remote):
        since = end.faults.since(FaultKind.SILENT)
        if since is not None and device.clock.now() >= since + device.clock.real_s(detected_after_s):
            return True
    return False


def _far_end(device: Device, neighbor: Neighbor) -> _FarEnd | Session:
    """Return where a neighbor is; if no switch can be reached, the session as it is shown."""
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
    return _FarEnd(port, remote, far.port)


def _port_towards(device: Device, neighbor: Neighbor) -> str:
    """Return the interface on whose network a neighbor is; empty if there is none."""
    if neighbor.interface:
        return neighbor.peer
    return _connected(device).get(neighbor.peer, "")


def _connected(device: Device) -> dict[str, str]:
    """Return, by address, the interfaces that lead to the addresses on the switch's own networks."""
    net = device.network
    return net.kept(device, "connected", (device.db.version, net.version), lambda: _far_addresses(device))


def _far_addresses(device: Device) -> dict[str, str]:
    """Return the result of ``_connected``, which keeps it."""
    interfaces: dict[str, str] = {}
    for own in device.addresses():
        subnet = network(f"{own.address}/{own.length}")
        # Larger networks are those of nodes, which speak no BGP.
        if subnet.num_addresses <= 256:
            far_addresses = [str(address) for address in subnet if str(address) != own.address]
            interfaces.update(dict.fromkeys(far_addresses, own.interface))
    return interfaces


def _own_address(device: Device, port: str, peer: str) -> str:
    """Return the address of a port in the network of a peer; empty if it has none."""
    for own in device.addresses():
        if own.interface == port and network(f"{peer}/{own.length}") == network(f"{own.address}/{own.length}"):
            return own.address
    return ""


def _entry_for(device: Device, far: _FarEnd, instance: Instance | None, neighbor: Neighbor) -> Neighbor | None:
    """Return the neighbor in the far end's ``instance`` that stands for us.

    None if it has no such neighbor, or not the address that ``neighbor`` states.
    """
    if instance is None:
        return None
    if neighbor.interface:
        is_routed = f"INTERFACE|{far.remote_port}" in far.remote.db.rows
        return instance.neighbors.get(far.remote_port) if is_routed else None
    for address in device.network.addresses(far.remote):
        if address.interface == far.remote_port and address.address == neighbor.peer:
            return instance.neighbors.get(_own_address(device, far.port, neighbor.peer))
    return None


@dataclass(frozen=True, slots=True)
class _Side:
    """One end of a configured session."""

    device: Device
    instance: Instance
    neighbor: Neighbor


def _can_connect(here: _Side, there: _Side) -> bool:
    """Tell whether two ends that have each other as a neighbor open the session."""
    if not there.device.frr.running or there.neighbor.shutdown or there.device.faults.has(FaultKind.BGP_DOWN):
        return False
    # bgpd refuses an OPEN with its own router id (RFC 4271 section 6.2).
    same_router_id = bool(here.instance.router_id) and here.instance.router_id == there.instance.router_id
    return _accepts(here, there) and _accepts(there, here) and not same_router_id


def _accepts(side: _Side, far_side: _Side) -> bool:
    """Tell whether an end accepts the AS number that the far end sends."""
    own_as = side.instance.asn
    sent_as = far_side.neighbor.local_as or far_side.instance.asn
    if side.neighbor.remote_as == "external":
        return sent_as != own_as
    if side.neighbor.remote_as == "internal":
        return sent_as == own_as
    return side.neighbor.remote_as == str(sent_as)
