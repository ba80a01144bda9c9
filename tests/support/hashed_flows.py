"""Flows hashed through a fabric by walking its links, as an oracle for what a plan says about them.

It shares no code with the planner: the next hops of a switch are the neighbors with the shortest way to the target.
"""

import random
from collections import Counter, deque
from collections.abc import Iterable

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric

Direction = tuple[Link, str]
"""A link, and the device that sends on it."""


class Walker:
    """Walks flows from switch to switch, by a random choice among equal next hops at each."""

    def __init__(self, fabric: Fabric, seed: int) -> None:
        self._links: dict[str, list[Link]] = {switch.name: [] for switch in fabric.switches}
        for link in fabric.links:
            if not link.is_access:
                self._links[link.lower].append(link)
                self._links[link.upper].append(link)
        self._distances: dict[str, dict[str, int]] = {}
        self._random = random.Random(seed)

    def _distance(self, target: str) -> dict[str, int]:
        if target not in self._distances:
            distance = {target: 0}
            waiting = deque([target])
            while waiting:
                device = waiting.popleft()
                for link in self._links[device]:
                    neighbor = link.far(device)
                    if neighbor not in distance:
                        distance[neighbor] = distance[device] + 1
                        waiting.append(neighbor)
            self._distances[target] = distance
        return self._distances[target]

    def walk(self, source: str, target: str) -> Iterable[Direction]:
        """Yield the links of one flow with their senders."""
        distance = self._distance(target)
        device = source
        while device != target:
            hops = [link for link in self._links[device] if distance[link.far(device)] == distance[device] - 1]
            link = self._random.choice(hops)
            yield link, device
            device = link.far(device)

    def flows(self, pairs: Iterable[tuple[str, str]], queue_pairs: int) -> Counter[Direction]:
        """Return the number of flows on each link and direction."""
        counts: Counter[Direction] = Counter()
        for source, target in pairs:
            for _ in range(queue_pairs):
                counts.update(self.walk(source, target))
        return counts
