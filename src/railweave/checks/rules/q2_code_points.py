"""A packet has one code point on its whole way; where an end maps it to another priority, it is not lossless there."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from railweave.checks.registry import (
    Breach,
    Breaches,
    LinkBreach,
    LinkBreaches,
    LinkEnds,
    NodePort,
    NodeRead,
    SwitchRead,
    rule,
)
from railweave.diagnostics import Severity
from railweave.fabric.policy import TrafficClass
from railweave.hosts.values import NicMarking, marking, same_class
from railweave.sonic.map_fixes import DSCP_MAP, map_fix
from railweave.wording import command_line

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings

RULE = rule(
    "Q-2",
    "nodes and switches agree on the priority of every code point",
    __doc__,
    "DSCP_TO_TC_MAP|AZURE on one end, which sends DSCP 26 to 1",
)


@RULE.on_link
def check_priorities(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each class with code points that an end maps to another priority."""
    for end in link.ends:
        if end.priorities is None:
            continue
        for traffic_class in link.policies.classes:
            wrong_dscp = [dscp for dscp in traffic_class.dscp if end.priorities.get(dscp) != traffic_class.priority]
            if wrong_dscp:
                code_points = f"DSCP {', '.join(map(str, wrong_dscp))}"
                fix = map_fix(end, DSCP_MAP, end.priorities, code_points, traffic_class.priority)
                message = _priority_text(end, link.far(end), traffic_class, wrong_dscp[0])
                yield LinkBreach(end, f"dscp {traffic_class.name}", message, fix)


@RULE.on_link
def check_rewriting(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each class that a switch sends on with the code point of another class."""
    for end in link.switches:
        for traffic_class in link.policies.classes:
            dscp = (end.rewrites or {}).get(traffic_class.priority)
            if traffic_class.dscp and dscp is not None and dscp not in traffic_class.dscp:
                message = (
                    f"{end} sends {traffic_class.name} on to {link.far(end)} with DSCP {dscp}, which is not a DSCP of "
                    "that class"
                )
                fix = f"take tc_to_dscp_map out of PORT_QOS_MAP|{end.port} of {end.device}"
                yield LinkBreach(end, f"rewritten {traffic_class.name}", message, fix)


@RULE.on_switch
def check_switch_wide_map(switch: SwitchRead) -> Breaches:
    """Yield a warning for each class with code points that the map for the switch's own packets maps differently."""
    priorities = switch.read.switch_priorities()
    if priorities is None:
        return
    for traffic_class in switch.fabric.policies.classes:
        wrong_dscp = [str(dscp) for dscp in traffic_class.dscp if priorities.get(dscp) != traffic_class.priority]
        if wrong_dscp:
            code_points = ", ".join(wrong_dscp)
            message = (
                f"{switch.name} takes what it sends itself with DSCP {code_points} of {traffic_class.name} for"
                f" another priority than {traffic_class.priority}"
            )
            fix = f"set the switch-wide DSCP map of {switch.name} (PORT_QOS_MAP|global) as rendered"
            yield Breach("", message, fix, Severity.WARNING, (switch.name,))


def _priority(end: "PortSettings", dscp: int) -> int | None:
    """Return the priority that an end maps a code point to, None if it maps it to none or has no map."""
    if end.priorities is None:
        return None
    return end.priorities.get(dscp)


def _priority_text(end: "PortSettings", far: "PortSettings", traffic_class: TrafficClass, dscp: int) -> str:
    """Return a sentence about the priority of a code point at an end.

    It is compared with the priority at the far end, or with the intent if that is not known.
    """
    priority = _priority(end, dscp)
    far_priority = _priority(far, dscp)
    actual = "no priority"
    if priority is not None:
        actual = f"priority {priority}"
    expected = f"{far_priority} by {far}"
    if far_priority is None:
        expected = f"{traffic_class.priority} by the intent"
    text = f"DSCP {dscp} of {traffic_class.name} is {actual} by {end} and {expected}"
    if traffic_class.lossless and priority not in (end.pfc or ()):
        text += f", where it is not lossless on {end}"
    if priority == 1 and not end.is_host:
        text += " (SONiC's default map AZURE sends all but six code points to 1)"
    return text


# What a NIC lacks without each fact, in words.
_MARKING_FACTS = {
    "trust": "trust in DSCP",
    "dscp_to_priority": "map from DSCP to priority",
    "roce_tos": "traffic class for RDMA",
    "cnp_dscp": "DSCP for congestion notifications",
}


@RULE.on_node
def check_node_marking(node: NodeRead) -> Breaches:
    """Yield a breach for each setting by which a node classifies or marks packets in another way than intended."""
    intended = marking(node.fabric.policies.classes)
    if intended is None:
        return
    for port in node.ports:
        for message, fix in _wrong_marks(port, intended):
            yield Breach("", message, fix, devices=port.devices)


def _wrong_marks(port: NodePort, intended: NicMarking) -> Iterator[tuple[str, str]]:
    """Yield (message, fix) for each setting of a port that differs from the marking of the fabric."""
    nic = port.facts
    if nic.get("trust", "dscp") != "dscp":
        message = f"{port} trusts {nic['trust']} and {port.far} DSCP: they sort packets differently"
        yield message, f"let {port} trust DSCP"
    if not same_class(nic.get("roce_tos", intended.tos), intended.tos):
        message = f"{port} sends RDMA with ToS {nic['roce_tos']} and {port.far} expects {intended.tos}"
        yield message, f"set the RoCE traffic class of {port} to {intended.tos}"
    cnp = intended.cnp_dscp
    if cnp is not None and nic.get("cnp_dscp", cnp) != cnp:
        message = f"{port} sends congestion notifications with DSCP {nic['cnp_dscp']} and {port.far} expects {cnp}"
        yield message, f"set the CNP DSCP of {port} to {cnp}"
    for what in port.absent(_MARKING_FACTS):
        yield f"{port} has no {what}, which {port.far} goes by", f"set it on {port}: `{command_line('hosts', 'apply')}`"
