"""What a hash leaves of the rate of a collective, which waits for its slowest flow.

The flows of a collective meet on a link where a hash puts them. In a ring each NIC port sends one flow, to the next
node; in an exchange of all with all it sends one to every other node, each with an even part of the rate. The most
loaded link has n flows, a number that the hash exceeds with a probability of 1e-8 over all links of the collective, and
each of them has its even part:

    sure_share = flows_of_port C / (n line_gbps)

Rings leave a leaf or a pod with few flows, so that they lose nothing in two tiers, and may lose half between many pods.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from railweave.acceptance.limits.paths import FabricPaths, LinkGroup
from railweave.acceptance.limits.significance import IMPROBABLE, most_flows
from railweave.acceptance.model import NicPort


def ring_share(paths: FabricPaths, group: Sequence[NicPort]) -> float:
    """Return the share of its rate that a ring over the nodes of ``group`` reaches whatever the hash."""
    flows: Counter[tuple[str, int]] = Counter()
    for leaves in _lanes(paths, group).values():
        for sender, receiver in pairwise([*leaves, leaves[0]]):
            if sender == receiver:
                continue
            flows["up", sender] += 1
            flows["down", receiver] += 1
            if paths.pod[sender] != paths.pod[receiver]:
                flows["pod up", paths.pod[sender]] += 1
                flows["pod down", paths.pod[receiver]] += 1
    return _share(paths, group, flows, 1)


def exchange_share(paths: FabricPaths, group: Sequence[NicPort]) -> float:
    """Return the share of its rate that an exchange of all nodes of ``group`` with all reaches whatever the hash."""
    flows: Counter[tuple[str, int]] = Counter()
    lanes = _lanes(paths, group)
    for leaves in lanes.values():
        nodes = len(leaves)
        # As many flows come down as go up.
        for leaf, count in Counter(leaves).items():
            flows["up", leaf] += count * (nodes - count)
        for pod, count in Counter(paths.pod[leaf] for leaf in leaves).items():
            flows["pod up", pod] += count * (nodes - count)
    most = max((len(leaves) for leaves in lanes.values()), default=1)
    return _share(paths, group, flows, max(1, most - 1))


def _lanes(paths: FabricPaths, group: Sequence[NicPort]) -> Mapping[tuple[int, int], list[int]]:
    """Return the leaves of the nodes by NIC and port: flows stay among the ports of one number."""
    lanes: dict[tuple[int, int], list[int]] = {}
    for port in group:
        lanes.setdefault((port.nic, port.port), []).append(paths.nics[port].switch)
    return lanes


def _share(
    paths: FabricPaths, group: Sequence[NicPort], flows: Mapping[tuple[str, int], int], flows_of_port: int
) -> float:
    line_gbps = max(paths.nics[port].speed_gbps for port in group)
    loads = [(links, count) for links, count in _loads(paths, flows) if count]
    every_link = sum(links.links for links, _ in loads)
    share = 1.0
    for links, count in loads:
        most = min(count, most_flows(count / links.links, IMPROBABLE / every_link))
        share = min(share, flows_of_port * links.slowest_gbps / (most * line_gbps))
    return share


def _loads(paths: FabricPaths, flows: Mapping[tuple[str, int], int]) -> Iterator[tuple[LinkGroup, int]]:
    """Yield the groups of equal links with their flows; pods without spines of their own have no links up."""
    for (kind, number), count in flows.items():
        if kind in {"up", "down"}:
            yield paths.uplinks[number], count
        elif number in paths.pod_uplinks and paths.pod_uplinks[number].links:
            yield paths.pod_uplinks[number], count
