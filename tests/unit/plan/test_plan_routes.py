"""Routes follow sessions: what each neighbor announces is passed on, and what lacks is named."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent
from railweave.plan.expectation import Expectation, expect
from railweave.plan.observation import Observation, ObservedSession
from railweave.plan.routes import SessionRoutes, missing_routes, session_routes


@pytest.fixture(scope="module")
def pods() -> Fabric:
    fabric = design(load_intent(Path(__file__).parents[3] / "intent" / "lab-pods.yml"), load_catalog()).fabric
    assert fabric is not None
    return fabric


def spine(lab: Fabric) -> Expectation:
    return expect(lab, lab.switch_of["lab-spine1"])


def seen(expectation: Expectation, counts: Mapping[str, tuple[int, int]], *, up: bool = True) -> Observation:
    """Return an observation with prefixes accepted from and announced to each far end."""
    return Observation(
        bgp={
            one.peer: ObservedSession(one.remote_asn, up, -1, *counts[one.device])
            for one in expectation.sessions
            if one.device in counts
        }
    )


def lacking(expectation: Expectation, counts: Mapping[str, tuple[int, int]]) -> list[tuple[str, bool, int]]:
    """Return far end, way (True announced) and least number of what lacks."""
    found = session_routes(expectation, seen(expectation, counts))
    return [(one.neighbor, one.announced, one.least) for one in found if not one.ok]


@pytest.mark.parametrize(
    ("leaf1", "leaf2", "expected"),
    [
        ((2, 3), (2, 3), []),
        ((2, 5), (2, 5), []),
        # the loopback alone: what the other leaf announces is withheld
        ((2, 1), (2, 3), [("lab-leaf1", True, 3)]),
        ((2, 1), (2, 1), [("lab-leaf1", True, 3), ("lab-leaf2", True, 3)]),
        # one of the two prefixes of the other leaf
        ((2, 2), (2, 3), [("lab-leaf1", True, 3)]),
        # a leaf that announces nothing yet is itself behind
        ((2, 1), (0, 3), [("lab-leaf2", False, 2)]),
        ((0, 1), (0, 1), [("lab-leaf1", False, 2), ("lab-leaf2", False, 2)]),
        # a switch that does not count
        ((-1, -1), (-1, -1), []),
    ],
)
def test_a_spine_passes_on_what_each_leaf_announces(
    lab: Fabric, leaf1: tuple[int, int], leaf2: tuple[int, int], expected: list[tuple[str, bool, int]]
) -> None:
    assert lacking(spine(lab), {"lab-leaf1": leaf1, "lab-leaf2": leaf2}) == expected


def test_a_leaf_announces_its_own_prefixes_and_passes_nothing_up(lab: Fabric) -> None:
    leaf = expect(lab, lab.switch_of["lab-leaf1"])
    assert lacking(leaf, {"lab-spine1": (5, 2), "lab-spine2": (5, 2)}) == []
    assert lacking(leaf, {"lab-spine1": (5, 1), "lab-spine2": (0, 2)}) == [
        ("lab-spine1", True, 2),
        ("lab-spine2", False, 1),
    ]


def test_only_established_sessions_with_settled_switches_count(lab: Fabric) -> None:
    counts = {"lab-leaf1": (2, 0), "lab-leaf2": (2, 0)}
    down = seen(spine(lab), counts, up=False)
    assert session_routes(spine(lab), down) == ()
    partly = session_routes(spine(lab), seen(spine(lab), counts), {"lab-leaf1"})
    assert {(one.neighbor, one.announced, one.least) for one in partly} == {
        ("lab-leaf1", False, 2),
        ("lab-leaf1", True, 1),
    }


def test_in_three_tiers_a_spine_passes_up_its_pod_and_down_what_is_above(pods: Fabric) -> None:
    one = next(switch for switch in pods.switches if switch.tier.level == 1)
    expectation = expect(pods, one)
    below = {session.device for session in expectation.sessions if session.below}
    above = {session.device for session in expectation.sessions if not session.below}
    assert (len(below), len(above)) == (2, 1)
    healthy = dict.fromkeys(below, (2, 1 + 2 + 7)) | dict.fromkeys(above, (7, 1 + 4))
    assert lacking(expectation, healthy) == []
    assert {entry[2] for entry in lacking(expectation, dict.fromkeys(below | above, (7, 0))) if entry[1]} == {15}


def test_of_several_spines_of_a_pod_the_routes_count_once(pods: Fabric) -> None:
    top = next(switch for switch in pods.switches if switch.tier.level == 2)
    expectation = expect(pods, top)
    origins = {session.origin for session in expectation.sessions}
    assert origins == {"pod 0", "pod 1"}
    carried = {session.device: (5, 1 + 5) for session in expectation.sessions}
    assert lacking(expectation, carried) == []


def test_the_switch_that_withholds_is_named_and_not_those_that_miss_its_routes(lab: Fabric) -> None:
    leaf = expect(lab, lab.switch_of["lab-leaf1"])
    isolated = session_routes(leaf, seen(leaf, {"lab-spine1": (5, 1), "lab-spine2": (5, 1)}))
    above = session_routes(spine(lab), seen(spine(lab), {"lab-leaf1": (1, 3), "lab-leaf2": (2, 3)}))
    assert missing_routes((*isolated, *above)) == (
        "lab-leaf1 announces 1 prefix to lab-spine1, expected at least 2: routes of lab-leaf1 are not installed"
        " (`vtysh -c 'show bgp ipv4 unicast PREFIX json'` says fibPending), or TSA isolates it; if it does not,"
        " restart bgp there (`systemctl restart bgp`)",
    )
    told = missing_routes(above)
    assert [line.partition(":")[0] for line in told] == [
        "lab-spine1 accepts 1 prefix from lab-leaf1, expected at least 2"
    ]
    assert missing_routes(one for one in isolated if one.ok) == ()


def test_as_a_check_it_says_what_is_expected_and_what_is_there() -> None:
    check = SessionRoutes("spine1", "leaf1", "10.0.0.1", True, 3, 1).check
    assert (check.kind.value, check.subject, check.expected, check.actual, check.ok) == (
        "prefixes",
        "10.0.0.1",
        "at least 3 prefixes announced",
        "1 announced",
        False,
    )
