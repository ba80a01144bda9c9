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
def check_intended_thresholds(intent: Intent) -> Breaches:
    """Yield a breach for each marked class with thresholds that do not rise."""
    for index, traffic_class in enumerate(intent.policies.classes):
        ecn = traffic_class.ecn
        if not traffic_class.marks or ecn is None or ecn.minimum_bytes < ecn.maximum_bytes:
            continue
        minimum_kb = ecn.minimum_bytes // 1000
        maximum_kb = ecn.maximum_bytes // 1000
        message = (
            f"class `{traffic_class.name}`: marking would start at {minimum_kb} KB and be complete at {maximum_kb} KB"
        )
        fix = f"raise max_kb, to {4 * minimum_kb} for example"
        if minimum_kb > maximum_kb:
            fix = f"swap them: min_kb: {maximum_kb}, max_kb: {minimum_kb}"
        yield Breach(f"traffic_classes[{index}].ecn.min_kb", message, fix)


# An error is wrong at any load, a warning or information only at some.
SEVERITY = {
    "E-1": Severity.ERROR,
    "E-2": Severity.ERROR,
    "E-3": Severity.WARNING,
    "E-4": Severity.WARNING,
    "E-5": Severity.INFO,
    "E-6": Severity.INFO,
}


@RULE.on_link
def check_set_thresholds(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each lossless queue with thresholds that do not rise or do not fit the queue."""
    yield from broken_thresholds(link, "E-1")


@RULE.on_link
def compare_with_design(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each marked queue that marks packets of a color in another way than designed."""
    for end in link.switches:
        for traffic_class in link.marked_classes:
            wred = wred_of(end, traffic_class.priority)
            design = wred_of(link.design(end), traffic_class.priority)
            # Profiles that are missing or drop instead of marking are reported by Q-5.
            if wred is None or design is None or not wred.is_marking:
                continue
            color = next((color for color in wred.colors if wred.colors[color] != design.colors.get(color)), None)
            if color is not None:
                message = (
                    f"queue {traffic_class.priority} of {end}, from which {link.far(end)} receives"
                    f" {traffic_class.name}, marks {color} packets {_marking_text(wred.colors[color])}, by design"
                    f" {_marking_text(design.colors.get(color))}"
                )
                fix = f"set WRED_PROFILE|{wred.name} of {end.device} as rendered"
                yield LinkBreach(end, f"marks {traffic_class.name}", message, fix)


def _marking_text(marking: Marking | None) -> str:
    if marking is None:
        return "never"
    rise = f"from {marking.minimum_bytes} to {marking.maximum_bytes} bytes"
    return f"{rise} with up to {marking.probability_percent} %"


def wred_of(end: "PortSettings", queue: int) -> "Wred | None":
    """Return the WRED profile of a queue, None if there is none or it was not read."""
    return (end.wreds or {}).get(queue)


def broken_thresholds(link: LinkEnds, code: str) -> LinkBreaches:
    """Yield a breach for each lossless queue whose thresholds break the rule ``code``, which the design meets."""
    for end in link.switches:
        plan = link.plans(end.device)
        design = link.design(end)
        # The design has checks of its own.
        if plan is None or end == design:
            continue
        for traffic_class in link.lossless_classes:
            priority = traffic_class.priority
            limits = pause_limits(plan, end, priority)
            broken_rule = _broken_rule(code, wred_of(end, priority), limits)
            if limits is None or broken_rule is None:
                continue
            # What the design breaks as well is a diagnostic of the design.
            if _broken_rule(code, wred_of(design, priority), pause_limits(plan, design, priority)) is not None:
                continue
            message = f"queue {priority} of {end}, from which {link.far(end)} receives: {broken_rule.numbers}"
            start_bytes = min(limits.single_bytes, limits.all_bytes)
            fix = f"start marking below {start_bytes} bytes, and end it above that"
            yield LinkBreach(end, f"queue {priority}", message, fix, SEVERITY[code])


def _broken_rule(code: str, wred: "Wred | None", limits: PauseLimits | None) -> MarkingRule | None:
    """Return the rule with a code and the numbers of the last color that breaks it.

    None if no color breaks it, or if the profile or the limits are not known.
    """
    if wred is None or limits is None:
        return None
    last_broken: MarkingRule | None = None
    for marking in wred.colors.values():
        for broken_rule in broken_rules(marking, limits):
            if broken_rule.code == code:
                last_broken = broken_rule
    return last_broken


def pause_limits(plan: BufferPlan, end: "PortSettings", priority: int) -> PauseLimits | None:
    """Return the limits at which a lossless group of a port pauses, by its pools and profiles.

    None if these were not read, or if the group has no alpha.
    """
    group = (end.group_buffers or {}).get(priority)
    queue = (end.queue_buffers or {}).get(priority)
    if end.pools is None or end.buffer_model is None or group is None or group.dynamic_th is None:
        return None
    queue_profile = None
    if queue is not None:
        queue_profile = _profile_of(queue)
    return plan.limits_with(end.pools, end.buffer_model, group.dynamic_th, queue_profile)


def _profile_of(use: "BufferUse") -> BufferProfile:
    """Return the profile of a queue, static if it states a static threshold."""
    if use.static_th is None:
        return BufferProfile(use.profile, use.pool, use.size_bytes or 0, "dynamic", use.dynamic_th or 0)
    return BufferProfile(use.profile, use.pool, use.size_bytes or 0, "static", use.static_th)
