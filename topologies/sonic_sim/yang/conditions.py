"""The must conditions of the models: as libyang prints them, with the models' messages, and what each one tests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Site:
    """Where a condition stands: the document, the row with its key's parts, and the value of the leaf."""

    document: Document
    table: str
    parts: tuple[str, ...]
    row: Mapping[str, Any]
    value: str

    def rows(self, table: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the rows of a table."""
        return self.document.get(table, {})

    def number(self, field: str) -> int | None:
        """Return a number of the row."""
        return int(self.row[field]) if field in self.row else None


@dataclass(frozen=True, slots=True)
class Must:
    """One condition of a leaf, or of a row where the leaf has no name."""

    leaf: str
    condition: str
    message: str
    holds: Callable[[Site], bool]


def _beside_bare_row(listing: str, example: str) -> Must:
    return Must(
        "name", f"(current() = ../../{listing}[name=current()]/name)",
        f"Must condition not satisfied, Try adding {example}",
        lambda site: site.value in site.rows(site.table),
    )  # fmt: skip


_FAMILY = Must(
    "family",
    "(contains(../ip-prefix, ':') and current()='IPv6') or (contains(../ip-prefix, '.') and current()='IPv4')", "",
    lambda site: (":" if site.value == "IPv6" else ".") in site.parts[-1],
)  # fmt: skip


def _at_least(site: Site, other: str) -> bool:
    """Compare with another leaf; a comparison with none is false, as in XPath."""
    least = site.number(other)
    return least is not None and int(site.value) >= least


def _wred(color: str) -> Must:
    return Must(
        f"{color}_max_threshold", f"(current() >= current()/../{color}_min_threshold)",
        f"{color.capitalize()} max threshold must be greater than or equal to min threshold",
        lambda site: _at_least(site, f"{color}_min_threshold"),
    )  # fmt: skip


def _watch_time(leaf: str) -> tuple[Must, Must]:
    def holds(site: Site) -> bool:
        whole = site.rows(site.table).get("GLOBAL")
        return whole is None or ("POLL_INTERVAL" in whole and int(site.value) >= int(whole["POLL_INTERVAL"]))

    condition = (
        "(not(boolean(current()/../../PFC_WD_LIST[ifname='GLOBAL'])) or (current() >= "
        "current()/../../PFC_WD_LIST[ifname='GLOBAL']/POLL_INTERVAL))"
    )
    message = f"{leaf} must be greater than or equal to POLL_INTERVAL"
    return _watched(leaf), Must(leaf, condition, message, holds)


def _watched(leaf: str) -> Must:
    return Must(leaf, "../ifname != 'GLOBAL'", "", lambda site: site.parts[0] != "GLOBAL")


def _needs(leaf: str, other: str) -> Must:
    return Must(
        leaf, f"((current()/../{other}) and (current()/../{other} > 0))",
        f"{leaf} can't be configured without {other}.", lambda site: bool(site.number(other)),
    )  # fmt: skip


def _same_version(leaf: str, other: str) -> Must:
    return Must(
        leaf,
        f"(contains(current(), ':') and contains(../{other}, ':')) or (not(contains(current(), ':')) and "
        f"not(contains(../{other}, ':')))",
        "src_ip and dst_ip must have the same IP version.",
        lambda site: (":" in site.value) == (":" in str(site.row.get(other, ""))),
    )  # fmt: skip


def _management_vrf(condition: str, message: str) -> Must:
    def holds(site: Site) -> bool:
        whole = site.rows("MGMT_VRF_CONFIG").get("vrf_global", {})
        return bool(site.value != "mgmt" or whole.get("mgmtVrfEnabled") == "true")

    enabled = "/sonic-mgmt_vrf:sonic-mgmt_vrf/sonic-mgmt_vrf:MGMT_VRF_CONFIG/sonic-mgmt_vrf:vrf_global"
    return Must("vrf", condition.format(f"({enabled}/sonic-mgmt_vrf:mgmtVrfEnabled = 'true')"), message, holds)


def _untagged_once(site: Site) -> bool:
    rows = [row for key, row in site.rows(site.table).items() if key.partition("|")[2] == site.value]
    return sum(bool(row.get("tagging_mode") == "untagged") for row in rows) <= 1


_MIRROR, _LAG, _ROUTED = "sonic-mirror-session", "sonic-portchannel", "sonic-interface"
MUSTS: dict[str, tuple[Must, ...]] = {
    "INTERFACE_IPPREFIX_LIST": (_beside_bare_row("INTERFACE_LIST", "PORT: {}, Example: 'Ethernet0': {}"), _FAMILY),
    "VLAN_INTERFACE_IPPREFIX_LIST": (
        _beside_bare_row("VLAN_INTERFACE_LIST", "Vlan<vlanid>: {}, Example: 'Vlan100': {}"), _FAMILY),
    "LOOPBACK_INTERFACE_IPPREFIX_LIST": (_FAMILY,),
    "VLAN_LIST": (
        Must("vlanid", "substring-after(../name, 'Vlan') = current()", "The vlanid must correspond to the VLAN name",
             lambda site: site.parts[0].partition("Vlan")[2] == site.value),),
    "VLAN_MEMBER_LIST": (
        Must("port", f"not(/{_MIRROR}:{_MIRROR}/{_MIRROR}:MIRROR_SESSION/{_MIRROR}:MIRROR_SESSION_LIST"
             f"[{_MIRROR}:dst_port=current()])", "Port is used as a destination port in a mirror session.",
             lambda site: all(row.get("dst_port") != site.value for row in site.rows("MIRROR_SESSION").values())),
        Must("port", f"not(/{_LAG}:{_LAG}/{_LAG}:PORTCHANNEL_MEMBER/{_LAG}:PORTCHANNEL_MEMBER_LIST"
             f"[{_LAG}:port=current()]/{_LAG}:name)", "Port is a member of a port channel.",
             lambda site: all(key.partition("|")[2] != site.value for key in site.rows("PORTCHANNEL_MEMBER"))),
        Must("port", f"not(/{_ROUTED}:{_ROUTED}/{_ROUTED}:INTERFACE/{_ROUTED}:INTERFACE_LIST"
             f"[{_ROUTED}:name=current()])", "Port is a router interface.",
             lambda site: site.value not in site.rows("INTERFACE")),
        Must("port", "count(../../sonic-vlan:VLAN_MEMBER_LIST[sonic-vlan:port=current() and "
             "sonic-vlan:tagging_mode='untagged']) <= 1", "Port can be untagged in at most one VLAN.", _untagged_once)),
    "PFC_WD_LIST": (
        _watched("action"), *_watch_time("detection_time"), *_watch_time("restoration_time"),
        Must("POLL_INTERVAL", "../ifname = 'GLOBAL'", "", lambda site: site.parts[0] == "GLOBAL")),
    "WRED_PROFILE_LIST": tuple(map(_wred, ("yellow", "green", "red"))),
    "SCHEDULER_LIST": (
        _needs("pir", "cir"),
        Must("pir", "(current() >= current()/../cir)", "pir must be greater than or equal to cir",
             lambda site: _at_least(site, "cir")),
        _needs("cbs", "cir"), _needs("pbs", "pir"),
        Must("pbs", "((not(current()/../cbs)) or (current() >= current()/../cbs))",
             "pbs must be greater than or equal to cbs", lambda site: "cbs" not in site.row or _at_least(site, "cbs"))),
    "BUFFER_POOL_LIST": (
        Must("percentage", "(not(current()/../size))", "Percentage should not be configured along with size",
             lambda site: "size" not in site.row),
        Must("percentage", "/sonic-device_metadata:sonic-device_metadata/sonic-device_metadata:DEVICE_METADATA/"
             "sonic-device_metadata:localhost/sonic-device_metadata:buffer_model = 'dynamic'",
             "Percentage must be configured in dynamic buffer model",
             lambda site: site.rows("DEVICE_METADATA").get("localhost", {}).get("buffer_model") == "dynamic")),
    "ACL_TABLE_LIST": (
        Must("", "(not(type = 'CTRLPLANE')) or (boolean(services))", "",
             lambda site: site.row.get("type") != "CTRLPLANE" or bool(site.row.get("services"))),),
    "ACL_RULE_LIST": (
        Must("", "(not(../../ACL_TABLE/ACL_TABLE_LIST[ACL_TABLE_NAME=current()/ACL_TABLE_NAME]/type = 'CTRLPLANE')) or "
             "(boolean(PACKET_ACTION))", "",
             lambda site: site.rows("ACL_TABLE").get(site.parts[0], {}).get("type") != "CTRLPLANE"
             or "PACKET_ACTION" in site.row),),
    "BGP_NEIGHBOR_TEMPLATE_LIST": (
        Must("asn", ". >= 1", "ASN must be greater than 0", lambda site: int(site.value) >= 1),),
    "localhost": (
        Must("suppress-fib-pending",
             "((current() = 'disabled') or (current() = 'enabled' and ../synchronous_mode = 'enable'))",
             "ASIC synchronous mode must be enabled in order to enable suppress FIB pending feature",
             lambda site: site.value != "enabled" or site.row.get("synchronous_mode", "enable") == "enable"),),
    "MIRROR_SESSION_LIST": (_same_version("src_ip", "dst_ip"), _same_version("dst_ip", "src_ip")),
    "global": (_management_vrf("(current() != 'mgmt') or {}",
                               "Must condition not satisfied. Try enable Management VRF."),),
    "SYSLOG_SERVER_LIST": (
        Must("source", "(contains(current(), '.') and contains(../server_address, '.')) or (contains(current(), ':') "
             "and contains(../server_address, ':'))", "",
             lambda site: any(mark in site.value and mark in site.parts[0] for mark in ".:")),
        _management_vrf("(current() != 'mgmt') or {}", "")),
    "MGMT_INTERFACE_LIST": (
        Must("gwaddr", "(contains(current(), ':') and contains(../ip_prefix, ':')) or (contains(current(), '.') and "
             "contains(../ip_prefix, '.'))", "",
             lambda site: any(mark in site.value and mark in site.parts[-1] for mark in ".:")),),
    "AAA_LIST": (
        Must("", 'not(./type = "authentication" and contains(./login, "tacacs+") and not(/sonic-system-tacacs:'
             "sonic-system-tacacs/sonic-system-tacacs:TACPLUS/sonic-system-tacacs:global/"
             "sonic-system-tacacs:passkey))",
             "Authentication with 'tacacs+' is not allowed when passkey not exists.",
             lambda site: site.parts[0] != "authentication" or "tacacs+" not in str(site.row.get("login", ""))
             or "passkey" in site.rows("TACPLUS").get("global", {})),),
}  # fmt: skip
"""The conditions by list or container."""
