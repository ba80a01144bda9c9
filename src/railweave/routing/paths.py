"""Equal-cost paths: how many a route of a switch has, and how many FRR may install.

Parallel links are paths of their own: to a switch of another pod or stripe, a leaf has one over each of its uplinks.
"""

from railweave.fabric.devices import Tier
from railweave.fabric.model import Fabric, Graph
from railweave.fabric.releases import COMMON_PATHS, RELEASES, nearest


def maximum_paths(fabric: Fabric, kind: Tier) -> int:
    """Return the equal-cost paths that FRR may install on the switches of a kind (``Graph.uplink_kinds``).

    The number follows what their ports and the reserve allow, not the spines of today, so that a switch does not change
    when spines are added.
    """
    if max(most_paths_up(fabric, kind), paths_down(fabric, kind)) <= COMMON_PATHS:
        return COMMON_PATHS
    return path_limit(fabric)


def path_limit(fabric: Fabric) -> int:
    """Return the most equal-cost paths that a route can have by the FRR of the fabric's SONiC release."""
    return RELEASES[nearest(fabric.policies.sonic.release)].equal_paths


def most_paths_up(graph: Graph, kind: Tier) -> int:
    """Return the uplinks of a switch of a kind once all spines of the reserve are built, 0 at the top."""
    if kind.level + 1 == len(graph.tiers):
        return 0
    above = graph.tiers[kind.level + 1]
    # More spines may share the uplinks of today, each with fewer links.
    reserved = min(kind.links_per_pair * above.group_reserve, kind.ports_above)
    return max(kind.ports_up, reserved)


def paths_down(fabric: Fabric, kind: Tier) -> int:
    """Return the most paths of a switch of a kind to one prefix below it, 0 for leaves.

    These are the parallel links to a switch below, times the leaves that announce the address of one NIC.
    """
    if not kind.level:
        return 0
    origins = 1
    if kind.level == 1 and fabric.nic_blocks:
        origins = fabric.leaves_per_nic
    pairs = [below.links_per_pair for below in fabric.uplink_kinds if below.level == kind.level - 1]
    return origins * max(pairs)
