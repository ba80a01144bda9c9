"""How disruptive a change is and by which method it goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.sonic.delta.change import Change, Disruption, Edit, Method, Op
from railweave.sonic.delta.leaf_words import field_names, has_field, is_modeled, modeled_tables
from railweave.sonic.delta.methods import PATCH_EDITS_MAX, accepts_patches, classify, effect_is_unknown, treatments
from railweave.sonic.delta.rules import RULES, Treatment, find_rule
from railweave.sonic.ownership import OWNED
from railweave.sonic.rows import FRR_TABLE

NONE, SESSION, FLAP, RELOAD = Disruption.NONE, Disruption.SESSION, Disruption.FLAP, Disruption.RELOAD
PATCH, WRITE = Method.PATCH, Method.WRITE


def field(table: str, name: str, after: str = "x", key: str = "Ethernet0") -> Edit:
    return Edit(Op.UPDATE, table, key, name, "before", after)


def row(op: Op, table: str, key: str = "Ethernet0") -> Edit:
    return Edit(op, table, key, None, None if op is Op.ADD else {}, {} if op is Op.ADD else None)


def frr(op: Op, context: str, line: str) -> Edit:
    return Edit(op, FRR_TABLE, context, line, None, line)


TREATED = [
    (field("PORT", "mtu"), NONE, PATCH),
    (Edit(Op.UPDATE, "PORT", "Ethernet0", "mtu", "9100", "9216"), NONE, PATCH),
    (Edit(Op.UPDATE, "PORT", "Ethernet0", "mtu", "9100", "1500"), SESSION, PATCH),
    (Edit(Op.ADD, "PORT", "Ethernet0", "mtu", None, "1500"), SESSION, PATCH),
    (Edit(Op.ADD, "PORT", "Ethernet0", "mtu", None, "9216"), NONE, PATCH),
    (Edit(Op.REMOVE, "PORT", "Ethernet0", "mtu", "9216", None), SESSION, PATCH),
    (field("PORT", "description"), NONE, PATCH),
    (field("PORT", "admin_status", "up"), NONE, PATCH),
    (field("PORT", "admin_status", "down"), FLAP, PATCH),
    (field("PORT", "speed"), FLAP, WRITE),
    (field("PORT", "fec"), FLAP, WRITE),
    (field("PORT", "lanes"), RELOAD, Method.RELOAD),
    (row(Op.ADD, "PORT"), RELOAD, Method.RELOAD),
    (row(Op.REMOVE, "PORT"), RELOAD, Method.RELOAD),
    (row(Op.ADD, "INTERFACE"), NONE, PATCH),
    (row(Op.REMOVE, "INTERFACE", "Ethernet0|10.0.0.0/31"), SESSION, PATCH),
    (row(Op.REMOVE, "LOOPBACK_INTERFACE", "Loopback0"), SESSION, WRITE),
    (field("DEVICE_NEIGHBOR", "name"), NONE, PATCH),
    (field("DEVICE_METADATA", "bgp_asn", key="localhost"), NONE, WRITE),
    (field("DEVICE_METADATA", "hwsku", key="localhost"), RELOAD, Method.RELOAD),
    (field("DEVICE_METADATA", "docker_routing_config_mode", key="localhost"), RELOAD, Method.RELOAD),
    (row(Op.ADD, "SYSTEM_DEFAULTS", "software_bfd"), RELOAD, Method.RELOAD),
    (frr(Op.ADD, "router bgp 65001", "neighbor SPINES bfd"), NONE, Method.FRR),
    (frr(Op.REMOVE, "router bgp 65001", "neighbor SPINES bfd"), SESSION, Method.FRR),
    (frr(Op.ADD, "router bgp 65001", "neighbor SPINES bfd profile slow"), SESSION, Method.FRR),
    (field("DSCP_TO_TC_MAP", "26", key="FABRIC"), NONE, WRITE),
    (field("SCHEDULER", "weight"), NONE, WRITE),
    (field("WRED_PROFILE", "green_min_threshold"), NONE, WRITE),
    (field("PORT_QOS_MAP", "pfc_enable"), NONE, WRITE),
    (row(Op.ADD, "QUEUE", "Ethernet0|3"), NONE, WRITE),
    (row(Op.ADD, "PFC_WD"), NONE, WRITE),
    (row(Op.REMOVE, "BGP_NEIGHBOR", "10.0.0.1"), SESSION, WRITE),
    (row(Op.REMOVE, "VLAN_MEMBER", "Vlan1|Ethernet0"), FLAP, WRITE),
    (row(Op.ADD, "SYSLOG_SERVER", "10.9.9.9"), NONE, PATCH),
    (row(Op.ADD, "BUFFER_POOL", "ingress_lossless_pool"), RELOAD, Method.RELOAD),
    (field("BUFFER_POOL", "mode", key="ingress_lossless_pool"), RELOAD, Method.RELOAD),
    (field("BUFFER_POOL", "xoff", key="ingress_lossless_pool"), NONE, WRITE),
    (field("BUFFER_PROFILE", "pool", key="egress_lossy_profile"), RELOAD, Method.RELOAD),
    (field("BUFFER_PROFILE", "dynamic_th", key="egress_lossy_profile"), NONE, WRITE),
    (row(Op.ADD, "BUFFER_PROFILE", "pg_lossless_400000_40m_profile"), NONE, WRITE),
    (row(Op.REMOVE, "BUFFER_PG", "Ethernet0|3"), NONE, WRITE),
    (row(Op.ADD, "BUFFER_QUEUE", "Ethernet0|3"), NONE, WRITE),
    (row(Op.ADD, "BUFFER_PORT_INGRESS_PROFILE_LIST"), NONE, WRITE),
    (field("CABLE_LENGTH", "Ethernet0", key="AZURE"), NONE, WRITE),
    (Edit(Op.REMOVE, "SCHEDULER", "cnp", "cir", "1000", None), FLAP, WRITE),
    (field("DEVICE_METADATA", "buffer_model", key="localhost"), RELOAD, Method.RELOAD),
    (row(Op.ADD, "SOMETHING_NEW", "x"), FLAP, WRITE),
    (row(Op.ADD, "RESTAPI", "config"), FLAP, PATCH),
    (row(Op.ADD, "GNMI", "gnmi"), NONE, WRITE),
    (row(Op.ADD, "HIGH_FREQUENCY_TELEMETRY_PROFILE", "railweave"), NONE, WRITE),
    (field("DEVICE_METADATA", "region", key="localhost"), FLAP, PATCH),
    (field("DEVICE_METADATA", "timezone", key="localhost"), NONE, PATCH),
    (field("LOGGER", "LOGLEVEL", key="orchagent"), NONE, PATCH),
    (row(Op.REMOVE, "LOGGER", "orchagent"), NONE, PATCH),
    (row(Op.ADD, "SFLOW", "global"), NONE, PATCH),
    (field("FEATURE", "state", key="lldp"), NONE, PATCH),
    (field("FEATURE", "state", key="bgp"), FLAP, WRITE),
    (field("FEATURE", "state", key="teamd"), FLAP, PATCH),
    (field("FEATURE", "state", key="pmon"), FLAP, PATCH),
    (field("FEATURE", "auto_restart", key="teamd"), NONE, PATCH),
    (Edit(Op.REMOVE, "FEATURE", "lldp", "state", "enabled", None), FLAP, PATCH),
    (row(Op.ADD, "VRF", "Vrf1"), NONE, PATCH),
    (row(Op.REMOVE, "VRF", "Vrf1"), SESSION, PATCH),
    (field("VRF", "vni", key="Vrf1"), FLAP, PATCH),
    (Edit(Op.REMOVE, "VRF", "Vrf1", "vni", "100", None), SESSION, PATCH),
    (field("PASSW_HARDENING", "len_min", key="POLICIES"), NONE, PATCH),
    (field("SSH_SERVER", "ports", key="POLICIES"), NONE, PATCH),
    (field("SYSLOG_CONFIG_FEATURE", "rate_limit_burst", key="bgp"), NONE, PATCH),
    (field("COPP_GROUP", "cir", key="queue4_group1"), SESSION, PATCH),
    (row(Op.REMOVE, "COPP_TRAP", "bgp"), SESSION, PATCH),
    (field("POLICER", "cir", key="mirror"), NONE, PATCH),
    (row(Op.ADD, "PORT_STORM_CONTROL", "Ethernet0|broadcast"), NONE, PATCH),
    (row(Op.ADD, "DEBUG_COUNTER", "DEBUG_0"), NONE, PATCH),
    (field("PORT", "alias"), NONE, WRITE),
    (field("PORT", "index"), FLAP, WRITE),
    (field("PORT", "lanes"), RELOAD, Method.RELOAD),
    (field("INTERFACE", "vrf_name"), RELOAD, Method.RELOAD),
    (Edit(Op.REMOVE, "VLAN_SUB_INTERFACE", "Ethernet0.10", "vrf_name", "Vrf1", None), RELOAD, Method.RELOAD),
    (frr(Op.UPDATE, "", "ip prefix-list A seq 5 permit any"), NONE, Method.FRR),
    (frr(Op.ADD, "route-map M permit 10", "set metric 5"), NONE, Method.FRR),
    (frr(Op.ADD, "router bgp 1 / address-family ipv4 unicast", "network 10.0.0.0/8"), NONE, Method.FRR),
    (frr(Op.ADD, "router bgp 1 / address-family ipv4 unicast", "neighbor S route-map M in"), NONE, Method.FRR),
    (frr(Op.REMOVE, "router bgp 1 / address-family ipv4 unicast", "neighbor S activate"), SESSION, Method.FRR),
    (frr(Op.REMOVE, "router bgp 1", "neighbor 10.0.0.1 remote-as 2"), SESSION, Method.FRR),
    (frr(Op.ADD, "router bgp 1", "neighbor S timers 3 9"), SESSION, Method.FRR),
    (frr(Op.ADD, "router bgp 1", "bgp router-id 10.0.0.1"), SESSION, Method.FRR),
    (frr(Op.REMOVE, "", "router bgp 1"), SESSION, Method.FRR),
    (frr(Op.ADD, "", "something new"), SESSION, Method.FRR),
]


@pytest.mark.parametrize(
    ("edit", "disruption", "method"),
    TREATED,
    ids=[f"{one.op} {one.table}|{one.key} {one.field}" for one, *_ in TREATED],
)
def test_a_change_is_treated_as_its_table_and_field_ask(edit: Edit, disruption: Disruption, method: Method) -> None:
    assert classify(edit) == Treatment(disruption, method)


def test_every_table_that_is_ours_is_known_to_the_rules() -> None:
    known = {table for rule in RULES for table in rule.tables}
    assert OWNED.keys() <= known
    assert all(rule.source for rule in RULES)


@given(st.sampled_from(modeled_tables()), st.data())
def test_a_change_that_no_rule_knows_is_neither_a_reload_nor_without_disruption(
    table: str, data: st.DataObject
) -> None:
    fields = field_names(table) or ("1",)
    name = data.draw(st.sampled_from((None, *fields)))
    op = data.draw(st.sampled_from(Op))
    edit = Edit(op, table, "x", name, {} if name is None else "a", {} if name is None else "b")
    treatment = classify(edit)
    if table == "PORT" and name == "admin_status":
        return
    if find_rule(edit) is None:
        assert treatment == Treatment(FLAP, PATCH)
    (settled,) = treatments([edit], {"PORT": {"x": {}}})
    change = Change(
        edit.op, edit.table, edit.key, edit.field, edit.before, edit.after, settled.disruption, settled.method, ""
    )
    assert effect_is_unknown(change) == (find_rule(edit) is None)


def test_one_reload_makes_all_changes_of_the_device_a_reload() -> None:
    edits = [field("PORT", "mtu"), field("PORT", "lanes"), frr(Op.ADD, "", "ip nht resolve-via-default")]
    assert set(treatments(edits, {})) == {Treatment(RELOAD, Method.RELOAD)}


def test_more_patches_than_are_quick_are_written() -> None:
    few = [field("PORT", "mtu", key=f"Ethernet{number}") for number in range(PATCH_EDITS_MAX)]
    assert {one.method for one in treatments(few, {})} == {PATCH}
    many = [*few, field("PORT", "mtu", key="Ethernet200"), frr(Op.ADD, "", "ip nht resolve-via-default")]
    assert [one.method for one in treatments(many, {})] == [WRITE] * (PATCH_EDITS_MAX + 1) + [Method.FRR]


def test_a_model_whose_ports_share_a_lane_is_never_patched() -> None:
    ports = {"PORT": {"Ethernet0": {"lanes": "1,2"}, "Ethernet1": {"lanes": "2, 3"}}}
    assert not accepts_patches(ports)
    assert treatments([field("PORT", "mtu")], ports) == (Treatment(NONE, WRITE),)
    assert accepts_patches({"PORT": {"Ethernet0": {"lanes": "1,2"}, "Ethernet1": {"lanes": "3"}}})


def test_a_cable_length_of_none_that_a_breakout_left_keeps_patches_away() -> None:
    assert not accepts_patches({"CABLE_LENGTH": {"AZURE": {"Ethernet0": "None"}}})


def test_a_new_neighbor_has_no_session_to_lose() -> None:
    edits = [
        frr(Op.ADD, "router bgp 1", "neighbor 10.0.0.1 remote-as 2"),
        frr(Op.ADD, "router bgp 1", "neighbor 10.0.0.1 timers 3 9"),
        frr(Op.ADD, "router bgp 1 / address-family ipv4 unicast", "neighbor 10.0.0.1 activate"),
        frr(Op.ADD, "router bgp 1", "neighbor 10.0.0.3 timers 3 9"),
    ]
    assert [one.disruption for one in treatments(edits, {})] == [NONE, NONE, NONE, SESSION]


def test_a_neighbor_with_another_as_number_loses_its_session() -> None:
    edits = [
        frr(Op.REMOVE, "router bgp 1", "neighbor 10.0.0.1 remote-as 2"),
        frr(Op.ADD, "router bgp 1", "neighbor 10.0.0.1 remote-as 3"),
    ]
    assert [one.disruption for one in treatments(edits, {})] == [SESSION, SESSION]


@pytest.mark.parametrize(
    "table",
    ["DEBUG_COUNTER_DROP_REASON", "DHCP_SERVER", "DNS_NAMESERVER", "PORTCHANNEL_MEMBER", "ROUTE_MAP_SET",
     "SNMP_AGENT_ADDRESS_CONFIG"],
)  # fmt: skip
def test_a_table_whose_rows_have_keys_alone_has_a_model(table: str) -> None:
    assert is_modeled(table)
    assert field_names(table) == ()
    assert not has_field(table, "anything")
