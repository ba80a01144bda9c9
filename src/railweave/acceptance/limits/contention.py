"""Which pairs of a round share links, and what each of them surely gets whatever the hash."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from railweave.acceptance.limits.basis import NicPair
from railweave.acceptance.limits.paths import FabricPaths, GroupName, LinkGroup
from railweave.acceptance.limits.significance import most_flows

Leaves = tuple[int, int]
"""The leaf of a sender and that of a receiver."""


class PairKind(NamedTuple):
    """What the rate of a pair depends on; pairs of one kind have the same limit."""

    line_gbps: int
    queue_pairs: int
    # Its two leaves send to and receive from each other only.
    apart: bool
    # The groups of equal links that it crosses, each with the flows of the round.
    groups: tuple[tuple[LinkGroup, int], ...]

    @property
    def sure_share(self) -> float:
        """Return the share of its line rate that a pair has at least, but for a probability of `RARE_FLOWS` a link.

        A flow has at least its even part of each link that it crosses, so with n flows on a link of speed C a pair of q
        queue pairs has at least q C / n.
        """
        sure_gbps: float = self.line_gbps
        for group, flows in self.groups:
            # The flow itself, and the most of the other flows that the hash puts on its link.
            flows_on_link = min(flows, 1 + most_flows(flows / group.links))
            sure_gbps = min(sure_gbps, self.queue_pairs * group.slowest_gbps / flows_on_link)
        return sure_gbps / self.line_gbps


@dataclass(frozen=True, slots=True)
class RoundContention:
    """The pairs of a round by the leaves of their ends."""

    # Indices of pairs by (leaf of the sender, leaf of the receiver).
    by_leaves: Mapping[Leaves, Sequence[int]]
    # The groups of equal links between two leaves, each in one direction.
    groups: Mapping[Leaves, Sequence[tuple[GroupName, LinkGroup]]]
    # In the order of the pairs.
    kinds: Sequence[PairKind]

    def components(self) -> Iterator[list[Leaves]]:
        """Yield lists of pairs of leaves; those of one list share groups of links, directly or through other pairs.

        Pairs within a leaf are left out, because they cross no such group.
        """
        # A union-find over the names of groups: a root is its own parent.
        parent: dict[GroupName, GroupName] = {}

        def root_of(name: GroupName) -> GroupName:
            while parent.setdefault(name, name) != name:
                parent[name] = parent[parent[name]]
                name = parent[name]
            return name

        crossing = [leaves for leaves in self.by_leaves if leaves[0] != leaves[1]]
        for leaves in crossing:
            (first_name, _), *more_groups = self.groups[leaves]
            for name, _ in more_groups:
                parent[root_of(name)] = root_of(first_name)
        components: dict[GroupName, list[Leaves]] = {}
        for leaves in crossing:
            sender_leaf, _ = leaves
            # All groups of a pair of leaves have one root, so any of them will do.
            components.setdefault(root_of(("up", sender_leaf)), []).append(leaves)
        yield from components.values()


def contention(paths: FabricPaths, pairs: Sequence[NicPair]) -> RoundContention:
    """Return the pairs of a round by their leaves, with the links that they may share and their kinds.

    Each NIC port sends at most once and receives at most once.
    """
    by_leaves: dict[Leaves, list[int]] = {}
    lines_gbps: list[int] = []
    for index, pair in enumerate(pairs):
        sender, receiver = paths.ends(pair)
        by_leaves.setdefault((sender.switch, receiver.switch), []).append(index)
        lines_gbps.append(min(sender.speed_gbps, receiver.speed_gbps))
    groups = {leaves: paths.groups_between(*leaves) for leaves in by_leaves}
    flows_between = {
        leaves: sum(pairs[index].queue_pairs for index in indices) for leaves, indices in by_leaves.items()
    }
    flows: Counter[GroupName] = Counter()
    for leaves, queue_pairs in flows_between.items():
        for name, _ in groups[leaves]:
            flows[name] += queue_pairs
    kinds: dict[int, PairKind] = {}
    for leaves, indices in by_leaves.items():
        sender_leaf, receiver_leaf = leaves
        loads = tuple((group, _rounded_up(flows[name])) for name, group in groups[leaves])
        # No other flow leaves the sender's leaf or arrives at the receiver's.
        are_apart = flows_between[leaves] == flows["up", sender_leaf] == flows["down", receiver_leaf]
        apart = bool(loads) and are_apart
        # Equal pairs share one object, because kinds are keys of dictionaries and compared by identity first.
        kind_of_rates: dict[tuple[int, int], PairKind] = {}
        for index in indices:
            rates = lines_gbps[index], pairs[index].queue_pairs
            if rates not in kind_of_rates:
                kind_of_rates[rates] = PairKind(*rates, apart, loads)
            kinds[index] = kind_of_rates[rates]
    return RoundContention(by_leaves, groups, [kinds[index] for index in range(len(pairs))])


def _rounded_up(flows: int) -> int:
    """Return a number of flows, rounded up to two significant digits so that similar pairs become one kind."""
    unit: int = 10 ** max(0, len(str(flows)) - 2)
    return ceil(flows / unit) * unit
