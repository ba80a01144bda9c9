"""The ACLs of a simulated switch at ingress: whether a packet that comes in on a port is dropped.

The highest priority decides, and what no rule matches passes (sonic-swss orchagent/aclorch.cpp). A rule that compares
what a packet here does not have, such as the DSCP, does not match it.
"""

from collections.abc import Mapping
from functools import cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from sonic_sim.configdb import Hash
from sonic_sim.device import Device

_VERSIONS = {"IPV4ANY": (4,), "IPV4": (4,), "IPV6ANY": (6,), "IPV6": (6,), "ANY": (4, 6), "IP": (4, 6)}
_IGNORED = frozenset({"PRIORITY", "PACKET_ACTION", "IP_TYPE", "RULE_DESCRIPTION", "IN_PORTS"})
_SOURCE = frozenset({"SRC_IP", "SRC_IPV6"})
_DESTINATION = frozenset({"DST_IP", "DST_IPV6"})


class Flow(NamedTuple):
    """What rules compare a packet by."""

    source: str
    destination: str
    protocol: int
    source_port: int
    destination_port: int


def drops(device: Device, port: str, flow: Flow) -> bool:
    """Tell whether an ACL of ``device`` drops a packet that comes in on ``port``."""
    for name, table in device.db.table("ACL_TABLE").items():
        is_bound = _is_at_ingress(table) and port in _listed(table, "ports")
        if is_bound and _action(device, name, port, flow) == "DROP":
            return True
    return False


def _is_at_ingress(table: Mapping[str, str]) -> bool:
    """Tell whether the ASIC applies an ACL to packets that come in; those of the control plane are not its own."""
    return table.get("type") != "CTRLPLANE" and table.get("stage", "ingress").lower() == "ingress"


def _action(device: Device, table: str, port: str, flow: Flow) -> str:
    """Return the action of the first rule of an ACL that matches a packet; empty if none does."""
    for rule in _rules(device, table):
        if _matches(rule, port, flow):
            return rule.get("PACKET_ACTION", "")
    return ""


def _rules(device: Device, table: str) -> list[Hash]:
    """Return the rules of an ACL, the highest priority first."""
    rules = [row for key, row in device.db.table("ACL_RULE").items() if key.partition("|")[0] == table]
    return sorted(rules, key=lambda row: -int(row.get("PRIORITY", "0")))


def _matches(row: Mapping[str, str], port: str, flow: Flow) -> bool:
    """Tell whether a rule matches a packet that comes in on a port."""
    ports = _listed(row, "IN_PORTS")
    if ports and port not in ports:
        return False
    if ip_address(flow.source).version not in _VERSIONS.get(row.get("IP_TYPE", "ANY").upper(), ()):
        return False
    return all(_field_matches(name, value, flow) for name, value in row.items() if name.rstrip("@") not in _IGNORED)


def _field_matches(name: str, value: str, flow: Flow) -> bool:
    """Tell whether a packet has the value of a rule's field."""
    if name in _SOURCE:
        return ip_address(flow.source) in _network(value)
    if name in _DESTINATION:
        return ip_address(flow.destination) in _network(value)
    fields_of_packet = {
        "IP_PROTOCOL": flow.protocol,
        "NEXT_HEADER": flow.protocol,
        "L4_SRC_PORT": flow.source_port,
        "L4_DST_PORT": flow.destination_port,
    }
    return str(fields_of_packet.get(name)) == value


@cache
def _network(prefix: str) -> IPv4Network | IPv6Network:
    return ip_network(prefix, strict=False)


def _listed(row: Mapping[str, str], field: str) -> tuple[str, ...]:
    """Return the members of a list in a row."""
    return tuple(filter(None, row.get(f"{field}@", row.get(field, "")).split(",")))
