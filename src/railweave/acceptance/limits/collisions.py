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
    """Return the share of its rate that a ring over the nodes of ``group`` reaches whatever the hash, at most 1."""
    flows: Counter[GroupName] = Counter()
    links_of: dict[GroupName, LinkGroup] = {}
    for leaves in _lanes(paths, group).values():
        # The last node of a ring sends to the first one.
        for sender, receiver in pairwise([*leaves, leaves[0]]):
            for name, links in paths.groups_between(sender, receiver):
                flows[name] += 1
                links_of[name] = links
    loads = [(links_of[name], count) for name, count in flows.items()]
    return _share(paths, group, loads, flows_of_port=1)


def exchange_share(paths: FabricPaths, group: Sequence[NicPort]) -> float:
    """Return the share of its rate that an exchange of ``group``'s nodes reaches whatever the hash, at most 1."""
    leaf_flows: Counter[int] = Counter()
    pod_flows: Counter[int] = Counter()
    lanes = _lanes(paths, group)
    # Flows up alone are counted: the same number comes down.
    for leaves in lanes.values():
        nodes = len(leaves)
        for leaf, nodes_of_leaf in Counter(leaves).items():
            leaf_flows[leaf] += nodes_of_leaf * (nodes - nodes_of_leaf)
        for pod, nodes_of_pod in Counter(paths.pod[leaf] for leaf in leaves).items():
            pod_flows[pod] += nodes_of_pod * (nodes - nodes_of_pod)
    loads = [(paths.uplinks[leaf], flows) for leaf, flows in leaf_flows.items() if flows]
    loads += [(paths.pod_uplinks[pod], flows) for pod, flows in pod_flows.items() if flows]
    most_nodes = max((len(leaves) for leaves in lanes.values()), default=1)
    return _share(paths, group, loads, flows_of_port=max(1, most_nodes - 1))


def _lanes(paths: FabricPaths, group: Sequence[NicPort]) -> Mapping[tuple[int, int], list[int]]:
    """Return the leaves of all nodes by the numbers of NIC and port, which are equal at both ends of a flow."""
    lanes: dict[tuple[int, int], list[int]] = {}
    for port in group:
        lanes.setdefault((port.nic, port.port), []).append(paths.nics[port].switch)
    return lanes


def _share(
    paths: FabricPaths, group: Sequence[NicPort], loads: Sequence[tuple[LinkGroup, int]], flows_of_port: int
) -> float:
    """Return the share of its rate that each flow has on the most loaded link, at most 1.

    ``loads`` are groups of links with the flows on each. Each NIC port of ``group`` divides its line rate among
    ``flows_of_port`` flows.
    """
    line_gbps = max(paths.nics[port].speed_gbps for port in group)
    total_links = sum(links.links for links, _ in loads)
    share = 1.0
    for links, flows in loads:
        # A link carries more flows than this with a probability of IMPROBABLE over all links.
        flows_on_link = min(flows, most_flows(flows / links.links, IMPROBABLE / total_links))
        share = min(share, flows_of_port * links.slowest_gbps / (flows_on_link * line_gbps))
    return share
