"""Max-min fair shares of flows that walk the graph of a fabric at random: an oracle for the limits of bandwidth."""

import random
from collections import deque
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import TypeVar

from railweave.acceptance.limits.basis import NicPair
from railweave.acceptance.model import NicPort
from railweave.fabric.model import Fabric

Number = Fraction | float
L = TypeVar("L", bound=Hashable)


def oracle_rates(flows: Sequence[Sequence[L]], capacity: dict[L, Number]) -> list[Number]:
    """Let all flows grow together until each has a full link; exact for fractions."""
    rates: list[Number] = [0] * len(flows)
    growing = set(range(len(flows)))
    while growing:
        load: dict[L, Number] = dict.fromkeys(capacity, 0)
        count: dict[L, int] = dict.fromkeys(capacity, 0)
        for flow, links in enumerate(flows):
            for link in links:
                load[link] += rates[flow]
                count[link] += flow in growing
        step = min((capacity[link] - load[link]) / count[link] for link in capacity if count[link])
        full = {link for link in capacity if count[link] and capacity[link] - load[link] <= step * count[link] + 1e-9}
        for flow in growing:
            rates[flow] += step
        growing = {flow for flow in growing if full.isdisjoint(flows[flow])}
    return rates


Edge = tuple[str, tuple[int, str], int]
"""A neighbor, the direction of the link to it, and its speed in Gb/s."""


def edges_of(fabric: Fabric) -> dict[str, list[Edge]]:
    edges: dict[str, list[Edge]] = {name: [] for name in fabric.switch_of}
    for number, link in enumerate(fabric.links):
        if not link.is_access:
            edges[link.lower].append((link.upper, (number, "up"), link.speed_gbps))
            edges[link.upper].append((link.lower, (number, "down"), link.speed_gbps))
    return edges


def hops_from(leaf: str, edges: dict[str, list[Edge]]) -> dict[str, int]:
    hops = {leaf: 0}
    queue = deque([leaf])
    while queue:
        switch = queue.popleft()
        for neighbor, _, _ in edges[switch]:
            if neighbor not in hops:
                hops[neighbor] = hops[switch] + 1
                queue.append(neighbor)
    return hops


class GraphModel:
    """Flows that walk a shortest path of the fabric's graph link by link, at random."""

    def __init__(self, fabric: Fabric) -> None:
        self.edges = edges_of(fabric)
        self.hops = {switch.name: hops_from(switch.name, self.edges) for switch in fabric.tier_switches[0]}
        self.access = {}
        for number, link in enumerate(fabric.links):
            if link.is_access:
                port = fabric.host_of[link.lower].ports[link.lower_port]
                self.access[NicPort(link.lower, port.nic, port.port)] = number, link

    def draw(self, pairs: list[NicPair], chance: random.Random) -> list[float]:
        flows: list[list[tuple[int, str]]] = []
        owners = []
        capacity: dict[tuple[int, str], Number] = {}
        for index, pair in enumerate(pairs):
            (first, start), (last, end) = self.access[pair.sender], self.access[pair.receiver]
            for _ in range(pair.queue_pairs):
                flow = [(first, "up"), (last, "down")]
                capacity |= {flow[0]: start.speed_gbps, flow[1]: end.speed_gbps}
                switch = start.upper
                hops = self.hops[end.upper]
                while switch != end.upper:
                    nearer = [edge for edge in self.edges[switch] if hops[edge[0]] < hops[switch]]
                    switch, key, gbps = chance.choice(nearer)
                    flow.append(key)
                    capacity[key] = gbps
                flows.append(flow)
                owners.append(index)
        rates = [0.0] * len(pairs)
        for owner, rate in zip(owners, oracle_rates(flows, capacity), strict=True):
            rates[owner] += rate
        return rates
