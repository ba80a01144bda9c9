"""Max-min fair shares: no flow can have more unless one that has less loses (Bertsekas and Gallager, Data Networks)."""

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_ROUNDS = 2


class Lane(NamedTuple):
    """A queue of a link: queues of one link share it by their weights."""

    link: int
    queue: int


def max_min(paths: Sequence[Sequence[int]], capacity: Sequence[float], limits: Sequence[float]) -> list[float]:
    """Return the rate of each flow; ``paths`` are the links that it crosses, ``limits`` its own limit.

    Progressive filling: all flows grow together. The link with the least capacity for each of its flows fills first,
    which fixes the rates of these flows. The rate of a flow that reaches its own limit is fixed as well.
    """
    flows_of: dict[int, list[int]] = defaultdict(list)
    for flow, path in enumerate(paths):
        for link in path:
            flows_of[link].append(flow)
    remaining = {link: capacity[link] for link in flows_of}
    growing = {link: len(flows) for link, flows in flows_of.items()}
    # Below 0 for a flow whose rate is not fixed yet.
    rates = [-1.0] * len(paths)
    # What fixes rates next: a rate, and a link (0) or the limit of a flow (1). Plain tuples, as there are very many.
    heap = [(remaining[link] / count, 0, link) for link, count in growing.items()]
    heap += [(limit, 1, flow) for flow, limit in enumerate(limits)]
    heapq.heapify(heap)
    while heap:
        rate, is_limit, number = heapq.heappop(heap)
        if is_limit:
            fixed_flows = [number]
        else:
            link = number
            if not growing[link]:
                continue
            share = max(0.0, remaining[link]) / growing[link]
            # Flows that were fixed by other links have left more of this one: it fills later.
            if share > rate * (1 + 1e-12):
                heapq.heappush(heap, (share, 0, link))
                continue
            fixed_flows = flows_of[link]
        for flow in fixed_flows:
            if rates[flow] >= 0:
                continue
            rates[flow] = rate
            for crossed in paths[flow]:
                remaining[crossed] -= rate
                growing[crossed] -= 1
    return rates


def scheduled_shares(
    paths: Sequence[Sequence[Lane]],
    capacity: Sequence[float],
    limits: Sequence[float],
    weights: Mapping[Lane, float],
) -> list[float]:
    """Return the rates of flows whose queues share links by weight.

    A queue has its part of the link, by its weight, and what the other queues leave of theirs.
    """
    link_paths = [[lane.link for lane in path] for path in paths]
    lane_numbers: dict[Lane, int] = {}
    lanes_of: dict[int, list[Lane]] = defaultdict(list)
    for path in paths:
        for lane in path:
            if lane not in lane_numbers:
                lane_numbers[lane] = len(lane_numbers)
                lanes_of[lane.link].append(lane)
    if all(len(lanes) == 1 for lanes in lanes_of.values()):
        return max_min(link_paths, capacity, limits)
    # From here on each lane is a link of its own, and has room for its part of the real one and for what is left of it.
    lane_paths = [[lane_numbers[lane] for lane in path] for path in paths]
    parts = [0.0] * len(lane_numbers)
    for link, lanes in lanes_of.items():
        total = sum(weights[lane] for lane in lanes)
        for lane in lanes:
            parts[lane_numbers[lane]] = capacity[link] * weights[lane] / total
    room = list(parts)
    for _ in range(_ROUNDS):
        used = _used(max_min(lane_paths, room, limits), lane_paths)
        for link, lanes in lanes_of.items():
            total = sum(used[lane_numbers[lane]] for lane in lanes)
            for lane in lanes:
                number = lane_numbers[lane]
                room[number] = max(parts[number], capacity[link] - (total - used[number]))
    return _within(max_min(lane_paths, room, limits), link_paths, capacity)


def _used(rates: Sequence[float], paths: Sequence[Sequence[int]]) -> dict[int, float]:
    """Return the sum of the rates on each link."""
    used: dict[int, float] = defaultdict(float)
    for rate, path in zip(rates, paths, strict=True):
        for link in path:
            used[link] += rate
    return used


def _within(rates: list[float], paths: Sequence[Sequence[int]], capacity: Sequence[float]) -> list[float]:
    """Return the rates scaled down, each by the fullest link of its path, so that no link exceeds its capacity."""
    scales: dict[int, float] = {}
    for link, total in _used(rates, paths).items():
        if total > capacity[link] > 0:
            scales[link] = capacity[link] / total
    scaled: list[float] = []
    for rate, path in zip(rates, paths, strict=True):
        scaled.append(rate * min((scales.get(link, 1.0) for link in path), default=1.0))
    return scaled
