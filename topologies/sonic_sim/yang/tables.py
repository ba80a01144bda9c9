"""The YANG models of SONiC 202505 that a fabric's tables meet, in short; `model.py` reads them.

A line without indentation names a module and a table. Below it stands a list with its keys, or a container
(``.name``); below that the leaves. ``name:kind`` is a leaf (``text`` where no kind stands), ``name!`` a mandatory one,
``name*`` a leaf-list, ``@NAME`` starts an inner list of one key and one value. A kind is a base type with a range or
length, ``a|b`` an enumeration, ``~RE`` a pattern, ``^TABLE`` a leafref, ``one+other`` a union, or a name of `NAMED`.
"""

NAMED = {
    "state": ("up|down", ""),
    "mode": ("enabled|disabled", ""),
    "switchport": ("~routed|access|trunk", ""),
    "tpid": ("~0x8100|0x9100|0x9200|0x88a8|0x88A8", ""),
    "boolean": ("~false|true|False|True", ""),
    "loopback": ("~drop|forward", ""),
    "mac": ("~[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", ""),
    "vlan": ("~Vlan(409[0-5]|40[0-8][0-9]|[1-3][0-9]{3}|[1-9][0-9]{2}|[1-9][0-9]|[2-9])", ""),
    "vlan_interface": ("~Vlan([0-9]{1,3}|[1-3][0-9]{3}|[4][0][0-8][0-9]|[4][0][9][0-4])", ""),
    "interface": ("text(1..15)", "Invalid interface name length, it must not exceed 16 characters."),
    "vrf": ("~Vrf[a-zA-Z0-9_-]+", "Invalid VRF name"),
    "map": ("~[a-zA-Z0-9]{1}([-a-zA-Z0-9_]{0,31})", ""),
    "tc": ("uint8(0..15)", "Invalid Traffic Class"),
    "dscp": ("~6[0-3]|[1-5][0-9]?|[0-9]?", "Invalid DSCP"),
    "dot1p": ("~[0-7]?", "Invalid DOT1P"),
    "group": ("~[0-7]?", "Invalid Priority Group"),
    "pfc": ("~[0-7]?", "Invalid pfc priority"),
    "queue": ("~[0-7]?", "Invalid queue index"),
    "tc_queue": ("~[0-9]?", "Invalid queue index"),
    "priorities": ("~([0-7](,[0-7])*)?", ""),
    "groups": ("~[0-7]((-)[0-7])?", "Invalid Buffer PG number"),
    "queues": ("~(1[0-5]|[0-9])((-)(1[0-5]|[0-9]))?", "Invalid Q-index"),
    "cable_list": ("~[a-zA-Z0-9]{1}([-a-zA-Z0-9_]{0,31})", "Invalid cable length list name."),
    "cable": ("~[0-9]+m", "Invalid cable length."),
    "watched": ("~GLOBAL", "Invalid interface name"),
    "zone": ("uint8(0..3)", "Invalid nat zone for the interface."),
    "vlan_zone": ("uint8(0..3)", "Invalid nat zone for the vlan interface."),
    "channel_zone": ("uint8(0..3)", "Invalid nat zone for the portchannel interface."),
    "loopback_zone": ("uint8(0..3)", "Invalid nat zone for the loopback interface."),
    "session": ("~[a-zA-Z0-9]{1}([-a-zA-Z0-9_]{0,31})", ""),
    "session_dscp": ("uint8(0..63)", "Invalid dscp value"),
    "ports": (
        "~([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])-"
        "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])", "",
    ),
    "tcp_flags": ("~0[xX][0-9a-fA-F]{1,2}(/0[xX][0-9a-fA-F]{1,2})?", ""),
    "masked": ("~0[xX][0-9a-fA-F]{1,2}/0[xX][0-9a-fA-F]{1,2}", ""),
    "ethertype": (
        "~0x0[6-9a-fA-F][0-9a-fA-F]{2}|0x[1-9a-fA-F][0-9a-fA-F]{3}|153[6-9]|15[4-9][0-9]|1[6-9][0-9][0-9]|"
        "[2-9][0-9]{3}|[1-5][0-9]{4}|6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}", "",
    ),
    "key_id": ("uint16(1..65535)", "Failed NTP key ID"),
    "ntp_version": ("uint8(3..4)", "Failed NTP version"),
    "auth": ("pap|chap|mschap|login", ""),
    "secret": (
        "~[^ #,]*", 'TACACS shared secret (Valid chars are ASCII printable except SPACE, "#", and ",")',
    ),
    "server_priority": ("uint8(1..64)", "TACACS server priority must be 1..64"),
    "server_timeout": ("uint16(1..60)", "TACACS server timeout must be 1..60"),
    "timeout": ("uint16(1..60)", "TACACS timeout must be 1..60"),
    "server_vrf": ("~mgmt|default", "Error: Invalid VRF name"),
    "login": (
        "~((ldap|tacacs\\+|local|radius|default),)*(ldap|tacacs\\+|local|radius|default)",
        "Invalid login choice",
    ),
    "severity": ("none|debug|info|notice|warn|error|crit", ""),
    "flags": ("~((true|false),)*(true|false)", ""),
    "role": (
        "~ToRRouter|LeafRouter|SpineChassisFrontendRouter|ChassisBackendRouter|ASIC|MgmtToRRouter|MgmtLeafRouter|"
        "MgmtSpineRouter|MgmtAccessRouter|LowerMgmtAggregator|UpperMgmtAggregator|SpineRouter|UpperSpineRouter|"
        "FabricSpineRouter|BackEndToRRouter|BackEndLeafRouter|EPMS|MgmtTsToR|BmcMgmtToRRouter|SonicHost|SmartSwitchDPU|"
        "not-provisioned", "",
    ),
}  # fmt: skip
"""Types that stand in more than one place or have a message of their own: the kind and that message."""

TABLES = """
sonic-port PORT
 PORT_LIST name:text(1..128)
  alias:text(1..128) lanes!:text(1..128) speed!:uint32(1..800000) mode:switchport description:text(0..255) media phy
  dhcp_rate_limit:uint32 link_training:~on|off autoneg:~on|off adv_speeds*:uint32(1..800000)+~all tx_power
  interface_type:CR|CR2|CR4|CR8|SR|SR2|SR4|SR8|LR|LR4|LR8|KR|KR4|KR8|CAUI|GMII|SFI|XLAUI|KR2|CAUI4|XAUI|XFI|XGMII|none
  adv_interface_types* mtu:uint16(68..9216) subport:uint8(0..12) index:uint16 asic_port_name role:~Ext|Int|Inb|Rec|Dpc
  admin_status:state fec:~rs|fc|none|auto dom_polling:mode pfc_asym:~on|off tpid:tpid mux_cable:bool macsec
  laser_freq:int32 core_id:text(1..16) core_port_id:text(1..16) num_voq:text(1..16)
sonic-breakout_cfg BREAKOUT_CFG
 BREAKOUT_CFG_LIST port:text(1..255)
  brkout_mode:text(1..64)
sonic-interface INTERFACE
 INTERFACE_LIST name:^PORT
  vrf_name:^VRF vnet_name nat_zone:zone mpls:enable|disable ipv6_use_link_local_only:enable|disable mac_addr:mac
  loopback_action:loopback
 INTERFACE_IPPREFIX_LIST name:^PORT ip-prefix:prefix
  scope:global|local family:IPv4|IPv6
sonic-vlan VLAN_INTERFACE
 VLAN_INTERFACE_LIST name:^VLAN
  vrf_name:^VRF vnet_name nat_zone:vlan_zone mpls:enable|disable grat_arp:~enabled|disabled
  proxy_arp:~enabled|disabled ipv6_use_link_local_only:enable|disable mac_addr:mac loopback_action:loopback
 VLAN_INTERFACE_IPPREFIX_LIST name:^VLAN ip-prefix:prefix
  scope:global|local family:IPv4|IPv6 secondary:bool
sonic-vlan VLAN
 VLAN_LIST name:vlan
  vlanid:uint16(2..4094) alias description:text(1..255) dhcp_servers*:ip dhcpv6_servers*:ip mtu:uint16(1..9216)
  admin_status:state mac:mac
sonic-vlan VLAN_MEMBER
 VLAN_MEMBER_LIST name:^VLAN port:^PORT+^PORTCHANNEL
  tagging_mode!:tagged|untagged|priority_tagged
sonic-loopback-interface LOOPBACK_INTERFACE
 LOOPBACK_INTERFACE_LIST name:interface
  vrf_name:^VRF nat_zone:loopback_zone admin_status:state
 LOOPBACK_INTERFACE_IPPREFIX_LIST name:^LOOPBACK_INTERFACE ip-prefix:prefix
  scope:global|local family:IPv4|IPv6
sonic-portchannel PORTCHANNEL
 PORTCHANNEL_LIST name:~PortChannel[0-9]{1,4}
  min_links:uint16(1..1024) mode:switchport description:text(1..255) mtu:uint16(1..9216) admin_status!:state
  lacp_key:~auto+uint16(1..65535) tpid:tpid fallback:boolean fast_rate:boolean
sonic-portchannel PORTCHANNEL_MEMBER
 PORTCHANNEL_MEMBER_LIST name:^PORTCHANNEL port:^PORT
sonic-portchannel PORTCHANNEL_INTERFACE
 PORTCHANNEL_INTERFACE_LIST name:^PORTCHANNEL
  vrf_name:^VRF loopback_action:loopback nat_zone:channel_zone mpls:enable|disable
  ipv6_use_link_local_only:enable|disable mac_addr:mac
 PORTCHANNEL_INTERFACE_IPPREFIX_LIST name:^PORTCHANNEL ip_prefix:prefix
sonic-vrf VRF
 VRF_LIST name:vrf
  fallback:bool vni:uint32(0..16777215)
sonic-acl ACL_TABLE
 ACL_TABLE_LIST ACL_TABLE_NAME:text
  policy_desc:text(1..255) type!:^ACL_TABLE_TYPE+L2|L3|L3V6|L3V4V6|MIRROR|MIRRORV6|MIRROR_DSCP|CTRLPLANE
  stage:~ingress|egress|INGRESS|EGRESS services* ports*:^PORT+^PORTCHANNEL+~
sonic-acl ACL_TABLE_TYPE
 ACL_TABLE_TYPE_LIST ACL_TABLE_TYPE_NAME:text
  MATCHES* ACTIONS* BIND_POINTS*:PORT|PORTCHANNEL
sonic-acl ACL_RULE
 ACL_RULE_LIST ACL_TABLE_NAME:^ACL_TABLE RULE_NAME:text(1..255)
  PACKET_ACTION:DROP|ACCEPT|FORWARD|REDIRECT|DO_NOT_NAT|DISABLE_TRIM MIRROR_INGRESS_ACTION:^MIRROR_SESSION
  MIRROR_EGRESS_ACTION:^MIRROR_SESSION INNER_SRC_MAC_REWRITE_ACTION:mac PRIORITY!:uint32(0..999999) SRC_MAC DST_MAC
  IP_TYPE:ANY|IP|NON_IP|IPV4|IPV6|IPv4ANY|IPV4ANY|NON_IP4|IPv6ANY|IPV6ANY|NON_IPv6|ARP SRC_IP:prefix4 DST_IP:prefix4
  INNER_SRC_IP:prefix4 SRC_IPV6:prefix6 DST_IPV6:prefix6 IN_PORTS OUT_PORTS L4_SRC_PORT:uint16 L4_DST_PORT:uint16
  L4_SRC_PORT_RANGE:ports L4_DST_PORT_RANGE:ports ETHER_TYPE:ethertype IP_PROTOCOL:uint8(1..143) TCP_FLAGS:tcp_flags
  DSCP:uint8 TC:uint8 ICMP_TYPE:uint8(0..255) ICMP_CODE:uint8(0..255) ICMPV6_TYPE:uint8(0..255)
  ICMPV6_CODE:uint8(0..255) INNER_ETHER_TYPE:~(0x88CC|0x8100|0x8915|0x0806|0x0800|0x86DD|0x8847)
  INNER_IP_PROTOCOL:uint8(1..143) INNER_L4_SRC_PORT:uint16 INNER_L4_DST_PORT:uint16 VLAN_ID:uint16(1..4094)
  TUNNEL_VNI PCP DEI BTH_OPCODE:masked AETH_SYNDROME:masked TUNNEL_TERM:bool
sonic-mirror-session MIRROR_SESSION
 MIRROR_SESSION_LIST name:session
  type:ERSPAN|SPAN src_ip:ip dst_ip:ip gre_type:text(1..6) dscp:session_dscp ttl:uint8(0..255) queue:uint8
  dst_port:^PORT+~CPU src_port:text(1..2048) direction:RX|TX|BOTH policer
sonic-device_metadata DEVICE_METADATA
 .localhost
  hwsku:text(1..255) asic_id:text(1..16) default_bgp_status:up|down hostname:text(1..63) platform:text(1..255) mac:mac
  docker_routing_config_mode:~separated|unified|split|split-unified default_pfcwd_status:disable|enable bgp_asn:uint32
  deployment_id:uint32 type:role buffer_model:~dynamic|traditional frr_mgmt_framework_config:bool cloudtype region
  synchronous_mode:enable|disable yang_config_validation:enable|disable sub_role downstream_subrole resource_type
  mgmt_type cluster subtype:~DualToR|SmartSwitch|Supervisor|UpstreamLC|DownstreamLC|LowerSpineRouter
  peer_switch:text(1..63) storage_device:bool asic_name switch_id:uint16 max_cores:uint8 dhcp_server:mode
  switch_type:~chassis-packet|fabric|npu|voq|dpu bgp_adv_lo_prefix_as_128:bool suppress-fib-pending:enabled|disabled
  rack_mgmt_map:text(0..128) timezone:text(1..255) create_only_config_db_buffers:bool supporting_bulk_counter_groups*
  bgp_router_id:ip4 chassis_hostname:text(1..63) slice_type location_type nexthop_group:enabled|disabled
  ring_thread_enabled:bool t2_group_asns* anchor_route_source* orch_dash_zmq_enabled:bool orch_route_zmq_enabled:bool
  syslog_with_osversion:bool
sonic-bgp-neighbor BGP_NEIGHBOR
 BGP_NEIGHBOR_TEMPLATE_LIST neighbor:ip
  asn:uint32(0..4294967295) holdtime:uint16 keepalive:uint16 local_addr:ip name nhopself:uint8(0..1)
  rrclient:uint8(0..1) admin_status:state
 BGP_NEIGHBOR_LIST vrf_name:text neighbor:text
  peer_group_name local_asn:uint32(1..4294967295) name asn:uint32(1..4294967295) peer_type:internal|external
  ebgp_multihop:bool ebgp_multihop_ttl:uint8(1..255) auth_password keepalive:uint16 holdtime:uint16
  conn_retry:uint16(1..65535) min_adv_interval:uint16(0..600) local_addr passive_mode:bool bfd:bool admin_status:state
sonic-device_neighbor DEVICE_NEIGHBOR
 DEVICE_NEIGHBOR_LIST peer_name:text(1..255)
  name:text(1..255) mgmt_addr:ip local_port:^PORT port:text(1..255) type:text(1..255)
sonic-device_neighbor_metadata DEVICE_NEIGHBOR_METADATA
 DEVICE_NEIGHBOR_METADATA_LIST name:text(1..255)
  cluster hwsku:text(1..255) lo_addr lo_addr_v6 mgmt_addr mgmt_addr_v6 type deployment_id:uint32 slice_type
sonic-dscp-tc-map DSCP_TO_TC_MAP
 DSCP_TO_TC_MAP_LIST name:map
  @DSCP_TO_TC_MAP dscp:dscp tc:tc
sonic-dot1p-tc-map DOT1P_TO_TC_MAP
 DOT1P_TO_TC_MAP_LIST name:map
  @DOT1P_TO_TC_MAP dot1p:dot1p tc:tc
sonic-tc-dscp-map TC_TO_DSCP_MAP
 TC_TO_DSCP_MAP_LIST name:map
  @TC_TO_DSCP_MAP tc:tc dscp:dscp
sonic-tc-queue-map TC_TO_QUEUE_MAP
 TC_TO_QUEUE_MAP_LIST name:map
  @TC_TO_QUEUE_MAP tc:tc qindex:tc_queue
sonic-tc-priority-group-map TC_TO_PRIORITY_GROUP_MAP
 TC_TO_PRIORITY_GROUP_MAP_LIST name:map
  @TC_TO_PRIORITY_GROUP_MAP tc:tc pg:group
sonic-pfc-priority-queue-map MAP_PFC_PRIORITY_TO_QUEUE
 MAP_PFC_PRIORITY_TO_QUEUE_LIST name:map
  @MAP_PFC_PRIORITY_TO_QUEUE pfc_priority:pfc qindex:queue
sonic-pfc-priority-priority-group-map PFC_PRIORITY_TO_PRIORITY_GROUP_MAP
 PFC_PRIORITY_TO_PRIORITY_GROUP_MAP_LIST name:map
  @PFC_PRIORITY_TO_PRIORITY_GROUP_MAP pfc_priority:pfc pg:group
sonic-cable-length CABLE_LENGTH
 CABLE_LENGTH_LIST name:cable_list
  @CABLE_LENGTH port:^PORT length:cable
sonic-port-qos-map PORT_QOS_MAP
 PORT_QOS_MAP_LIST ifname:~global+^PORT
  tc_to_pg_map:^TC_TO_PRIORITY_GROUP_MAP tc_to_queue_map:^TC_TO_QUEUE_MAP pfc_enable:priorities
  pfcwd_sw_enable:priorities pfc_to_queue_map:^MAP_PFC_PRIORITY_TO_QUEUE dscp_to_tc_map:^DSCP_TO_TC_MAP
  pfc_to_pg_map:^PFC_PRIORITY_TO_PRIORITY_GROUP_MAP tc_to_dscp_map:^TC_TO_DSCP_MAP dot1p_to_tc_map:^DOT1P_TO_TC_MAP
  scheduler:^SCHEDULER
sonic-scheduler SCHEDULER
 SCHEDULER_LIST name:text
  type:DWRR|WRR|STRICT weight:uint8(1..100) priority:uint8(0..9) meter_type:packets|bytes cir:uint64 pir:uint64
  cbs:uint32 pbs:uint32
sonic-queue QUEUE
 QUEUE_LIST ifname:^PORT+~CPU qindex:text
  scheduler:^SCHEDULER wred_profile:^WRED_PROFILE
sonic-wred-profile WRED_PROFILE
 WRED_PROFILE_LIST name:map
  yellow_min_threshold:uint64 green_min_threshold:uint64 red_min_threshold:uint64 yellow_max_threshold:uint64
  green_max_threshold:uint64 red_max_threshold:uint64 wred_green_enable:bool wred_yellow_enable:bool
  ecn:ecn_none|ecn_green|ecn_yellow|ecn_red|ecn_green_yellow|ecn_green_red|ecn_yellow_red|ecn_all wred_red_enable:bool
  yellow_drop_probability:uint64(0..100) green_drop_probability:uint64(0..100) red_drop_probability:uint64(0..100)
sonic-pfcwd PFC_WD
 PFC_WD_LIST ifname:^PORT+watched
  action:drop|forward|alert detection_time:uint32(100..5000) restoration_time:uint32(100..60000)
  POLL_INTERVAL:uint32(100..3000)
sonic-buffer-pool BUFFER_POOL
 BUFFER_POOL_LIST name:text
  type!:ingress|egress|both mode!:static|dynamic size:uint64 xoff:uint64 percentage:uint8
sonic-buffer-profile BUFFER_PROFILE
 BUFFER_PROFILE_LIST name:text
  static_th:uint64 dynamic_th:int32(-8..7) size!:uint64 pool!:^BUFFER_POOL xon_offset:uint64 xon:uint64 xoff:uint64
  headroom_type:static|dynamic packet_discard_action:drop|trim
sonic-buffer-pg BUFFER_PG
 BUFFER_PG_LIST port:^PORT pg_num:groups
  profile:^BUFFER_PROFILE+~NULL
sonic-buffer-queue BUFFER_QUEUE
 BUFFER_QUEUE_LIST port:^PORT qindex:queues
  profile:^BUFFER_PROFILE
sonic-buffer-port-ingress-profile-list BUFFER_PORT_INGRESS_PROFILE_LIST
 BUFFER_PORT_INGRESS_PROFILE_LIST_LIST port:^PORT
  profile_list*:^BUFFER_PROFILE
sonic-buffer-port-egress-profile-list BUFFER_PORT_EGRESS_PROFILE_LIST
 BUFFER_PORT_EGRESS_PROFILE_LIST_LIST port:^PORT
  profile_list*:^BUFFER_PROFILE
sonic-mgmt_port MGMT_PORT
 MGMT_PORT_LIST name:~eth([1-3][0-9]{3}|[1-9][0-9]{2}|[1-9][0-9]|[0-9])
  speed:uint16 autoneg:~on|off alias description mtu:uint16(1500..9216) admin_status:state
sonic-mgmt_interface MGMT_INTERFACE
 MGMT_INTERFACE_LIST name:^MGMT_PORT ip_prefix:prefix
  gwaddr:ip forced_mgmt_routes*
sonic-ntp NTP
 .global
  src_intf*:^PORT+^PORTCHANNEL+^LOOPBACK_INTERFACE+^MGMT_PORT+~eth0 vrf:~mgmt|default authentication:mode dhcp:mode
  server_role:mode admin_state:mode
sonic-ntp NTP_SERVER
 NTP_SERVER_LIST server_address:text
  association_type:server|pool iburst:on|off key:^NTP_KEY resolve_as admin_state:mode trusted:yes|no
  version:ntp_version
sonic-ntp NTP_KEY
 NTP_KEYS_LIST id:key_id
  trusted:yes|no value:text(1..64) type:md5|sha1|sha256|sha384|sha512
sonic-syslog SYSLOG_SERVER
 SYSLOG_SERVER_LIST server_address:text
  source:ip port:uint16 vrf:^VRF+default|mgmt filter:include|exclude filter_regex protocol:tcp|udp severity:severity
sonic-dns DNS_NAMESERVER
 DNS_NAMESERVER_LIST ip:ip
sonic-system-tacacs TACPLUS_SERVER
 TACPLUS_SERVER_LIST ipaddress:text
  priority:server_priority tcp_port:uint16 timeout:server_timeout auth_type:auth passkey:secret vrf:server_vrf
sonic-system-tacacs TACPLUS
 .global
  auth_type:auth timeout:timeout passkey:secret
  src_intf:^PORT+^PORTCHANNEL+vlan_interface+^LOOPBACK_INTERFACE+^MGMT_PORT
sonic-system-aaa AAA
 AAA_LIST type:authentication|authorization|accounting
  login:login failthrough:boolean fallback:boolean debug:boolean trace:boolean
sonic-banner BANNER_MESSAGE
 .global
  state:mode login motd logout
sonic-static-route STATIC_ROUTE
 STATIC_ROUTE_TEMPLATE_LIST prefix:prefix
  nexthop ifname advertise:flags bfd:flags
 STATIC_ROUTE_LIST vrf_name:~default+~mgmt+vrf prefix:prefix
  nexthop ifname advertise:flags distance nexthop-vrf blackhole:flags
"""

OTHERS = """
ASIC_SENSORS AS_PATH_SET AUTO_TECHSUPPORT AUTO_TECHSUPPORT_FEATURE
BGP_ALLOWED_PREFIXES BGP_BBR BGP_DEVICE_GLOBAL BGP_GLOBALS BGP_GLOBALS_AF BGP_GLOBALS_AF_AGGREGATE_ADDR
BGP_GLOBALS_AF_NETWORK BGP_GLOBALS_LISTEN_PREFIX BGP_INTERNAL_NEIGHBOR BGP_MONITORS BGP_NEIGHBOR_AF BGP_PEER_GROUP
BGP_PEER_GROUP_AF BGP_PEER_RANGE BGP_SENTINELS BGP_VOQ_CHASSIS_NEIGHBOR BMP
COMMUNITY_SET CONSOLE_PORT CONSOLE_SWITCH COPP_GROUP COPP_TRAP CRM DEBUG_COUNTER
DEFAULT_LOSSLESS_BUFFER_PARAMETER DHCP_RELAY DHCP_SERVER DSCP_TO_FC_MAP EXP_TO_FC_MAP
FABRIC_MONITOR FEATURE FIPS FLEX_COUNTER_TABLE GNMI KDUMP LDAP LDAP_SERVER LLDP LLDP_PORT LOGGER
LOSSLESS_TRAFFIC_PATTERN MACSEC_PROFILE MGMT_VRF_CONFIG MPLS_TC_TO_TC_MAP
MUX_CABLE NAT_GLOBAL NEIGH PASSW_HARDENING PEER_SWITCH POLICER
PORT_STORM_CONTROL PREFIX PREFIX_LIST PREFIX_SET RADIUS RADIUS_SERVER RESTAPI ROUTE_MAP ROUTE_MAP_SET
ROUTE_REDISTRIBUTE SERIAL_CONSOLE SFLOW SFLOW_COLLECTOR SFLOW_SESSION SNMP SNMP_AGENT_ADDRESS_CONFIG SNMP_COMMUNITY
SNMP_USER SSH_SERVER SWITCH_HASH SWITCH_TRIMMING SYSLOG_CONFIG SYSLOG_CONFIG_FEATURE
SYSTEM_DEFAULTS SYSTEM_PORT TELEMETRY TUNNEL VERSIONS VLAN_SUB_INTERFACE VNET
VXLAN_EVPN_NVO VXLAN_TUNNEL VXLAN_TUNNEL_MAP WARM_RESTART XCVRD_LOG ZTP
"""
"""Tables that have a model whose rows are not checked here."""
