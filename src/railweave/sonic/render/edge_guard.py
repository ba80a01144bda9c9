"""The ACL that keeps other packets out of the strict queue of congestion notifications, on the ports of GPU nodes.

SONiC re-marks at egress only, after the queue was chosen, and an ACL sets no traffic class and polices nothing in any
release up to 202605 (sonic-swss orchagent/aclorch.h: no such action). So packets with the notifications' DSCP are
dropped, except those that a node may send with it: RoCE, BGP, and ICMP, whose errors Linux marks with CS6
(net/ipv4/icmp.c, IPTOS_PREC_INTERNETCONTROL). A type of its own is needed: ``L3`` and ``L3V6`` do not match DSCP
(aclorch.cpp).

The protocol of IPv6 packets is another field, NEXT_HEADER, which no YANG model of SONiC up to 202505 has, so that a
rule with it would block every later patch of the switch; and orchagent puts it in place of IP_PROTOCOL in ``L3V6``
alone. So rules match IPv6 by its ports, and ICMPv6 by the types that a path does not work without: errors, Packet Too
Big and neighbor discovery. Linux sends them with DSCP 0, unless ``ndisc_tclass`` says otherwise.

Rules come in the order of their names, so that nothing is dropped before everything else is allowed.
"""

from collections.abc import Iterable, Iterator, Sequence

from railweave.sonic.acl import BGP_PORT, ICMP, ICMP6, NEEDED_ICMP6, ROCE_PORT, TCP, UDP
from railweave.sonic.ownership import EDGE_GUARD, EDGE_GUARD_V4V6
from railweave.sonic.rows import Fields, Row

_WHY = "Only notifications, BGP and ICMP may use the strict queue from node ports (edge_guard; check Q-8)."
_ALLOWED = (
    ("bgp-from", {"IP_PROTOCOL": str(TCP), "L4_SRC_PORT": str(BGP_PORT)}),
    ("bgp-to", {"IP_PROTOCOL": str(TCP), "L4_DST_PORT": str(BGP_PORT)}),
    ("icmp", {"IP_PROTOCOL": str(ICMP)}),
    ("icmp6", {"IP_PROTOCOL": str(ICMP6)}),
    ("roce", {"IP_PROTOCOL": str(UDP), "L4_DST_PORT": str(ROCE_PORT)}),
)
_IPV6 = {"IP_TYPE": "IPV6ANY"}
_ALLOWED_IPV6 = (
    ("bgp-from-v6", {**_IPV6, "L4_SRC_PORT": str(BGP_PORT)}),
    ("bgp-to-v6", {**_IPV6, "L4_DST_PORT": str(BGP_PORT)}),
    *((f"icmp6-{kind}", {**_IPV6, "ICMPV6_TYPE": str(kind)}) for kind in NEEDED_ICMP6),
    ("roce-v6", {**_IPV6, "L4_DST_PORT": str(ROCE_PORT)}),
)


def edge_guard_rows(ports: Sequence[str], code_points: Iterable[int], *, has_ipv6: bool = False) -> Iterator[Row]:
    """Yield the rows that guard ``ports`` against other packets with these code points; none without ports.

    ``has_ipv6`` tells that nodes send IPv6.
    """
    if not ports:
        return
    name = EDGE_GUARD
    allowed_packets = [*_ALLOWED]
    if has_ipv6:
        name = EDGE_GUARD_V4V6
        allowed_packets += _ALLOWED_IPV6
    matches = {"DSCP"}.union(*(fields for _, fields in allowed_packets))
    table_type = {"ACTIONS": ("PACKET_ACTION",), "BIND_POINTS": ("PORT",), "MATCHES": tuple(sorted(matches))}
    yield Row("ACL_TABLE_TYPE", name, table_type, _WHY)
    table: Fields = {"policy_desc": "edge guard", "ports": tuple(ports), "stage": "ingress", "type": name}
    yield Row("ACL_TABLE", name, table, _WHY)
    # orchagent tries the highest PRIORITY first.
    for dscp in code_points:
        for packet, fields in allowed_packets:
            forward = {"DSCP": str(dscp), **fields, "PACKET_ACTION": "FORWARD", "PRIORITY": "20"}
            yield Row("ACL_RULE", f"{name}|allow-{dscp}-{packet}", forward, _WHY)
        drop = {"DSCP": str(dscp), "PACKET_ACTION": "DROP", "PRIORITY": "10"}
        yield Row("ACL_RULE", f"{name}|drop-{dscp}", drop, _WHY)
