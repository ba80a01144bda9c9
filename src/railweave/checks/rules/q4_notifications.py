"""Congestion notifications tell senders to slow down: paused by the congestion that they report, or behind other
classes, they come too late."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.intent.model import Intent
from railweave.sonic.map_fixes import map_fix
from railweave.wording import first_few

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings

RULE = rule(
    "Q-4",
    "congestion notifications are never paused and have strict priority",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


@RULE.on_intent
def check_notification_classes(intent: Intent) -> Breaches:
    """Yield a breach for each class of notifications that is lossless or not strict, and one if RDMA has none."""
    classes = intent.policies.classes
    for index, traffic_class in enumerate(classes):
        if traffic_class.role is not ClassRole.CNP:
            continue
        path = f"traffic_classes[{index}]"
        if traffic_class.lossless:
            message = (
                f"class `{traffic_class.name}` carries congestion notifications and must not be lossless: paused by the"
                " congestion that they report, they come too late"
            )
            yield Breach(f"{path}.lossless", message, "write lossless: false and strict: true")
        elif not traffic_class.strict:
            message = f"class `{traffic_class.name}` carries congestion notifications and waits behind other classes"
            yield Breach(path, message, "write strict: true and leave `share` out", Severity.WARNING)
    # Without RDMA there is nothing to notify of.
    roles = {traffic_class.role for traffic_class in classes}
    if ClassRole.RDMA in roles and ClassRole.CNP not in roles:
        message = "no traffic class carries congestion notifications: they wait in the default class"
        fix = "add {name: cnp, dscp: [48], priority: 6, strict: true}"
        yield Breach("traffic_classes", message, fix, Severity.WARNING)


@RULE.on_link
def check_ends(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each setting of a switch port that pauses notifications or lets them wait."""
    notifications = [traffic_class for traffic_class in link.policies.classes if traffic_class.role is ClassRole.CNP]
    for end in link.switches:
        for traffic_class in notifications:
            yield from _delays(link, end, traffic_class)
            yield from _map_differences(link, end, traffic_class)
            yield from _shared_queue(link, end, traffic_class)


def _delays(link: LinkEnds, end: "PortSettings", traffic_class: TrafficClass) -> LinkBreaches:
    """Yield a breach for each setting by which notifications are paused, or not served first."""
    far = link.far(end)
    priority = traffic_class.priority
    if priority in (end.pfc or ()):
        message = (
            f"{end} pauses priority {priority} of {traffic_class.name} towards {far}: congestion delays its own report"
        )
        yield LinkBreach(end, "paused", message, f"take {priority} out of pfc_enable of {end}")
    if traffic_class.strict and end.schedulers is not None:
        scheduler = end.schedulers.get(priority)
        if scheduler is None or not scheduler.is_strict:
            message = f"queue {priority} of {traffic_class.name} is not strict on {end} towards {far}"
            yield LinkBreach(end, "strict", message, f"give QUEUE|{end.port}|{priority} a strict scheduler")


def _map_differences(link: LinkEnds, end: "PortSettings", traffic_class: TrafficClass) -> LinkBreaches:
    """Yield a breach for each map by which notifications lead to another queue or group than designed."""
    design = link.design(end)
    priority = traffic_class.priority
    for subject, actual, intended in (
        ("queue (TC_TO_QUEUE_MAP)", end.queues, design.queues),
        ("priority group (TC_TO_PRIORITY_GROUP_MAP)", end.groups, design.groups),
    ):
        if actual is None or intended is None:
            continue
        number = actual.get(priority)
        intended_number = intended.get(priority)
        if number != intended_number:
            table = subject.partition("(")[2].rstrip(")")
            message = (
                f"{subject} of {traffic_class.name} is {number} on {end} towards {link.far(end)}, not {intended_number}"
            )
            yield LinkBreach(end, subject, message, map_fix(end, table, actual, str(priority), intended_number))


def _other_traffic(end: "PortSettings", traffic_class: TrafficClass) -> Iterator[str]:
    """Yield the code points and SONiC traffic classes that share the queue of ``traffic_class`` at a port."""
    priority = traffic_class.priority
    for dscp, mapped in (end.priorities or {}).items():
        if mapped == priority and dscp not in traffic_class.dscp:
            yield f"DSCP {dscp}"
    for number, queue in (end.queues or {}).items():
        if queue == priority and number != priority:
            yield f"class {number}"


def _shared_queue(link: LinkEnds, end: "PortSettings", traffic_class: TrafficClass) -> LinkBreaches:
    """Yield a breach if other traffic uses the strict queue of notifications."""
    if not traffic_class.strict:
        return
    priority = traffic_class.priority
    others = list(_other_traffic(end, traffic_class))
    if others:
        message = (
            f"{first_few(others, 8)} use the strict queue {priority} of {traffic_class.name} on {end} towards"
            f" {link.far(end)}, and go before RDMA"
        )
        yield LinkBreach(end, "mixed", message, f"map them to another queue on {end.device}")
