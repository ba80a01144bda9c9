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
    """Return the rate of each flow, by the links that it crosses and its own limit.

    Progressive filling: the link with the least part for each of its flows is the first that fills.
    """
    flows_of: dict[int, list[int]] = defaultdict(list)
    for flow, path in enumerate(paths):
        for link in path:
            flows_of[link].append(flow)
    left = {link: capacity[link] for link in flows_of}
    waiting = {link: len(flows) for link, flows in flows_of.items()}
    rates = [-1.0] * len(paths)
    heap = [(left[link] / count, 0, link) for link, count in waiting.items()]
    heap += [(limit, 1, flow) for flow, limit in enumerate(limits)]
    heapq.heapify(heap)
    while heap:
        share, is_limit, place = heapq.heappop(heap)
        if is_limit:
            filled = [place]
        else:
            count = waiting[place]
            if not count:
                continue
            now = max(0.0, left[place]) / count
            # Flows that were fixed elsewhere left more for the others.
            if now > share * (1 + 1e-12):
                heapq.heappush(heap, (now, 0, place))
                continue
            filled = flows_of[place]
        for flow in filled:
            if rates[flow] >= 0:
                continue
            rates[flow] = share
            for link in paths[flow]:
                left[link] -= share
                waiting[link] -= 1
    return rates


def scheduled_shares(
    paths: Sequence[Sequence[Lane]],
    capacity: Sequence[float],
    limits: Sequence[float],
    weights: Mapping[Lane, float],
) -> list[float]:
    """Return the rates of flows whose queues share links by weight: a queue has its part, and what others leave."""
    plain = [[lane.link for lane in path] for path in paths]
    rates = max_min(plain, capacity, limits)
    lanes: dict[Lane, int] = {}
    of_link: dict[int, list[Lane]] = defaultdict(list)
    for path in paths:
        for lane in path:
            if lane not in lanes:
                lanes[lane] = len(lanes)
                of_link[lane.link].append(lane)
    if all(len(queues) == 1 for queues in of_link.values()):
        return rates
    indexed = [[lanes[lane] for lane in path] for path in paths]
    parts = [0.0] * len(lanes)
    for link, queues in of_link.items():
        total = sum(weights[lane] for lane in queues)
        for lane in queues:
            parts[lanes[lane]] = capacity[link] * weights[lane] / total
    room = list(parts)
    for _ in range(_ROUNDS):
        used = _used(max_min(indexed, room, limits), indexed)
        for link, queues in of_link.items():
            total = sum(used[lanes[lane]] for lane in queues)
            for lane in queues:
                place = lanes[lane]
                room[place] = max(parts[place], capacity[link] - (total - used[place]))
    return _within(max_min(indexed, room, limits), plain, capacity)


def _used(rates: Sequence[float], paths: Sequence[Sequence[int]]) -> dict[int, float]:
    used: dict[int, float] = defaultdict(float)
    for rate, path in zip(rates, paths, strict=True):
        for link in path:
            used[link] += rate
    return used


def _within(rates: list[float], paths: Sequence[Sequence[int]], capacity: Sequence[float]) -> list[float]:
    """Scale flows down on links where the rooms of all queues together are more than the link."""
    used = _used(rates, paths)
    over = {link: capacity[link] / total for link, total in used.items() if total > capacity[link] > 0}
    return [
        rate * min((over.get(link, 1.0) for link in path), default=1.0) for rate, path in zip(rates, paths, strict=True)
    ]
