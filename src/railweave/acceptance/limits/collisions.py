"""What a hash leaves of the rate of a collective, which waits for its slowest flow.

The flows of a collective meet on a link where a hash puts them. In a ring each NIC port sends one flow, to the next
node; in an exchange of all with all it sends one to every other node, each with an even part of the rate. The most
loaded link has n flows, a number that the hash exceeds with a probability of 1e-8 over all links of the collective, and
each of them has its even part:

    sure_share = flows_of_port C / (n line_gbps)

Rings leave a leaf or a pod with few flows, so that they lose nothing in two tiers, and may lose half between many pods.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from railweave.acceptance.limits.paths import FabricPaths, GroupName, LinkGroup
from railweave.acceptance.limits.significance import IMPROBABLE, most_flows
from railweave.acceptance.model import NicPort


def ring_share(paths: FabricPaths, group: Sequence[NicPort]) -> float:
    """Return the share of its rate that a ring over the nodes of ``group`` reaches whatever the hash."""
    flows: Counter[GroupName] = Counter()
    links_of: dict[GroupName, LinkGroup] = {}
    for leaves in _lanes(paths, group).values():
        for sender, receiver in pairwise([*leaves, leaves[0]]):
            for name, links in paths.groups_between(sender, receiver):
                flows[name] += 1
                links_of[name] = links
    return _share(paths, group, [(links_of[name], count) for name, count in flows.items()], 1)


def exchange_share(paths: FabricPaths, group: Sequence[NicPort]) -> float:
    """Return the share of its rate that an exchange of all nodes of ``group`` with all reaches whatever the hash."""
    leaf_flows: Counter[int] = Counter()
    pod_flows: Counter[int] = Counter()
    lanes = _lanes(paths, group)
    # As many flows come down as go up.
    for leaves in lanes.values():
        nodes = len(leaves)
        for leaf, count in Counter(leaves).items():
            leaf_flows[leaf] += count * (nodes - count)
        for pod, count in Counter(paths.pod[leaf] for leaf in leaves).items():
            pod_flows[pod] += count * (nodes - count)
    loads = [(paths.uplinks[leaf], count) for leaf, count in leaf_flows.items() if count]
    loads += [(paths.pod_uplinks[pod], count) for pod, count in pod_flows.items() if count]
    most_nodes = max((len(leaves) for leaves in lanes.values()), default=1)
    return _share(paths, group, loads, max(1, most_nodes - 1))


def _lanes(paths: FabricPaths, group: Sequence[NicPort]) -> Mapping[tuple[int, int], list[int]]:
    """Return the leaves of the nodes by NIC and port: flows stay among the ports of one number."""
    lanes: dict[tuple[int, int], list[int]] = {}
    for port in group:
        lanes.setdefault((port.nic, port.port), []).append(paths.nics[port].switch)
    return lanes


def _share(
    paths: FabricPaths, group: Sequence[NicPort], loads: Sequence[tuple[LinkGroup, int]], flows_of_port: int
) -> float:
    line_gbps = max(paths.nics[port].speed_gbps for port in group)
    every_link = sum(links.links for links, _ in loads)
    share = 1.0
    for links, count in loads:
        most = min(count, most_flows(count / links.links, IMPROBABLE / every_link))
        share = min(share, flows_of_port * links.slowest_gbps / (most * line_gbps))
    return share
