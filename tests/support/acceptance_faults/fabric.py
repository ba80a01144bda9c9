"""The fabric of a plan as physics sees it: cables between ports, next hops by networkx, and the path of each flow."""

import hashlib
import json
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import networkx as nx

from acceptance_faults.nature import Conditions


class End(NamedTuple):
    device: str
    port: str


class Wire(NamedTuple):
    """A cable as it is plugged; ``routed`` if its ends agree on their addresses."""

    lower: End
    upper: End
    gbps: float
    plane: int
    rail: int | None
    routed: bool


class Hop(NamedTuple):
    """A wire in one direction."""

    wire: int
    up: bool


@dataclass(frozen=True)
class Plan:
    """``plan.json`` as the standard library reads it."""

    document: dict[str, Any]
    sha256: str

    @property
    def links(self) -> list[dict[str, Any]]:
        return list(self.document["links"])


def read_plan(folder: Path) -> Plan:
    text = (folder / "plan.json").read_bytes()
    return Plan(json.loads(text), hashlib.sha256(text).hexdigest())


class Fabric:
    """Wires and next hops; made once for a plan and its conditions."""

    def __init__(self, plan: Plan, conditions: Conditions) -> None:
        self.nodes = {node["name"] for node in plan.document["nodes"]}
        self.wires = _wires(plan.links, conditions)
        # The wire of a NIC port; the plan names the NIC by its node, NIC and port.
        self.access: dict[tuple[str, int, int], int] = {}
        for place, link in enumerate(plan.links):
            if link.get("nic_port"):
                self.access[nic_key(link["nic_port"])] = place
        self.graph = nx.MultiGraph()
        for place, wire in enumerate(self.wires):
            if wire.lower.device in self.nodes or not wire.routed or wire.plane in conditions.missing_planes:
                continue
            self.graph.add_edge(wire.lower.device, wire.upper.device, key=place)
        self.unpopular = {Hop(*hop): share for hop, share in conditions.unpopular.items()}
        self._next_hops: dict[str, dict[str, list[Hop]]] = {}

    def leaf_of(self, nic: tuple[str, int, int]) -> str | None:
        wire = self.wires[self.access[nic]]
        return wire.upper.device if wire.routed else None

    def next_hops(self, leaf: str) -> dict[str, list[Hop]]:
        """Return the equal hops towards a leaf, by the device that chooses among them."""
        table = self._next_hops.get(leaf)
        if table is None:
            table = {}
            if leaf in self.graph:
                distance = nx.single_source_shortest_path_length(self.graph, leaf)
                for device in distance:
                    table[device] = [
                        Hop(key, self.wires[key].lower.device == device)
                        for _, peer, key in self.graph.edges(device, keys=True)
                        if distance[peer] == distance[device] - 1
                    ]
            self._next_hops[leaf] = table
        return table

    def path(self, sender: tuple[str, int, int], receiver: tuple[str, int, int], rng: Random) -> list[Hop] | None:
        """Return the hops of one queue pair, hashed afresh at each switch; None if there is no way."""
        first = self.leaf_of(sender)
        last = self.leaf_of(receiver)
        if first is None or last is None:
            return None
        hops = [Hop(self.access[sender], True)]
        table = self.next_hops(last)
        device = first
        while device != last:
            choices = table.get(device)
            if not choices:
                return None
            hop = self._chosen(choices, rng)
            hops.append(hop)
            wire = self.wires[hop.wire]
            device = wire.upper.device if hop.up else wire.lower.device
        return [*hops, Hop(self.access[receiver], False)]

    def _chosen(self, choices: list[Hop], rng: Random) -> Hop:
        if not any(hop in self.unpopular for hop in choices):
            return rng.choice(choices)
        return rng.choices(choices, [self.unpopular.get(hop, 1.0) for hop in choices])[0]

    def sending_end(self, hop: Hop) -> End:
        wire = self.wires[hop.wire]
        return wire.lower if hop.up else wire.upper

    def receiving_end(self, hop: Hop) -> End:
        wire = self.wires[hop.wire]
        return wire.upper if hop.up else wire.lower


def nic_key(nic: Any) -> tuple[str, int, int]:
    """Return a NIC port of the plan, whether written as an object or as a list."""
    if isinstance(nic, dict):
        return nic["node"], nic["nic"], nic["port"]
    node, number, port = nic
    return node, number, port


def _wires(links: list[dict[str, Any]], conditions: Conditions) -> list[Wire]:
    uppers = [End(link["b"]["device"], link["b"]["port"]) for link in links]
    moved = set()
    for first, second in conditions.swapped:
        uppers[first], uppers[second] = uppers[second], uppers[first]
        moved |= {first, second}
    return [
        Wire(
            End(link["a"]["device"], link["a"]["port"]),
            upper,
            float(link["speed_gbps"]),
            link["plane"],
            link.get("rail"),
            link["plane"] not in conditions.missing_planes and not (conditions.numbered and place in moved),
        )
        for place, (link, upper) in enumerate(zip(links, uppers, strict=True))
    ]


def max_min_rates(paths: list[list[int]], capacities: list[float], caps: list[float]) -> list[float]:
    """Return max-min fair rates: links fill up one after the other, and their flows stay at what they have then.

    ``caps`` bounds each flow on its own, whatever its links could carry.
    """
    left = capacities + caps
    count = [0] * len(left)
    members: list[list[int]] = [[] for _ in left]
    ways = [[*path, len(capacities) + number] for number, path in enumerate(paths)]
    for number, way in enumerate(ways):
        for link in way:
            count[link] += 1
            members[link].append(number)
    rates = [-1.0] * len(paths)
    heap = [(left[link] / count[link], link) for link in range(len(left)) if count[link]]
    heapify(heap)
    while heap:
        share, link = heappop(heap)
        if not count[link]:
            continue
        now = left[link] / count[link]
        # Shares only grow as others freeze, so an old entry is put back with its new share.
        if now > share * (1 + 1e-9) + 1e-12:
            heappush(heap, (now, link))
            continue
        for number in members[link]:
            if rates[number] < 0:
                rates[number] = now
                for crossed in ways[number]:
                    left[crossed] = max(0.0, left[crossed] - now)
                    count[crossed] -= 1
    return rates
