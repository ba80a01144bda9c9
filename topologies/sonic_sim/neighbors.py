"""Who is at the other end of a routed port, and whether an address answers: ARP, learned MAC addresses, ping."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from sonic_sim.bgp.policy import network
from sonic_sim.bgp.routes import equal_paths, local_routes, ribs_of
from sonic_sim.configdb import Hash
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind

_HOPS = 64


@dataclass(frozen=True, slots=True)
class LearnedNeighbor:
    """An address that the kernel has learned on an interface."""

    interface: str
    address: str
    mac: str


def neighbors(device: Device, net: Fabric) -> Iterator[LearnedNeighbor]:
    """Yield the far ends of the routed ports that are up: switches by their addresses, nodes by the free one."""
    for own in net.addresses(device):
        subnet = network(f"{own.address}/{own.length}")
        far = net.far_end(device, own.interface)
        if subnet.version != 4 or far is None or not net.link_up(device, own.interface):
            continue
        host = net.hosts.get(far.node)
        if host is not None:
            # a node takes the address beside the switch's on a point-to-point link
            if subnet.num_addresses == 2:
                other = next(str(one) for one in subnet if str(one) != own.address)
                yield LearnedNeighbor(own.interface, other, host.mac)
            continue
        remote = net.devices[far.node]
        for one in net.addresses(remote):
            if one.interface == far.port and ipaddress.ip_address(one.address) in subnet:
                yield LearnedNeighbor(own.interface, one.address, mac_of(remote))


def mac_of(device: Device) -> str:
    """Return the MAC address that all routed ports of a switch use."""
    return device.db.get("DEVICE_METADATA|localhost").get("mac", device.spec.mac)


def learned(device: Device, net: Fabric) -> Iterator[tuple[str, Hash]]:
    """Yield the rows of STATE_DB's FDB_TABLE: who is behind the member ports of the VLANs."""
    for key in device.db.table("VLAN_MEMBER"):
        vlan, _, port = key.partition("|")
        far = net.far_end(device, port)
        if far is None or not net.link_up(device, port):
            continue
        host = net.hosts.get(far.node)
        mac = host.mac if host is not None else mac_of(net.devices[far.node])
        yield f"FDB_TABLE|{vlan}:{mac.lower()}", {"port": port, "type": "dynamic"}


def hops_to(device: Device, net: Fabric, target: str) -> int | None:
    """Return how many switches a packet passes on its way to an address, 0 for an own one; None where none answers."""
    wanted = ipaddress.ip_address(target)
    here = device
    for passed in range(_HOPS):
        if here.faults.has(FaultKind.SILENT):
            return None
        if any(one.address == target for one in net.addresses(here)):
            return passed
        if any(one.address == target for one in neighbors(here, net)):
            return passed + 1
        onward = _next(here, net, wanted)
        if onward is None:
            return None
        here = onward
    return None


def _next(device: Device, net: Fabric, wanted: ipaddress.IPv4Address | ipaddress.IPv6Address) -> Device | None:
    """Return the switch that a packet is given to, by the longest prefix; None where it is dropped."""
    rib = ribs_of(net).get(device.name)
    routes = equal_paths(rib) if rib is not None else {}
    held = {**dict.fromkeys(routes, True), **dict.fromkeys(local_routes(device), False)}
    fitting = [prefix for prefix in held if wanted in network(prefix)]
    best = max(fitting, key=lambda prefix: network(prefix).prefixlen, default="")
    if not best or not held[best] or rib is None:
        return None
    peer, _ = routes[best][0]
    return net.devices.get(rib.sessions[peer].remote)
