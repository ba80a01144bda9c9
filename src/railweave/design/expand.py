"""From layout to fabric: every switch, GPU node and cable as a value, in one pass over the links."""

from collections.abc import Iterable
from dataclasses import dataclass

from railweave.design.identity import (
    device_name,
    device_number,
    host_block,
    host_block_size,
    leaf_asn,
    leaf_loopback,
    link_network,
    spine_asn,
    spine_loopback,
)
from railweave.design.layout import Layout, NodeGroup
from railweave.design.media import Media
from railweave.design.nodes import host_ports
from railweave.design.wiring import leaf_places, uplinks
from railweave.fabric.model import Fabric, Host, HostPort, Link, Panel, Switch, Tier
from railweave.fabric.sizing import Sizing
from railweave.intent.model import Intent, Shape


@dataclass(frozen=True, slots=True)
class Panels:
    """The panel that all leaves share, and that of all spines."""

    leaf: Panel
    spine: Panel


@dataclass(frozen=True, slots=True)
class _NodePort:
    """A port of every node of a group on one leaf: its index on the node, its place among the node's ports there."""

    index: int
    offset: int
    rail: int


def expand(intent: Intent, layout: Layout, panels: Panels, media: Media, sizing: Sizing) -> Fabric:
    """Return the fabric of a layout that has no faults."""
    tiers = _tiers(layout)
    leaves = _leaves(intent, layout, tiers[0], panels.leaf)
    spines = _spines(intent, layout, tiers[1], panels.spine)
    hosts = tuple(_hosts(layout))
    addressing, block = intent.policies.addressing, host_block_size(layout)
    length = 32 - (block - 1).bit_length()
    return Fabric(
        name=intent.fabric,
        rails=layout.rails,
        planes=layout.planes,
        policies=intent.policies,
        sizing=sizing,
        tiers=tiers,
        switches=leaves + spines,
        hosts=hosts,
        links=_links(intent, layout, media, (leaves, spines, hosts)),
        host_blocks={leaf.name: (host_block(addressing, layout, leaf.number), length) for leaf in leaves},
    )


def _tiers(layout: Layout) -> tuple[Tier, ...]:
    return (
        Tier(
            name="leaf",
            level=0,
            count=layout.leaves,
            reserve=layout.reserve_leaves,
            ports_down=layout.leaf_ports.down,
            down_gbps=layout.down.speed_gbps,
            ports_up=layout.uplinks,
            up_gbps=layout.up.speed_gbps,
            links_per_pair=layout.links_per_pair,
        ),
        Tier(
            name="spine",
            level=1,
            count=layout.spines,
            reserve=layout.reserve_spines,
            ports_down=layout.spine_ports,
            down_gbps=layout.up.speed_gbps,
        ),
    )


def _leaves(intent: Intent, layout: Layout, tier: Tier, panel: Panel) -> tuple[Switch, ...]:
    addressing, railed = intent.policies.addressing, layout.shape is Shape.RAIL_OPTIMIZED
    leaves = []
    for place in leaf_places(layout):
        for plane in range(layout.planes):
            number = device_number(place, plane, layout.planes)
            leaves.append(
                Switch(
                    name=device_name(layout.fabric, tier.name, number),
                    tier=tier,
                    number=number,
                    place=place,
                    plane=plane,
                    stripe=place // layout.stripe_leaves,
                    rail=place % layout.stripe_leaves if railed else None,
                    asn=leaf_asn(addressing, number),
                    loopback=leaf_loopback(addressing, number),
                    panel=panel,
                )
            )
    return tuple(leaves)


def _spines(intent: Intent, layout: Layout, tier: Tier, panel: Panel) -> tuple[Switch, ...]:
    addressing = intent.policies.addressing
    spines = []
    for place in range(layout.spines):
        for plane in range(layout.planes):
            number = device_number(place, plane, layout.planes)
            spines.append(
                Switch(
                    name=device_name(layout.fabric, tier.name, number),
                    tier=tier,
                    number=number,
                    place=place,
                    plane=plane,
                    stripe=None,
                    rail=None,
                    asn=spine_asn(addressing, plane),
                    loopback=spine_loopback(addressing, number),
                    panel=panel,
                )
            )
    return tuple(spines)


def _hosts(layout: Layout) -> Iterable[Host]:
    for group in layout.groups:
        entry = group.entry
        ports = host_ports(entry, layout.rails, layout.planes)
        for number in range(entry.count):
            stripe, place = divmod(number, group.stripe_nodes)
            yield Host(
                name=f"{entry.name}{number + 1}",
                kind=entry.name,
                number=number,
                stripe=group.first_stripe + stripe,
                place=place,
                nic_model=entry.nics.model,
                ports=ports,
            )


def _links(
    intent: Intent,
    layout: Layout,
    media: Media,
    devices: tuple[tuple[Switch, ...], tuple[Switch, ...], tuple[Host, ...]],
) -> tuple[Link, ...]:
    """Return all links leaf by leaf in the order of the leaf's ports."""
    leaves, spines, hosts = devices
    nodes_in: dict[int, list[Host]] = {}
    for host in hosts:
        nodes_in.setdefault(host.stripe, []).append(host)
    groups = {group.entry.name: group for group in layout.groups}
    ports_on = {name: _ports_by_leaf(group, layout) for name, group in groups.items()}
    upward = _LeafUplinks(intent, layout, media, spines)
    links: list[Link] = []
    for leaf in leaves:
        nodes = nodes_in.get(leaf.stripe or 0, [])
        if nodes:
            group = groups[nodes[0].kind]
            ports = ports_on[nodes[0].kind][leaf.plane, leaf.rail or 0]
            medium = media.host[group.entry.name]
            links += _host_links(intent, layout, (leaf, nodes, group.ports_per_leaf), ports, medium)
        links += upward.of(leaf)
    return tuple(links)


def _ports_by_leaf(group: NodeGroup, layout: Layout) -> dict[tuple[int, int], list[_NodePort]]:
    """Return a node's ports by (plane, leaf of the stripe) in their order on the leaf."""
    found: dict[tuple[int, int], list[_NodePort]] = {}
    ports: tuple[HostPort, ...] = host_ports(group.entry, layout.rails, layout.planes)
    railed = layout.shape is Shape.RAIL_OPTIMIZED
    for index, port in enumerate(ports):
        on_leaf = found.setdefault((port.plane, port.rail if railed else 0), [])
        on_leaf.append(_NodePort(index, len(on_leaf), port.rail))
    return found


def _host_links(
    intent: Intent, layout: Layout, meeting: tuple[Switch, list[Host], int], ports: list[_NodePort], media: str
) -> list[Link]:
    """Return the host links of a leaf: node by node, each at ``place`` × its ports on the leaf."""
    leaf, nodes, per_leaf = meeting
    first = host_block(intent.policies.addressing, layout, leaf.number)
    speed_gbps, length_m = layout.down.speed_gbps, intent.cabling.host.length_m
    return [
        Link(
            0,
            leaf.plane,
            port.rail,
            node.name,
            port.index,
            leaf.name,
            node.place * per_leaf + port.offset,
            first + 2 * (node.place * per_leaf + port.offset),
            speed_gbps,
            length_m,
            media,
        )
        for node in nodes
        for port in ports
    ]


class _LeafUplinks:
    """The uplinks of any leaf of a layout; what all leaves share is computed once."""

    def __init__(self, intent: Intent, layout: Layout, media: Media, spines: tuple[Switch, ...]) -> None:
        self._addressing = intent.policies.addressing
        self._layout = layout
        self._length_m = intent.cabling.leaf_spine.length_m
        self._media = media.leaf_spine
        self._uplinks = uplinks(layout)
        self._spine = {(spine.plane, spine.place): spine.name for spine in spines}

    def of(self, leaf: Switch) -> list[Link]:
        """Return the uplinks of ``leaf`` in the order of its ports; without addresses where none are numbered."""
        zero = 0 if self._addressing.unnumbered else link_network(self._addressing, self._layout, leaf.number, 0)
        step = 0 if self._addressing.unnumbered else 2
        speed_gbps = self._layout.up.speed_gbps
        return [
            Link(
                1,
                leaf.plane,
                None,
                leaf.name,
                uplink.leaf_port,
                self._spine[leaf.plane, uplink.spine],
                uplink.base + uplink.step * leaf.place,
                zero + step * uplink.leaf_port,
                speed_gbps,
                self._length_m,
                self._media,
            )
            for uplink in self._uplinks
        ]
