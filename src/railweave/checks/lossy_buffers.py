"""ECN before losses: where queues of lossy RDMA mark, and where they drop, alone and beside the queues of others."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from railweave.checks.registry import rule
from railweave.checks.switch_kind import SwitchKind
from railweave.diagnostics import Diagnostic, Severity, Where
from railweave.fabric.policy import Marking, Policies
from railweave.qos.buffering import plan_own_buffers
from railweave.qos.marking import choose_marking
from railweave.qos.mmu.dropping import DropLimits
from railweave.units import format_speed

Places = Callable[[str], Where]

RULE = rule(
    "E-7",
    "ECN marks lossy RDMA before its queue drops, also beside full queues of other classes",
    "Senders that are marked slow down; where a queue drops first, NICs send packets again into the same congestion.",
    "traffic_classes: [{name: roce, dscp: [26], transport: roce-lossy, priority: 3, share: 90,"
    " ecn: {min_kb: 90_000, max_kb: 190_000}}, {name: cnp, dscp: [48], priority: 6, strict: true},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


def lossy_findings(kind: SwitchKind, policies: Policies, where: Places) -> Iterator[Diagnostic]:
    """Yield E-7 for each class of lossy RDMA and port speed whose queue may drop before ECN marks.

    Nothing is yielded if the buffer of the switches is not known.
    """
    plan = plan_own_buffers(kind.panel, kind.tier, policies, kind.lengths_m)
    if plan is None or plan.drops is None:
        return
    for index, traffic_class in enumerate(policies.classes):
        # Thresholds that do not rise are a diagnostic of their own (E-1).
        if not traffic_class.is_lossy_rdma or not _rises(traffic_class.ecn):
            continue
        path = f"traffic_classes[{index}]"
        if traffic_class.ecn is not None:
            path += ".ecn"
        for speed_gbps in kind.speeds_gbps:
            marking = choose_marking(traffic_class, speed_gbps, policies.marking, plan).thresholds
            late_marking = _late_marking(marking, plan.drops)
            if late_marking is not None:
                subject = f"{traffic_class.name} on ports of {format_speed(speed_gbps)} of {plan.buffers.hwsku}"
                yield _diagnostic(late_marking, subject, where(path), kind, plan.drops)


def _rises(marking: Marking | None) -> bool:
    """Tell whether stated thresholds rise; those that railweave computes always do."""
    return marking is None or marking.minimum_bytes < marking.maximum_bytes


class _LateMarking(NamedTuple):
    """A case in which a queue drops before ECN marks."""

    severity: Severity
    message: str
    # The threshold of ``key`` has to be below.
    limit_bytes: int
    key: str


def _diagnostic(
    late_marking: _LateMarking, subject: str, place: Where, kind: SwitchKind, drops: DropLimits
) -> Diagnostic:
    """Return late marking as a diagnostic, with the threshold to change; ``subject`` begins the message."""
    most_kb = max(1, (late_marking.limit_bytes - 1) // 1000)
    message = f"{subject}: {late_marking.message} (queue: {drops.queue}; group: {drops.group})"
    fix = f"lower ecn.{late_marking.key} to at most {most_kb}, or leave `ecn` and `preset` out"
    return Diagnostic(
        code=RULE.code, severity=late_marking.severity, message=message, where=place, devices=kind.devices, fix=fix
    )


def _late_marking(marking: Marking, drops: DropLimits) -> _LateMarking | None:
    """Return the worst case in which a queue drops before ECN marks, with the numbers; None if there is none."""
    start_bytes = marking.minimum_bytes
    starts = f"marking starts at {start_bytes} bytes"
    if start_bytes >= drops.alone_bytes:
        message = f"the queue drops before ECN marks: {starts}, it drops at {drops.alone_bytes}"
        return _LateMarking(Severity.ERROR, message, drops.alone_bytes, "min_kb")
    if start_bytes >= drops.beside_bytes:
        message = (
            f"bursts of {drops.others} other lossy classes make the queue drop before ECN marks: {starts}, it drops at"
            f" {drops.beside_bytes} while their queues on the port are full"
        )
        return _LateMarking(Severity.WARNING, message, drops.beside_bytes, "min_kb")
    if start_bytes >= drops.all_bytes:
        message = (
            f"the queue drops before ECN marks while all ports are congested: {starts}, it drops at"
            f" {drops.all_bytes} while those of all {drops.ports} ports are full"
        )
        return _LateMarking(Severity.WARNING, message, drops.all_bytes, "min_kb")
    if marking.maximum_bytes > drops.alone_bytes:
        message = (
            f"the queue drops before ECN marks every packet: all is marked from {marking.maximum_bytes} bytes, it drops"
            f" at {drops.alone_bytes}"
        )
        return _LateMarking(Severity.WARNING, message, drops.alone_bytes, "max_kb")
    return None
