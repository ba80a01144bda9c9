"""Fair shares of the pairs of a loaded round over random hashes, by sampling.

Every flow chooses a link at random on each switch that has a choice; the rates of all flows that may meet follow by
progressive filling (`waterfill`), with the NIC ports of a pair as one more link. Only pairs that may meet are drawn
together, and equal components (the same numbers of leaves, links and flows) are drawn once for a plan.
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

PairCounts = Mapping[Leaves, Mapping[PairKind, int]]
"""The pairs between two leaves, counted by kind."""

# Values of each kind that a quantile of 1 % is taken from: 40 of them are below it.
_SAMPLES = 4_000
# A component is drawn again until it has this many flows in all; 30,000 take about 0.2 s.
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


class PairShare(NamedTuple):
    """The share of line rate of a pair in one draw of the hashes, with the leaf of its sender."""

    sender_switch: int
    kind: PairKind
    share: float


def kind_shares(paths: FabricPaths, round_contention: RoundContention, seed: int) -> dict[PairKind, KindShares]:
    """Return the shares of all kinds of pairs of a round that may share links; ``seed`` is that of the hashes."""
    shares: dict[PairKind, KindShares] = {}
    for component in round_contention.components():
        pair_counts = {
            leaves: Counter(round_contention.kinds[index] for index in round_contention.by_leaves[leaves])
            for leaves in component
        }
        # Components are equal if the same mixtures of kinds occur between equally many pairs of leaves.
        mixtures = Counter(frozenset(counts.items()) for counts in pair_counts.values())
        key = seed, frozenset(mixtures.items())
        if key not in paths.computed:
            paths.computed[key] = _sample(paths, pair_counts, seed)
        shares |= paths.computed[key]
    return shares


def _sample(paths: FabricPaths, pair_counts: PairCounts, seed: int) -> dict[PairKind, KindShares]:
    """Return the shares of the kinds of one component. The hashes are drawn until every kind has enough values."""
    pair_counts = _representative(paths, pair_counts)
    generator = random.Random(seed)  # noqa: S311
    # By kind: the shares of the pairs of one leaf in one draw, which depend on each other.
    clusters_of_kind: dict[PairKind, list[list[float]]] = {}
    drawn_flows = 0
    while drawn_flows < _FLOWS:
        clusters_of_draw: dict[tuple[int, PairKind], list[float]] = {}
        for leaf, kind, share in _draw(paths, pair_counts, generator):
            clusters_of_draw.setdefault((leaf, kind), []).append(share)
            drawn_flows += kind.queue_pairs
        for (_, kind), shares in clusters_of_draw.items():
            clusters_of_kind.setdefault(kind, []).append(shares)
        if all(sum(map(len, clusters)) >= _SAMPLES for clusters in clusters_of_kind.values()):
            break
    return {kind: _summary(clusters) for kind, clusters in clusters_of_kind.items()}


def _representative(paths: FabricPaths, pair_counts: PairCounts) -> PairCounts:
    """Return all pairs, or only those that some pods send if all are too many to be drawn together.

    A receiver in a pod that is left out is replaced by the leaf at the same place in a pod that is kept, never the
    sender's own. So every leaf sends the same flows, and receives as many as it would on average.
    """
    kept_pods = _kept_pods(paths, pair_counts)
    if all(paths.pod[sender] in kept_pods for sender, _ in pair_counts):
        return pair_counts
    receiver_pods = sorted({paths.pod[receiver] for _, receiver in pair_counts})
    # The kept pods stand in for those that are left out, in turn.
    stand_ins = sorted(kept_pods)
    kept_counts: dict[Leaves, Counter[PairKind]] = {}
    for (sender, receiver), counts in pair_counts.items():
        sender_pod = paths.pod[sender]
        receiver_pod = paths.pod[receiver]
        if sender_pod not in kept_pods:
            continue
        kept_receiver = receiver
        if sender_pod != receiver_pod:
            pod_index = receiver_pods.index(receiver_pod)
            stand_in = stand_ins[pod_index % len(stand_ins)]
            if stand_in == sender_pod:
                stand_in = stand_ins[(pod_index + 1) % len(stand_ins)]
            leaves = paths.pod_leaves[stand_in]
            leaf_index = paths.pod_leaves[receiver_pod].index(receiver)
            kept_receiver = leaves[leaf_index % len(leaves)]
        kept_counts.setdefault((sender, kept_receiver), Counter()).update(counts)
    return kept_counts


def _kept_pods(paths: FabricPaths, pair_counts: PairCounts) -> set[int]:
    """Return the pods that stand for all.

    The first two are kept, then more until those kept send `_TOGETHER` flows, then any that adds a kind of pairs.
    """
    kept_pods: set[int] = set()
    kept_kinds: set[PairKind] = set()
    flows = 0
    for (sender, _), counts in pair_counts.items():
        pod = paths.pod[sender]
        are_too_few = len(kept_pods) < 2 or flows < _TOGETHER
        has_new_kind = not counts.keys() <= kept_kinds
        # A kept pod counts with all pairs that it sends.
        if pod in kept_pods or are_too_few or has_new_kind:
            kept_pods.add(pod)
            kept_kinds |= counts.keys()
            flows += sum(kind.queue_pairs * pairs for kind, pairs in counts.items())
    return kept_pods


def _draw(paths: FabricPaths, pair_counts: PairCounts, generator: random.Random) -> list[PairShare]:
    """Return the share of every pair for one draw of all hashes."""
    # In flows and capacities link n is 2 n upwards and 2 n + 1 downwards. The NIC ports of a pair count as a link with
    # a negative number that only its own flows cross.
    flows: list[tuple[int, ...]] = []
    capacities_gbps: dict[int, float] = {}
    pairs: list[tuple[int, PairKind]] = []
    for (sender, receiver), counts in pair_counts.items():
        for kind in chain.from_iterable(repeat(kind, count) for kind, count in counts.items()):
            nic_link = -1 - len(pairs)
            capacities_gbps[nic_link] = kind.line_gbps
            pairs.append((sender, kind))
            flows.extend((nic_link, *_path(paths, sender, receiver, generator)) for _ in range(kind.queue_pairs))
    capacities_gbps |= {link: paths.speeds_gbps[link >> 1] for link in chain.from_iterable(flows) if link >= 0}
    # The flows of a pair follow one another.
    rates_gbps = iter(fair_rates(flows, capacities_gbps))
    shares = []
    for leaf, kind in pairs:
        pair_gbps = sum(islice(rates_gbps, kind.queue_pairs))
        shares.append(PairShare(leaf, kind, pair_gbps / kind.line_gbps))
    return shares


def _path(paths: FabricPaths, sender: int, receiver: int, generator: random.Random) -> tuple[int, ...]:
    """Return the links that a flow between two leaves takes by chance: 2 n for link n upwards, 2 n + 1 downwards."""
    # `int(uniform() * len(links))` chooses as `generator.choice` does, in a fraction of its time.
    uniform = generator.random
    links = paths.up[sender]
    leaf_uplink, spine = links[int(uniform() * len(links))]
    if paths.pod[sender] == paths.pod[receiver]:
        down = paths.down[spine, receiver]
        return 2 * leaf_uplink, 2 * down[int(uniform() * len(down))] + 1
    links = paths.up[spine]
    spine_uplink, super_spine = links[int(uniform() * len(links))]
    links = paths.to_pod[super_spine, paths.pod[receiver]]
    spine_downlink, receiver_spine = links[int(uniform() * len(links))]
    down = paths.down[receiver_spine, receiver]
    leaf_downlink = down[int(uniform() * len(down))]
    return 2 * leaf_uplink, 2 * spine_uplink, 2 * spine_downlink + 1, 2 * leaf_downlink + 1


def _summary(clusters: Sequence[Sequence[float]]) -> KindShares:
    """Return the shares of a kind.

    A cluster has the shares of the pairs of one leaf in one draw, which depend on each other.
    """
    values = sorted(chain.from_iterable(clusters))
    count = len(values)
    # Rounded down to the precision of a sample, which keeps plans short.
    quantile = floor(values[int(count * QUANTILE)] * 1e4) / 1e4
    mean = round(sum(values) / count, 4)
    variance = sum((sum(shares) - mean * len(shares)) ** 2 for shares in clusters) / count
    counts_below = [sum(share < quantile for share in shares) for shares in clusters]
    share_below = sum(counts_below) / count
    dispersion = 1.0
    if share_below:
        squares = sum(
            (below - share_below * len(shares)) ** 2 for below, shares in zip(counts_below, clusters, strict=True)
        )
        dispersion = max(1.0, round(squares / (count * share_below * (1 - share_below)), 2))
    return KindShares(count, quantile, mean, variance, dispersion)
