"""No sequence of drains leaves two leaves of a plane without a way up and down again that carries traffic.

The oracle is a graph of networkx that is made from the cables alone: a way goes up, turns once, and goes down.
"""

from collections.abc import Iterable
from itertools import combinations

import networkx as nx
from examples import more
from hypothesis import assume, given
from hypothesis import strategies as st
from random_fabrics import fabrics
from reference_intents import ROOT
from telemetry_samples import fabric_of

from railweave.api.maintenance.links import drain_requests
from railweave.cabling.cable_names import cable_names
from railweave.catalog.load import load_catalog
from railweave.errors import RefusedError
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.manual_drain import WHOLE, DrainLimits, DrainResult, DrainTarget, check_around, choose, neighborhood

PODS = fabric_of((ROOT / "intent" / "lab-pods.yml").read_text(encoding="utf-8"))


PAIRS_OF_LINKS = """
fabric: pairs
workload: {kind: inference}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, ports: 1, model: connectx-6}}
topology:
  links_per_pair: 2
  oversubscription: "7:1"
  leaf: {model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: sonic-vs, count: 2}
"""


class Drains:
    """The drained switches and links of a fabric, as its switches would report them."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.links = [link for link in fabric.links if not link.is_access]
        names = cable_names(fabric, load_catalog())
        self.cables = sorted({name for name, link in zip(names, fabric.links, strict=True) if not link.is_access})
        self.peers: dict[str, tuple[str, ...]] = {}
        self.targets: dict[str, list[DrainTarget]] = {}
        self.leaves = [switch.name for switch in fabric.switches if switch.tier.attaches_nodes]
        self.joined = self.pairs(())

    def pairs(self, more: Iterable[DrainTarget]) -> set[tuple[str, str]]:
        """Return the pairs of leaves with a way while ``more`` is drained beside what is drained."""
        targets = [*more, *(target for targets in self.targets.values() for target in targets)]
        out = {target.device for target in targets if target.whole}
        down = {link for target in targets for link in target.links}
        graph = nx.DiGraph()
        for link in self.links:
            if link not in down and not out & {link.lower, link.upper}:
                graph.add_edge((link.lower, "up"), (link.upper, "up"))
                graph.add_edge((link.upper, "up"), (link.upper, "down"))
                graph.add_edge((link.upper, "down"), (link.lower, "down"))
        joined = set()
        for leaf in self.leaves:
            if (leaf, "up") in graph:
                reached = nx.descendants(graph, (leaf, "up"))
                joined |= {(leaf, name) for name, way in reached if way == "down"}
        return {pair for pair in combinations(self.leaves, 2) if pair in joined}

    def refused(self, targets: tuple[DrainTarget, ...], *, several: bool) -> set[str]:
        """Return the codes of the diagnostics that keep this drain from being done."""
        around = {
            name: DrainResult(name, after=self.peers.get(name, ())) for name in neighborhood(self.fabric, targets)
        }
        return {diagnostic.code for diagnostic in check_around(DrainLimits(self.fabric, several), targets, around)}

    def drain(self, target: DrainTarget) -> None:
        self.targets.setdefault(target.device, []).append(target)
        drained = self.peers.get(target.device, ())
        if target.whole:
            self.peers[target.device] = WHOLE
        # All sessions of a switch that is drained as a whole are drained already: it still reports ("*",).
        elif drained != WHOLE:
            self.peers[target.device] = tuple(dict.fromkeys((*drained, *target.peers)))

    def undrain(self, device: str) -> None:
        self.targets.pop(device, None)
        self.peers.pop(device, None)


def step(drains: Drains, data: st.DataObject) -> None:
    """Drain a cable or a switch where that is allowed, or undrain a switch, and hold it against the graph."""
    kind = data.draw(st.sampled_from(("cable", "cable", "switch", "undrain")))
    if kind == "undrain":
        if drains.peers:
            drains.undrain(data.draw(st.sampled_from(sorted(drains.peers))))
        return
    if kind == "cable":
        (request,) = drain_requests(drains.fabric, [data.draw(st.sampled_from(drains.cables))])
        devices, words = request.devices, request.links
    else:
        devices, words = (data.draw(st.sampled_from([switch.name for switch in drains.fabric.switches])),), ()
    try:
        targets = choose(drains.fabric, devices, words)
    except RefusedError:
        # Nodes are behind it alone.
        assert drains.fabric.nodes_on(devices[0])
        return
    several = data.draw(st.booleans())
    codes = drains.refused(targets, several=several)
    keeps = drains.pairs(targets) == drains.joined
    assert ("RW522" in codes) == (not keeps), (targets, drains.peers)
    assert codes <= {"RW521", "RW522"}
    others = {name for name in drains.peers if name != devices[0]}
    planes = {drains.fabric.switch_of[name].plane for name in others}
    is_second = drains.fabric.switch_of[devices[0]].plane in planes
    assert ("RW521" in codes) == (is_second and not several)
    if not codes:
        drains.drain(targets[0])


def walk(fabric: Fabric, data: st.DataObject) -> None:
    drains = Drains(fabric)
    assume(drains.cables)
    for _ in range(data.draw(st.integers(2, 12))):
        step(drains, data)
        assert drains.pairs(()) == drains.joined


@more
@given(fabric=fabrics(), data=st.data())
def test_leaves_of_two_tiers_keep_a_way_to_each_other(fabric: Fabric, data: st.DataObject) -> None:
    walk(fabric, data)


@more
@given(data=st.data())
def test_leaves_of_pods_keep_a_way_to_each_other(data: st.DataObject) -> None:
    walk(PODS, data)


def test_the_graph_needs_the_links_that_it_is_said_to_need() -> None:
    links: list[Link] = [link for link in PODS.links if not link.is_access]
    drains = Drains(PODS)
    leaf = drains.leaves[0]
    uplinks = tuple(link for link in links if link.lower == leaf)
    cut = DrainTarget(leaf, ("10.0.0.1",), (), uplinks)
    assert drains.joined - drains.pairs([cut]) == {pair for pair in drains.joined if leaf in pair}


def test_a_link_that_is_drained_again_is_lost_once() -> None:
    fabric = fabric_of(PAIRS_OF_LINKS)
    drains = Drains(fabric)
    leaf = drains.leaves[0]
    links = [link for link in drains.links if link.lower == leaf]
    # One link to the last spine carries traffic, the one beside it is drained.
    *drained, _ = sorted(links, key=lambda link: link.upper)
    ports = [fabric.ports_of[leaf][link.lower_port].name for link in drained]
    for port in ports:
        (target,) = choose(fabric, [leaf], [port])
        assert drains.refused((target,), several=False) == set()
        drains.drain(target)
    again = choose(fabric, [leaf], ports[-1:])
    assert drains.refused(again, several=False) == set()
