"""Which changed lines of FRR need a session to open again, and which sessions those are."""

import pytest

from railweave.sonic.frr import FrrEntry, frr_difference, parse_frr
from railweave.sonic.frr.reopening import OpenSession, is_taken_at_open, sessions_to_open_again

RUNNING = """\
router bgp 65001
 bgp router-id 10.255.0.1
 neighbor SPINES peer-group
 neighbor SPINES timers 3 9
 neighbor LEAVES peer-group
 neighbor LEAVES timers 3 9
 neighbor 10.0.0.0 remote-as 65100
 neighbor 10.0.0.0 peer-group SPINES
 neighbor 10.0.0.2 remote-as 65100
 neighbor 10.0.0.2 peer-group LEAVES
 neighbor Ethernet8 interface peer-group SPINES
 neighbor Ethernet8 remote-as 65100
!
router bgp 65001 vrf red
 neighbor 10.9.0.1 remote-as 65200
"""
ALL = {"10.0.0.0", "10.0.0.2", "Ethernet8", "10.9.0.1"}


def opened(text: str) -> tuple[OpenSession, ...]:
    running = parse_frr(RUNNING)
    return sessions_to_open_again(*frr_difference(running, parse_frr(text)), running)


@pytest.mark.parametrize(
    ("line", "other", "peers"),
    [
        (" neighbor SPINES timers 3 9\n", " neighbor SPINES timers 1 3\n", {"10.0.0.0", "Ethernet8"}),
        (" neighbor SPINES timers 3 9\n", "", {"10.0.0.0", "Ethernet8"}),
        (" bgp router-id", " timers bgp 5 15\n bgp router-id", ALL - {"10.9.0.1"}),
        (" bgp router-id", " bgp graceful-restart\n bgp router-id", ALL - {"10.9.0.1"}),
        ("bgp 65001 vrf red\n", "bgp 65001 vrf red\n timers bgp 5 15\n", {"10.9.0.1"}),
        ("router bgp 65001\n", "bgp session-dscp 24\nrouter bgp 65001\n", ALL),
        (" neighbor 10.0.0.2 peer-group LEAVES\n", " neighbor 10.0.0.2 peer-group LEAVES\n neighbor 10.0.0.2 graceful-restart\n", {"10.0.0.2"}),  # noqa: E501
        (" neighbor SPINES timers 3 9\n", " neighbor SPINES timers 3 9\n neighbor SPINES timers connect 5\n", set()),
        (" neighbor SPINES timers 3 9\n", " neighbor SPINES timers 3 9\n neighbor SPINES description x\n", set()),
    ],
)  # fmt: skip
def test_the_sessions_that_a_line_speaks_of_open_again(line: str, other: str, peers: set[str]) -> None:
    assert {session.peer for session in opened(RUNNING.replace(line, other, 1))} == peers


def test_only_for_timers_a_session_may_stay_open() -> None:
    (first, second) = opened(RUNNING.replace("SPINES timers 3 9", "SPINES timers 1 3"))
    assert first == OpenSession("default", "10.0.0.0", True)
    assert second.timers_only
    lines = " timers bgp 1 3\n bgp graceful-restart\n bgp router-id"
    assert not any(one.timers_only for one in opened(RUNNING.replace(" bgp router-id", lines, 1)))
    (red,) = opened(RUNNING + " neighbor 10.9.0.1 timers 1 3\n")
    assert red == OpenSession("red", "10.9.0.1", True)


def test_a_neighbor_that_comes_anew_opens_with_what_comes() -> None:
    text = RUNNING.replace("timers 3 9", "timers 1 3").replace(
        "10.0.0.2 peer-group LEAVES", "10.0.0.2 peer-group SPINES"
    )
    assert {one.peer for one in opened(text)} == {"10.0.0.0", "Ethernet8"}
    assert sessions_to_open_again((), (FrrEntry("router bgp 65001", "timers bgp 1 3"),), None) == ()


@pytest.mark.parametrize(
    "line",
    [
        "neighbor X capability extended-nexthop", "neighbor X addpath-tx-all-paths", "neighbor X activate",
        "neighbor X remote-as 65000", "neighbor X timers connect 5", "neighbor X maximum-prefix 100",
        "neighbor X local-role peer", "neighbor X passive", "neighbor X route-map IN in", "neighbor X bfd",
    ],
)  # fmt: skip
def test_what_frr_resets_by_itself_or_takes_at_once_is_not_cleared(line: str) -> None:
    assert not is_taken_at_open(line), "run on FRR 8.4"
