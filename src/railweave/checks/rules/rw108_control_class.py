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
def check_control_classes(intent: Intent) -> Breaches:
    """Yield a breach for each lossless class of the role control, for a second one, and if the first names no DSCP."""
    classes = intent.policies.classes
    indexes = [index for index, traffic_class in enumerate(classes) if traffic_class.role is ClassRole.CONTROL]
    for index in indexes:
        if classes[index].lossless:
            message = f"class `{classes[index].name}` carries BGP and must not be lossless: a paused session falls"
            yield Breach(f"traffic_classes[{index}].lossless", message, "write lossless: false and strict: true")
    if not indexes:
        return
    first = classes[indexes[0]]
    if len(indexes) > 1:
        message = f"classes `{first.name}` and `{classes[indexes[1]].name}` both carry BGP"
        yield Breach(f"traffic_classes[{indexes[1]}]", message, "give one of them another role")
    if not first.dscp:
        message = f"class `{first.name}` carries BGP and names no DSCP to mark it with"
        fix = f"write dscp: [{CONTROL_DSCP}] here and `default` in another class"
        yield Breach(f"traffic_classes[{indexes[0]}].dscp", message, fix)


@RULE.on_intent
def check_class_of_code_point(intent: Intent) -> Breaches:
    """Yield a breach if the class that BGP and BFD get by their code point is lossless or not strict.

    If it is strict and the intent states the classes, yield an info that names it.
    """
    traffic_class = _class_of_code_point(intent.policies.classes)
    protocols = _protocols_by_code_point(intent, traffic_class)
    # All of them have the class with the role control.
    if protocols is None:
        return
    if traffic_class.lossless and traffic_class.role is not ClassRole.CNP:
        yield _lossless_class(traffic_class, protocols)
    elif traffic_class.strict:
        # The default classes need no report.
        if "traffic_classes" in intent.places:
            message = f"{protocols.subject} class `{traffic_class.name}` at DSCP {CONTROL_DSCP}"
            yield Breach("traffic_classes", message, "", Severity.INFO)
    # A lossless class of notifications is an error of its own.
    elif not traffic_class.lossless:
        yield _class_not_strict(traffic_class, protocols)


class _Protocols(NamedTuple):
    """The protocols that use a class by their code point, as messages and fixes name them."""

    # As in "BGP is sent".
    sender: str
    # With its verb.
    subject: str
    # The class that their code point belongs into.
    strict_class: str
    # A second fix, with `{}` for the article and adjective of the class; empty if that class exists already.
    other_fix: str


_BGP_AND_BFD = _Protocols("BGP", "BGP and BFD use", "cnp", ", or add {} class with role: control")
_BFD_ALONE = _Protocols("BFD", "BFD uses", "control", "")


def _protocols_by_code_point(intent: Intent, traffic_class: TrafficClass) -> _Protocols | None:
    """Return the protocols that use the class of their code point; None if they use the one with the role control."""
    if not any(other.role is ClassRole.CONTROL for other in intent.policies.classes):
        return _BGP_AND_BFD
    # BGP has a class of its own, which BFD does not use.
    if traffic_class.role is not ClassRole.CONTROL and intent.policies.bgp.bfd:
        return _BFD_ALONE
    return None


def _lossless_class(traffic_class: TrafficClass, protocols: _Protocols) -> Breach:
    message = (
        f"{protocols.sender} is sent with DSCP {CONTROL_DSCP}, which class `{traffic_class.name}` makes lossless: a"
        " paused session falls"
    )
    return Breach("traffic_classes", message, f"take {CONTROL_DSCP} out of it{protocols.other_fix.format('a')}")


def _class_not_strict(traffic_class: TrafficClass, protocols: _Protocols) -> Breach:
    message = (
        f"{protocols.sender} is sent with DSCP {CONTROL_DSCP} and uses class `{traffic_class.name}`, which is not"
        " strict"
    )
    fix = f"put {CONTROL_DSCP} into the {protocols.strict_class} class{protocols.other_fix.format('a strict')}"
    return Breach("traffic_classes", message, fix, Severity.WARNING)


def _class_of_code_point(classes: Sequence[TrafficClass]) -> TrafficClass:
    """Return the last class that lists the code point of BGP and BFD, the default class if none does."""
    for traffic_class in reversed(classes):
        if CONTROL_DSCP in traffic_class.dscp:
            return traffic_class
    # A missing default class is an error of its own (RW106): the first class is as good as any.
    return next((traffic_class for traffic_class in classes if traffic_class.is_default), classes[0])
