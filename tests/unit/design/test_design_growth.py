"""Growth of the reference intents: what stands keeps its identities and cables, or the design says what moves."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from railweave.catalog.load import load_catalog
from railweave.design.build import Design, design
from railweave.design.renumbering import moved_cables, renumbered
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text

INTENTS = Path(__file__).resolve().parents[3] / "intent"

Changes = Mapping[str, object]


def grown(name: str, changes: Changes) -> Design:
    """Design a reference intent with other values at some of its paths (``nodes.0.count``)."""
    document = yaml.safe_load((INTENTS / f"{name}.yml").read_text(encoding="utf-8"))
    document["workload"].pop("gpus", None)
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = document
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place.setdefault(key, {})
        place[last] = value
    return design(load_intent_text(yaml.safe_dump(document), f"{name}.yml"), load_catalog())


def fabric_of(outcome: Design) -> Fabric:
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


def assert_nothing_moved(old: Fabric, new: Fabric) -> None:
    assert renumbered(old, new) == ()
    assert moved_cables(old, new) == ()
    assert set(old.links) <= set(new.links)
    assert set(old.switches) <= set(new.switches)
    assert set(old.hosts) <= set(new.hosts)


STRIPE = {"nodes.0.count": 64, "topology.leaf.count": 8}
LAB_STRIPE = {"nodes.0.count": 8, "topology.leaf.count": 4}
LAB_SPINES = {**LAB_STRIPE, "topology.spine.count": 4}


def test_a_second_stripe_on_wide_spines_moves_nothing() -> None:
    before, after = fabric_of(grown("pod-32-wide", {})), fabric_of(grown("pod-32-wide", STRIPE))
    assert_nothing_moved(before, after)
    assert (len(after.switches), len(after.links)) == (12, 512)


def test_a_second_stripe_and_then_two_spines_move_nothing_in_the_lab() -> None:
    start, stripe, spines = (fabric_of(grown("lab-4", changes)) for changes in ({}, LAB_STRIPE, LAB_SPINES))
    assert_nothing_moved(start, stripe)
    assert_nothing_moved(stripe, spines)
    assert [fabric.sizing.oversubscription.leaf for fabric in (start, stripe, spines)] == [2.0, 2.0, 1.0]


def test_a_second_stripe_on_full_spines_is_refused_with_the_ways_out() -> None:
    outcome = grown("pod-32", STRIPE)
    assert outcome.fabric is None
    (fault,) = outcome.diagnostics
    assert (fault.code, fault.where.path) == ("T-3", "topology.spine.count")
    assert fault.message == "8 leaves × 8 links need 64 ports on every spine; a spine has 32"
    assert fault.fix.startswith("use 8 spines (4 links a pair")
    assert fault.fix.endswith("or spines with 64 ports")


def test_eight_spines_take_the_second_stripe_and_move_the_counted_cables() -> None:
    before = fabric_of(grown("pod-32", {}))
    after = fabric_of(grown("pod-32", {**STRIPE, "topology.spine.count": 8}))
    moves = moved_cables(before, after)
    assert len(moves) == 64
    assert "8 spines (64 cables move)" in before.sizing.room.next_step
    assert renumbered(before, after) == ()
    assert {move.before.lower_port for move in moves} == {move.after.lower_port for move in moves}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"fabric": "pod9"}, "name"),
        ({"addressing.asn": {"leaf": 4_220_000_000}}, "AS number"),
        ({"addressing.loopbacks": "10.254.0.0/16"}, "loopback"),
        ({"addressing.hosts": "10.64.0.0/11"}, "host block"),
        ({"addressing.links": "10.128.0.0/11"}, "address of Ethernet256"),
        ({"addressing.hosts": "10.64.0.0/11"}, "address of rail0"),
    ],
)
def test_a_change_of_names_or_pools_is_renumbering(changes: Changes, what: str) -> None:
    found = renumbered(fabric_of(grown("pod-32", {})), fabric_of(grown("pod-32", changes)))
    assert what in {one.what for one in found}
    assert all(str(one).startswith(f"{one.device}: {one.what} {one.before} would become") for one in found)


def test_ipv4_of_nodes_that_comes_or_goes_renumbers_nothing() -> None:
    both, alone = (fabric_of(grown("lab-dual", {"addressing.hosts": pool})) for pool in ("10.32.0.0/11", "none"))
    other = fabric_of(grown("lab-dual", {"addressing.hosts": "10.64.0.0/11"}))
    assert renumbered(both, alone) == renumbered(alone, both) == ()
    assert renumbered(both, other) != ()


def test_ipv6_that_comes_or_goes_renumbers_nothing_and_another_pool_does() -> None:
    def dual(pool: str) -> Fabric:
        return fabric_of(grown("lab-dual", {"addressing.hosts_ipv6": pool}))

    without = fabric_of(grown("lab-4", {"fabric": "dual", "addressing": {"underlay": "unnumbered"}}))
    before, after = dual("fd00:10::/44"), dual("fd00:20::/44")
    assert renumbered(without, before) == renumbered(before, without) == ()
    assert [str(one) for one in renumbered(before, after)] == [
        "dual-leaf1: IPv6 host block fd00:10::/64 would become fd00:20::/64",
        "dual-leaf2: IPv6 host block fd00:10:0:1::/64 would become fd00:20:0:1::/64",
    ]


def test_both_ends_of_a_readdressed_link_are_renumbered() -> None:
    before = fabric_of(grown("pod-32", {}))
    after = fabric_of(grown("pod-32", {"addressing.links": "10.128.0.0/11"}))
    found = renumbered(before, after)
    assert len(found) == 2 * 128
    assert {one.device for one in found} == {switch.name for switch in before.switches}


def test_devices_that_go_are_no_renumbering_and_their_cables_no_moves() -> None:
    large, small = fabric_of(grown("pod-32-wide", STRIPE)), fabric_of(grown("pod-32-wide", {}))
    assert renumbered(large, small) == ()
    assert moved_cables(large, small) == ()


def test_a_node_moved_to_another_leaf_port_is_seen_as_a_move_and_a_new_address() -> None:
    before = fabric_of(grown("lab-4", LAB_STRIPE))
    halved = {
        "nodes.0.count": 8,
        "topology.stripe": 2,
        "topology.leaf.count": 8,
        "topology.reserve.leaves": 8,
        "topology.oversubscription": "1:1",
    }
    after = fabric_of(grown("lab-4", halved))
    moved = {move.before.lower for move in moved_cables(before, after)}
    assert "gpu3" in moved
    assert "gpu1" not in moved
    assert ("gpu3", "address of rail0") in {(one.device, one.what) for one in renumbered(before, after)}
