"""A packet has one code point on its whole way; where an end maps it to another priority, it is not lossless there."""

from typing import TYPE_CHECKING

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, NodeRead, SwitchRead, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import TrafficClass
from railweave.hosts.values import marking, same_class
from railweave.sonic.map_fixes import DSCP_MAP, map_fix
from railweave.wording import command_line

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
            wrong = [dscp for dscp in one.dscp if (end.priorities or {}).get(dscp) != one.priority]
            if end.priorities is not None and wrong:
                code_points = f"DSCP {', '.join(map(str, wrong))}"
                fix = map_fix(end, DSCP_MAP, end.priorities, code_points, one.priority)
                yield LinkBreach(end, f"dscp {one.name}", _other_priority(end, link.far(end), one, wrong[0]), fix)


@RULE.on_link
def rewritten(link: LinkEnds) -> LinkBreaches:
    """Look for switches that send on a class with another code point."""
    for end in link.switches:
        for one in link.policies.classes:
            dscp = (end.rewrites or {}).get(one.priority)
            if one.dscp and dscp is not None and dscp not in one.dscp:
                message = (
                    f"{end} sends {one.name} on to {link.far(end)} with DSCP {dscp}, which is no DSCP of that class"
                )
                fix = f"take tc_to_dscp_map out of PORT_QOS_MAP|{end.port} of {end.device}"
                yield LinkBreach(end, f"rewritten {one.name}", message, fix)


@RULE.on_switch
def switch_wide(switch: SwitchRead) -> Breaches:
    """Look at the map of what the switch itself sends and receives; ports have their own."""
    pairs = switch.read.switch_priorities()
    if pairs is None:
        return
    for one in switch.fabric.policies.classes:
        wrong = [str(dscp) for dscp in one.dscp if pairs.get(dscp) != one.priority]
        if wrong:
            message = (
                f"{switch.name} takes what it sends itself with DSCP {', '.join(wrong)} of {one.name} for another"
                f" priority than {one.priority}"
            )
            fix = f"set the switch-wide DSCP map of {switch.name} (PORT_QOS_MAP|global) as rendered"
            yield Breach("", message, fix, Severity.WARNING, (switch.name,))


def _other_priority(end: "PortSettings", far: "PortSettings", one: TrafficClass, dscp: int) -> str:
    here, there = ((port.priorities or {}).get(dscp) for port in (end, far))
    expected = f"{one.priority} by the intent" if there is None else f"{there} by {far}"
    lossy = f", where it is not lossless on {end}" if one.lossless and here not in (end.pfc or ()) else ""
    azure = " (SONiC's default map AZURE sends all but six code points to 1)" if here == 1 and not end.is_host else ""
    found = f"priority {here}" if here is not None else "no priority"
    return f"DSCP {dscp} of {one.name} is {found} by {end} and {expected}{lossy}{azure}"


_ABSENT = {
    "trust": "trust in DSCP",
    "dscp_to_priority": "map from DSCP to priority",
    "roce_tos": "traffic class for RDMA",
    "cnp_dscp": "DSCP for congestion notifications",
}


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
        if not same_class(nic.get("roce_tos", tos), tos):
            message = f"{port} sends RDMA with ToS {nic['roce_tos']} and {far} expects {tos}"
            wrong.append((message, f"set the RoCE traffic class of {port} to {tos}"))
        if cnp is not None and nic.get("cnp_dscp", cnp) != cnp:
            message = f"{port} sends congestion notifications with DSCP {nic['cnp_dscp']} and {far} expects {cnp}"
            wrong.append((message, f"set the CNP DSCP of {port} to {cnp}"))
        wrong += [
            (f"{port} has no {what}, which {far} goes by", f"set it on {port}: `{command_line('hosts', 'apply')}`")
            for what in port.absent(_ABSENT)
        ]
        yield from (Breach("", message, fix, devices=port.devices) for message, fix in wrong)
