"""The classes of failures of small fabrics against brute force: every failure alone, by paths that are walked."""

from collections import Counter, deque
from collections.abc import Collection, Iterable
from dataclasses import replace
from graphlib import TopologicalSorter
from itertools import combinations, permutations
from pathlib import Path
from typing import NamedTuple

import pytest
from examples import fewest
from frr_routes import routes
from hypothesis import assume, given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.failures.analysis import Failures, failures
from railweave.failures.components import Component, components
from railweave.failures.cost import Cost, Costs
from railweave.failures.symmetry import Symmetry
from railweave.intent.load import load_intent_text

CATALOG = load_catalog()

INTENT = """
fabric: small
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: {nics}, speed: 100G, ports: {planes}, model: connectx-6}}}}
topology:
  shape: {shape}
  planes: {planes}
  stripe: {stripe}
  links_per_pair: {pair}
  oversubscription: "8:1"
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
{pods}
"""
PODS = """  tiers: 3
  pod: 1
  super_spine: {{model: sonic-vs, count: {supers}, oversubscription: "8:1"}}
"""


MOST_COMPONENTS = 60
"""What brute force walks in a moment: 1,830 failures."""


class Drawn(NamedTuple):
    """A drawn intent and the cages of a line card, 0 without line cards: what a failing example is named by."""

    text: str
    cages: int

    def fabric(self) -> Fabric:
        """Return its fabric; an intent that the design refuses is no example."""
        fabric = design(load_intent_text(self.text, "small.yml"), CATALOG).fabric
        assume(fabric is not None)
        assert fabric is not None
        return replace(fabric, switches=tuple(of_cards(switch, self.cages) for switch in fabric.switches))


@st.composite
def fabrics(draw: st.DrawFn) -> Drawn:
    """Draw a fabric of two or three tiers with few components."""
    stripe = draw(st.integers(1, 3))
    pods = draw(st.sampled_from([1, 1, 2]))
    groups = draw(st.sampled_from([1, 2, 3]) if pods == 1 else st.sampled_from([1, 2]))
    text = INTENT.format(
        nodes=max(1, stripe * (pods if pods > 1 else draw(st.integers(1, 2))) - draw(st.integers(0, 1))),
        nics=draw(st.sampled_from([1, 2])),
        planes=draw(st.sampled_from([1, 2])),
        shape=draw(st.sampled_from(["rail-optimized", "rack-aligned"])),
        stripe=stripe,
        pair=draw(st.sampled_from([1, 2])),
        spines=groups * pods,
        pods=PODS.format(supers=groups * draw(st.integers(1, 2))) if pods > 1 else "",
    )
    return Drawn(text, draw(st.sampled_from([0, 0, 1, 2, 3])))


def of_cards(switch: Switch, cages: int) -> Switch:
    """Return a switch whose cages are on line cards, so many on each; 0 is a switch without."""
    return switch._replace(panel=switch.panel._replace(card_cages=cages))


@given(fabrics())
@fewest
def test_classes_are_what_every_failure_alone_costs(drawn: Drawn) -> None:
    fabric = drawn.fabric()
    assume(len(components(fabric)) <= MOST_COMPONENTS)
    assert counted(failures(fabric)) == one_by_one(fabric)


@given(fabrics(), st.data())
@fewest
def test_a_spine_without_ways_up_counts_as_out_of_service_in_every_figure(drawn: Drawn, data: st.DataObject) -> None:
    fabric = drawn.fabric()
    assume(len(fabric.tiers) == 3)
    # The spines of a pod that is alone need no way up.
    assume(len({leaf.pod for leaf in fabric.tier_switches[0]}) > 1)
    spine = data.draw(st.sampled_from(fabric.tier_switches[1]))
    parts = components(fabric)
    costs = Costs(fabric, Symmetry(parts))
    ways_up = [one for one in parts if not one.counts and any(link.lower == spine.name for link in one.down)]
    itself = [one for one in parts if one.out == (spine.name,)]
    assert len(ways_up) == len(fabric.uplinks_of[spine.name])
    others = [one for one in parts if one.kind == "pod" and one.name != f"pod {spine.pod}"]
    if others:
        assert rounded(costs.of(ways_up)) == rounded(costs.of(itself))
    # Nothing needs a way up of a pod that is alone, or while the pods beside it are out of service.
    assert rounded(costs.of([*others, *ways_up])) == rounded(costs.of(others))


@given(fabrics(), st.data())
def test_no_buffers_wait_in_a_ring_by_the_routes_that_are_left(drawn: Drawn, data: st.DataObject) -> None:
    fabric = drawn.fabric()
    places = range(len(components(fabric)))
    chosen = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3))
    failed = [components(fabric)[place] for place in chosen]
    out = {name for one in failed for name in one.out}
    down = {link for one in failed for link in one.down}
    found = routes(
        fabric, tuple(link for link in fabric.fabric_links if link in down or out & {link.lower, link.upper})
    )
    waits: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for prefix in {prefix for table in found.ribs.values() for prefix in table}:
        hops = {name: found.next_hops(name, prefix) for name in found.speakers}
        for name, following in hops.items():
            for hop in following:
                waits.setdefault((name, hop), set()).update((hop, last) for last in hops.get(hop, ()))
    assert list(TopologicalSorter(waits).static_order()) or not waits


def counted(found: Failures) -> Counter[tuple[tuple[str, ...], tuple[object, ...]]]:
    counts: Counter[tuple[tuple[str, ...], tuple[object, ...]]] = Counter()
    for one in found.classes:
        counts[tuple(sorted(each.kind for each in one.example)), rounded(one.cost)] += one.count
    return counts


def rounded(cost: Iterable[float | None]) -> tuple[object, ...]:
    return tuple(None if one is None else round(one, 6) for one in cost)


def one_by_one(fabric: Fabric) -> Counter[tuple[tuple[str, ...], tuple[object, ...]]]:
    found = components(fabric)
    counts: Counter[tuple[tuple[str, ...], tuple[object, ...]]] = Counter()
    walked = Walked(fabric)
    for failed in (*((one,) for one in found), *combinations(found, 2)):
        counts[tuple(sorted(one.kind for one in failed)), rounded(walked.cost(failed))] += 1
    return counts


class Walked:
    """Costs computed from the links alone, without any symmetry."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self._carried: dict[tuple[object, ...], tuple[float, float]] = {}
        self.meeting = {pair: reach(fabric, *pair) for pair in self.pairs(())}
        self.usual = {pair: flow(fabric.fabric_links, *pair, way) for pair, way in self.meeting.items()}

    def pairs(self, out: Collection[str]) -> list[tuple[str, str]]:
        leaves = [one for one in self.fabric.tier_switches[0] if one.name not in out]
        return [(a.name, b.name) for a, b in permutations(leaves, 2) if a.plane == b.plane]

    def cost(self, failed: tuple[Component, ...]) -> Cost:
        fabric = self.fabric
        out = {name for one in failed for name in one.out}
        down = {link for one in failed for link in one.down}
        alive = [link for link in fabric.links if link not in down and not out & {link.lower, link.upper}]
        access = [link for link in alive if link.is_access]
        linked, reached = {link.lower for link in access}, {(link.lower, link.rail) for link in access}
        rails = {link.rail for link in fabric.links if link.is_access}
        shares = [share(fabric.links, alive, rail) for rail in rails]
        switched = [link for link in alive if link.level]
        left = self.uplinks_left(switched, out)
        pairs = [
            tuple(one / self.usual[pair] for one in self.carried(switched, pair, way))
            for pair in self.pairs(out)
            if self.usual[pair] and (way := self.meeting[pair])
        ]
        several = bool(self.pairs(out))
        between = {
            pair: self.carried(switched, pair, way)[1] / self.usual[pair]
            for pair in self.pairs(out)
            if self.usual[pair] and (way := self.meeting[pair])
        }
        return Cost(
            injection_percent=100 * len(access) / sum(link.is_access for link in fabric.links),
            rail_percent=min(shares),
            nodes_cut_off=sum(one.name not in linked for one in fabric.hosts),
            rails_out=max(sum((one.name, rail) not in reached for rail in rails) for one in fabric.hosts),
            uplink_percent=min((percent for percent, _ in left.values()), default=100),
            oversubscription=max((ratio for _, ratio in left.values()), default=None),
            pair_percent=min((100 * one for one, _ in pairs), default=100) if several else None,
            spread_percent=min((100 * one for _, one in pairs), default=100) if several else None,
            node_pair_percent=self.node_pair(access, between),
        )

    def node_pair(self, access: list[Link], between: dict[tuple[str, str], float]) -> float | None:
        """Return what the worst two nodes with a link in service have left, port by port, of links of one speed."""
        alive = frozenset(access)
        alike: dict[tuple[object, ...], list[str]] = {}
        for name in {link.lower: None for link in access}:
            ports = self.fabric.uplinks_of[name]
            alike.setdefault(tuple((port.upper, port in alive) for port in ports), []).append(name)
        shares = []
        for one, other in permutations([name for names in alike.values() for name in names[:2]], 2):
            usual = left = 0.0
            for a, b in zip(self.fabric.uplinks_of[one], self.fabric.uplinks_of[other], strict=True):
                assert (a.plane, a.rail) == (b.plane, b.rail)
                if a.upper == b.upper or self.usual[a.upper, b.upper]:
                    usual += 1
                    if a in alive and b in alive:
                        left += 1 if a.upper == b.upper else between[a.upper, b.upper]
            if usual:
                shares.append(100 * left / usual)
        return min(shares, default=None)

    def carried(self, switched: list[Link], pair: tuple[str, str], way: int) -> tuple[float, float]:
        """Return flow and spread of a pair, walked once for as many links between every two switches."""
        place = (pair, *Counter((link.lower, link.upper) for link in switched).items())
        if place not in self._carried:
            self._carried[place] = flow(switched, *pair, way), spread(switched, *pair, way)
        return self._carried[place]

    def uplinks_left(self, alive: list[Link], out: set[str]) -> dict[str, tuple[float, float]]:
        """Return what each switch in service has left of its uplinks, and its ratio; a spine without ways up is out of
        service, or whole where no other pod of its plane has a leaf in service."""
        lowest = self.fabric.tier_switches[0]
        pods = {(leaf.plane, leaf.pod) for leaf in lowest if leaf.name not in out}
        found = {}
        dead = set()
        # From the top down: a leaf counts no link to a dead spine.
        for switches in reversed(self.fabric.tier_switches[:-1]):
            for switch in switches:
                left = sum(link.lower == switch.name and link.upper not in dead for link in alive)
                usual, towards = len(self.fabric.uplinks_of[switch.name]), len(self.fabric.downlinks_of[switch.name])
                others = any(plane == switch.plane and pod != switch.pod for plane, pod in pods)
                if switch.tier.level and not others:
                    left = usual
                if switch.tier.level and not left:
                    dead.add(switch.name)
                elif switch.name not in out:
                    found[switch.name] = 100 * left / usual, towards / left if left else float("inf")
        return found


def share(links: Iterable[Link], alive: Iterable[Link], rail: int | None) -> float:
    ports, left = (sum(one.is_access and one.rail == rail for one in some) for some in (links, alive))
    return 100 * left / ports


def reach(fabric: Fabric, one: str, other: str) -> int:
    """Return the level of the switches in which two leaves meet by the cabling, 0 where they do not."""
    below = {one}, {other}
    for level in range(1, len(fabric.tiers)):
        one_above, other_above = ({up for name in names for up in fabric.above(name)} for names in below)
        below = one_above, other_above
        if one_above & other_above:
            return level
    return 0


def edges(links: Iterable[Link], one: str, other: str, level: int) -> Counter[tuple[str, str]]:
    """Return the links of all paths from one leaf up to the level and down to the other, with their number."""
    usable = [link for link in links if link.level <= level]
    up: Counter[tuple[str, str]] = Counter()
    down: Counter[tuple[str, str]] = Counter()
    ahead, behind = {one}, {other}
    for _ in range(level):
        up.update((f"{link.lower}+", f"{link.upper}+") for link in usable if link.lower in ahead)
        down.update((f"{link.upper}-", f"{link.lower}-") for link in usable if link.lower in behind)
        ahead = {link.upper for link in usable if link.lower in ahead}
        behind = {link.upper for link in usable if link.lower in behind}
    for top in ahead & behind:
        up[f"{top}+", f"{top}-"] = 10**6
    return up + down


def flow(links: Iterable[Link], one: str, other: str, level: int) -> float:
    """Return the greatest flow in links of one speed, found by augmenting paths (Edmonds and Karp)."""
    if not level:
        return 0
    left = edges(links, one, other, level)
    onward: dict[str, set[str]] = {}
    for a, b in left:
        onward.setdefault(a, set()).add(b)
        onward.setdefault(b, set()).add(a)
    start, end, total = f"{one}+", f"{other}-", 0
    while True:
        before = {start: start}
        waiting = deque([start])
        while waiting and end not in before:
            here = waiting.popleft()
            for there in onward.get(here, ()):
                if left[here, there] and there not in before:
                    before[there] = here
                    waiting.append(there)
        if end not in before:
            return total
        here = end
        while here != start:
            left[before[here], here] -= 1
            left[here, before[here]] += 1
            here = before[here]
        total += 1


def spread(links: Iterable[Link], one: str, other: str, level: int) -> float:
    """Return what equal-cost routing carries: one unit is divided evenly at each switch, until a link is full."""
    ways = edges(links, one, other, level)
    end = f"{other}-"
    useful = {end}
    for _ in range(2 * level + 1):
        useful |= {a for (a, b) in ways if b in useful}
    if f"{one}+" not in useful:
        return 0
    load, worst = {f"{one}+": 1.0}, 0.0
    for _ in range(2 * level + 1):
        following: dict[str, float] = {}
        for name, amount in load.items():
            out = {b: count for (a, b), count in ways.items() if a == name and b in useful}
            for b, count in out.items():
                part = amount * count / sum(out.values())
                worst = max(worst, part / count)
                following[b] = following.get(b, 0) + part
        load = following
    return 1 / worst


@pytest.mark.slow
@pytest.mark.trials
def test_all_pairs_of_the_worked_example_are_what_every_pair_alone_costs() -> None:
    path = Path(__file__).resolve().parents[2] / "intent" / "pod-32.yml"
    fabric = design(load_intent_text(path.read_text(encoding="utf-8"), path.name), CATALOG).fabric
    assert fabric is not None
    found = failures(fabric)
    assert (found.singles, found.pairs) == (264, 34_716)
    assert (len(found.of_order(1)), len(found.of_order(2))) == (4, 19)
    assert counted(found) == one_by_one(fabric)


@pytest.mark.parametrize("links", [1, 2])
def test_the_reference_counts_of_symmetric_pairs(links: int) -> None:
    text = INTENT.format(
        **{"nodes": 4, "nics": 2, "planes": 1, "shape": "rail-optimized", "stripe": 4, "pair": links, "spines": 2},
        pods="",
    )
    fabric = design(load_intent_text(text, "small.yml"), CATALOG).fabric
    assert fabric is not None
    found = failures(fabric)
    assert sum(one.count for one in found.of_order(1)) == found.singles == len(components(fabric))
    assert sum(one.count for one in found.of_order(2)) == found.pairs
