"""When PFC pauses, and whether ECN has marked before (the rules of "ECN before PFC").

A priority group may hold alpha times the free part of the shared buffer; while n groups are congested together, each
settles at alpha B / (1 + alpha n) (Choudhury and Hahne, dynamic queue length thresholds). ECN must mark at a smaller
queue, or PFC slows the senders, and pauses spread. The conservative bound requires that an ingress port which feeds all
egress ports is never paused before they mark (Zhu et al., Congestion Control for Large-Scale RDMA Deployments,
SIGCOMM 2015, section 4).

Broadcom's Tomahawk chips divide the buffer into slices with pools and thresholds of their own: a group competes with
the groups of its slice for that slice's part. The worst case counts: as many congested ports as fit share one slice.
"""

from math import ceil
from typing import NamedTuple

from railweave.fabric.buffers import BufferSlices
from railweave.fabric.policy import Marking


class PauseLimits(NamedTuple):
    """The values that decide when a group pauses."""

    # Shared buffer of the chip.
    shared_bytes: int
    # Exponent of alpha, as in BUFFER_PROFILE.dynamic_th.
    dynamic_th: int
    # Ports of the switch.
    ports: int
    lossless_classes: int
    # Limit of one egress queue in a slice, None without one.
    queue_bytes: int | None = None
    # Part of the shared buffer that one full lossy queue takes in a slice.
    lossy_bytes: int = 0
    # Formula of shared_bytes in words.
    shared: str = ""
    slices: BufferSlices = BufferSlices()

    @property
    def buffer(self) -> str:
        """Return the shared buffer in words."""
        return f"shared buffer {self.shared_bytes}{self.slices}"

    @property
    def alpha(self) -> float:
        """Return the multiple of the free shared buffer that a group may take."""
        return float(2.0**self.dynamic_th)

    @property
    def single_bytes(self) -> int:
        """Return the bytes at which the only congested group pauses (T_1)."""
        return self.congested_bytes(1)

    @property
    def groups(self) -> int:
        """Return the number of lossless groups of all ports."""
        return self.ports * self.lossless_classes

    @property
    def all_bytes(self) -> int:
        """Return the bytes at which a group pauses while every lossless group of every port is congested (T_n)."""
        return self.congested_bytes(self.groups)

    @property
    def lossy_all_bytes(self) -> int:
        """Return ``all_bytes`` while one lossy queue is full as well."""
        return self.congested_bytes(self.groups, self.lossy_bytes)

    def congested_bytes(self, groups: int, taken_bytes: int = 0) -> int:
        """Return the bytes at which each of ``groups`` congested groups pauses.

        As many of them as fit share one slice, of which ``taken_bytes`` are used otherwise.
        """
        together = min(groups, self.slices.feeding(self.ports) * self.lossless_classes)
        free_bytes = self.slices.share(self.shared_bytes) - taken_bytes
        return round(self.alpha * free_bytes / (1 + self.alpha * together))

    @property
    def conservative_bytes(self) -> int:
        """Return the bound below which marking starts in time even if one ingress port feeds all egress ports."""
        # Egress ports whose packets from this ingress port are in one slice.
        fed_ports = ceil(self.ports / self.slices.of_port)
        shared_bytes = self.slices.share(self.shared_bytes)
        return round(self.alpha * shared_bytes / (fed_ports * (1 + self.alpha * self.lossless_classes)))

    @property
    def patterns(self) -> tuple[tuple[str, int], ...]:
        """Return traffic patterns in words, each with the depth of a queue at which PFC pauses its senders.

        Except for the incast, one port feeds each congested queue, so that it is as short as it can be at the pause.
        """
        several = max(2, self.ports // 4)
        depths = [
            ("one congested port", self.single_bytes),
            ("an incast of 2 ports to one", 2 * self.congested_bytes(2)),
            (f"{several} congested ports", self.congested_bytes(several * self.lossless_classes)),
            (f"all {self.ports} ports congested", self.all_bytes),
        ]
        if self.lossy_bytes:
            depths.append((f"all {self.ports} ports congested and one lossy queue full", self.lossy_all_bytes))
        return tuple(depths)


def mark_percent(marking: Marking, depth_bytes: int) -> float:
    """Return the probability in percent that a packet is marked when its queue holds ``depth_bytes``."""
    if depth_bytes >= marking.maximum_bytes:
        return 100.0
    if depth_bytes <= marking.minimum_bytes:
        return 0.0
    # WRED: the probability rises linearly between the thresholds.
    above_bytes = depth_bytes - marking.minimum_bytes
    range_bytes = marking.maximum_bytes - marking.minimum_bytes
    return (marking.probability_percent or 0) * above_bytes / range_bytes


def marks_text(marking: Marking, limits: PauseLimits) -> str:
    """Return in words the probability of a mark at the depth at which PFC pauses, by traffic pattern."""
    parts = (f"{mark_percent(marking, depth):.3g} % with {name}" for name, depth in limits.patterns)
    return f"where PFC pauses, a packet is marked: {', '.join(parts)}"


class MarkingRule(NamedTuple):
    """One of the rules E-1 to E-6: whether it holds, and the numbers in a sentence."""

    code: str
    holds: bool
    numbers: str


_IMPLIED = {"E-2": {"E-3", "E-4", "E-5", "E-6"}, "E-4": {"E-5", "E-6"}}
"""The rules that cannot hold if a rule does not."""


def broken_rules(marking: Marking, limits: PauseLimits) -> tuple[MarkingRule, ...]:
    """Return the rules of "ECN before PFC" that a queue breaks, without those that another broken rule implies."""
    broken = [rule for rule in marking_rules(marking, limits) if not rule.holds]
    implied: set[str] = set()
    for rule in broken:
        implied |= _IMPLIED.get(rule.code, set())
    return tuple(rule for rule in broken if rule.code not in implied)


def marking_rules(marking: Marking, limits: PauseLimits) -> tuple[MarkingRule, ...]:
    """Return the rules of "ECN before PFC" for a queue with this marking, E-1 to E-6 in order."""
    start_bytes = marking.minimum_bytes
    full_bytes = marking.maximum_bytes
    formula = f"alpha {limits.alpha:g}, {limits.buffer}"
    return (
        _range_rule(start_bytes, full_bytes, limits.queue_bytes),
        MarkingRule(
            "E-2",
            start_bytes < limits.single_bytes,
            f"marking starts at {start_bytes} bytes, a single congested priority group pauses at {limits.single_bytes}"
            f" ({formula})",
        ),
        MarkingRule(
            "E-3",
            full_bytes <= limits.single_bytes,
            f"all is marked from {full_bytes} bytes, a single congested priority group pauses at {limits.single_bytes}"
            f" ({formula})",
        ),
        MarkingRule(
            "E-4",
            start_bytes < limits.all_bytes,
            f"marking starts at {start_bytes} bytes, each of {limits.groups} congested priority groups pauses at"
            f" {limits.all_bytes} ({formula})",
        ),
        MarkingRule(
            "E-5",
            start_bytes < limits.conservative_bytes,
            f"marking starts at {start_bytes} bytes, the conservative bound is {limits.conservative_bytes}"
            f" ({formula}, {limits.ports} ports)",
        ),
        MarkingRule(
            "E-6",
            not limits.lossy_bytes or start_bytes < limits.lossy_all_bytes,
            f"marking starts at {start_bytes} bytes, each of {limits.groups} congested priority groups pauses at"
            f" {limits.lossy_all_bytes} while one lossy queue holds {limits.lossy_bytes} bytes of the shared buffer"
            f" ({formula})",
        ),
    )


def _range_rule(start_bytes: int, full_bytes: int, queue_bytes: int | None) -> MarkingRule:
    """Return the rule that a queue marks from ``start_bytes`` to ``full_bytes`` bytes, both within what it can hold."""
    holds = start_bytes < full_bytes
    numbers = f"marking from {start_bytes} to {full_bytes} bytes: the first must be below the last"
    if queue_bytes is not None:
        holds = holds and full_bytes <= queue_bytes
        numbers += f", the last within the queue's {queue_bytes} bytes"
    return MarkingRule("E-1", holds, numbers)
