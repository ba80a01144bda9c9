"""Intended against running: what is ours, what is kept, what stands in the way."""

from collections.abc import Iterable
from typing import Any

import pytest

from railweave.sonic.delta.change import Change, Delta, Disruption, Edit, Method, Op
from railweave.sonic.delta.delta import inverse
from railweave.sonic.delta.diff import NOT_IN_THE_INTENT, TAKEN, DeviceDiff, diff
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.delta.kept import keeps_what_came, with_removals
from railweave.sonic.delta.merge import apply, delta_of, merge_document
from railweave.sonic.delta.snapshot import snapshot_before, snapshot_of
from railweave.sonic.document import RunningConfig, running_from
from railweave.sonic.rows import FRR_TABLE, DeviceConfig, Row

PLATFORM = "x86_64-kvm_x86_64-r0"
FRR = "router bgp 65001\n no bgp default ipv4-unicast\n"
METADATA = {
    "hostname": "leaf1",
    "docker_routing_config_mode": "split-unified",
    "bgp_asn": "65001",
    "hwsku": "SKU",
    "mac": "52:54:00:00:00:01",
    "platform": PLATFORM,
    "buffer_model": "traditional",
}


def port(number: int, **fields: str) -> dict[str, str]:
    lanes = ",".join(str(4 * number + lane) for lane in range(4))
    return {"lanes": lanes, "speed": "100000", "admin_status": "up", "mtu": "9100", **fields}


def running(tables: dict[str, Any] | None = None, frr: str | None = FRR, **metadata: str) -> RunningConfig:
    base = {
        "DEVICE_METADATA": {"localhost": {**METADATA, **metadata}},
        "PORT": {"Ethernet0": port(0, dhcp_rate_limit="300"), "Ethernet4": port(1), "Ethernet120": port(30)},
        "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}},
    }
    return running_from({**base, **(tables or {}), "bgpraw": frr})


def wanted(tables: dict[str, Any] | None = None, frr: str = FRR) -> DeviceConfig:
    base: dict[str, Any] = {
        "DEVICE_METADATA": {"localhost": {name: METADATA[name] for name in list(METADATA)[:4]}},
        "PORT": {"Ethernet0": port(0), "Ethernet4": port(1)},
        "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}},
    }
    rows = tuple(
        Row(table, key, fields, f"why {table}|{key}")
        for table, found in {**base, **(tables or {})}.items()
        for key, fields in found.items()
    )
    return DeviceConfig("leaf1", rows, frr)


def compare(device: RunningConfig, intent: DeviceConfig, **options: Any) -> DeviceDiff:
    return diff("leaf1", device, intent, **options)


def lines(changes: Iterable[Change]) -> list[str]:
    return [f"{one.op} {one.table}|{one.key}{'|' + one.field if one.field else ''}" for one in changes]


def test_a_switch_that_runs_its_intent_has_no_changes() -> None:
    found = compare(running(), wanted(), platform=PLATFORM)
    assert found == DeviceDiff(Delta(), {"PORT": 1}, (), False)


def test_fields_that_the_intent_does_not_state_stay_on_ports_and_metadata() -> None:
    device = running({"PORT": {"Ethernet0": port(0, tpid="0x8100", fec="rs"), "Ethernet4": port(1)}})
    assert compare(device, wanted()).delta.changes == ()


def test_a_changed_field_says_what_it_was_and_why_it_is_to_be() -> None:
    intent = wanted({"PORT": {"Ethernet0": port(0, mtu="9216"), "Ethernet4": port(1)}})
    (change,) = compare(running(), intent).delta.changes
    assert change == Change(
        Op.UPDATE,
        "PORT",
        "Ethernet0",
        "mtu",
        "9100",
        "9216",
        Disruption.NONE,
        Method.PATCH,
        "The MTU of the fabric's links and the nodes' packets on them (mtu.fabric).",
    )


def test_what_ports_have_in_common_is_said_in_the_same_words_and_what_is_their_own_as_the_row_says() -> None:
    ports = {f"Ethernet{4 * at}": port(at, mtu="9216", description="to spine") for at in (0, 1)}
    told = [(one.field, one.reason) for one in compare(running(), wanted({"PORT": ports})).delta]
    mtu = "The MTU of the fabric's links and the nodes' packets on them (mtu.fabric)."
    assert told == [
        ("description", "why PORT|Ethernet0"),
        ("mtu", mtu),
        ("description", "why PORT|Ethernet4"),
        ("mtu", mtu),
    ]


def test_a_field_that_is_not_wanted_goes_where_the_row_is_ours() -> None:
    device = running({"SCHEDULER": {"roce": {"type": "STRICT", "weight": "5"}}})
    intent = wanted({"SCHEDULER": {"roce": {"type": "STRICT"}}})
    (change,) = compare(device, intent).delta.changes
    assert (change.op, change.field, change.before, change.after) == (Op.UPDATE, "weight", "5", "1")
    assert not compare(running({"SCHEDULER": {"roce": {"type": "STRICT", "weight": "1"}}}), intent).delta
    device = running({"QUEUE": {"Ethernet0|3": {"scheduler": "roce", "wred_profile": "roce"}}})
    (change,) = compare(device, wanted({"QUEUE": {"Ethernet0|3": {"scheduler": "roce"}}})).delta.changes
    assert (change.op, change.field, change.before, change.after) == (Op.REMOVE, "wred_profile", "roce", None)


def test_rows_of_our_ports_go_and_rows_of_service_ports_stay() -> None:
    device = running(
        {
            "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}, "Ethernet4": {}, "Ethernet120": {}},
            "QUEUE": {"Ethernet4|3": {"scheduler": "x"}, "Ethernet120|3": {"scheduler": "x"}},
            "SCHEDULER": {"x": {"type": "STRICT"}, "y": {"type": "STRICT"}},
        }
    )
    found = compare(device, wanted())
    assert lines(found.delta.changes) == [
        "remove INTERFACE|Ethernet4",
        "remove QUEUE|Ethernet4|3",
        "remove SCHEDULER|y",
    ]
    assert {one.reason for one in found.delta.changes} == {NOT_IN_THE_INTENT}
    # The scheduler that the service port's queue names is kept with it.
    assert found.unmanaged == {"INTERFACE": 1, "PORT": 1, "QUEUE": 1, "SCHEDULER": 1}


def test_rows_for_the_whole_switch_are_ours_though_their_table_goes_by_port() -> None:
    device = running({"PORT_QOS_MAP": {"global": {"dscp_to_tc_map": "A"}}})
    assert lines(compare(device, wanted()).delta.changes) == ["remove PORT_QOS_MAP|global"]


WATCHDOG = {"GLOBAL": {"POLL_INTERVAL": "400"}, "Ethernet0": {"action": "drop", "detection_time": "400"}}


def test_without_a_watchdog_its_ports_go_and_its_row_for_the_whole_switch_stays() -> None:
    device = running({"PFC_WD": WATCHDOG})
    found = compare(device, wanted())
    assert lines(found.delta.changes) == ["remove PFC_WD|Ethernet0"]
    assert found.unmanaged == {"PORT": 1}
    after = apply(merge_document(found.delta), device)
    assert after.config_db["PFC_WD"] == {"GLOBAL": WATCHDOG["GLOBAL"]}
    assert compare(after, wanted()).delta.changes == ()
    assert running_sha256(after, wanted()) == running_sha256(running(), wanted())


def test_a_row_of_the_watchdog_that_a_way_back_left_is_as_good_as_none() -> None:
    intent, before = wanted({"PFC_WD": WATCHDOG}), running()
    found = compare(before, intent)
    assert lines(found.delta.changes) == ["add PFC_WD|Ethernet0", "add PFC_WD|GLOBAL"]
    document = merge_document(found.delta)
    after = apply(document, before)
    restored = apply(merge_document(inverse(delta_of(document, before))), after)
    assert restored.config_db["PFC_WD"] == {"GLOBAL": {"POLL_INTERVAL": "100"}}
    assert compare(restored, wanted()).delta.changes == ()
    for one in (intent, wanted()):
        assert running_sha256(restored, one) == running_sha256(before, one)
    for snapshot in (
        snapshot_of(merge_document(inverse(delta_of(document, before))), after, intent),
        snapshot_before(found.delta, before, intent),
    ):
        back = snapshot.difference(after, "back").delta
        assert lines(back.changes) == ["remove PFC_WD|Ethernet0", "update PFC_WD|GLOBAL|POLL_INTERVAL"]
        assert snapshot.missing(after) == ("PFC_WD|Ethernet0", "PFC_WD|GLOBAL")
        assert snapshot.missing(restored) == ()


HASH = {"GLOBAL": {"ecmp_hash": ("L4_SRC_PORT", "SRC_IP")}}


@pytest.mark.parametrize("had", [{}, {"SWITCH_HASH": {"GLOBAL": {"lag_hash": ["SRC_IP"]}}}], ids=["no row", "a row"])
def test_the_hash_stays_where_a_change_goes_back_for_orchagent_removes_none_of_it(had: dict[str, Any]) -> None:
    intent, before = wanted({"SWITCH_HASH": HASH}), running(had)
    found = compare(before, intent)
    (change,) = found.delta.changes
    assert (change.method.value, change.disruption.value) == ("write", "none")
    document = merge_document(found.delta)
    after = apply(document, before)
    assert compare(after, intent).delta.changes == ()
    assert after.config_db["SWITCH_HASH"]["GLOBAL"].keys() == {"ecmp_hash", *had.get("SWITCH_HASH", HASH)["GLOBAL"]}
    assert not inverse(delta_of(document, before)).changes
    for snapshot in (
        snapshot_of(merge_document(inverse(delta_of(document, before))), after, intent),
        snapshot_before(found.delta, before, intent),
    ):
        assert not snapshot.difference(after, "back").delta.changes
        assert snapshot.missing(after) == ()
    back = with_removals(merge_document(inverse(delta_of(document, before))), delta_of(document, before))
    for snapshot in (snapshot_of(back, after, intent), snapshot_before(found.delta, before, intent)):
        (kept,) = snapshot.difference(after, "back").kept
        assert kept.place == ("SWITCH_HASH|GLOBAL ecmp_hash" if had else "SWITCH_HASH|GLOBAL")
        assert "orchagent refuses its removal" in kept.why
        assert snapshot.difference(before, "back").kept == ()
    assert keeps_what_came(change) == kept.why
    (unstated,) = compare(after, wanted()).kept
    assert (unstated.place, unstated.why) == ("SWITCH_HASH|GLOBAL", kept.why)
    for one in (intent, wanted()):
        assert running_sha256(after, one) == running_sha256(before, one)
    assert compare(after, wanted()).delta.changes == ()


@pytest.mark.parametrize(
    "table",
    ["MGMT_INTERFACE", "AAA", "TACPLUS_SERVER", "SNMP_COMMUNITY", "SYSLOG_SERVER", "NTP_SERVER", "ACL_RULE", "FEATURE",
     "BUFFER_POOL", "CABLE_LENGTH", "SOMETHING_NEW"],
)  # fmt: skip
def test_tables_of_others_are_never_touched(table: str) -> None:
    found = compare(running({table: {"a": {"b": "c"}, "d": {}}}), wanted())
    assert found.delta.changes == ()
    assert found.unmanaged == {"PORT": 1, table: 2}


def test_rows_that_sonic_makes_are_neither_a_difference_nor_somebody_s() -> None:
    device = running(
        {
            "BUFFER_PROFILE": {"pg_lossless_100000_5m_profile": {"size": "1"}, "mine": {"size": "1"}},
            "BUFFER_PG": {
                "Ethernet0|3-4": {"profile": "pg_lossless_100000_5m_profile"},
                "Ethernet0|0": {"profile": "mine"},
            },
            "VERSIONS": {"DATABASE": {"VERSION": "version_202505_01"}},
        }
    )
    found = compare(device, wanted())
    assert found.delta.changes == ()
    assert found.unmanaged == {"BUFFER_PG": 1, "BUFFER_PROFILE": 1, "PORT": 1}


def test_an_override_owns_its_row_and_no_other_of_its_table() -> None:
    device = running({"SYSLOG_SERVER": {"10.9.9.9": {"port": "514"}, "10.1.1.1": {}}})
    intent = wanted({"SYSLOG_SERVER": {"10.9.9.9": {"severity": "info"}}})
    found = compare(device, intent)
    assert lines(found.delta.changes) == ["remove SYSLOG_SERVER|10.9.9.9|port", "add SYSLOG_SERVER|10.9.9.9|severity"]
    assert found.unmanaged["SYSLOG_SERVER"] == 1


def test_an_override_of_a_row_that_belongs_to_many_owns_its_fields_only() -> None:
    device = running({"CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet120": "40m"}}})
    intent = wanted({"CABLE_LENGTH": {"AZURE": {"Ethernet0": "30m"}}})
    assert lines(compare(device, intent).delta.changes) == ["update CABLE_LENGTH|AZURE|Ethernet0"]


BROKEN_OUT = {"Ethernet0": port(0), "Ethernet4": port(1, lanes="4,5"), "Ethernet6": port(1, lanes="6,7")}


def test_a_port_goes_only_where_it_shares_a_lane_with_an_intended_one() -> None:
    device = running({"PORT": BROKEN_OUT | {"Ethernet120": port(30)}})
    found = compare(device, wanted())
    assert lines(found.delta.changes) == ["update PORT|Ethernet4|lanes", "remove PORT|Ethernet6"]
    assert {one.method for one in found.delta.changes} == {Method.RELOAD}


def test_service_ports_that_share_lanes_with_a_fabric_port_by_design_stay() -> None:
    device = running({"PORT": {"Ethernet0": port(0), "Ethernet4": port(1), "Ethernet33": port(1, lanes="4")}})
    assert compare(device, wanted()).delta.changes == ()


@pytest.mark.parametrize(
    ("table", "key", "fields"),
    [
        ("VLAN_MEMBER", "Vlan100|Ethernet0", {"tagging_mode": "untagged"}),
        ("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0", {}),
        ("VLAN_SUB_INTERFACE", "Ethernet0.100", {"vlan": "100"}),
        ("VLAN_SUB_INTERFACE", "Eth0.100|10.0.0.9/31", {}),
        ("MIRROR_SESSION", "span", {"type": "SPAN", "dst_port": "Ethernet0"}),
    ],
)
def test_a_foreign_row_on_a_fabric_port_is_a_conflict_and_can_be_taken(
    table: str, key: str, fields: dict[str, str]
) -> None:
    device = running({table: {key: fields, "other|Ethernet120": {}}})
    (conflict,) = compare(device, wanted()).conflicts
    assert (conflict.table, conflict.key, conflict.port) == (table, key, "Ethernet0")
    assert "Ethernet0" in str(conflict)
    taken = compare(device, wanted(), remove_conflicting=True)
    assert lines(taken.delta.changes) == [f"remove {table}|{key}"]
    assert taken.delta.changes[0].reason == TAKEN
    assert taken.delta.changes[0].before == fields
    assert taken.conflicts == ()
    assert taken.unmanaged[table] == 1


def test_a_port_that_the_intent_keeps_in_reserve_conflicts_only_when_it_would_go_down() -> None:
    member = {"VLAN_MEMBER": {"Vlan100|Ethernet4": {"tagging_mode": "untagged"}}}
    reserve = wanted({"PORT": {"Ethernet0": port(0), "Ethernet4": port(1, admin_status="down")}})
    assert [one.port for one in compare(running(member), reserve).conflicts] == ["Ethernet4"]
    down = {"PORT": {"Ethernet0": port(0), "Ethernet4": port(1, admin_status="down")}}
    assert compare(running(member | down), reserve).conflicts == ()


def test_every_reference_to_a_port_that_breakout_removes_is_a_conflict() -> None:
    device = running(
        {
            "PORT": BROKEN_OUT,
            "BUFFER_PG": {
                "Ethernet6|0": {"profile": "lossy"},
                "Ethernet6|3": {"profile": "pg_lossless_50000_5m_profile"},
            },
            "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet6": "5m"}},
            "ACL_TABLE": {"IN": {"ports": ["Ethernet0", "Ethernet6"]}, "OUT": {"ports": ["Ethernet6"]}},
            "QUEUE": {"Ethernet6|3": {"scheduler": "x"}},
        }
    )
    found = compare(device, wanted())
    assert [f"{one.table}|{one.key}" for one in found.conflicts] == [
        "BUFFER_PG|Ethernet6|0",
        "CABLE_LENGTH|AZURE",
        "ACL_TABLE|IN",
        "ACL_TABLE|OUT",
    ]
    taken = compare(device, wanted(), remove_conflicting=True)
    after = apply(merge_document(taken.delta), device).config_db
    assert after["CABLE_LENGTH"] == {"AZURE": {"Ethernet0": "5m"}}
    assert after["ACL_TABLE"] == {"IN": {"ports": ("Ethernet0",)}, "OUT": {}}
    assert "Ethernet6|0" not in after["BUFFER_PG"]
    assert "QUEUE" not in after


@pytest.mark.parametrize("metadata", [{"hostname": "sonic"}, {"docker_routing_config_mode": "separated"}])
def test_a_switch_never_deployed_takes_everything_by_reload(metadata: dict[str, str]) -> None:
    found = compare(running(None, "frr version 8.4\n", **metadata), wanted())
    assert found.unprovisioned
    assert len(found.delta.changes) == 3
    assert {(one.disruption, one.method) for one in found.delta.changes} == {(Disruption.RELOAD, Method.RELOAD)}


def test_an_unknown_frr_configuration_is_refused_not_taken_as_empty() -> None:
    found = compare(running(frr=""), wanted())
    assert found.delta.changes == ()
    assert "unknown" in found.blockers[0].message
    assert found.blockers[0].fix


@pytest.mark.parametrize("platform", ["x86_64-other-r0", ""])
def test_another_platform_is_refused(platform: str) -> None:
    found = compare(running(platform=platform), wanted(), platform=PLATFORM)
    assert found.delta.changes == ()
    assert PLATFORM in found.blockers[0].message


def test_a_switch_whose_config_db_is_empty_is_refused_with_what_fills_it() -> None:
    found = compare(running_from({"bgpraw": FRR}), wanted(), platform=PLATFORM)
    assert found.delta.changes == ()
    assert [(one.message, one.fix) for one in found.blockers] == [
        (
            "CONFIG_DB is empty: it has no DEVICE_METADATA",
            "load its own file with `sudo config reload -y`, or a factory one with `sudo config-setup factory`",
        )
    ]


def test_frr_lines_are_changes_with_their_context_and_secrets_stay_hidden() -> None:
    intent = wanted(frr=FRR + " neighbor 10.0.0.1 remote-as 65100\n neighbor 10.0.0.1 password s3cret\n")
    found = compare(running(), intent)
    assert lines(one.shown for one in found.delta) == [
        "add frr|router bgp 65001|neighbor 10.0.0.1 remote-as 65100",
        "add frr|router bgp 65001|neighbor 10.0.0.1 password (hidden)",
    ]
    assert "s3cret" not in repr(found)
    assert "s3cret" in merge_document(found.delta)["bgpraw"]


SONIC_FRR = """frr version 10.3
vrf mgmt
 ip route 0.0.0.0/0 192.0.2.1
 ip nht resolve-via-default
 ipv6 nht resolve-via-default
exit-vrf
!
ip nht resolve-via-default
!
ipv6 nht resolve-via-default
!
"""
"""What SONiC's build of FRR adds (202411 and later) on a switch with a management VRF and a route of its owner's."""


def test_what_sonics_frr_prints_of_defaults_and_the_vrfs_of_others_are_no_change() -> None:
    intent = wanted(frr=FRR + "ip nht resolve-via-default\n")
    found = compare(running(frr=SONIC_FRR + FRR), intent)
    assert found.delta.changes == ()
    assert found.unmanaged == {"PORT": 1, "frr": 1}
    (change,) = compare(running(frr=SONIC_FRR + FRR + " bgp router-id 1.1.1.1\n"), intent).delta.changes
    assert (change.op, change.field) == (Op.REMOVE, "bgp router-id 1.1.1.1")


def test_a_vrf_that_the_intended_file_names_is_ours_line_by_line() -> None:
    intent = wanted(frr=FRR + "vrf mgmt\n ip route 0.0.0.0/0 192.0.2.254\nexit-vrf\n")
    assert lines(compare(running(frr=SONIC_FRR + FRR), intent).delta.changes) == [
        "remove frr|vrf mgmt|ip route 0.0.0.0/0 192.0.2.1",
        "add frr|vrf mgmt|ip route 0.0.0.0/0 192.0.2.254",
    ]


def test_a_way_back_leaves_every_line_that_its_change_did_not_touch_as_others_left_it() -> None:
    before = running(frr="frr version 10.3\nvrf storage\n ip route 0.0.0.0/0 192.0.2.9\nexit-vrf\n" + FRR)
    delta = compare(before, wanted(frr=FRR + " bgp router-id 1.1.1.1\n")).delta
    back = snapshot_before(delta, before, wanted())
    now = running(frr=SONIC_FRR + FRR + " bgp router-id 1.1.1.1\n bgp bestpath as-path multipath-relax\n")
    assert lines(back.difference(now, "back").delta.changes) == ["remove frr|router bgp 65001|bgp router-id 1.1.1.1"]
    theirs = running(frr=SONIC_FRR + FRR + " bgp bestpath as-path multipath-relax\n")
    assert not back.difference(theirs, "back").delta
    assert back.missing(theirs) == (
        "managed rows or FRR lines that the change does not touch (somebody else changed them)",
    )


def test_the_order_of_changes_is_natural() -> None:
    device = running({"PORT": {f"Ethernet{4 * number}": port(number) for number in range(12)}})
    ports = {f"Ethernet{4 * number}": port(number, mtu="1500", description="x") for number in reversed(range(12))}
    keys = [(one.key, one.field) for one in compare(device, wanted({"PORT": ports})).delta.changes]
    assert keys[:4] == [
        ("Ethernet0", "description"),
        ("Ethernet0", "mtu"),
        ("Ethernet4", "description"),
        ("Ethernet4", "mtu"),
    ]
    assert keys[-1] == ("Ethernet44", "mtu")


def test_the_hash_moves_with_what_is_ours_and_with_nothing_else() -> None:
    start = running_sha256(running(), wanted())
    assert start == running_sha256(running({"SNMP_COMMUNITY": {"x": {}}}, timezone="UTC"), wanted())
    shuffled = running({"PORT": dict(reversed(list(running().config_db["PORT"].items())))})
    assert start == running_sha256(shuffled, wanted())
    assert start == running_sha256(running(frr=f"frr version 10.3\nhostname x\n{FRR}"), wanted())
    assert start == running_sha256(running(frr=SONIC_FRR + FRR), wanted())
    ours = [
        running(bgp_asn="65002"),
        running({"INTERFACE": {"Ethernet0": {}}}),
        running({"SCHEDULER": {"x": {"type": "STRICT"}}}),
        running(frr=FRR + " bgp router-id 10.0.0.1\n"),
        running(frr=None),
    ]
    assert len({start, *(running_sha256(one, wanted()) for one in ours)}) == len(ours) + 1


POOLS = {"ingress_lossless_pool": {"size": "1"}}
LOSSLESS = {"profile": "pg_lossless_100000_40m_profile"}


def test_where_the_engine_computes_buffers_the_tables_are_ours() -> None:
    device = running(
        {
            "BUFFER_POOL": {**POOLS, "theirs_pool": {"size": "2"}},
            "BUFFER_PROFILE": {"old": {"pool": "theirs_pool"}, "service": {"pool": "ingress_lossless_pool"}},
            "BUFFER_PG": {"Ethernet0|0": {"profile": "old"}, "Ethernet120|0": {"profile": "service"}},
        }
    )
    intent = wanted({"BUFFER_POOL": POOLS, "BUFFER_PG": {"Ethernet0|3": LOSSLESS}})
    assert lines(compare(device, intent).delta.changes) == [
        "remove BUFFER_PG|Ethernet0|0",
        "add BUFFER_PG|Ethernet0|3",
        "remove BUFFER_POOL|theirs_pool",
        "remove BUFFER_PROFILE|old",
    ]


def test_profiles_that_sonic_made_stay_and_their_pool_with_them() -> None:
    device = running(
        {
            "BUFFER_POOL": {**POOLS, "other_pool": {"size": "2"}},
            "BUFFER_PROFILE": {"pg_lossless_100000_5m_profile": {"pool": "other_pool"}},
        }
    )
    assert compare(device, wanted({"BUFFER_POOL": POOLS})).delta.changes == ()


@pytest.mark.parametrize(
    ("runs", "intended", "changes"),
    [
        (["3"], ["3-4"], ["add 4"]),
        (["3", "4"], ["3-4"], []),
        (["3-4"], ["3", "4"], []),
        (["3-4"], ["3"], ["remove 3-4", "add 3"]),
        (["2-3", "4"], ["3-4"], ["remove 2-3", "add 3"]),
        (["3", "3-4", "4"], ["3", "4"], []),  # buffermgrd's own row beside ours
        (["3", "3-4", "4"], ["4"], ["remove 3", "remove 3-4"]),
        (["3", "3-4", "4"], ["5"], ["remove 3", "remove 3-4", "remove 4", "add 5"]),
        (["3-4", "4"], ["3", "4"], ["add 3"]),  # of which nobody knows what the ASIC has
        (["3-5"], ["3", "5"], ["remove 3-5", "add 3", "add 5"]),
        ([], ["3-4"], ["add 3", "add 4"]),
    ],
)
def test_what_each_group_gets_is_compared_and_not_how_its_rows_are_cut(
    runs: list[str], intended: list[str], changes: list[str]
) -> None:
    device = running({"BUFFER_POOL": POOLS, "BUFFER_PG": {f"Ethernet0|{one}": LOSSLESS for one in runs}})
    intent = wanted({"BUFFER_POOL": POOLS, "BUFFER_PG": {f"Ethernet0|{one}": LOSSLESS for one in intended}})
    found = [line.replace("BUFFER_PG|Ethernet0|", "") for line in lines(compare(device, intent).delta.changes)]
    assert sorted(found) == sorted(changes)


def test_what_buffermgrd_wrote_beside_ours_follows_their_profile() -> None:
    groups = {f"Ethernet0|{one}": LOSSLESS for one in ("3", "3-4", "4")}
    device = running({"BUFFER_POOL": POOLS, "BUFFER_PG": groups})
    other = {"profile": "pg_lossless_100000_5m_profile"}
    intent = wanted({"BUFFER_POOL": POOLS, "BUFFER_PG": {"Ethernet0|3": other, "Ethernet0|4": other}})
    found = compare(device, intent).delta
    updates = {f"update BUFFER_PG|Ethernet0|{one}|profile" for one in ("3", "3-4", "4")}
    assert set(lines(found.changes)) == updates
    assert found.disruptions == {Disruption.NONE}


def test_what_buffermgrd_wrote_beside_ours_is_no_part_of_the_digest() -> None:
    intent = wanted({"BUFFER_POOL": POOLS, "BUFFER_PG": {"Ethernet0|3": LOSSLESS, "Ethernet0|4": LOSSLESS}})
    groups = {f"Ethernet0|{one}": LOSSLESS for one in ("3", "4")}
    before = running({"BUFFER_POOL": POOLS, "BUFFER_PG": groups})
    after = running({"BUFFER_POOL": POOLS, "BUFFER_PG": {**groups, "Ethernet0|3-4": LOSSLESS}})
    assert running_sha256(before, intent) == running_sha256(after, intent)
    other = running({"BUFFER_POOL": POOLS, "BUFFER_PG": {**groups, "Ethernet0|3-4": {"profile": "somebody's"}}})
    assert running_sha256(before, intent) != running_sha256(other, intent)


def test_a_range_that_all_gets_another_profile_is_changed_in_place() -> None:
    device = running({"BUFFER_POOL": POOLS, "BUFFER_QUEUE": {"Ethernet0|3-4": {"profile": "lossless"}}})
    intent = wanted({"BUFFER_POOL": POOLS, "BUFFER_QUEUE": {"Ethernet0|0-6": {"profile": "lossy"}}})
    assert sorted(lines(compare(device, intent).delta.changes)) == [
        *(f"add BUFFER_QUEUE|Ethernet0|{queue}" for queue in (0, 1, 2, 5, 6)),
        "update BUFFER_QUEUE|Ethernet0|3-4|profile",
    ]


def test_cable_lengths_of_other_ports_stay_and_those_of_removed_ports_go() -> None:
    device = running(
        {
            "PORT": {"Ethernet0": port(0), "Ethernet2": port(1), "Ethernet120": port(30)},
            "BUFFER_POOL": POOLS,
            "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet2": "5m", "Ethernet120": "5m"}},
        }
    )
    intent = wanted({"BUFFER_POOL": POOLS, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m"}}})
    found = compare(device, intent)
    assert [line for line in lines(found.delta.changes) if "CABLE" in line] == [
        "update CABLE_LENGTH|AZURE|Ethernet0",
        "remove CABLE_LENGTH|AZURE|Ethernet2",
    ]
    assert not found.conflicts


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (Edit(Op.ADD, "VLAN", "Vlan1", None, None, {"vlanid": "1"}), "VLAN|Vlan1 is missing"),
        (Edit(Op.REMOVE, "VLAN", "Vlan1", None, {"vlanid": "1"}, None), "VLAN|Vlan1 is there"),
        (Edit(Op.UPDATE, "PORT", "E", "adv_speeds", ("1", "2"), "2"), "PORT|E adv_speeds is 1,2, not 2"),
        (Edit(Op.ADD, "PORT", "E", "mtu", None, "2"), "PORT|E mtu is missing, not 2"),
        (Edit(Op.REMOVE, "PORT", "E", "mtu", "1", None), "PORT|E mtu is there"),
        (Edit(Op.ADD, "TACPLUS", "global", "passkey", None, "t"), "TACPLUS|global passkey is missing, not (hidden)"),
        (Edit(Op.ADD, FRR_TABLE, "router bgp 1", "bgp x", None, "bgp x"), "FRR router bgp 1 / bgp x is missing"),
        (Edit(Op.REMOVE, FRR_TABLE, "", "x", "x", None), "FRR x is there"),
    ],
)
def test_an_edit_says_how_a_device_is_other_than_it_makes_it(edit: Edit, told: str) -> None:
    assert edit.unmet == told
