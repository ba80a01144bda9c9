"""Fair shares of the pairs of a loaded round over random hashes, by sampling.

Every flow chooses a link at random on each switch that has a choice; the rates of all flows that may meet follow by
progressive filling (`waterfill`), with the NIC ports of a pair as one more link. Only pairs that may meet are drawn
together, and what is alike (the same leaves in number, links and flows) is drawn once for a plan.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, islice, repeat
from math import floor
from typing import NamedTuple

from railweave.acceptance.limits.contention import Leaves, PairKind, RoundContention
from railweave.acceptance.limits.paths import FabricPaths
from railweave.acceptance.limits.waterfill import fair_rates

QUANTILE = 0.01
"""The share of healthy pairs below the limit of a pair."""

# Values of each kind that a quantile of 1 % is taken from: 40 of them are below it.
_SAMPLES = 4_000
# Flows that are drawn at most for what is alike, beyond the first draw; 30,000 take about 0.2 s.
_FLOWS = 30_000
# Flows between pods that are drawn together at most; a fabric of more is represented by some of its pods.
_TOGETHER = 12_000


class KindShares(NamedTuple):
    """The shares of line rate of the pairs of a kind, over random hashes."""

    samples: int
    # The share that `QUANTILE` of the pairs do not reach, and the mean.
    quantile: float
    mean: float
    # The variance of a round's mean, times the number of its tests.
    variance: float
    # The variance of the number of pairs below the quantile, divided by the binomial one; at least 1.
    dispersion: float


def kind_shares(paths: FabricPaths, round_contention: RoundContention, seed: int) -> dict[PairKind, KindShares]:
    """Return the shares of all kinds of pairs of a round that may share links."""
    shares: dict[PairKind, KindShares] = {}
    for component in round_contention.components():
        members = {
            leaves: Counter(round_contention.kinds[index] for index in round_contention.by_leaves[leaves])
            for leaves in component
        }
        alike = seed, frozenset(Counter(frozenset(kinds.items()) for kinds in members.values()).items())
        if alike not in paths.computed:
            paths.computed[alike] = _sampled(paths, members, seed)
        shares |= paths.computed[alike]
    return shares


def _sampled(
    paths: FabricPaths, members: Mapping[Leaves, Mapping[PairKind, int]], seed: int
) -> dict[PairKind, KindShares]:
    """Return the shares of the pairs of leaves that may meet, drawn until every kind has enough values."""
    members = _representative(paths, members)
    generator = random.Random(seed)  # noqa: S311
    # By kind: the shares of the pairs of one leaf in one draw, which depend on each other.
    clusters: dict[PairKind, list[list[float]]] = {}
    drawn = 0
    while drawn < _FLOWS:
        by_leaf: dict[tuple[int, PairKind], list[float]] = {}
        for leaf, kind, share in _draw(paths, members, generator):
            by_leaf.setdefault((leaf, kind), []).append(share)
            drawn += kind.queue_pairs
        for (_, kind), shares in by_leaf.items():
            clusters.setdefault(kind, []).append(shares)
        if all(sum(map(len, of_kind)) >= _SAMPLES for of_kind in clusters.values()):
            break
    return {kind: _summary(of_kind) for kind, of_kind in clusters.items()}


def _representative(
    paths: FabricPaths, members: Mapping[Leaves, Mapping[PairKind, int]]
) -> Mapping[Leaves, Mapping[PairKind, int]]:
    """Return the flows of some pods among themselves, if those of all are too many to be drawn together.

    A flow to a pod that is left out goes to the leaf at the same place of one that is kept, never to its own pod, so
    every leaf keeps the flows that it sends and gets as many as it would on average.
    """
    kept = _kept_pods(paths, members)
    if all(paths.pod[sender] in kept for sender, _ in members):
        return members
    pods = sorted({paths.pod[receiver] for _, receiver in members})
    order = sorted(kept)
    folded: dict[Leaves, Counter[PairKind]] = {}
    for (sender, receiver), kinds in members.items():
        own = paths.pod[sender]
        far = paths.pod[receiver]
        if own not in kept:
            continue
        if own != far:
            place = pods.index(far)
            stand_ins = (order[(place + step) % len(order)] for step in range(2))
            leaves = paths.pod_leaves[next(pod for pod in stand_ins if pod != own)]
            receiver = leaves[paths.pod_leaves[far].index(receiver) % len(leaves)]  # noqa: PLW2901
        folded.setdefault((sender, receiver), Counter()).update(kinds)
    return folded


def _kept_pods(paths: FabricPaths, members: Mapping[Leaves, Mapping[PairKind, int]]) -> set[int]:
    """Return the first pods that send `_TOGETHER` flows, at least two, and one with each kind of pairs."""
    kept: set[int] = set()
    seen: set[PairKind] = set()
    flows = 0
    for (sender, _), kinds in members.items():
        pod = paths.pod[sender]
        if pod not in kept and len(kept) > 1 and flows >= _TOGETHER and kinds.keys() <= seen:
            continue
        kept.add(pod)
        seen |= kinds.keys()
        flows += sum(kind.queue_pairs * pairs for kind, pairs in kinds.items())
    return kept


def _draw(
    paths: FabricPaths, members: Mapping[Leaves, Mapping[PairKind, int]], generator: random.Random
) -> list[tuple[int, PairKind, float]]:
    """Return (leaf of the sender, kind, share of line rate) of every pair for a draw of all hashes."""
    flows: list[tuple[int, ...]] = []
    pairs: list[tuple[int, PairKind]] = []
    capacity: dict[int, float] = {}
    for (sender, receiver), kinds in members.items():
        for kind in chain.from_iterable(repeat(kind, count) for kind, count in kinds.items()):
            # The NIC ports of a pair are a link that only its own flows cross.
            nic = -1 - len(pairs)
            capacity[nic] = kind.line_gbps
            pairs.append((sender, kind))
            flows.extend((nic, *_path(paths, sender, receiver, generator)) for _ in range(kind.queue_pairs))
    capacity |= {link: paths.speeds_gbps[link >> 1] for link in chain.from_iterable(flows) if link >= 0}
    rates = iter(fair_rates(flows, capacity))
    return [(leaf, kind, sum(islice(rates, kind.queue_pairs)) / kind.line_gbps) for leaf, kind in pairs]


def _path(paths: FabricPaths, sender: int, receiver: int, generator: random.Random) -> tuple[int, ...]:
    """Return the links of a flow from leaf to leaf: 2 n for link n upwards, 2 n + 1 downwards."""
    uniform = generator.random
    links = paths.up[sender]
    first, spine = links[int(uniform() * len(links))]
    if paths.pod[sender] == paths.pod[receiver]:
        down = paths.down[spine, receiver]
        return 2 * first, 2 * down[int(uniform() * len(down))] + 1
    links = paths.up[spine]
    second, super_spine = links[int(uniform() * len(links))]
    links = paths.to_pod[super_spine, paths.pod[receiver]]
    third, spine = links[int(uniform() * len(links))]
    down = paths.down[spine, receiver]
    return 2 * first, 2 * second, 2 * third + 1, 2 * down[int(uniform() * len(down))] + 1


def _summary(clusters: Sequence[Sequence[float]]) -> KindShares:
    """Return the shares of a kind; a cluster has those of the pairs of one leaf in one draw."""
    values = sorted(chain.from_iterable(clusters))
    count = len(values)
    # Rounded down and to what a sample can tell, so that plans are short.
    quantile = floor(values[int(count * QUANTILE)] * 1e4) / 1e4
    mean = round(sum(values) / count, 4)
    spread = sum((sum(shares) - mean * len(shares)) ** 2 for shares in clusters) / count
    low = [sum(share < quantile for share in shares) for shares in clusters]
    part = sum(low) / count
    dispersion = 1.0
    if part:
        squares = sum((below - part * len(shares)) ** 2 for below, shares in zip(low, clusters, strict=True))
        dispersion = max(1.0, round(squares / (count * part * (1 - part)), 2))
    return KindShares(count, quantile, mean, spread, dispersion)
