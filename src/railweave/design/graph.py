"""From layout to fabric: every switch, GPU node and cable as a value, tier by tier."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby, pairwise
from typing import NamedTuple

from railweave.design.identity import (
    asn,
    device_name,
    device_number,
    host_block,
    host_block_size,
    ipv6_block,
    link_network,
    loopback,
    nic_block,
    nic_block_size,
)
from railweave.design.layout import Layout, NodeGroup, TierLayout
from railweave.design.leaf_class import LeafClass
from railweave.design.media import Media
from railweave.design.nodes import host_ports, ports_by_leaf
from railweave.design.wiring import Uplink, wire, wire_class
from railweave.fabric.devices import RAIL, Host, Switch, Tier
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.panel import Panel
from railweave.fabric.policy import Addressing, ClassRole, Pool
from railweave.fabric.sizing import Sizing
from railweave.intent.model import Intent, Part, Shape


class Panels(NamedTuple):
    """The panels of leaves by their class, and those of the tiers above."""

    leaves: tuple[Panel, ...]
    above: tuple[Panel, ...]


def build_fabric(intent: Intent, layout: Layout, panels: Panels, media: Media, sizing: Sizing) -> Fabric:
    """Return the fabric of a layout that has no errors."""
    tiers = [tuple(_switches(intent, layout, tier, panels)) for tier in layout.tiers]
    hosts = tuple(_hosts(layout, intent.part))
    addressing = intent.policies.addressing
    part = ""
    if intent.part:
        part = intent.part.name
    return Fabric(
        name=intent.fabric,
        rails=layout.rails,
        planes=layout.planes,
        rail_only=layout.shape is Shape.RAIL_ONLY,
        policies=intent.policies,
        sizing=sizing,
        tiers=tuple(tier.tier for tier in layout.tiers),
        switches=tuple(chain.from_iterable(tiers)),
        hosts=hosts,
        links=tuple(_links(intent, layout, media, tiers, hosts)),
        host_blocks=_host_blocks(addressing, layout, tiers[0]),
        ipv6_blocks=_ipv6_blocks(addressing, tiers[0]),
        part=part,
        rdma_beside=_rdma_beside(intent),
        leaves_per_nic=layout.leaves_per_nic,
        nic_blocks=_nic_blocks(addressing, layout, tiers[0]),
        stripe_nodes={group.entry.name: group.stripe_nodes for group in layout.groups},
        pod_stripes=layout.pod,
        automatic_stripes=tuple(entry.name for entry in intent.nodes[1:] if entry.first_stripe is None),
    )


def _host_blocks(addressing: Addressing, layout: Layout, leaves: Iterable[Switch]) -> Mapping[str, tuple[int, int]]:
    """Return the first address and the length of the host block of each leaf, none where nodes have no IPv4."""
    length = 32 - (host_block_size(layout) - 1).bit_length()
    blocks = {}
    for leaf in leaves:
        first = host_block(addressing, layout, leaf.number)
        if first is not None:
            blocks[leaf.name] = first, length
    return blocks


def _ipv6_blocks(addressing: Addressing, leaves: Iterable[Switch]) -> Mapping[str, int]:
    """Return the first address of the /64 of each leaf, none where nodes have no IPv6."""
    blocks = {}
    for leaf in leaves:
        first = ipv6_block(addressing, leaf.number)
        if first is not None:
            blocks[leaf.name] = first
    return blocks


def _nic_blocks(addressing: Addressing, layout: Layout, leaves: Iterable[Switch]) -> Mapping[str, Pool]:
    """Return the addresses of NICs that each leaf announces, none where a NIC has one leaf."""
    if layout.leaves_per_nic == 1:
        return {}
    length = 32 - (nic_block_size(layout) - 1).bit_length()
    return {leaf.name: Pool(nic_block(addressing, layout, leaf.place, leaf.plane), length) for leaf in leaves}


def _switches(intent: Intent, layout: Layout, tier_layout: TierLayout, panels: Panels) -> Iterator[Switch]:
    addressing = intent.policies.addressing
    level = tier_layout.level
    # By the number of the leaf class; the tiers above have one of each.
    tiers = [tier_layout.tier]
    panel_of = panels.leaves
    if level:
        panel_of = (panels.above[level - 1],)
    else:
        tiers = [_tier_of_class(tier_layout.tier, leaf, layout.classes[0]) for leaf in layout.classes]
    for place in tier_layout.places:
        leaf = 0
        stripe = None
        if level == 0:
            stripe = place // layout.stripe_leaves
            leaf = layout.owner(stripe).leaf
        pod, group = _pod_and_group(layout, tier_layout, place)
        for plane in range(layout.planes):
            number = device_number(place, plane, layout.planes)
            yield Switch(
                name=device_name(layout.fabric, tier_layout.name, number),
                tier=tiers[leaf],
                number=number,
                place=place,
                plane=plane,
                stripe=stripe,
                rail=_rail(layout, tier_layout, place),
                asn=asn(addressing, level, number, plane, tier_layout.group_of(place)[0]),
                loopback=loopback(addressing, level, number),
                panel=panel_of[leaf],
                pod=pod,
                group=group,
            )


def _pod_and_group(layout: Layout, tier_layout: TierLayout, place: int) -> tuple[int | None, int | None]:
    """Return the pod of a leaf or spine, and the group of a spine or super-spine. Two tiers have neither."""
    if layout.super_spines is None:
        return None, None
    pod, _ = tier_layout.group_of(place)
    if tier_layout.level == 0:
        return pod, None
    if tier_layout.level == 1:
        group, _ = tier_layout.joins(place)
        return pod, group
    # Super-spines serve every pod; what group_of counts for them is the group.
    return None, pod


def _tier_of_class(tier: Tier, leaf: LeafClass, first: LeafClass) -> Tier:
    """Return the tier of the leaves of a class: ``tier``, or one of their own where their uplinks are others."""
    if leaf.has_uplinks_of(first):
        return tier
    return replace(
        tier,
        ports_down=leaf.down,
        down_gbps=leaf.hardware.down.speed_gbps,
        ports_up=leaf.uplinks,
        up_gbps=leaf.hardware.up.speed_gbps,
        links_per_pair=leaf.pair,
        ports_above=leaf.ports.total - leaf.down,
        entry=leaf.name,
        path=leaf.path,
    )


def _rail(layout: Layout, tier_layout: TierLayout, place: int) -> int | None:
    """Return the rail that a switch serves: of a leaf where racks are not aligned, of a spine where rails are apart."""
    if tier_layout.rails:
        return tier_layout.group_of(place)[0]
    if tier_layout.level == 0 and layout.shape.has_rails:
        return layout.leaf_role(place)[1]
    return None


def _rdma_beside(intent: Intent) -> tuple[str, ...]:
    """Return the names of the other fabrics of the file that carry RDMA."""
    names = []
    for other in intent.others:
        roles = {traffic.role for traffic in other.policies.classes}
        if other.part and ClassRole.RDMA in roles:
            names.append(other.part.name)
    return tuple(names)


def _hosts(layout: Layout, part: Part | None) -> Iterable[Host]:
    interfaces = RAIL
    if part:
        interfaces = part.name
    for group in layout.groups:
        entry = group.entry
        ports = host_ports(entry, layout.rails, layout.planes, layout.leaves_per_nic, interfaces=interfaces)
        first_port = 0
        if part:
            first_port = part.first_ports[entry.name]
        shared_ports = 0
        if entry.nics.are_shared:
            shared_ports = entry.nics.ports
        for number in range(entry.count):
            stripe, index = divmod(number, group.stripe_nodes)
            yield Host(
                name=f"{entry.name}{number + 1}",
                kind=entry.name,
                number=number,
                stripe=group.first_stripe + stripe,
                place=group.first_place + index,
                nic_model=entry.nics.model or "",
                ports=ports,
                role=entry.role,
                first_port=first_port,
                collectives=part is None or entry.name in part.collectives,
                shared_ports=shared_ports,
            )


def _links(
    intent: Intent, layout: Layout, media: Media, tiers: Sequence[Sequence[Switch]], hosts: Iterable[Host]
) -> Iterator[Link]:
    """Yield all links switch by switch from the lowest tier upwards, each with its links to nodes and then its uplinks,
    in the order of its ports."""
    access = _AccessLinks(intent, layout, media, hosts)
    wires = [
        _Uplinks(intent, layout, media, (lower, upper), tiers[upper.level]) for lower, upper in pairwise(layout.tiers)
    ]
    for switch in tiers[0]:
        yield from access.of(switch)
        if wires:
            yield from wires[0].of(switch)
    for uplinks, switches in zip(wires[1:], tiers[1:], strict=False):
        for switch in switches:
            yield from uplinks.of(switch)


class _AccessLinks:
    """The links to GPU nodes of any switch of the lowest tier; what all share is computed once."""

    def __init__(self, intent: Intent, layout: Layout, media: Media, hosts: Iterable[Host]) -> None:
        self._addressing = intent.policies.addressing
        self._layout = layout
        self._media = media.access
        self._length_m = intent.cabling.host.length_m
        self._groups = {group.entry.name: group for group in layout.groups}
        self._ports = {name: ports_by_leaf(group, layout) for name, group in self._groups.items()}
        self._nodes: dict[int | None, list[Host]] = {}
        for host in hosts:
            self._nodes.setdefault(host.stripe, []).append(host)

    def of(self, switch: Switch) -> list[Link]:
        """Return the links of ``switch`` node by node, in the order of its ports."""
        links: list[Link] = []
        for kind, nodes in groupby(self._nodes.get(switch.stripe, []), key=lambda node: node.kind):
            links += self._of_group(switch, self._groups[kind], nodes)
        return links

    def _of_group(self, switch: Switch, group: NodeGroup, nodes: Iterable[Host]) -> Iterator[Link]:
        """Yield the links of ``switch`` to nodes of a group, each at its place × its ports on the switch."""
        of_nic, rail = self._layout.leaf_role(switch.place)
        name = group.entry.name
        ports = self._ports[name][switch.plane, rail, of_nic]
        first = host_block(self._addressing, self._layout, switch.number)
        step = 2
        if first is None:
            # Nodes have no IPv4: a network of 0 says that a link has no /31.
            first = 0
            step = 0
        speed_gbps = group.breakout.speed_gbps
        length_m = self._length_m
        medium = self._media[name]
        for node in nodes:
            first_port = group.first_port + (node.place - group.first_place) * group.ports_per_leaf
            for port in ports:
                leaf_port = first_port + port.offset
                yield Link(
                    0,
                    switch.plane,
                    port.rail,
                    node.name,
                    port.number,
                    switch.name,
                    leaf_port,
                    first + step * leaf_port,
                    speed_gbps,
                    length_m,
                    medium,
                )


class _UplinkRun(NamedTuple):
    """The uplinks of a leaf of one kind, or of a switch of another tier: they lie ``further`` on than the ports by
    which they have their addresses; their speed in Gb/s and their medium."""

    wires: tuple[Uplink, ...]
    further: int
    speed_gbps: int
    medium: str


class _Uplinks:
    """The uplinks of any switch of a tier; what all of them share is computed once."""

    def __init__(
        self,
        intent: Intent,
        layout: Layout,
        media: Media,
        tiers: tuple[TierLayout, TierLayout],
        uppers: Iterable[Switch],
    ) -> None:
        self._addressing = intent.policies.addressing
        self._lower, self._above = tiers
        self._level = self._above.level
        self._length_m = (*intent.cabling.by_level.values(),)[self._level].length_m
        self._layout = layout
        lower = self._lower
        self._runs = [_UplinkRun(wire(*tiers), 0, lower.up.speed_gbps, media.uplinks[lower.level][0])]
        if lower.level == 0:
            media_of_classes = zip(layout.classes, media.uplinks[0], strict=True)
            self._runs = [_run_of_class(leaf, tiers, medium) for leaf, medium in media_of_classes]
        self._upper = {(upper.plane, upper.place): upper.name for upper in uppers}

    def of(self, switch: Switch) -> list[Link]:
        """Return the uplinks of ``switch`` in the order of its ports; without addresses where none are numbered."""
        group, index = self._lower.joins(switch.place)
        zero = 0
        step = 0
        if not self._addressing.unnumbered:
            zero = link_network(self._addressing, self._lower, switch.number)
            step = 2
        level = self._level
        plane = switch.plane
        name = switch.name
        wires, further, speed_gbps, medium = self._run(switch)
        return [
            Link(
                level,
                plane,
                None,
                name,
                uplink.port + further,
                self._upper[plane, self._above.place(group, uplink.upper)],
                uplink.ports[uplink.base + uplink.step * index],
                zero + step * uplink.port,
                speed_gbps,
                self._length_m,
                medium,
            )
            for uplink in wires
        ]

    def _run(self, switch: Switch) -> _UplinkRun:
        if len(self._runs) == 1:
            return self._runs[0]
        return self._runs[self._layout.owner(switch.stripe or 0).leaf]


def _run_of_class(leaf: LeafClass, tiers: tuple[TierLayout, TierLayout], medium: str) -> _UplinkRun:
    further = leaf.ports.block
    if leaf.block is None:
        further -= tiers[0].ports.block
    return _UplinkRun(wire_class(leaf, *tiers), further, leaf.hardware.up.speed_gbps, medium)
