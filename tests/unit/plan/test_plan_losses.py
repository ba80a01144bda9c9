"""Losses and prefixes: what a device had before its change is what it is held to afterwards."""

from collections.abc import Iterable

import pytest

from railweave.plan.health import LossWatch, accepted_prefixes, loss_checks, prefix_checks
from railweave.plan.observation import Counters, Observation, ObservedSession
from railweave.plan.outcome import CheckKind, VerifyCheck

PORTS = ("Ethernet0", "Ethernet4")


def watch(seconds: float, before: dict[str, int], after: dict[str, int], kind: str = "errors") -> LossWatch:
    return LossWatch(Counters(10.0, **{kind: before}), Counters(10.0 + seconds, **{kind: after}))


def wrong(checks: Iterable[VerifyCheck]) -> list[tuple[str, str, str]]:
    return [(check.kind.value, check.subject, check.actual) for check in checks if not check.ok]


@pytest.mark.parametrize("kind", ["errors", "discards"])
def test_a_rate_is_what_a_counter_rose_by_in_a_second(kind: str) -> None:
    found = watch(2.0, {"Ethernet0": 100}, {"Ethernet0": 150}, kind).rates(PORTS)
    assert found == {(CheckKind(kind), "Ethernet0"): 25.0}


def test_a_counter_that_began_anew_lost_nothing() -> None:
    assert set(watch(1.0, {"Ethernet0": 900}, {"Ethernet0": 3}).rates(PORTS).values()) == {0.0}


def test_ports_that_do_not_count_and_ports_of_others_are_left_out() -> None:
    found = watch(1.0, {"Ethernet0": 1, "Ethernet99": 1}, {"Ethernet0": 1, "Ethernet4": 5, "Ethernet99": 9})
    assert set(found.rates(PORTS)) == {(CheckKind.ERRORS, "Ethernet0")}


def test_two_readings_at_one_moment_make_no_rate() -> None:
    assert watch(0.0, {"Ethernet0": 1}, {"Ethernet0": 9}).rates(PORTS) == {}


@pytest.mark.parametrize(("before", "now", "ok"), [(0, 1, True), (0, 2, False), (10, 20, True), (10, 21, False)])
def test_a_port_may_lose_up_to_twice_of_what_it_lost_before(before: int, now: int, ok: bool) -> None:
    key = (CheckKind.ERRORS, "Ethernet0")
    (check,) = loss_checks("leaf1", {key: float(before)}, {key: float(now)})
    assert check.ok is ok
    assert check.actual == f"{now:.1f}/s"


def test_a_port_that_was_not_watched_before_is_held_against_none_lost() -> None:
    key = (CheckKind.DISCARDS, "Ethernet4")
    assert wrong(loss_checks("leaf1", {}, {key: 7.0})) == [("discards", "Ethernet4", "7.0/s")]


def seen(**prefixes: int) -> Observation:
    return Observation(bgp={peer: ObservedSession(65000, True, count) for peer, count in prefixes.items()})


HELD = frozenset({(CheckKind.BGP, "a"), (CheckKind.BGP, "b")})


def test_prefixes_are_kept_of_sessions_that_held_and_are_counted() -> None:
    assert accepted_prefixes(HELD, seen(a=5, b=-1, c=9)) == {"a": 5}


def test_a_session_that_brings_fewer_prefixes_is_told() -> None:
    before = accepted_prefixes(HELD, seen(a=5, b=5))
    assert wrong(prefix_checks("leaf1", before, seen(a=5, b=4), ("a", "b"))) == [("prefixes", "b", "4 prefixes")]


def test_devices_at_work_may_take_their_prefixes_with_them() -> None:
    assert wrong(prefix_checks("leaf1", {"a": 9}, seen(a=5), ("a",), missing=4)) == []
    assert wrong(prefix_checks("leaf1", {"a": 9}, seen(a=4), ("a",), missing=4)) != []


def test_prefixes_of_ipv6_are_judged_apart_and_only_where_the_session_is_to_carry_them() -> None:
    def both(ipv4: int, ipv6: int) -> Observation:
        return Observation(bgp={"a": ObservedSession(65000, True, ipv4, ipv6_prefixes=ipv6)})

    before = accepted_prefixes(HELD | {(CheckKind.IPV6, "a")}, both(5, 3))
    assert before == {"a": 5, "a IPv6": 3}
    assert wrong(prefix_checks("leaf1", before, both(9, 2), ("a",))) == [("prefixes", "a IPv6", "2 prefixes")]
    assert wrong(prefix_checks("leaf1", before, both(4, 9), ("a",))) == [("prefixes", "a", "4 prefixes")]
    # The intent has IPv6 no more: its prefixes go without being missed.
    without = accepted_prefixes(HELD, both(5, 3))
    assert without == {"a": 5}
    assert wrong(prefix_checks("leaf1", without, both(5, 0), ("a",))) == []


def test_half_of_the_ipv4_prefixes_may_go_where_it_leads_to_nodes_no_more() -> None:
    now = Observation(bgp={"a": ObservedSession(65000, True, 5, ipv6_prefixes=3)})
    before = accepted_prefixes(HELD | {(CheckKind.IPV6, "a")}, now, to_nodes=False)
    assert before == {"a": 3, "a IPv6": 3}, "five prefixes are at most two host blocks and three loopbacks"


def test_only_the_sessions_that_are_asked_for_are_judged() -> None:
    assert prefix_checks("leaf1", {"a": 9, "b": 9}, seen(a=0, b=0), ("b",)) == prefix_checks(
        "leaf1", {"b": 9}, seen(b=0), ("a", "b")
    )


def test_a_session_that_is_gone_is_the_affair_of_its_own_check() -> None:
    assert prefix_checks("leaf1", {"a": 9}, Observation(), ("a",)) == ()
