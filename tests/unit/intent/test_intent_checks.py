"""Rules of check_intent that a report of one wrong intent does not show: both sides of every bound."""

import re
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.checks.intent import check_intent
from railweave.design.build import design
from railweave.diagnostics import Severity
from railweave.intent.load import load_intent_text

PROJECT = Path(__file__).parents[3]
BASE = (PROJECT / "intent" / "pod-32.yml").read_text()
NICS = "{count: 4, speed: 400G, model: connectx-7}"
CLASSES = """\
traffic_classes:
  - {name: roce, dscp: [26], lossless: true, priority: 3, share: 90}
  - {name: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, dscp: default, priority: 0, share: 10}
"""


def findings(text: str) -> list[tuple[str, str, str]]:
    return [(one.severity.value, one.code, one.where.path) for one in check_intent(load_intent_text(text, "i.yml"))]


def with_nics(nics: str) -> str:
    return re.sub(r"nics: \{.*\}", f"nics: {{{nics}}}", BASE)


def test_a_sound_intent_has_no_findings() -> None:
    assert findings(BASE) == []


@pytest.mark.parametrize(
    "nics",
    [
        "count: 4, speed: 200G, model: connectx-6, pcie: gen4x16",
        "count: 4, speed: 100G, model: connectx-6, pcie: gen4x8",
        "count: 4, speed: 100G, model: connectx-6, pcie: gen3x16",
        "count: 4, speed: 200G, ports: 2, model: connectx-7, pcie: gen5x16",
        "count: 4, speed: 400G, ports: 2, model: connectx-8, pcie: gen6x16",
        "count: 4, speed: 400G, ports: 2, model: connectx-8",
        "count: 4, speed: 200G, model: connectx-6",
        "count: 4, speed: 400G, ports: 2, model: connectx-8, pcie: 2xgen5x16",
    ],
)
def test_slots_that_carry_their_nic_pass(nics: str) -> None:
    assert findings(with_nics(nics)) == []


@pytest.mark.parametrize(
    "nics",
    [
        "count: 4, speed: 100G, model: connectx-6, pcie: gen3x8",
        "count: 4, speed: 200G, model: connectx-6, pcie: gen4x8",
        "count: 4, speed: 400G, model: connectx-7, pcie: gen4x16",
        "count: 4, speed: 400G, model: connectx-7, pcie: gen5x8",
    ],
)
def test_slots_slower_than_their_nic_are_refused(nics: str) -> None:
    assert findings(with_nics(nics)) == [("error", "P-1", "nodes[0].nics.pcie")]


def test_ports_that_share_their_speed_are_a_warning() -> None:
    nics = "count: 4, speed: 100G, ports: 2, model: intel-e810, pcie: gen4x16"
    assert findings(with_nics(nics)) == [("warning", "P-2", "nodes[0].nics.ports")]


def test_a_nic_without_a_model_can_be_sized_only() -> None:
    assert findings(with_nics("count: 4, speed: 400G")) == [("info", "RW113", "nodes[0].nics")]
    assert findings(with_nics("count: 4, speed: 400G, pcie: gen4x16"))[0] == ("error", "P-1", "nodes[0].nics.pcie")
    sizing = design(load_intent_text(with_nics("count: 4, speed: 400G"), "pod.yml"), load_catalog()).sizing
    named = design(load_intent_text(with_nics("count: 4, speed: 400G, model: connectx-7"), "pod.yml"), load_catalog())
    assert sizing is not None
    assert sizing == named.sizing


def test_a_nic_has_the_best_slot_that_it_is_made_for() -> None:
    catalog = load_catalog()
    assert [catalog.best_slot(catalog.nic(one)) for one in ("connectx-6", "connectx-8")] == [
        catalog.pcie_slot("gen4x16"),
        catalog.pcie_slot("2xgen5x16"),
    ]
    assert catalog.best_slot(None) is None


def test_inline_models_can_be_sized_only() -> None:
    text = BASE.replace("{model: nvidia-sn4700, count: 4}", "{ports: 32, speed: 400G, count: 4}")
    assert findings(text) == [("info", "RW113", "topology.spine")]


@pytest.mark.parametrize(("other", "clash"), [("gpu", True), ("gpu3", True), ("gpu33", False), ("gpux", False)])
def test_hosts_of_two_entries_have_names_of_their_own(other: str, clash: bool) -> None:
    entry = f"  - {{name: {other}, count: 4, gpus: 8, first_stripe: 2, nics: {NICS}}}\n"
    text = BASE.replace("topology:", entry + "topology:").replace("gpus: 256 ", "gpus: 288 ")
    assert findings(text) == ([("error", "RW104", "nodes[1].name")] if clash else [])


def test_a_growth_that_is_met_today_is_fine() -> None:
    text = BASE.replace("  gpus: 256 ", "  growth: {gpus: 256, months: 6}\n  gpus: 256 ")
    assert findings(text) == []


@pytest.mark.parametrize(("hold", "sound"), [(9, True), (8, False)])
def test_hold_is_at_least_three_keepalives(hold: int, sound: bool) -> None:
    assert findings(f"{BASE}bgp: {{hold: {hold}}}\n") == ([] if sound else [("error", "B-10", "bgp.hold")])


def test_a_long_keepalive_alone_is_shown_at_the_keepalive() -> None:
    assert findings(f"{BASE}bgp: {{keepalive: 4}}\n") == [("error", "B-10", "bgp.keepalive")]


@pytest.mark.parametrize(
    ("mtu", "found"),
    [
        ("{hosts: 9100}", []),
        ("{hosts: 9101}", [("error", "M-1", "mtu.hosts")]),
        ("{fabric: 8999}", [("error", "M-1", "mtu.fabric")]),
        ("{hosts: 4192}", []),
        ("{hosts: 4191}", [("warning", "M-4", "mtu.hosts")]),
        ("{hosts: 100}", [("warning", "M-4", "mtu.hosts")]),
    ],
)
def test_mtu_bounds(mtu: str, found: list[tuple[str, str, str]]) -> None:
    assert findings(f"{BASE}mtu: {mtu}\n") == found


def test_a_host_mtu_of_1500_leaves_roce_1024() -> None:
    (found,) = check_intent(load_intent_text(f"{BASE}mtu: {{hosts: 1500}}\n", "i.yml"))
    assert "packets of 1024 bytes" in found.message


def test_bgp_rides_the_cnp_class_and_the_report_says_so() -> None:
    assert findings(BASE + CLASSES) == [("info", "RW108", "traffic_classes")]


def test_a_control_class_takes_bgp_over() -> None:
    control = "  - {name: control, dscp: [56], priority: 7, strict: true}\n"
    assert findings(BASE + CLASSES + control) == []
    # BFD is always marked 48: it stays with the notifications.
    (found,) = check_intent(load_intent_text(f"{BASE}{CLASSES}{control}bgp: {{bfd: true}}\n", "i.yml"))
    assert found.message == "BFD uses class `cnp` at DSCP 48"
    assert (
        findings(f"{BASE}{CLASSES}{control.replace('56', '48, 56')}bgp: {{bfd: true}}\n".replace("[48]", "[49]")) == []
    )


def test_bfd_outside_a_strict_class_is_a_warning() -> None:
    control = "  - {name: control, dscp: [56], priority: 7, strict: true}\n"
    text = f"{BASE}{CLASSES.replace('[48]', '[49]')}{control}"
    assert findings(text) == []
    (found,) = check_intent(load_intent_text(f"{text}bgp: {{bfd: true}}\n", "i.yml"))
    assert found.message == "BFD is sent with DSCP 48 and uses class `best-effort`, which is not strict"
    assert found.fix == "put 48 into the control class"


def test_two_control_classes_are_one_too_many() -> None:
    controls = "".join(
        f"  - {{name: {n}, dscp: [{d}], priority: {p}, strict: true}}\n"
        for n, d, p in (("bgp", 56, 7), ("control", 57, 5))
    )
    assert findings(BASE + CLASSES + controls) == [("error", "RW108", "traffic_classes[4]")]


def test_a_control_class_needs_a_code_point() -> None:
    text = CLASSES.replace("best-effort", "best-effort, role: control")
    assert ("error", "RW108", "traffic_classes[2].dscp") in findings(BASE + text)


def test_bgp_outside_a_strict_class_is_a_warning() -> None:
    assert findings(BASE + CLASSES.replace("[48]", "[49]")) == [("warning", "RW108", "traffic_classes")]


def test_a_notification_class_that_waits_is_a_warning() -> None:
    text = CLASSES.replace("strict: true", "share: 5").replace("share: 90", "share: 85")
    assert findings(BASE + text) == [
        ("warning", "RW108", "traffic_classes"),
        ("warning", "Q-4", "traffic_classes[1]"),
    ]


STRICT = {
    "RoCE above notifications and BGP": (
        "roce, role: rdma, dscp: [26], lossless: true, priority: 7, strict: true",
        ("`roce` (queue 7)", "cnp (queue 6), best-effort (queue 0) get nothing"),
    ),
    "bulk above RoCE": (
        "backup, role: bulk, dscp: [10], priority: 5, strict: true",
        ("`backup` (queue 5)", "roce (queue 3), best-effort (queue 0) get nothing"),
    ),
}


@pytest.mark.parametrize("name", STRICT)
def test_a_strict_class_of_bulk_data_starves_those_behind_it(name: str) -> None:
    row, words = STRICT[name]
    lines = [line for line in CLASSES.splitlines() if not (row.startswith("roce") and "name: roce" in line)]
    (found,) = [
        one for one in check_intent(load_intent_text(BASE + "\n".join([*lines, f"  - {{name: {row}}}", ""]), "i.yml"))
        if one.code == "Q-6"
    ]  # fmt: skip
    assert found.severity is Severity.ERROR
    assert all(word in found.message for word in words), found.message


@pytest.mark.parametrize(("share", "rest", "found"), [(1, 99, True), (9, 91, True), (10, 90, False), (1, 1, False)])
def test_rdma_with_next_to_no_share_is_refused(share: int, rest: int, found: bool) -> None:
    text = CLASSES.replace("share: 90", f"share: {share}").replace("share: 10", f"share: {rest}")
    assert (("error", "Q-6", "traffic_classes[0].share") in findings(BASE + text)) is found


def test_rdma_that_may_be_dropped_is_a_warning() -> None:
    text = CLASSES.replace("lossless: true, ", "")
    assert ("warning", "RW114", "traffic_classes[0]") in findings(BASE + text)


def test_a_fabric_without_rdma_is_a_warning() -> None:
    assert ("warning", "RW114", "traffic_classes") in findings(BASE + CLASSES.replace("name: roce", "name: storage"))


def test_rdma_without_a_notification_class_is_a_warning() -> None:
    text = CLASSES.replace("name: cnp", "name: control")
    assert findings(BASE + text) == [("warning", "Q-4", "traffic_classes")]


def test_more_than_two_lossless_classes_cost_headroom() -> None:
    more = "".join(
        f"  - {{name: s{n}, role: storage, dscp: [{n}], lossless: true, priority: {n}, share: 1}}\n" for n in (1, 2)
    )
    text = (CLASSES + more).replace("share: 90", "share: 80")
    assert ("warning", "H-budget", "traffic_classes") in findings(BASE + text)


def test_shares_of_exactly_100_pass() -> None:
    assert not [one for one in findings(BASE + CLASSES) if one[0] == "error"]


def test_unnumbered_links_need_no_pool() -> None:
    text = "addressing: {underlay: unnumbered, links: 10.255.0.0/16}\n"
    assert findings(BASE + text) == []


@pytest.mark.parametrize(
    ("asn", "found"),
    [
        ("{leaf: 64512, spine: 65534}", []),
        ("{leaf: 65531, spine: 64512}", []),
        ("{leaf: 65532, spine: 64512}", [("error", "B-1", "addressing.asn.leaf")]),
        ("{leaf: 4294967291}", []),
        ("{leaf: 4294967292}", [("error", "B-1", "addressing.asn.leaf")]),
        ("{spine: 23456}", [("error", "B-1", "addressing.asn.spine")]),
        ("{spine: 4210000003}", [("error", "B-1", "addressing.asn.spine")]),
        ("{spine: 4210000004}", []),
    ],
)
def test_as_numbers_stay_private_and_apart(asn: str, found: list[tuple[str, str, str]]) -> None:
    assert findings(f"{BASE}addressing: {{asn: {asn}}}\n") == found


def test_the_spines_of_every_plane_have_a_number_apart_from_the_leaves() -> None:
    text = BASE.replace("  shape:", "  planes: 2\n  shape:")
    numbers = "addressing: {asn: {leaf: 4200002000, spine: 4200001000}}\n"
    assert ("error", "B-1", "addressing.asn.spine") in findings(text + numbers)


@pytest.mark.parametrize("scope", ["leaf", "spine", "pod1-leaf4", "pod1-spine4"])
def test_overrides_may_name_roles_and_devices(scope: str) -> None:
    assert findings(f'{BASE}overrides: {{{scope}: {{SYSLOG_SERVER: {{"10.9.9.9": {{}}}}}}}}\n') == []


@pytest.mark.parametrize("scope", ["host", "leaf1", "pod2-leaf1", "pod1-leaf0", "pod1-leaf01"])
def test_overrides_for_nobody_are_refused(scope: str) -> None:
    text = f"{BASE}overrides: {{{scope}: {{NTP: {{global: {{}}}}}}}}\n"
    assert findings(text) == [("error", "RW110", f"overrides.{scope}")]


def test_buffers_may_be_overridden_until_they_are_computed() -> None:
    assert findings(f'{BASE}overrides: {{leaf: {{CABLE_LENGTH: {{AZURE: {{Ethernet0: "40m"}}}}}}}}\n') == []


def test_a_field_that_railweave_does_not_render_may_be_added() -> None:
    rows = 'PORT: {Ethernet0: {link_training: "on"}}, DEVICE_METADATA: {localhost: {timezone: "Etc/UTC"}}'
    assert findings(f"{BASE}overrides: {{leaf: {{{rows}}}}}\n") == []


@pytest.mark.parametrize("table", ["MGMT_INTERFACE", "MGMT_PORT", "BGP_NEIGHBOR"])
def test_tables_that_no_intent_may_state_are_refused(table: str) -> None:
    assert findings(f"{BASE}overrides: {{leaf: {{{table}: {{a: {{}}}}}}}}\n") == [
        ("error", "RW111", f"overrides.leaf.{table}")
    ]


def test_overrides_that_may_lock_people_out_are_warned_of_and_core_features_stay_on() -> None:
    for table in ("AAA", "ACL_RULE", "USER", "SSH_SERVER"):
        assert findings(f"{BASE}overrides: {{leaf: {{{table}: {{a: {{}}}}}}}}\n") == [
            ("warning", "RW111", f"overrides.leaf.{table}")
        ]
    off = "{bgp: {state: disabled}, swss: {state: disabled}, snmp: {state: disabled}, syncd: {auto_restart: enabled}}"
    assert findings(f"{BASE}overrides: {{leaf: {{FEATURE: {off}}}}}\n") == [
        ("error", "RW111", "overrides.leaf.FEATURE.bgp"),
        ("error", "RW111", "overrides.leaf.FEATURE.swss"),
    ]


LOSSY = """traffic_classes:
  - {name: roce, role: rdma, dscp: [26], transport: roce-lossy, priority: 3, share: 90}
  - {name: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, dscp: default, priority: 0, share: 10}
"""


def test_nics_without_published_settings_for_losses_are_named() -> None:
    assert not any(code in ("RW133", "RW114") for _, code, _ in findings(f"{BASE}{LOSSY}"))
    text = f"{BASE}{LOSSY}hosts: {{vendor: broadcom}}\n"
    (finding,) = (each for each in check_intent(load_intent_text(text, "i.yml")) if each.code == "RW133")
    assert finding.severity is Severity.INFO
    assert "no setting of retransmission is published" in finding.message
