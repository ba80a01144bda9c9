"""BGP and BFD keep the fabric together: a session whose packets wait behind a pause or a full queue falls. BGP uses the
class with the role control, else that of its code point, CS6 (RFC 4594 section 3.1); BFD always has CS6 (FRR
bfdd/bfd_packet.c)."""

from collections.abc import Sequence
from typing import NamedTuple

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.intent.model import Intent
from railweave.qos.mapping import CONTROL_DSCP

RULE = rule(
    "RW108",
    "BGP and BFD use a class that is never paused",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26, 48], lossless: true, priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


@RULE.on_intent
def control(intent: Intent) -> Breaches:
    """Look at the classes that carry BGP by their role."""
    controls = [pair for pair in enumerate(intent.policies.classes) if pair[1].role is ClassRole.CONTROL]
    for index, traffic_class in controls:
        if traffic_class.lossless:
            message = f"class `{traffic_class.name}` carries BGP and must not be lossless: a paused session falls"
            yield Breach(f"traffic_classes[{index}].lossless", message, "write lossless: false and strict: true")
    if not controls:
        return
    index, first = controls[0]
    if len(controls) > 1:
        second_index, second = controls[1]
        message = f"classes `{first.name}` and `{second.name}` both carry BGP"
        yield Breach(f"traffic_classes[{second_index}]", message, "give one of them another role")
    if not first.dscp:
        message = f"class `{first.name}` carries BGP and names no DSCP to mark it with"
        fix = f"write dscp: [{CONTROL_DSCP}] here and `default` in another class"
        yield Breach(f"traffic_classes[{index}].dscp", message, fix)


@RULE.on_intent
def code_point(intent: Intent) -> Breaches:
    """Report the class that BGP and BFD use by their code point, and refuse one that could be paused."""
    used = _class_of_control(intent.policies.classes)
    users = _users(intent, used)
    if users is None:
        return
    if used.lossless and used.role is not ClassRole.CNP:
        yield _lossless(used, users)
    elif used.strict and "traffic_classes" in intent.places:
        message = f"{users.subject} class `{used.name}` at DSCP {CONTROL_DSCP}"
        yield Breach("traffic_classes", message, "", Severity.INFO)
    elif not used.strict and not used.lossless:
        yield _not_strict(used, users)


class _Users(NamedTuple):
    """The protocols that use a class by their code point: how sentences name them, and what else would help."""

    sender: str
    subject: str
    strict_class: str
    # Of a fix, with a place for the article and adjective of the class; empty if there is one already.
    other_fix: str


_BGP_AND_BFD = _Users("BGP", "BGP and BFD use", "cnp", ", or add {} class with role: control")
_BFD_ALONE = _Users("BFD", "BFD uses", "control", "")


def _users(intent: Intent, used: TrafficClass) -> _Users | None:
    """Return the protocols that the class of their code point is checked for, None if their own class has it."""
    if not any(traffic_class.role is ClassRole.CONTROL for traffic_class in intent.policies.classes):
        return _BGP_AND_BFD
    # BGP has a class of its own, which BFD does not use.
    if used.role is not ClassRole.CONTROL and intent.policies.bgp.bfd:
        return _BFD_ALONE
    return None


def _lossless(used: TrafficClass, users: _Users) -> Breach:
    message = (
        f"{users.sender} is sent with DSCP {CONTROL_DSCP}, which class `{used.name}` makes lossless: a paused session"
        " falls"
    )
    return Breach("traffic_classes", message, f"take {CONTROL_DSCP} out of it{users.other_fix.format('a')}")


def _not_strict(used: TrafficClass, users: _Users) -> Breach:
    message = f"{users.sender} is sent with DSCP {CONTROL_DSCP} and uses class `{used.name}`, which is not strict"
    fix = f"put {CONTROL_DSCP} into the {users.strict_class} class{users.other_fix.format('a strict')}"
    return Breach("traffic_classes", message, fix, Severity.WARNING)


def _class_of_control(classes: Sequence[TrafficClass]) -> TrafficClass:
    """Return the class of the code point of BGP and BFD, the default class if no class names it."""
    # Without a default class (RW106) the first one stands in.
    used = next((traffic_class for traffic_class in classes if traffic_class.is_default), classes[0])
    for traffic_class in classes:
        if CONTROL_DSCP in traffic_class.dscp:
            used = traffic_class
    return used
