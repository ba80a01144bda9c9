"""ACLs at the edge: the guard keeps all but RoCE, BGP and ICMP out of the strict queue, others drop notifications."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.checks.registry import SwitchRead
from railweave.checks.rules import q7_filters, q8_edge_guard
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.sonic.acl import dropping
from railweave.sonic.delta.access import access_tables
from railweave.sonic.delta.change import Op
from railweave.sonic.delta.diff import diff
from railweave.sonic.document import RunningConfig
from railweave.sonic.ownership import EDGE_GUARD, EDGE_GUARD_V4V6
from railweave.sonic.render.configure import configure
from railweave.sonic.resolved import ResolvedTables
from railweave.sonic.rows import Fields
from railweave.templates import find_templates

Text = Callable[..., str]
Findings = Callable[..., tuple[Diagnostic, ...]]
ACL = """
overrides:
  leaf:
    ACL_TABLE_TYPE:
      EDGE: {MATCHES: [DSCP, L4_DST_PORT], ACTIONS: [PACKET_ACTION], BIND_POINTS: [PORT]}
    ACL_TABLE:
      EDGE: {type: EDGE, stage: INGRESS, policy_desc: notifications only, ports: [Ethernet0]}
    ACL_RULE:
      EDGE|roce: {PRIORITY: "20", DSCP: "48", L4_DST_PORT: "4791", PACKET_ACTION: FORWARD}
      EDGE|rest: {PRIORITY: "10", DSCP: "48", PACKET_ACTION: DROP}
"""


def operators_acl() -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load(ACL)
    return made


def told(findings: Findings, overrides: dict[str, Any]) -> list[Diagnostic]:
    return [one for one in findings(yaml.safe_dump(overrides)) if one.code == "Q-7"]


def test_an_acl_that_lets_roce_pass_is_none_of_them(findings: Findings) -> None:
    assert not told(findings, operators_acl())


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("EDGE|roce", {"L4_DST_PORT": "4792"}),
        ("EDGE|roce", {"PRIORITY": "1"}),
        ("EDGE|roce", {"IP_PROTOCOL": "6"}),
        ("EDGE|roce", {"SRC_IP": "10.0.0.0/8"}),
        ("EDGE|roce", {"PACKET_ACTION": "DROP"}),
        ("EDGE|rest", {"PRIORITY": "30", "IP_PROTOCOL": "17"}),
    ],
)
def test_an_acl_that_drops_notifications_is_found(findings: Findings, rule: str, fields: dict[str, str]) -> None:
    overrides = operators_acl()
    overrides["overrides"]["leaf"]["ACL_RULE"][rule].update(fields)
    found = told(findings, overrides)
    assert {one.devices for one in found} == {("pod-leaf1",), ("pod-leaf2",)}
    assert all("drops RoCE packets with DSCP 48 of cnp" in one.message for one in found)


@pytest.mark.parametrize(
    ("rest", "deed"),
    [
        ({"DSCP": "0x30"}, "drops RoCE packets with DSCP 48 of cnp"),
        ({"DSCP": "48/0x3f"}, "drops RoCE packets with DSCP 48 of cnp"),
        ({"DSCP": "0x3f/0x20"}, "drops RoCE packets with DSCP 48 of cnp"),
        ({"ETHER_TYPE": "0x0800"}, "drops RoCE packets with DSCP 48 of cnp"),
        ({"ETHER_TYPE": "2048", "IP_PROTOCOL": "0x11"}, "drops RoCE packets with DSCP 48 of cnp"),
        ({"L4_DST_PORT_RANGE": "4700-4800"}, "drops RoCE packets with DSCP 48 of cnp"),
        (
            {"PACKET_ACTION": "REDIRECT:Ethernet8"},
            "sends RoCE packets with DSCP 48 of cnp to Ethernet8, past their route",
        ),
        (
            {"PACKET_ACTION": "", "REDIRECT_ACTION": "10.0.0.1"},
            "sends RoCE packets with DSCP 48 of cnp to 10.0.0.1, past their route",
        ),
    ],
)
def test_numbers_in_any_form_and_redirections_are_found(findings: Findings, rest: dict[str, str], deed: str) -> None:
    overrides = operators_acl()
    del overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|roce"]
    overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|rest"].update(rest)
    assert {one.message for one in told(findings, overrides)} >= {f"rule EDGE|rest of pod-leaf1 {deed}"}


@pytest.mark.parametrize("rest", [{"L4_DST_PORT_RANGE": "1-4790"}, {"DSCP": "0x8/0x3f"}, {"ETHER_TYPE": "0x86dd"}])
def test_ranges_and_masks_of_other_packets_are_not_told(findings: Findings, rest: dict[str, str]) -> None:
    overrides = operators_acl()
    del overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|roce"]
    overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|rest"].update(rest)
    assert not [one for one in told(findings, overrides) if "RoCE" in one.message]


@pytest.mark.parametrize(
    "fields", [{"SRC_IP": "10.0.0.0/8"}, {"DSCP": "8"}, {"PACKET_ACTION": "FORWARD"}, {"L4_DST_PORT": "22"}]
)
def test_a_rule_that_drops_other_packets_is_not_told(findings: Findings, fields: dict[str, str]) -> None:
    overrides = operators_acl()
    del overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|roce"]
    overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|rest"].update(fields)
    assert not told(findings, overrides)


def test_an_acl_of_the_control_plane_drops_nothing_in_transit(findings: Findings) -> None:
    overrides = operators_acl()
    del overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|roce"]
    overrides["overrides"]["leaf"]["ACL_TABLE"]["EDGE"]["type"] = "CTRLPLANE"
    assert not told(findings, overrides)


GUARD = "edge_guard: true\n"


def guard_of(findings: Findings, text: str) -> list[tuple[str, Severity, str]]:
    return [(one.code, one.severity, one.message) for one in findings(text) if one.code in ("Q-7", "Q-8")]


def test_the_edge_guard_drops_neither_notifications_nor_bgp(findings: Findings) -> None:
    assert guard_of(findings, GUARD) == []


def test_an_acl_that_drops_bgp_between_switches_is_found_and_on_node_ports_it_is_not(findings: Findings) -> None:
    overrides = operators_acl()
    overrides["overrides"]["leaf"]["ACL_TABLE"]["EDGE"]["ports"] = ["Ethernet32", "Ethernet0"]
    found = told(findings, overrides)
    assert {one.devices for one in found} == {("pod-leaf1",), ("pod-leaf2",)}
    assert found[0].message == ("rule EDGE|rest of pod-leaf1 drops BGP packets on Ethernet32, which lead to switches")


def test_a_guard_without_notifications_is_refused(text_of: Text) -> None:
    classes = """traffic_classes:
  - {name: roce, role: rdma, dscp: [26], lossless: true, priority: 3, share: 90}
  - {name: rest, role: bulk, dscp: default, priority: 0, share: 10}
"""
    (found,) = q8_edge_guard.intended(load_intent_text(text_of(GUARD + classes), "pod.yml"))
    assert (found.path, found.severity) == ("edge_guard", Severity.ERROR)
    assert found.message == "no traffic class carries congestion notifications, so `edge_guard` guards nothing"


@pytest.mark.parametrize(
    ("field", "value"), [("DSCP", "8"), ("PACKET_ACTION", "FORWARD"), ("PRIORITY", "30"), ("IP_PROTOCOL", "17")]
)
def test_a_guard_that_runs_otherwise_is_found(text_of: Text, field: str, value: str) -> None:
    fabric = fabric_of(text_of(GUARD))
    tables = configure(fabric, fabric.switches[0], find_templates()).config_db()
    rule = dict(tables["ACL_RULE"][f"{EDGE_GUARD}|drop-48"]) | {field: value}
    read = ResolvedTables({**tables, "ACL_RULE": {**tables["ACL_RULE"], f"{EDGE_GUARD}|drop-48": rule}})
    switch = SwitchRead(fabric, fabric.switches[0].name, read, read)
    found = [*q7_filters.filtering(switch), *q8_edge_guard.guarding(switch)]
    assert [one.message.split(" ")[0] for one in found]


tcp_or_udp_ports = st.sampled_from([179, 4791, 22, 49152]) | st.integers(0, 65535)


@given(st.just(48) | st.integers(0, 63), st.sampled_from([1, 6, 17, 58, 47]), tcp_or_udp_ports, tcp_or_udp_ports)
def test_the_guard_drops_exactly_other_packets_with_the_dscp_of_notifications(
    text_of: Text, dscp: int, protocol: int, source: int, target: int
) -> None:
    packet = {"DSCP": dscp, "IP_PROTOCOL": protocol, "L4_SRC_PORT": source, "L4_DST_PORT": target}
    allowed = protocol in (1, 58) or (protocol == 17 and target == 4791) or (protocol == 6 and 179 in (source, target))
    dropped = [one.ports for one in dropping(guarded_leaf(text_of(GUARD)), packet)]
    assert dropped == ([] if dscp != 48 or allowed else [frozenset(f"Ethernet{8 * port}" for port in range(4))])


BOTH = f"{GUARD}addressing: {{underlay: unnumbered, hosts_ipv6: fd00:10::/44}}\n"
ALONE = f"{GUARD}addressing: {{underlay: unnumbered, hosts: none, hosts_ipv6: fd00:10::/44}}\n"


@pytest.mark.parametrize("families", [BOTH, ALONE])
def test_the_guard_of_nodes_with_ipv6_drops_neither_notifications_nor_bgp(findings: Findings, families: str) -> None:
    assert guard_of(findings, families) == []


@given(st.just(48) | st.integers(0, 63), st.sampled_from([6, 17, 47]), tcp_or_udp_ports, tcp_or_udp_ports)
def test_the_guard_drops_of_ipv6_what_has_the_dscp_of_notifications_and_neither_of_the_ports(
    text_of: Text, dscp: int, protocol: int, source: int, target: int
) -> None:
    packet = {"IP_TYPE": 6, "DSCP": dscp, "NEXT_HEADER": protocol, "L4_SRC_PORT": source, "L4_DST_PORT": target}
    allowed = target == 4791 or 179 in (source, target)
    dropped = [one.ports for one in dropping(guarded_leaf(text_of(BOTH)), packet)]
    assert dropped == ([] if dscp != 48 or allowed else [frozenset(f"Ethernet{8 * port}" for port in range(4))])


@pytest.mark.parametrize(("kind", "passes"), [(1, True), (2, True), (135, True), (136, True), (128, False)])
def test_the_guard_lets_pass_of_icmpv6_what_a_path_does_not_work_without(
    text_of: Text, kind: int, passes: bool
) -> None:
    packet = {"IP_TYPE": 6, "DSCP": 48, "NEXT_HEADER": 58, "ICMPV6_TYPE": kind}
    assert bool([*dropping(guarded_leaf(text_of(BOTH)), packet)]) is not passes


def test_no_rule_of_the_guard_has_a_field_that_the_models_of_sonic_do_not_know(text_of: Text) -> None:
    tables = guarded_leaf(text_of(BOTH))
    fields = {field for row in tables.table("ACL_RULE").values() for field in row}
    known = {"DSCP", "ICMPV6_TYPE", "IP_PROTOCOL", "IP_TYPE", "L4_DST_PORT", "L4_SRC_PORT"}
    assert fields == known | {"PACKET_ACTION", "PRIORITY"}, "NEXT_HEADER would block every patch"
    assert set(tables.table("ACL_TABLE_TYPE")[EDGE_GUARD_V4V6]["MATCHES"]) == known


def test_a_guard_from_before_ipv6_is_found_on_a_leaf_whose_nodes_have_it(text_of: Text) -> None:
    fabric, before = fabric_of(text_of(BOTH)), guarded_leaf(text_of(GUARD))
    (found,) = q7_filters.filtering(SwitchRead(fabric, fabric.switches[0].name, before, before))
    assert found.message == f"rule {EDGE_GUARD}|drop-48 of pod-leaf1 drops RoCE packets with DSCP 48 of cnp"


@cache
def guarded_leaf(text: str) -> ResolvedTables:
    fabric = fabric_of(text)
    return ResolvedTables(configure(fabric, fabric.switches[0], find_templates()).config_db())


def test_only_our_own_rows_go_with_the_guard(text_of: Text) -> None:
    guarded, plain = fabric_of(text_of(GUARD)), fabric_of(text_of())
    leaf = plain.switches[0]
    running = configure(guarded, leaf, find_templates()).config_db()
    foreign: dict[str, Fields] = {
        "SSH_ONLY": {"type": "CTRLPLANE", "services": ("SSH",), "policy_desc": "x", "stage": "ingress"}
    }
    running = {**running, "ACL_TABLE": {**running["ACL_TABLE"], **foreign}}
    intended = configure(plain, leaf, find_templates())
    found = diff(leaf.name, RunningConfig(running, intended.frr), intended)
    assert {one.table for one in found.delta} == {"ACL_TABLE", "ACL_RULE", "ACL_TABLE_TYPE"}
    assert {one.key.partition("|")[0] for one in found.delta} == {EDGE_GUARD}
    assert {one.op for one in found.delta} == {Op.REMOVE}
    assert access_tables(found.delta) == ()
    assert not found.delta.reloads


def test_the_guard_of_one_family_gives_way_to_that_of_both_without_a_row_that_changes(text_of: Text) -> None:
    one, both = fabric_of(text_of(GUARD)), fabric_of(text_of(BOTH))
    leaf = one.switches[0]
    running, intended = (configure(each, leaf, find_templates()) for each in (one, both))
    found = diff(leaf.name, RunningConfig(running.config_db(), running.frr), intended)
    changes = [change for change in found.delta if change.table.startswith("ACL_")]
    assert {(change.op, change.key.partition("|")[0]) for change in changes} == {
        (Op.REMOVE, EDGE_GUARD),
        (Op.ADD, EDGE_GUARD_V4V6),
    }
    assert access_tables(found.delta) == ()
    assert not found.delta.reloads


def fabric_of(text: str) -> Fabric:
    fabric = design(load_intent_text(text, "pod.yml"), load_catalog()).fabric
    assert fabric is not None
    return fabric
