"""The tree of a scheduler: which nodes share leaves, and which groups of them the tiers above join.

A group of tier 0 holds the nodes of a stripe: in a rail-optimized fabric all of them share the same rail leaves, which
are one switch to a scheduler. The groups above are pods and the fabric. Each node is in exactly one group of tier 0.
A switch out of service joins nothing: nodes that lose a leaf without a second one are left out, groups whose leaves
cannot climb to the tier above become roots of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from railweave.fabric.devices import TIER_NAMES, Host
from railweave.fabric.model import Fabric
from railweave.wording import natural_key


@dataclass(frozen=True)
class TopologyGroup:
    """Nodes that the switches of a tier join, directly (tier 0) or through the groups below."""

    name: str
    # From the nodes: 0 is next to them.
    tier: int
    # What it stands for: ``leaf``, ``stripe``, ``pod`` or ``fabric``.
    kind: str
    # Its switches in service; of groups above tier 0 those of the tier above their groups.
    switches: tuple[str, ...]
    # Of tier 0 only.
    nodes: tuple[str, ...] = ()
    # Of the tiers above.
    groups: tuple["TopologyGroup", ...] = ()

    @cached_property
    def all_nodes(self) -> tuple[str, ...]:
        """Return its nodes and those of the groups below."""
        nodes = list(self.nodes)
        for group in self.groups:
            nodes += group.all_nodes
        return tuple(nodes)

    def walk(self) -> Iterator["TopologyGroup"]:
        """Yield the groups below, then the group itself."""
        for group in self.groups:
            yield from group.walk()
        yield self


@dataclass(frozen=True)
class ClusterTopology:
    """The roots of separate networks, and the nodes that are in none with the reason."""

    roots: tuple[TopologyGroup, ...]
    left_out: Mapping[str, str]

    @cached_property
    def groups(self) -> tuple[TopologyGroup, ...]:
        """Return all groups, those of the lowest tier first."""
        groups = [group for root in self.roots for group in root.walk()]
        return tuple(sorted(groups, key=lambda group: group.tier))

    @property
    def lowest(self) -> tuple[TopologyGroup, ...]:
        """Return the groups that hold nodes."""
        return tuple(group for group in self.groups if group.tier == 0)

    @property
    def tiers(self) -> int:
        """Return the number of tiers of the highest tree."""
        return max((root.tier + 1 for root in self.roots), default=0)

    @cached_property
    def path_of(self) -> Mapping[str, tuple[TopologyGroup, ...]]:
        """Return the groups of each node, from tier 0 up."""
        paths: dict[str, tuple[TopologyGroup, ...]] = {}
        for group in self.groups:
            for node in group.all_nodes:
                paths[node] = (*paths.get(node, ()), group)
        return paths


def cluster_topology(fabrics: Sequence[Fabric], out_of_service: Mapping[str, str]) -> ClusterTopology:
    """Return the topology of the nodes of several fabrics.

    A node in several of the ``fabrics`` belongs to the tree of one: the first that its collectives use.
    ``out_of_service`` are switches that forward nothing, with the reason in words: ``is drained``.
    """
    roots: list[TopologyGroup] = []
    left_out: dict[str, str] = {}
    placed: set[str] = set()
    for fabric in fabrics:
        tree = _FabricTree(fabric, out_of_service)
        nodes = [host for host in fabric.hosts if host.name not in placed and _belongs(host, fabric, fabrics)]
        placed.update(host.name for host in nodes)
        roots += tree.roots(nodes)
        left_out |= tree.left_out
    return ClusterTopology(tuple(roots), left_out)


def _belongs(host: Host, fabric: Fabric, fabrics: Sequence[Fabric]) -> bool:
    """Tell whether a node belongs to the tree of ``fabric``: the first of its collectives, else the first with it."""
    fabrics_of_host = [candidate for candidate in fabrics if host.name in candidate.host_of]
    for candidate in fabrics_of_host:
        if candidate.host_of[host.name].runs_nccl:
            return candidate is fabric
    return fabrics_of_host[0] is fabric


class _FabricTree:
    """Builds the groups of one fabric, tier by tier."""

    def __init__(self, fabric: Fabric, out_of_service: Mapping[str, str]) -> None:
        self._fabric = fabric
        self._out = out_of_service
        self._climbs: dict[tuple[str, int], bool] = {}
        self.left_out: dict[str, str] = {}

    def roots(self, hosts: Sequence[Host]) -> list[TopologyGroup]:
        """Return the groups that are in no other group; the nodes that are in no group are added to ``left_out``."""
        separate_groups = []
        groups = self._lowest(hosts)
        for tier in range(1, len(self._fabric.tiers)):
            connected_groups = []
            for group in groups:
                if self._reaches(group, tier):
                    connected_groups.append(group)
                else:
                    separate_groups.append(group)
            groups = self._joined(connected_groups, tier)
        return [*groups, *separate_groups]

    def _lowest(self, hosts: Sequence[Host]) -> list[TopologyGroup]:
        """Return the groups of tier 0: the nodes of each stripe, without those that are cut off."""
        hosts_by_stripe: dict[int, list[Host]] = {}
        for host in hosts:
            why = self._cut_off(host)
            if why:
                self.left_out[host.name] = why
            else:
                hosts_by_stripe.setdefault(host.stripe, []).append(host)
        groups = []
        for stripe, stripe_hosts in sorted(hosts_by_stripe.items()):
            leaves = dict.fromkeys(chain.from_iterable(self._fabric.above(host.name) for host in stripe_hosts))
            in_service = tuple(leaf for leaf in leaves if leaf not in self._out)
            name = f"{self._fabric.name}-stripe-{stripe}"
            kind = "stripe"
            if len(leaves) == 1:
                # One leaf keeps its own name, which operators know.
                name = in_service[0]
                kind = TIER_NAMES[0]
            nodes = tuple(host.name for host in stripe_hosts)
            groups.append(TopologyGroup(name, tier=0, kind=kind, switches=in_service, nodes=nodes))
        return groups

    def _cut_off(self, host: Host) -> str:
        """Return why a node lost a NIC in a plane; empty while each of them has a leaf in service."""
        # By the number of a NIC and a plane: several leaves may share its ports, and one of them is enough.
        reasons: dict[tuple[int, int], str] = {}
        in_service = set()
        for link in self._fabric.uplinks_of[host.name]:
            port = host.ports[link.lower_port]
            nic_and_plane = port.nic, port.plane
            if link.upper in self._out:
                reasons.setdefault(nic_and_plane, f"{link.upper} {self._out[link.upper]}")
            else:
                in_service.add(nic_and_plane)
        for nic_and_plane, why in reasons.items():
            if nic_and_plane not in in_service:
                return why
        return ""

    def _reaches(self, group: TopologyGroup, tier: int) -> bool:
        """Tell whether every leaf of a group has a path of switches in service up to ``tier``."""
        leaves = [switch for below in group.walk() if below.tier == 0 for switch in below.switches]
        return all(self._can_climb(leaf, tier) for leaf in leaves)

    def _can_climb(self, switch: str, steps: int) -> bool:
        """Tell whether a switch has a path of switches in service that leads ``steps`` tiers up."""
        if switch in self._out:
            return False
        if not steps:
            return True
        key = switch, steps
        if key not in self._climbs:
            above = self._fabric.above(switch)
            self._climbs[key] = any(self._can_climb(upper, steps - 1) for upper in above)
        return self._climbs[key]

    def _joined(self, groups: Sequence[TopologyGroup], tier: int) -> list[TopologyGroup]:
        """Return the groups of ``tier``: pods below a third tier, else the whole fabric."""
        fabric = self._fabric
        # The key None is the whole fabric.
        groups_by_pod: dict[int | None, list[TopologyGroup]] = {}
        for group in groups:
            pod = None
            if fabric.has_pods and tier == 1:
                pod = fabric.switch_of[group.switches[0]].pod
            groups_by_pod.setdefault(pod, []).append(group)
        joined = []
        for pod, below in groups_by_pod.items():
            name = fabric.name
            kind = "fabric"
            if pod is not None:
                name = f"{fabric.name}-pod-{pod}"
                kind = "pod"
            switches = self._switches_at(tier, pod)
            joined.append(TopologyGroup(name, tier=tier, kind=kind, switches=switches, groups=tuple(below)))
        return joined

    def _switches_at(self, tier: int, pod: int | None) -> tuple[str, ...]:
        return tuple(
            switch.name
            for switch in self._fabric.tier_switches[tier]
            if switch.name not in self._out and (pod is None or switch.pod == pod)
        )


def in_natural_order(names: Sequence[str]) -> list[str]:
    """Return names in the order that people count in: gpu2 before gpu10."""
    return sorted(names, key=natural_key)
