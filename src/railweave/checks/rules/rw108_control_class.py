"""BGP and BFD keep the fabric together: a session whose packets wait behind a pause or a full queue falls. BGP uses the
class with the role control, else that of its code point, CS6 (RFC 4594 section 3.1); BFD always has CS6 (FRR
bfdd/bfd_packet.c)."""

from collections.abc import Sequence

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
    classes = intent.policies.classes
    used = _class_of_control(classes)
    sender = "BGP"
    users = "BGP and BFD use"
    strict_class = "cnp"
    other_fix = "add {} class with role: control"
    if any(traffic_class.role is ClassRole.CONTROL for traffic_class in classes):
        # BGP has a class of its own, which BFD does not use.
        if used.role is ClassRole.CONTROL or not intent.policies.bgp.bfd:
            return
        sender = "BFD"
        users = "BFD uses"
        strict_class = "control"
        other_fix = ""
    if used.lossless and used.role is not ClassRole.CNP:
        message = (
            f"{sender} is sent with DSCP {CONTROL_DSCP}, which class `{used.name}` makes lossless: a paused session"
            " falls"
        )
        fix = f"take {CONTROL_DSCP} out of it"
        if other_fix:
            fix += f", or {other_fix.format('a')}"
        yield Breach("traffic_classes", message, fix)
    elif used.strict and "traffic_classes" in intent.places:
        yield Breach("traffic_classes", f"{users} class `{used.name}` at DSCP {CONTROL_DSCP}", "", Severity.INFO)
    elif not used.strict and not used.lossless:
        message = f"{sender} is sent with DSCP {CONTROL_DSCP} and uses class `{used.name}`, which is not strict"
        fix = f"put {CONTROL_DSCP} into the {strict_class} class"
        if other_fix:
            fix += f", or {other_fix.format('a strict')}"
        yield Breach("traffic_classes", message, fix, Severity.WARNING)


def _class_of_control(classes: Sequence[TrafficClass]) -> TrafficClass:
    """Return the class of the code point of BGP and BFD, the default class if no class names it."""
    # Without a default class (RW106) the first one stands in.
    used = next((traffic_class for traffic_class in classes if traffic_class.is_default), classes[0])
    for traffic_class in classes:
        if CONTROL_DSCP in traffic_class.dscp:
            used = traffic_class
    return used
