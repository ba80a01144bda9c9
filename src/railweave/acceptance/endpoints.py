"""The NIC ports of a fabric as ends of tests, and the lanes within which tests pair them.

A lane holds one port of each node: ports of one plane, rail and speed, in the order of the stripes. So any two ports
of a lane are of different nodes, and a rotation of a lane is a round in which every port sends and receives once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from railweave.acceptance.model import NicPort, Tool
from railweave.catalog.load import load_catalog
from railweave.fabric.devices import Host
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.policy import AddressFamily
from railweave.hosts.values import host_vendor, marking
from railweave.units import ipv4_text, ipv6_text


class Endpoint(NamedTuple):
    """A NIC port that sends and receives test traffic."""

    nic_port: NicPort
    # The name of the switch that it is cabled to.
    switch: str
    stripe: int
    speed_gbps: int
    address: str
    # The RDMA device; empty if the tests use sockets.
    rdma: str


Pair = tuple[Endpoint, Endpoint]
"""The sender and the receiver of a test."""


class LaneKey(NamedTuple):
    """What the ports of a lane have in common."""

    tool: Tool
    plane: int
    rail: int
    # Which of a node's ports of the rail and plane it is, from 0.
    ordinal: int
    speed_gbps: int


class Lane(NamedTuple):
    """Ports of different nodes that are equal in all that matters for a test, in the order of the stripes."""

    key: LaneKey
    ports: tuple[Endpoint, ...]
    # The name of the network within which any two of its ports reach each other: a plane, or a rail of it.
    network: tuple[int, int | None]
    # Its ports are on switches that serve this rail alone.
    has_rail: bool
    # Its ports by stripe.
    stripes: tuple[tuple[Endpoint, ...], ...]

    def with_ports(self, ports: Iterable[Endpoint]) -> "Lane":
        """Return a lane of other ports, which are in the order of the stripes."""
        ordered = tuple(ports)
        stripes = tuple(tuple(of_stripe) for _, of_stripe in groupby(ordered, key=attrgetter("stripe")))
        return self._replace(ports=ordered, stripes=stripes)


def lanes_of(fabric: Fabric) -> tuple[Lane, ...]:
    """Return the lanes of a fabric; a port without a peer of its own speed is in the lane of the nearest speed."""
    members: dict[LaneKey, list[tuple[tuple[int, int, int], Endpoint]]] = {}
    networks = {switch.name: fabric.network_of(switch) for switch in fabric.switches}
    network_of: dict[LaneKey, tuple[int, int | None]] = {}
    for host, link, key, endpoint in _endpoints(fabric):
        members.setdefault(key, []).append(((host.stripe, host.place, host.number), endpoint))
        network_of[key] = networks[link.upper]
    lanes = []
    for key, ports in sorted(_with_peers(members).items()):
        ordered = tuple(endpoint for _, endpoint in sorted(ports, key=lambda port: port[0]))
        has_rail = fabric.switch_of[ordered[0].switch].rail is not None
        lanes.append(Lane(key, (), network_of[key], has_rail, ()).with_ports(ordered))
    return tuple(lanes)


def _with_peers(
    members: Mapping[LaneKey, list[tuple[tuple[int, int, int], Endpoint]]],
) -> dict[LaneKey, list[tuple[tuple[int, int, int], Endpoint]]]:
    """Move the only port of a lane to the lane of the nearest speed, where there is one."""
    merged = {key: list(ports) for key, ports in members.items()}
    for key in sorted(members):
        others = [
            other for other in merged if other != key and other._replace(speed_gbps=0) == key._replace(speed_gbps=0)
        ]
        if len(merged[key]) > 1 or not others:
            continue
        nearest = min(others, key=lambda other: (abs(other.speed_gbps - key.speed_gbps), other))
        merged[nearest] += merged.pop(key)
    return merged


def _endpoints(fabric: Fabric) -> Iterator[tuple[Host, Link, LaneKey, Endpoint]]:
    """Yield every cabled NIC port with its node, link and lane."""
    has_rdma = marking(fabric.policies.classes) is not None
    # Alike nodes share the tuple of their ports, so what follows from it is computed once.
    devices_of: dict[tuple[int, str, int, int], tuple[str, ...]] = {}
    ordinals_of: dict[int, tuple[int, ...]] = {}
    for link in fabric.links:
        if not link.is_access:
            continue
        host = fabric.host_of[link.lower]
        port = host.ports[link.lower_port]
        kind = (id(host.ports), host.nic_model, host.first_port, host.shared_ports)
        if kind not in devices_of:
            devices_of[kind] = _rdma_devices(fabric, host)
            ordinals_of[kind[0]] = tuple(_ordinals(host))
        rdma = devices_of[kind][link.lower_port] if has_rdma else ""
        tool = Tool.PERFTEST if rdma else Tool.IPERF3
        key = LaneKey(tool, link.plane, port.rail, ordinals_of[kind[0]][link.lower_port], link.speed_gbps)
        nic_port = NicPort(link.lower, port.nic, port.port)
        yield (
            host,
            link,
            key,
            Endpoint(nic_port, link.upper, host.stripe, link.speed_gbps, _address(fabric, link), rdma),
        )


def _rdma_devices(fabric: Fabric, host: Host) -> tuple[str, ...]:
    """Return the RDMA device of each port of a node: the intent's, else as its driver numbers them."""
    vendor = host_vendor(fabric, host)
    prefix = load_catalog().vendor_pack(vendor).rdma_prefix if vendor else ""
    devices = []
    for index, port in enumerate(host.ports):
        numbered = f"{prefix}{host.port_number(index)}" if prefix else ""
        devices.append(port.rdma or numbered)
    return tuple(devices)


def _ordinals(host: Host) -> Iterator[int]:
    counts: dict[tuple[int, int], int] = {}
    for port in host.ports:
        place = (port.plane, port.rail)
        yield counts.get(place, 0)
        counts[place] = counts.get(place, 0) + 1


def _address(fabric: Fabric, link: Link) -> str:
    """Return the address of a NIC port in the family that RDMA uses."""
    if fabric.policies.hosts.rdma_family is AddressFamily.IPV6 or not fabric.is_numbered(link):
        network = fabric.ipv6_network(link)
        if network is not None:
            return ipv6_text(network + 1)
    return ipv4_text(link.network + 1)


def ports_by_switch(lanes: Iterable[Lane]) -> Mapping[str, Sequence[tuple[Lane, int]]]:
    """Return the ports of each switch, as lanes and indexes within them."""
    by_switch: dict[str, list[tuple[Lane, int]]] = {}
    for lane in lanes:
        for index, port in enumerate(lane.ports):
            by_switch.setdefault(port.switch, []).append((lane, index))
    return by_switch
