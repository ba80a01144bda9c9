"""Collectives reach the payload of a node's NICs as bus bandwidth, as far as the time of their steps allows.

    t = steps * alpha + factor * S * beta        busbw = factor * S / t (nccl-tests, doc/PERFORMANCE.md)
    expect = 1 / beta = payload of a node's NIC ports / 8 / ratio, in GB/s

A ring over n ranks takes 2 (n - 1) steps for an all-reduce, of which each moves S / n; factor is 2 (n - 1) / n. The
design knows beta. alpha, the time of a step, is fitted from the run, so that a bad latency and a bad bandwidth are
distinguished. ratio is the oversubscription of the tiers that the group crosses. Where flows may meet on a link, the
limit falls with what a hash leaves of the slowest one (`collisions`).

Trees of two nodes send S where the bus bandwidth counts 2 (n - 1) / n * S, so they show up to twice the rate of their
NICs (NVIDIA/nccl-tests issue 169), and their limit is raised by it. In an all-to-all only what leaves the node crosses
a NIC. In a send-receive chain one GPU of a node sends to another node, over one NIC.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import ceil, log2
from typing import NamedTuple

from railweave.acceptance.limits.basis import PAYLOAD_FORMULA, Inputs, LimitShares, lower_limit
from railweave.acceptance.limits.collisions import exchange_share, ring_share
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.model import Metric, MetricLimit, NicPort


class Collective(StrEnum):
    """An operation of nccl-tests, by the start of its program's name (``all_reduce_perf``)."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "alltoall"
    SEND_RECV = "sendrecv"


class Algorithm(StrEnum):
    """What carries out a collective (NCCL_ALGO); trees are for all-reduce alone."""

    RING = "Ring"
    TREE = "Tree"


# Rows that differ less are of one size, or of sizes too large for alpha to count.
_ALIKE = 1e-9


class AlphaBeta(NamedTuple):
    """The time of a step in us, and the bus bandwidth of an endless message in GB/s."""

    alpha_us: float
    bus_gigabytes: float


def bus_factor(collective: Collective, ranks: int) -> float:
    """Return the bytes that the bus bandwidth counts for each byte of a message (nccl-tests, doc/PERFORMANCE.md)."""
    if collective is Collective.ALL_REDUCE:
        return 2 * (ranks - 1) / ranks
    if collective is Collective.SEND_RECV:
        return 1.0
    return (ranks - 1) / ranks


def steps(collective: Collective, algorithm: Algorithm, ranks: int) -> int:
    """Return the steps that follow on each other."""
    if collective is Collective.SEND_RECV:
        return 1
    if algorithm is Algorithm.TREE:
        # Up and down.
        return 2 * ceil(log2(ranks))
    if collective is Collective.ALL_REDUCE:
        return 2 * (ranks - 1)
    return ranks - 1


def fit(steps_of_ring: int, factor: float, bus_gigabytes: Mapping[int, float]) -> AlphaBeta | None:
    """Return alpha and beta from the bus bandwidths of two or more sizes in bytes, by least squares of relative errors.

    None if they do not determine both.
    """
    # 1 / busbw = alpha steps / (factor S) + beta, times busbw so that small messages count as much as large ones.
    rows = [(steps_of_ring / factor / size * bus, bus) for size, bus in bus_gigabytes.items() if bus > 0]
    xx, xy, yy = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    x, y = (sum(row[i] for row in rows) for i in range(2))
    determinant = xx * yy - xy * xy
    if determinant <= _ALIKE * xx * yy:
        return None
    beta = (y * xx - x * xy) / determinant
    if beta <= 0:
        return None
    # Bytes over gigabytes a second are nanoseconds.
    return AlphaBeta(max(0.0, x * yy - y * xy) / determinant / 1e3, 1 / beta)


def collective_limit(
    paths: FabricPaths,
    collective: Collective,
    algorithm: Algorithm,
    group: Sequence[NicPort],
    gpus_of_node: int,
    shares: LimitShares,
) -> MetricLimit:
    """Return the bus bandwidth in GB/s of a collective of large messages (alpha apart) among all GPUs of the nodes of
    ``group``, which use its NIC ports.

    Raises ValueError for a group within one node, which crosses no NIC.
    """
    key = "group", tuple(group)
    if key not in paths.computed:
        paths.computed[key] = _group_speeds(paths, group)
    nodes, into_leaf = paths.computed[key]
    if len(nodes) == 1:
        raise ValueError("a collective within one node crosses no NIC port")
    ranks = len(nodes) * gpus_of_node
    line_gbps = min(nodes.values())
    inputs: Inputs = {"line_gbps": line_gbps, **paths.payload._asdict(), "ranks": ranks}
    inputs |= {"steps": steps(collective, algorithm, ranks), "factor": bus_factor(collective, ranks)}
    formula = f"{PAYLOAD_FORMULA} / 8"
    expect = paths.payload.of(line_gbps) / 8
    ratio = round(_ratio(paths, into_leaf), 4)
    if ratio > 1:
        inputs["ratio"] = ratio
        formula += " / ratio"
        expect /= ratio
    if algorithm is Algorithm.TREE and len(nodes) == 2:
        formula += " * 2 * (ranks - 1) / ranks"
        expect *= 2 * (ranks - 1) / ranks
    elif collective is Collective.ALL_TO_ALL:
        inputs["gpus_of_node"] = gpus_of_node
        formula += " / gpus_of_node * (ranks - 1) / (ranks - gpus_of_node)"
        expect *= (ranks - 1) / (ranks - gpus_of_node) / gpus_of_node
    elif collective is Collective.SEND_RECV:
        nics = Counter(node for node, _ in {(port.node, port.nic) for port in group})
        inputs["nics"] = max(nics.values())
        formula += " / nics"
        expect /= max(nics.values())
    # Where links between switches are the bottleneck, the hash takes from what these let through.
    part = min(1.0, round(ratio * _sure_share(paths, collective, group), 4))
    if part < 1:
        inputs["sure_share"] = part
    return lower_limit(Metric.BUS_BANDWIDTH, expect, shares, formula, inputs, part)


def _sure_share(paths: FabricPaths, collective: Collective, group: Sequence[NicPort]) -> float:
    """Return the share of its rate that a collective reaches whatever the hash."""
    share_of = exchange_share if collective is Collective.ALL_TO_ALL else ring_share
    key = share_of, tuple(group)
    if key not in paths.computed:
        paths.computed[key] = share_of(paths, group)
    share: float = paths.computed[key]
    return share


def _group_speeds(paths: FabricPaths, group: Sequence[NicPort]) -> tuple[dict[str, int], dict[int, int]]:
    """Return the Gb/s of the NIC ports of a group by node, and by the switch that they are cabled to."""
    nodes: dict[str, int] = {}
    switches: dict[int, int] = {}
    for port in group:
        attachment = paths.nics[port]
        nodes[port.node] = nodes.get(port.node, 0) + attachment.speed_gbps
        switches[attachment.switch] = switches.get(attachment.switch, 0) + attachment.speed_gbps
    return nodes, switches


def _ratio(paths: FabricPaths, into_leaf: Mapping[int, int]) -> float:
    """Return the largest ratio of a group's bandwidth into a leaf, or the spines of a pod, to that of the uplinks."""
    into_pod: Counter[int] = Counter()
    for leaf, gbps in into_leaf.items():
        into_pod[paths.pod[leaf]] += gbps
    ratios = [1.0]
    # Without another leaf in its network nothing leaves a leaf, without another pod nothing leaves a pod.
    leaf_network = {leaf: paths.fabric.network_of(paths.fabric.switches[leaf]) for leaf in into_leaf}
    leaves_of = Counter(leaf_network.values())
    for leaf, gbps in into_leaf.items():
        if leaves_of[leaf_network[leaf]] > 1:
            ratios.append(gbps / paths.uplinks[leaf].gbps)
    pod_network = {paths.pod[leaf]: network for leaf, network in leaf_network.items()}
    pods_of = Counter(pod_network.values())
    for pod, gbps in into_pod.items():
        if pods_of[pod_network[pod]] > 1:
            ratios.append(gbps / paths.pod_uplinks[pod].gbps)
    return max(ratios)
