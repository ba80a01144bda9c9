"""Which switches leave with a newer intent, and what proves that nothing uses them."""

from collections.abc import Callable

import pytest

from railweave.fabric.model import Fabric
from railweave.plan.lifecycle import Use, leaving, proofs
from railweave.report.retirement import is_proven, retirement_json

MORE_SPINES = ("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}")
MORE_LEAVES = (("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink"))


@pytest.fixture
def wide(redesign: Callable[..., Fabric]) -> Fabric:
    return redesign(MORE_SPINES)


@pytest.fixture
def long(redesign: Callable[..., Fabric]) -> Fabric:
    return redesign(*MORE_LEAVES)


def test_a_spine_leaves_when_it_is_drained_and_quiet(wide: Fabric, lab: Fabric) -> None:
    gone = leaving(wide, lab)
    assert [switch.name for switch in gone.switches] == ["lab-spine3"]
    assert (gone.hosts, gone.moved) == ((), ())
    assert is_proven(gone, proofs(wide, gone, {"lab-spine3": Use(drained=True)}))
    assert not is_proven(gone, proofs(wide, gone, {"lab-spine3": Use(drained=False)}))
    busy = proofs(wide, gone, {"lab-spine3": Use(drained=True, busy="Ethernet0: 900 packets/s")})
    assert [(one.what, one.actual) for one in busy if not one.ok] == [
        ("traffic on its ports", "Ethernet0: 900 packets/s")
    ]


def test_leaves_leave_with_their_nodes_when_none_is_up(long: Fabric, lab: Fabric) -> None:
    gone = leaving(long, lab)
    assert [switch.name for switch in gone.switches] == ["lab-leaf3", "lab-leaf4"]
    assert gone.hosts == ("gpu5", "gpu6", "gpu7", "gpu8")
    calm = {"lab-leaf3": Use(), "lab-leaf4": Use()}
    assert is_proven(gone, proofs(long, gone, calm))
    attached = proofs(long, gone, {**calm, "lab-leaf4": Use(hosts_up=("gpu5", "gpu7"))})
    assert [(one.device, one.actual) for one in attached if not one.ok] == [("lab-leaf4", "gpu5, gpu7")]


def test_a_node_that_stays_keeps_its_leaf(long: Fabric, lab: Fabric) -> None:
    gone = leaving(long, lab)
    staying = type(gone)(gone.switches, gone.hosts[1:], gone.moved)
    wrong = [one for one in proofs(long, staying, {"lab-leaf3": Use(), "lab-leaf4": Use()}) if not one.ok]
    assert {(one.device, one.what, one.actual) for one in wrong} == {
        (leaf, "GPU nodes of the newer intent on it", "gpu5") for leaf in ("lab-leaf3", "lab-leaf4")
    }


def test_a_dead_switch_is_proven_by_its_neighbors(wide: Fabric, lab: Fabric) -> None:
    gone = leaving(wide, lab)
    assert is_proven(gone, proofs(wide, gone, {"lab-spine3": Use(error="timed out")}))
    up = proofs(wide, gone, {"lab-spine3": Use(error="timed out", far_ends_up=("lab-leaf1:Ethernet120",))})
    assert [one.actual for one in up] == ["lab-leaf1:Ethernet120"]
    assert retirement_json(gone, up)["ok"] is False


def test_nothing_leaves_where_the_newer_intent_has_it_all(wide: Fabric, lab: Fabric) -> None:
    gone = leaving(lab, wide)
    assert (gone.switches, proofs(lab, gone, {})) == ((), ())
    assert retirement_json(gone, ())["devices"] == []
