"""Who is at the other end of a routed port, and whether an address answers: ARP, learned MAC addresses, ping."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from sonic_sim.acl import Flow, drops
from sonic_sim.bgp.origins import local_routes
from sonic_sim.bgp.policy import network
from sonic_sim.bgp.rib import equal_paths
from sonic_sim.bgp.routes import ribs_of
from sonic_sim.configdb import Hash
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind

# The time to live with which Linux sends.
_HOPS = 64
_ICMP = 1


@dataclass(frozen=True, slots=True)
class LearnedNeighbor:
    """An address that the kernel has learned on an interface."""

    interface: str
    address: str
    mac: str


def neighbors(device: Device, net: Fabric) -> Iterator[LearnedNeighbor]:
    """Yield the IPv4 neighbors on the routed ports that are up.

    Switches have their own addresses; a node has the other address of a point-to-point link.
    """
    for own in net.addresses(device):
        subnet = network(f"{own.address}/{own.length}")
        far = net.far_end(device, own.interface)
        if subnet.version != 4 or far is None:
            continue
        if not net.link_up(device, own.interface):
            continue
        host = net.hosts.get(far.node)
        if host is None:
            remote = net.devices[far.node]
            for address in net.addresses(remote):
                if address.interface == far.port and ipaddress.ip_address(address.address) in subnet:
                    yield LearnedNeighbor(own.interface, address.address, mac_of(remote))
        elif subnet.num_addresses == 2:
            node_address = next(str(address) for address in subnet if str(address) != own.address)
            yield LearnedNeighbor(own.interface, node_address, host.mac)


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


@dataclass(frozen=True, slots=True)
class _Link:
    """A link on the way of a packet: the port that it leaves by, and the switch and port that it comes in at."""

    sender: Device
    port: str
    # None for a node.
    receiver: Device | None
    far_port: str


def hops_to(device: Device, net: Fabric, target: str, source: str = "") -> int | None:
    """Return how many switches a packet passes on its way to the address ``target``, 0 for an own address.

    Return None if no answer comes back: nobody has the address, or an ACL drops the packet or its answer, which takes
    the same way. ``source`` is by default the address of the port that the packet leaves by.
    """
    links = _links_to(device, net, target)
    if links is None or _is_dropped(links, source or _source(device, net, links), target):
        return None
    return len(links)


def _links_to(device: Device, net: Fabric, target: str) -> list[_Link] | None:
    """Return the links on the way to an address, which are none for an own address; None if nobody has it."""
    links: list[_Link] = []
    switch = device
    # A loop ends where the time to live would.
    while len(links) < _HOPS:
        if switch.faults.has(FaultKind.SILENT):
            return None
        if any(address.address == target for address in net.addresses(switch)):
            return links
        port = next((neighbor.interface for neighbor in neighbors(switch, net) if neighbor.address == target), "")
        if port:
            return [*links, _link(net, switch, port)]
        port = _next_port(switch, net, target)
        if not port:
            return None
        link = _link(net, switch, port)
        if link.receiver is None:
            return None
        links.append(link)
        switch = link.receiver
    return None


def _link(net: Fabric, sender: Device, port: str) -> _Link:
    """Return the link at a port of a switch."""
    far = net.far_end(sender, port)
    if far is None:
        return _Link(sender, port, None, "")
    return _Link(sender, port, net.devices.get(far.node), far.port)


def _source(device: Device, net: Fabric, links: list[_Link]) -> str:
    """Return the address that Linux sends from: that of the first link's port, else that of the loopback."""
    addresses = {own.interface: own.address for own in net.addresses(device) if ":" not in own.address}
    if links and links[0].port in addresses:
        return addresses[links[0].port]
    return addresses.get("Loopback0", "")


def _is_dropped(links: list[_Link], source: str, target: str) -> bool:
    """Tell whether an ACL drops an echo request or its answer."""
    if not source:
        return False
    request = Flow(source, target, _ICMP, 0, 0)
    answer = Flow(target, source, _ICMP, 0, 0)
    for link in links:
        if drops(link.sender, link.port, answer):
            return True
        if link.receiver is not None and drops(link.receiver, link.far_port, request):
            return True
    return False


def _next_port(device: Device, net: Fabric, target: str) -> str:
    """Return the port by which a packet leaves a switch, by the longest prefix; empty if no route leads further."""
    rib = ribs_of(net).get(device.name)
    if rib is None:
        return ""
    address = ipaddress.ip_address(target)
    bgp_paths = equal_paths(rib)
    own_routes = local_routes(device)
    matching = [prefix for prefix in dict.fromkeys((*bgp_paths, *own_routes)) if address in network(prefix)]
    longest = max(matching, key=lambda prefix: network(prefix).prefixlen, default="")
    # A connected or static route wins over one of BGP by its distance, and leads to no further switch.
    if not longest or longest in own_routes:
        return ""
    return bgp_paths[longest][0].port
