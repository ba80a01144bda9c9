"""NICs that resend whole windows for one lost packet (go-back-N) need a class that drops none. RDMA without PFC has a
transport of its own (roce-lossy), with which NICs and switches are set for losses."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import ClassRole
from railweave.intent.model import Intent

RULE = rule(
    "RW114",
    "RDMA has a class, which is lossless or has transport roce-lossy",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], priority: 3, share: 90},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


@RULE.on_intent
def check_rdma_classes(intent: Intent) -> Breaches:
    """Yield a warning if no class carries RDMA, and for each that does without protection against losses."""
    classes = intent.policies.classes
    if not any(traffic_class.role is ClassRole.RDMA for traffic_class in classes):
        fix = "give the class of the GPU traffic role: rdma"
        yield Breach("traffic_classes", "no traffic class carries RDMA", fix, Severity.WARNING)
    for index, traffic_class in enumerate(classes):
        if traffic_class.role is not ClassRole.RDMA:
            continue
        # A transport that contradicts the class is an error of its own (RW133).
        if not traffic_class.lossless and traffic_class.transport is None:
            message = (
                f"class `{traffic_class.name}` carries RDMA and is not lossless: go-back-N NICs resend whole windows"
                " for one drop"
            )
            fix = "write lossless: true, or transport: roce-lossy if every NIC can do with losses"
            yield Breach(f"traffic_classes[{index}]", message, fix, Severity.WARNING)
