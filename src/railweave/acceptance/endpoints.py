"""The NIC ports of a fabric as ends of tests, and the lanes within which tests pair them.

A lane holds one port of each node: ports of one plane, rail and speed, in the order of the stripes. So any two ports
of a lane are of different nodes, and a rotation of a lane is a round in which every port sends and receives once.
"""

from collections import Counter
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


class LanePort(NamedTuple):
    """A port of a lane, and the place of its node in the fabric, by which ports are sorted."""

    # The stripe of the node, its place in the stripe, and its number.
    node_order: tuple[int, int, int]
    endpoint: Endpoint


def lanes_of(fabric: Fabric) -> tuple[Lane, ...]:
    """Return the lanes of a fabric, sorted by their keys.

    A port without a peer of its own speed is in the lane of the nearest speed.
    """
    lanes = []
    for key, ports in sorted(_with_peers(_ports_of_lanes(fabric)).items()):
        ports.sort(key=attrgetter("node_order"))
        switch = fabric.switch_of[ports[0].endpoint.switch]
        network = fabric.network_of(switch)
        lane = Lane(key=key, ports=(), network=network, has_rail=switch.rail is not None, stripes=())
        lanes.append(lane.with_ports(port.endpoint for port in ports))
    return tuple(lanes)


def _with_peers(ports_of_lanes: Mapping[LaneKey, list[LanePort]]) -> dict[LaneKey, list[LanePort]]:
    """Return the ports of each lane after lanes of a single port have been merged with that of the nearest speed.

    A port whose lane has no other speeds stays alone.
    """
    merged = {key: list(ports) for key, ports in ports_of_lanes.items()}
    for key in sorted(ports_of_lanes):
        # The keys that differ only in their speed.
        other_keys = [other for other in merged if other != key and other == key._replace(speed_gbps=other.speed_gbps)]
        if len(merged[key]) > 1 or not other_keys:
            continue
        nearest = min(other_keys, key=lambda other: (abs(other.speed_gbps - key.speed_gbps), other))
        merged[nearest] += merged.pop(key)
    return merged


def _ports_of_lanes(fabric: Fabric) -> dict[LaneKey, list[LanePort]]:
    """Return every cabled NIC port by its lane, in the order of the links."""
    has_rdma = marking(fabric.policies.classes) is not None
    # Equal nodes share the tuple of their ports, so what follows from it is computed once.
    devices_of: dict[tuple[int, str, int, int], tuple[str, ...]] = {}
    ordinals_of: dict[int, tuple[int, ...]] = {}
    ports_of_lanes: dict[LaneKey, list[LanePort]] = {}
    for link in fabric.links:
        if not link.is_access:
            continue
        host = fabric.host_of[link.lower]
        ports_id = id(host.ports)
        if ports_id not in ordinals_of:
            ordinals_of[ports_id] = tuple(_ordinals(host))
        ordinal = ordinals_of[ports_id][link.lower_port]
        rdma = ""
        if has_rdma:
            device_key = (ports_id, host.nic_model, host.first_port, host.shared_ports)
            if device_key not in devices_of:
                devices_of[device_key] = _rdma_devices(fabric, host)
            rdma = devices_of[device_key][link.lower_port]
        tool = Tool.PERFTEST if rdma else Tool.IPERF3
        port = host.ports[link.lower_port]
        key = LaneKey(tool, link.plane, port.rail, ordinal, link.speed_gbps)
        nic_port = NicPort(link.lower, port.nic, port.port)
        endpoint = Endpoint(nic_port, link.upper, host.stripe, link.speed_gbps, _address(fabric, link), rdma)
        lane_port = LanePort((host.stripe, host.place, host.number), endpoint)
        ports_of_lanes.setdefault(key, []).append(lane_port)
    return ports_of_lanes


def _rdma_devices(fabric: Fabric, host: Host) -> tuple[str, ...]:
    """Return the RDMA device of each port of a node.

    It is the intent's, or else the one that the vendor's driver gives the port. It is empty for an unknown vendor.
    """
    prefix = ""
    vendor = host_vendor(fabric, host)
    if vendor:
        prefix = load_catalog().vendor_pack(vendor).rdma_prefix
    devices = []
    for index, port in enumerate(host.ports):
        device = port.rdma
        if not device and prefix:
            device = f"{prefix}{host.port_number(index)}"
        devices.append(device)
    return tuple(devices)


def _ordinals(host: Host) -> Iterator[int]:
    """Yield the number of each port among the node's ports of the same plane and rail, from 0."""
    counts: Counter[tuple[int, int]] = Counter()
    for port in host.ports:
        yield counts[port.plane, port.rail]
        counts[port.plane, port.rail] += 1


def _address(fabric: Fabric, link: Link) -> str:
    """Return the address of a NIC port in the family that RDMA uses."""
    if fabric.policies.hosts.rdma_family is AddressFamily.IPV6 or not fabric.is_numbered(link):
        network = fabric.ipv6_network(link)
        if network is not None:
            return ipv6_text(network + 1)
    return ipv4_text(link.network + 1)


def ports_by_switch(lanes: Iterable[Lane]) -> Mapping[str, Sequence[tuple[Lane, int]]]:
    """Return the ports of each switch by its name; a port is its lane and its index within the lane."""
    by_switch: dict[str, list[tuple[Lane, int]]] = {}
    for lane in lanes:
        for index, port in enumerate(lane.ports):
            by_switch.setdefault(port.switch, []).append((lane, index))
    return by_switch
