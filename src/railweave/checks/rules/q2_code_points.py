"""A packet has one code point on its whole way; where an end maps it to another priority, it is not lossless there."""

from typing import TYPE_CHECKING

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, NodeRead, rule
from railweave.fabric.policy import TrafficClass
from railweave.hosts.values import marking

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings

RULE = rule(
    "Q-2",
    "hosts and switches agree on the priority of every code point",
    __doc__,
    "DSCP_TO_TC_MAP|AZURE on one end, which sends DSCP 26 to 1",
)


@RULE.on_link
def priorities(link: LinkEnds) -> LinkBreaches:
    """Look whether every code point of a class has the class's priority at both ends."""
    for end in link.ends:
        for one in link.policies.classes:
            actual = end.priorities or {}
            wrong = [dscp for dscp in one.dscp if actual.get(dscp, one.priority) != one.priority]
            if wrong:
                fix = f"map DSCP {', '.join(map(str, wrong))} to {one.priority} on {end.device}"
                yield LinkBreach(end, f"dscp {one.name}", _other_priority(end, link.far(end), one, wrong[0]), fix)


def _other_priority(end: "PortSettings", far: "PortSettings", one: TrafficClass, dscp: int) -> str:
    here, there = (end.priorities or {})[dscp], (far.priorities or {}).get(dscp)
    expected = f"{one.priority} by the intent" if there is None else f"{there} by {far}"
    lossy = f", where it is not lossless on {end}" if one.lossless and here not in (end.pfc or ()) else ""
    azure = " (SONiC's default map AZURE sends all but six code points to 1)" if here == 1 and not end.is_host else ""
    return f"DSCP {dscp} of {one.name} is priority {here} by {end} and {expected}{lossy}{azure}"


@RULE.on_node
def marks(node: NodeRead) -> Breaches:
    """Look how a node sorts and marks its packets."""
    intended = marking(node.fabric.policies.classes)
    if intended is None:
        return
    tos, cnp = intended.tos, intended.cnp_dscp
    for port in node.ports:
        nic, far, wrong = port.facts, port.far, []
        if nic.get("trust", "dscp") != "dscp":
            message = f"{port} trusts {nic['trust']} and {far} DSCP: they sort packets differently"
            wrong.append((message, f"let {port} trust DSCP"))
        if nic.get("roce_tos", tos) != tos:
            message = f"{port} sends RDMA with ToS {nic['roce_tos']} and {far} expects {tos}"
            wrong.append((message, f"set the RoCE traffic class of {port} to {tos}"))
        if cnp is not None and nic.get("cnp_dscp", cnp) != cnp:
            message = f"{port} sends congestion notifications with DSCP {nic['cnp_dscp']} and {far} expects {cnp}"
            wrong.append((message, f"set the CNP DSCP of {port} to {cnp}"))
        yield from (Breach("", message, fix, devices=port.devices) for message, fix in wrong)
