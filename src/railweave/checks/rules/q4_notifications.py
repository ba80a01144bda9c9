"""Congestion notifications tell senders to slow down: paused by the congestion that they report, or behind other
classes, they come too late."""

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
def intended(intent: Intent) -> Breaches:
    """Look at the classes that carry notifications, and whether there is one."""
    classes = intent.policies.classes
    for index, one in enumerate(classes):
        path = f"traffic_classes[{index}]"
        if one.role is not ClassRole.CNP:
            continue
        if one.lossless:
            message = (
                f"class `{one.name}` carries congestion notifications and must not be lossless: paused by the"
                " congestion that they report, they come too late"
            )
            yield Breach(f"{path}.lossless", message, "write lossless: false and strict: true")
        elif not one.strict:
            message = f"class `{one.name}` carries congestion notifications and waits behind other classes"
            yield Breach(path, message, "write strict: true and leave `share` out", Severity.WARNING)
    roles = {one.role for one in classes}
    if ClassRole.RDMA in roles and ClassRole.CNP not in roles:
        message = "no traffic class carries congestion notifications: they wait in the default class"
        fix = "add {name: cnp, dscp: [48], priority: 6, strict: true}"
        yield Breach("traffic_classes", message, fix, Severity.WARNING)


@RULE.on_link
def set_ends(link: LinkEnds) -> LinkBreaches:
    """Look whether a switch pauses notifications or lets them wait."""
    for end in link.switches:
        far = link.far(end)
        for one in link.policies.classes:
            if one.role is not ClassRole.CNP:
                continue
            if one.priority in (end.pfc or ()):
                message = (
                    f"{end} pauses priority {one.priority} of {one.name} towards {far}: congestion delays its own"
                    " report"
                )
                yield LinkBreach(end, "paused", message, f"take {one.priority} out of pfc_enable of {end}")
            served = (end.schedulers or {}).get(one.priority)
            if one.strict and end.schedulers is not None and not (served and served.is_strict):
                message = f"queue {one.priority} of {one.name} is not strict on {end} towards {far}"
                yield LinkBreach(end, "strict", message, f"give QUEUE|{end.port}|{one.priority} a strict scheduler")
            yield from _another_way(link, end, one)


def _another_way(link: LinkEnds, end: "PortSettings", one: TrafficClass) -> LinkBreaches:
    """Yield where notifications lead to another queue or group than designed, or others to their queue."""
    design, far = link.design(end), link.far(end)
    for what, actual, intended in (
        ("queue (TC_TO_QUEUE_MAP)", end.queues, design.queues),
        ("priority group (TC_TO_PRIORITY_GROUP_MAP)", end.groups, design.groups),
    ):
        if actual is None or intended is None:
            continue
        number, right = actual.get(one.priority), intended.get(one.priority)
        if number != right:
            message = f"{what} of {one.name} is {number} on {end} towards {far}, not {right}"
            table = what.partition("(")[2].rstrip(")")
            yield LinkBreach(end, what, message, map_fix(end, table, actual, str(one.priority), right))
    others = [
        *(f"DSCP {dscp}" for dscp, to in (end.priorities or {}).items() if to == one.priority and dscp not in one.dscp),
        *(f"class {tc}" for tc, to in (end.queues or {}).items() if to == one.priority and tc != one.priority),
    ]
    if one.strict and others:
        message = (
            f"{first_few(others, 8)} use the strict queue {one.priority} of {one.name} on {end} towards {far}, and go"
            " before RDMA"
        )
        yield LinkBreach(end, "mixed", message, f"map them to another queue on {end.device}")
