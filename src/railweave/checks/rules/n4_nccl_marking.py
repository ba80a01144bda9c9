"""NCCL marks its packets by NCCL_IB_TC; with another code point than that of the RDMA class they are not lossless."""

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.fabric.policy import ClassRole
from railweave.hosts.values import marking, same_class
from railweave.intent.model import Intent

RULE = rule(
    "N-4",
    "NCCL marks its traffic with a DSCP of the RDMA class",
    __doc__,
    "traffic_classes: [{name: roce, role: rdma, dscp: default, priority: 3, share: 90}]",
)


@RULE.on_intent
def check_dscp_to_mark(intent: Intent) -> Breaches:
    """Yield a breach if no class of RDMA has a code point that NCCL can mark, at the first of them."""
    classes = intent.policies.classes
    indexes = [index for index, traffic_class in enumerate(classes) if traffic_class.role is ClassRole.RDMA]
    if any(classes[index].dscp for index in indexes):
        return
    for index in indexes:
        # A lossless default class is an error of its own (RW106).
        if not classes[index].lossless:
            message = f"class `{classes[index].name}` carries RDMA and names no DSCP that NCCL could mark"
            fix = "write dscp: [26] here and `default` in another class"
            yield Breach(f"traffic_classes[{index}].dscp", message, fix)
            return


@RULE.on_node
def compare_traffic_class(node: NodeRead) -> Breaches:
    """Yield a breach if NCCL marks with another class than that of RDMA."""
    intended = marking(node.fabric.policies.classes)
    nccl = node.document.get("nccl")
    if intended is None or nccl is None or not node.host.runs_nccl:
        return
    actual = nccl.get("NCCL_IB_TC")
    number = _number(actual)
    if number is not None and same_class(number, intended.tos):
        return
    marking_text = "without a traffic class (no NCCL_IB_TC)"
    if actual is not None:
        marking_text = f"with NCCL_IB_TC {actual}"
    message = (
        f"NCCL of {node.host.name} marks {marking_text}; {', '.join(node.switches)} take {intended.tos}"
        f" (DSCP {intended.dscp} x 4 + ECT) for RDMA"
    )
    fix = f"set NCCL_IB_TC={intended.tos} in /etc/nccl.conf"
    yield Breach("", message, fix, devices=(node.host.name, *node.switches))


def _number(value: object) -> int | None:
    """Return a number as NCCL reads it: decimal, or hexadecimal with 0x; None if it is not a number."""
    try:
        return int(str(value), 0)
    except ValueError:
        return None
