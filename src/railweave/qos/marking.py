"""ECN marking thresholds of a lossless queue by port speed and chip.

No value is right everywhere. What the intent states for a class counts, then its preset, then what the HWSKU's own
template states for the port's speed. Else the thresholds follow the scaling that the HPCC simulations use for DCQCN:
100 KB for each 25 Gb/s to start marking, four times that for full marking, at most 20 % in between; lowered so that
PFC has a margin on the chip: marking starts at no more than half of the depth at which a group pauses with all ports
congested, also with one lossy queue full where lossy groups share that buffer, and below the conservative bound; it is
complete at no more than half of the depth at which a single group pauses, which an incast to one port exceeds.
The margin counts before one bandwidth-delay product of a fabric's 8 us (400G: 400 KB): a lone flow that is marked
early slows down for a moment, a pause spreads.
"""

from typing import NamedTuple

from railweave.fabric.policy import Marking, MarkingPreset, TrafficClass
from railweave.qos.buffering import BufferPlan
from railweave.qos.mmu.dropping import DropLimits
from railweave.qos.mmu.pause import PauseLimits

ROUND_TRIP_US = 8
"""A round trip through two tiers of a loaded fabric, in microseconds."""

_START_BYTES_PER_GBPS = 4_000
_FULL_TO_START = 4
_PROBABILITY_PERCENT = 20
_KB = 1000


class ChosenMarking(NamedTuple):
    """The thresholds of one queue, and their origin in words."""

    thresholds: Marking
    reason: str


def bandwidth_delay_bytes(speed_gbps: int, round_trip_us: int = ROUND_TRIP_US) -> int:
    """Return the bytes in flight of one flow at line rate (400G over 8 us: 400 KB)."""
    return speed_gbps * 1000 * round_trip_us // 8


def ecn_thresholds(speed_gbps: int, limits: PauseLimits | None = None) -> Marking:
    """Return the thresholds of the rule for a port of ``speed_gbps`` (100G: 400 KB and 1.6 MB).

    On a chip with ``limits`` they are lowered, so that packets are marked before PFC pauses.
    """
    start_bytes = speed_gbps * _START_BYTES_PER_GBPS
    if limits is not None:
        # Half of the depths at which PFC pauses, where full marking comes at _FULL_TO_START times the start; and just
        # below the conservative bound.
        bounds = (
            limits.all_bytes // 2,
            limits.lossy_all_bytes // 2,
            limits.single_bytes // (2 * _FULL_TO_START),
            limits.conservative_bytes - 1,
        )
        for bound in bounds:
            # A lossy queue that may take the whole buffer leaves no room for marking (check E-6): a bound near 0.
            if bound >= _KB:
                start_bytes = min(start_bytes, bound)
        start_bytes = max(_KB, start_bytes // _KB * _KB)
    return Marking(start_bytes, start_bytes * _FULL_TO_START, _PROBABILITY_PERCENT)


def choose_marking(
    traffic_class: TrafficClass, speed_gbps: int, preset: MarkingPreset | None, plan: BufferPlan | None
) -> ChosenMarking:
    """Return the thresholds of a class on ports of one speed, with their origin.

    The first of these that has them counts: the intent, the preset, the HWSKU, the rule. Those of the HWSKU do not
    count for lossy RDMA. ``plan`` is None if the switch's buffer is unknown; then the rule depends on the speed alone.
    """
    if traffic_class.ecn is not None:
        path = f"traffic_classes[{traffic_class.name}].ecn"
        return ChosenMarking(_filled(traffic_class.ecn), f"thresholds as the intent states ({path})")
    if preset is not None:
        return ChosenMarking(_filled(preset.at(speed_gbps)), f"preset {preset.name} ({preset.source})")
    if traffic_class.is_lossy_rdma:
        drops = None
        if plan is not None:
            drops = plan.drops
        return _before_drops(speed_gbps, drops)
    if plan is None:
        return _before_pauses(speed_gbps, None)
    shipped = plan.buffers.marking.get(speed_gbps)
    if shipped is not None:
        return ChosenMarking(
            _filled(shipped),
            f"from {shipped.minimum_bytes} to {shipped.maximum_bytes} bytes as {plan.buffers.hwsku} ships it for"
            f" {speed_gbps}G ({plan.buffers.source}, qos.json.j2)",
        )
    return _before_pauses(speed_gbps, plan.limits)


def _before_pauses(speed_gbps: int, limits: PauseLimits | None) -> ChosenMarking:
    """Return the thresholds of a lossless queue: those of the rule, lowered so that queues mark before PFC pauses."""
    thresholds = ecn_thresholds(speed_gbps, limits)
    rule = _rule_text(speed_gbps)
    if limits is not None and thresholds != ecn_thresholds(speed_gbps):
        rule += f", {_reason_to_lower(thresholds, limits)}"
    return ChosenMarking(thresholds, rule)


def _rule_text(speed_gbps: int) -> str:
    """Return the rule of the thresholds in words."""
    return f"100 KB for each 25 Gb/s of a {speed_gbps}G port, four times that for full marking (HPCC scaling of DCQCN)"


def _before_drops(speed_gbps: int, drops: DropLimits | None) -> ChosenMarking:
    """Return the thresholds of lossy RDMA: those of the rule, lowered so that queues mark before they drop."""
    thresholds = ecn_thresholds(speed_gbps)
    rule = _rule_text(speed_gbps)
    if drops is None:
        return ChosenMarking(thresholds, rule)
    # The margin that a lossless queue has to the pause: half of the depth with all ports congested, and full marking at
    # half of the depth with one.
    bounds = drops.all_bytes // 2, drops.beside_bytes // 2, drops.alone_bytes // (2 * _FULL_TO_START)
    start_bytes = max(_KB, min(thresholds.minimum_bytes, *bounds) // _KB * _KB)
    if start_bytes < thresholds.minimum_bytes:
        rule += (
            f", lowered to {start_bytes // _KB} KB: at most half of the {drops.all_bytes} bytes at which a queue drops"
            f" while those of all {drops.ports} ports are full, and of the {drops.beside_bytes} beside full queues of"
            f" other classes ({drops.queue})"
        )
    return ChosenMarking(Marking(start_bytes, start_bytes * _FULL_TO_START, _PROBABILITY_PERCENT), rule)


def _reason_to_lower(thresholds: Marking, limits: PauseLimits) -> str:
    """Return in words why the chip needs lower thresholds than the port's speed alone gives."""
    start_kb = thresholds.minimum_bytes // _KB
    conservative_bytes = limits.conservative_bytes
    is_at_conservative_bound = start_kb == (conservative_bytes - 1) // _KB
    if is_at_conservative_bound:
        start = f"below {conservative_bytes} bytes, at which PFC may pause one ingress port that feeds all egress ports"
    else:
        start = (
            f"at no more than half of the {limits.all_bytes} bytes at which {limits.groups} congested priority groups"
            " pause"
        )
    return (
        f"lowered to {start_kb} KB so that marking starts {start} (alpha {limits.alpha:g}, shared buffer"
        f" {limits.shared_bytes} bytes{limits.slices}: {limits.shared})"
    )


def _filled(marking: Marking) -> Marking:
    """Return thresholds; if they have no probability, with that of the rule."""
    if marking.probability_percent is None:
        return marking._replace(probability_percent=_PROBABILITY_PERCENT)
    return marking
