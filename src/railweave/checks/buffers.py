"""Headroom, buffer budget and "ECN before PFC" of every kind of switch in the fabric.

A kind is a panel in a tier: its switches have the same buffer, ports and cables, so each is looked at once.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from railweave.checks.buffer_facts import VIRTUAL, lossless_names, unproven
from railweave.checks.lossy_buffers import lossy_findings
from railweave.checks.registry import rule
from railweave.checks.rules.e1_thresholds import SEVERITY, broken_thresholds
from railweave.checks.switch_kind import SwitchKind
from railweave.diagnostics import Diagnostic, Severity, Where, error, has_errors, warning
from railweave.fabric.buffers import BufferSlices, Division
from railweave.fabric.devices import Switch, Tier
from railweave.fabric.links import LINK_KINDS
from railweave.fabric.model import Fabric
from railweave.fabric.policy import BufferModel, Marking, Policies, TrafficClass
from railweave.qos.buffering import BufferPlan, plan_buffers
from railweave.qos.marking import bandwidth_delay_bytes, choose_marking
from railweave.qos.mmu.headroom import Headroom, NoHeadroom
from railweave.qos.mmu.pause import MarkingRule, broken_rules, marks_text
from railweave.qos.mmu.pools import POOL_EXHAUSTED
from railweave.units import format_speed
from railweave.wording import counted

_LATE = (
    "A sender that is marked slows down, one that is paused only stops: PFC would do the work of congestion control."
)
_EXAMPLE = "traffic_classes: [{{name: roce, dscp: [26], lossless: true, priority: 3, ecn: {{min_kb: {}, max_kb: {}}}}}]"

for _rule in (
    rule(
        "E-3",
        "ECN marks everything before a single congested priority group pauses",
        _LATE,
        _EXAMPLE.format(200, 90_000),
    ),
    rule("E-4", "ECN marks before PFC pauses with every port congested", _LATE, _EXAMPLE.format(8_000, 90_000)),
    rule(
        "E-5",
        "ECN marks before PFC even when one ingress port feeds all egress ports",
        _LATE,
        _EXAMPLE.format(800, 3200),
    ),
    rule(
        "E-6",
        "ECN marks before PFC while a lossy queue is full",
        "Where lossy groups share the buffer of lossless ones, a full best-effort queue lowers where PFC pauses.",
        _EXAMPLE.format(950, 3800),
    ),
):
    _rule.on_link(partial(broken_thresholds, code=_rule.code))
rule(
    "RW403",
    "marking starts above what one flow at line rate has on its way",
    "One flow at line rate fills a queue by what is on its way; marked before that, it slows down without congestion.",
    _EXAMPLE.format(1, 800),
)

Places = Callable[[str], Where]

# The ratio of the headroom of all groups to their common pool up to which PFC is lossless but for rare coincidences.
_POOL_SHARED_WIDELY = 2


def buffer_findings(fabric: Fabric, where: Places) -> tuple[Diagnostic, ...]:
    """Return what does not fit in the buffers of the fabric's switches; nothing if no class is lossless.

    A finding of several kinds of switches is one diagnostic with all of their devices.
    """
    devices: dict[Diagnostic, list[str]] = {}
    for diagnostic in _findings(fabric, where):
        devices.setdefault(diagnostic._replace(devices=()), []).extend(diagnostic.devices)
    return tuple(diagnostic._replace(devices=tuple(names)) for diagnostic, names in devices.items())


def _findings(fabric: Fabric, where: Places) -> Iterator[Diagnostic]:
    """Yield what does not fit in the buffers, kind by kind of switches; several kinds may yield the same finding."""
    classes = fabric.policies.classes
    if any(traffic_class.is_lossy_rdma for traffic_class in classes):
        for kind in _kinds(fabric):
            yield from lossy_findings(kind, fabric.policies, where)
    if not any(traffic_class.lossless for traffic_class in classes):
        return
    for kind in _kinds(fabric):
        # RW126 says already that a chassis is not configured.
        if kind.panel.buffers is None and not kind.panel.card_cages:
            yield unproven(fabric, kind.panel, kind.tier, kind.devices, where)
        yield from kind_findings(kind, fabric.policies, where)


def kind_findings(kind: SwitchKind, policies: Policies, where: Places) -> Iterator[Diagnostic]:
    """Yield what does not fit in the buffers of one kind of switches."""
    plan = plan_buffers(kind.panel, kind.tier, policies, kind.lengths_m)
    if plan is None:
        return
    yield from _missing_headroom(kind, plan, where)
    yield from _too_many_classes(policies, kind, plan, where)
    budget = list(_budget(kind, plan, where))
    yield from budget
    # Without room for the headroom there is no depth at which PFC pauses.
    if not has_errors(budget):
        yield from _marking(policies, kind, plan, where)


def _kinds(fabric: Fabric) -> list[SwitchKind]:
    """Return the kinds of switches of a fabric; every switch is of one of them."""
    # By identity: all switches of one model and breakout share a panel.
    switches_of: dict[tuple[int, Tier], list[Switch]] = {}
    for switch in fabric.switches:
        switches_of.setdefault((id(switch.panel), switch.tier), []).append(switch)
    kinds: list[SwitchKind] = []
    for (_, tier), switches in switches_of.items():
        kinds += _kinds_by_cables(fabric, tier, switches)
    return kinds


class _CableGroup(NamedTuple):
    """Switches of one panel and tier with the same cables, or fewer of them."""

    # Ports by (speed in Gb/s, length in m, level of the link), as in `SwitchKind`.
    cables: Counter[tuple[int, int, int]]
    names: list[str]


def _kinds_by_cables(fabric: Fabric, tier: Tier, switches: list[Switch]) -> list[SwitchKind]:
    """Return the kinds of the switches of one panel and tier.

    A switch with some of the cables of another one is of the same kind: if all fit in the buffer, fewer do too.
    """
    same_cables: dict[frozenset[tuple[tuple[int, int, int], int]], _CableGroup] = {}
    for switch in switches:
        cables = Counter((link.speed_gbps, link.length_m, link.level) for link in fabric.links_of[switch.name])
        same_cables.setdefault(frozenset(cables.items()), _CableGroup(cables, [])).names.append(switch.name)
    groups: list[_CableGroup] = []
    # The most cables first, so that a group comes after those that cover it.
    for group in sorted(same_cables.values(), key=lambda group: group.cables.total(), reverse=True):
        covering = next((larger for larger in groups if group.cables <= larger.cables), None)
        if covering is None:
            groups.append(group)
        else:
            covering.names.extend(group.names)
    position_of = {switch.name: position for position, switch in enumerate(switches)}
    panel = switches[0].panel
    kinds = []
    for group in groups:
        names = sorted(group.names, key=position_of.__getitem__)
        kinds.append(SwitchKind(panel, tier, tuple(names), group.cables))
    return kinds


def _missing_headroom(kind: SwitchKind, plan: BufferPlan, where: Places) -> Iterator[Diagnostic]:
    """Yield H-headroom for speeds and cable lengths in use without headroom that the vendor publishes or computes.

    Each reason is yielded once.
    """
    reported_reasons = set()
    for speed_gbps, length_m, level in sorted(kind.cables):
        headroom = plan.headroom[speed_gbps, length_m]
        if isinstance(headroom, NoHeadroom) and headroom.reason not in reported_reasons:
            reported_reasons.add(headroom.reason)
            place = _length_place(level, where)
            yield error("H-headroom", headroom.reason, place, fix=headroom.fix, devices=kind.devices)


def _length_place(level: int, where: Places) -> Where:
    """Return the place that gives the cables of a level their lengths: the racks if the intent has them."""
    racks = where("racks")
    if racks.line and racks.path:
        return racks
    # Level 0 are the links to GPU nodes.
    layer = LINK_KINDS[level] if level else "host"
    return where(f"cabling.{layer}.length_m")


def _too_many_classes(policies: Policies, kind: SwitchKind, plan: BufferPlan, where: Places) -> Iterator[Diagnostic]:
    """Yield H-budget if more classes are lossless than the ASIC has headroom for."""
    limit = plan.buffers.lossless_classes
    count = plan.limits.lossless_classes
    if limit is not None and count > limit:
        yield error(
            "H-budget",
            f"{count} classes are lossless ({lossless_names(policies)}); the {kind.panel.asic} of {plan.buffers.hwsku}"
            f" has headroom for {limit}",
            where("traffic_classes"),
            fix=f"keep to {limit} lossless classes",
            devices=kind.devices,
        )


def _budget(kind: SwitchKind, plan: BufferPlan, where: Places) -> Iterator[Diagnostic]:
    """Yield H-budget if the headroom of all lossless groups of the ports in use does not fit in the buffer."""
    uses: Counter[tuple[int, int]] = Counter()
    for (speed_gbps, length_m, _), ports in kind.cables.items():
        uses[speed_gbps, length_m] += ports
    division = plan.divided(uses)
    needed = division.headroom_bytes
    lossless = counted(plan.limits.lossless_classes, "lossless class")
    usage = f"{'; '.join(_headroom_uses(kind, plan))}: {needed} bytes for {lossless}"
    place = where("cabling")
    fix = "use shorter cables, fewer ports or fewer lossless classes"
    if division.is_pooled:
        usage = f"{usage}, {needed / division.budget_bytes:.2f} times"
        yield from _pooled_budget(division, plan.buffers.slices, usage, kind, place, fix)
    # In the dynamic model the switch sizes the pools by what headroom leaves.
    elif plan.model is BufferModel.TRADITIONAL and division.chip_bytes is not None:
        yield from _traditional_budget(division, division.chip_bytes, plan.buffers.hwsku, usage, kind, place, fix)
    elif needed >= division.budget_bytes:
        message = f"{usage}, of {division.budget_bytes} bytes that {plan.buffers.hwsku} has for headroom"
        yield error("H-budget", message, place, fix=fix, devices=kind.devices)


def _headroom_uses(kind: SwitchKind, plan: BufferPlan) -> Iterator[str]:
    """Yield a clause about the headroom of the ports of each speed and cable length."""
    for (speed_gbps, length_m, _), ports in sorted(kind.cables.items()):
        headroom = plan.headroom[speed_gbps, length_m]
        if isinstance(headroom, Headroom):
            # In a shared headroom pool a group reserves nothing: it takes its XOFF part while it is paused.
            port_bytes = headroom.xoff_bytes if plan.full.is_pooled else headroom.size_bytes
            yield f"{ports} ports of {format_speed(speed_gbps)} over {length_m} m take {port_bytes} bytes each"


def _traditional_budget(
    division: Division, chip_bytes: int, hwsku: str, usage: str, kind: SwitchKind, place: Where, fix: str
) -> Iterator[Diagnostic]:
    """Yield H-budget if the headroom and the pools that a HWSKU states take more than the chip has.

    In the traditional model they keep their sizes. ``usage`` begins the message: the headroom of the ports in use.
    """
    stated_bytes = division.stated_bytes
    pool_bytes = stated_bytes - division.headroom_bytes
    reserved_bytes = sum(division.reserved.values())
    message = f"{usage}, and the pools of {hwsku} take {pool_bytes}: {stated_bytes} of {chip_bytes} bytes of the chip"
    fix = f"{fix}, or leave out sonic.buffer_model, so that the switch sizes its pools"
    if stated_bytes > chip_bytes:
        yield error("H-budget", message, place, fix=fix, devices=kind.devices)
    elif stated_bytes + reserved_bytes > chip_bytes:
        message = f"{message}, which also sets aside {reserved_bytes} for ports and mirrors"
        yield warning("H-budget", message, place, fix=fix, devices=kind.devices)


def _pooled_budget(
    division: Division, slices: BufferSlices, usage: str, kind: SwitchKind, place: Where, fix: str
) -> Iterator[Diagnostic]:
    """Yield H-budget if the headroom of all groups is more than the pool that they share.

    The severity follows from how much more it is, and from the slices that divide the pool. ``usage`` begins the
    message: the headroom of the ports in use.
    """
    ratio = division.headroom_bytes / division.budget_bytes
    message = f"{usage} the {division.budget_bytes} bytes of the headroom pool of {kind.panel.hwsku}"
    if ratio > POOL_EXHAUSTED:
        message = f"{message}: it does not last where a quarter of the groups is paused at once"
        yield error("H-budget", message, place, fix=fix, devices=kind.devices)
    elif ratio > min(_POOL_SHARED_WIDELY, POOL_EXHAUSTED / slices.total):
        if slices.total > 1:
            message = f"{message}{slices}: one slice's part does not last where a quarter of the groups is paused in it"
        yield warning("H-budget", message, place, fix=fix, devices=kind.devices)
    elif ratio > 1:
        message = f"{message}: it lasts unless all ports are paused at once"
        yield Diagnostic("H-budget", Severity.INFO, message, place, kind.devices)


_MEANING = {
    "E-1": "the thresholds do not rise or do not fit the queue",
    "E-2": "PFC always fires before ECN",
    "E-3": "PFC fires before ECN marks every packet",
    "E-4": "PFC fires before ECN when all ports are congested",
    "E-5": "ECN may not mark before PFC when one ingress port feeds all egress ports",
    "E-6": "PFC fires before ECN when all ports are congested and one lossy queue is full",
}


def _marking(policies: Policies, kind: SwitchKind, plan: BufferPlan, where: Places) -> Iterator[Diagnostic]:
    """Yield the breaches of E-1 to E-6 for every lossless class and port speed in use."""
    for index, traffic_class in enumerate(policies.classes):
        if not traffic_class.lossless:
            continue
        ecn = traffic_class.ecn
        # Thresholds that do not rise are a diagnostic of the intent itself.
        if ecn is None or ecn.minimum_bytes < ecn.maximum_bytes:
            place = where(_thresholds_path(policies, index, traffic_class))
            for speed_gbps in kind.speeds_gbps:
                yield from _class_marking(policies, traffic_class, speed_gbps, kind, plan, place)


def _class_marking(
    policies: Policies, traffic_class: TrafficClass, speed_gbps: int, kind: SwitchKind, plan: BufferPlan, place: Where
) -> Iterator[Diagnostic]:
    """Yield each rule of marking that the thresholds of a class break, and RW403 if marking starts too early."""
    marking = choose_marking(traffic_class, speed_gbps, policies.marking, plan).thresholds
    is_stated = traffic_class.ecn is not None or policies.marking is not None
    # The buffer of a virtual switch is nominal, so thresholds that the class does not state pass with a warning.
    is_nominal = kind.panel.asic == VIRTUAL and traffic_class.ecn is None
    subject = f"{traffic_class.name} on ports of {format_speed(speed_gbps)} of {plan.buffers.hwsku}"
    for broken_rule in broken_rules(marking, plan.limits):
        message = f"{subject}: {_MEANING[broken_rule.code]}"
        diagnostic = _broken_rule_diagnostic(broken_rule, message, marking, place, plan, kind)
        if not is_stated:
            diagnostic = diagnostic._replace(fix=_WITHOUT_THRESHOLDS.get(broken_rule.code, diagnostic.fix))
        if is_nominal and diagnostic.severity is Severity.ERROR:
            message = f"{diagnostic.message}; a virtual switch has no buffer, hardware like this would be refused"
            diagnostic = diagnostic._replace(severity=Severity.WARNING, message=message)
        yield diagnostic
    in_flight_bytes = bandwidth_delay_bytes(speed_gbps)
    if is_stated and marking.minimum_bytes < in_flight_bytes:
        message = (
            f"{subject}: marking starts at {marking.minimum_bytes} bytes, below the {in_flight_bytes} that one flow"
            " at line rate has on its way"
        )
        yield Diagnostic("RW403", Severity.INFO, message, place, kind.devices)


def _thresholds_path(policies: Policies, index: int, traffic_class: TrafficClass) -> str:
    """Return the intent path that decides about the ECN thresholds of a class."""
    if traffic_class.ecn is not None:
        return f"traffic_classes[{index}].ecn"
    if policies.marking:
        return "preset"
    return f"traffic_classes[{index}]"


# The fix without configured thresholds: those of railweave's rule are as low as they get.
_WITHOUT_THRESHOLDS = dict.fromkeys(
    ("E-1", "E-2", "E-3", "E-4"),
    "use shorter cables or fewer lossless classes, or state ecn thresholds for the class",
)


def _broken_rule_diagnostic(
    broken_rule: MarkingRule, message: str, marking: Marking, place: Where, plan: BufferPlan, kind: SwitchKind
) -> Diagnostic:
    """Return a broken rule of marking as a diagnostic, with its numbers and the threshold to change."""
    limits = plan.limits
    # Just below the limit: a queue that reaches it pauses.
    below_kb = max(1, (min(limits.single_bytes, limits.all_bytes) - 1) // 1000)
    lossy_kb = (limits.lossy_all_bytes - 1) // 1000
    lossy_fix = f"lower ecn.min_kb to at most {lossy_kb}"
    if lossy_kb <= 0:
        lossy_fix = "keep lossy traffic off these ports"
    fix = {
        "E-1": f"lower ecn.max_kb to at most {(limits.queue_bytes or 0) // 1000}",
        "E-2": f"lower ecn.min_kb to at most {below_kb}, or leave ecn and preset out",
        "E-3": f"lower ecn.max_kb to at most {limits.single_bytes // 1000}",
        "E-4": f"lower ecn.min_kb to at most {below_kb}, or use shorter cables",
        "E-5": f"nothing, or lower ecn.min_kb to {max(1, (limits.conservative_bytes - 1) // 1000)}",
        "E-6": lossy_fix,
    }[broken_rule.code]
    message = f"{message}: {broken_rule.numbers}"
    if broken_rule.code != "E-1":
        message = f"{message}; {marks_text(marking, limits)}"
    return Diagnostic(
        code=broken_rule.code,
        severity=SEVERITY[broken_rule.code],
        message=message,
        where=place,
        devices=kind.devices,
        fix=fix,
    )
