"""Marking starts at the lower threshold and is complete at the upper one, which the queue must be able to reach. Ports
of one speed mark alike: a switch that marks later, or less, than the others lets PFC do the work there."""

from typing import TYPE_CHECKING

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, rule
from railweave.diagnostics import Severity
from railweave.fabric.buffers import BufferProfile
from railweave.fabric.policy import Marking
from railweave.intent.model import Intent
from railweave.qos.buffering import BufferPlan
from railweave.qos.mmu.pause import MarkingRule, PauseLimits, broken_rules

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings
    from railweave.sonic.resolved import BufferUse, Wred

RULE = rule(
    "E-1",
    "ECN thresholds rise and fit the queue",
    __doc__,
    "traffic_classes:"
    " [{name: roce, dscp: [26], lossless: true, priority: 3, share: 90, ecn: {min_kb: 800, max_kb: 200}},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)


@RULE.on_intent
def intended(intent: Intent) -> Breaches:
    """Look for thresholds that do not rise."""
    for index, one in enumerate(intent.policies.classes):
        if one.lossless and one.ecn is not None and one.ecn.minimum_bytes >= one.ecn.maximum_bytes:
            low, high = one.ecn.minimum_bytes // 1000, one.ecn.maximum_bytes // 1000
            message = f"class `{one.name}`: marking would start at {low} KB and be complete at {high} KB"
            swap, more = f"swap them: min_kb: {high}, max_kb: {low}", f"raise max_kb, to {4 * low} for example"
            yield Breach(f"traffic_classes[{index}].ecn.min_kb", message, swap if low > high else more)


SEVERITY = {
    "E-1": Severity.ERROR,
    "E-2": Severity.ERROR,
    "E-3": Severity.WARNING,
    "E-4": Severity.WARNING,
    "E-5": Severity.INFO,
    "E-6": Severity.INFO,
}


@RULE.on_link
def set_ends(link: LinkEnds) -> LinkBreaches:
    """Look at the thresholds of each lossless queue as they are set."""
    yield from broken_thresholds(link, "E-1")


@RULE.on_link
def as_designed(link: LinkEnds) -> LinkBreaches:
    """Compare the marking of each lossless queue with the design's."""
    for end in link.switches:
        for one in link.lossless_classes:
            found, design = wred_of(end, one.priority), wred_of(link.design(end), one.priority)
            if found is None or design is None or not found.is_marking:
                continue
            for color in found.colors:
                if found.colors[color] != design.colors.get(color):
                    message = (
                        f"queue {one.priority} of {end}, from which {link.far(end)} receives {one.name}, marks {color}"
                        f" packets {_marks(found.colors[color])}, by design {_marks(design.colors.get(color))}"
                    )
                    fix = f"set WRED_PROFILE|{found.name} of {end.device} as rendered"
                    yield LinkBreach(end, f"marks {one.name}", message, fix)
                    break


def _marks(marking: Marking | None) -> str:
    if marking is None:
        return "never"
    rise = f"from {marking.minimum_bytes} to {marking.maximum_bytes} bytes"
    return f"{rise} with up to {marking.probability_percent} %"


def wred_of(end: "PortSettings", queue: int) -> "Wred | None":
    """Return the WRED profile of a queue, None where there is none or it is not known."""
    return (end.wreds or {}).get(queue)


def broken_thresholds(link: LinkEnds, code: str) -> LinkBreaches:
    """Yield the lossless queues whose thresholds break a rule of marking that they keep by design, which is checked for
    itself."""
    for end in link.switches:
        plan = link.plans(end.device)
        design = link.design(end)
        if plan is None or end == design:
            continue
        for one in link.lossless_classes:
            known = {found.code for found, _ in _broken(plan, design, one.priority)}
            for found, limits in _broken(plan, end, one.priority):
                if found.code == code and code not in known:
                    message = f"queue {one.priority} of {end}, from which {link.far(end)} receives: {found.numbers}"
                    start = min(limits.single_bytes, limits.all_bytes)
                    fix = f"start marking below {start} bytes, and end it above that"
                    yield LinkBreach(end, f"queue {one.priority}", message, fix, SEVERITY[code])


def _broken(plan: BufferPlan, end: "PortSettings", queue: int) -> list[tuple[MarkingRule, PauseLimits]]:
    wred, limits = wred_of(end, queue), pause_limits(plan, end, queue)
    if limits is None or wred is None:
        return []
    broken = {one.code: one for color in wred.colors.values() for one in broken_rules(color, limits)}
    return [(one, limits) for one in broken.values()]


def pause_limits(plan: BufferPlan, end: "PortSettings", priority: int) -> PauseLimits | None:
    """Return what decides when a lossless group of a port pauses, by the pools and profiles that it has; None where
    these are not known, or the group has no alpha."""
    group = (end.group_buffers or {}).get(priority)
    queue = (end.queue_buffers or {}).get(priority)
    if end.pools is None or end.buffer_model is None or group is None or group.dynamic_th is None:
        return None
    return plan.limits_with(end.pools, end.buffer_model, group.dynamic_th, _profile(queue) if queue else None)


def _profile(use: "BufferUse") -> BufferProfile:
    if use.static_th is None:
        return BufferProfile(use.profile, use.pool, use.size_bytes or 0, "dynamic", use.dynamic_th or 0)
    return BufferProfile(use.profile, use.pool, use.size_bytes or 0, "static", use.static_th)
