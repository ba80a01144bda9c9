"""The effect of a switch's data-plane ACLs on a packet.

The rules of a table are tried from the highest priority on, and the first that matches decides (sonic-swss
orchagent/aclorch.cpp); a packet that no rule matches is forwarded. A rule that also compares other fields, such as
addresses, is left out: it may match or not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from railweave.sonic.ownership import TENANT_DENY, TENANT_FILTERS
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
_ETHER_TYPE = {IPV4: {"ETHER_TYPE": 0x0800}, IPV6: {"ETHER_TYPE": 0x86DD}}
_DECIDES_NOTHING = frozenset({"PRIORITY", "RULE_DESCRIPTION"})
_RANGE = "_RANGE"
"""What the names of matches end with that take all values from one to another."""
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
    return {"IP_TYPE": family, **_ETHER_TYPE[family], protocol: UDP, "L4_DST_PORT": ROCE_PORT, "DSCP": dscp}


def bgp_packets(dscp: int) -> tuple[Packet, ...]:
    """Return the packets of a BGP session over IPv4: to BGP's port, and from it."""
    common = {**_ETHER_TYPE[IPV4], "IP_PROTOCOL": TCP, "DSCP": dscp}
    return ({**common, "L4_DST_PORT": BGP_PORT}, {**common, "L4_SRC_PORT": BGP_PORT})


class Dropped(NamedTuple):
    """A rule (``TABLE|rule``) that drops a packet on the ports of its table, or sends it ``elsewhere`` than its route:
    to a port or a next hop.
    """

    rule: str
    ports: frozenset[str]
    elsewhere: str = ""

    @property
    def deed(self) -> str:
        """Return in words what the rule does, with ``{}`` in the place of the packets."""
        if self.elsewhere:
            return f"sends {{}} to {self.elsewhere}, past their route"
        return "drops {}"


class Rewritten(NamedTuple):
    """A rule (``TABLE|rule``) that sends packets on with another ``dscp``; ``is_certain`` tells that it matches every
    packet of the kind, whatever its addresses."""

    rule: str
    dscp: int
    is_certain: bool


def dropping(read: ResolvedTables, packet: Packet) -> Iterator[Dropped]:
    """Yield the deciding rule of each data-plane ACL that drops ``packet`` or redirects it."""
    for table, rules in _data_plane_acls(read):
        rule = _deciding_rule(rules, packet)
        if rule is None:
            continue
        action = text(rule.fields.get("PACKET_ACTION")) or ""
        redirect_target = _redirect_target(action, rule.fields)
        if action.upper() == "DROP" or redirect_target:
            ports = table.get("ports", ())
            if isinstance(ports, str):
                ports = tuple(ports.split(","))
            yield Dropped(rule.key, frozenset(ports), redirect_target)


class _AclRule(NamedTuple):
    """A row of ACL_RULE; the key is ``TABLE|rule``."""

    key: str
    fields: Fields

    @property
    def priority(self) -> int:
        """Return the priority, 0 if it cannot be read."""
        return number(self.fields.get("PRIORITY")) or 0


def _deciding_rule(rules: Iterable[_AclRule], packet: Packet) -> _AclRule | None:
    """Return the first rule that matches every packet of the kind; None if no rule decides over all of them."""
    some_may_pass = False
    for rule in rules:
        if _matches(rule.fields, packet):
            table, _, name = rule.key.partition("|")
            is_tenant_deny = table in TENANT_FILTERS and name == TENANT_DENY
            # The last rule of the tenants' filter does not decide over packets that earlier rules may let pass.
            if is_tenant_deny and some_may_pass:
                return None
            return rule
        if rule.fields.get("PACKET_ACTION") == "FORWARD" and _may_match(rule.fields, packet):
            some_may_pass = True
    return None


def _redirect_target(action: str, rule: Fields) -> str:
    """Return where a rule redirects packets to, by ``PACKET_ACTION`` or ``REDIRECT_ACTION``; empty if it does not."""
    verb, _, target = action.partition(":")
    if verb.upper() == "REDIRECT":
        return target
    return text(rule.get("REDIRECT_ACTION")) or ""


def rewriting(read: ResolvedTables, packet: Packet) -> Iterator[Rewritten]:
    """Yield the rules that may send ``packet`` on with another code point.

    In each ACL the search ends at the first rule that certainly matches.
    """
    for _, rules in _data_plane_acls(read):
        for rule in rules:
            if not _may_match(rule.fields, packet):
                continue
            is_certain = _matches(rule.fields, packet)
            dscp = number(rule.fields.get(REWRITE))
            if dscp is not None and dscp != packet.get("DSCP"):
                yield Rewritten(rule.key, dscp, is_certain)
            if is_certain:
                break


def _data_plane_acls(read: ResolvedTables) -> Iterator[tuple[Fields, list[_AclRule]]]:
    """Yield the row of each data-plane ACL and its rules, the highest priority first."""
    for name, table in read.table("ACL_TABLE").items():
        if table.get("type") == _CONTROL_PLANE:
            continue
        rules = []
        for key, fields in read.table("ACL_RULE").items():
            if key.partition("|")[0] == name:
                rules.append(_AclRule(key, fields))
        rules.sort(key=lambda rule: rule.priority, reverse=True)
        yield table, rules


def _matches(rule: Fields, packet: Packet) -> bool:
    """Tell whether a rule matches every packet of the kind."""
    if not _is_of_type(rule, packet):
        return False
    return all(_match_accepts(name, value, packet) is True for name, value in _matches_of(rule).items())


def _may_match(rule: Fields, packet: Packet) -> bool:
    """Tell whether a rule matches some packet of the kind."""
    if not _is_of_type(rule, packet):
        return False
    return all(_match_accepts(name, value, packet) is not False for name, value in _matches_of(rule).items())


def _match_accepts(name: str, value: Value, packet: Packet) -> bool | None:
    """Tell whether one match of a rule accepts a packet.

    None if the packet may have any value in this field, or if the match cannot be read. SONiC reads decimal and
    hexadecimal numbers, with a mask behind a slash, and ranges (aclorch.cpp validateAddMatch).
    """
    field = name.removesuffix(_RANGE)
    if field not in packet:
        return None
    actual = packet[field]
    is_range = field != name
    if is_range:
        return _is_within_range(text(value) or "", actual)
    expected_text, _, mask_text = (text(value) or "").partition("/")
    expected = _integer(expected_text)
    mask = _integer(mask_text or "0xffffffff")
    if expected is None or mask is None:
        return None
    return expected & mask == actual & mask


def _is_within_range(range_text: str, actual: int) -> bool | None:
    """Tell whether a number is within a range such as ``100-200``; None if it is not a range of numbers."""
    first, _, last = range_text.partition("-")
    least = number(first)
    most = number(last)
    if least is None or most is None:
        return None
    return least <= actual <= most


def _integer(word: str) -> int | None:
    """Return a number, decimal or hexadecimal with 0x; None for another word."""
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", word):
        return int(word, 16)
    return number(word)


def _matches_of(rule: Fields) -> Mapping[str, Value]:
    """Return the fields of a rule that a packet is compared with, except for its IP_TYPE."""
    return {name: value for name, value in rule.items() if _is_match(name)}


def _is_match(field: str) -> bool:
    return field != "IP_TYPE" and field not in _DECIDES_NOTHING and not field.endswith(_ACTION)


def _is_of_type(rule: Fields, packet: Packet) -> bool:
    """Tell whether a packet is of the rule's IP_TYPE."""
    ip_type = (text(rule.get("IP_TYPE", "ANY")) or "").upper()
    family = packet.get("IP_TYPE", IPV4)
    return family in _OF_TYPE.get(ip_type, set())
