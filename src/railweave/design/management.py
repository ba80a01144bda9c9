"""The out-of-band management network: an address and a cable for every switch and node.

Growth moves no address in the pool: leaves have those after the first 16 by their numbers, spines those from the second
quarter, super-spines those below the middle downwards, and nodes those from the middle by their places in the stripes.
A cable ends at a switch in its device's rack, at the port of its rack unit; without racks at management switches of the
stripe, of the pod's spines, or of the super-spines.
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
    """Return the fabric with its management network. If there is an error, return the fabric as it is, and the error.

    ``slots`` is the number of places for nodes in a stripe: a leaf's host block has addresses for as many links.
    """
    names = keys.node_ports
    for index, name in enumerate(names):
        if name in names[:index]:
            path = f"management.node_ports[{index}]"
            message = f"{path}: a port before is named like this one"
            return fabric, (error("RW016", message, intent.where(path), fix="name each port of a node once"),)
    need = _need(fabric, len(names), slots)
    if need.pool_size > keys.pool.size:
        return fabric, (_too_small(intent, keys, need),)
    devices = list(_managed_devices(fabric, keys, slots))
    return replace(fabric, management=_management(fabric, keys, devices)), ()


class _ManagedDevice(NamedTuple):
    """A device with its management ports."""

    device: Switch | Host
    # Of its ports.
    names: tuple[str, ...]
    # Of the first port's address in the pool.
    position: int


def _managed_devices(fabric: Fabric, keys: ManagementKeys, slots: int) -> Iterator[_ManagedDevice]:
    """Yield all switches and the nodes that this fabric plans for, with their positions in the pool."""
    size = keys.pool.size
    names = keys.node_ports
    for switch in fabric.switches:
        yield _ManagedDevice(switch, (SWITCH_PORT,), _position(switch, size))
    for host in _own_nodes(fabric):
        slot = host.stripe * slots + host.place
        yield _ManagedDevice(host, names, size // 2 + slot * len(names))


def _management(fabric: Fabric, keys: ManagementKeys, devices: Sequence[_ManagedDevice]) -> Management:
    """Return the management network: the address and the switch port of every port of ``devices``."""
    if fabric.racks:
        places = _in_racks(fabric.racks, devices)
    else:
        places = _in_groups(fabric, devices)
    ports: list[ManagementPort] = []
    serves: dict[str, str] = {}
    for managed, place in zip(devices, places, strict=True):
        for index, name in enumerate(managed.names):
            number, port = divmod(place.first_port + index, keys.switch.ports)
            switch = f"{fabric.name}-mgmt-{place.group}-{number + 1}"
            serves[switch] = place.serves
            address = keys.pool.first + managed.position + index
            ports.append(ManagementPort(managed.device.name, name, address, switch, port + 1))
    return Management(
        pool=keys.pool,
        model=keys.switch.model,
        switch_ports=keys.switch.ports,
        length_m=keys.length_m,
        switches={switch: serves[switch] for switch in sorted(serves, key=natural_key)},
        ports=tuple(sorted(ports, key=lambda port: natural_key(port.device))),
    )


def _position(switch: Switch, pool_size: int) -> int:
    """Return the position of a switch's address in the pool, which growth does not move."""
    if switch.tier.level > 1:
        return pool_size // 2 - 1 - switch.number
    if switch.tier.level == 1:
        return pool_size // 4 + switch.number
    return FREE + switch.number


def _own_nodes(fabric: Fabric) -> list[Host]:
    """Return the nodes whose management this fabric plans.

    If a node is in several fabrics, the fabric of its first NIC plans it.
    """
    return [host for host in fabric.hosts if host.port_number(0) == 0]


class _Need(NamedTuple):
    """How many addresses each part of the pool needs with the reserve."""

    leaves: int
    spines: int
    nodes: int

    @property
    def pool_size(self) -> int:
        """Return the size of the pool: a quarter for leaves, a quarter for spines and super-spines, half for nodes."""
        # The last address of the network is its broadcast address.
        size = max(4 * (self.leaves + FREE), 4 * self.spines, 2 * (self.nodes + 1))
        return 1 << (size - 1).bit_length()


def _need(fabric: Fabric, ports: int, slots: int) -> _Need:
    """Return the need for addresses with ``ports`` management ports a node and ``slots`` nodes a stripe."""
    numbers_of_tiers = []
    for tier, switches in zip(fabric.tiers, fabric.tier_switches, strict=True):
        highest_number = max(switch.number for switch in switches)
        reserved_numbers = _reserved_numbers(fabric, tier) * fabric.planes
        numbers_of_tiers.append(max(reserved_numbers, highest_number + 1))
    leaves, *spines_and_above = numbers_of_tiers
    stripes = 0
    nodes = _own_nodes(fabric)
    if nodes:
        last_stripe = max(host.stripe for host in nodes)
        stripes = max(leaves // _stripe_leaves(fabric), last_stripe + 1)
    return _Need(leaves, sum(spines_and_above), stripes * slots * ports)


def _reserved_numbers(fabric: Fabric, tier: Tier) -> int:
    """Return how many switch numbers a tier needs in one plane with the reserve."""
    # In three tiers the numbers of spines and super-spines have gaps.
    if tier.level and fabric.has_pods:
        return tier.groups * fabric.tiers[tier.level - 1].ports_above
    return tier.reserve


def _stripe_leaves(fabric: Fabric) -> int:
    """Return the leaves of a stripe in all planes."""
    leaves = fabric.tier_switches[0]
    return sum(leaf.stripe == leaves[0].stripe for leaf in leaves)


def _too_small(intent: Intent, keys: ManagementKeys, need: _Need) -> Diagnostic:
    """Return the error of a pool with fewer addresses than switches and nodes need."""
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
    """Where the management ports of a device are cabled."""

    # Names the group of management switches.
    group: str
    # What the group serves, for people.
    serves: str
    # Of the device, among the ports of all switches of the group, from 0.
    first_port: int


def _in_racks(racks: RackLayout, devices: Sequence[_ManagedDevice]) -> list[_Place]:
    """Return where the ports of each device are cabled: at the switches of its rack, by its rack unit.

    Every rack unit has as many ports as the device that needs the most of them.
    """
    ports_per_unit = 1
    for managed in devices:
        place = racks.places[managed.device.name]
        ports_per_unit = max(ports_per_unit, ceil(len(managed.names) / place.height))
    places = []
    for managed in devices:
        place = racks.places[managed.device.name]
        first_port = (place.unit - 1) * ports_per_unit
        places.append(_Place(group=place.rack, serves=f"rack {place.rack}", first_port=first_port))
    return places


def _in_groups(fabric: Fabric, devices: Sequence[_ManagedDevice]) -> list[_Place]:
    """Return where the ports of each device are cabled without racks.

    Leaves and then nodes are at the switches of their stripe, spines and super-spines at switches of their own.
    """
    stripe_leaves = _stripe_leaves(fabric)
    leaves_per_plane = stripe_leaves // fabric.planes
    places = []
    for managed in devices:
        device = managed.device
        if isinstance(device, Host):
            port = stripe_leaves + device.place * len(managed.names)
            places.append(_Place(group=f"stripe{device.stripe}", serves=f"stripe {device.stripe}", first_port=port))
        elif device.tier.attaches_nodes:
            port = device.place % leaves_per_plane * fabric.planes + device.plane
            places.append(_Place(group=f"stripe{device.stripe}", serves=f"stripe {device.stripe}", first_port=port))
        else:
            places.append(_place_above_leaves(fabric, device))
    return places


def _place_above_leaves(fabric: Fabric, switch: Switch) -> _Place:
    """Return where a spine or super-spine is cabled: at the switches of its tier, or of its pod's spines."""
    tier = switch.tier
    if not fabric.has_pods:
        return _Place(group=tier.plural, serves=tier.plural, first_port=switch.number)
    # Places count through the groups of a tier with the stride of the ports below (Tier.ports_above).
    member = switch.place % fabric.tiers[tier.level - 1].ports_above
    if switch.pod is not None:
        first_port = member * fabric.planes + switch.plane
        return _Place(group=f"pod{switch.pod}", serves=f"spines of pod {switch.pod}", first_port=first_port)
    number = member * tier.groups + (switch.group or 0)
    return _Place(group="superspines", serves=tier.plural, first_port=number * fabric.planes + switch.plane)
