"""What the data-plane ACLs of a switch do with a packet.

The rules of a table are tried from the highest priority on, and the first that matches decides (sonic-swss
orchagent/aclorch.cpp); what no rule matches is forwarded. A rule that also looks at something else, such as addresses,
is left out: it may match or not.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from railweave.sonic.resolved import ResolvedTables, text
from railweave.sonic.rows import Fields, number

ROCE_PORT = 4791
BGP_PORT = 179
ICMP, TCP, UDP, ICMP6 = 1, 6, 17, 58
_DECIDES_NOTHING = frozenset({"PRIORITY", "PACKET_ACTION", "RULE_DESCRIPTION"})
_CONTROL_PLANE = "CTRLPLANE"

Packet = Mapping[str, int]
"""What the fields of a rule are compared with; a field that is not there may have any value."""


def roce_packet(dscp: int) -> Packet:
    """Return a packet of RoCE, a notification too."""
    return {"IP_PROTOCOL": UDP, "L4_DST_PORT": ROCE_PORT, "DSCP": dscp}


def bgp_packets(dscp: int) -> tuple[Packet, ...]:
    """Return packets of both ends of a BGP session."""
    return tuple({"IP_PROTOCOL": TCP, f"L4_{way}_PORT": BGP_PORT, "DSCP": dscp} for way in ("DST", "SRC"))


class Dropped(NamedTuple):
    """A rule (``TABLE|rule``) that drops a packet on the ports of its table."""

    rule: str
    ports: frozenset[str]


def dropping(read: ResolvedTables, packet: Packet) -> Iterator[Dropped]:
    """Yield the rules of data-plane ACLs that drop ``packet``."""
    for name, table in read.table("ACL_TABLE").items():
        if table.get("type") == _CONTROL_PLANE:
            continue
        rules = [(key, row) for key, row in read.table("ACL_RULE").items() if key.partition("|")[0] == name]
        rules.sort(key=lambda one: number(one[1].get("PRIORITY")) or 0, reverse=True)
        first = next(((key, row) for key, row in rules if _matches(row, packet)), None)
        if first is not None and (text(first[1].get("PACKET_ACTION")) or "").upper() == "DROP":
            ports = table.get("ports", ())
            yield Dropped(first[0], frozenset(ports.split(",") if isinstance(ports, str) else ports))


def _matches(rule: Fields, packet: Packet) -> bool:
    stated = {name: value for name, value in rule.items() if name not in _DECIDES_NOTHING}
    return all(number(value) == packet.get(name, -1) for name, value in stated.items())
