"""How disruptive each change is, how it is applied, and why: one table for the plan and the driver.

A rule names a table, optionally fields and kinds of change, and its source. The first rule that matches counts. A
change without a rule is written all the same, by SONiC's updater where a YANG model lets it check the change: its
effect before the next reload is reported as unknown and treated as carefully as a flapping port. A change reloads the
switch only where a rule says so. BI, SU, SW, SC, HS and PD are sonic-buildimage, sonic-utilities, sonic-swss,
sonic-swss-common, sonic-host-services and sonic-platform-daemons of branch 202505; "recorded" is what their commands
did when they were run.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from railweave.sonic.delta.change import Disruption, Edit, Method, Op
from railweave.sonic.neutral import SWITCH_HASH, SWITCH_TRIMMING, is_permanent
from railweave.sonic.ownership import FEATURES_NEEDED, GNMI, STREAM_GROUPS, STREAM_PROFILES
from railweave.sonic.qos_maps import QOS_MAPS

ROW = ""
"""Stands for the row itself where a rule lists fields."""

_ANY = frozenset(Op)
_COMES = frozenset({Op.ADD, Op.UPDATE})
_COMES_OR_GOES = frozenset({Op.ADD, Op.REMOVE})
_GOES = frozenset({Op.REMOVE})


@dataclass(frozen=True, slots=True)
class Treatment:
    """What a change does to traffic, and how it reaches the device."""

    disruption: Disruption
    method: Method


@dataclass(frozen=True, slots=True)
class TreatmentRule:
    """A line of the table; no fields means every field and the row itself. ``when`` looks at the values, if set.

    ``recreates`` is the table whose row of the same key has to be deleted and set again before the daemons follow the
    change, in a revert as well. A removal that they ignore is replaced by a neutral value (``neutral``); where there is
    none, ``keeps`` says what stays in force and until when.
    """

    tables: tuple[str, ...]
    fields: tuple[str, ...]
    ops: frozenset[Op]
    disruption: Disruption
    method: Method
    source: str
    when: Callable[[Edit], bool] | None = None
    recreates: str = ""
    keeps: str = ""


DEFAULT_MTU_BYTES = 9100
"""MTU of a port without the field (SONiC's platform default)."""


def lowers_mtu(change: Edit) -> bool:
    """Tell whether a change makes the MTU of a port smaller, in bytes."""
    if (change.table, change.field) != ("PORT", "mtu"):
        return False
    return _mtu_bytes(change.after) < _mtu_bytes(change.before)


def mtu_bytes_after(change: Edit) -> int:
    """Return the MTU in bytes that a change of ``PORT`` ``mtu`` leaves."""
    return _mtu_bytes(change.after)


def _mtu_bytes(value: object) -> int:
    """Return the MTU in bytes of a field of CONFIG_DB; the default if it is missing or not a number."""
    text = str(value)
    if text.isdecimal():
        return int(text)
    return DEFAULT_MTU_BYTES


# Short forms for the columns of the table.
_NONE = Disruption.NONE
_SESSION = Disruption.SESSION
_FLAP = Disruption.FLAP
_RELOAD = Disruption.RELOAD
_PATCH = Method.PATCH
_WRITE = Method.WRITE

RATES = ("cir", "cbs", "pir", "pbs")
MEMBERSHIPS = ("VLAN_MEMBER", "PORTCHANNEL_MEMBER", "VLAN_SUB_INTERFACE", "MIRROR_SESSION")
PROFILE_LISTS = ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")
SERVICES = ("SYSLOG_SERVER", "NTP", "NTP_SERVER", "DNS_NAMESERVER", "BANNER_MESSAGE")
FOLLOWED = ("AAA", "TACPLUS", "TACPLUS_SERVER", "CRM", "STATIC_ROUTE")
READ_AT_START = ("SNMP", "SNMP_COMMUNITY", "SNMP_USER", "SNMP_AGENT_ADDRESS_CONFIG")

FOLLOWED_BY_HOST = ("KDUMP", "LDAP", "LDAP_SERVER", "NTP_KEY", "PASSW_HARDENING", "RADIUS", "RADIUS_SERVER",
                    "SERIAL_CONSOLE", "SYSLOG_CONFIG")  # fmt: skip
PUNTED = ("COPP_GROUP", "COPP_TRAP")
"""Tables of the packets that go to the switch's own CPU."""
FEATURES_BESIDE = frozenset({"eventd", "gnmi", "lldp", "mgmt-framework", "restapi", "sflow", "snmp", "sysmgr",
                             "telemetry"})  # fmt: skip
"""Features that take no part in forwarding, and whose unit no other unit needs (BI files/build_templates)."""
READ_WHEN_SERVICES_START = ("buffer_model", "docker_routing_config_mode", "frr_mgmt_framework_config", "hostname",
                            "hwsku", "mac", "platform", "subtype", "switch_type", "synchronous_mode",
                            "type")  # fmt: skip

# fmt: off
RULES: tuple[TreatmentRule, ...] = (
    TreatmentRule(("PORT",), ("alias",), _GOES, _NONE, _WRITE,
         "lldpmgrd keeps one that is removed (BI docker-lldp lldpmgrd)",
         keeps="LLDP goes on announcing it until lldpmgrd starts anew"),
    TreatmentRule(("PORT",), ("alias",), _ANY, _NONE, _WRITE,
         "it reaches no object of the ASIC (run on 202505); lldpmgrd announces a new alias at once and keeps one that"
         " is removed (BI docker-lldp lldpmgrd, SW cfgmgr/portmgr.cpp)"),
    TreatmentRule(("PORT",), ("index",), _ANY, _FLAP, _WRITE,
         "xcvrd gives the port the module of another cage and sends its media settings, for which orchagent takes the"
         " port down (PD sonic-xcvrd on_add_logical_port, SW orchagent/portsorch.cpp setPortSerdesAttribute)"),
    TreatmentRule(("PORT",), (ROW, "lanes", "subport"), _ANY, _RELOAD, Method.RELOAD,
         "lanes are create-only in GCU and SAI; breakout is a whole-file reload (BI portconfig.py)"),
    TreatmentRule(("PORT",), ("speed",), _COMES_OR_GOES, _RELOAD, Method.RELOAD,
         "a port keeps the speed whose field is removed, and no value stands for none (run; SW portsorch.cpp)"),
    TreatmentRule(("PORT",), ("speed", "fec", "autoneg", "adv_interface_types", "adv_speeds", "interface_type",
                     "link_training"), _ANY, _FLAP, _WRITE,
         "the link trains anew; a speed by patch takes minutes a port (BI issue 23945)"),
    TreatmentRule(("PORT",), ("mtu",), _ANY, _SESSION, _PATCH,
         "larger packets are dropped from then on, BGP's own among them until TCP sends smaller ones; the link stays up"
         " (SW portsorch.cpp: the ASIC takes mtu + 22 bytes)", when=lowers_mtu),
    TreatmentRule(("PORT",), ("mtu", "description", "tpid", "dhcp_rate_limit"), _ANY, _NONE, _PATCH,
         "set on the running port (SU config/main.py interface mtu)"),
    TreatmentRule(("PORT",), ("pfc_asym",), _ANY, _NONE, _WRITE,
         "set on the running port (SU config/main.py interface pfc asymmetric)"),
    TreatmentRule(("INTERFACE", "LOOPBACK_INTERFACE"), (ROW,), _COMES, _NONE, _PATCH,
         "GCU puts the bare row before its addresses (recorded apply-patch/interface-ip)"),
    TreatmentRule(("LOOPBACK_INTERFACE",), (ROW,), _GOES, _SESSION, _WRITE,
         "GCU refuses to remove Loopback0 (recorded apply-patch/loopback0-remove)"),
    TreatmentRule(("INTERFACE",), (ROW,), _GOES, _SESSION, _PATCH,
         "the session on that address ends (recorded apply-patch/interface-remove)"),
    TreatmentRule(("INTERFACE", "LOOPBACK_INTERFACE", "VLAN_INTERFACE", "VLAN_SUB_INTERFACE", "PORTCHANNEL_INTERFACE"),
         ("vrf_name",), _ANY, _RELOAD, Method.RELOAD,
         "intfmgrd takes no interface from one VRF to another (SW cfgmgr/intfmgr.cpp isIntfChangeVrf)"),
    TreatmentRule(("VLAN_INTERFACE", "PORTCHANNEL_INTERFACE"), (ROW,), _COMES, _NONE, _PATCH,
         "intfmgrd follows the table (SW cfgmgr/intfmgrd.cpp)"),
    TreatmentRule(("VLAN_INTERFACE", "PORTCHANNEL_INTERFACE"), (ROW,), _GOES, _SESSION, _PATCH,
         "what is reached over that address loses it (SW cfgmgr/intfmgrd.cpp)"),
    TreatmentRule(("INTERFACE",), ("ipv6_use_link_local_only",), _ANY, _SESSION, _PATCH,
         "the link-local address of the session comes or goes"),
    TreatmentRule(("INTERFACE",), ("mpls", "loopback_action"), _ANY, _NONE, _PATCH,
         "set on the running router interface (SW cfgmgr/intfmgr.cpp)"),
    TreatmentRule(("DEVICE_NEIGHBOR", "DEVICE_NEIGHBOR_METADATA"), (), _ANY, _NONE, _PATCH,
         "read by templates when they render, by no daemon"),
    TreatmentRule(("DEVICE_METADATA",),
         ("bgp_asn", "default_bgp_status", "default_pfcwd_status", "suppress-fib-pending"), _ANY, _NONE, _WRITE,
         "read when a container starts; the FRR file holds what counts (recorded apply-patch/bgp-asn)"),
    TreatmentRule(("DEVICE_METADATA",), ("timezone",), _GOES, _NONE, _PATCH,
         "hostcfgd keeps one that is removed (HS scripts/hostcfgd timezone_update)",
         keeps="the switch keeps its time zone until another one is set"),
    TreatmentRule(("DEVICE_METADATA",), ("timezone",), _ANY, _NONE, _PATCH,
         "hostcfgd sets it and restarts rsyslog (HS scripts/hostcfgd timezone_update)"),
    TreatmentRule(("DEVICE_METADATA",), (ROW, *READ_WHEN_SERVICES_START), _ANY, _RELOAD, Method.RELOAD,
         "SKU, type and modes are read when services start (BI docker-orchagent orchagent.sh and buffermgrd.sh,"
         " docker-fpm-frr docker_init.sh); hostcfgd and lldpmgrd take a host name at once, templates when they render"),
    TreatmentRule(("SYSTEM_DEFAULTS",), (), _ANY, _RELOAD, Method.RELOAD,
         "read when services start; bgpcfgd starts bfdd then (BI sonic-bgpcfgd main.py, managers_bfd.py)"),
    TreatmentRule((SWITCH_HASH,), (), _GOES, _NONE, _WRITE,
         "orchagent refuses the removal of the row and of its fields (SW orchagent/switchorch.cpp"
         " doCfgSwitchHashTableTask, setSwitchHash)",
         keeps="orchagent refuses its removal: the ASIC hashes by these fields until a reload without the row"),
    TreatmentRule((SWITCH_TRIMMING,), (), _GOES, _NONE, _WRITE,
         "orchagent refuses the removal of the row and of its fields (SW orchagent/switchorch.cpp"
         " doCfgSwitchTrimmingTableTask, setSwitchTrimming)",
         keeps="orchagent refuses its removal: packets are trimmed as before until a reload without the row"),
    TreatmentRule((SWITCH_TRIMMING,), (), _ANY, _NONE, _WRITE,
         "the ASIC trims by it from then on what would be dropped (SW orchagent/switchorch.cpp setSwitchTrimming)"),
    TreatmentRule((SWITCH_HASH,), (), _ANY, _NONE, _WRITE,
         "the ASIC hashes by other fields at once: flows take other paths, packets on their way may arrive out of order"
         " (SW orchagent/switchorch.cpp setSwitchHash)"),
    TreatmentRule(("BREAKOUT_CFG",), (), _ANY, _NONE, _WRITE,
         "read only by config interface breakout; a real breakout changes PORT rows too"),
    TreatmentRule(("BGP_NEIGHBOR", "BGP_PEER_RANGE"), (), _GOES, _SESSION, _WRITE,
         "bgpcfgd removes the neighbor from FRR (BI sonic-bgpcfgd)"),
    TreatmentRule(("SCHEDULER",), RATES, _GOES, _FLAP, _WRITE,
         "orchagent keeps a rate whose field is removed, and the model refuses 0: its queues let go of the scheduler"
         " for the moment in which it is made anew (run on 202505; SW orchagent/qosorch.cpp)", recreates="SCHEDULER"),
    TreatmentRule((*QOS_MAPS, "SCHEDULER", "WRED_PROFILE"), (), _ANY, _NONE, _WRITE,
         "orchagent changes the object in place (SW qosorch.cpp); GCU refuses most of WRED_PROFILE (gcu-refusals)"),
    TreatmentRule(("PORT_QOS_MAP",), ("pfc_enable", "pfcwd_sw_enable"), _ANY, _NONE, _WRITE,
         "PFC changes on the running port; the watchdog takes its queues when the port's row is set, so that row is set"
         " again (run on 202505; SW orchagent/pfcwdorch.cpp registerInWdDb)", recreates="PFC_WD"),
    TreatmentRule(("PORT_QOS_MAP", "QUEUE"), (), _ANY, _NONE, _WRITE,
         "orchagent binds on the running port; GCU would shut the port for each row (recorded gcu-qos)"),
    TreatmentRule(("PFC_WD",), (ROW,), _GOES, _NONE, _WRITE,
         "orchagent crashes where the row for the whole switch is deleted (run on 202505; SW pfcwdorch.cpp)",
         when=lambda edit: is_permanent(edit.table, edit.key),
         keeps="the row is never deleted while the switch runs: the watchdog keeps its interval until a reload without"
         " the row"),
    TreatmentRule(("PFC_WD",), ("action",), _ANY, _NONE, _WRITE,
         "a queue keeps the action that it was first watched with (run on 202505; SW orchagent/pfcwdorch.cpp:"
         " m_entryMap.emplace)", recreates="PFC_WD"),
    TreatmentRule(("PFC_WD",), ("detection_time",), _GOES, _NONE, _WRITE,
         "a row without it is refused, and what was watched goes on (run on 202505; SW orchagent/pfcwdorch.cpp)",
         recreates="PFC_WD"),
    TreatmentRule(("PFC_WD",), (), _ANY, _NONE, _WRITE,
         "GCU refuses the table on SKUs that it does not list (recorded gcu-refusals/unlisted-sku)"),
    TreatmentRule(("BUFFER_POOL",), ("size",), _COMES_OR_GOES, _RELOAD, Method.RELOAD,
         "who sizes a pool, the row or SONiC, is settled when buffermgrd starts (SW cfgmgr/buffermgrdyn.cpp)"),
    TreatmentRule(("BUFFER_POOL",), ("size", "xoff"), _ANY, _NONE, _WRITE,
         "SAI sets both on the pool in use; GCU refuses it on SKUs that it does not list (SW bufferorch.cpp)"),
    TreatmentRule(("BUFFER_POOL",), (), _ANY, _RELOAD, Method.RELOAD,
         "a pool, its type and its mode are create-only, and profiles refer to it (SW bufferorch.cpp)"),
    TreatmentRule(("BUFFER_PROFILE",), ("pool",), _ANY, _RELOAD, Method.RELOAD,
         "a profile's pool is create-only in SAI (SW bufferorch.cpp)"),
    TreatmentRule(("BUFFER_PROFILE",), ("static_th", "dynamic_th"), _COMES_OR_GOES, _RELOAD, Method.RELOAD,
         "a profile keeps its threshold mode, and both thresholds end in the ASIC (run on 202505; SW bufferorch.cpp)"),
    TreatmentRule(("BUFFER_PROFILE",), ("size", "xoff", "xon"), _COMES_OR_GOES, _RELOAD, Method.RELOAD,
         "orchagent keeps the value whose field is removed, and no value stands for none (run; SW bufferorch.cpp)"),
    TreatmentRule(("BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE", *PROFILE_LISTS), (), _ANY, _NONE, _WRITE,
         "orchagent sets them on the running port; GCU refuses or shuts the port (recorded gcu-qos, gcu-refusals)"),
    TreatmentRule(("CABLE_LENGTH",), (), _ANY, _NONE, _WRITE,
         "dynamic: headroom is computed anew on the running port (SW cfgmgr/buffermgrdyn.cpp); static: the length is"
         " kept for the port's next event, and the group's own row names the new profile (run on 202505; SW"
         " cfgmgr/buffermgr.cpp doCableTask); from 202511 buffermgrd writes that row at once"),
    TreatmentRule(("DEFAULT_LOSSLESS_BUFFER_PARAMETER",), ("over_subscribe_ratio",), _COMES, _NONE, _WRITE,
         "the shared headroom pool is computed anew (run on 202505; SW cfgmgr/buffermgrdyn.cpp)"),
    TreatmentRule(("LOSSLESS_TRAFFIC_PATTERN", "DEFAULT_LOSSLESS_BUFFER_PARAMETER"), (), _ANY, _RELOAD, Method.RELOAD,
         "no daemon follows the traffic pattern, and default_dynamic_th is for profiles made later (run on 202505; SW"
         " cfgmgr/buffermgrdyn.cpp)"),
    TreatmentRule(MEMBERSHIPS, (), _GOES, _FLAP, _WRITE,
         "the port leaves its VLAN, port channel or mirror session"),
    TreatmentRule(("ACL_TABLE_TYPE",), (), _ANY, _NONE, _WRITE,
         "orchagent follows the table; an ACL of a type waits for it (SW orchagent/aclorch.cpp doAclTableTypeTask)"),
    TreatmentRule(("ACL_RULE",), (), _ANY, _NONE, _WRITE,
         "orchagent follows the table; the updater takes minutes to sort hundreds of rules (BI issue 22370)"),
    TreatmentRule(("ACL_TABLE", "PORTCHANNEL", "VLAN"), (), _ANY, _NONE, _WRITE,
         "a port leaves a list"),
    TreatmentRule(("PORTCHANNEL_MEMBER",), (), _COMES, _FLAP, _WRITE,
         "teammgrd takes the port down before it joins (SW cfgmgr/teammgr.cpp addLagMember)"),
    TreatmentRule(("VLAN_MEMBER", "VLAN_SUB_INTERFACE", "MIRROR_SESSION"), (ROW,), _COMES, _NONE, _WRITE,
         "vlanmgrd, intfmgrd and orchagent follow the tables (SW cfgmgr/vlanmgrd.cpp, intfmgrd.cpp, orchdaemon.cpp)"),
    TreatmentRule(("VRF",), (ROW,), _COMES, _NONE, _PATCH,
         "vrfmgrd and orchagent make it (SW cfgmgr/vrfmgr.cpp setLink, orchagent/vrforch.cpp addOperation)"),
    TreatmentRule(("VRF",), (), _GOES, _SESSION, _PATCH,
         "orchagent removes a VRF that nothing refers to any more, and layer 3 of the VLAN whose VNI goes"
         " (SW orchagent/vrforch.cpp delOperation, delVrfVNIMap)"),
    TreatmentRule(("LOGGER",), (), _COMES, _NONE, _PATCH,
         "each daemon follows its own row, one of require_manual_refresh by a signal (SC common/logger.cpp"
         " settingThread, SU config/syslog.py)"),
    TreatmentRule(("LOGGER",), (), _GOES, _NONE, _PATCH,
         "a daemon keeps its level until it starts anew, and writes its row then (SC common/logger.cpp settingThread,"
         " linkToDbWithOutput)", keeps="the daemon keeps its level until it starts anew"),
    TreatmentRule(("SFLOW", "SFLOW_SESSION"), (), _ANY, _NONE, _PATCH,
         "sflowmgrd follows them and restarts hsflowd; packets are sampled, not held up (SW cfgmgr/sflowmgr.cpp)"),
    TreatmentRule(("FEATURE",), ("state", ROW), _ANY, _FLAP, _WRITE,
         "featured stops or starts the container at once; without it the switch forwards nothing (HS scripts/featured)",
         when=lambda edit: edit.key in FEATURES_NEEDED),
    TreatmentRule(("FEATURE",), ("state",), _COMES, _NONE, _PATCH,
         "featured stops or starts the container at once; it takes no part in forwarding (HS scripts/featured,"
         " BI files/build_templates)", when=lambda edit: edit.key in FEATURES_BESIDE),
    TreatmentRule(("FEATURE",), ("auto_restart",), _ANY, _NONE, _PATCH,
         "featured writes the unit's Restart= and reloads systemd's files (HS scripts/featured update_systemd_config)"),
    TreatmentRule(FOLLOWED_BY_HOST, (), _ANY, _NONE, _PATCH,
         "hostcfgd follows the table; a crash kernel waits for a boot (HS scripts/hostcfgd register_callbacks)"),
    TreatmentRule(("SSH_SERVER",), (), _GOES, _NONE, _PATCH,
         "hostcfgd keeps in sshd_config what is removed (HS scripts/hostcfgd policies_update, set_policies)",
         keeps="hostcfgd keeps it in sshd_config until another value is set"),
    TreatmentRule(("SSH_SERVER",), (), _ANY, _NONE, _PATCH,
         "hostcfgd writes sshd_config and restarts sshd, whose sessions go on (HS scripts/hostcfgd policies_update,"
         " set_policies)"),
    TreatmentRule(("SYSLOG_CONFIG_FEATURE",), (), _ANY, _NONE, _PATCH,
         "containercfgd restarts its container's rsyslogd, where it runs (BI src/sonic-containercfgd)"),
    TreatmentRule(PUNTED, (), _ANY, _SESSION, _PATCH,
         "coppmgrd and orchagent remove and make traps and set their rates: BGP, LACP and ARP packets may be dropped"
         " (SW cfgmgr/coppmgr.cpp, orchagent/copporch.cpp trapGroupProcessTrapIdChange)"),
    TreatmentRule(("DEBUG_COUNTER", "DEBUG_COUNTER_DROP_REASON"), (), _ANY, _NONE, _PATCH,
         "orchagent makes and removes counters and reasons; a counter that exists keeps its type"
         " (SW orchagent/debugcounterorch.cpp)"),
    TreatmentRule(("POLICER",), (), _ANY, _NONE, _PATCH,
         "mirror sessions alone use it; orchagent sets rates and bursts, and keeps the rest until the row is made anew"
         " (SW orchagent/policerorch.cpp doTask, mirrororch.cpp)"),
    TreatmentRule(("PORT_STORM_CONTROL",), (), _ANY, _NONE, _PATCH,
         "the port drops flooded packets above the rate; an update takes the policer off the port and sets it again"
         " (SW orchagent/policerorch.cpp handlePortStormControlTable)"),
    TreatmentRule(("AUTO_TECHSUPPORT", "AUTO_TECHSUPPORT_FEATURE"), (), _ANY, _NONE, _PATCH,
         "read at each event (SU scripts/coredump_gen_handler.py, techsupport_cleanup.py, memory_threshold_check.py)"),
    TreatmentRule(("CRM",), (), _GOES, _NONE, _PATCH,
         "orchagent takes no removal, and a field that is removed keeps its value (SW orchagent/crmorch.cpp doTask)",
         keeps="orchagent keeps the thresholds and the polling interval until it starts anew"),
    TreatmentRule(("FLEX_COUNTER_TABLE",), (ROW, "FLEX_COUNTER_STATUS", "POLL_INTERVAL"), _GOES, _NONE, _PATCH,
         "orchagent takes no removal, and a field that is removed keeps its value (SW orchagent/flexcounterorch.cpp"
         " doTask)", keeps="the counters of the group are read as before until orchagent starts anew"),
    TreatmentRule(("FLEX_COUNTER_TABLE",), (), _ANY, _NONE, _PATCH,
         "flexcounterorch starts and stops the polling of a group and sets its interval; nothing that forwards is"
         " written (SW orchagent/flexcounterorch.cpp doTask)"),
    TreatmentRule((STREAM_PROFILES, STREAM_GROUPS), (), _ANY, _NONE, _WRITE,
         "orchagent stops and starts the stream of a group, waits for its profile, and removes a profile once its"
         " groups are gone; nothing that forwards is written (SW orchagent/high_frequency_telemetry/hftelorch.cpp of"
         " 202511)"),
    TreatmentRule((GNMI,), (), _ANY, _NONE, _WRITE,
         "read when the gnmi container starts (BI dockers/docker-sonic-gnmi/gnmi-native.sh): `sudo systemctl restart"
         " gnmi`, which takes no part in forwarding; nothing happens before"),
    TreatmentRule(FOLLOWED, (), _ANY, _NONE, _PATCH,
         "a daemon follows the table (HS scripts/hostcfgd, BI sonic-bgpcfgd, SW orchagent)"),
    TreatmentRule(READ_AT_START, (), _ANY, _NONE, _WRITE,
         "read when the snmp container starts; nothing happens before"),
    TreatmentRule(SERVICES, (), _ANY, _NONE, _PATCH,
         "GCU restarts the service that reads the table (recorded apply-patch/syslog, ntp)"),
)
"""What each change does: tables, fields, kinds, disruption, method, source."""
# fmt: on


def find_rule(edit: Edit) -> TreatmentRule | None:
    """Return the first rule of the table that matches this change."""
    rules = _rules_of(edit.table, edit.field or ROW, edit.op)
    return next((rule for rule in rules if rule.when is None or rule.when(edit)), None)


@lru_cache(maxsize=4096)
def _rules_of(table: str, field: str, op: Op) -> tuple[TreatmentRule, ...]:
    rules = [rule for rule in RULES if table in rule.tables and op in rule.ops]
    return tuple(rule for rule in rules if not rule.fields or field in rule.fields)
