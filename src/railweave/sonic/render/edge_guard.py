"""The ACL that keeps what is no notification out of the strict queue of notifications, on the ports of GPU nodes.

SONiC re-marks at egress only, after the queue was chosen, and an ACL sets no traffic class and polices nothing in any
release up to 202605 (sonic-swss orchagent/aclorch.h: no such action). So packets with the notifications' DSCP are
dropped, except those that a node sends with it rightly: RoCE, BGP, and ICMP, whose errors Linux marks with CS6
(net/ipv4/icmp.c, IPTOS_PREC_INTERNETCONTROL). A type of its own is needed: ``L3`` does not match DSCP (aclorch.cpp).

Rules come in the order of their names, so that nothing is dropped before everything else is allowed.
"""

from collections.abc import Iterable, Iterator, Sequence

from railweave.sonic.acl import BGP_PORT, ICMP, ICMP6, ROCE_PORT, TCP, UDP
from railweave.sonic.ownership import EDGE_GUARD
from railweave.sonic.rows import Fields, Row

_WHY = "Only notifications, BGP and ICMP may use the strict queue from node ports (edge_guard; check Q-8)."
_ALLOWED = (
    ("bgp-from", {"IP_PROTOCOL": str(TCP), "L4_SRC_PORT": str(BGP_PORT)}),
    ("bgp-to", {"IP_PROTOCOL": str(TCP), "L4_DST_PORT": str(BGP_PORT)}),
    ("icmp", {"IP_PROTOCOL": str(ICMP)}),
    ("icmp6", {"IP_PROTOCOL": str(ICMP6)}),
    ("roce", {"IP_PROTOCOL": str(UDP), "L4_DST_PORT": str(ROCE_PORT)}),
)


def edge_guard_rows(ports: Sequence[str], code_points: Iterable[int]) -> Iterator[Row]:
    """Yield the rows that guard ``ports`` against other packets with ``code_points``; none without ports."""
    if not ports:
        return
    matches = ("DSCP", "IP_PROTOCOL", "L4_DST_PORT", "L4_SRC_PORT")
    kind = {"ACTIONS": ("PACKET_ACTION",), "BIND_POINTS": ("PORT",), "MATCHES": matches}
    yield Row("ACL_TABLE_TYPE", EDGE_GUARD, kind, _WHY)
    table: Fields = {"policy_desc": "edge guard", "ports": tuple(ports), "stage": "ingress", "type": EDGE_GUARD}
    yield Row("ACL_TABLE", EDGE_GUARD, table, _WHY)
    for dscp in code_points:
        for name, fields in _ALLOWED:
            allowed = {"DSCP": str(dscp), **fields, "PACKET_ACTION": "FORWARD", "PRIORITY": "20"}
            yield Row("ACL_RULE", f"{EDGE_GUARD}|allow-{dscp}-{name}", allowed, _WHY)
        rest = {"DSCP": str(dscp), "PACKET_ACTION": "DROP", "PRIORITY": "10"}
        yield Row("ACL_RULE", f"{EDGE_GUARD}|drop-{dscp}", rest, _WHY)
