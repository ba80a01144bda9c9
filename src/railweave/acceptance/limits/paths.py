"""Where flows can go: the leaf of every NIC port, and the equal links that a hash chooses from.

A flow is a queue pair: its UDP source port differs, its addresses do not. Leaf and spines choose among the next hops of
the shortest path, which are links, each with a BGP session of its own. Switches and links are numbers here, because a
plan of 4,096 nodes asks for a million links.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

from railweave.acceptance.limits.basis import NicPair, Payload, payload_of
from railweave.acceptance.model import NicPort, Tool
from railweave.fabric.model import Fabric


class Crossed(IntEnum):
    """The highest tier that a flow crosses."""

    LEAF = 0
    SPINE = 1
    SUPER_SPINE = 2


class NicAttachment(NamedTuple):
    """The switch that a NIC port is cabled to, by number, and the speed and length of the cable."""

    switch: int
    speed_gbps: int
    length_m: int


class LinkGroup(NamedTuple):
    """Equal links among which flows are hashed: how many, and the speed of the slowest."""

    links: int
    slowest_gbps: int

    @property
    def gbps(self) -> int:
        """Return the bandwidth of all of them."""
        return self.links * self.slowest_gbps


class FarSwitch(NamedTuple):
    """A link between switches, and the switch at its far end, both as numbers."""

    link: int
    switch: int


GroupName = tuple[str, int]
"""The name of a group of equal links in one direction: ``up`` and ``down`` of a leaf, ``pod up`` and ``pod down``."""


@dataclass(frozen=True, slots=True)
class FabricPaths:
    """The links of a fabric as flows see them; made once for a plan (`fabric_paths`)."""

    fabric: Fabric
    payload: Payload
    # In the order of the links to nodes.
    nics: Mapping[NicPort, NicAttachment]
    # Of every link between switches, by its number.
    speeds_gbps: Sequence[int]
    # Of every switch: its links up with the switch above.
    up: Sequence[Sequence[FarSwitch]]
    # The links of an upper switch to a lower one.
    down: Mapping[tuple[int, int], Sequence[int]]
    # The links of a super-spine down to a pod, with the spine below.
    to_pod: Mapping[tuple[int, int], Sequence[FarSwitch]]
    # Of every switch: the number of its pod, of one plane (and rail, if no switch joins rails).
    pod: Sequence[int]
    pod_leaves: Mapping[int, Sequence[int]]
    # The uplinks of every switch, and those of all spines of a pod.
    uplinks: Sequence[LinkGroup]
    pod_uplinks: Mapping[int, LinkGroup]
    # A cache for this fabric, so that rounds with the same numbers of flows are sampled once.
    computed: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def ends(self, pair: NicPair) -> tuple[NicAttachment, NicAttachment]:
        """Return where the two NIC ports of a pair are attached."""
        return self.nics[pair.sender], self.nics[pair.receiver]

    def crossed(self, sender_leaf: int, receiver_leaf: int) -> Crossed:
        """Return how far up flows between two leaves go."""
        if sender_leaf == receiver_leaf:
            return Crossed.LEAF
        if self.pod[sender_leaf] == self.pod[receiver_leaf]:
            return Crossed.SPINE
        return Crossed.SUPER_SPINE

    def groups_between(self, sender_leaf: int, receiver_leaf: int) -> tuple[tuple[GroupName, LinkGroup], ...]:
        """Return the groups of equal links that flows between two leaves cross, each in one direction."""
        crossed = self.crossed(sender_leaf, receiver_leaf)
        if crossed is Crossed.LEAF:
            return ()
        leaf_groups = (
            (("up", sender_leaf), self.uplinks[sender_leaf]),
            (("down", receiver_leaf), self.uplinks[receiver_leaf]),
        )
        if crossed is Crossed.SPINE:
            return leaf_groups
        sender_pod = self.pod[sender_leaf]
        receiver_pod = self.pod[receiver_leaf]
        return (
            *leaf_groups,
            (("pod up", sender_pod), self.pod_uplinks[sender_pod]),
            (("pod down", receiver_pod), self.pod_uplinks[receiver_pod]),
        )


def fabric_paths(fabric: Fabric, tool: Tool = Tool.PERFTEST) -> FabricPaths:
    """Return the paths of a fabric, with the packets that ``tool`` sends.

    Switches have their index in the fabric as numbers, and links between switches theirs among such links.
    """
    number_of = {switch.name: number for number, switch in enumerate(fabric.switches)}
    nics = {}
    speeds_gbps: list[int] = []
    up: list[list[FarSwitch]] = [[] for _ in number_of]
    down: dict[tuple[int, int], list[int]] = {}
    host_of = fabric.host_of
    for link in fabric.links:
        upper = number_of[link.upper]
        if link.is_access:
            port = host_of[link.lower].ports[link.lower_port]
            nics[NicPort(link.lower, port.nic, port.port)] = NicAttachment(upper, link.speed_gbps, link.length_m)
            continue
        lower = number_of[link.lower]
        number = len(speeds_gbps)
        up[lower].append(FarSwitch(number, upper))
        down.setdefault((upper, lower), []).append(number)
        speeds_gbps.append(link.speed_gbps)
    pod = _pod_numbers(fabric)
    uplinks = [_link_group([speeds_gbps[uplink.link] for uplink in links]) for links in up]
    return FabricPaths(
        fabric=fabric,
        payload=payload_of(fabric, tool),
        nics=nics,
        speeds_gbps=speeds_gbps,
        up=up,
        down=down,
        to_pod=_links_to_pods(fabric, pod, up),
        pod=pod,
        pod_leaves=_leaves_of_pods(fabric, pod),
        uplinks=uplinks,
        pod_uplinks=_pod_uplinks(fabric, pod, uplinks),
    )


def _pod_numbers(fabric: Fabric) -> list[int]:
    """Return the number of the pod of every switch; super-spines count as a pod of their own."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault((fabric.network_of(switch), switch.pod), len(numbers)) for switch in fabric.switches]


def _leaves_of_pods(fabric: Fabric, pod: Sequence[int]) -> dict[int, list[int]]:
    """Return the leaves of each pod; ``pod`` is that of every switch."""
    leaf_numbers: dict[int, list[int]] = {}
    for number, switch in enumerate(fabric.switches):
        if switch.tier.attaches_nodes:
            leaf_numbers.setdefault(pod[number], []).append(number)
    return leaf_numbers


def _links_to_pods(
    fabric: Fabric, pod: Sequence[int], up: Sequence[Sequence[FarSwitch]]
) -> dict[tuple[int, int], list[FarSwitch]]:
    """Return the links of each super-spine down to each pod, with the spine below; ``up`` has those of every switch."""
    links: dict[tuple[int, int], list[FarSwitch]] = {}
    for spine, switch in enumerate(fabric.switches):
        if switch.tier.attaches_nodes:
            continue
        for link, super_spine in up[spine]:
            links.setdefault((super_spine, pod[spine]), []).append(FarSwitch(link, spine))
    return links


def _link_group(speeds_gbps: Sequence[int]) -> LinkGroup:
    """Return links of these speeds as a group; a group without links has a speed of 0."""
    return LinkGroup(len(speeds_gbps), min(speeds_gbps, default=0))


def _pod_uplinks(fabric: Fabric, pod: Sequence[int], uplinks: Sequence[LinkGroup]) -> dict[int, LinkGroup]:
    """Return the uplinks of all spines of each pod as one group."""
    groups_of_pod: dict[int, list[LinkGroup]] = {}
    for number, switch in enumerate(fabric.switches):
        if not switch.tier.attaches_nodes:
            groups_of_pod.setdefault(pod[number], []).append(uplinks[number])
    pod_uplinks = {}
    for pod_number, groups in groups_of_pod.items():
        links = sum(group.links for group in groups)
        pod_uplinks[pod_number] = LinkGroup(links, min(group.slowest_gbps for group in groups))
    return pod_uplinks
