"""What verification expects of a device, and when."""

import io
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent
from railweave.plan.expectation import Expectation, expect
from railweave.plan.health import gate, health
from railweave.plan.observation import LldpNeighbor, Observation, ObservedSession, PortState, SessionTimers
from railweave.plan.outcome import CheckKind, VerifyCheck, VerifyResult
from railweave.plan.repairs import repairs_of
from railweave.plan.verification import EVERYONE, check_device, missing_bfdd
from railweave.report.verification import verify_json, verify_view
from railweave.sonic.delta.change import Change, Op
from railweave.sonic.delta.methods import needs_both_ends

INTENTS = Path(__file__).resolve().parents[3] / "intent"


@pytest.fixture
def leaf(lab: Fabric) -> Expectation:
    return expect(lab, lab.switch_of["lab-leaf1"])


@pytest.fixture
def healthy(leaf: Expectation) -> Observation:
    """What the leaf shows when everything is as it should be."""
    return Observation(
        ports={one.port: PortState(True, True, one.mtu_bytes) for one in leaf.ports},
        addresses={one.port: frozenset({one.address}) for one in leaf.addresses},
        lldp={one.port: (LldpNeighbor(one.device, one.port_names[0]),) for one in leaf.neighbors},
        bgp={one.peer: ObservedSession(one.remote_asn, True) for one in leaf.sessions},
    )


def failed(checks: Iterable[VerifyCheck]) -> list[tuple[str, str]]:
    return [(one.kind.value, one.subject) for one in checks if not one.ok]


def uplink(leaf: Expectation, spine: str = "lab-spine1") -> str:
    return next(one.port for one in leaf.ports if one.device == spine)


def test_a_leaf_expects_its_nodes_and_its_spines(leaf: Expectation) -> None:
    assert {one.device for one in leaf.neighbors if one.required} == {"lab-spine1", "lab-spine2"}
    assert {one.device for one in leaf.neighbors if not one.required} == {"gpu1", "gpu2", "gpu3", "gpu4"}
    assert {one.device for one in leaf.sessions} == {"lab-spine1", "lab-spine2"}


@pytest.fixture
def dual() -> Fabric:
    fabric = design(load_intent(INTENTS / "lab-dual.yml"), load_catalog()).fabric
    assert fabric is not None
    return fabric


def seen_on(expected: Expectation, *families: str) -> Observation:
    """Return what a switch shows that is as expected, on whose sessions ``families`` were agreed on."""
    return Observation(
        ports={one.port: PortState(True, True, one.mtu_bytes) for one in expected.ports},
        addresses={one.port: frozenset(one.all) for one in expected.addresses},
        lldp={one.port: (LldpNeighbor(one.device, one.port_names[0]),) for one in expected.neighbors},
        bgp={
            one.peer: ObservedSession(one.remote_asn, True, families=frozenset(families)) for one in expected.sessions
        },
    )


def test_ports_towards_nodes_have_addresses_of_both_families(dual: Fabric) -> None:
    leaf = expect(dual, dual.switch_of["dual-leaf2"])
    assert {one.port: one.all for one in leaf.addresses if one.port in ("Ethernet4", "Loopback0")} == {
        "Ethernet4": ("10.32.0.66/31", "fd00:10:0:1::4/127"),
        "Loopback0": ("10.255.0.2/32",),
    }
    seen = seen_on(leaf, "ipv4", "ipv6")
    assert failed(check_device(leaf, seen)) == []
    halved = replace(seen, addresses={**seen.addresses, "Ethernet4": frozenset({"10.32.0.66/31"})})
    (wrong,) = [one for one in check_device(leaf, halved) if not one.ok]
    assert (wrong.kind, wrong.subject) == ("address", "Ethernet4")
    assert (wrong.expected, wrong.actual) == ("10.32.0.66/31, fd00:10:0:1::4/127", "10.32.0.66/31")


def test_a_session_that_carries_ipv4_alone_fails_where_nodes_have_ipv6(dual: Fabric, lab: Fabric) -> None:
    spine = expect(dual, dual.switch_of["dual-spine1"])
    checks = [one for one in check_device(spine, seen_on(spine, "ipv4")) if not one.ok]
    assert [(one.kind, one.subject, one.actual) for one in checks] == [
        ("ipv6", port, "not agreed on") for port in ("Ethernet0", "Ethernet4")
    ]
    away = replace(seen_on(spine), bgp={})
    told = {one.actual for one in check_device(spine, away) if one.kind == "ipv6"}
    assert told == {"session not established"}
    # A far end that is still to be changed has not got the family yet, and the session holds meanwhile.
    assert [one for one in check_device(spine, seen_on(spine, "ipv4"), settled=()) if one.kind == "ipv6"] == []
    before = health(spine, seen_on(spine, "ipv4"))
    assert ("bgp", "Ethernet0") in before
    assert ("bgp", "Ethernet0") in {(one.kind, one.subject) for one in gate(spine, away, (), before) if not one.ok}
    alone = expect(lab, lab.switch_of["lab-spine1"])
    assert not [one for one in check_device(alone, seen_on(alone)) if one.kind == "ipv6"]


def test_both_ends_of_a_link_expect_each_other(lab: Fabric, leaf: Expectation) -> None:
    spine = expect(lab, lab.switch_of["lab-spine1"])
    to_spine = next(one for one in leaf.sessions if one.device == "lab-spine1")
    to_leaf = next(one for one in spine.sessions if one.device == "lab-leaf1")
    assert f"{to_spine.peer}/31" in {one.address for one in spine.addresses}
    assert f"{to_leaf.peer}/31" in {one.address for one in leaf.addresses}
    assert to_spine.remote_asn == lab.switch_of["lab-spine1"].asn


def test_a_check_that_the_target_skips_fails_nothing_and_held_nothing(leaf: Expectation, healthy: Observation) -> None:
    reason = "this image has no lldpd"
    without, skipping = replace(healthy, lldp={}), replace(leaf, skipped={"lldp": reason})
    checks = check_device(skipping, without)
    assert failed(checks) == []
    assert {one.kind.value for one in checks if one.skipped == reason} == {"lldp"}
    assert {one.actual for one in checks if one.skipped} == {"no neighbor"}, "what is there is shown all the same"
    assert failed(gate(skipping, without, (), health(skipping, healthy))) == []
    assert not any(kind.value == "lldp" for kind, _ in health(skipping, healthy)), "a rollback requires what held"
    assert {kind for kind, _ in failed(check_device(leaf, without))} == {"lldp"}


def test_skipped_checks_are_reported_with_their_reason_and_counted_apart(
    leaf: Expectation, healthy: Observation
) -> None:
    result = VerifyResult(check_device(replace(leaf, skipped={"lldp": "no lldpd"}), replace(healthy, lldp={})))
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(verify_view(result))
    told = console.export_text()
    assert "lldp: 6 checks skipped: no lldpd" in told
    assert f"verified: {len(result.checks) - 6} checks passed on 1 device, 6 skipped" in told
    marked = [one["skipped"] for one in verify_json(result)["checks"] if "skipped" in one]
    assert marked == ["no lldpd"] * 6


def test_a_healthy_leaf_passes(leaf: Expectation, healthy: Observation) -> None:
    checks = check_device(leaf, healthy)
    assert VerifyResult(checks).ok
    assert len(checks) == 2 * len(leaf.ports) + len(leaf.addresses) + len(leaf.neighbors) + len(leaf.sessions)


def test_a_neighbor_may_be_named_by_alias_or_name(leaf: Expectation, healthy: Observation) -> None:
    for index in (0, 1):
        one = next(each for each in leaf.neighbors if each.required)
        seen = replace(healthy, lldp={**healthy.lldp, one.port: (LldpNeighbor(one.device, one.port_names[index]),)})
        assert not failed(check_device(leaf, seen))


def test_a_swapped_cable_is_told_by_both_its_names(leaf: Expectation, healthy: Observation) -> None:
    port = uplink(leaf)
    seen = replace(healthy, lldp={**healthy.lldp, port: (LldpNeighbor("lab-spine2", "Ethernet0"),)})
    (check,) = [one for one in check_device(leaf, seen) if not one.ok]
    assert (check.subject, check.expected, check.actual) == (port, "lab-spine1 Ethernet0", "lab-spine2 Ethernet0")


def test_a_node_that_is_switched_off_is_no_fault(leaf: Expectation, healthy: Observation) -> None:
    port = next(one.port for one in leaf.neighbors if one.device == "gpu1")
    seen = replace(
        healthy,
        lldp={name: found for name, found in healthy.lldp.items() if name != port},
        ports={**healthy.ports, port: PortState(True, False, 9100)},
    )
    assert not failed(check_device(leaf, seen))


def test_a_node_in_the_wrong_port_is_a_fault(leaf: Expectation, healthy: Observation) -> None:
    port = next(one.port for one in leaf.neighbors if one.device == "gpu1")
    seen = replace(healthy, lldp={**healthy.lldp, port: (LldpNeighbor("gpu2", "rail0"),)})
    assert failed(check_device(leaf, seen)) == [("lldp", port)]


@pytest.mark.parametrize(
    ("state", "wrong"),
    [
        (PortState(True, True, 1500), ["mtu"]),
        (PortState(True, False, 9100), ["link"]),
        (PortState(False, False, 9100), ["link"]),
    ],
)
def test_a_wrong_uplink_is_told_by_its_kind(
    leaf: Expectation, healthy: Observation, state: PortState, wrong: list[str]
) -> None:
    port = uplink(leaf)
    seen = replace(healthy, ports={**healthy.ports, port: state})
    assert failed(check_device(leaf, seen)) == [(kind, port) for kind in wrong]


def test_a_missing_address_is_told_with_what_is_there(leaf: Expectation, healthy: Observation) -> None:
    port = uplink(leaf)
    seen = replace(healthy, addresses={**healthy.addresses, port: frozenset({"192.0.2.1/31"})})
    (check,) = [one for one in check_device(leaf, seen) if not one.ok]
    assert check.actual == "192.0.2.1/31"


@pytest.mark.parametrize(
    ("session", "words"),
    [
        (ObservedSession(65000, True), "AS 65000"),
        (ObservedSession(4200001000, False), "not established"),
        (None, "no such"),
    ],
)
def test_a_wrong_session_is_told(
    leaf: Expectation, healthy: Observation, session: ObservedSession | None, words: str
) -> None:
    peer = leaf.sessions[0].peer
    sessions = {name: one for name, one in healthy.bgp.items() if name != peer}
    seen = replace(healthy, bgp=sessions | ({peer: session} if session else {}))
    (check,) = [one for one in check_device(leaf, seen) if not one.ok]
    assert words in check.actual


def test_bfd_is_up_where_the_intent_asks_for_it(lab: Fabric, healthy: Observation) -> None:
    policies = lab.policies._replace(bgp=lab.policies.bgp._replace(bfd=True))
    watched = expect(replace(lab, policies=policies), lab.switch_of["lab-leaf1"])
    first, second = (one.peer for one in watched.sessions)
    assert failed(check_device(watched, replace(healthy, bfd={first: "up", second: "up"}))) == []
    wrong = [one for one in check_device(watched, replace(healthy, bfd={first: "down"})) if not one.ok]
    assert [(one.kind.value, one.subject, one.expected, one.actual) for one in wrong] == [
        ("bfd", first, "up", "down"),
        ("bfd", second, "up", "none"),
    ]
    assert missing_bfdd(watched, replace(healthy, bfd={first: "down"})) == ""
    assert missing_bfdd(watched, replace(healthy, bfd={first: "unknown"})) == (
        "lab-leaf1 runs no bfdd, so BFD watches none of its sessions: bgpcfgd starts it"
        " (`docker exec bgp supervisorctl restart bgpcfgd`)"
    )
    # Another driver does not tell, and a neighbor that is still to change has no BFD yet.
    assert failed(check_device(watched, healthy)) == []
    assert failed(check_device(watched, replace(healthy, bfd={}), settled=())) == []


def test_nothing_is_expected_of_a_far_end_that_is_not_settled(leaf: Expectation) -> None:
    dark = Observation(
        ports={one.port: PortState(True, False, one.mtu_bytes) for one in leaf.ports},
        addresses={one.port: frozenset({one.address}) for one in leaf.addresses},
    )
    assert not failed(check_device(leaf, dark, settled=()))
    wrong = failed(check_device(leaf, dark, settled=("lab-spine1",)))
    assert {kind for kind, _ in wrong} == {"link", "lldp", "bgp"}
    assert len(wrong) == 3


def test_what_held_before_must_hold_afterwards(leaf: Expectation, healthy: Observation) -> None:
    before = health(leaf, healthy)
    peer = leaf.sessions[0].peer
    seen = replace(healthy, bgp={**healthy.bgp, peer: ObservedSession(leaf.sessions[0].remote_asn, False)})
    assert failed(gate(leaf, seen, (), before)) == [("bgp", peer)]
    assert failed(gate(leaf, seen, (), frozenset())) == []


def test_a_session_that_was_down_before_is_not_held_against_the_change(leaf: Expectation, healthy: Observation) -> None:
    peer = leaf.sessions[0].peer
    down = replace(healthy, bgp={**healthy.bgp, peer: ObservedSession(leaf.sessions[0].remote_asn, False)})
    assert failed(gate(leaf, down, (), health(leaf, down))) == []


def test_a_change_of_both_ends_is_told_from_one_of_ours_alone(change: Callable[..., Change]) -> None:
    assert not needs_both_ends([change(field="mtu"), change(field="description")])
    assert needs_both_ends([change(field="fec", before="none", after="rs")])
    assert needs_both_ends(
        [change(table="frr", key="router bgp 1", field="neighbor 10.0.0.1 remote-as 2", op=Op.REMOVE)]
    )
    assert not needs_both_ends(
        [change(table="frr", key="router bgp 1", field="neighbor 10.0.0.1 remote-as 2", op=Op.ADD)]
    )


def with_timers(expected: Expectation, seen: Observation, used: tuple[int, int], own: tuple[int, int]) -> Observation:
    """Return what a device shows whose sessions run ``used``, keepalive and hold, and are configured with ``own``."""
    bgp = {one.peer: replace(seen.bgp[one.peer], timers=SessionTimers(*used, *own)) for one in expected.sessions}
    return replace(seen, bgp=bgp)


@given(used=st.sampled_from([(1, 3), (2, 9), (3, 9), (10, 30)]), own=st.sampled_from([(3, 9), (1, 3), (10, 30)]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_timers_are_those_in_force_and_not_those_that_are_configured(
    leaf: Expectation, healthy: Observation, used: tuple[int, int], own: tuple[int, int]
) -> None:
    seen = with_timers(leaf, healthy, used, own)
    checks = [one for one in check_device(leaf, seen) if one.kind is CheckKind.TIMERS]
    assert len(checks) == len(leaf.sessions)
    assert {one.expected for one in checks} == {"keepalive 3 s, hold 9 s"}
    assert {one.actual for one in checks} == {f"keepalive {used[0]} s, hold {used[1]} s"}
    assert {one.ok for one in checks} == {used == (3, 9)}
    by_template = [one for one in check_device(replace(leaf, own_frr=True), seen) if one.kind is CheckKind.TIMERS]
    assert {one.ok for one in by_template} == {used[0] <= own[0] and used[1] <= own[1]}


def test_timers_depend_on_both_ends_and_stop_no_change_that_found_them_so(
    leaf: Expectation, healthy: Observation
) -> None:
    late = with_timers(leaf, healthy, (3, 30), (3, 9))
    assert {kind for kind, _ in failed(check_device(leaf, late))} == {"timers"}
    assert failed(check_device(leaf, late, settled=())) == []
    assert failed(gate(leaf, late, EVERYONE, health(leaf, late))) == []
    before = health(leaf, with_timers(leaf, healthy, (3, 9), (3, 9)))
    assert {kind for kind, _ in failed(gate(leaf, late, EVERYONE, before))} == {"timers"}
    assert failed(gate(leaf, late, (), before)) == [], "the far end may still have its earlier ones"


def test_a_further_address_on_a_port_is_seen_and_one_on_the_loopback_is_somebodys(
    leaf: Expectation, healthy: Observation
) -> None:
    port = uplink(leaf)
    for interface in (port, "Loopback0"):
        held = healthy.addresses[interface] | {"10.9.9.1/24"}
        seen = replace(healthy, addresses={**healthy.addresses, interface: held})
        wrong = [("address", port)] if interface == port else []
        assert failed(check_device(leaf, seen)) == wrong
        advice = repairs_of(check_device(leaf, seen))
        assert [f"sudo ip addr del 10.9.9.1/24 dev {port}" in one for one in advice] == [True] * len(wrong)


def test_an_address_that_overrides_add_is_expected(redesign: Callable[..., Fabric]) -> None:
    rows = "overrides: {leaf: {INTERFACE: {'Ethernet0|10.9.9.1/30': {}}}}"
    fabric = redesign(("workload:", f"{rows}\nworkload:"))
    leaf = expect(fabric, fabric.switch_of["lab-leaf1"])
    (port,) = [one for one in leaf.addresses if one.port == "Ethernet0"]
    assert port.all[-1] == "10.9.9.1/30"
