"""When PFC pauses, and whether ECN has marked before (the rules of "ECN before PFC").

A priority group may hold alpha times what is free of the shared buffer; where n groups are congested together, each
settles at alpha B / (1 + alpha n) (Choudhury and Hahne, dynamic queue length thresholds). ECN must mark at a smaller
queue, or PFC is what slows the senders, and pauses spread. The conservative bound asks that one ingress which feeds
all egress ports is never paused before they mark (Zhu et al., Congestion Control for Large-Scale RDMA Deployments,
SIGCOMM 2015, section 4).

Broadcom's Tomahawk chips divide the buffer into slices with pools and thresholds of their own: a group competes with
the groups of its slice for that slice's part. As many congested ports as one slice can have are taken to share it.
"""

from typing import NamedTuple

from railweave.fabric.buffers import BufferSlices
from railweave.fabric.policy import Marking


class PauseLimits(NamedTuple):
    """What decides when a group pauses: the shared buffer in bytes, the exponent of alpha, the ports of the switch, its
    lossless classes, the most that one egress queue may hold (None: not limited), and what one full lossy queue takes
    of the shared buffer, both in one slice. ``shared`` tells in words what the shared buffer is made of, ``slices`` how
    the chip divides it."""

    shared_bytes: int
    dynamic_th: int
    ports: int
    lossless_classes: int
    queue_bytes: int | None = None
    lossy_bytes: int = 0
    shared: str = ""
    slices: BufferSlices = BufferSlices()

    @property
    def buffer(self) -> str:
        """Return the shared buffer in words."""
        return f"shared buffer {self.shared_bytes}{self.slices}"

    @property
    def alpha(self) -> float:
        """Return the part of the free shared buffer that a group may take."""
        return float(2.0**self.dynamic_th)

    @property
    def single_bytes(self) -> int:
        """Return where the only congested group pauses (T_1)."""
        return self.congested_bytes(1)

    @property
    def groups(self) -> int:
        """Return the lossless groups of all ports."""
        return self.ports * self.lossless_classes

    @property
    def all_bytes(self) -> int:
        """Return where a group pauses while every lossless group of every port is congested (T_n)."""
        return self.congested_bytes(self.groups)

    @property
    def lossy_all_bytes(self) -> int:
        """Return the same while one lossy queue is full as well."""
        return self.congested_bytes(self.groups, self.lossy_bytes)

    def congested_bytes(self, groups: int, taken_bytes: int = 0) -> int:
        """Return where each of ``groups`` congested groups pauses while ``taken_bytes`` are taken otherwise, with as
        many of them in one slice as it can have."""
        together = min(groups, self.slices.feeding(self.ports) * self.lossless_classes)
        free_bytes = self.slices.share(self.shared_bytes) - taken_bytes
        return round(self.alpha * free_bytes / (1 + self.alpha * together))

    @property
    def conservative_bytes(self) -> int:
        """Return the bound under which marking starts in time even where one ingress feeds all egress ports."""
        fed = -(-self.ports // self.slices.of_port)  # egress ports that one slice can hold packets of this ingress for
        shared_bytes = self.slices.share(self.shared_bytes)
        return round(self.alpha * shared_bytes / (fed * (1 + self.alpha * self.lossless_classes)))

    @property
    def patterns(self) -> tuple[tuple[str, int], ...]:
        """Return traffic patterns with the depth of a queue at which PFC pauses what feeds it. But for the incast, one
        port feeds each congested queue, which is the least that a queue can hold at the pause."""
        several = max(2, self.ports // 4)
        found = [
            ("one congested port", self.single_bytes),
            ("an incast of 2 ports to one", 2 * self.congested_bytes(2)),
            (f"{several} congested ports", self.congested_bytes(several * self.lossless_classes)),
            (f"all {self.ports} ports congested", self.all_bytes),
        ]
        if self.lossy_bytes:
            found.append((f"all {self.ports} ports congested and one lossy queue full", self.lossy_all_bytes))
        return tuple(found)


def mark_percent(marking: Marking, depth_bytes: int) -> float:
    """Return the probability in percent that a packet is marked which finds ``depth_bytes`` in its queue."""
    low, high = marking.minimum_bytes, marking.maximum_bytes
    if depth_bytes >= high:
        return 100.0
    return 0.0 if depth_bytes <= low else (marking.probability_percent or 0) * (depth_bytes - low) / (high - low)


def marks_text(marking: Marking, limits: PauseLimits) -> str:
    """Return the probability of a mark at the depth at which PFC pauses, by traffic pattern."""
    parts = (f"{mark_percent(marking, depth):.3g} % with {name}" for name, depth in limits.patterns)
    return f"where PFC pauses, a packet is marked: {', '.join(parts)}"


class MarkingRule(NamedTuple):
    """One of the rules E-1 to E-6: whether it holds, and the numbers in a sentence."""

    code: str
    holds: bool
    numbers: str


_IMPLIED = {"E-2": {"E-3", "E-4", "E-5", "E-6"}, "E-4": {"E-5", "E-6"}}
"""Where a rule does not hold, these cannot hold either."""


def broken_rules(marking: Marking, limits: PauseLimits) -> tuple[MarkingRule, ...]:
    """Return the rules of "ECN before PFC" that a queue breaks, without those that another one implies."""
    broken = [one for one in marking_rules(marking, limits) if not one.holds]
    implied = {code for one in broken for code in _IMPLIED.get(one.code, ())}
    return tuple(one for one in broken if one.code not in implied)


def marking_rules(marking: Marking, limits: PauseLimits) -> tuple[MarkingRule, ...]:
    """Return the rules of "ECN before PFC" for one queue."""
    low, high = marking.minimum_bytes, marking.maximum_bytes
    formula = f"alpha {limits.alpha:g}, {limits.buffer}"
    queue = limits.queue_bytes
    within = queue is None or high <= queue
    end = "" if queue is None else f", the last within the queue's {queue} bytes"
    return (
        MarkingRule(
            "E-1", low < high and within, f"marking from {low} to {high} bytes: the first must be below the last{end}"
        ),
        MarkingRule(
            "E-2",
            low < limits.single_bytes,
            f"marking starts at {low} bytes, a single congested priority group pauses at {limits.single_bytes}"
            f" ({formula})",
        ),
        MarkingRule(
            "E-3",
            high <= limits.single_bytes,
            f"all is marked from {high} bytes, a single congested priority group pauses at {limits.single_bytes}"
            f" ({formula})",
        ),
        MarkingRule(
            "E-4",
            low < limits.all_bytes,
            f"marking starts at {low} bytes, each of {limits.groups} congested priority groups pauses at"
            f" {limits.all_bytes} ({formula})",
        ),
        MarkingRule(
            "E-5",
            low < limits.conservative_bytes,
            f"marking starts at {low} bytes, the conservative bound is {limits.conservative_bytes}"
            f" ({formula}, {limits.ports} ports)",
        ),
        MarkingRule(
            "E-6",
            not limits.lossy_bytes or low < limits.lossy_all_bytes,
            f"marking starts at {low} bytes, each of {limits.groups} congested priority groups pauses at"
            f" {limits.lossy_all_bytes} while one lossy queue holds {limits.lossy_bytes} bytes of the shared buffer"
            f" ({formula})",
        ),
    )
