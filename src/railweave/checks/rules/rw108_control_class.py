"""BGP and BFD keep the fabric together: a session whose packets wait behind a pause or a full queue falls. BGP uses the
class with the role control, else that of its code point, CS6 (RFC 4594 section 3.1); BFD always has CS6 (FRR
bfdd/bfd_packet.c)."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import ClassRole
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
    controls = [(index, one) for index, one in enumerate(intent.policies.classes) if one.role is ClassRole.CONTROL]
    for index, one in controls:
        if one.lossless:
            message = f"class `{one.name}` carries BGP and must not be lossless: a paused session falls"
            yield Breach(f"traffic_classes[{index}].lossless", message, "write lossless: false and strict: true")
    if len(controls) > 1:
        message = f"classes `{controls[0][1].name}` and `{controls[1][1].name}` both carry BGP"
        yield Breach(f"traffic_classes[{controls[1][0]}]", message, "give one of them another role")
    if controls and not controls[0][1].dscp:
        message = f"class `{controls[0][1].name}` carries BGP and names no DSCP to mark it with"
        fix = f"write dscp: [{CONTROL_DSCP}] here and `default` in another class"
        yield Breach(f"traffic_classes[{controls[0][0]}].dscp", message, fix)


@RULE.on_intent
def code_point(intent: Intent) -> Breaches:
    """Say which class BGP and BFD use by their code point, and refuse where it could be paused."""
    classes = intent.policies.classes
    named = any(one.role is ClassRole.CONTROL for one in classes)
    default = next((one for one in classes if one.is_default), classes[0])
    used = {dscp: one for one in classes for dscp in one.dscp}.get(CONTROL_DSCP, default)
    if named and (used.role is ClassRole.CONTROL or not intent.policies.bgp.bfd):
        return
    sender, both = ("BFD", "BFD uses") if named else ("BGP", "BGP and BFD use")
    other = "" if named else ", or add a class with role: control"
    if used.lossless and used.role is not ClassRole.CNP:
        message = (
            f"{sender} is sent with DSCP {CONTROL_DSCP}, which class `{used.name}` makes lossless: a paused session"
            " falls"
        )
        yield Breach("traffic_classes", message, f"take {CONTROL_DSCP} out of it{other}")
    elif used.strict and "traffic_classes" in intent.places:
        yield Breach("traffic_classes", f"{both} class `{used.name}` at DSCP {CONTROL_DSCP}", "", Severity.INFO)
    elif not used.strict and not used.lossless:
        message = f"{sender} is sent with DSCP {CONTROL_DSCP} and uses class `{used.name}`, which is not strict"
        strict = f"put {CONTROL_DSCP} into the {'control' if named else 'cnp'} class"
        other = "" if named else ", or add a strict class with role: control"
        yield Breach("traffic_classes", message, f"{strict}{other}", Severity.WARNING)
