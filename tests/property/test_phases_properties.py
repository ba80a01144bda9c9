"""What holds for every change that is made in phases, judged by counting links, not by the code that orders them."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from traffic_classes import class_sets

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.renumbering import renumbered
from railweave.errors import RefusedError
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.policy import ClassRole, Mtu, TrafficClass
from railweave.hosts.transition import node_in_transition
from railweave.hosts.values import NodeSettings, node_of
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.plan.phases.class_change import accept_both
from railweave.plan.phases.planning import PhaseKind, phases
from railweave.qos.mapping import map_chain

BASE = load_intent_text(
    """
fabric: pod1
workload: {kind: inference}
nodes:
  - {name: gpu, count: 8, gpus: 8, nics: {count: 4, speed: 400G, ports: 1, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-optimized
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nokia-ixr7220-h4-64d}
""",
    "base.yml",
)


def intent(ratio: Fraction, spine: str, planes: int, nodes: int, spines: int) -> Intent:
    topology, entry = BASE.topology, BASE.nodes[0]
    nics = entry.nics.with_values(ports=planes, speed_gbps=400 // planes)
    return replace(
        BASE,
        nodes=(entry.with_values(count=nodes, nics=nics),),
        topology=topology.with_values(
            oversubscription=ratio, planes=planes, spine=topology.spine.with_values(model=spine, count=spines)
        ),
    )


def built(wish: Intent) -> Fabric | None:
    return design(wish, load_catalog()).fabric


@st.composite
def restripings(draw: st.DrawFn) -> tuple[Fabric, Fabric]:
    """Two fabrics that differ in the number of spines, sometimes in the number of nodes too."""
    ratio = Fraction(draw(st.sampled_from(["1", "3/2", "2", "3", "4", "7"])))
    spine = draw(st.sampled_from(["nokia-ixr7220-h4-64d", "nvidia-sn4700", "nvidia-sn5600"]))
    planes = draw(st.sampled_from([1, 1, 2]))
    nodes = draw(st.integers(1, 100))
    more = draw(st.sampled_from([0, 0, 30]))
    before = built(intent(ratio, spine, planes, nodes, draw(st.sampled_from([2, 3, 4, 6, 8]))))
    after = built(intent(ratio, spine, planes, nodes + more, draw(st.sampled_from([2, 4, 6, 8, 12, 16]))))
    assume(before is not None and after is not None)
    assert before is not None
    assert after is not None
    return before, after


def uplinks(fabric: Fabric) -> set[Link]:
    return {link for link in fabric.links if not link.is_access}


def spines_of_a_plane(fabric: Fabric) -> int:
    return sum(not switch.tier.attaches_nodes for switch in fabric.switches) // fabric.planes


@st.composite
def shrinkings(draw: st.DrawFn) -> tuple[Fabric, Fabric]:
    """Two fabrics of which the second has fewer nodes, stripes or spines, and sometimes another speed or FEC, marking
    or MTU."""
    stripes, spines = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    nodes = draw(st.integers((stripes - 1) * 2 + 1, stripes * 2))
    rest = draw(st.integers(1, nodes))
    text = lab(nodes, stripes, spines, draw(st.sampled_from(["40G", "100G"])))
    less = lab(rest, -(-rest // 2), draw(st.integers(2, spines)), draw(st.sampled_from(["40G", "100G"])))
    base, head = designed(text), designed(less)
    policies = head.policies._replace(mtu=draw(mtus))
    if draw(st.booleans()):
        policies = policies._replace(classes=draw(any_classes))
    return base, replace(head, policies=policies)


def lab(nodes: int, stripes: int, spines: int, uplink: str) -> str:
    return f"""
fabric: lab
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 2, nics: {{count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}}}}
topology:
  shape: rail-optimized
  rails: 2
  stripe: 2
  links_per_pair: 1
  oversubscription: "8:1"
  leaf:  {{model: sonic-vs, count: {stripes * 2}, downlink_speed: 100G, uplink_speed: {uplink}}}
  spine: {{model: sonic-vs, count: {spines}}}
  reserve: {{leaves: 6, spines: 4}}
"""


@cache
def designed(text: str) -> Fabric:
    fabric = built(load_intent_text(text, "lab.yml"))
    assert fabric is not None
    return fabric


@given(shrinkings())
def test_a_port_closes_only_after_a_phase_that_took_its_far_end_out_of_use(change: tuple[Fabric, Fabric]) -> None:
    base, head = change
    try:
        found = phases(base, head)
    except RefusedError:
        assume(False)
    before, unused, gone = base, set[str](), set[str]()
    for phase in found:
        if phase.kind is PhaseKind.DRAIN:
            assert phase.fabric is before, "nothing is configured while something is taken out of use"
            unused = set(phase.leaving)
            assert not unused & set(head.switch_of)
            assert not unused & set(head.host_of)
            assert not [node for name in unused & set(before.switch_of) for node in before.nodes_on(name)], (
                "nodes first"
            )
        cables = {(link.lower, link.lower_port, link.upper, link.upper_port) for link in phase.fabric.links}
        closed = [
            link for link in before.links if (link.lower, link.lower_port, link.upper, link.upper_port) not in cables
        ]
        assert all({link.lower, link.upper} & unused for link in closed)
        assert set(phase.fabric.host_blocks) <= set(phase.fabric.switch_of)
        for link in phase.fabric.fabric_links:
            lower = phase.fabric.switch_of[link.lower].panel.ports[link.lower_port]
            upper = phase.fabric.switch_of[link.upper].panel.ports[link.upper_port]
            assert lower.speed_gbps == upper.speed_gbps == link.speed_gbps
            assert lower.fec == upper.fec
        gone |= unused if phase.kind is PhaseKind.SWITCHES else set()
        before = phase.fabric
    assert before is head
    assert gone == (set(base.switch_of) | set(base.host_of)) - set(head.switch_of) - set(head.host_of)
    speeds = [phase for phase in found if phase.title.endswith(tuple(f"links of lab-spine{n}" for n in range(1, 5)))]
    changes = base.tiers[0].up_gbps != head.tiers[0].up_gbps
    assert len(speeds) == (len(head.tier_switches[1]) if changes else 0), "one spine after the other"


@given(restripings())
def test_no_phase_takes_more_than_one_spine_would(change: tuple[Fabric, Fabric]) -> None:
    base, head = change
    found = phases(base, head)
    whole = Counter(link.lower for link in uplinks(base))
    bundles = Counter((link.lower, link.upper) for link in uplinks(base))
    lasting = {pair for pair in {(link.lower, link.upper) for link in uplinks(head)} if bundles[pair] >= 2}
    share = Fraction(spines_of_a_plane(base) - 1, spines_of_a_plane(base))
    before = base
    for phase in found:
        if phase.kind is PhaseKind.CABLES:
            still = uplinks(before) & uplinks(phase.fabric)
            left = Counter(link.lower for link in still)
            assert all(left[leaf] >= share * count for leaf, count in whole.items())
            pairs = Counter((link.lower, link.upper) for link in still)
            assert all(pairs[pair] >= 1 for pair in lasting)
            gone = Counter((link.lower, link.upper) for link in uplinks(before) - uplinks(phase.fabric))
            assert max(gone.values()) == 1
        before = phase.fabric


@given(restripings())
def test_phases_lead_from_base_to_head_through_sound_fabrics_without_renumbering(change: tuple[Fabric, Fabric]) -> None:
    base, head = change
    found = phases(base, head)
    assert found[-1].fabric is head
    assert [phase.number for phase in found] == list(range(1, len(found) + 1))
    for phase in found:
        fabric = phase.fabric
        ends = Counter((link.lower, link.lower_port) for link in fabric.links)
        ends.update((link.upper, link.upper_port) for link in fabric.links)
        assert set(ends.values()) == {1}
        assert renumbered(base, fabric) == ()
        assert {name for link in fabric.links for name in (link.lower, link.upper)} <= set(fabric.links_of)
        for name, links in fabric.links_of.items():
            own = [link.upper_port if link.upper == name else link.lower_port for link in links]
            assert own == sorted(own)
            assert set(links) == {link for link in fabric.links if name in (link.lower, link.upper)}
    moved = [phase for phase in found if phase.kind is PhaseKind.CABLES]
    if moved:
        places = {(link.lower, link.lower_port) for link in uplinks(base)}
        wanted = {link for link in uplinks(head) if (link.lower, link.lower_port) in places}
        assert wanted <= uplinks(moved[-1].fabric)


@given(restripings())
def test_every_cable_is_moved_once_from_where_it_is_to_where_it_belongs(change: tuple[Fabric, Fabric]) -> None:
    base, head = change
    ports, wanted = ends_of(base), ends_of(head)
    moved: Counter[tuple[str, int]] = Counter()
    before = base
    for phase in phases(base, head):
        now = ends_of(phase.fabric)
        if phase.kind is PhaseKind.CABLES:
            changed = {leaf for leaf, spine in now.items() if ports[leaf] != spine}
            assert {(link.lower, link.lower_port) for link in phase.pending} == changed
            assert len(phase.cables) >= len(changed)
            for cable in phase.cables:
                leaf = (cable.stays.device, index_of(before, cable.stays.device, cable.stays.port))
                upper, upper_port, _medium = ports[leaf]
                assert upper == cable.before.device
                assert upper_port == index_of(before, cable.before.device, cable.before.port)
                moved[leaf] += 1
            ports = {**{leaf: at for leaf, at in ports.items() if leaf in now}, **now}
        before = phase.fabric
    first = ends_of(base)
    others = {leaf for leaf, end in wanted.items() if leaf in first and first[leaf] != end}
    # Other media alone, between the ends that they have, need no phases.
    if any(first[leaf][:2] != wanted[leaf][:2] for leaf in others):
        assert others <= set(moved)
    assert set(moved.values()) <= {1}


def ends_of(fabric: Fabric) -> dict[tuple[str, int], tuple[str, int, str]]:
    """Return the upper end and the medium of each uplink, by its lower end."""
    return {(link.lower, link.lower_port): (link.upper, link.upper_port, link.media) for link in uplinks(fabric)}


def index_of(fabric: Fabric, device: str, port: str) -> int:
    return next(one.index for one in fabric.switch_of[device].panel.ports if one.name == port)


mtus = st.integers(68, 9216).flatmap(lambda hosts: st.builds(Mtu, st.integers(hosts, 9216), st.just(hosts)))
"""What every intent keeps: hosts send no larger packets than the fabric carries (M-1)."""


any_classes = class_sets(always_notified=False)


@given(mtus, mtus, any_classes, any_classes, st.booleans())
def test_in_every_state_between_phases_every_path_holds(
    before: Mtu,
    after: Mtu,
    classes: tuple[TrafficClass, ...],
    others: tuple[TrafficClass, ...],
    remarked: bool,
) -> None:
    """While members change one by one each is as before or as after the phase, so every mixture of sender, hop and
    receiver is one of these. Jobs keep the marking and the size with which they began until something is dropped."""
    fabric = small()
    base = replace(fabric, policies=fabric.policies._replace(mtu=before, classes=classes))
    head = replace(fabric, policies=fabric.policies._replace(mtu=after, classes=others if remarked else classes))
    try:
        steps = phases(base, head)
    except RefusedError:
        assume(False)
    switches, nodes = base, node_of(base, fabric.hosts[0])
    jobs = [nodes]
    for step in steps:
        now = nodes
        if step.is_of_nodes:
            now = node_in_transition(*step.node_values, fabric.hosts[0])
        if step.drops:
            jobs = [nodes]
        for sender, hop, receiver in product([*jobs, nodes, now], (switches, step.fabric), (nodes, now)):
            assert sender.sent_mtu_bytes <= hop.policies.mtu.fabric_bytes
            assert sender.sent_mtu_bytes <= receiver.mtu_bytes
            assert lost_marking(sender, hop, receiver) == ""
        for dscp, priority in lossless_points(classes).items() if not step.drops else ():
            for hop in (switches, step.fabric):
                chain = map_chain(hop.policies.classes)
                assert chain.dscp_to_tc[dscp] == priority
                assert priority in chain.lossless
        assert step.lowers_mtu == (step.fabric.policies.mtu.fabric_bytes < switches.policies.mtu.fabric_bytes)
        switches, nodes = step.fabric, now
        jobs.append(nodes)
    assert switches is head
    end = node_of(head, fabric.hosts[0])
    # Nodes that need no phase of their own may change at any time: what they send holds before and after.
    for sender, receiver in product((nodes, end), (nodes, end)):
        assert max(sender.sent_mtu_bytes, receiver.sent_mtu_bytes) <= after.fabric_bytes
        assert lost_marking(sender, head, receiver) == ""
    if any(step.is_of_nodes for step in steps):
        assert nodes == end


def lost_marking(sender: NodeSettings, hop: Fabric, receiver: NodeSettings) -> str:
    """Return what RDMA of ``sender`` lacks on a path; empty where its congestion is notified and, unless it does
    without PFC, no packet is dropped."""
    sent, taken = sender.marking, receiver.marking
    assert sent is not None
    assert taken is not None
    chain = map_chain(hop.policies.classes)
    if sent.priority in sent.lossless and not sent.is_lossy:
        if chain.dscp_to_tc[sent.dscp] != sent.priority or sent.priority not in chain.lossless:
            return "the switch is lossy"
        if dict(taken.class_dscp).get(sent.dscp) != sent.priority:
            return "the receiver puts it on another priority"
        # DCQCN's notification point is on for the priorities that pause.
        if not taken.pfc[sent.priority]:
            return "the receiver neither pauses nor notifies"
    notified = [one.priority for one in hop.policies.classes if one.role is ClassRole.CNP]
    if taken.cnp_dscp is not None and chain.dscp_to_tc[taken.cnp_dscp] not in notified:
        return "the notification is not in its class"
    return ""


@cache
def small() -> Fabric:
    fabric = built(intent(Fraction(1), "nokia-ixr7220-h4-64d", 1, 2, 2))
    assert fabric is not None
    return fabric


def lossless_points(classes: tuple[TrafficClass, ...]) -> dict[int, int]:
    return {dscp: one.priority for one in classes if one.lossless for dscp in one.dscp}


@given(any_classes, any_classes)
def test_between_two_markings_every_lossless_code_point_of_both_is_lossless(
    base: tuple[TrafficClass, ...], head: tuple[TrafficClass, ...]
) -> None:
    before, after = lossless_points(base), lossless_points(head)
    torn = [dscp for dscp, priority in before.items() if after.get(dscp, priority) != priority]
    kept = set(before.values()) - set(after.values())
    if torn:
        with pytest.raises(RefusedError, match="one priority only"):
            accept_both(base, head)
        return
    collides = [one.name for one in head if not one.lossless and one.priority in kept]
    try:
        between = accept_both(base, head)
    except RefusedError:
        between = None
        assume(not collides)
        raise
    served = head if between is None else between
    chain = map_chain(served)
    for dscp, priority in {**before, **after}.items():
        assert chain.dscp_to_tc[dscp] == priority
        assert priority in chain.lossless
    assert len({one.priority for one in served}) == len(served) == len({one.name for one in served})
    assert [one.is_default for one in served].count(True) == 1
    named = [dscp for one in served for dscp in one.dscp]
    assert len(named) == len(set(named))
    notified = {dscp for one in base if one.role is ClassRole.CNP for dscp in one.dscp}
    assert all(chain.dscp_to_tc[dscp] == 6 for dscp in notified)
