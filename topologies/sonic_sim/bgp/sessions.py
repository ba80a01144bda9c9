"""Which BGP sessions come up: from both ends' FRR configuration, their addresses and the cable between them."""

from dataclasses import dataclass

from sonic_sim.bgp.instance import Instance, Neighbor, instance_of
from sonic_sim.bgp.policy import Policies, network
from sonic_sim.device import Device
from sonic_sim.faults import FaultKind
from sonic_sim.network import Network

_CONVERGENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class Session:
    """One session seen from one end. ``state`` as FRR names it; ``why`` says what is missing, in plain words."""

    device: str
    neighbor: Neighbor
    state: str
    why: str = ""
    port: str = ""
    remote: str = ""
    remote_peer: str = ""

    @property
    def established(self) -> bool:
        """Whether routes are exchanged."""
        return self.state == "Established"


def bgp_of(device: Device) -> Instance | None:
    """Return the BGP instance of a switch."""
    net = device.network
    if net is None:
        return instance_of(device.frr.root)
    return net.kept(device, "bgp", device.frr.version, lambda: instance_of(device.frr.root))


def policies_of(device: Device) -> Policies:
    """Return the filters of a switch."""
    net = device.network
    if net is None:
        return Policies(device.frr.root)
    return net.kept(device, "policies", device.frr.version, lambda: Policies(device.frr.root))


def sessions_of(device: Device) -> dict[str, Session]:
    """Return the sessions of a switch by peer."""
    instance = bgp_of(device)
    if instance is None or device.network is None:
        return {}
    return {peer: session(device, instance, one) for peer, one in instance.neighbors.items()}


def session(device: Device, instance: Instance, neighbor: Neighbor) -> Session:
    """Return the state of one session."""
    if neighbor.shutdown:
        return Session(device.name, neighbor, "Idle", "shut down here")
    if device.faults.has(FaultKind.BGP_DOWN):
        return Session(device.name, neighbor, "Active", "fault")
    port = _port_towards(device, neighbor)
    net = device.network
    if not port or net is None:
        return Session(device.name, neighbor, "Active", "no interface has this neighbour's network")
    if not net.link_up(device, port):
        return Session(device.name, neighbor, "Idle", "link down", port)
    far = net.far_end(device, port)
    remote = net.devices.get(far.node) if far is not None else None
    if remote is None or far is None:
        return Session(device.name, neighbor, "Active", "no switch at the other end", port)
    own = "" if neighbor.interface else _own_address(device, port, neighbor.peer)
    remote_instance = bgp_of(remote)
    back = _entry_for(remote, remote_instance, far.port, neighbor, own)
    why = _mismatch(device, instance, neighbor, remote, remote_instance, back)
    if why or back is None:
        return Session(device.name, neighbor, "Active", why, port, remote.name)
    ready = max(device.times.frr_up, remote.times.frr_up) + device.clock.real_s(_CONVERGENCE_S)
    state = "Established" if device.clock.now() >= ready else "Connect"
    return Session(device.name, neighbor, state, "", port, remote.name, back.peer)


def _port_towards(device: Device, neighbor: Neighbor) -> str:
    """Return the interface on whose network a neighbour is."""
    if neighbor.interface:
        return neighbor.peer
    return _connected(device).get(neighbor.peer, "")


def _connected(device: Device) -> dict[str, str]:
    """Return the interface for every address next to a point-to-point interface of the switch."""
    net = device.network
    if net is None:
        return {}
    return net.kept(device, "connected", device.db.version, lambda: _far_addresses(device, net))


def _far_addresses(device: Device, net: Network) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in net.addresses(device):
        subnet = network(f"{one.address}/{one.length}")
        if subnet.num_addresses <= 256:
            found.update({str(address): one.interface for address in subnet if str(address) != one.address})
    return found


def _own_address(device: Device, port: str, peer: str) -> str:
    net = device.network
    if net is None:
        return ""
    for one in net.addresses(device):
        if one.interface == port and network(f"{peer}/{one.length}") == network(f"{one.address}/{one.length}"):
            return one.address
    return ""


def _entry_for(remote: Device, instance: Instance | None, port: str, neighbor: Neighbor, own: str) -> Neighbor | None:
    """Return the remote end's entry for us, where it has our address and the one that we expect."""
    net = remote.network
    if instance is None or net is None:
        return None
    if neighbor.interface:
        routed = f"INTERFACE|{port}" in remote.db.rows
        return instance.neighbors.get(port) if routed else None
    has_address = any(one.interface == port and one.address == neighbor.peer for one in net.addresses(remote))
    return instance.neighbors.get(own) if has_address else None


def _mismatch(device: Device, here: Instance, neighbor: Neighbor, remote: Device, there: Instance | None, back: Neighbor | None) -> str:  # fmt: skip
    """Return why two configured ends do not agree, empty where they do."""
    if there is None or not (device.frr.running and remote.frr.running):
        return "BGP does not run at the other end"
    if back is None:
        return "the other end does not know this address"
    if back.shutdown:
        return "shut down at the other end"
    if remote.faults.has(FaultKind.BGP_DOWN):
        return "fault at the other end"
    if not _accepts(neighbor, here.asn, back.local_as or there.asn):
        return "the other end has another AS number"
    if not _accepts(back, there.asn, neighbor.local_as or here.asn):
        return "the other end expects another AS number"
    if here.router_id and here.router_id == there.router_id:
        return "both ends have one router id"
    return ""


def _accepts(neighbor: Neighbor, own: int, seen: int) -> bool:
    if neighbor.remote_as == "external":
        return seen != own
    if neighbor.remote_as == "internal":
        return seen == own
    return neighbor.remote_as == str(seen)
