"""From layout to fabric: every switch, GPU node and cable as a value, tier by tier."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from railweave.design.hardware import Media
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
from railweave.design.layout import Layout, NodeGroup, OwnLeaf, TierLayout
from railweave.design.nodes import host_ports
from railweave.design.wiring import Uplink, wire, wire_apart
from railweave.fabric.devices import RAIL, Host, HostPort, Switch, Tier
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.panel import Panel
from railweave.fabric.policy import Addressing, ClassRole, Pool
from railweave.fabric.sizing import Sizing
from railweave.intent.model import Intent, Part, Shape


class Panels(NamedTuple):
    """The panels of each tier, and by the name of an entry of nodes those of the leaves that it has for itself."""

    tiers: tuple[Panel, ...]
    own_leaves: Mapping[str, Panel]

    def of(self, layout: Layout, level: int, place: int) -> Panel:
        """Return the panel of the switch of a tier at ``place``."""
        if level or not self.own_leaves:
            return self.tiers[level]
        return self.own_leaves.get(layout.owner(place // layout.stripe_leaves).entry.name, self.tiers[0])


def build_fabric(intent: Intent, layout: Layout, panels: Panels, media: Media, sizing: Sizing) -> Fabric:
    """Return the fabric of a layout that has no errors."""
    tiers = [tuple(_switches(intent, layout, one, panels)) for one in layout.tiers]
    hosts = tuple(_hosts(layout, intent.part))
    addressing, length = intent.policies.addressing, 32 - (host_block_size(layout) - 1).bit_length()
    ipv4 = {one.name: host_block(addressing, layout, one.number) for one in tiers[0]}
    return Fabric(
        name=intent.fabric,
        rails=layout.rails,
        planes=layout.planes,
        rail_only=layout.shape is Shape.RAIL_ONLY,
        policies=intent.policies,
        sizing=sizing,
        tiers=tuple(one.tier for one in layout.tiers),
        switches=tuple(switch for switches in tiers for switch in switches),
        hosts=hosts,
        links=tuple(_links(intent, layout, media, tiers, hosts)),
        host_blocks={name: (first, length) for name, first in ipv4.items() if first is not None},
        ipv6_blocks={one.name: first for one in tiers[0] if (first := ipv6_block(addressing, one.number)) is not None},
        part=intent.part.name if intent.part else "",
        rdma_beside=_rdma_beside(intent),
        leaves_per_nic=layout.leaves_per_nic,
        nic_blocks=_nic_blocks(addressing, layout, tiers[0]),
    )


def _nic_blocks(addressing: Addressing, layout: Layout, leaves: Iterable[Switch]) -> Mapping[str, Pool]:
    """Return the addresses of NICs that each leaf announces, none where a NIC has one leaf."""
    if layout.leaves_per_nic == 1:
        return {}
    length = 32 - (nic_block_size(layout) - 1).bit_length()
    return {one.name: Pool(nic_block(addressing, layout, one.place, one.plane), length) for one in leaves}


def _switches(intent: Intent, layout: Layout, own: TierLayout, panels: Panels) -> Iterator[Switch]:
    addressing, tiers = intent.policies.addressing, _tiers_of_entries(layout, own)
    has_pods = layout.super_spines is not None
    for place in own.places:
        of_pod, _ = own.group_of(place)
        joined, _ = own.joins(place)
        tier = tiers[layout.owner(place // layout.stripe_leaves).entry.name] if len(tiers) > 1 else tiers[""]
        panel = panels.of(layout, tier.level, place)
        for plane in range(layout.planes):
            number = device_number(place, plane, layout.planes)
            yield Switch(
                name=device_name(layout.fabric, tier.name, number),
                tier=tier,
                number=number,
                place=place,
                plane=plane,
                stripe=place // layout.stripe_leaves if tier.attaches_nodes else None,
                rail=_rail(layout, own, place),
                asn=asn(addressing, tier.level, number, plane, of_pod),
                loopback=loopback(addressing, tier.level, number),
                panel=panel,
                pod=of_pod if has_pods and tier.level < 2 else None,
                group=(of_pod if tier.level > 1 else joined) if has_pods and tier.level else None,
            )


def _tiers_of_entries(layout: Layout, own: TierLayout) -> dict[str, Tier]:
    """Return the tier by the name of the entry of nodes whose leaves have uplinks of their own; under "" that of all
    others, which is alone where there are none."""
    common = own.tier
    apart = {group.entry.name: group for group in layout.groups if group.spine_block and not own.level}
    if not apart:
        return {"": common}
    return (
        {group.entry.name: common for group in layout.groups}
        | {"": common}
        | {
            name: replace(
                common,
                ports_down=group.leaf.downlinks,
                down_gbps=group.leaf.hardware.down.speed_gbps,
                ports_up=layout.uplinks_of(group),
                up_gbps=group.leaf.hardware.up.speed_gbps,
                links_per_pair=group.leaf.block.pair,
                entry=name,
                path=f"{group.path}.leaf",
            )
            for name, group in apart.items()
            if group.leaf and group.leaf.block
        }
    )


def _rail(layout: Layout, own: TierLayout, place: int) -> int | None:
    """Return the rail that a switch serves: of a leaf where racks are not aligned, of a spine where rails are apart."""
    if own.rails:
        return own.group_of(place)[0]
    return layout.leaf_role(place)[1] if own.level == 0 and layout.shape.has_rails else None


def _rdma_beside(intent: Intent) -> tuple[str, ...]:
    """Return the names of the other fabrics of the file that carry RDMA."""
    return tuple(
        other.part.name
        for other in intent.others
        if other.part and any(one.role is ClassRole.RDMA for one in other.policies.classes)
    )


def _hosts(layout: Layout, part: Part | None) -> Iterable[Host]:
    for group in layout.groups:
        entry = group.entry
        ports = host_ports(
            entry, layout.rails, layout.planes, layout.leaves_per_nic, interfaces=part.name if part else RAIL
        )
        for number in range(entry.count):
            stripe, place = divmod(number, group.stripe_nodes)
            yield Host(
                name=f"{entry.name}{number + 1}",
                kind=entry.name,
                number=number,
                stripe=group.first_stripe + stripe,
                place=place,
                nic_model=str(entry.nics.model),  # media are only known of nodes with one
                ports=ports,
                role=entry.role,
                first_port=part.first_ports[entry.name] if part else 0,
                collectives=part is None or entry.name in part.collectives,
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


@dataclass(frozen=True, slots=True)
class _NodePort:
    """A port of every node of a group on one switch: its index on the node, its place among the node's ports there."""

    index: int
    offset: int
    rail: int


class _AccessLinks:
    """The links to GPU nodes of any switch of the lowest tier; what all share is computed once."""

    def __init__(self, intent: Intent, layout: Layout, media: Media, hosts: Iterable[Host]) -> None:
        self._addressing, self._layout, self._media = intent.policies.addressing, layout, media.access
        self._length_m = intent.cabling.host.length_m
        self._groups = {group.entry.name: group for group in layout.groups}
        self._ports = {name: _ports_by_place(group, layout) for name, group in self._groups.items()}
        self._nodes: dict[int | None, list[Host]] = {}
        for host in hosts:
            self._nodes.setdefault(host.stripe, []).append(host)

    def of(self, switch: Switch) -> list[Link]:
        """Return the links of ``switch`` node by node, each at ``place`` × its ports on the switch."""
        nodes = self._nodes.get(switch.stripe, [])
        if not nodes:
            return []
        group = self._groups[nodes[0].kind]
        of_nic, rail = self._layout.leaf_role(switch.place)
        ports, per_node = self._ports[nodes[0].kind][switch.plane, rail, of_nic], group.ports_per_leaf
        block, plane, name = host_block(self._addressing, self._layout, switch.number), switch.plane, switch.name
        first, step = (0, 0) if block is None else (block, 2)
        down = group.leaf.hardware.down if group.leaf else self._layout.lowest.down
        speed_gbps, length_m, medium = down.speed_gbps, self._length_m, self._media[nodes[0].kind]
        return [
            Link(
                0,
                plane,
                port.rail,
                node.name,
                port.index,
                name,
                node.place * per_node + port.offset,
                first + step * (node.place * per_node + port.offset),
                speed_gbps,
                length_m,
                medium,
            )
            for node in nodes
            for port in ports
        ]


def _ports_by_place(group: NodeGroup, layout: Layout) -> dict[tuple[int, int, int], list[_NodePort]]:
    """Return a node's ports by (plane, rail, leaf of those that share a NIC) in their order on the switch."""
    found: dict[tuple[int, int, int], list[_NodePort]] = {}
    ports: tuple[HostPort, ...] = host_ports(group.entry, layout.rails, layout.planes, layout.leaves_per_nic)
    railed = layout.shape.has_rails
    for index, port in enumerate(ports):
        on_switch = found.setdefault((port.plane, port.rail if railed else 0, port.leaf), [])
        on_switch.append(_NodePort(index, len(on_switch), port.rail))
    return found


class _Run(NamedTuple):
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
        self._lower, self._above, self._level = *tiers, tiers[1].level
        self._length_m = (*intent.cabling.by_level.values(),)[self._level].length_m
        self._layout, lower = layout, self._lower
        common = _Run(wire(*tiers), 0, lower.up.speed_gbps, media.uplinks[lower.level])
        self._runs: dict[str | None, _Run] = {None: common} | {
            group.entry.name: self._own(common, group.leaf, media.leaf_uplinks[group.entry.name])
            for group in layout.groups
            if group.leaf and not lower.level
        }
        self._upper = {(one.plane, one.place): one.name for one in uppers}

    def of(self, switch: Switch) -> list[Link]:
        """Return the uplinks of ``switch`` in the order of its ports; without addresses where none are numbered."""
        numbered = not self._addressing.unnumbered
        zero = link_network(self._addressing, self._lower, switch.number) if numbered else 0
        group, index = self._lower.joins(switch.place)
        step = 2 if numbered else 0
        level, plane, name = self._level, switch.plane, switch.name
        wires, further, speed_gbps, medium = self._run(switch)
        return [
            Link(
                level,
                plane,
                None,
                name,
                uplink.port + further,
                self._upper[plane, self._above.place(group, uplink.upper)],
                uplink.base + uplink.step * index,
                zero + step * uplink.port,
                speed_gbps,
                self._length_m,
                medium,
            )
            for uplink in wires
        ]

    def _run(self, switch: Switch) -> _Run:
        group = self._layout.owner(switch.stripe or 0) if len(self._runs) > 1 else None
        return self._runs[group.entry.name if group and group.leaf else None]

    def _own(self, common: _Run, leaf: OwnLeaf, medium: str) -> _Run:
        """Return the uplinks of leaves that an entry of nodes has for itself.

        Their addresses are those of the same uplinks of the common leaves, so that no leaf of an entry needs more of
        them; where number or speed differ, those of the first ports that a leaf has addresses for.
        """
        if leaf.block is None:
            return common._replace(further=leaf.ports.block - self._lower.ports.block, medium=medium)
        wires = wire_apart(leaf.block, self._above.group_size)
        return _Run(wires, leaf.ports.block, leaf.hardware.up.speed_gbps, medium)
