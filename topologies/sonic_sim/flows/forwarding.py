"""The way of a packet: from NIC to NIC, at each switch by the longest prefix and a hash over equal next hops."""

import hashlib
import random
from collections.abc import Mapping
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from sonic_sim import switchhash
from sonic_sim.acl import Flow, drops
from sonic_sim.bgp.rib import Rib, equal_paths
from sonic_sim.bgp.routes import ribs_of
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.network import End

# More switches than any path has: a packet that loops is dropped.
_MOST_HOPS = 16
# SONiC's names of hash fields, and the indices of these fields in a `Packet`.
_PACKET_FIELDS = {"DST_IP": 0, "SRC_IP": 1, "IP_PROTOCOL": 2, "L4_DST_PORT": 3, "L4_SRC_PORT": 4}


class Packet(NamedTuple):
    """What switches forward by."""

    destination: str
    source: str
    protocol: int
    destination_port: int
    source_port: int


class Hop(NamedTuple):
    """A direction of a cable."""

    sender: End
    receiver: End


class _SwitchHash(NamedTuple):
    """How a switch chooses among next hops: a hash with a key, without its lowest bits."""

    key: bytes
    dropped_bits: int


@cache
def _parsed(prefix: str) -> IPv4Network | IPv6Network:
    return ip_network(prefix, strict=False)


class Forwarding:
    """The tables of all switches, and their hashes, drawn anew for every start of the simulator."""

    def __init__(self, net: Fabric, seed: int | None = None) -> None:
        self.net = net
        self._random = random.Random(seed)  # noqa: S311  no secret
        # By switch.
        self._hashes: dict[str, _SwitchHash] = {}
        self._ribs: Mapping[str, Rib] = {}
        self._version = -1
        # What was looked up in these routes: next ports by switch and address, drops by switch, port and packet.
        self._ports: dict[tuple[str, str], tuple[str, ...]] = {}
        self._dropped: dict[tuple[str, str, Packet], bool] = {}

    def path(self, start: End, packet: Packet) -> tuple[Hop, ...]:
        """Return the path of a packet from a NIC to the NIC that it reaches; empty if it is dropped on the way."""
        self._forget_old_routes()
        hops: list[Hop] = []
        sender = start
        while len(hops) < _MOST_HOPS:
            receiver = self.net.cables.get(sender)
            if receiver is None or not self._carries(sender, receiver):
                return ()
            hops.append(Hop(sender, receiver))
            device = self.net.devices.get(receiver.node)
            if device is None:
                return tuple(hops)
            if device.faults.has(FaultKind.SILENT) or self._drops(device, receiver.port, packet):
                return ()
            ports = self.next_ports(device, packet.destination)
            if not ports:
                return ()
            sender = End(device.name, ports[self._choice(device, packet, len(ports))])
        return ()

    def _drops(self, device: Device, port: str, packet: Packet) -> bool:
        """Tell whether an ACL drops a packet that comes in on a port."""
        key = (device.name, port, packet)
        if key not in self._dropped:
            flow = Flow(packet.source, packet.destination, packet.protocol, packet.source_port, packet.destination_port)
            self._dropped[key] = drops(device, port, flow)
        return self._dropped[key]

    def _carries(self, sender: End, receiver: End) -> bool:
        """Tell whether a link is up for the switches at its ends."""
        for end in (sender, receiver):
            device = self.net.devices.get(end.node)
            if device is not None and not self.net.link_up(device, end.port):
                return False
        return True

    def _forget_old_routes(self) -> None:
        """Forget what was looked up if routes, or the configurations of switches, have changed since."""
        ribs = ribs_of(self.net)
        version = self.net.version + sum(device.db.version for device in self.net.devices.values())
        if ribs is not self._ribs or version != self._version:
            self._ports.clear()
            self._dropped.clear()
            self._ribs = ribs
            self._version = version

    def next_ports(self, device: Device, destination: str) -> tuple[str, ...]:
        """Return the ports by which a switch reaches an address, all equally good."""
        key = (device.name, destination)
        if key not in self._ports:
            self._ports[key] = self._look_up(device, destination)
        return self._ports[key]

    def _look_up(self, device: Device, destination: str) -> tuple[str, ...]:
        """Return the ports to a connected network that has the address, or else to the longest prefix that has it.

        They are the ports whose links are up; none if the switch has no route.
        """
        target = ip_address(destination)
        for own in self.net.addresses(device):
            if target in _parsed(f"{own.address}/{own.length}") and self.net.link_up(device, own.interface):
                return (own.interface,)
        rib = self._ribs.get(device.name)
        if rib is None:
            return ()
        fitting = [prefix for prefix in rib.best if target in _parsed(prefix)]
        if not fitting:
            return ()
        longest = max(fitting, key=lambda prefix: _parsed(prefix).prefixlen)
        # A network that the switch announces itself is a blackhole for what has no more specific route.
        hops = equal_paths(rib, {longest}).get(longest, ())
        return tuple(port for _, port in hops if self.net.link_up(device, port))

    def _choice(self, device: Device, packet: Packet, count: int) -> int:
        """Return which of ``count`` next hops a switch chooses for a packet, by its number."""
        if count == 1:
            return 0
        if device.name not in self._hashes:
            self._hashes[device.name] = _SwitchHash(self._random.randbytes(16), self._random.randrange(0, 32))
        switch_hash = self._hashes[device.name]
        # The text of the fields is hashed as it is printed: of a whole packet with its names.
        text = repr(_hashed_fields(device, packet))
        digest = hashlib.blake2b(text.encode(), key=switch_hash.key, digest_size=8).digest()
        return (int.from_bytes(digest, "big") >> switch_hash.dropped_bits) % count


def _hashed_fields(device: Device, packet: Packet) -> tuple[object, ...]:
    """Return the fields of a packet that the ASIC hashes: all five, or those that the switch is configured for."""
    names = device.orchagent.object_of(switchhash.ROW).get("ecmp_hash@", "")
    if not names:
        return packet
    return tuple(packet[_PACKET_FIELDS[name]] for name in names.split(",") if name in _PACKET_FIELDS)
