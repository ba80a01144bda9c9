"""Who is at the other end of a routed port, and whether an address answers: ARP, learned MAC addresses, ping."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from sonic_sim.bgp.origins import local_routes
from sonic_sim.bgp.policy import network
from sonic_sim.bgp.rib import equal_paths
from sonic_sim.bgp.routes import ribs_of
from sonic_sim.configdb import Hash
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind

# The time to live with which Linux sends.
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
        if host is None:
            remote = net.devices[far.node]
            for address in net.addresses(remote):
                if address.interface == far.port and ipaddress.ip_address(address.address) in subnet:
                    yield LearnedNeighbor(own.interface, address.address, mac_of(remote))
        elif subnet.num_addresses == 2:
            # A node takes the address beside the switch's on a point-to-point link.
            other = next(str(address) for address in subnet if str(address) != own.address)
            yield LearnedNeighbor(own.interface, other, host.mac)


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
    switch = device
    # A loop ends where the time to live would.
    for passed in range(_HOPS):
        if switch.faults.has(FaultKind.SILENT):
            return None
        if any(address.address == target for address in net.addresses(switch)):
            return passed
        if any(neighbor.address == target for neighbor in neighbors(switch, net)):
            return passed + 1
        onward = _next(switch, net, wanted)
        if onward is None:
            return None
        switch = onward
    return None


def _next(device: Device, net: Fabric, wanted: ipaddress.IPv4Address | ipaddress.IPv6Address) -> Device | None:
    """Return the switch that a packet is given to, by the longest prefix; None where it is dropped."""
    rib = ribs_of(net).get(device.name)
    if rib is None:
        return None
    routes = equal_paths(rib)
    # A connected or static route to the same prefix wins by its distance.
    leads_on = {**dict.fromkeys(routes, True), **dict.fromkeys(local_routes(device), False)}
    fitting = [prefix for prefix in leads_on if wanted in network(prefix)]
    best = max(fitting, key=lambda prefix: network(prefix).prefixlen, default="")
    if not best or not leads_on[best]:
        return None
    peer, _ = routes[best][0]
    return net.devices.get(rib.sessions[peer].remote)
