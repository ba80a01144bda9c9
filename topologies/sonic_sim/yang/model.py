"""The tables of SONiC's YANG models that a fabric uses, with the constraints that are checked.

Written after sonic-yang-models of branch 202505. A type is a kind and its argument: ``uint:LOW..HIGH``, ``pattern:RE``,
``enum:a|b``, ``ref:TABLE`` (leafref), ``uref:TABLE`` (a union with a leafref), ``bool``, ``text``. Tables named only in
`KNOWN` have a model in SONiC whose fields are not checked here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

_ADMIN = "enum:up|down"
_U64 = "uint:0..18446744073709551615"
_VLAN_NAME = r"pattern:Vlan(409[0-5]|40[0-8][0-9]|[1-3][0-9]{3}|[1-9][0-9]{2}|[1-9][0-9]|[2-9])"
_PRIORITIES = r"pattern:([0-7](,[0-7])*)?"


@dataclass(frozen=True, slots=True)
class KeyForm:
    """One form of a key: the list's name in the model, and the key leaves with their types."""

    listing: str
    leaves: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Model:
    """One table. ``fields`` None: any field with values of type ``values`` (maps)."""

    module: str
    keys: tuple[KeyForm, ...]
    fields: Mapping[str, str] | None = None
    values: str = "text"
    mandatory: tuple[str, ...] = ()
    value_error: str = ""
    columns: tuple[str, ...] = field(default=())


def _one(listing: str, leaf: str = "name", kind: str = "text") -> tuple[KeyForm, ...]:
    return (KeyForm(listing, ((leaf, kind),)),)


def _with_addresses(table: str, kind: str) -> tuple[KeyForm, ...]:
    bare = KeyForm(f"{table}_LIST", (("name", kind),))
    return (bare, KeyForm(f"{table}_IPPREFIX_LIST", (("name", "text"), ("ip-prefix", "prefix"))))


_ROUTED = {
    "vrf_name": "ref:VRF", "vnet_name": "text", "nat_zone": "uint:0..3", "mpls": "enum:enable|disable",
    "ipv6_use_link_local_only": "enum:enable|disable", "mac_addr": "text", "loopback_action": "enum:drop|forward",
    "scope": "enum:global|local", "family": "enum:IPv4|IPv6",
}  # fmt: skip

_DEVICE_TYPES = (
    "ToRRouter|LeafRouter|SpineChassisFrontendRouter|ChassisBackendRouter|ASIC|MgmtToRRouter|MgmtLeafRouter|SpineRouter|"
    "BackEndToRRouter|BackEndLeafRouter|EPMS|MgmtTsToR|BmcMgmtToRRouter|SonicHost|SmartSwitchDPU|UpperSpineRouter|"
    "FabricSpineRouter|LowerSpineRouter|not-provisioned"
)

MODELS: dict[str, Model] = {
    "PORT": Model("sonic-port", _one("PORT_LIST"), {
        "alias": "text", "lanes": "text", "speed": "uint:1..800000", "mode": "enum:routed|access|trunk",
        "description": "text", "dhcp_rate_limit": "uint:0..4294967295", "link_training": "pattern:on|off",
        "autoneg": "pattern:on|off", "adv_speeds": "text", "interface_type": "text", "adv_interface_types": "text",
        "mtu": "uint:68..9216", "subport": "uint:0..12", "index": "uint:0..65535", "asic_port_name": "text",
        "role": "pattern:Ext|Int|Inb|Rec|Dpc", "admin_status": _ADMIN, "fec": "pattern:rs|fc|none|auto",
        "dom_polling": "enum:enabled|disabled", "pfc_asym": "pattern:on|off", "tpid": "text", "mux_cable": "bool",
        "macsec": "text", "tx_power": "text", "laser_freq": "text", "core_id": "text", "core_port_id": "text",
        "num_voq": "text", "phy": "text", "media": "text"}, mandatory=("lanes", "speed")),
    "BREAKOUT_CFG": Model("sonic-breakout_cfg", _one("BREAKOUT_CFG_LIST", "port"), {"brkout_mode": "text"}),
    "INTERFACE": Model("sonic-interface", _with_addresses("INTERFACE", "ref:PORT"), _ROUTED),
    "VLAN_INTERFACE": Model("sonic-vlan", _with_addresses("VLAN_INTERFACE", "ref:VLAN"), {
        **_ROUTED, "grat_arp": "pattern:enabled|disabled", "proxy_arp": "pattern:enabled|disabled",
        "secondary": "bool"}),
    "LOOPBACK_INTERFACE": Model("sonic-loopback-interface", _with_addresses("LOOPBACK_INTERFACE", "text"), {
        "vrf_name": "ref:VRF", "nat_zone": "uint:0..3", "admin_status": _ADMIN, "scope": "enum:global|local",
        "family": "enum:IPv4|IPv6"}),
    "VLAN": Model("sonic-vlan", _one("VLAN_LIST", "name", _VLAN_NAME), {
        "vlanid": "uint:2..4094", "alias": "text", "description": "text", "dhcp_servers": "text",
        "dhcpv6_servers": "text", "mtu": "uint:1..9216", "admin_status": _ADMIN, "mac": "text", "members": "text"}),
    "VLAN_MEMBER": Model("sonic-vlan", (KeyForm("VLAN_MEMBER_LIST", (("name", "ref:VLAN"), ("port", "uref:PORT"))),), {
        "tagging_mode": "enum:tagged|untagged|priority_tagged"}, mandatory=("tagging_mode",)),
    "DEVICE_METADATA": Model("sonic-device_metadata", _one("DEVICE_METADATA_LIST"), {
        "hwsku": "text", "default_bgp_status": _ADMIN, "hostname": "text", "platform": "text", "mac": "text",
        "docker_routing_config_mode": "pattern:separated|unified|split|split-unified", "timezone": "text",
        "default_pfcwd_status": "enum:disable|enable", "bgp_asn": "uint:0..4294967295",
        "type": f"pattern:{_DEVICE_TYPES}",
        "deployment_id": "uint:0..4294967295", "buffer_model": "pattern:dynamic|traditional", "region": "text",
        "frr_mgmt_framework_config": "bool", "synchronous_mode": "enum:enable|disable", "cloudtype": "text",
        "yang_config_validation": "enum:enable|disable", "sub_role": "text", "subtype": "text", "peer_switch": "text",
        "storage_device": "bool", "asic_name": "text", "asic_id": "text", "switch_id": "uint:0..65535",
        "switch_type": "pattern:chassis-packet|fabric|npu|voq|dpu", "max_cores": "uint:0..255",
        "dhcp_server": "enum:enabled|disabled", "bgp_adv_lo_prefix_as_128": "bool", "cluster": "text",
        "suppress-fib-pending": "enum:enabled|disabled", "rack_mgmt_map": "text",
        "nexthop_group": "enum:enabled|disabled",
        "create_only_config_db_buffers": "bool", "bgp_router_id": "text", "chassis_hostname": "text",
        "slice_type": "text",
        "ring_thread_enabled": "bool", "downstream_subrole": "text", "resource_type": "text", "mgmt_type": "text"}),
    "BGP_NEIGHBOR": Model("sonic-bgp-neighbor", (
        KeyForm("BGP_NEIGHBOR_TEMPLATE_LIST", (("neighbor", "address"),)),
        KeyForm("BGP_NEIGHBOR_LIST", (("vrf_name", "text"), ("neighbor", "text")))), {
        "asn": "uint:0..4294967295", "holdtime": "uint:0..65535", "keepalive": "uint:0..65535", "local_addr": "text",
        "name": "text", "nhopself": "uint:0..1", "rrclient": "uint:0..1", "admin_status": _ADMIN,
        "peer_group_name": "text", "peer_type": "text", "ebgp_multihop": "bool", "bfd": "bool", "local_asn": "text"}),
    "DEVICE_NEIGHBOR": Model("sonic-device_neighbor", _one("DEVICE_NEIGHBOR_LIST", "peer_name"), {
        "name": "text", "mgmt_addr": "text", "local_port": "ref:PORT", "port": "text", "type": "text"}),
    "DEVICE_NEIGHBOR_METADATA": Model(
        "sonic-device_neighbor_metadata", _one("DEVICE_NEIGHBOR_METADATA_LIST"), {
        "cluster": "text", "hwsku": "text", "lo_addr": "text", "lo_addr_v6": "text", "mgmt_addr": "text",
        "mgmt_addr_v6": "text", "type": "text", "deployment_id": "uint:0..4294967295", "slice_type": "text"}),
    "DSCP_TO_TC_MAP": Model("sonic-dscp-tc-map", _one("DSCP_TO_TC_MAP_LIST"), None, "uint:0..15",
                            columns=("DSCP_TO_TC_MAP", "dscp", "tc")),
    "TC_TO_QUEUE_MAP": Model("sonic-tc-queue-map", _one("TC_TO_QUEUE_MAP_LIST"), None, "text",
                             columns=("TC_TO_QUEUE_MAP", "tc_num", "qindex")),
    "TC_TO_PRIORITY_GROUP_MAP": Model(
        "sonic-tc-priority-group-map", _one("TC_TO_PRIORITY_GROUP_MAP_LIST"), None, "text",
        columns=("TC_TO_PRIORITY_GROUP_MAP", "tc_num", "pg")),
    "MAP_PFC_PRIORITY_TO_QUEUE": Model("sonic-pfc-priority-queue-map", _one("MAP_PFC_PRIORITY_TO_QUEUE_LIST"), None,
                                       "text", columns=("MAP_PFC_PRIORITY_TO_QUEUE", "pfc_priority", "qindex")),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": Model(
        "sonic-pfc-priority-priority-group-map", _one("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP_LIST"), None, "text",
        columns=("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "pfc_priority", "pg")),
    "CABLE_LENGTH": Model("sonic-cable-length", _one("CABLE_LENGTH_LIST"), None, "pattern:[0-9]+m",
                          value_error="Invalid cable length.", columns=("CABLE_LENGTH", "port", "length")),
    "PORT_QOS_MAP": Model("sonic-port-qos-map", _one("PORT_QOS_MAP_LIST", "ifname", "uref:PORT"), {
        "tc_to_pg_map": "ref:TC_TO_PRIORITY_GROUP_MAP", "tc_to_queue_map": "ref:TC_TO_QUEUE_MAP",
        "pfc_enable": _PRIORITIES, "pfcwd_sw_enable": _PRIORITIES, "pfc_to_queue_map": "ref:MAP_PFC_PRIORITY_TO_QUEUE",
        "pfc_to_pg_map": "ref:PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "dscp_to_tc_map": "ref:DSCP_TO_TC_MAP",
        "tc_to_dscp_map": "text", "dot1p_to_tc_map": "text", "scheduler": "ref:SCHEDULER"}),
    "SCHEDULER": Model("sonic-scheduler", _one("SCHEDULER_LIST"), {
        "type": "enum:DWRR|WRR|STRICT", "weight": "uint:1..100", "priority": "uint:0..9",
        "meter_type": "enum:packets|bytes", "cir": _U64, "pir": _U64, "cbs": _U64, "pbs": _U64}),
    "QUEUE": Model("sonic-queue", (KeyForm("QUEUE_LIST", (("ifname", "uref:PORT"), ("qindex", "text"))),), {
        "scheduler": "ref:SCHEDULER", "wred_profile": "ref:WRED_PROFILE"}),
    "WRED_PROFILE": Model("sonic-wred-profile", _one("WRED_PROFILE_LIST", "name",
                                                     "pattern:[a-zA-Z0-9]{1}([-a-zA-Z0-9_]{0,31})"), {
        "yellow_min_threshold": _U64, "green_min_threshold": _U64, "red_min_threshold": _U64,
        "yellow_max_threshold": _U64, "green_max_threshold": _U64, "red_max_threshold": _U64,
        "ecn": "enum:ecn_none|ecn_green|ecn_yellow|ecn_red|ecn_green_yellow|ecn_green_red|ecn_yellow_red|ecn_all",
        "wred_green_enable": "bool", "wred_yellow_enable": "bool", "wred_red_enable": "bool",
        "yellow_drop_probability": "uint:0..100", "green_drop_probability": "uint:0..100",
        "red_drop_probability": "uint:0..100"}),
    "PFC_WD": Model("sonic-pfcwd", _one("PFC_WD_LIST", "ifname", "uref:PORT"), {
        "action": "enum:drop|forward|alert", "detection_time": "uint:100..5000", "restoration_time": "uint:100..60000",
        "POLL_INTERVAL": "uint:100..3000", "BIG_RED_SWITCH": "text", "pfc_stat_history": "text"}),
    "BUFFER_POOL": Model("sonic-buffer-pool", _one("BUFFER_POOL_LIST"), {
        "type": "enum:ingress|egress|both", "mode": "enum:static|dynamic", "size": _U64, "xoff": _U64,
        "percentage": "uint:0..255"}, mandatory=("type", "mode")),
    "BUFFER_PROFILE": Model("sonic-buffer-profile", _one("BUFFER_PROFILE_LIST"), {
        "static_th": _U64, "dynamic_th": "int:-8..7", "size": _U64, "pool": "ref:BUFFER_POOL", "xon_offset": _U64,
        "xon": _U64, "xoff": _U64, "headroom_type": "enum:static|dynamic", "packet_discard_action": "enum:drop|trim"},
        mandatory=("size", "pool")),
    "BUFFER_PG": Model("sonic-buffer-pg", (
        KeyForm("BUFFER_PG_LIST", (("port", "ref:PORT"), ("pg_num", "pattern:[0-7]((-)[0-7])?"))),), {
        "profile": "uref:BUFFER_PROFILE"}),
    "BUFFER_QUEUE": Model("sonic-buffer-queue", (
        KeyForm("BUFFER_QUEUE_LIST", (("port", "ref:PORT"), ("qindex", "text"))),), {"profile": "ref:BUFFER_PROFILE"}),
}  # fmt: skip

UNION_WORDS = {"PORT_QOS_MAP": ("global",), "PFC_WD": ("GLOBAL",), "BUFFER_PG": ("NULL",), "QUEUE": ("CPU",)}
"""Words that stand beside the leafref in a union."""

_OTHERS = """
AAA ACL_RULE ACL_TABLE ACL_TABLE_TYPE ASIC_SENSORS AS_PATH_SET AUTO_TECHSUPPORT AUTO_TECHSUPPORT_FEATURE BANNER_MESSAGE
BGP_ALLOWED_PREFIXES BGP_BBR BGP_DEVICE_GLOBAL BGP_GLOBALS BGP_GLOBALS_AF BGP_GLOBALS_AF_AGGREGATE_ADDR
BGP_GLOBALS_AF_NETWORK BGP_GLOBALS_LISTEN_PREFIX BGP_INTERNAL_NEIGHBOR BGP_MONITORS BGP_NEIGHBOR_AF BGP_PEER_GROUP
BGP_PEER_GROUP_AF BGP_PEER_RANGE BGP_SENTINELS BGP_VOQ_CHASSIS_NEIGHBOR BMP BUFFER_PORT_EGRESS_PROFILE_LIST
BUFFER_PORT_INGRESS_PROFILE_LIST COMMUNITY_SET CONSOLE_PORT CONSOLE_SWITCH COPP_GROUP COPP_TRAP CRM DEBUG_COUNTER
DEFAULT_LOSSLESS_BUFFER_PARAMETER DHCP_RELAY DHCP_SERVER DNS_NAMESERVER DOT1P_TO_TC_MAP DSCP_TO_FC_MAP EXP_TO_FC_MAP
FABRIC_MONITOR FEATURE FIPS FLEX_COUNTER_TABLE GNMI KDUMP LDAP LDAP_SERVER LLDP LLDP_PORT LOGGER
LOSSLESS_TRAFFIC_PATTERN MACSEC_PROFILE MGMT_INTERFACE MGMT_PORT MGMT_VRF_CONFIG MIRROR_SESSION MPLS_TC_TO_TC_MAP
MUX_CABLE NAT_GLOBAL NEIGH NTP NTP_KEY NTP_SERVER PASSW_HARDENING PEER_SWITCH POLICER PORTCHANNEL PORTCHANNEL_INTERFACE
PORTCHANNEL_MEMBER PORT_STORM_CONTROL PREFIX PREFIX_LIST PREFIX_SET RADIUS RADIUS_SERVER RESTAPI ROUTE_MAP ROUTE_MAP_SET
ROUTE_REDISTRIBUTE SERIAL_CONSOLE SFLOW SFLOW_COLLECTOR SFLOW_SESSION SNMP SNMP_AGENT_ADDRESS_CONFIG SNMP_COMMUNITY
SNMP_USER SSH_SERVER STATIC_ROUTE SWITCH_HASH SWITCH_TRIMMING SYSLOG_CONFIG SYSLOG_CONFIG_FEATURE SYSLOG_SERVER
SYSTEM_DEFAULTS SYSTEM_PORT TACPLUS TACPLUS_SERVER TC_TO_DSCP_MAP TELEMETRY TUNNEL VERSIONS VLAN_SUB_INTERFACE VNET VRF
VXLAN_EVPN_NVO VXLAN_TUNNEL VXLAN_TUNNEL_MAP WARM_RESTART XCVRD_LOG ZTP
"""
KNOWN = frozenset(MODELS) | frozenset(_OTHERS.split())
"""All tables that have a YANG model."""
