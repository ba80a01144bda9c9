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
    # Of every switch: its links up with the switch above, as numbers.
    up: Sequence[Sequence[tuple[int, int]]]
    # The links of an upper switch to a lower one.
    down: Mapping[tuple[int, int], Sequence[int]]
    # The links of a super-spine down to a pod, with the spine below.
    to_pod: Mapping[tuple[int, int], Sequence[tuple[int, int]]]
    # Of every switch: the number of its pod, of one plane (and rail, if no switch joins rails).
    pod: Sequence[int]
    pod_leaves: Mapping[int, Sequence[int]]
    # The uplinks of every switch, and those of all spines of a pod.
    uplinks: Sequence[LinkGroup]
    pod_uplinks: Mapping[int, LinkGroup]
    # What has been computed for this fabric, so that alike rounds are sampled once.
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
        first = self.pod[sender_leaf]
        last = self.pod[receiver_leaf]
        return (
            *leaf_groups,
            (("pod up", first), self.pod_uplinks[first]),
            (("pod down", last), self.pod_uplinks[last]),
        )


def fabric_paths(fabric: Fabric, tool: Tool = Tool.PERFTEST) -> FabricPaths:
    """Return the paths of a fabric, with the packets that ``tool`` sends."""
    number_of = {switch.name: number for number, switch in enumerate(fabric.switches)}
    nics = {}
    speeds_gbps: list[int] = []
    up: list[list[tuple[int, int]]] = [[] for _ in number_of]
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
        up[lower].append((number, upper))
        down.setdefault((upper, lower), []).append(number)
        speeds_gbps.append(link.speed_gbps)
    uplinks = [LinkGroup(len(links), min((speeds_gbps[link] for link, _ in links), default=0)) for links in up]
    pods: dict[object, int] = {}
    pod = [pods.setdefault((fabric.network_of(switch), switch.pod), len(pods)) for switch in fabric.switches]
    to_pod: dict[tuple[int, int], list[tuple[int, int]]] = {}
    pod_leaves: dict[int, list[int]] = {}
    spine_groups: dict[int, list[LinkGroup]] = {}
    for number, switch in enumerate(fabric.switches):
        if switch.tier.attaches_nodes:
            pod_leaves.setdefault(pod[number], []).append(number)
            continue
        spine_groups.setdefault(pod[number], []).append(uplinks[number])
        for uplink, upper in up[number]:
            to_pod.setdefault((upper, pod[number]), []).append((uplink, number))
    pod_uplinks = {}
    for number, groups in spine_groups.items():
        pod_uplinks[number] = LinkGroup(
            sum(group.links for group in groups), min(group.slowest_gbps for group in groups)
        )
    payload = payload_of(fabric, tool)
    return FabricPaths(fabric, payload, nics, speeds_gbps, up, down, to_pod, pod, pod_leaves, uplinks, pod_uplinks)
