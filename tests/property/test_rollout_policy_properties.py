"""No wave takes more out of service than the policy allows: proved over generated fabrics, changes and policies.

The oracle counts paths and bandwidth itself, link by link and pair by pair, from ``fabric.links``; it uses nothing of
the code that makes the waves.
"""

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.away import Away
from railweave.plan.capacity import capacity
from railweave.plan.policy import RolloutPolicy, Share
from railweave.plan.waves import Order, WaveGate, lay_out

RAILS = """
fabric: f
workload: {{kind: inference}}
nodes:
  - name: gpu
    count: {nodes}
    gpus: {rails}
    nics: {{count: {rails}, speed: 100G, ports: {planes}, model: connectx-6}}
topology:
  shape: rail-optimized
  rails: {rails}
  planes: {planes}
  stripe: 2
  links_per_pair: {k}
  leaf: {{model: sonic-vs, count: {leaves}, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
  reserve: {{leaves: 16, spines: 8}}
"""
RACKS = """
fabric: f
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 2, nics: {{count: 2, speed: 100G, ports: {planes}, model: connectx-6}}}}
topology:
  shape: rack-aligned
  planes: {planes}
  stripe: 2
  links_per_pair: {k}
  leaf: {{model: sonic-vs, count: {leaves}, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
  reserve: {{leaves: 16, spines: 8}}
"""


@cache
def fabric(rails: int, groups: int, planes: int, spines: int, k: int) -> Fabric:
    """Return a fabric of ``groups`` stripes with ``rails``, or of as many racks where there are none."""
    if not rails:
        # A rack alone has no spine: `leaf.count: 1` is one switch.
        groups = max(2, groups)
    text = (RAILS if rails else RACKS).format(
        rails=rails, nodes=2 * groups, planes=planes, leaves=groups * (rails or 1), spines=spines, k=k
    )
    outcome = design(load_intent_text(text, "f.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


even = st.builds(
    fabric,
    st.sampled_from((0, 1, 2, 4)),
    st.integers(1, 4),
    st.integers(1, 2),
    st.integers(2, 6),
    st.integers(1, 2),
)


@st.composite
def uneven(draw: st.DrawFn) -> Fabric:
    """A fabric on its way to another one: some leaf-spine links are not there."""
    whole = draw(even)
    uplinks = [link for link in whole.links if not link.is_access]
    gone = draw(st.sets(st.sampled_from(uplinks), max_size=len(uplinks) // 3))
    links = tuple(link for link in whole.links if link not in gone)
    return replace(whole, links=links)


FABRICS = st.one_of(even, uneven())
shares = st.one_of(
    st.builds(Share, count=st.integers(1, 3)),
    st.builds(lambda percent: Share(percent=percent), st.sampled_from((10, 25, 33.3, 50, 100))),
)
policies = st.builds(
    RolloutPolicy,
    spines=shares,
    leaves=shares,
    wave_size=st.integers(1, 6),
    uplink_floor_percent=st.one_of(st.none(), st.sampled_from((25, 50, 62.5, 75, 90))),
    path_floor=st.integers(0, 3),
)


def spine_names(fabric: Fabric, leaf: str, unprovisioned: Collection[str] = ()) -> set[str]:
    """Return the spines that a leaf is linked with; link by link."""
    return {
        link.upper
        for link in fabric.links
        if not link.is_access and link.lower == leaf and link.upper not in unprovisioned
    }


def bandwidth(fabric: Fabric, leaf: str, without: Collection[str], down: Collection[Link] = ()) -> int:
    return sum(
        link.speed_gbps
        for link in fabric.links
        if not link.is_access and link.lower == leaf and link.upper not in without and link not in down
    )


def leaves_in_service(fabric: Fabric, out: Collection[str], unprovisioned: Collection[str]) -> list[Switch]:
    return [
        one
        for one in fabric.switches
        if one.tier.attaches_nodes and one.name not in out and one.name not in unprovisioned
    ]


def least_uplink(
    fabric: Fabric, out: Collection[str], unprovisioned: Collection[str] = (), down: Collection[Link] = ()
) -> Fraction:
    """Return the least part of its uplinks that a leaf in service has; a leaf without uplinks has nothing to lose."""
    parts = [Fraction(1)]
    for leaf in leaves_in_service(fabric, out, unprovisioned):
        whole = bandwidth(fabric, leaf.name, unprovisioned)
        if whole:
            parts.append(Fraction(bandwidth(fabric, leaf.name, {*out, *unprovisioned}, down), whole))
    return min(parts)


def least_paths(
    fabric: Fabric, out: Collection[str], unprovisioned: Collection[str] = (), down: Collection[Link] = ()
) -> int | None:
    """Return the least spines between two leaves in service of a plane; None where there are no two."""
    held = {
        leaf.name: (
            leaf.plane,
            {link.upper for link in up_links(fabric, leaf.name) if link not in down} - {*out, *unprovisioned},
        )
        for leaf in leaves_in_service(fabric, out, unprovisioned)
    }
    counts = [len(one & other) for (p, one), (q, other) in combinations(held.values(), 2) if p == q]
    return min(counts, default=None)


def up_links(fabric: Fabric, leaf: str) -> list[Link]:
    return [link for link in fabric.links if not link.is_access and link.lower == leaf]


def rails_lost(fabric: Fabric, out: Collection[str]) -> int:
    """Return the most rails of which a node has no port left."""
    worst = 0
    for host in fabric.hosts:
        left: dict[int | None, int] = {port.rail: 0 for port in host.ports}
        for link in fabric.links:
            if link.lower == host.name and link.upper not in out:
                left[link.rail] += 1
        worst = max(worst, sum(not ports for ports in left.values()))
    return worst


def allowed(share: Share, total: int) -> int:
    return share.count if share.count is not None else total * Fraction(str(share.percent)) // 100


def breaks(
    fabric: Fabric,
    policy: RolloutPolicy,
    out: Collection[str],
    unprovisioned: Collection[str],
    down: Collection[Link] = (),
) -> bool:
    """Tell whether these devices and links out of service at once break ``policy``."""
    switches = [one for one in fabric.switches if one.name in out]
    total = [one for one in fabric.switches if one.name not in unprovisioned]
    for plane in {one.plane for one in switches}:
        spines = [one for one in switches if one.plane == plane and not one.tier.attaches_nodes]
        if spines and len(spines) > allowed(
            policy.spines, sum(one.plane == plane and not one.tier.attaches_nodes for one in total)
        ):
            return True
        leaves = [one for one in switches if one.plane == plane and one.tier.attaches_nodes]
        for stripe in {one.stripe for one in leaves if one.rail is not None}:
            of_stripe = [one for one in total if (one.plane, one.stripe) == (plane, stripe)]
            here = [one for one in leaves if one.stripe == stripe]
            if len(here) > min(1, allowed(policy.leaves, len(of_stripe))):
                return True
        racks = [one for one in leaves if one.rail is None]
        if racks and len(racks) > allowed(
            policy.leaves, sum(one.plane == plane and one.tier.attaches_nodes for one in total)
        ):
            return True
    if len({one.plane for one in switches}) > 1:
        return True
    floor = policy.uplink_floor_percent
    if floor is not None and least_uplink(fabric, out, unprovisioned, down) * 100 < Fraction(str(floor)):
        return True
    paths = least_paths(fabric, out, unprovisioned, down)
    return paths is not None and paths < policy.path_floor


class Rollout:
    """A fabric, the devices that change, carefully or not, those that carry nothing yet, and a policy."""

    def __init__(
        self, fabric: Fabric, changed: set[str], disruptive: set[str], unprovisioned: set[str], policy: RolloutPolicy
    ) -> None:
        self.fabric, self.changed, self.disruptive, self.unprovisioned, self.policy = (
            fabric,
            changed,
            disruptive,
            unprovisioned,
            policy,
        )

    def __repr__(self) -> str:
        roles = [(one.name, one.plane, one.stripe, one.rail) for one in self.fabric.switches]
        which = f"disruptive={self.disruptive} changed={self.changed} unprovisioned={self.unprovisioned}"
        return f"{roles} {which} {self.policy}"

    def gate(self, out_of_service: Collection[str] = ()) -> WaveGate:
        return WaveGate(
            self.fabric,
            self.policy,
            disruptive=self.disruptive,
            unprovisioned=self.unprovisioned,
            out_of_service=out_of_service,
        )

    def order(self, two_sided: Collection[Link] = (), out_of_service: Collection[str] = ()) -> Order:
        gate = self.gate(out_of_service)
        return lay_out(self.fabric, self.changed, gate, wave_size=self.policy.wave_size, two_sided=two_sided)


@cache
def some_of(names: tuple[str, ...], most: int | None = None) -> st.SearchStrategy[set[str]]:
    return st.sets(st.sampled_from(names), max_size=most)


@st.composite
def rollouts(draw: st.DrawFn) -> Rollout:
    chosen = draw(FABRICS)
    names = tuple(switch.name for switch in chosen.switches)
    changed = set(names) if draw(st.booleans()) else draw(some_of(names))
    disruptive = changed if draw(st.booleans()) else changed & draw(some_of(names))
    unprovisioned = set() if draw(st.booleans()) else changed & draw(some_of(names, 3))
    return Rollout(chosen, changed, disruptive - unprovisioned, unprovisioned, draw(policies))


@given(rollouts())
def test_no_wave_crosses_a_floor_and_only_what_cannot_be_kept_is_refused(rollout: Rollout) -> None:
    chosen, disruptive, unprovisioned, policy = (
        rollout.fabric,
        rollout.disruptive,
        rollout.unprovisioned,
        rollout.policy,
    )
    order = rollout.order()
    impossible = {name for name in disruptive if breaks(chosen, policy, {name}, unprovisioned)}
    assert {name for one in order.violations for name in one.devices} == impossible
    assert sorted(name for wave in order.waves for name in wave) == sorted(rollout.changed)
    planes = [{chosen.switch_of[name].plane for name in wave} for wave in order.waves]
    assert all(len(plane) == 1 for plane in planes)
    assert planes == sorted(planes, key=min)
    for wave in order.waves:
        out = set(wave) & disruptive
        assert len({chosen.switch_of[name].rail for name in out}) <= 1
        assert 0 < len(wave) <= policy.wave_size
        assert not any(link.lower in wave and link.upper in wave for link in chosen.links)
        if out and not out & impossible:
            assert not breaks(chosen, policy, out, unprovisioned)
            assert not rollout.gate().violation(wave)
        if any(chosen.switch_of[name].rail is not None for name in out):
            assert rails_lost(chosen, out) <= 1


@given(rollouts())
def test_the_first_device_of_each_kind_goes_alone(rollout: Rollout) -> None:
    seen: set[tuple[int, bool]] = set()
    for wave in rollout.order().waves:
        kinds = {(rollout.fabric.switch_of[name].tier.level, name in rollout.disruptive) for name in wave}
        assert len(kinds) == 1
        if kinds - seen:
            assert len(wave) == 1
        seen |= kinds


@given(rollouts(), st.data())
def test_a_device_that_failed_counts_for_every_wave_after_it(rollout: Rollout, data: st.DataObject) -> None:
    chosen, disruptive, unprovisioned, policy = (
        rollout.fabric,
        rollout.disruptive,
        rollout.unprovisioned,
        rollout.policy,
    )
    order = rollout.order()
    lost = (
        data.draw(st.sets(st.sampled_from(sorted(switch.name for switch in chosen.switches)), max_size=2))
        - unprovisioned
    )
    for wave in order.waves:
        out = set(wave) & disruptive
        said = rollout.gate().violation(wave, lost)
        assert bool(said) == (bool(out) and breaks(chosen, policy, out | lost, unprovisioned))


@given(rollouts(), st.data())
def test_floors_hold_while_links_wait_for_their_second_end(rollout: Rollout, data: st.DataObject) -> None:
    chosen, disruptive, unprovisioned, policy = (
        rollout.fabric,
        rollout.disruptive,
        rollout.unprovisioned,
        rollout.policy,
    )
    uplinks = [link for link in chosen.links if not link.is_access]
    ready = [link for link in uplinks if link.upper in disruptive and link.lower in disruptive]
    two_sided = {ready[place] for place in data.draw(st.sets(st.sampled_from(range(len(ready)))))} if ready else set()
    order = rollout.order(two_sided)
    floors = replace(policy, spines=Share(percent=100), leaves=Share(percent=100))
    impossible = {name for one in order.violations if not one.two_sided for name in one.devices}
    done: set[str] = set()
    crossed = False
    for wave in order.waves:
        done |= set(wave)
        down = {link for link in two_sided if (link.upper in done) != (link.lower in done)}
        crossed = crossed or (bool(down) and breaks(chosen, floors, set(wave) & disruptive, unprovisioned, down))
    if not impossible:
        assert crossed == any(one.two_sided for one in order.violations)


@given(rollouts(), st.data())
def test_what_is_left_is_counted_right(rollout: Rollout, data: st.DataObject) -> None:
    chosen = rollout.fabric
    names = [switch.name for switch in chosen.switches]
    out = data.draw(st.sets(st.sampled_from(names), max_size=4))
    unprovisioned = data.draw(st.sets(st.sampled_from(names), max_size=2)) - out
    uplinks = [link for link in chosen.links if not link.is_access]
    down = {uplinks[place] for place in data.draw(st.sets(st.sampled_from(range(len(uplinks))), max_size=6))}
    found = capacity(chosen, out, unprovisioned=unprovisioned, down=down)
    assert abs(found.least_uplink_percent - 100 * float(least_uplink(chosen, out, unprovisioned, down))) < 1e-6
    assert found.least_paths == least_paths(chosen, out, unprovisioned, down)
    assert found.rails_out == rails_lost(chosen, out | unprovisioned)


two_planes = st.builds(
    fabric, st.sampled_from((0, 1, 2)), st.integers(1, 3), st.just(2), st.integers(2, 5), st.integers(1, 2)
)


@given(two_planes, policies, st.data())
def test_what_is_out_of_service_in_another_plane_refuses_no_wave(
    chosen: Fabric, policy: RolloutPolicy, data: st.DataObject
) -> None:
    """Spines of plane 1 carry no path of plane 0, however they were led away: by a drain, TSA, or because they died."""
    names = [one.name for one in chosen.switches]
    spines = [one.name for one in chosen.switches if one.plane == 1 and not one.tier.attaches_nodes]
    out = data.draw(st.sets(st.sampled_from(spines), min_size=1))
    moving = data.draw(st.sampled_from([one.name for one in chosen.switches if one.plane == 0]))
    undisturbed = WaveGate(chosen, policy, disruptive=names).violation([moving])
    assert WaveGate(chosen, policy, disruptive=names, out_of_service=out).violation([moving]) == undisturbed
    away = Away(frozenset(out))
    assert WaveGate(chosen, policy, disruptive=names).violation([moving], (), away) == undisturbed


@given(two_planes, policies, st.data())
def test_nodes_keep_one_of_their_planes(chosen: Fabric, policy: RolloutPolicy, data: st.DataObject) -> None:
    names = [one.name for one in chosen.switches]
    leaves = [one for one in chosen.switches if one.tier.attaches_nodes and chosen.nodes_on(one.name)]
    moving = data.draw(st.sampled_from([one.name for one in leaves if one.plane == 0]))
    nodes = set(chosen.nodes_on(moving))
    others = [one.name for one in leaves if one.plane == 1 and not nodes.isdisjoint(chosen.nodes_on(one.name))]
    gone = data.draw(st.sampled_from(others))
    found = WaveGate(chosen, policy, disruptive=names, out_of_service=[gone]).violation([moving])
    assert found is not None


@given(two_planes, st.data())
def test_a_rollout_itself_finishes_one_plane_before_the_next(chosen: Fabric, data: st.DataObject) -> None:
    names = [one.name for one in chosen.switches]
    failed = data.draw(st.sampled_from([one.name for one in chosen.switches if one.plane == 0]))
    moving = data.draw(st.sampled_from([one.name for one in chosen.switches if one.plane == 1]))
    assert WaveGate(chosen, RolloutPolicy(), disruptive=names).violation([moving], [failed]) is not None
