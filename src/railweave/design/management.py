"""The out-of-band management network: an address and a cable for every switch and node.

An address is a position in the pool that no count moves: leaves follow the first 16 addresses by their numbers, spines
begin at the pool's second quarter, super-spines end at its middle, and nodes begin there by their places in the
stripes. Cables end in the rack, each at the port of its device's rack unit; without racks at management switches of
the stripe, of the pod's spines, and of the super-spines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.devices import Host, Switch, Tier
from railweave.fabric.management import SWITCH_PORT, Management, ManagementPort
from railweave.fabric.model import Fabric
from railweave.fabric.racks import RackLayout
from railweave.intent.management import ManagementKeys
from railweave.intent.model import Intent
from railweave.wording import counted, natural_key

_CODE = "RW304"

FREE = 16
"""First addresses of the pool that no leaf has: the network, its gateway, and what else the user needs there."""


def with_management(
    intent: Intent, keys: ManagementKeys, fabric: Fabric, slots: int
) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    """Return the fabric with its management network, or why it has none; ``slots`` are the places for nodes of a
    stripe: the links to nodes that the host block of a leaf would have addresses for."""
    names = keys.node_ports
    twice = [f"management.node_ports[{index}]" for index, name in enumerate(names) if name in names[:index]]
    if twice:
        message = f"{twice[0]}: a port before is named like this one"
        return fabric, (error("RW016", message, intent.where(twice[0]), fix="name each port of a node once"),)
    need = _need(fabric, len(names), slots)
    if need.pool_size > keys.pool.size:
        return fabric, (_too_small(intent, keys, need),)
    return replace(fabric, management=_planned(fabric, keys, tuple(_devices(fabric, keys, slots)))), ()


def _planned(fabric: Fabric, keys: ManagementKeys, devices: "Sequence[_Device]") -> Management:
    if fabric.racks:
        places = _in_racks(fabric.racks, devices)
    else:
        places = _in_groups(fabric, devices)
    ports: list[ManagementPort] = []
    serves: dict[str, str] = {}
    for device, place in zip(devices, places, strict=True):
        for index, name in enumerate(device.names):
            number, port = divmod(place.first + index, keys.switch.ports)
            switch = f"{fabric.name}-mgmt-{place.group}-{number + 1}"
            serves[switch] = place.serves
            address = keys.pool.first + device.position + index
            ports.append(ManagementPort(device.device.name, name, address, switch, port + 1))
    return Management(
        keys.pool,
        keys.switch.model,
        keys.switch.ports,
        keys.length_m,
        {switch: serves[switch] for switch in sorted(serves, key=natural_key)},
        tuple(sorted(ports, key=lambda port: natural_key(port.device))),
    )


class _Device(NamedTuple):
    """A device with management ports of these ``names``; its addresses begin at ``position`` of the pool."""

    device: Switch | Host
    names: tuple[str, ...]
    position: int


def _devices(fabric: Fabric, keys: ManagementKeys, slots: int) -> Iterator[_Device]:
    size = keys.pool.size
    names = keys.node_ports
    for switch in fabric.switches:
        yield _Device(switch, (SWITCH_PORT,), _position(switch, size))
    for host in _own_nodes(fabric):
        yield _Device(host, names, size // 2 + (host.stripe * slots + host.place) * len(names))


def _position(switch: Switch, pool_size: int) -> int:
    """Return a switch's address as a position in the pool: no count moves it."""
    if switch.tier.level > 1:
        return pool_size // 2 - 1 - switch.number
    if switch.tier.level == 1:
        return pool_size // 4 + switch.number
    return FREE + switch.number


def _own_nodes(fabric: Fabric) -> list[Host]:
    """Return the nodes that this fabric plans for: of several fabrics the one of a node's first NICs."""
    return [host for host in fabric.hosts if host.port_number(0) == 0]


class _Need(NamedTuple):
    """How many addresses each part of the pool has to hold, with the reserve, and how large the pool is then."""

    leaves: int
    spines: int
    nodes: int

    @property
    def pool_size(self) -> int:
        # The last address of the network is its broadcast address.
        most = max(4 * (self.leaves + FREE), 4 * self.spines, 2 * (self.nodes + 1))
        return 1 << (most - 1).bit_length()


def _need(fabric: Fabric, ports: int, slots: int) -> _Need:
    numbers = []
    for tier, switches in zip(fabric.tiers, fabric.tier_switches, strict=True):
        highest = max(switch.number for switch in switches)
        numbers.append(max(_numbers(fabric, tier) * fabric.planes, highest + 1))
    leaves, *above = numbers
    stripes = 0
    nodes = _own_nodes(fabric)
    if nodes:
        last = max(host.stripe for host in nodes)
        stripes = max(leaves // _stripe_leaves(fabric), last + 1)
    return _Need(leaves, sum(above), stripes * slots * ports)


def _numbers(fabric: Fabric, tier: Tier) -> int:
    """Return the numbers that a plane's switches of a tier have with the reserve; above pods there are gaps in them."""
    if tier.level and fabric.has_pods:
        return tier.groups * fabric.tiers[tier.level - 1].ports_above
    return tier.reserve


def _stripe_leaves(fabric: Fabric) -> int:
    """Return the leaves of a stripe in all planes."""
    leaves = fabric.tier_switches[0]
    return sum(leaf.stripe == leaves[0].stripe for leaf in leaves)


def _too_small(intent: Intent, keys: ManagementKeys, need: _Need) -> Diagnostic:
    length = 33 - need.pool_size.bit_length()
    parts = (counted(need.leaves, "leaf"), counted(need.spines, "spine"), counted(need.nodes, "node port"))
    message = (
        f"the pool of management {keys.pool} has {keys.pool.size:,} addresses; {', '.join(parts)} with the reserve"
        f" need a pool of {need.pool_size:,}"
    )
    return error(
        _CODE,
        message,
        intent.where("management.pool"),
        fix=f"use a /{length} or larger pool, or a smaller topology.reserve",
    )


class _Place(NamedTuple):
    """Where a device's management ports are cabled: the management switches of ``group``, which serve what ``serves``
    says, and the first port among those of all its switches, from 0."""

    group: str
    serves: str
    first: int


def _in_racks(racks: RackLayout, devices: Sequence[_Device]) -> list[_Place]:
    """Return the ports of the switch in the device's rack: as many for each rack unit as any device needs."""
    of_unit = max((ceil(len(device.names) / racks.places[device.device.name].height) for device in devices), default=1)
    places = []
    for device in devices:
        place = racks.places[device.device.name]
        places.append(_Place(place.rack, f"rack {place.rack}", (place.unit - 1) * of_unit))
    return places


def _in_groups(fabric: Fabric, devices: Sequence[_Device]) -> list[_Place]:
    """Return the ports of the switches of the device's stripe, leaves first, or of the spines' or super-spines'."""
    of_stripe = _stripe_leaves(fabric)
    per_plane = of_stripe // fabric.planes
    places = []
    for managed in devices:
        device = managed.device
        if isinstance(device, Host):
            first = of_stripe + device.place * len(managed.names)
            places.append(_Place(f"stripe{device.stripe}", f"stripe {device.stripe}", first))
        elif device.tier.attaches_nodes:
            index = device.place % per_plane * fabric.planes + device.plane
            places.append(_Place(f"stripe{device.stripe}", f"stripe {device.stripe}", index))
        else:
            places.append(_above(fabric, device))
    return places


def _above(fabric: Fabric, switch: Switch) -> _Place:
    tier = switch.tier
    if not fabric.has_pods:
        return _Place(tier.plural, tier.plural, switch.number)
    # Places count through the groups of a tier with the stride of the ports below (Tier.ports_above).
    member = switch.place % fabric.tiers[tier.level - 1].ports_above
    if switch.pod is not None:
        return _Place(f"pod{switch.pod}", f"spines of pod {switch.pod}", member * fabric.planes + switch.plane)
    index = (member * tier.groups + (switch.group or 0)) * fabric.planes + switch.plane
    return _Place("superspines", tier.plural, index)
