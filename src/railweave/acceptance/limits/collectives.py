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
from dataclasses import dataclass
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
    """Return the number of steps of a collective that run one after another."""
    if collective is Collective.SEND_RECV:
        return 1
    if algorithm is Algorithm.TREE:
        # Up the tree and down again.
        return 2 * ceil(log2(ranks))
    if collective is Collective.ALL_REDUCE:
        return 2 * (ranks - 1)
    return ranks - 1


def fit(steps_of_ring: int, factor: float, bus_gigabytes: Mapping[int, float]) -> AlphaBeta | None:
    """Return the time of a step and the bus bandwidth of an endless message, or None if they cannot be determined.

    They are fitted to ``bus_gigabytes``, the bus bandwidth in GB/s by the size in bytes, by least squares of relative
    errors. It takes two sizes or more.
    """
    # 1 / busbw = alpha steps / (factor S) + beta, times busbw so that small messages count as much as large ones:
    # 1 = alpha x + beta y, with x = steps / (factor S) busbw and y = busbw.
    rows = [(steps_of_ring / factor / size * bus, bus) for size, bus in bus_gigabytes.items() if bus > 0]
    sum_x = sum(x for x, _ in rows)
    sum_y = sum(y for _, y in rows)
    sum_xx = sum(x * x for x, _ in rows)
    sum_xy = sum(x * y for x, y in rows)
    sum_yy = sum(y * y for _, y in rows)
    determinant = sum_xx * sum_yy - sum_xy * sum_xy
    if determinant <= _ALIKE * sum_xx * sum_yy:
        return None
    alpha = max(0.0, sum_x * sum_yy - sum_y * sum_xy) / determinant
    beta = (sum_y * sum_xx - sum_x * sum_xy) / determinant
    if beta <= 0:
        return None
    # Bytes over gigabytes a second are nanoseconds.
    return AlphaBeta(alpha / 1e3, 1 / beta)


@dataclass(slots=True)
class _FormulaValue:
    """A bus bandwidth in GB/s, and the formula that yields it from its inputs. Every step changes all three."""

    gigabytes: float
    formula: str
    inputs: Inputs

    def divide(self, name: str, divisor: float) -> None:
        """Divide by ``divisor``, which becomes the input ``name`` of the formula."""
        self.gigabytes /= divisor
        self.formula += f" / {name}"
        self.inputs[name] = divisor

    def multiply(self, factor: float, term: str) -> None:
        """Multiply by ``factor``. ``term`` extends the formula by it: an operator and an expression over the inputs."""
        self.gigabytes *= factor
        self.formula += f" {term}"


def collective_limit(
    paths: FabricPaths,
    collective: Collective,
    algorithm: Algorithm,
    group: Sequence[NicPort],
    gpus_of_node: int,
    shares: LimitShares,
) -> MetricLimit:
    """Return the limit of the bus bandwidth in GB/s of a collective of large messages, without the time of its steps.

    All GPUs of the nodes of ``group`` take part over its NIC ports. Raises ValueError if it is within one node.
    """
    speeds = _group_speeds(paths, group)
    nodes = len(speeds.nodes_gbps)
    if nodes == 1:
        raise ValueError("a collective within one node crosses no NIC port")
    ranks = nodes * gpus_of_node
    line_gbps = min(speeds.nodes_gbps.values())
    inputs: Inputs = {"line_gbps": line_gbps, **paths.payload._asdict(), "ranks": ranks}
    inputs |= {"steps": steps(collective, algorithm, ranks), "factor": bus_factor(collective, ranks)}
    expect = _FormulaValue(paths.payload.of(line_gbps) / 8, f"{PAYLOAD_FORMULA} / 8", inputs)
    ratio = round(_ratio(paths, speeds.leaves_gbps), 4)
    if ratio > 1:
        expect.divide("ratio", ratio)
    if algorithm is Algorithm.TREE and nodes == 2:
        # A tree of two nodes sends S where the bus bandwidth counts 2 (ranks - 1) / ranks * S.
        expect.multiply(2 * (ranks - 1) / ranks, "* 2 * (ranks - 1) / ranks")
    elif collective is Collective.ALL_TO_ALL:
        # Only what leaves the node crosses a NIC.
        inputs["gpus_of_node"] = gpus_of_node
        leaving = (ranks - 1) / (ranks - gpus_of_node) / gpus_of_node
        expect.multiply(leaving, "/ gpus_of_node * (ranks - 1) / (ranks - gpus_of_node)")
    elif collective is Collective.SEND_RECV:
        # One GPU of a node sends to another node, over one NIC.
        expect.divide("nics", _most_nics(group))
    # Where links between switches are the bottleneck, hash collisions reduce what these links carry.
    sure_share = min(1.0, round(ratio * _sure_share(paths, collective, group), 4))
    if sure_share < 1:
        inputs["sure_share"] = sure_share
    return lower_limit(Metric.BUS_BANDWIDTH, expect.gigabytes, shares, expect.formula, inputs, sure_share)


def _most_nics(group: Sequence[NicPort]) -> int:
    """Return the largest number of NICs that a node of ``group`` uses."""
    nics = {(port.node, port.nic) for port in group}
    return max(Counter(node for node, _ in nics).values())


def _sure_share(paths: FabricPaths, collective: Collective, group: Sequence[NicPort]) -> float:
    """Return the share of its rate that a collective reaches whatever the hash; groups share the computed value."""
    compute_share = ring_share
    if collective is Collective.ALL_TO_ALL:
        compute_share = exchange_share
    key = compute_share, tuple(group)
    if key not in paths.computed:
        paths.computed[key] = compute_share(paths, group)
    share: float = paths.computed[key]
    return share


class GroupSpeeds(NamedTuple):
    """The bandwidth of the NIC ports of a group, by node and by the leaf that they are cabled to."""

    nodes_gbps: Mapping[str, int]
    leaves_gbps: Mapping[int, int]


def _group_speeds(paths: FabricPaths, group: Sequence[NicPort]) -> GroupSpeeds:
    """Return the bandwidth of a group; the collectives of one group share the computed value."""
    key = "group", tuple(group)
    if key not in paths.computed:
        nodes_gbps: Counter[str] = Counter()
        leaves_gbps: Counter[int] = Counter()
        for port in group:
            attachment = paths.nics[port]
            nodes_gbps[port.node] += attachment.speed_gbps
            leaves_gbps[attachment.switch] += attachment.speed_gbps
        paths.computed[key] = GroupSpeeds(nodes_gbps, leaves_gbps)
    speeds: GroupSpeeds = paths.computed[key]
    return speeds


def _ratio(paths: FabricPaths, leaves_gbps: Mapping[int, int]) -> float:
    """Return the largest oversubscription that a group meets, at least 1.

    That is its bandwidth into a leaf or a pod over the bandwidth of the uplinks there. ``leaves_gbps`` is the bandwidth
    into each leaf.
    """
    network_of_leaf = {leaf: paths.fabric.network_of(paths.fabric.switches[leaf]) for leaf in leaves_gbps}
    network_of_pod = {paths.pod[leaf]: network for leaf, network in network_of_leaf.items()}
    leaves_in = Counter(network_of_leaf.values())
    pods_in = Counter(network_of_pod.values())
    pods_gbps: Counter[int] = Counter()
    ratios = [1.0]
    # The only leaf of a network sends nothing up to its spines, and the only pod nothing to super-spines.
    for leaf, gbps in leaves_gbps.items():
        pods_gbps[paths.pod[leaf]] += gbps
        if leaves_in[network_of_leaf[leaf]] > 1:
            ratios.append(gbps / paths.uplinks[leaf].gbps)
    for pod, gbps in pods_gbps.items():
        if pods_in[network_of_pod[pod]] > 1:
            ratios.append(gbps / paths.pod_uplinks[pod].gbps)
    return max(ratios)
