"""The effect of a switch's data-plane ACLs on a packet.

The rules of a table are tried from the highest priority on, and the first that matches decides (sonic-swss
orchagent/aclorch.cpp); a packet that no rule matches is forwarded. A rule that also compares other fields, such as
addresses, is left out: it may match or not.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from railweave.sonic.resolved import ResolvedTables, text
from railweave.sonic.rows import Fields, Value, number

ROCE_PORT = 4791
BGP_PORT = 179
# IANA's protocol numbers.
ICMP = 1
TCP = 6
UDP = 17
ICMP6 = 58
NEEDED_ICMP6 = (1, 2, 3, 135, 136)
"""Types of ICMPv6 that a path does not work without: unreachable, packet too big, time exceeded, neighbor solicitation
and advertisement (RFC 4443, RFC 4861)."""
IPV4 = 4
IPV6 = 6
_OF_TYPE = {
    "ANY": {IPV4, IPV6},
    "IP": {IPV4, IPV6},
    "IPV4": {IPV4},
    "IPV4ANY": {IPV4},
    "IPV6": {IPV6},
    "IPV6ANY": {IPV6},
    "NON_IPV4": {IPV6},
    "NON_IP4": {IPV6},
    "NON_IPV6": {IPV4},
}
"""The families of packets that a rule with an IP_TYPE matches (aclorch.h, sonic-types.yang); other types match none."""
_DECIDES_NOTHING = frozenset({"PRIORITY", "RULE_DESCRIPTION"})
_ACTION = "_ACTION"
"""What the names of a rule's actions end with; all other fields are matches (aclorch.h)."""
REWRITE = "DSCP_ACTION"
"""The action that sets another code point, in tables of type UNDERLAY_SET_DSCP, UNDERLAY_SET_DSCPV6 and EGR_SET_DSCP
(SONiC doc/acl/egress_outer_dscp_change_table.md)."""
_CONTROL_PLANE = "CTRLPLANE"

Packet = Mapping[str, int]
"""The values that a rule's fields are compared with; a field that is missing may have any value. IP_TYPE is the family,
4 if missing; the protocol of IPv6 is NEXT_HEADER."""


def roce_packet(dscp: int, family: int = IPV4) -> Packet:
    """Return a packet of RoCE; congestion notifications are such packets too."""
    protocol = "IP_PROTOCOL" if family == IPV4 else "NEXT_HEADER"
    return {"IP_TYPE": family, protocol: UDP, "L4_DST_PORT": ROCE_PORT, "DSCP": dscp}


def bgp_packets(dscp: int) -> tuple[Packet, ...]:
    """Return packets of both ends of a BGP session."""
    return tuple({"IP_PROTOCOL": TCP, f"L4_{way}_PORT": BGP_PORT, "DSCP": dscp} for way in ("DST", "SRC"))


class Dropped(NamedTuple):
    """A rule (``TABLE|rule``) that drops a packet on the ports of its table."""

    rule: str
    ports: frozenset[str]


class Rewritten(NamedTuple):
    """A rule (``TABLE|rule``) that sends packets on with another ``dscp``; ``is_certain`` tells that it matches every
    packet of the kind, whatever its addresses."""

    rule: str
    dscp: int
    is_certain: bool


def dropping(read: ResolvedTables, packet: Packet) -> Iterator[Dropped]:
    """Yield the rules of data-plane ACLs that drop ``packet``."""
    for table, rules in _tables(read):
        first = next(((key, row) for key, row in rules if _matches(row, packet)), None)
        if first is None:
            continue
        key, row = first
        if (text(row.get("PACKET_ACTION")) or "").upper() == "DROP":
            ports = table.get("ports", ())
            if isinstance(ports, str):
                ports = tuple(ports.split(","))
            yield Dropped(key, frozenset(ports))


def rewriting(read: ResolvedTables, packet: Packet) -> Iterator[Rewritten]:
    """Yield the rules that may send ``packet`` on with another code point, up to the first that certainly decides."""
    for _, rules in _tables(read):
        for key, row in rules:
            if not _may_match(row, packet):
                continue
            is_certain = _matches(row, packet)
            dscp = number(row.get(REWRITE))
            if dscp is not None and dscp != packet.get("DSCP"):
                yield Rewritten(key, dscp, is_certain)
            if is_certain:
                break


def _tables(read: ResolvedTables) -> Iterator[tuple[Fields, list[tuple[str, Fields]]]]:
    """Yield the row and the rules of each table of the data plane, the highest priority first."""
    for name, table in read.table("ACL_TABLE").items():
        if table.get("type") == _CONTROL_PLANE:
            continue
        rules = [(key, row) for key, row in read.table("ACL_RULE").items() if key.partition("|")[0] == name]
        rules.sort(key=lambda keyed: number(keyed[1].get("PRIORITY")) or 0, reverse=True)
        yield table, rules


def _matches(rule: Fields, packet: Packet) -> bool:
    """Tell whether a rule matches every packet of the kind."""
    if not _is_of_type(rule, packet):
        return False
    return all(number(value) == packet.get(name, -1) for name, value in _matches_of(rule).items())


def _may_match(rule: Fields, packet: Packet) -> bool:
    """Tell whether a rule matches some packet of the kind."""
    if not _is_of_type(rule, packet):
        return False
    return all(name not in packet or number(value) in (None, packet[name]) for name, value in _matches_of(rule).items())


def _matches_of(rule: Fields) -> Mapping[str, Value]:
    return {name: value for name, value in rule.items() if _is_match(name)}


def _is_match(field: str) -> bool:
    return field != "IP_TYPE" and field not in _DECIDES_NOTHING and not field.endswith(_ACTION)


def _is_of_type(rule: Fields, packet: Packet) -> bool:
    kind = (text(rule.get("IP_TYPE", "ANY")) or "").upper()
    return packet.get("IP_TYPE", IPV4) in _OF_TYPE.get(kind, set())
