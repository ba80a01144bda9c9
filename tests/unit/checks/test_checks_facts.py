"""Facts of live devices against the intent, and the five ways in which RoCE fabrics usually fail."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.checks.facts import fact_findings, switch_facts, uncompared_findings
from railweave.cli.main import main
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.sonic.document import RunningConfig, dump
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

Pod = Callable[..., Fabric]

NODE: dict[str, Any] = {
    "nics": {
        name: {
            "mtu": 9000,
            "speed_gbps": 400,
            "trust": "dscp",
            "pfc": [3],
            "dscp_to_priority": {"26": 3, "48": 6, "0": 0},
            "roce_tos": 106,
            "cnp_dscp": 48,
            "pcie": "gen5x16",
            "pause_rx": "off",
            "pause_tx": "off",
            "addresses": [address],
            "tables": [table],
        }
        for name, address, table in (("rail0", "10.32.0.1/31", 100), ("rail1", "10.32.0.129/31", 101))
    },
    "nccl": {"NCCL_IB_TC": "106"},
    "sysctl": {"net.ipv4.conf.all.arp_ignore": "1", "net.ipv4.conf.rail0.rp_filter": "2"},
}


CONFIGURATORS: dict[int, Configurator] = {}
"""That of each fabric, by its identity: fabrics of a session stay, and what their switches share is rendered once."""


def configurator_of(fabric: Fabric) -> Configurator:
    known = CONFIGURATORS.get(id(fabric))
    if known is None:
        known = CONFIGURATORS[id(fabric)] = Configurator(fabric, find_templates())
    return known


def running(fabric: Fabric, name: str) -> dict[str, Any]:
    """Return what a switch runs when it is as intended, as SONiC would print it."""
    tables = configurator_of(fabric).device(fabric.switch_of[name]).config_db()
    document: dict[str, Any] = json.loads(json.dumps(tables))
    return document


def found(fabric: Fabric, **documents: Any) -> list[Diagnostic]:
    files = {
        name.replace("_", "-"): (f"facts/{name}.json", document if isinstance(document, str) else json.dumps(document))
        for name, document in documents.items()
    }
    return list(fact_findings(fabric, files, configurator_of(fabric)))


def nic(**fields: Any) -> dict[str, Any]:
    return {**NODE, "nics": {**NODE["nics"], "rail0": {**NODE["nics"]["rail0"], **fields}}}


def test_devices_that_are_as_intended_show_nothing(pod: Pod) -> None:
    fabric = pod()
    names = ("pod-leaf1", "pod-leaf2", "pod-spine1", "pod-spine2")
    switches = {name.replace("-", "_"): running(fabric, name) for name in names}
    assert not found(fabric, gpu1=NODE, **switches)


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"mtu": 9216}, "M-1", ("gpu1:rail0", "9216", "pod-leaf1:Ethernet0", "9100")),
        ({"mtu": 1500}, "M-4", ("gpu1:rail0", "1500", "pod-leaf1", "RoCE falls from 4096 to 1024")),
        ({"mtu": 4200}, "M-3", ("gpu1:rail0", "4200", "pod-leaf1", "9000")),
        ({"pfc": [4]}, "Q-3", ("gpu1:rail0 pauses 4", "pod-leaf1:Ethernet0 3")),
        ({"pfc": []}, "Q-3", ("gpu1:rail0 pauses no priority", "pod-leaf1:Ethernet0 3")),
        ({"dscp_to_priority": {"26": 0, "48": 6}}, "Q-2", ("priority 0 by gpu1:rail0", "3 by pod-leaf1:Ethernet0")),
        ({"dscp_to_priority": {"26": 3, "48": 7}}, "Q-2", ("priority 7 by gpu1:rail0", "6 by pod-leaf1:Ethernet0")),
        ({"dscp_to_priority": {"26": 3}}, "Q-2", ("DSCP 48 of cnp is no priority by gpu1:rail0", "6 by pod-leaf1")),
        ({"dscp_to_priority": {"26": 3, "48": 6, "34": 3}}, "Q-1", ("DSCP 34", "roce on gpu1:rail0", "pod-leaf1")),
        ({"trust": "pcp"}, "Q-2", ("gpu1:rail0", "pod-leaf1")),
        ({"roce_tos": 98}, "Q-2", ("gpu1:rail0", "98", "pod-leaf1", "106")),
        ({"cnp_dscp": 46}, "Q-2", ("gpu1:rail0", "46", "pod-leaf1", "48")),
        ({"speed_gbps": 200}, "P-3", ("gpu1:rail0 has speed 200G", "pod-leaf1:Ethernet0 400G")),
        ({"fec": "none"}, "P-5", ("gpu1:rail0 has FEC none", "pod-leaf1:Ethernet0 rs")),
        ({"autoneg": "on"}, "P-6", ("gpu1:rail0 has autonegotiation on", "pod-leaf1:Ethernet0 off")),
        ({"pause_rx": "on"}, "Q-3", ("gpu1:rail0", "pod-leaf1", "global pause on (rx)")),
        ({"addresses": ["10.32.0.9/31"]}, "N-2", ("gpu1:rail0 has 10.32.0.9/31", "pod-leaf1 expects 10.32.0.1/31")),
        ({"tables": []}, "N-2", ("gpu1:rail0", "table none", "pod-leaf1 is 100")),
        ({"tables": [254, 100]}, "N-2", ("gpu1:rail0", "254, 100", "pod-leaf1")),
        ({"pcie": "gen4x16"}, "P-1", ("gpu1:rail0", "gen4x16", "252", "pod-leaf1", "400G")),
    ],
)
def test_a_node_that_is_set_otherwise_is_found_with_both_ends(
    pod: Pod, fields: dict[str, Any], code: str, words: tuple[str, ...]
) -> None:
    (one,) = found(pod(), gpu1=nic(**fields))
    assert (one.code, one.severity) == (code, Severity.ERROR)
    assert all(word in one.message for word in words), one.message
    assert {"gpu1", "pod-leaf1"} <= set(one.devices)
    assert one.fix


@pytest.mark.parametrize("nccl", [{"NCCL_IB_TC": "98"}, {"NCCL_IB_TC": "x"}, {}])
def test_nccls_own_traffic_class_is_compared_too(pod: Pod, nccl: dict[str, str]) -> None:
    (one,) = found(pod(), gpu1={**NODE, "nccl": nccl})
    assert one.code == "N-4"
    assert nccl.get("NCCL_IB_TC", "without a traffic class") in one.message
    assert "106" in one.message
    assert one.devices == ("gpu1", "pod-leaf1", "pod-leaf2")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "NCCL_IB_ADDR_FAMILY",
            "AF_INET6",
            "looks for IPv6 addresses; its rails have IPv4 addresses alone",
        ),
        ("NCCL_IB_ROCE_VERSION_NUM", "1", "does not take RoCE v2, the one version that is routed"),
        (
            "NCCL_IB_ADDR_RANGE",
            "10.32.0.0/30",
            "finds no address of rail1 (10.32.0.129) in its range",
        ),
    ],
)
def test_nccl_takes_no_gid_that_is_not_routed(pod: Pod, key: str, value: str, message: str) -> None:
    (one,) = found(pod(), gpu1={**NODE, "nccl": {**NODE["nccl"], key: value}})
    assert (one.code, one.severity) == ("N-5", Severity.ERROR)
    assert one.message == f"NCCL of gpu1 {message} ({key} {value})"
    assert one.fix == f"take {key} out of /etc/nccl.conf"
    assert one.devices == ("gpu1", "pod-leaf1", "pod-leaf2")


BOTH = "addressing: {underlay: unnumbered, hosts_ipv6: fd00:10::/44}\n"
ALONE = "addressing: {underlay: unnumbered, hosts: none, hosts_ipv6: fd00:10::/44}\n"


@pytest.mark.parametrize(
    ("family", "nccl", "message", "fix"),
    [
        (
            "ipv6",
            {},
            "looks for IPv4 addresses; RDMA uses IPv6 (hosts.rdma_family) (NCCL_IB_ADDR_FAMILY is not set)",
            "write NCCL_IB_ADDR_FAMILY=AF_INET6 into /etc/nccl.conf",
        ),
        (
            "ipv4",
            {"NCCL_IB_ADDR_FAMILY": "AF_INET6"},
            "looks for IPv6 addresses; RDMA uses IPv4 (hosts.rdma_family) (NCCL_IB_ADDR_FAMILY AF_INET6)",
            "write NCCL_IB_ADDR_FAMILY=AF_INET into /etc/nccl.conf",
        ),
        (
            "ipv6",
            {"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_ADDR_RANGE": "fd00:10::/64"},
            "finds no address of rail1 (fd00:10:0:1::3) in its range (NCCL_IB_ADDR_RANGE fd00:10::/64)",
            "write NCCL_IB_ADDR_RANGE=fd00:10::/44 into /etc/nccl.conf",
        ),
    ],
)
def test_nccl_takes_the_gids_of_the_family_that_rdma_uses(
    pod: Pod, family: str, nccl: dict[str, str], message: str, fix: str
) -> None:
    fabric = pod(f"{BOTH}hosts: {{rdma_family: {family}}}\n")
    (one,) = found(fabric, gpu1={**NODE, "nccl": {**NODE["nccl"], **nccl}})
    assert (one.code, one.message, one.fix) == ("N-5", f"NCCL of gpu1 {message}", fix)


def test_nccl_of_nodes_with_ipv6_alone_is_to_look_for_it(pod: Pod) -> None:
    fabric = pod(ALONE)
    ipv6 = {"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_ADDR_RANGE": "fd00:10::/44"}
    assert not found(fabric, gpu1={**NODE, "nccl": {**NODE["nccl"], **ipv6}})
    (one,) = found(fabric, gpu1=NODE)
    message = "looks for IPv4 addresses; its rails have IPv6 addresses alone (NCCL_IB_ADDR_FAMILY is not set)"
    fix = "write NCCL_IB_ADDR_FAMILY=AF_INET6 into /etc/nccl.conf"
    assert (one.code, one.message, one.fix) == ("N-5", f"NCCL of gpu1 {message}", fix)


@pytest.mark.parametrize(
    "nccl",
    [
        {"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_ADDR_RANGE": "fd00:10::/44"},
        {"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_ADDR_RANGE": "10.99.0.0/16"},
        {"NCCL_IB_ADDR_FAMILY": "AF_INET6", "NCCL_IB_ADDR_RANGE": "fd00:99::/200"},
    ],
)
def test_what_fits_the_family_or_is_ignored_is_no_finding(pod: Pod, nccl: dict[str, str]) -> None:
    fabric = pod(f"{BOTH}hosts: {{rdma_family: ipv6}}\n")
    assert not found(fabric, gpu1={**NODE, "nccl": {**NODE["nccl"], **nccl}})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"ipv6_addresses": []}, ("gpu1:rail0 has no address", "pod-leaf1 expects fd00:10::3/127")),
        ({"ipv6_tables": [254]}, ("the IPv6 address of gpu1:rail0 is routed by table 254", "pod-leaf1 is 100")),
    ],
)
def test_a_rail_without_its_ipv6_address_or_table_is_found(
    pod: Pod, fields: dict[str, Any], words: tuple[str, ...]
) -> None:
    fabric = pod(BOTH)
    assert not found(fabric, gpu1=nic(ipv6_addresses=["fd00:10::3/127"], ipv6_tables=[100]))
    (one,) = found(fabric, gpu1=nic(**fields))
    assert one.code == "N-2"
    assert all(word in one.message for word in words), one.message
    assert "fd00:10::3" in one.fix


def test_a_fixed_gid_of_nccl_is_warned_of(pod: Pod) -> None:
    (one,) = found(pod(), gpu1={**NODE, "nccl": {**NODE["nccl"], "NCCL_IB_GID_INDEX": "3"}})
    assert (one.code, one.severity) == ("N-5", Severity.WARNING)
    assert one.message == (
        "NCCL of gpu1 takes GID 3 of every NIC, whichever address that is (NCCL_IB_GID_INDEX); the order of GIDs"
        " follows the order in which addresses came"
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("NCCL_IB_ADDR_FAMILY", "AF_INET"),
        ("NCCL_IB_ROCE_VERSION_NUM", "2"),
        ("NCCL_IB_ADDR_RANGE", "10.32.0.0/11"),
        ("NCCL_IB_ADDR_RANGE", "none"),
        ("NCCL_IB_GID_INDEX", "-1"),
    ],
)
def test_what_nccl_does_anyway_or_ignores_is_no_finding(pod: Pod, key: str, value: str) -> None:
    assert not found(pod(), gpu1={**NODE, "nccl": {**NODE["nccl"], key: value}})


@pytest.mark.parametrize("same", ["104", "105", "107", "0x6a"])
def test_the_bits_of_ecn_make_no_other_class(pod: Pod, same: str) -> None:
    node = nic(roce_tos=int(same, 0))
    assert not found(pod(), gpu1={**node, "nccl": {"NCCL_IB_TC": same}})


@pytest.mark.parametrize(
    ("fact", "code"),
    [("trust", "Q-2"), ("dscp_to_priority", "Q-2"), ("roce_tos", "Q-2"), ("cnp_dscp", "Q-2"), ("pfc", "Q-3")],
)
def test_an_rdma_setting_that_was_read_and_is_absent_is_found(pod: Pod, fact: str, code: str) -> None:
    node = nic()
    del node["nics"]["rail0"][fact]
    (one,) = found(pod(), gpu1=node)
    assert (one.code, one.severity) == (code, Severity.ERROR)
    assert "gpu1:rail0 has no" in one.message
    assert "pod-leaf1" in one.message


def test_sysctls_of_a_node_are_compared_too(pod: Pod) -> None:
    kernel = {**NODE["sysctl"], "net.ipv4.conf.rail0.rp_filter": "1", "net.ipv4.ip_forward": "1"}
    (one,) = found(pod(), gpu1={**NODE, "sysctl": kernel})
    assert one.code == "N-3"
    assert "net.ipv4.conf.rail0.rp_filter of gpu1 is 1, not 2: pod-leaf1, pod-leaf2" in one.message
    assert one.devices == ("gpu1", "pod-leaf1", "pod-leaf2")


def test_facts_of_a_switch_hold_what_checks_read_and_no_secret(pod: Pod) -> None:
    fabric = pod()
    config = Configurator(fabric, find_templates()).device(fabric.switch_of["pod-leaf1"])
    printed = json.loads(dump(RunningConfig(config.config_db(), config.frr)))
    printed |= {
        "TACPLUS": {"global": {"passkey": "s3cret"}},
        "SNMP_COMMUNITY": {"s3cret": {"TYPE": "RO"}},
        "MGMT_INTERFACE": {"eth0|192.0.2.1/24": {}},
        "VLAN_MEMBER": {"Vlan100|Ethernet0": {"tagging_mode": "untagged"}},
    }
    printed["bgpraw"] = printed["bgpraw"].replace(" !\n", " neighbor SPINES password s3cret\n !\n", 1)
    kept = switch_facts(json.dumps(printed))
    assert "s3cret" not in kept
    tables = json.loads(kept)
    assert not {"TACPLUS", "SNMP_COMMUNITY", "MGMT_INTERFACE"} & tables.keys()
    assert tables["PORT_QOS_MAP"] == printed["PORT_QOS_MAP"]
    assert {one.code for one in found(fabric, pod_leaf1=kept)} == {"D-2"}


def test_a_switch_left_at_sonics_defaults_is_found_from_both_ends(pod: Pod) -> None:
    fabric = pod()
    leaf = running(fabric, "pod-leaf1")
    azure = {str(dscp): "1" for dscp in range(64)} | {"3": "3", "4": "4", "8": "0", "5": "2", "46": "5", "48": "6"}
    leaf["DSCP_TO_TC_MAP"]["FABRIC"] = azure
    for port, row in leaf["PORT_QOS_MAP"].items():
        if port != "global":
            row |= {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}
    codes = {one.code for one in found(fabric, pod_leaf1=leaf)}
    assert {"Q-1", "Q-2", "Q-3", "W-1"} <= codes
    (trap,) = [one for one in found(fabric, pod_leaf1=leaf) if one.code == "Q-2"]
    assert "DSCP 26 of roce is priority 1 by pod-leaf1:Ethernet0 and 3 by gpu1:rail0" in trap.message
    assert "AZURE" in trap.message


@pytest.mark.parametrize("odd", ["9" * 5000, "²", "3,²", ""])
def test_a_list_of_priorities_that_holds_no_number_is_judged(pod: Pod, odd: str) -> None:
    leaf = running(pod(), "pod-leaf1")
    leaf["PORT_QOS_MAP"]["Ethernet0"] |= {"pfc_enable": odd, "pfcwd_sw_enable": odd}
    codes = {one.code for one in found(pod(), pod_leaf1=leaf)}
    assert ("Q-3" in codes) == (odd != "3,²")


def set_mtu(leaf: dict[str, Any]) -> None:
    leaf["PORT"]["Ethernet0"]["mtu"] = "1500"


def set_other_priority(leaf: dict[str, Any]) -> None:
    leaf["PORT_QOS_MAP"]["Ethernet0"] |= {"pfc_enable": "4"}


def set_late_marking(leaf: dict[str, Any]) -> None:
    leaf["WRED_PROFILE"]["roce-400g"] |= {"green_min_threshold": "40000000", "green_max_threshold": "50000000"}


def mix_traffic(leaf: dict[str, Any]) -> None:
    leaf["DSCP_TO_TC_MAP"]["FABRIC"]["10"] = "3"


def take_headroom(leaf: dict[str, Any]) -> None:
    leaf["BUFFER_PG"]["Ethernet0|3"] = {"profile": "ingress_lossy_profile"}


FAILURES = {
    "MTU mismatch": (set_mtu, "M-1"),
    "PFC priority misaligned": (set_other_priority, "Q-3"),
    "wrong ECN thresholds": (set_late_marking, "E-2"),
    "mixed traffic on a priority": (mix_traffic, "Q-1"),
    "incast exhausting buffers": (take_headroom, "H-headroom"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_of_the_five_failures_of_roce_is_found_on_the_one_device_that_has_it(pod: Pod, name: str) -> None:
    change, code = FAILURES[name]
    fabric = pod()
    leaf = running(fabric, "pod-leaf1")
    assert not found(fabric, pod_leaf1=leaf)
    change(leaf)
    told = found(fabric, pod_leaf1=leaf)
    assert code in {one.code for one in told}
    for one in told:
        assert "pod-leaf1" in one.message
        assert "gpu1" in one.message
        assert one.where.file == "facts/pod_leaf1.json"


def test_a_lossless_group_that_buffermgrd_left_behind_is_found(pod: Pod) -> None:
    fabric = pod()
    leaf = running(fabric, "pod-leaf1")
    leaf["BUFFER_PG"]["Ethernet0|3-4"] = dict(leaf["BUFFER_PG"]["Ethernet0|3"])
    for _ in range(2):
        (one,) = found(fabric, pod_leaf1=leaf)
        assert (one.code, one.message[:44]) == ("H-headroom", "pod-leaf1:Ethernet0 keeps headroom for 3, 4,")
        leaf["BUFFER_PG"].pop("Ethernet0|3", None)


def test_a_row_that_buffermgrd_writes_beside_the_rendered_ones_is_no_fault(pod: Pod) -> None:
    fabric = pod("preset: microsoft\n")
    leaf = running(fabric, "pod-leaf1")
    leaf["BUFFER_PG"]["Ethernet0|3-4"] = dict(leaf["BUFFER_PG"]["Ethernet0|3"])
    assert not found(fabric, pod_leaf1=leaf)


@pytest.mark.parametrize("ecn", ["ecn_green", "ecn_green_yellow", "ecn_all"])
def test_a_profile_that_marks_green_packets_alone_marks_all_of_them(pod: Pod, ecn: str) -> None:
    leaf = running(pod(), "pod-leaf1")
    profile = leaf["WRED_PROFILE"]["roce-400g"]
    for field in [field for field in profile if "yellow" in field or field.startswith(("red", "wred_red"))]:
        del profile[field]
    assert not found(pod(), pod_leaf1={**leaf, "WRED_PROFILE": {"roce-400g": {**profile, "ecn": ecn}}})
    told = found(pod(), pod_leaf1={**leaf, "WRED_PROFILE": {"roce-400g": {**profile, "ecn": "ecn_yellow_red"}}})
    assert {finding.code for finding in told} == {"Q-5"}


def test_a_watchdog_without_counters_is_found(pod: Pod) -> None:
    leaf = running(pod(), "pod-leaf1")
    leaf["FLEX_COUNTER_TABLE"] = {"PFCWD": {"FLEX_COUNTER_STATUS": "disable"}}
    told = found(pod(), pod_leaf1=leaf)
    assert {(finding.code, finding.severity) for finding in told} == {("W-1", Severity.ERROR)}
    assert "sees no storm: the counter group PFCWD of pod-leaf1 is disabled" in told[0].message
    leaf["FLEX_COUNTER_TABLE"] = {
        "PFCWD": {"FLEX_COUNTER_STATUS": "enable"},
        "QUEUE": {"FLEX_COUNTER_STATUS": "disable"},
    }
    told = found(pod(), pod_leaf1=leaf)
    assert [(finding.code, finding.severity) for finding in told] == [("RW145", Severity.WARNING)]


def test_facts_keep_the_counter_groups_of_a_switch(pod: Pod) -> None:
    leaf = running(pod(), "pod-leaf1") | {"FLEX_COUNTER_TABLE": {"PFCWD": {"FLEX_COUNTER_STATUS": "disable"}}}
    assert "W-1" in {finding.code for finding in found(pod(), pod_leaf1=switch_facts(json.dumps(leaf)))}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("admin_status", "down", "pod-leaf1:Ethernet0 towards gpu1:rail0 is shut down (admin_status)"),
        ("admin_status", None, "pod-leaf1:Ethernet0 towards gpu1:rail0 is shut down (admin_status)"),
        ("fec", "none", "pod-leaf1:Ethernet0 has FEC none towards gpu1:rail0, by design rs"),
        ("fec", None, "pod-leaf1:Ethernet0 has FEC none towards gpu1:rail0, by design rs"),
    ],
)
def test_a_port_that_can_carry_nothing_is_found_without_its_far_end(
    pod: Pod, field: str, value: str | None, message: str
) -> None:
    fabric = pod()
    leaf = running(fabric, "pod-leaf1")
    leaf["PORT"]["Ethernet0"][field] = value
    if value is None:
        del leaf["PORT"]["Ethernet0"][field]
    assert [finding.message for finding in found(fabric, pod_leaf1=leaf)] == [message]


def test_ends_that_agree_on_another_speed_than_designed_are_found(pod: Pod) -> None:
    leaf = running(pod(), "pod-leaf1")
    leaf["PORT"]["Ethernet0"] |= {"speed": "200000", "autoneg": "on"}
    told = found(pod(), pod_leaf1=leaf, gpu1=nic(speed_gbps=200, autoneg="on"))
    (finding,) = [finding for finding in told if finding.code == "P-3"]
    assert finding.message == "gpu1:rail0 and pod-leaf1:Ethernet0 both have speed 200G; the link is designed for 400G"


@pytest.mark.parametrize(("speeds", "is_found"), [("200000", True), ("100000,200000", True), ("400000", False),
                                                  ("200000,400000", False), ("all", False), ("", False)])  # fmt: skip
def test_a_port_that_does_not_offer_the_designed_speed_is_found(pod: Pod, speeds: str, is_found: bool) -> None:
    leaf = running(pod(), "pod-leaf1")
    leaf["PORT"]["Ethernet0"] |= {"autoneg": "on", "adv_speeds": speeds}
    told = [finding.message for finding in found(pod(), pod_leaf1=leaf, gpu1=nic(autoneg="on"))]
    assert any("the link is designed for 400G" in message for message in told) is is_found
    leaf["PORT"]["Ethernet0"]["autoneg"] = "off"
    told = [finding.message for finding in found(pod(), pod_leaf1=leaf, gpu1=nic(autoneg="off"))]
    assert not told


REWRITES: dict[str, dict[str, str]] = {
    "by code point": {"PRIORITY": "10", "DSCP": "26", "DSCP_ACTION": "0"},
    "of everything": {"PRIORITY": "10", "IP_TYPE": "IP", "DSCP_ACTION": "10"},
}


@pytest.mark.parametrize("name", REWRITES)
def test_an_acl_that_sets_another_code_point_is_found(pod: Pod, name: str) -> None:
    leaf = running(pod(), "pod-leaf1")
    leaf["ACL_TABLE"] = {"MARK": {"type": "UNDERLAY_SET_DSCP", "stage": "EGRESS", "ports": ["Ethernet0"]}}
    leaf["ACL_RULE"] = {"MARK|all": REWRITES[name]}
    told = found(pod(), pod_leaf1=leaf)
    dscp = REWRITES[name]["DSCP_ACTION"]
    assert {(finding.code, finding.severity) for finding in told} == {("Q-7", Severity.ERROR)}
    assert told[0].message == (
        f"rule MARK|all of pod-leaf1 sends RoCE packets with DSCP 26 of roce on with DSCP {dscp}: they are not roce"
        " from there on"
    )
    leaf["ACL_RULE"]["MARK|roce"] = {"PRIORITY": "20", "IP_PROTOCOL": "17", "L4_DST_PORT": "4791"}
    assert not found(pod(), pod_leaf1=leaf)


@pytest.mark.parametrize("match", [{"SRC_IP": "10.32.0.0/24"}, {"META_DATA": "1"}, {"DSCP": "26/x"}])
def test_an_acl_that_may_set_another_code_point_is_warned_of(pod: Pod, match: dict[str, str]) -> None:
    leaf = running(pod(), "pod-leaf1")
    leaf["ACL_TABLE"] = {"MARK": {"type": "EGR_SET_DSCP", "stage": "EGRESS", "ports": ["Ethernet0"]}}
    leaf["ACL_RULE"] = {"MARK|some": {"PRIORITY": "10", "DSCP_ACTION": "0", **match}}
    told = found(pod(), pod_leaf1=leaf)
    assert {(finding.code, finding.severity) for finding in told} == {("Q-7", Severity.WARNING)}
    assert "may send RoCE packets" in told[0].message


@pytest.mark.parametrize(
    "rule",
    [{"DSCP": "10", "DSCP_ACTION": "0"}, {"IP_PROTOCOL": "6", "DSCP_ACTION": "0"}, {"DSCP": "26", "DSCP_ACTION": "26"}],
)
def test_an_acl_that_leaves_the_code_points_of_rdma_is_no_finding(pod: Pod, rule: dict[str, str]) -> None:
    leaf = running(pod(), "pod-leaf1")
    leaf["ACL_TABLE"] = {"MARK": {"type": "UNDERLAY_SET_DSCP", "stage": "EGRESS", "ports": ["Ethernet0"]}}
    leaf["ACL_RULE"] = {"MARK|some": {"PRIORITY": "10", **rule}}
    assert not found(pod(), pod_leaf1=leaf)


NCCL_KEPT = {
    "NCCL_IB_HCA": ("mlx5", "=mlx5_0:1,mlx5_1:1,mlx5_9:1", "^mlx5_9", "mlx5_0,mlx5_1:1"),
    "NCCL_NET": ("IB", "AWS Libfabric"),
    "NCCL_IB_DISABLE": ("0", "x"),
    "NCCL_SOCKET_IFNAME": ("eth0", "^lo,docker,rail", "=rail"),
    "NCCL_CROSS_NIC": ("0", "2"),
    "NCCL_PXN_DISABLE": ("0",),
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in NCCL_KEPT.items() for value in values])
def test_what_keeps_nccl_on_the_fabric_is_no_finding(pod: Pod, key: str, value: str) -> None:
    assert not found(pod(), gpu1={**NODE, "nccl": {**NODE["nccl"], key: value}})


NCCL_LEAVES = [
    ("NCCL_IB_DISABLE", "1", "uses no RDMA device", "remove NCCL_IB_DISABLE from /etc/nccl.conf"),
    ("NCCL_NET", "Socket", "sends over TCP sockets, not over RDMA", "remove NCCL_NET from /etc/nccl.conf"),
    ("NCCL_IB_HCA", "=mlx5_0:1", "leaves out rail1 (mlx5_1)", "set NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 in /etc/nccl.conf"),
    ("NCCL_IB_HCA", "^mlx5_1", "leaves out rail1 (mlx5_1)", "set NCCL_IB_HCA==mlx5_0:1,mlx5_1:1 in /etc/nccl.conf"),
    ("NCCL_SOCKET_IFNAME", "rail0", "starts over rail0, which carries RDMA; its start belongs to the front end",
     "set NCCL_SOCKET_IFNAME=^lo,docker,rail in /etc/nccl.conf"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "message", "fix"), NCCL_LEAVES)
def test_nccl_that_leaves_the_fabric_is_found(pod: Pod, key: str, value: str, message: str, fix: str) -> None:
    (finding,) = found(pod(), gpu1={**NODE, "nccl": {**NODE["nccl"], key: value}})
    assert (finding.code, finding.severity) == ("N-7", Severity.ERROR)
    assert finding.message == f"NCCL of gpu1 {message} ({key} {value})"
    assert finding.fix == fix
    assert finding.devices == ("gpu1", "pod-leaf1", "pod-leaf2")


@pytest.mark.parametrize("key", ["NCCL_CROSS_NIC", "NCCL_PXN_DISABLE"])
def test_nccl_that_crosses_rails_is_warned_of(pod: Pod, key: str) -> None:
    (finding,) = found(pod(), gpu1={**NODE, "nccl": {**NODE["nccl"], key: "1"}})
    assert (finding.code, finding.severity) == ("N-7", Severity.WARNING)
    assert "over the spines" in finding.message


RAIL_ONLY = """
fabric: apart
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 4, gpus: 8, nics: {count: 2, speed: 400G, model: connectx-7}}
topology: {shape: rail-only, leaf: {model: nokia-ixr7220-h4-64d}}
"""


@pytest.mark.parametrize(
    ("key", "value"), [("NCCL_CROSS_NIC", None), ("NCCL_CROSS_NIC", "2"), ("NCCL_PXN_DISABLE", "1")]
)
def test_nccl_that_crosses_rails_is_an_error_where_there_is_no_path(key: str, value: str | None) -> None:
    fabric = design(load_intent_text(RAIL_ONLY, "apart.yml"), load_catalog()).fabric
    assert fabric is not None
    kept = {"NCCL_IB_TC": "106", "NCCL_CROSS_NIC": "0", key: value}
    nccl = {variable: each for variable, each in kept.items() if each is not None}
    (finding,) = [finding for finding in found(fabric, gpu1={"nccl": nccl}) if finding.code == "N-7"]
    assert finding.severity is Severity.ERROR
    assert "rail" in finding.message
    assert key in finding.message


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"nics": []}', '{"nics": {"rail0": 3}}', '{"nics": {"rail0": {"mtu": "9000"}}}',
             '{"nics": {"rail0": {"pfc": "3"}}}', '{"nics": {"rail0": {"dscp_to_priority": {"x": 3}}}}']
)  # fmt: skip
def test_facts_that_cannot_be_read_are_told_with_their_file(pod: Pod, text: str) -> None:
    (one,) = found(pod(), gpu1=text)
    assert (one.code, one.where.file) == ("RW404", "facts/gpu1.json")


def test_facts_of_a_stranger_are_told(pod: Pod) -> None:
    (one,) = found(pod(), gpu77=NODE)
    assert (one.code, one.severity) == ("RW404", Severity.WARNING)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "the facts of gpu1 do not tell nics, nccl:"),
        ({"nics": {"rail0": {}}}, "the facts of gpu1 do not tell nccl, RDMA settings of nics.rail0, nics.rail1:"),
    ],
)
def test_what_was_not_read_of_a_node_is_named_and_not_compared(pod: Pod, document: Any, words: str) -> None:
    (one,) = found(pod(), gpu1=document)
    assert (one.code, one.severity, one.devices) == ("RW404", Severity.WARNING, ("gpu1",))
    assert words in one.message


FULL: dict[str, Any] = {
    "nics": {
        name: {
            **nic,
            "rule_priorities": [900 + nic["tables"][0]],
            "routes": [{"to": "default", "via": gateway, "table": str(nic["tables"][0])},
                       {"to": "10.32.0.0/11", "via": gateway, "table": 254, "metric": nic["tables"][0]}],
            "state": "up",
            "autoneg": "off",
            "fec": "rs",
            "settings": {"dcbx": "OS controlled"},
        }
        for (name, nic), gateway in zip(NODE["nics"].items(), ("10.32.0.0", "10.32.0.128"), strict=True)
    },
    "nccl": NODE["nccl"],
    "sysctl": {f"net.ipv4.conf.{key}": value for key, value in (
        ("all.arp_ignore", "1"), ("all.arp_announce", "2"), ("rail0.rp_filter", "2"), ("rail1.rp_filter", "2"),
        ("rail0.accept_local", "0"), ("rail1.accept_local", "0"))},
}  # fmt: skip
"""Facts of a node with everything that checks look at."""
READ_FACTS = [("nics", "rail0", fact) for fact in FULL["nics"]["rail0"]]
PLACES = [*READ_FACTS, ("nics",), ("nccl",), ("sysctl",), ("nics", "rail0"), ("nccl", "NCCL_IB_TC"),
          *(("sysctl", key) for key in FULL["sysctl"]), ("nics", "rail0", "settings", "dcbx"),
          *(("nics", "rail0", "routes", 0, key) for key in ("to", "via", "table")),
          ("nics", "rail0", "dscp_to_priority", "26"), ("nics", "rail0", "pfc", 0),
          ("nics", "rail0", "tables", 0)]  # fmt: skip


def changed(place: tuple[Any, ...], value: Any = None, *, is_removed: bool = False) -> dict[str, Any]:
    document = copy.deepcopy(FULL)
    part: Any = document
    for key in place[:-1]:
        part = part[key]
    if is_removed:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return document


def everything_found(pod: Pod, document: Any) -> list[Diagnostic]:
    files = {"gpu1": ("facts/gpu1.json", json.dumps(document))}
    return [*fact_findings(pod(), files, configurator_of(pod())), *uncompared_findings(pod(), files)]


def test_a_node_with_everything_that_checks_look_at_lacks_only_settings_of_its_tools(pod: Pod) -> None:
    (lacks,) = everything_found(pod, FULL)
    assert (lacks.code, lacks.severity) == ("RW404", Severity.WARNING)
    assert " do not tell rdma_cm mode of nics.rail0" in lacks.message


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_null_in_the_facts_of_a_node_is_refused_by_its_place(pod: Pod, place: tuple[Any, ...]) -> None:
    (refused,) = everything_found(pod, changed(place))
    assert (refused.code, refused.severity, refused.devices) == ("RW404", Severity.ERROR, ("gpu1",))
    names = [str(key) for key in place if isinstance(key, str)]
    assert all(name in refused.message for name in names[:3]), refused.message
    assert "null" in refused.message


ODD: tuple[Any, ...] = ([], {}, "x", 7, 7.5, True, [None], {"x": None}, [["x"]])


@given(place=st.sampled_from(PLACES), value=st.sampled_from(ODD))
@example(place=("nics", "rail0", "pause_rx"), value="x")
def test_a_value_of_another_kind_is_never_taken_for_the_intended_one(
    pod: Pod, place: tuple[Any, ...], value: Any
) -> None:
    assert everything_found(pod, changed(place, value)) != everything_found(pod, FULL)


@pytest.mark.parametrize("place", [place for place in PLACES if place[2:] != ("settings", "dcbx")], ids=str)
def test_a_fact_that_is_missing_is_named_or_is_a_finding(pod: Pod, place: tuple[Any, ...]) -> None:
    before = {finding.message for finding in everything_found(pod, FULL)}
    news = [one for one in everything_found(pod, changed(place, is_removed=True)) if one.message not in before]
    assert news
    if all(finding.code == "RW404" for finding in news):
        assert any(str(place[-1]) in finding.message for finding in news), news


@pytest.mark.parametrize("document", [{}, {"PORT": {"Ethernet0": {"mtu": "9100"}}}])
def test_tables_that_were_not_read_of_a_switch_are_named_and_not_compared(pod: Pod, document: Any) -> None:
    (one,) = found(pod(), pod_leaf1=document)
    assert (one.code, one.severity, one.devices) == ("RW404", Severity.WARNING, ("pod-leaf1",))
    assert "the facts of pod-leaf1 do not tell BREAKOUT_CFG, BUFFER_PG, BUFFER_POOL, BUFFER_PROFILE" in one.message


def test_a_table_that_was_not_read_is_unknown_beside_others_that_were(pod: Pod) -> None:
    fabric = pod()
    leaf = running(fabric, "pod-leaf1")
    part = {table: leaf[table] for table in ("PORT", "PORT_QOS_MAP", "DSCP_TO_TC_MAP", "QUEUE", "SCHEDULER")}
    assert {one.code for one in found(fabric, pod_leaf1=part)} == {"RW404"}
    part["DSCP_TO_TC_MAP"] = {}
    assert {one.code for one in found(fabric, pod_leaf1=part)} == {"RW404", "Q-2"}


def test_check_takes_facts_from_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    intent = Path(__file__).resolve().parents[3] / "intent" / "lab-4.yml"
    (tmp_path / "gpu1.json").write_text(json.dumps({"nics": {"rail0": {"pfc": [5]}}}), encoding="utf-8")
    assert main(["check", str(intent), "--facts", str(tmp_path), "--json"]) == 1
    codes = {one["code"] for one in json.loads(capsys.readouterr().out)["diagnostics"]}
    assert "Q-3" in codes


def test_a_folder_without_facts_is_wrong_usage(tmp_path: Path) -> None:
    intent = Path(__file__).resolve().parents[3] / "intent" / "lab-4.yml"
    assert main(["check", str(intent), "--facts", str(tmp_path)]) == 64


Tables = dict[str, dict[str, dict[str, str]]]


def take(*tables: str) -> Callable[[Tables], None]:
    def change(read: Tables) -> None:
        for table in tables:
            del read[table]

    return change


def put(table: str, key: str, **fields: str | None) -> Callable[[Tables], None]:
    def change(read: Tables) -> None:
        row = read.setdefault(table, {}).setdefault(key, {})
        for name, value in fields.items():
            if value is None:
                del row[name]
            else:
                row[name] = value

    return change


def take_qos(read: Tables) -> None:
    for table in [table for table in read if table not in ("PORT", "DEVICE_METADATA", "INTERFACE")]:
        del read[table]


WRED, ROCE, GROUP = "roce-400g", "pg_lossless_400000_40m_profile", "Ethernet0|3"
POOL = "ingress_lossless_pool"
MISMATCHES: dict[str, tuple[str, Callable[[Tables], object], str, str]] = {
    "no QoS": ("leaf", take_qos, "Q-3", "gpu1:rail0"),
    "no QoS of a spine": ("spine", take_qos, "Q-1", "pod-leaf1"),
    "no WRED rows": ("leaf", take("WRED_PROFILE"), "Q-5", "marks with ECN no priority, while 3 is lossless between"),
    "WRED of another name": ("leaf", put("QUEUE", GROUP, wred_profile="roce"), "Q-5", "gpu1:rail0"),
    "ecn_none": ("leaf", put("WRED_PROFILE", WRED, ecn="ecn_none"), "Q-5", "ecn is ecn_none"),
    "one color": ("leaf", put("WRED_PROFILE", WRED, wred_green_enable="false"), "Q-5", "on for yellow, red"),
    "probability 0": ("leaf", put("WRED_PROFILE", WRED, green_drop_probability="0"), "E-1", "with up to 0 %"),
    "constant marking": ("leaf", put("WRED_PROFILE", WRED, green_max_threshold="472000"), "E-1", "to 472000 bytes"),
    "alpha": ("leaf", put("BUFFER_PROFILE", ROCE, dynamic_th="-8"), "E-2", "alpha 0.00390625"),
    "alpha of a spine": ("spine", put("DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", default_dynamic_th="-8"), "E-2",
                         "alpha 0.00390625"),
    "wrong queue": ("leaf", put("TC_TO_QUEUE_MAP", "FABRIC", **{"3": "0"}), "Q-1", "queue (TC_TO_QUEUE_MAP)"),
    "wrong group": ("leaf", put("TC_TO_PRIORITY_GROUP_MAP", "FABRIC", **{"3": "0"}), "Q-1", "priority group"),
    "a lossy class in the lossless queue": ("leaf", put("TC_TO_QUEUE_MAP", "FABRIC", **{"0": "3"}), "Q-1", "0 and the"),
    "a word in DSCP_TO_TC_MAP": ("leaf", put("DSCP_TO_TC_MAP", "FABRIC", **{"30": "x"}), "Q-1",
        "DSCP_TO_TC_MAP|FABRIC of pod-leaf1 has 30: x, which is not a number"),
    "a word in TC_TO_QUEUE_MAP": ("spine", put("TC_TO_QUEUE_MAP", "FABRIC", **{"5": "NULL"}), "Q-1",
        "TC_TO_QUEUE_MAP|FABRIC of pod-spine1 has 5: NULL, which is not a number"),
    "a class beyond the last": ("leaf", put("DSCP_TO_TC_MAP", "FABRIC", **{"30": "50"}), "Q-1",
        "DSCP_TO_TC_MAP|FABRIC of pod-leaf1 has 30: 50: SONiC knows keys up to 63 and values up to 15"),
    "a code point beyond the last": ("leaf", put("DSCP_TO_TC_MAP", "FABRIC", **{"99": "0"}), "Q-1", "has 99: 0: SONiC"),
    "a queue beyond the last": ("spine", put("TC_TO_QUEUE_MAP", "FABRIC", **{"5": "55"}), "Q-1", "values up to 9"),
    "a group below the first": ("leaf", put("TC_TO_PRIORITY_GROUP_MAP", "FABRIC", **{"5": "-1"}), "Q-1", "has 5: -1"),
    "CNP to queue 0": ("leaf", put("TC_TO_QUEUE_MAP", "FABRIC", **{"6": "0"}), "Q-4", "of cnp is 0 on pod-leaf1"),
    "a pause of another group": ("spine", put("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "FABRIC", **{"3": "4"}), "Q-1",
                                 "pausing group"),
    "lossless queue on a lossy profile": ("leaf", put("BUFFER_QUEUE", GROUP, profile="egress_lossy_profile"), "H-pools",
                                          "queue 3 of pod-leaf1:Ethernet0, towards gpu1:rail0, has profile e"),
    "profile missing": ("leaf", put("BUFFER_PG", GROUP, profile="no_such"), "H-headroom", "no priority, while 3"),
    "profile NULL": ("leaf", put("BUFFER_PG", GROUP, profile="NULL"), "H-headroom", "no priority, while 3"),
    "no headroom group": ("spine", put("BUFFER_PG", GROUP, profile=None), "H-headroom", "no priority, while 3"),
    "pool shrunk": ("leaf", put("BUFFER_POOL", POOL, size="60000000"), "H-pools", "size 60000000, by design 113143792"),
    "pool so small that PFC comes first": ("leaf", put("BUFFER_POOL", POOL, size="49000000"), "E-2", "marking starts"),
    "pool of no size": ("leaf", put("BUFFER_POOL", POOL, size="9" * 5000), "H-pools", "by design 113143792"),
    "no pools": ("leaf", take("BUFFER_POOL"), "H-pools", "is not there"),
    "no buffer tables": ("leaf", take("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG"), "H-headroom", "gpu1"),
    "shared headroom pool": ("spine", put("DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", over_subscribe_ratio="2"),
                             "H-pools", "over_subscribe_ratio 2, by design not set"),
    "watchdog action": ("leaf", put("PFC_WD", "Ethernet0", action="forward"), "W-1", "does forward"),
    "watchdog time": ("leaf", put("PFC_WD", "Ethernet0", detection_time="5000"), "W-2", "5000 ms, by design 400 ms"),
    "watchdog poll": ("leaf", put("PFC_WD", "GLOBAL", POLL_INTERVAL=None), "W-2", "POLL_INTERVAL of the watchdog of"),
    "share 1 against 99": ("leaf", lambda read: read["SCHEDULER"].update(
        {"roce": {"type": "DWRR", "weight": "1"}, "best-effort": {"type": "DWRR", "weight": "99"}}), "Q-6",
        "roce 1 % (by design 90 %), best-effort 99 % (by design 10 %)"),
    "bulk strict": ("leaf", put("SCHEDULER", "best-effort", type="STRICT"), "Q-6", "is served STRICT, not DWRR"),
    "rate cap": ("leaf", put("SCHEDULER", "roce", meter_type="bytes", pir="1250000000"), "Q-6", "pir 1250000000"),
    "no limit of notifications": ("leaf", put("SCHEDULER", "cnp-400g", pir=None), "Q-6", "by design a rate limit"),
    "rate cap of the port": ("leaf", lambda read: (put("SCHEDULER", "cap", type="STRICT", pir="9")(read), put(
        "PORT_QOS_MAP", "Ethernet0", scheduler="cap")(read)), "Q-6", "all queues together have a rate limit"),
    "no scheduler": ("leaf", put("QUEUE", GROUP, scheduler=None), "Q-6", "queue 3 of roce has no scheduler"),
    "no cable length": ("spine", take("CABLE_LENGTH"), "H-headroom", "has no cable length"),
    "two rows for a queue": ("leaf", put("QUEUE", "Ethernet0|3-4", scheduler="best-effort"), "Q-6", "set Ethernet0|3 "),
    "two rows for a buffer": ("leaf", put("BUFFER_QUEUE", "Ethernet0|2-3", profile="egress_lossy_profile"), "H-pools",
                              "two rows of BUFFER_QUEUE of pod-leaf1 set Ethernet0|3 otherwise"),
    "DSCP rewritten": ("leaf", lambda read: (put("TC_TO_DSCP_MAP", "out", **{"3": "10"})(read), put(
        "PORT_QOS_MAP", "Ethernet0", tc_to_dscp_map="[TC_TO_DSCP_MAP|out]")(read)), "Q-2",
        "pod-leaf1:Ethernet0 sends roce on to gpu1:rail0 with DSCP 10"),
    "no hash": ("spine", take("SWITCH_HASH"), "L-1", "the fields of the ECMP hash of pod-spine1 are not set"),
    "hash without the queue pair": ("spine", put("SWITCH_HASH", "GLOBAL", ecmp_hash="DST_IP,SRC_IP"), "L-1",
                                    "pod-spine1 hashes over DST_IP, SRC_IP, without L4_SRC_PORT"),
    "hash without addresses": ("spine", put("SWITCH_HASH", "GLOBAL", ecmp_hash="L4_SRC_PORT,DST_IP"), "L-1",
                               "by design over IP_PROTOCOL, L4_DST_PORT, SRC_IP too"),
    "seed of the other tier": ("spine", put("DEVICE_METADATA", "localhost", type="ToRRouter"), "L-1", "one seed (0)"),
    "no port": ("leaf", lambda read: read["PORT"].pop("Ethernet0"), "P-3", "pod-leaf1 has no port Ethernet0"),
    "no map of the switch": ("leaf", put("PORT_QOS_MAP", "global", dscp_to_tc_map=None), "Q-2", "with DSCP 26 of roce"),
}  # fmt: skip


def longer_cables(read: Tables) -> None:
    read["CABLE_LENGTH"]["AZURE"] = dict.fromkeys(read["CABLE_LENGTH"]["AZURE"], "100000m")


def larger_groups(read: Tables) -> None:
    name = next(one for one in read["BUFFER_PROFILE"] if one.startswith("pg_lossless_400000"))
    read["BUFFER_PROFILE"][name]["size"] = "40000000"


def without_headroom_pool(read: Tables) -> None:
    larger_groups(read)
    del read["BUFFER_POOL"][POOL]["xoff"]


OVERRUNS: dict[str, tuple[str, str, Callable[[Tables], None], str]] = {
    "computed": (
        "spine",
        "",
        longer_cables,
        r"2 lossless groups of pod-spine1 need \d+ of the \d+ bytes of its buffer",
    ),
    "beside pools": (
        "spine",
        "sonic: {buffer_model: traditional}\n",
        larger_groups,
        "of the 60817392 bytes of the chip",
    ),
    "in the pool": (
        "leaf",
        "",
        without_headroom_pool,
        "6 lossless groups of pod-leaf1 need 240000000 of the 113143792",
    ),
}


@pytest.mark.parametrize("name", OVERRUNS)
def test_headroom_that_does_not_fit_a_switch_without_a_pool_for_it_is_found(pod: Pod, name: str) -> None:
    tier, extra, change, words = OVERRUNS[name]
    switch, fabric = f"pod-{tier}1", pod(extra)
    read = running(fabric, switch)
    assert not [one for one in found(fabric, **{switch.replace("-", "_"): read}) if one.code == "H-budget"]
    change(read)
    (told,) = [one for one in found(fabric, **{switch.replace("-", "_"): read}) if one.code == "H-budget"]
    assert re.search(words, told.message), told.message
    assert told.devices == (switch,)


@pytest.mark.parametrize("name", MISMATCHES)
def test_a_mismatch_of_a_running_switch_is_found(pod: Pod, name: str) -> None:
    tier, change, code, words = MISMATCHES[name]
    switch, fabric = f"pod-{tier}1", pod()
    read = running(fabric, switch)
    change(read)
    told = [one for one in found(fabric, **{switch.replace("-", "_"): read}) if one.code == code]
    assert any(words in one.message for one in told), told
    assert all(switch in one.message and one.fix for one in told)
