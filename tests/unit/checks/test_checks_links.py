"""One wrong setting on one device is found, and both ends are named; one failing and one passing example a rule."""

from collections.abc import Callable

import pytest

from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.sonic.hashing import hash_seed

Findings = Callable[..., tuple[Diagnostic, ...]]

HOST, FABRIC = "Ethernet0", "Ethernet32"
"""A leaf's port to node gpu1, and its port to pod-spine1."""

WRONG = {
    "Q-1 queue": ("TC_TO_QUEUE_MAP: {FABRIC: {'3': '4'}}", "Q-1", "gpu1:rail0"),
    "Q-1 group": ("TC_TO_PRIORITY_GROUP_MAP: {FABRIC: {'3': '0'}}", "Q-1", "gpu1:rail0"),
    "Q-1 paused queue": ("MAP_PFC_PRIORITY_TO_QUEUE: {FABRIC: {'3': '2'}}", "Q-1", "gpu1:rail0"),
    "Q-1 mixed traffic": ("DSCP_TO_TC_MAP: {FABRIC: {'10': '3'}}", "Q-1", "gpu1:rail0"),
    "Q-2 SONiC's default": ("DSCP_TO_TC_MAP: {FABRIC: {'26': '1'}}", "Q-2", "3 by gpu1:rail0"),
    "Q-2 notification": ("DSCP_TO_TC_MAP: {FABRIC: {'48': '7'}}", "Q-2", "6 by gpu1:rail0"),
    "Q-3 other priority": (f"PORT_QOS_MAP: {{{HOST}: {{pfc_enable: '4'}}}}", "Q-3", "gpu1:rail0 3"),
    "Q-3 between switches": (f"PORT_QOS_MAP: {{{FABRIC}: {{pfc_enable: '3,4'}}}}", "Q-3", "pod-spine1:Ethernet0 3"),
    "Q-4 paused": (f"PORT_QOS_MAP: {{{HOST}: {{pfc_enable: '3,6'}}}}", "Q-4", "gpu1:rail0"),
    "Q-4 not strict": (f"QUEUE: {{'{HOST}|6': {{scheduler: roce}}}}", "Q-4", "gpu1:rail0"),
    "Q-5 unmarked": (f"QUEUE: {{'{HOST}|3': {{wred_profile: ''}}}}", "Q-5", "gpu1:rail0"),
    "Q-5 marked": (f"QUEUE: {{'{HOST}|0': {{wred_profile: roce-400g}}}}", "Q-5", "gpu1:rail0"),
    "W-1": (f"PORT_QOS_MAP: {{{HOST}: {{pfcwd_sw_enable: '4'}}}}", "W-1", "gpu1:rail0"),
    "H-headroom": (f"BUFFER_PG: {{'{HOST}|3': {{profile: ingress_lossy_profile}}}}", "H-headroom", "gpu1:rail0"),
    "H-headroom too small": ("BUFFER_PROFILE: {pg_lossless_400000_40m_profile: {xoff: '1024'}}", "H-headroom",
                             "gpu1:rail0 take 330200"),
    "H-headroom cable": (f"CABLE_LENGTH: {{AZURE: {{{FABRIC}: 5m}}}}", "H-headroom", "30 m lead to pod-spine1:Eth"),
    "E-1": ("WRED_PROFILE: {roce-400g: {green_min_threshold: '8000000'}}", "E-1", "gpu1:rail0"),
    "E-2": ("WRED_PROFILE: {roce-400g: {green_min_threshold: '17000000', green_max_threshold: '18000000'}}", "E-2",
            "gpu1:rail0"),
    "M-1": (f"PORT: {{{HOST}: {{mtu: '1500'}}}}", "M-1", "gpu1:rail0 has an MTU of 9000 bytes"),
    "M-2": (f"PORT: {{{FABRIC}: {{mtu: '9000'}}}}", "M-2", "pod-spine1:Ethernet0 of 9100"),
    "P-3": (f"PORT: {{{FABRIC}: {{speed: '100000'}}}}", "P-3", "pod-spine1:Ethernet0 400G"),
    "P-3 lanes": (f"PORT: {{{FABRIC}: {{lanes: '1,2,3,4'}}}}", "P-3", "pod-spine1:Ethernet0 was chosen for 8"),
    "P-5": (f"PORT: {{{FABRIC}: {{fec: none}}}}", "P-5", "pod-spine1:Ethernet0 rs"),
    "P-6": (f"PORT: {{{FABRIC}: {{autoneg: 'on'}}}}", "P-6", "pod-spine1:Ethernet0 off"),
    "Q-3 asymmetric": (f"PORT: {{{FABRIC}: {{pfc_asym: 'on'}}}}", "Q-3", "pod-spine1:Ethernet0"),
    "W-1 red switch": ("PFC_WD: {GLOBAL: {BIG_RED_SWITCH: enable}}", "W-1", "gpu1:rail0"),
    "W-2 detection": (f"PFC_WD: {{{HOST}: {{detection_time: '100'}}}}", "W-2", "gpu1:rail0"),
    "W-2 restoration": (f"PFC_WD: {{{FABRIC}: {{restoration_time: '100'}}}}", "W-2", "pod-spine1:Ethernet0"),
    "D-2 a VLAN": (f"VLAN_MEMBER: {{'Vlan100|{HOST}': {{tagging_mode: untagged}}}}", "D-2", "gpu1:rail0"),
    "D-2 a channel": (f"PORTCHANNEL_MEMBER: {{'PortChannel1|{FABRIC}': {{}}}}\n"
                      "    VLAN_MEMBER: {'Vlan100|PortChannel1': {tagging_mode: tagged}}", "D-2", "pod-spine1"),
    "L-1": ("DEVICE_METADATA: {localhost: {type: LeafRouter}}", "L-1", "pod-spine1"),
    "L-1 hash": ("SWITCH_HASH: {GLOBAL: {ecmp_hash: [SRC_IP, DST_IP]}}", "L-1", "gpu1"),
    "L-2": ("ARS_OBJECT: {fabric: {assign_mode: per_packet_quality}}", "L-2", "gpu1"),
}  # fmt: skip


def overridden(rows: str, scope: str = "pod-leaf1") -> str:
    return f"overrides:\n  {scope}:\n    {rows}\n"


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_found_and_both_ends_are_named(name: str, findings: Findings) -> None:
    rows, code, far = WRONG[name]
    found = [one for one in findings(overridden(rows)) if one.code == code and one.severity is Severity.ERROR]
    assert found, [one.code for one in findings(overridden(rows))]
    told = next(one for one in found if far in one.message)
    assert "pod-leaf1" in told.message
    assert "pod-leaf1" in told.devices
    assert len(told.devices) >= 2
    assert told.fix
    assert told.where.path == "overrides"


def test_only_the_wrong_setting_is_found(findings: Findings) -> None:
    found = findings(overridden(f"PORT_QOS_MAP: {{{HOST}: {{pfc_enable: '4'}}}}"))
    assert {one.code for one in found if one.severity is Severity.ERROR} == {"Q-3", "RW402"}


@pytest.mark.parametrize(
    "rows",
    [
        "SYSLOG_SERVER: {10.9.9.9: {}}",
        f"PORT: {{{FABRIC}: {{tpid: '0x8100'}}}}",
        "VLAN_MEMBER: {'Vlan100|Ethernet256': {tagging_mode: untagged}}",
        "SWITCH_HASH: {GLOBAL: {ecmp_hash: [SRC_IP, DST_IP, L4_SRC_PORT]}}",
        "ARS_OBJECT: {fabric: {assign_mode: per_flowlet_quality}}",
    ],
    ids=["other table", "harmless", "a VLAN elsewhere", "a hash with the port", "flowlets"],
)
def test_overrides_that_fit_are_not_told(rows: str, findings: Findings) -> None:
    assert not [one for one in findings(overridden(rows)) if one.severity is not Severity.INFO]


def test_packets_may_be_sprayed_towards_nics_that_reorder_them(findings: Findings) -> None:
    rows = overridden("ARS_OBJECT: {fabric: {assign_mode: per_packet_quality}}")
    assert not [one for one in findings(rows, nic="bluefield-3") if one.code == "L-2"]


@pytest.mark.parametrize(("leaf", "spine", "same"), [
    ("ToRRouter", "LeafRouter", False), ("LeafRouter", "LeafRouter", True), ("UpperSpineRouter", "SpineRouter", True),
    ("ToRRouter", "BackEndToRRouter", True), ("Unheard", "Unheard", True),
    ("ToRRouter", "not-provisioned", True), ("LeafRouter", "", False),
])  # fmt: skip
def test_types_are_compared_by_the_seed_that_they_give(leaf: str, spine: str, same: bool) -> None:
    assert (hash_seed(leaf) is not None and hash_seed(leaf) == hash_seed(spine)) is same


def test_autonegotiation_on_both_ends_fits(findings: Findings) -> None:
    rows = f"PORT: {{{FABRIC}: {{autoneg: 'on'}}, Ethernet40: {{autoneg: 'on'}}}}"
    leaves = f"overrides:\n  leaf:\n    {rows}\n  spine:\n    PORT: {{Ethernet0: {{autoneg: 'on'}}, "
    found = findings(leaves + "Ethernet8: {autoneg: 'on'}}\n")
    assert not [one for one in found if one.severity is not Severity.INFO]


def test_a_role_that_is_wrong_as_a_whole_is_told_once_a_device_with_the_number_of_its_links(findings: Findings) -> None:
    found = [one for one in findings(overridden("DSCP_TO_TC_MAP: {FABRIC: {'26': '1'}}", "leaf")) if one.code == "Q-2"]
    assert len(found) == 2
    assert all("more links" in one.message for one in found)


def test_the_links_of_the_example_are_where_it_says(pod: Callable[..., Fabric]) -> None:
    fabric = pod()
    panel = fabric.switch_of["pod-leaf1"].panel
    ends = {(panel.ports[link.upper_port].name, link.lower) for link in fabric.links_of["pod-leaf1"] if link.rail == 0}
    ups = {
        (panel.ports[link.lower_port].name, link.upper)
        for link in fabric.links_of["pod-leaf1"]
        if link.lower == "pod-leaf1"
    }
    assert (HOST, "gpu1") in ends
    assert (FABRIC, "pod-spine1") in ups
