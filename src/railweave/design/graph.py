"""From layout to fabric: every switch, GPU node and cable as a value, tier by tier."""

from collections import defaultdict
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
    """Return (network, prefix length) of the host block of each leaf; empty if nodes have no IPv4."""
    length = 32 - (host_block_size(layout) - 1).bit_length()
    blocks = {}
    for leaf in leaves:
        first = host_block(addressing, layout, leaf.number)
        if first is not None:
            blocks[leaf.name] = first, length
    return blocks


def _ipv6_blocks(addressing: Addressing, leaves: Iterable[Switch]) -> Mapping[str, int]:
    """Return the first address of the /64 of each leaf; empty if nodes have no IPv6."""
    blocks = {}
    for leaf in leaves:
        first = ipv6_block(addressing, leaf.number)
        if first is not None:
            blocks[leaf.name] = first
    return blocks


def _nic_blocks(addressing: Addressing, layout: Layout, leaves: Iterable[Switch]) -> Mapping[str, Pool]:
    """Return the addresses of NICs that each leaf announces; empty if each NIC has one leaf a plane."""
    if layout.leaves_per_nic == 1:
        return {}
    length = 32 - (nic_block_size(layout) - 1).bit_length()
    return {leaf.name: Pool(nic_block(addressing, layout, leaf.place, leaf.plane), length) for leaf in leaves}


class _SwitchModel(NamedTuple):
    """What all switches of a leaf class, or of a tier above the leaves, have in common."""

    tier: Tier
    panel: Panel


def _switch_models(layout: Layout, tier_layout: TierLayout, panels: Panels) -> list[_SwitchModel]:
    """Return a model for each leaf class, or one for a tier above the leaves."""
    tier = tier_layout.tier
    if tier_layout.level:
        return [_SwitchModel(tier, panels.above[tier_layout.level - 1])]
    classes = zip(layout.classes, panels.leaves, strict=True)
    return [_SwitchModel(_tier_of_class(tier, leaf, layout.classes[0]), panel) for leaf, panel in classes]


def _switches(intent: Intent, layout: Layout, tier_layout: TierLayout, panels: Panels) -> Iterator[Switch]:
    """Yield the switches of a tier, place by place, at each place plane by plane."""
    addressing = intent.policies.addressing
    level = tier_layout.level
    models = _switch_models(layout, tier_layout, panels)
    for place in tier_layout.places:
        # Only leaves have stripes, and models that differ by their class.
        model = models[0]
        stripe = None
        if level == 0:
            stripe = place // layout.stripe_leaves
            model = models[layout.owner(stripe).leaf]
        tier_group, _ = tier_layout.group_of(place)
        pod, group = _pod_and_group(layout, tier_layout, place)
        for plane in range(layout.planes):
            number = device_number(place, plane, layout.planes)
            yield Switch(
                name=device_name(layout.fabric, tier_layout.name, number),
                tier=model.tier,
                number=number,
                place=place,
                plane=plane,
                stripe=stripe,
                rail=_rail(layout, tier_layout, place),
                asn=asn(addressing, level, number, plane, tier_group),
                loopback=loopback(addressing, level, number),
                panel=model.panel,
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
    """Return the tier of the leaves of a class: ``tier``, or one of its own if its uplinks differ from those of the
    ``first`` class."""
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
    """Return the rail that a switch serves; None for a rack-aligned leaf, and for a spine that joins all rails."""
    if tier_layout.rails:
        rail, _ = tier_layout.group_of(place)
        return rail
    if tier_layout.level == 0 and layout.shape.has_rails:
        _, rail = layout.leaf_role(place)
        return rail
    return None


def _rdma_beside(intent: Intent) -> tuple[str, ...]:
    """Return the names of the other fabrics of the intent that carry RDMA."""
    names = []
    for other in intent.others:
        roles = {traffic.role for traffic in other.policies.classes}
        if other.part and ClassRole.RDMA in roles:
            names.append(other.part.name)
    return tuple(names)


def _hosts(layout: Layout, part: Part | None) -> Iterable[Host]:
    """Yield the nodes entry by entry; ``part`` is the fabric's if the intent has several, else None."""
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
            stripe_offset, place_offset = divmod(number, group.stripe_nodes)
            yield Host(
                name=f"{entry.name}{number + 1}",
                kind=entry.name,
                number=number,
                stripe=group.first_stripe + stripe_offset,
                place=group.first_place + place_offset,
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
    """Yield all links, switch by switch from the lowest tier upwards.

    A leaf's links to nodes come before its uplinks, both in the order of its ports. ``tiers`` are the switches of each
    tier.
    """
    access = _AccessLinks(intent, layout, media, hosts)
    # The switches of the top tier have no uplinks.
    uplinks = [
        _Uplinks(intent, layout, media, (lower, upper), tiers[upper.level]) for lower, upper in pairwise(layout.tiers)
    ]
    for level, switches in enumerate(tiers):
        for switch in switches:
            if level == 0:
                yield from access.of(switch)
            if level < len(uplinks):
                yield from uplinks[level].of(switch)


class _AccessLinks:
    """The links of leaves to GPU nodes; what all leaves have in common is computed once."""

    def __init__(self, intent: Intent, layout: Layout, media: Media, hosts: Iterable[Host]) -> None:
        self._addressing = intent.policies.addressing
        self._layout = layout
        self._media = media.access
        self._length_m = intent.cabling.host.length_m
        self._groups = {group.entry.name: group for group in layout.groups}
        self._ports = {name: ports_by_leaf(group, layout) for name, group in self._groups.items()}
        self._nodes_of_stripe: defaultdict[int | None, list[Host]] = defaultdict(list)
        for host in hosts:
            self._nodes_of_stripe[host.stripe].append(host)

    def of(self, switch: Switch) -> list[Link]:
        """Return the links of ``switch`` node by node, in the order of its ports; empty for a stripe without nodes."""
        links: list[Link] = []
        for kind, nodes in groupby(self._nodes_of_stripe.get(switch.stripe, ()), key=lambda node: node.kind):
            links += self._of_group(switch, self._groups[kind], nodes)
        return links

    def _of_group(self, switch: Switch, group: NodeGroup, nodes: Iterable[Host]) -> Iterator[Link]:
        """Yield the links of ``switch`` to nodes of a group."""
        leaf_of_nic, rail = self._layout.leaf_role(switch.place)
        name = group.entry.name
        ports = self._ports[name][switch.plane, rail, leaf_of_nic]
        # Port p of the leaf has the /31 at 2 × p of the leaf's block.
        addresses_per_port = 2
        block = host_block(self._addressing, self._layout, switch.number)
        if block is None:
            # Nodes have no IPv4. A network of 0 stands for a link without a /31.
            block = 0
            addresses_per_port = 0
        # A fabric has up to a quarter of a million links: what does not depend on the node is looked up before.
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
                    block + addresses_per_port * leaf_port,
                    speed_gbps,
                    length_m,
                    medium,
                )


class _UplinkRun(NamedTuple):
    """The uplinks of a leaf of one class, or of a switch above the leaves."""

    # With the ports that decide on their addresses.
    wires: tuple[Uplink, ...]
    # What is added to these for the ports on the panel.
    port_offset: int
    speed_gbps: int
    medium: str


class _Uplinks:
    """The uplinks of the switches of a tier; what all of them have in common is computed once."""

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
        cabling_of_level = list(intent.cabling.by_level.values())
        self._length_m = cabling_of_level[self._level].length_m
        self._layout = layout
        self._runs = _uplink_runs(layout, tiers, media.uplinks[self._lower.level])
        self._upper = {(upper.plane, upper.place): upper.name for upper in uppers}

    def of(self, switch: Switch) -> list[Link]:
        """Return the uplinks of ``switch`` in the order of its ports; a network of 0 stands for an unnumbered link."""
        group, index = self._lower.joins(switch.place)
        network = 0
        addresses_per_port = 0
        if not self._addressing.unnumbered:
            network = link_network(self._addressing, self._lower, switch.number)
            addresses_per_port = 2
        level = self._level
        plane = switch.plane
        name = switch.name
        wires, port_offset, speed_gbps, medium = self._run(switch)
        # Dense for speed: a fabric has up to a quarter of a million links. The upper port is `Uplink.upper_port`.
        return [
            Link(
                level,
                plane,
                None,
                name,
                uplink.port + port_offset,
                self._upper[plane, self._above.place(group, uplink.upper)],
                uplink.ports[uplink.base + uplink.step * index],
                network + addresses_per_port * uplink.port,
                speed_gbps,
                self._length_m,
                medium,
            )
            for uplink in wires
        ]

    def _run(self, switch: Switch) -> _UplinkRun:
        """Return the uplinks of the leaf class of ``switch``, or of its tier."""
        if len(self._runs) == 1:
            return self._runs[0]
        return self._runs[self._layout.owner(switch.stripe or 0).leaf]


def _uplink_runs(layout: Layout, tiers: tuple[TierLayout, TierLayout], media: Sequence[str]) -> list[_UplinkRun]:
    """Return a run of uplinks for each leaf class, or one for all switches of a tier above the leaves.

    ``media`` are the ids of their media in the same order.
    """
    lower, upper = tiers
    if lower.level:
        return [_UplinkRun(wire(lower, upper), 0, lower.up.speed_gbps, media[0])]
    runs = []
    for leaf, medium in zip(layout.classes, media, strict=True):
        port_offset = leaf.ports.block
        # Wires count from port 0 if spines keep a block for the class, else from the first uplink of the first class.
        if leaf.block is None:
            port_offset -= lower.ports.block
        runs.append(_UplinkRun(wire_class(leaf, lower, upper), port_offset, leaf.hardware.up.speed_gbps, medium))
    return runs
